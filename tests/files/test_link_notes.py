"""Which notes are a link, with what title and remark, and which are a text."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from chyme.files.kind_detection import identify
from chyme.files.link_files import MAX_LINKS, LinkNote, link_note_in, links_in, read_link_note
from chyme.model import Kind

PAGE = "https://example.org/a/page?q=1"


def kind_of(name: str, text: str) -> Kind:
    data = text.encode()
    return identify(name, data, len(data), lambda at, length: data[at : at + length])[0]


@pytest.mark.parametrize(
    ("text", "title", "remark"),
    [
        (f"The tide mill\n{PAGE}", "The tide mill", None),
        (f"The tide mill\r\n\r\n{PAGE}\r\n", "The tide mill", None),
        (f"{PAGE}\n\nRead this before the meeting.", None, "Read this before the meeting."),
        (f"The tide mill\n{PAGE}\nfor Marta", "The tide mill", "for Marta"),
        (f"Look at this: {PAGE} via App", None, "Look at this: via App"),
        (f"[The tide mill]({PAGE})", "The tide mill", None),
        (f'[The tide mill](<{PAGE}> "hover")\n\nlater', "The tide mill", "later"),
        (f"# The tide mill\n\n<{PAGE}>", "The tide mill", None),
        (f'---\ntitle: "The tide mill"\nurl: {PAGE}\ntags: [a, b]\n---\n', "The tide mill", None),
        (f"---\nsource: {PAGE}\ndescription: old mills\n---\n\nfor Marta\n", None, "old mills\nfor Marta"),
        (f"---\ntitle: The tide mill\n---\n{PAGE}\n", "The tide mill", None),
        (f"{PAGE}\n{PAGE}\n", None, None),
        (f"Read ({PAGE}).", None, "Read"),
    ],
)
@pytest.mark.parametrize("name", ["a.txt", "a.md", "shared"])
def test_a_link_with_a_title_or_a_remark_is_a_link(name: str, text: str, title: str | None, remark: str | None) -> None:
    assert link_note_in(name, text.encode()) == LinkNote(PAGE, title, remark)
    assert kind_of(name, text) is Kind.URL


@pytest.mark.parametrize(
    "text",
    [
        f"{PAGE}\nhttps://example.org/b",
        f"---\nsource: {PAGE}\n---\nsee https://example.org/b",
        "no address at all",
        f"{PAGE}\n\n" + "The miller opened the gate and let the pond run out through the wheel. " * 5,
        f"---\nurl: {PAGE}\n---\n" + "A whole article that a clipper has saved, word for word. " * 10,
        f"Shopping\n- milk\n- bread\n- {PAGE}",
        f"![a picture]({PAGE})",
        f"```\ncurl {PAGE}\n```",
        f"| a | b |\n|---|---|\n| {PAGE} | c |",
        f"<div>{PAGE}</div>",
        "one\ntwo\nthree\nfour\nfive\nsix\n" + PAGE,
        f"ftp://example.org/x and {PAGE}",
        f"{PAGE}\u202egpj.exe remark",
        f"remark\x07 {PAGE}",
        f"x{PAGE}",
        f"From: a@example.org\nTo: b@example.org\nMessage-ID: <1@example.org>\n\n{PAGE}",
    ],
)
def test_a_text_with_links_stays_a_text(text: str) -> None:
    assert kind_of("a.txt", text) is not Kind.URL


@pytest.mark.parametrize("name", ["a.csv", "a.py", "a.json", "a.html"])
def test_only_notes_are_read_as_link_notes(name: str) -> None:
    assert link_note_in(name, f"title\n{PAGE}".encode()) is None


def test_each_link_of_a_text_is_found_once_up_to_the_limit() -> None:
    text = f"See {PAGE}, (https://en.example.org/wiki/Mill_(tide)) and [b](https://example.org/b). Again {PAGE}!"
    assert links_in(text) == [PAGE, "https://en.example.org/wiki/Mill_(tide)", "https://example.org/b"]
    many = " ".join(f"https://example.org/{number}" for number in range(MAX_LINKS * 2))
    assert len(links_in(many)) == MAX_LINKS
    assert links_in("javascript:alert(1) file:///etc/passwd x://https:// https://") == []


@pytest.mark.parametrize(
    ("read", "hostile", "harmless"),
    [
        (links_in, "https://a.example/" + "." * 1_000_000, "https://a.example/ " + "a" * 1_000_000),
        (links_in, "https://a.example/" + ")" * 1_000_000, "https://a.example/ " + "a" * 1_000_000),
        (read_link_note, "a" + "\n" * 8000 + "https://a.example/", "a" + "bc\n" * 2700 + "https://a.example/"),
    ],
    ids=["dots behind an address", "brackets behind an address", "empty lines"],
)
def test_the_work_grows_with_the_length_of_a_text_and_no_faster(
    read: Callable[[str], object], hostile: str, harmless: str
) -> None:
    def seconds(text: str) -> float:
        begun = time.process_time()
        read(text)
        return time.process_time() - begun

    read(harmless)
    assert seconds(hostile) < 100 * max(seconds(harmless), 0.001)
