"""Whether the client of NATS is installed, which comes with the extra "workers"."""

from __future__ import annotations

from importlib.util import find_spec

from chyme.errors import UsageError


def require_nats_client() -> None:
    """Raise UsageError if it is missing. Call this before importing what connects to NATS."""
    if find_spec("nats") is None:
        raise UsageError("workers on other machines need the package nats-py; pip install 'chyme[workers]'")
