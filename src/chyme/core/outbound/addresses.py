"""Hosts and IP addresses: normalises the ways to write a host, and says which addresses are not public, and why."""

from __future__ import annotations

import re
import socket
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address

MAX_NAME = 253
LABEL = re.compile(r"[a-z0-9_-]{1,63}")
NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")

METADATA = frozenset(
    {
        IPv4Address("169.254.169.254"),  # most clouds
        IPv4Address("169.254.170.2"),  # Amazon's containers
        IPv4Address("169.254.170.23"),
        IPv4Address("100.100.100.200"),  # Alibaba
        IPv4Address("192.0.0.192"),  # Oracle
        IPv4Address("168.63.129.16"),  # Azure: looks public, and is the machine's own host
        IPv6Address("fd00:ec2::254"),  # Amazon
        IPv6Address("fd00:ec2::23"),
        IPv6Address("fd20:ce::254"),  # Google
    }
)

# All of IPv4 is public except these; the first match gives the reason.
SPECIAL_4 = tuple(
    (IPv4Network(network), reason)
    for network, reason in (
        ("0.0.0.0/8", "an address of no host"),
        ("10.0.0.0/8", "a private address"),
        ("100.64.0.0/10", "an address inside a provider's network"),
        ("127.0.0.0/8", "a loopback address"),
        ("169.254.0.0/16", "a link-local address"),
        ("172.16.0.0/12", "a private address"),
        ("192.0.0.0/24", "a reserved address"),
        ("192.0.2.0/24", "an address for documentation"),
        ("192.88.99.0/24", "an address of 6to4 relays"),
        ("192.168.0.0/16", "a private address"),
        ("198.18.0.0/15", "an address for benchmarks"),
        ("198.51.100.0/24", "an address for documentation"),
        ("203.0.113.0/24", "an address for documentation"),
        ("224.0.0.0/4", "a multicast address"),
        ("255.255.255.255/32", "the broadcast address"),
        ("240.0.0.0/4", "a reserved address"),
    )
)

PUBLIC_6 = IPv6Network("2000::/3")  # everything allocated so far; of this everything is public except:
SPECIAL_6 = tuple(
    (IPv6Network(network), reason)
    for network, reason in (
        ("2001::/32", "a Teredo tunnel"),
        ("2001:2::/48", "an address for benchmarks"),
        ("2001::/23", "a reserved address"),
        ("2001:db8::/32", "an address for documentation"),
        ("2002::/16", "a 6to4 tunnel"),
        ("3ffe::/16", "a reserved address"),
        ("3fff::/20", "an address for documentation"),
        # Nothing outside PUBLIC_6 is public; these only have a name.
        ("::/128", "an address of no host"),
        ("::1/128", "a loopback address"),
        ("::/96", "an IPv4-compatible address"),
        ("64:ff9b:1::/48", "an address of a private translator"),
        ("100::/64", "an address that is thrown away"),
        ("fc00::/7", "a private address"),
        ("fe80::/10", "a link-local address"),
        ("fec0::/10", "a site-local address"),
        ("ff00::/8", "a multicast address"),
    )
)

TRANSLATED = IPv6Network("64:ff9b::/96")  # how networks without IPv4 reach it
ISATAP = frozenset({0x00005EFE, 0x02005EFE})  # in the middle of an address whose end is an IPv4 address


def describe_special_range(address: Address) -> str | None:
    """What the address is, as in "a private address"; None when it belongs to the public Internet."""
    if isinstance(address, IPv6Address):
        return _describe_ipv6(address)
    if address in METADATA:
        return "an address of cloud metadata"
    return next((reason for network, reason in SPECIAL_4 if address in network), None)


def _describe_ipv6(address: IPv6Address) -> str | None:
    if address.ipv4_mapped is not None:
        return describe_special_range(address.ipv4_mapped)
    bare = without_zone(address)
    if bare in METADATA:
        return "an address of cloud metadata"
    if bare in TRANSLATED:
        embedded = describe_special_range(IPv4Address(int(bare) & 0xFFFFFFFF))
        return embedded and f"{embedded}, translated"
    for network, reason in SPECIAL_6:
        if bare in network:
            return reason
    if bare not in PUBLIC_6:
        return "a reserved address"
    if address.scope_id is not None:
        return "an address of one network card"
    return "an ISATAP tunnel" if int(bare) >> 32 & 0xFFFFFFFF in ISATAP else None


def without_zone(address: IPv6Address) -> IPv6Address:
    return IPv6Address(int(address))


def address_of(text: str) -> Address | None:
    """The address written in full in the text, or None. IPv4 inside IPv6 becomes plain IPv4."""
    try:
        if ":" not in text:
            return IPv4Address(text)
        address = IPv6Address(text)
    except AddressValueError:
        return None
    return address.ipv4_mapped or address


class NoHost(Exception):
    """The text is neither a host name nor an address."""


def host_of(text: str) -> str | Address:
    """The host as the operating system would understand it, or NoHost. Names are ASCII without a trailing dot."""
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
        if ":" not in text:
            raise NoHost
    if ":" in text:
        address = address_of(text) if "%" not in text else None  # names of network interfaces are of no use to others
        if address is None:
            raise NoHost
        return address
    name = _to_ascii(text).lower().removesuffix(".")
    labels = name.split(".")
    if len(name) > MAX_NAME or not all(LABEL.fullmatch(label) for label in labels):
        raise NoHost
    return _parse_ipv4(name) if NUMBER.fullmatch(labels[-1]) else name


def _to_ascii(text: str) -> str:
    if text.isascii():
        return text
    if len(text) > MAX_NAME:
        raise NoHost
    import idna

    try:
        return idna.encode(text, uts46=True).decode("ascii")  # also turns full-width digits and dots into plain ones
    except UnicodeError as error:
        raise NoHost from error


def _parse_ipv4(text: str) -> IPv4Address:
    """Also accepts 2130706433, 0177.0.0.1, 0x7f.1 and 127.1, as browsers and the C library do."""
    try:
        return IPv4Address(socket.inet_aton(text))
    except OSError as error:
        raise NoHost from error
