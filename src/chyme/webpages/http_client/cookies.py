"""The cookies of one page: stored across redirects, sent back only to their origin, and dropped with the page."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx2

MAX_COOKIES = 50
MAX_COOKIE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class _Cookie:
    name: str
    value: str
    domain: str
    subdomains: bool  # whether hosts below the domain get it too
    path: str
    secure: bool


class Cookies:
    """A cookie jar for the redirects of one page."""

    def __init__(self) -> None:
        self._cookies: dict[tuple[str, str, str], _Cookie] = {}

    def keep(self, url: httpx2.URL, lines: Iterable[str]) -> None:
        """Store the Set-Cookie lines of a response from `url`."""
        for line in lines:
            name, value, attributes = _parse(line)
            cookie = _make_cookie(url, name, value, attributes) if len(line) <= MAX_COOKIE_BYTES else None
            if cookie is None:
                continue
            key = (cookie.domain, cookie.path, cookie.name)
            if _is_expired(attributes):
                self._cookies.pop(key, None)
            elif len(self._cookies) < MAX_COOKIES or key in self._cookies:
                self._cookies[key] = cookie

    def header(self, url: httpx2.URL) -> str:
        """Return the Cookie header of a request for `url`; empty if there is none."""
        cookies = [cookie for cookie in self._cookies.values() if _applies_to(cookie, url)]
        cookies.sort(key=lambda cookie: -len(cookie.path))
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in cookies)


def _parse(line: str) -> tuple[str, str, dict[str, str]]:
    pair, *parts = line.split(";")
    name, _, value = pair.partition("=")
    attributes: dict[str, str] = {}
    for part in parts:
        key, _, text = part.partition("=")
        attributes[key.strip().lower()] = text.strip()
    return name.strip(), value.strip(), attributes


def _make_cookie(url: httpx2.URL, name: str, value: str, attributes: dict[str, str]) -> _Cookie | None:
    if not name or not (name + value).isprintable() or not (name + value).isascii():
        return None
    host, secure = _host(url), "secure" in attributes
    domain = attributes.get("domain", "").lstrip(".").lower()
    if domain and domain != host and not (_is_below(host, domain) and "." in domain):
        return None  # a host sets cookies for itself and its parent domains, never for others
    if secure and url.scheme != "https":
        return None
    path = attributes.get("path", "")
    is_host_only = name.lower().startswith("__host-")
    if (is_host_only and (domain or not secure or path != "/")) or (
        name.lower().startswith("__secure-") and not secure
    ):
        return None
    path = path if path.startswith("/") else url.path.rpartition("/")[0] or "/"
    return _Cookie(name, value, domain or host, bool(domain), path, secure)


def _is_expired(attributes: dict[str, str]) -> bool:
    age = attributes.get("max-age")
    if age is not None and age.removeprefix("-").isdecimal():
        return age.startswith("-") or not age.strip("0")
    try:
        end = parsedate_to_datetime(attributes["expires"])
    except (KeyError, ValueError, OverflowError):
        return False
    return (end if end.tzinfo else end.replace(tzinfo=UTC)) <= datetime.now(UTC)


def _applies_to(cookie: _Cookie, url: httpx2.URL) -> bool:
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
    return False  # an IP address has no parent domains
