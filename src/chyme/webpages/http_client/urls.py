"""Parses the addresses in links and redirects, and separates their passwords."""

from __future__ import annotations

import base64

import httpx2

from chyme.errors import AddressRefused, UnreadableFile

PORTS = {"http": 80, "https": 443}

Origin = tuple[str, str, int]


def parse(text: str, base: httpx2.URL | None = None) -> httpx2.URL:
    """Return an http(s) address as ASCII without fragment; raises AddressRefused or UnreadableFile, naming no file."""
    where = "the link" if base is None else f"a redirect of {base.host}"
    try:
        url = httpx2.URL(text.strip()) if base is None else base.join(text.strip())
        url = url.copy_with(fragment=None)
    except (httpx2.InvalidURL, ValueError) as error:
        raise UnreadableFile(f"{where} is not an address that can be read") from error
    if url.scheme not in PORTS:
        scheme = url.scheme[:20] or "no"
        raise AddressRefused(f"{where} leads to a {scheme}: address; only http and https are followed")
    if not url.host:
        raise UnreadableFile(f"{where} names no host")
    return url


def origin(url: httpx2.URL) -> Origin:
    return url.scheme, url.host, url.port or PORTS[url.scheme]


def without_credentials(url: httpx2.URL) -> httpx2.URL:
    """Return the address without user and password."""
    return url.copy_with(userinfo=b"") if url.userinfo else url


def authorization(url: httpx2.URL) -> str | None:
    """Return the Authorization header for the user and password in the address."""
    if not url.userinfo:
        return None
    return "Basic " + base64.b64encode(f"{url.username}:{url.password}".encode()).decode("ascii")
