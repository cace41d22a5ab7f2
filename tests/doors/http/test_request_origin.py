"""Which host a request is for, who sent it, and which of its statements are believed."""

from __future__ import annotations

import pytest

from chyme.doors.http.request_origin import (
    client_of,
    is_allowed_origin,
    is_loopback,
    is_own_host,
    is_proven_same_origin,
    parse_networks,
    safe_redirect_path,
)

NAMES = frozenset({"chyme.example"})


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "localhost", "::1", "[::1]", "::ffff:127.0.0.1"])
def test_only_this_machine_reaches_loopback(address: str) -> None:
    assert is_loopback(address)


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.1", "localhost.example", "", "example.org"])
def test_everything_else_is_beyond_loopback(address: str) -> None:
    assert not is_loopback(address)


@pytest.mark.parametrize(
    ("host", "arrived_at", "ours"),
    [
        ("localhost:8765", "127.0.0.1", True),
        ("127.0.0.1", "127.0.0.1", True),
        ("[::1]:8765", "::1", True),
        ("LOCALHOST.", "127.0.0.1", True),
        ("chyme.example:443", "192.0.2.1", True),
        ("Chyme.Example", "127.0.0.1", True),
        ("192.0.2.1:8765", "192.0.2.1", True),
        ("192.0.2.2", "192.0.2.1", False),
        ("localhost", "192.0.2.1", False),
        ("127.0.0.1", "192.0.2.1", False),
        ("evil.example", "127.0.0.1", False),
        ("127.0.0.1.evil.example", "127.0.0.1", False),
        ("localhost.evil.example:80", "127.0.0.1", False),
        ("chyme.example.evil.example", "127.0.0.1", False),
        ("192.0.2.1", "127.0.0.1", False),
        ("", "127.0.0.1", False),
        ("[", "127.0.0.1", False),
        ("[::1]evil", "::1", False),
        ("[::1]:80evil", "::1", False),
        ("[::1%evil.example]", "::1", False),
        ("127.0.0.1%evil.example", "127.0.0.1", False),
        ("127.0.0.1:8765@evil", "127.0.0.1", False),
        ("evil@127.0.0.1", "127.0.0.1", False),
        ("localhost:", "127.0.0.1", False),
        ("localhost:x", "127.0.0.1", False),
        ("localhost\n", "127.0.0.1", False),
        ("127.0.0.1:123456", "127.0.0.1", False),
        ("localhost", "", False),
    ],
)
def test_a_foreign_host_name_is_not_accepted(host: str, arrived_at: str, ours: bool) -> None:
    assert is_own_host(host, arrived_at, NAMES) is ours


@pytest.mark.parametrize(
    ("method", "origin", "site", "mode", "own"),
    [
        ("POST", None, None, None, True),
        ("POST", "http://h:1", "same-origin", "cors", True),
        ("POST", "http://h:2", None, None, False),
        ("POST", "https://h:1", None, None, False),
        ("POST", "null", None, None, False),
        ("POST", "http://x@h:1", None, None, False),
        ("POST", None, "cross-site", None, False),
        ("DELETE", None, "same-site", None, False),
        ("POST", "http://h:1", "cross-site", None, False),
        ("POST", None, "none", "navigate", True),
        ("POST", None, "cross-site", "navigate", False),
        ("GET", None, "cross-site", "navigate", True),  # a link that a person followed
        ("GET", None, "cross-site", "no-cors", False),  # a picture or script in another site's page
        ("GET", "http://elsewhere", "same-site", "cors", False),
        ("GET", "http://elsewhere", None, None, True),  # browsers without Sec-Fetch-Site hide the answer from it
    ],
)
def test_another_sites_page_sends_nothing(
    method: str, origin: str | None, site: str | None, mode: str | None, own: bool
) -> None:
    assert is_allowed_origin(method, "http", "h:1", origin, site, mode) is own


def test_a_cookie_counts_only_if_the_browser_says_which_page_sent_it() -> None:
    assert is_proven_same_origin("GET", None, None)
    assert not is_proven_same_origin("POST", None, None)
    assert is_proven_same_origin("POST", "http://h:1", None) and is_proven_same_origin("POST", None, "same-origin")


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("203.0.113.9", [], "203.0.113.9"),
        ("203.0.113.9", ["198.51.100.1"], "203.0.113.9"),  # a stranger is not believed
        ("10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["1.1.1.1", "198.51.100.1"], "198.51.100.1"),  # anything to the left of it was made up
        ("10.0.0.1", ["198.51.100.1", "10.0.0.2"], "198.51.100.1"),
        ("10.0.0.1", ["198.51.100.1:4711"], "198.51.100.1"),
        ("10.0.0.1", ["[2001:db8::1]:4711"], "2001:db8::1"),
        ("::ffff:10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["unknown", "198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", [""], "10.0.0.1"),
    ],
)
def test_only_trusted_proxies_are_believed(peer: str, forwarded: list[str], client: str) -> None:
    assert client_of(peer, forwarded, parse_networks("10.0.0.0/24, 2001:db8:1::/48")) == client


@pytest.mark.parametrize("address", ["/", "/v/photos/", "/file/a%20b.txt?page=3", "/?q=x"])
def test_signing_in_leads_back_to_the_page_before(address: str) -> None:
    assert safe_redirect_path(address) == address


@pytest.mark.parametrize(
    "address",
    [
        *(None, "", "//evil.example", "/\\evil.example", "https://evil.example", "javascript:alert(1)"),
        *("/a\r\nSet-Cookie: x", "\\\\evil.example", "/\t/evil.example", "/a\\..\\b", "/" + "x" * 3000, "/ü"),
    ],
)
def test_signing_in_never_leads_to_another_site(address: str | None) -> None:
    assert safe_redirect_path(address) == "/"
