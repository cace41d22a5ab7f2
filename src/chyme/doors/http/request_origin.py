"""What a request tells about where it comes from and whom it is meant for, and how much of that is believed."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Sequence

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?", re.ASCII | re.IGNORECASE)


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach what listens there."""
    found = _address(address)
    return address == "localhost" if found is None else found.is_loopback


def is_own_host(host: str, arrived_at: str, names: Collection[str]) -> bool:
    """Whether a Host header names this server; a page elsewhere could make its own name lead here.

    `arrived_at` is our end of the connection: no name can be made to look like an address.
    """
    spelled = _HOST.fullmatch(host)
    name = spelled[1].lower().rstrip(".") if spelled is not None else ""
    if not name:
        return False
    if name in names:
        return True
    if is_loopback(arrived_at):
        return is_loopback(name)
    asked = _address(name)
    return asked is not None and asked == _address(arrived_at)


def is_allowed_origin(
    method: str, scheme: str, host: str, origin: str | None, site: str | None, mode: str | None
) -> bool:
    """Whether no other site's page had a browser send this. Links that lead here may be followed."""
    if origin is not None and method not in SAFE_METHODS and origin.lower() != f"{scheme}://{host}".lower():
        return False
    if site in (None, "same-origin", "none"):
        return True
    return method in ("GET", "HEAD") and mode == "navigate"


def is_proven_same_origin(method: str, origin: str | None, site: str | None) -> bool:
    """Whether the browser itself says that one of our pages sent it; without, a cookie proves nothing."""
    return method in SAFE_METHODS or origin is not None or site in ("same-origin", "none")


def client_of(peer: str, forwarded: Sequence[str], trusted: Sequence[Network]) -> str:
    """Who really asks: the peer, or what a trusted proxy says of whom it got the request from."""
    client = peer
    for told in reversed(forwarded):  # each proxy adds to the right; what stands left of a stranger he made up
        found = _address(client)
        if found is None or not any(found in network for network in trusted):
            break
        client = _without_port(told.strip()).strip("[]") or client
    return client


def is_trusted_proxy(peer: str, trusted: Sequence[Network]) -> bool:
    """Whether the peer is a proxy of ours."""
    found = _address(peer)
    return found is not None and any(found in network for network in trusted)


def parse_networks(text: str) -> tuple[Network, ...]:
    """`10.0.0.1, 192.168.0.0/24` as networks; ValueError for what is none."""
    return tuple(ipaddress.ip_network(one.strip(), strict=False) for one in text.split(",") if one.strip())


def safe_redirect_path(address: str | None) -> str:
    """Where to go on after signing in: an address of ours, whatever was asked for."""
    if not address or len(address) > 2000 or not address.startswith("/") or address[1:2] in ("/", "\\"):
        return "/"
    return address if address.isascii() and address.isprintable() and "\\" not in address else "/"


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0] if host.count(":") == 1 else host


def _address(text: str) -> Address | None:
    try:
        found = ipaddress.ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found
