"""Addresses of NATS servers, and which of them are safe to use."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from chyme.errors import UsageError
from chyme.workers.cluster import is_loopback
from chyme.workers.credentials import Credentials

_EXAMPLE = "write it as tls://HOST:4222"


def check_url(url: str, credentials: Credentials | None) -> list[str]:
    """Split addresses at commas. UsageError unless each is `tls://` with credentials, or `nats://` on this machine."""
    addresses = [address.strip() for address in url.split(",") if address.strip()]
    if not addresses:
        raise UsageError(f"the address of the NATS server is empty; {_EXAMPLE}")
    for address in addresses:
        _check_address(address, credentials)
    return addresses


def _check_address(address: str, credentials: Credentials | None) -> None:
    parts = _split(address)
    if parts.username is not None or parts.password is not None:
        # The address is not repeated here: it has a password.
        raise UsageError("an address of a NATS server has a name or password in it; credentials are a file instead")
    if parts.scheme == "nats" and not is_loopback(parts.hostname or ""):
        raise UsageError(
            f"{address}: without TLS, others on the network can read and change what is sent; 'chyme cluster init' "
            "makes certificates and the server's configuration, then use tls:// with credentials"
        )
    if parts.scheme == "tls" and credentials is None:
        raise UsageError(
            f"{address}: tls:// needs credentials, a file that 'chyme cluster init' or 'chyme cluster add-worker' makes"
        )


def _split(address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        _ = parts.port  # raises ValueError if it is no port
    except ValueError as error:
        raise UsageError(f"an address of a NATS server cannot be read ({error}); {_EXAMPLE}") from error
    extra = parts.path not in ("", "/") or parts.query or parts.fragment
    if parts.scheme not in ("tls", "nats") or not parts.hostname or extra or not address.isprintable():
        shown = repr(address) if "@" not in address else "an address of a NATS server"
        raise UsageError(f"{shown} is no address of a NATS server; {_EXAMPLE}")
    return parts
