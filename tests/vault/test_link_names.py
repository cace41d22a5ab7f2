"""What the file of a link is called."""

from __future__ import annotations

import random

import pytest

from chyme.vault.file_names import EXTENSION, MAX_LINK_BYTES, link_name, numbered_name, safe_name


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://www.example.org/2024/05/how-to-digest.html", "example.org – how to digest"),
        ("https://example.org/", "example.org"),
        ("https://example.org/wiki/Gastric_chyme", "example.org – Gastric chyme"),
        ("https://example.org/blog/index.html", "example.org – blog"),
        ("https://example.org/questions/11227809", "example.org – questions 11227809"),
        ("https://example.org/questions/11227809/why-so-slow", "example.org – why so slow"),
        ("https://example.org/p/3f2504e04f8911d39a0c0305e82c3301", "example.org"),
        ("https://example.org/a/%E6%9D%B1%E4%BA%AC%E3%81%AE%E5%A4%A9%E6%B0%97", "example.org – 東京の天気"),
        ("https://xn--bcher-kva.example/k%C3%A4se", "bücher.example – käse"),
        ("https://example.org/ab%2F..%2F..%2Fetc%2Fpasswd", "example.org – ab .. .. etc passwd"),
        ("https://example.org/%E2%80%AEgpj.exe", "example.org – gpj.exe"),
        ("https://example.org/a%00b%0Acd%1B", "example.org – a b cd"),
        ("https://example.org/%FF%FEbroken", "example.org – broken"),
        ("https://example.org/trailing...%20", "example.org – trailing"),
        ("https://con.example/x", "_con.example"),
        ("https://example.org/a%3Ab%3Fc%2Ade", "example.org – a b c de"),
    ],
)
def test_a_link_is_named_after_its_host_and_the_words_of_its_path(address: str, name: str) -> None:
    assert link_name(address) == name


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("My page", "My page"),
        ("../../etc/passwd", "etc passwd"),
        (".hidden", "hidden"),
        ("~$lock", "$lock"),
        ("--force", "force"),
        ("aux", "_aux"),
        ("COM1.notes", "_COM1.notes"),
        ("common", "common"),
        ("e\u0301te\u0301", "été"),
        ("a\u2028b\u202ec\ud800d", "a b c d"),
        (" . / . ", ""),
        ("\x07", ""),
    ],
)
def test_no_name_is_hidden_reserved_or_leads_elsewhere(typed: str, name: str) -> None:
    assert safe_name(typed) == name


def test_long_names_are_cut_between_letters_with_room_for_a_number() -> None:
    stem = safe_name("ä" * 300)
    assert set(stem) == {"ä"}
    name = numbered_name(stem + EXTENSION, 9999, EXTENSION)
    assert MAX_LINK_BYTES - 2 <= len(name.encode()) <= MAX_LINK_BYTES


def test_any_letters_give_a_name_that_stays_the_same() -> None:
    dice = random.Random(3)
    for _ in range(2000):
        name = safe_name("".join(chr(dice.choice((dice.randrange(256), dice.randrange(0x3000)))) for _ in range(60)))
        assert safe_name(name) == name
        assert name.isprintable()
        assert "/" not in name
