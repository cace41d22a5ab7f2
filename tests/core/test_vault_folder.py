"""Names in and out of the vault's folder, and opening files without leaving it."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from chyme.core.files.vault_folder import Vault, decode_path, encode_path, stamp_of
from chyme.errors import UsageError, VaultError
from chyme.model import File, Kind, Stamp


def file(path: str, escaped: bool = False) -> File:
    return File(1, path, path.rpartition("/")[2], Kind.TEXT, "", Stamp("", "", 0, 0), "", 1, escaped)


@pytest.mark.parametrize("name", ["a.txt", "é 😀", "100%", "%20%C3%A9.pdf", "%ZZ", "caf%e9", "a/b %41/c", ""])
def test_text_is_spelled_as_it_is(name: str) -> None:
    assert encode_path(name) == (name, False)


@pytest.mark.parametrize(
    ("raw", "spelled"),
    [
        (b"a\xff", "a%FF"),
        (b"100%\xff", "100%25%FF"),
        (b"100%/\xff", "100%/%FF"),
        (b"%41/\xff", "%41/%FF"),
        (b"\xe9/x%41", "%E9/x%41"),
        (b"a%FF", "a%25FF"),
        (b"a%25FF", "a%2525FF"),
        (b"\xc3\xa9\xff", "é%FF"),
    ],
)
def test_a_name_that_is_not_text_or_looks_escaped_is_escaped(raw: bytes, spelled: str) -> None:
    assert encode_path(os.fsdecode(raw)) == (spelled, True)
    assert os.fsencode(decode_path(spelled)) == raw


def test_no_two_paths_are_spelled_alike_and_each_leads_back() -> None:
    dice = random.Random(7)
    pieces = [b"%", b"2", b"5", b"F", b"E9", b"\xff", b"\xe9", b"\xc3\xa9", b"%25", b"%FF", b"%C3", b"%A9", b"a", b"/"]
    raws = {b"".join(dice.choices(pieces, k=dice.randint(1, 6))) for _ in range(30_000)}
    spelled: dict[str, bytes] = {}
    for raw in raws:
        path, escaped = encode_path(os.fsdecode(raw))
        path.encode("utf-8")
        assert spelled.setdefault(path, raw) == raw
        assert os.fsencode(decode_path(path) if escaped else path) == raw


def test_the_spelling_of_a_folder_is_the_same_in_all_paths() -> None:
    raw = os.fsdecode(b"100%/\xff/%FF/a")
    assert encode_path(raw)[0].rpartition("/")[0] == encode_path(raw.rpartition("/")[0])[0]


def test_a_missing_folder_or_a_file_is_no_vault(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(VaultError, match="cannot be opened as a vault"):
        Vault(tmp_path / "missing")
    with pytest.raises(VaultError, match="is not a folder"):
        Vault(tmp_path / "file")


def test_opening_a_file_stays_inside_the_vault_despite_links(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    (root / ".chyme").mkdir(parents=True)
    (root / "a.txt").write_text("in")
    (root / ".chyme/vault.db").write_text("ours")
    (tmp_path / "out.txt").write_text("out")
    (tmp_path / "vault 2").mkdir()
    (tmp_path / "vault 2/b.txt").write_text("a neighbour with a longer name")
    for name, target in {"in": "a.txt", "out": "../out.txt", "state": ".chyme/vault.db", "next": "../vault 2"}.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "pipe")
    vault = Vault(root)

    fd = vault.open(file("in"))
    assert os.read(fd, 10) == b"in"
    os.close(fd)
    for path in ("out", "state", "next/b.txt", "../out.txt", "pipe", ".chyme/vault.db", "."):
        with pytest.raises(OSError, match=r"not a regular file|leads out of the vault"):
            vault.open(file(path))


def test_status_distinguishes_files_folders_links_and_missing_paths(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a.txt").write_text("in")
    (tmp_path / "link").symlink_to("sub/a.txt")
    (tmp_path / "folder link").symlink_to("sub")
    vault = Vault(tmp_path)
    status = vault.status("sub/a.txt")

    assert status is not None
    assert vault.status("link") is not None and stamp_of(status) == stamp_of(os.stat(tmp_path / "link"))
    assert vault.status("sub") is not None
    for nothing in ("missing", "sub/a.txt/below", "folder link", "folder link/a.txt"):
        assert vault.status(nothing) is None


def test_a_typed_path_is_inside_the_vault_or_refused(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    (root / "sub").mkdir(parents=True)
    (root / "sub/a.txt").touch()
    vault = Vault(root)

    assert vault.relative(os.fspath(root / "sub/a.txt")) == "sub/a.txt"
    assert vault.relative("sub/../sub/a.txt") == "sub/a.txt"
    assert vault.relative(os.fspath(root)) == ""
    for outside in ("../out.txt", "/etc/passwd", os.fspath(tmp_path)):
        with pytest.raises(UsageError, match="is not in the vault"):
            vault.relative(outside)
