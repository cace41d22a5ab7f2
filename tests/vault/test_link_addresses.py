"""Typed text as the address of a page."""

from __future__ import annotations

import pytest

from chyme.errors import UsageError
from chyme.files.link_files import link_in, make_shortcut
from chyme.vault.intake.url_normalisation import MAX_LENGTH, address_of


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        ("https://example.org/a?b=c#d", "https://example.org/a?b=c#d"),
        (" <https://example.org/a>\n", "https://example.org/a"),
        ("\ufeffhttps://example.org/a\u200b", "https://example.org/a"),
        ("HTTPS://Example.ORG", "https://example.org/"),
        ("https://example.org:443/", "https://example.org/"),
        ("http://example.org:443/", "http://example.org:443/"),
        ("http://[::1]:8080/x", "http://[::1]:8080/x"),
        (
            "https://bücher.example/käse?für=alle#über",
            "https://xn--bcher-kva.example/k%C3%A4se?f%C3%BCr=alle#%C3%BCber",
        ),
        ("https://straße.example/", "https://xn--strae-oqa.example/"),
        ("https://example.org/%E2%82%AC%20x", "https://example.org/%E2%82%AC%20x"),
        ('https://example.org/a"b|c\\d', "https://example.org/a%22b%7Cc%5Cd"),
        ("https://example.org/@me/a@b", "https://example.org/@me/a@b"),
        (
            "https://web.example/save/https://example.org/?q=http://x",
            "https://web.example/save/https://example.org/?q=http://x",
        ),
    ],
)
def test_an_address_has_one_spelling_that_is_read_back_from_a_shortcut(typed: str, address: str) -> None:
    assert address_of(typed) == address
    assert address_of(address) == address
    assert link_in("a.url", make_shortcut(address)) == address


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("", "empty"),
        ("  <> ", "empty"),
        ("example.org/a", "begin with https://"),
        ("localhost:8000", "begin with https://"),
        ("ftp://example.org/", "begin with https://"),
        ("javascript:alert(1)", "begin with https://"),
        ("file:///etc/passwd", "begin with https://"),
        ("https://", "names no host"),
        ("https:///a", "names no host"),
        ("https://:80/", "names no host"),
        ("https://./", "names no host"),
        ("https://a\\b/", "names no host"),
        ("https://xn--\u2603-.example/", "names no host"),
        ("https://[::1", "is no address"),
        ("https://example.org:99999/", "is no address"),
        ("https://example.org/a b", "%20"),
        ("https://example.org/a\nb", "%20"),
        ("https://example.org/\x1b[2J", "unprintable"),
        ("https://example.org/\u202egpj", "unprintable"),
        ("https://example.org/\udcff", "unprintable"),
        ("https://example.org/" + "a" * MAX_LENGTH, "longer than 8,000"),
        ("https://example.org/" + "ä" * 2000, "longer than 8,000"),
        ("https://ada:secret@example.org/", "plain text"),
        ("https://ada@example.org/", "plain text"),
    ],
)
def test_text_that_is_no_address_of_a_page_is_refused_in_a_sentence(typed: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        address_of(typed)
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 200
    assert "secret" not in message


def test_the_longest_address_still_is_a_link() -> None:
    address = address_of("https://example.org/" + "a" * (MAX_LENGTH - 20))
    assert len(address) == MAX_LENGTH
    assert link_in("a.url", make_shortcut(address)) == address
