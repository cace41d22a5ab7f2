"""The ways to write a host, brought to one: a checked name in lower case, or the address it stands for."""

from __future__ import annotations

import re
import socket
from ipaddress import IPv4Address

from chyme.core.outbound.ip_addresses import Address, address_of

MAX_NAME = 253
LABEL = re.compile(r"[a-z0-9_-]{1,63}")
NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


class NoHost(Exception):
    """This is no name of a host and no address."""


def host_of(text: str) -> str | Address:
    """The host as the operating system would understand it, or NoHost. A name is ASCII, without a dot at its end."""
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
        if ":" not in text:
            raise NoHost
    if ":" in text:
        address = address_of(text) if "%" not in text else None  # network cards are nobody's business outside
        if address is None:
            raise NoHost
        return address
    name = _ascii(text).lower().removesuffix(".")
    labels = name.split(".")
    if len(name) > MAX_NAME or not all(LABEL.fullmatch(label) for label in labels):
        raise NoHost
    return _address_4(name) if NUMBER.fullmatch(labels[-1]) else name


def _ascii(text: str) -> str:
    if text.isascii():
        return text
    if len(text) > MAX_NAME:
        raise NoHost
    import idna

    try:
        return idna.encode(text, uts46=True).decode("ascii")  # full-width digits and dots become plain ones, too
    except UnicodeError as error:
        raise NoHost from error


def _address_4(text: str) -> IPv4Address:
    """Also 2130706433, 0177.0.0.1, 0x7f.1 and 127.1, which browsers and the C library understand alike."""
    try:
        return IPv4Address(socket.inet_aton(text))
    except OSError as error:
        raise NoHost from error
