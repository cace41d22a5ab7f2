"""Passwords and secrets: creating, validating, hashing and comparing them."""

from __future__ import annotations

import functools
import hashlib
import secrets

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from chyme.errors import UsageError

MIN_LENGTH = 8
MAX_BYTES = 1024  # bytes; hashing more would let attackers keep the server busy
TOKEN_PREFIX = "chyme_"  # makes a leaked token recognisable
_COMMON_PASSWORDS = frozenset(
    {"password", "passwort", "changeme", "chyme", "chymechyme", "12345678", "123456789", "1234567890", "qwertyui"}
    | {"qwerty123", "password1", "password123", "iloveyou", "administrator", "letmein1", "secret", "secretsecret"}
)

_hasher = PasswordHasher()


@functools.cache
def _dummy_hash() -> str:
    """A hash to verify for unknown names, so that they take as long as known ones."""
    return _hasher.hash(secrets.token_hex())


def validate_password(password: str, name: str) -> str:
    """Return the password if it is acceptable; UsageError says why not."""
    plain = password.casefold()
    if len(password) < MIN_LENGTH:
        raise UsageError(f"the password is too short; take at least {MIN_LENGTH} characters")
    if len(password.encode("utf-8", "replace")) > MAX_BYTES:
        raise UsageError(f"the password is too long; take at most {MAX_BYTES} bytes")
    if plain in _COMMON_PASSWORDS or plain == name.casefold() or len(set(plain)) == 1:
        raise UsageError("the password is one that everybody tries first; take another")
    return password


def hash_password(password: str) -> str:
    """The hash that is stored for a password."""
    return _hasher.hash(password.encode("utf-8", "replace"))


def verify_password(stored: str | None, password: str) -> bool:
    """Whether it is the password; takes as long when there is no hash to compare with."""
    given, dummy = password.encode("utf-8", "replace"), _dummy_hash()
    if len(given) > MAX_BYTES:
        given = b""
    try:
        return _hasher.verify(stored or dummy, given) and stored is not None
    except (VerificationError, InvalidHashError):
        return False


def needs_rehash(stored: str) -> bool:
    """Whether the hash was made with less effort than new ones."""
    return _hasher.check_needs_rehash(stored)


def new_secret(prefix: str = "") -> str:
    """256 random bits, as text."""
    return prefix + secrets.token_urlsafe(32)


def fingerprint(secret: str) -> str:
    """The hash that is stored for a secret: 256 bits cannot be guessed, so it needs no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
