"""Friendly file names."""

from __future__ import annotations

import unicodedata

import pytest
from growth import grows_linearly

from chyme.files.machine_names import is_machine_made
from chyme.understanding.slug_format import BYTES, LENGTH, slug_of
from chyme.vault.file_names import numbered_name


@pytest.mark.parametrize(
    ("title", "date", "extension", "name"),
    [
        ("Rental contract Miller", "2026-04-03", ".pdf", "2026-04-03-rental-contract-miller.pdf"),
        ("Rental contract Miller", None, ".pdf", "rental-contract-miller.pdf"),
        ("Rental contract Miller", "2026-04", ".pdf", "2026-04-rental-contract-miller.pdf"),
        ("Rental contract Miller", "2026", ".JPG", "2026-rental-contract-miller.JPG"),
        ("Rental contract Miller", "some day", ".pdf", "rental-contract-miller.pdf"),
        ("Straße & Größe: Übersicht", None, ".odt", "straße-größe-übersicht.odt"),
        ("L’été à la mer", None, ".jpg", "l-été-à-la-mer.jpg"),
        ("Bob's garden", None, ".jpg", "bobs-garden.jpg"),
        ("Договор аренды", "2026", ".pdf", "2026-договор-аренды.pdf"),
        ("賃貸契約書：東京都", None, ".pdf", "賃貸契約書-東京都.pdf"),
        ("हिन्दी में शीर्षक", None, ".pdf", "हिन्दी-में-शीर्षक.pdf"),
        ("عقد الإيجار", None, ".pdf", "عقد-الإيجار.pdf"),
        ("Version 2.0.1 is out", None, ".md", "version-2.0.1-is-out.md"),
        ("Minutes of 2026-04-03", "2026-04-03", ".md", "2026-04-03-minutes.md"),
        ("2026-04-03 Minutes", "2026-04-03", ".md", "2026-04-03-minutes.md"),
        ("Protokoll vom 03.04.2026 in Rom", "2026-04-03", ".md", "2026-04-03-protokoll-in-rom.md"),
        ("Report 2026", "2026", ".md", "report-2026.md"),
        ("backup", None, ".tar.gz", "backup.tar.gz"),
        ("no extension", None, "", "no-extension"),
        ("odd extension", None, "./../x", "odd-extension"),
        ("a/../../etc/passwd", None, ".txt", "a-etc-passwd.txt"),
        ("-rf *", None, ".txt", "rf.txt"),
        (".. hidden", None, ".txt", "hidden.txt"),
        ("a\0b\x1b[31mc\u202etxt.exe", None, ".txt", "a-b-31mc-txt-exe.txt"),
        ("CON", None, ".txt", "con-file.txt"),
        ("nul", None, "", "nul-file"),
        ("lpt1", None, ".txt", "lpt1-file.txt"),
        ("😀 party 🎉", None, ".png", "party.png"),
        ("E\u0301te\u0301", None, ".png", "été.png"),
    ],
)
def test_a_title_becomes_a_name(title: str, date: str | None, extension: str, name: str) -> None:
    assert slug_of(title, date, extension) == name


@pytest.mark.parametrize("title", [None, "", "  ", "…!?", "😀", "x", "\0"])
def test_without_a_word_there_is_no_name(title: str | None) -> None:
    assert slug_of(title, "2026-04-03", ".pdf") is None


@pytest.mark.parametrize(
    "title",
    ["word " * 100, "x" * 500, "漢" * 500, "漢字 " * 200, "é" * 300, "a" * 70 + " " + "b" * 70, "ก" + "\u0e34" * 400],
)
@pytest.mark.parametrize("extension", [".pdf", ".tar.gz", ""])
def test_long_titles_are_cut(title: str, extension: str) -> None:
    name = slug_of(title, "2026-04-03", extension)
    assert name is not None
    assert name.endswith(extension) and name.startswith("2026-04-03-")
    assert len(name.removesuffix(extension)) <= LENGTH and len(name.encode()) <= BYTES
    assert len(name.encode()) >= 30
    assert name == unicodedata.normalize("NFC", name)


def test_long_titles_are_cut_between_words() -> None:
    name = slug_of("the quick brown fox jumps over the lazy dog and then over the next one and the last", None, ".md")
    assert name == "the-quick-brown-fox-jumps-over-the-lazy-dog-and-then-over-the-next-one-and-the.md"


def test_a_slug_counts_as_a_name_given_by_a_person() -> None:
    assert not is_machine_made("2026-04-03-rental-contract-miller.pdf")


def test_a_taken_name_gets_a_number_before_its_extension() -> None:
    assert [numbered_name("a.tar.gz", number, ".tar.gz") for number in (1, 2, 3)] == [
        "a.tar.gz",
        "a 2.tar.gz",
        "a 3.tar.gz",
    ]
    assert numbered_name("a", 2, "") == "a 2"


@pytest.mark.parametrize("part", ["a ", "1", "1.", "'a", "-", "\u0301", "2026-04-03 "])
def test_endless_titles_cost_no_more_than_their_length(part: str) -> None:
    assert grows_linearly(lambda size: slug_of(part * size, "2026-04-03", ".pdf"), 200_000)
