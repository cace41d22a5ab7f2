"""Names of uploaded files."""

from __future__ import annotations

import pytest

from chyme.errors import UsageError
from chyme.vault.file_names import decode_name, note_name, safe_file_name, safe_folder_name, split_path


@pytest.mark.parametrize(
    ("sent", "safe"),
    [
        ("photo.JPG", "photo.JPG"),
        ("größe – 日本.pdf", "größe – 日本.pdf"),
        ("notes.tar.gz", "notes.tar.gz"),
        ('a<b>:"c|?*.txt', "a b c.txt"),
        ("con.txt", "_con.txt"),
        ("a\0b\x1b[31m\u202e.txt", "a b [31m.txt"),
        ("  spaced   out .txt", "spaced out.txt"),
        ("???.pdf", "unnamed.pdf"),
        ("no ending", "no ending"),
        ("v1.2", "v1.2"),
        ("e\u0301.txt", "é.txt"),
    ],
)
def test_names_are_harmless_and_stay_readable(sent: str, safe: str) -> None:
    assert safe_file_name(sent) == safe


def test_long_names_are_cut_and_keep_their_ending() -> None:
    name = safe_file_name("ä" * 300 + ".pdf")
    assert name.endswith("ä.pdf")
    assert len(name.encode()) <= 210
    assert len(safe_folder_name("x" * 300)) == 200


@pytest.mark.parametrize("sent", ["../x", "a/../../x", "/etc/passwd", "a/", "", "/", ".", "a/" * 40 + "b", ".."])
def test_a_path_that_leads_elsewhere_is_refused(sent: str) -> None:
    with pytest.raises(UsageError):
        split_path("file", sent)


def test_dropped_folders_are_read_from_the_name_or_the_field() -> None:
    assert split_path("file", "trip/day 1/a.jpg") == ["trip", "day 1", "a.jpg"]
    assert split_path("trip/a.jpg", "a.jpg") == ["trip", "a.jpg"]
    assert split_path("file", "./a//b.jpg") == ["a", "b.jpg"]


def test_names_come_as_browsers_send_them() -> None:
    assert decode_name(b"say %22hi%22.txt") == 'say "hi".txt'
    assert decode_name("größe.txt".encode()) == "größe.txt"
    assert safe_file_name(decode_name(b"\xff\xfe.txt")) == "unnamed.txt"


@pytest.mark.parametrize(
    ("title", "text", "name"),
    [
        ("Jam", "boil", "Jam"),
        ("", "\n\n# Rhubarb jam\nboil", "Rhubarb jam"),
        ("", "- [ ] buy\n", "[ ] buy"),
        ("///", "first line", "first line"),
        ("", "***\n…", "…"),
        ("", "  \n", "note"),
    ],
)
def test_a_note_is_called_after_its_title_or_first_line(title: str, text: str, name: str) -> None:
    assert note_name(title, text) == name
