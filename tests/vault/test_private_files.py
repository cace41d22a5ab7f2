"""Which files no model may see, whatever is in .chymeprivate."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path
from typing import Literal

import pytest

from chyme.vault.private_files import MAX_BYTES, PrivateFiles

CAFE = "Café Zoë.txt"
FORMS: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")


def private_in(root: Path, data: bytes) -> PrivateFiles:
    (root / ".chymeprivate").write_bytes(data)
    return PrivateFiles(root)


def test_without_the_file_nothing_is_private(tmp_path: Path) -> None:
    private = PrivateFiles(tmp_path)
    assert not private("letter.txt")
    assert (private.patterns, private.problem) == (0, None)


def test_patterns_are_those_of_gitignore(tmp_path: Path) -> None:
    private = private_in(tmp_path, b"# mine\n\nsecret/\r\n*.key\n!open.key\n")
    assert [path for path in ("secret/a.txt", "b/c.key", "open.key", "letter.txt") if private(path)] == [
        "secret/a.txt",
        "b/c.key",
    ]
    assert (private.patterns, private.problem) == (3, None)


def test_a_mark_of_byte_order_hides_no_pattern(tmp_path: Path) -> None:
    private = private_in(tmp_path, b"\xef\xbb\xbfsecret.txt\n")
    assert private("secret.txt")
    assert not private("letter.txt")
    assert private.problem is None


@pytest.mark.parametrize(
    "data",
    ["secret.txt\n".encode("utf-16"), "secret.txt\n".encode("utf-16-le"), "Café.txt\n".encode("latin-1")],
    ids=["utf-16", "utf-16 without mark", "latin-1"],
)
def test_patterns_that_are_not_utf_8_make_every_file_private(tmp_path: Path, data: bytes) -> None:
    private = private_in(tmp_path, data)
    assert private("letter.txt")
    assert private.patterns == 0
    assert private.problem is not None
    assert "UTF-8" in private.problem


@pytest.mark.parametrize("line", ["!", "secret\\", "scan[2024.pdf", "/"])
def test_a_line_that_is_no_pattern_makes_every_file_private_and_is_named(tmp_path: Path, line: str) -> None:
    private = private_in(tmp_path, f"*.key\n\n{line}\n".encode())
    assert private("letter.txt")
    assert private.patterns == 0
    assert private.problem is not None
    assert f"line 3, {line!r}" in private.problem
    assert "every file is private" in private.problem


def test_a_corrected_mistake_is_forgotten(tmp_path: Path) -> None:
    private = private_in(tmp_path, b"!\n")
    assert private("letter.txt")
    (tmp_path / ".chymeprivate").write_bytes(b"*.key\n")
    assert not private("letter.txt")
    assert private("a.key")
    assert (private.patterns, private.problem) == (1, None)


@pytest.mark.parametrize("pattern", ["NFC", "NFD"])
@pytest.mark.parametrize("name", ["NFC", "NFD"])
def test_a_name_is_the_same_however_its_accents_are_spelt(tmp_path: Path, pattern: str, name: str) -> None:
    spelt: dict[str, str] = {form: unicodedata.normalize(form, CAFE) for form in FORMS}
    assert private_in(tmp_path, f"{spelt[pattern]}\n".encode())(spelt[name])
    private = private_in(tmp_path, f"*.txt\n!{spelt[pattern]}\n".encode())
    assert not private(spelt[name])
    assert private("letter.txt")


def test_a_link_to_nothing_makes_every_file_private(tmp_path: Path) -> None:
    (tmp_path / ".chymeprivate").symlink_to(tmp_path / "elsewhere")
    private = PrivateFiles(tmp_path)
    assert private("letter.txt")
    assert private.problem is not None
    assert "cannot be read" in private.problem
    (tmp_path / "elsewhere").write_text("*.key\n")
    assert not private("letter.txt")
    assert private("a.key")


def test_a_vault_that_is_not_there_has_no_file_to_send(tmp_path: Path) -> None:
    private = PrivateFiles(tmp_path / "gone")
    assert private("letter.txt")
    assert private.problem is not None


def test_a_pipe_or_a_huge_file_instead_of_patterns_makes_every_file_private(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".chymeprivate")
    private = PrivateFiles(tmp_path)
    assert private("letter.txt")
    assert "no file" in (private.problem or "")
    (tmp_path / ".chymeprivate").unlink()
    (tmp_path / ".chymeprivate").write_bytes(b"*.key\n" * MAX_BYTES)
    assert private("letter.txt")
    assert "larger" in (private.problem or "")
