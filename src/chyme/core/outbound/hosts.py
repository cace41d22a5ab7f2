"""Normalises the ways to write a host: to a checked name in lower case, or to the address it stands for."""

from __future__ import annotations

import re
import socket
from ipaddress import IPv4Address

from chyme.core.outbound.ip_addresses import Address, address_of

MAX_NAME = 253
LABEL = re.compile(r"[a-z0-9_-]{1,63}")
NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


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
