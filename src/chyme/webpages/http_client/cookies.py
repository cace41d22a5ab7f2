"""The cookies of one page: kept from hop to hop, sent back only where they came from, forgotten with it."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx2

MOST_COOKIES = 50
MOST_BYTES = 4096  # of one cookie


@dataclass(frozen=True, slots=True)
class _Cookie:
    name: str
    value: str
    domain: str
    subdomains: bool  # whether hosts below the domain get it too
    path: str
    secure: bool


class Cookies:
    """A jar for the redirects of one page."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, str], _Cookie] = {}

    def keep(self, url: httpx2.URL, lines: Iterable[str]) -> None:
        """Take in the Set-Cookie lines of an answer from `url`."""
        for line in lines:
            name, value, told = _parsed(line)
            cookie = _cookie(url, name, value, told) if len(line) <= MOST_BYTES else None
            if cookie is None:
                continue
            key = (cookie.domain, cookie.path, cookie.name)
            if _over(told):
                self._kept.pop(key, None)
            elif len(self._kept) < MOST_COOKIES or key in self._kept:
                self._kept[key] = cookie

    def header(self, url: httpx2.URL) -> str:
        """What to say in the Cookie line of a request for `url`; empty for nothing."""
        fitting = [cookie for cookie in self._kept.values() if _belongs(cookie, url)]
        fitting.sort(key=lambda cookie: -len(cookie.path))
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in fitting)


def _parsed(line: str) -> tuple[str, str, dict[str, str]]:
    pair, *attributes = line.split(";")
    name, _, value = pair.partition("=")
    told: dict[str, str] = {}
    for attribute in attributes:
        key, _, text = attribute.partition("=")
        told[key.strip().lower()] = text.strip()
    return name.strip(), value.strip(), told


def _cookie(url: httpx2.URL, name: str, value: str, told: dict[str, str]) -> _Cookie | None:
    if not name or not (name + value).isprintable() or not (name + value).isascii():
        return None
    host, secure = _host(url), "secure" in told
    domain = told.get("domain", "").lstrip(".").lower()
    if domain and domain != host and not (_is_below(host, domain) and "." in domain):
        return None  # a host speaks for itself and for what it is part of, never for others
    if secure and url.scheme != "https":
        return None
    path = told.get("path", "")
    own = name.lower().startswith("__host-")
    if (own and (domain or not secure or path != "/")) or (name.lower().startswith("__secure-") and not secure):
        return None
    path = path if path.startswith("/") else url.path.rpartition("/")[0] or "/"
    return _Cookie(name, value, domain or host, bool(domain), path, secure)


def _over(told: dict[str, str]) -> bool:
    age = told.get("max-age")
    if age is not None and age.removeprefix("-").isdecimal():
        return age.startswith("-") or not age.strip("0")
    try:
        end = parsedate_to_datetime(told["expires"])
    except (KeyError, ValueError, OverflowError):
        return False
    return (end if end.tzinfo else end.replace(tzinfo=UTC)) <= datetime.now(UTC)


def _belongs(cookie: _Cookie, url: httpx2.URL) -> bool:
    if cookie.secure and url.scheme != "https":
        return False
    host = _host(url)
    if host != cookie.domain and not (cookie.subdomains and _is_below(host, cookie.domain)):
        return False
    below = cookie.path if cookie.path.endswith("/") else cookie.path + "/"
    return url.path == cookie.path or url.path.startswith(below)


def _host(url: httpx2.URL) -> str:
    return url.raw_host.decode("ascii").lower()


def _is_below(host: str, domain: str) -> bool:
    if not host.endswith("." + domain):
        return False
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return True
    return False  # an address has no parts that mean anything
