"""Passwords and secrets: how they are made, judged, hashed and compared."""

from __future__ import annotations

import functools
import hashlib
import secrets

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from chyme.errors import UsageError

SHORTEST = 8
LONGEST = 1024  # bytes; hashing more is a gift to whoever wants us busy
TOKEN_PREFIX = "chyme_"  # so that a token that leaked is recognised for what it is
_REFUSED = frozenset(
    {"password", "passwort", "changeme", "chyme", "chymechyme", "12345678", "123456789", "1234567890", "qwertyui"}
    | {"qwerty123", "password1", "password123", "iloveyou", "administrator", "letmein1", "secret", "secretsecret"}
)

_hasher = PasswordHasher()


@functools.cache
def _nobody() -> str:
    """Verified for unknown names, so that they take as long as known ones."""
    return _hasher.hash(secrets.token_hex())


def validate_password(password: str, name: str) -> str:
    """The password, if it may be one; UsageError says why not."""
    plain = password.casefold()
    if len(password) < SHORTEST:
        raise UsageError(f"the password is too short; take at least {SHORTEST} characters")
    if len(password.encode("utf-8", "replace")) > LONGEST:
        raise UsageError(f"the password is too long; take at most {LONGEST} bytes")
    if plain in _REFUSED or plain == name.casefold() or len(set(plain)) == 1:
        raise UsageError("the password is one that everybody tries first; take another")
    return password


def hash_password(password: str) -> str:
    """What is kept of a password."""
    return _hasher.hash(password.encode("utf-8", "replace"))


def verify_password(kept: str | None, password: str) -> bool:
    """Whether it is the password; takes as long when there is nobody to compare with."""
    given, nobody = password.encode("utf-8", "replace"), _nobody()
    if len(given) > LONGEST:
        given = b""
    try:
        return _hasher.verify(kept or nobody, given) and kept is not None
    except (VerificationError, InvalidHashError):
        return False


def needs_rehash(kept: str) -> bool:
    """Whether one would hash with more effort today."""
    return _hasher.check_needs_rehash(kept)


def new_secret(prefix: str = "") -> str:
    """256 random bits, as text."""
    return prefix + secrets.token_urlsafe(32)


def fingerprint(secret: str) -> str:
    """What is kept of a secret: nobody guesses 256 bits, so it needs no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
