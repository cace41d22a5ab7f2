"""Where a request comes from and which host it is meant for, and which of its headers are trusted."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Sequence

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?", re.ASCII | re.IGNORECASE)


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach a server at this address."""
    parsed = _parse_address(address)
    return address == "localhost" if parsed is None else parsed.is_loopback


def is_own_host(host: str, arrived_at: str, names: Collection[str]) -> bool:
    """Whether a Host header names this server; another site could let its own name resolve to this address.

    `arrived_at` is our end of the connection: no name can be made to look like an address.
    """
    match = _HOST.fullmatch(host)
    name = match[1].lower().rstrip(".") if match is not None else ""
    if not name:
        return False
    if name in names:
        return True
    if is_loopback(arrived_at):
        return is_loopback(name)
    requested = _parse_address(name)
    return requested is not None and requested == _parse_address(arrived_at)


def is_allowed_origin(
    method: str, scheme: str, host: str, origin: str | None, site: str | None, mode: str | None
) -> bool:
    """Whether the request was not sent by another site's page in a browser. Links to this server may be followed."""
    if origin is not None and method not in SAFE_METHODS and origin.lower() != f"{scheme}://{host}".lower():
        return False
    if site in (None, "same-origin", "none"):
        return True
    return method in ("GET", "HEAD") and mode == "navigate"


def is_proven_same_origin(method: str, origin: str | None, site: str | None) -> bool:
    """Whether the browser itself says that one of our pages sent it; without that, a cookie proves nothing."""
    return method in SAFE_METHODS or origin is not None or site in ("same-origin", "none")


def client_of(peer: str, forwarded: Sequence[str], trusted: Sequence[Network]) -> str:
    """Return the real client: the peer, or the address that a trusted proxy got the request from."""
    client = peer
    # each proxy appends to the right; entries left of an untrusted address may be forged
    for entry in reversed(forwarded):
        address = _parse_address(client)
        if address is None or not any(address in network for network in trusted):
            break
        client = _without_port(entry.strip()).strip("[]") or client
    return client


def is_trusted_proxy(peer: str, trusted: Sequence[Network]) -> bool:
    """Whether the peer is one of the trusted proxies."""
    address = _parse_address(peer)
    return address is not None and any(address in network for network in trusted)


def parse_networks(text: str) -> tuple[Network, ...]:
    """Parse `10.0.0.1, 192.168.0.0/24` into networks; ValueError if one is invalid."""
    return tuple(ipaddress.ip_network(network.strip(), strict=False) for network in text.split(",") if network.strip())


def safe_redirect_path(address: str | None) -> str:
    """Return the address to open after signing in: always one of ours, whatever was asked for."""
    if not address or len(address) > 2000 or not address.startswith("/") or address[1:2] in ("/", "\\"):
        return "/"
    return address if address.isascii() and address.isprintable() and "\\" not in address else "/"


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0] if host.count(":") == 1 else host


def _parse_address(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return None
    ipv4 = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return ipv4 or address
