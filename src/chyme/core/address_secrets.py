"""Secrets that are part of an address: a link or a feed that works without signing in.

Such a secret begins with a mark of its vault, so that a server with several vaults looks into the right one only. The
mark is no secret: it is only seen together with the whole address.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets

_MARK_LENGTH = 8
_SECRET = re.compile(r"[0-9a-f]{8}[A-Za-z0-9_-]{43}")


def new_address_secret(identity: str) -> str:
    """Return a new secret for a vault with this identity: its mark and 256 random bits."""
    return mark_of(identity) + secrets.token_urlsafe(32)


def mark_of(identity: str) -> str:
    """Return the mark of a vault. It does not tell the identity."""
    return hashlib.sha256(f"address {identity}".encode()).hexdigest()[:_MARK_LENGTH]


def mark_in(secret: str) -> str | None:
    """Return the mark of the vault that a secret is for; None if it cannot be a secret."""
    return secret[:_MARK_LENGTH] if _SECRET.fullmatch(secret) else None


def hash_address_secret(secret: str) -> str:
    """Return what is stored of a secret: 256 bits cannot be guessed, so it needs no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def is_same_hash(stored: str, given: str) -> bool:
    """Compare two hashes in constant time."""
    return hmac.compare_digest(stored, given)
