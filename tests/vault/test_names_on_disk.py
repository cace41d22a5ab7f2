"""The scan takes the right files and goes on, whatever their names are and whatever else is in a folder."""

from __future__ import annotations

import os
import socket
import unicodedata
from pathlib import Path

import pytest
from watching import Folder

from chyme.core.files.vault_folder import Vault

ODD = [
    "new\nline.txt",
    "-rf",
    "--help.txt",
    "x" * 251 + ".txt",
    "😀 smile.txt",
    unicodedata.normalize("NFC", "café.txt"),
    unicodedata.normalize("NFD", "café.txt"),
    "right\u202eto\u200fleft.txt",
    "CON",
    "trailing   ",
    "100%.txt",
    "%20 and %C3%A9.txt",
    "quote'\"`$(x).txt",
    "back\\slash.txt",
    "*?.txt",
    "tab\tand\x01control.txt",
]


@pytest.mark.parametrize("name", ODD)
def test_odd_names_stay_as_they_are(folder: Folder, name: str) -> None:
    folder.put(name, "walrus")
    folder.put(f"{name[:100]} folder/inside {name[:100]}", "otter")

    assert folder.take_in() == 2
    assert folder.paths() == sorted([name, f"{name[:100]} folder/inside {name[:100]}"])
    assert folder.found("walrus") == [name]
    assert not folder.scan().has_changes
    (folder.root / name).rename(folder.root / "plain.txt")
    assert folder.scan().moved == 1


def test_all_odd_names_side_by_side_are_distinguished(folder: Folder) -> None:
    for name in ODD:
        folder.put(name, f"text of {ODD.index(name)}")
    assert folder.take_in() == len(ODD)
    assert folder.paths() == sorted(ODD)
    assert [folder.kept(name) for name in ODD] == [f"text of {number}" for number in range(len(ODD))]


FOREIGN = [
    b"a\xff.txt",
    b"a%FF.txt",
    b"a%25FF.txt",
    b"a%2525FF.txt",
    b"100%\xff.txt",
    b"\xe9/\xe8.txt",
    b"%E9/\xe8.txt",
]


def put_bytes(folder: Folder, name: bytes) -> bytes:
    path = os.fsencode(folder.root) + b"/" + name
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as stream:
        stream.write(b"text of " + name.hex().encode())
    return path


def test_names_that_are_not_text_and_names_that_look_like_them_are_distinguished(folder: Folder) -> None:
    for name in FOREIGN:
        put_bytes(folder, name)
    assert folder.take_in() == len(FOREIGN)

    assert len(set(folder.paths())) == len(FOREIGN)
    for path in folder.paths():
        file = folder.file(path)
        disk = os.fsencode(folder.vault.disk_path(path, file.escaped))
        name = disk.removeprefix(os.fsencode(folder.root) + b"/")
        assert folder.kept(path) == "text of " + name.hex()
    assert not folder.scan().has_changes
    assert folder.digest() == 0


def test_files_that_are_not_text_are_followed_into_folders_that_are_not_text(folder: Folder) -> None:
    first = put_bytes(folder, b"100%/\xff/a.txt")
    folder.take_in()
    file_id = folder.id("100%/%FF/a.txt")
    root = os.fsencode(folder.root)
    os.rename(root + b"/100%", root + b"/\xfe")

    assert folder.take_in() == 0
    assert folder.id("%FE/%FF/a.txt") == file_id
    folder.scanner.scan_paths([os.fsdecode(b"\xfe/\xff")])
    assert folder.paths() == ["%FE/%FF/a.txt"]
    os.rename(root + b"/\xfe", root + b"/100%")
    folder.scanner.scan_paths(["100%", os.fsdecode(b"\xfe")])
    assert folder.paths() == ["100%/%FF/a.txt"]
    os.unlink(first)
    folder.scan()
    assert folder.paths() == []


def test_hidden_names_lock_files_and_unfinished_downloads_are_passed_over(folder: Folder) -> None:
    for name in (".hidden", ".folder/a.txt", "sub/.git/config", "~$letter.docx", "film.mp4.part", "x.crdownload"):
        folder.put(name)
    folder.put("a.txt")
    folder.scan()

    assert folder.paths() == ["a.txt"]
    folder.scanner.scan_paths([".hidden", ".folder/a.txt", "sub/.git", "film.mp4.part", ".chyme/vault.db"])
    assert folder.paths() == ["a.txt"]
    (folder.root / "a.txt").rename(folder.root / ".a.txt")
    folder.scan()
    assert folder.paths() == []


def test_only_files_of_the_vault_are_taken_and_nothing_stops_the_scan(folder: Folder, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("not ours")
    root = folder.root
    folder.put("real/a.txt", "ours")
    os.mkfifo(root / "fifo")
    (root / "loop").symlink_to("loop")
    (root / "circle").symlink_to(".")
    (root / "dangling").symlink_to("nowhere")
    (root / "folder link").symlink_to("real")
    (root / "file link.txt").symlink_to("real/a.txt")
    (root / "way out.txt").symlink_to(outside / "secret.txt")
    (root / "way out").symlink_to(outside)
    (root / "state").symlink_to(".chyme/vault.db")
    (root / "device").symlink_to("/dev/zero")
    (root / "fifo link").symlink_to("fifo")
    address = socket.socket(socket.AF_UNIX)
    here = os.open(root, os.O_RDONLY)
    try:
        address.bind(f"/proc/self/fd/{here}/socket")  # the path itself may be longer than an address can be
        folder.scan()
        folder.scanner.scan_paths(os.listdir(root))
        folder.scanner.scan_paths(["folder link/a.txt", "way out/secret.txt", "circle/real/a.txt"])
    finally:
        os.close(here)
        address.close()

    assert folder.paths() == ["file link.txt", "real/a.txt"]
    assert folder.digest() == 2
    assert folder.scanner.unfinished_count == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_is_passed_over(folder: Folder) -> None:
    try:
        os.mknod(folder.root / "zero", 0o666 | 0o020000, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("devices cannot be made here")
    folder.put("a.txt")
    folder.scan()

    assert folder.paths() == ["a.txt"]


def test_a_file_that_is_replaced_by_a_pipe_does_not_block(folder: Folder) -> None:
    path = folder.put("a.txt")
    folder.scan()
    path.unlink()
    os.mkfifo(path)

    folder.process(folder.id("a.txt"))
    folder.scan()
    assert folder.paths() == []


def test_folders_too_deep_to_name_are_reported_and_the_rest_is_taken(folder: Folder) -> None:
    folder.put("a.txt")
    here = os.open(folder.root, os.O_RDONLY)
    name = "d" * 200
    try:
        for _ in range(25):
            os.mkdir(name, dir_fd=here)
            below = os.open(name, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(os.open("deep.txt", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    finally:
        os.close(here)
    report = folder.scan()

    assert folder.paths() == ["a.txt"]
    assert len(report.unreadable) == 1
    assert report.unreadable[0].startswith(name)


def test_patterns_are_those_of_git(folder: Folder) -> None:
    folder.put(".chymeignore", "# a remark\n*.log\n!keep.log\nbuild/\n/top.txt\ndocs/**/draft.txt\nspa ce\n")
    names = "a.log keep.log sub/b.log build/out.txt sub/build/x.txt top.txt sub/top.txt docs/x/y/draft.txt docs/z.txt"
    for name in names.split():
        folder.put(name)
    folder.put("spa ce")
    folder.put("build/keep.log")
    folder.scan()

    assert folder.paths() == ["docs/z.txt", "keep.log", "sub/top.txt"]
    folder.scanner.scan_paths(["build/keep.log", "build", "sub/build/x.txt", "sub/b.log"])
    assert folder.paths() == ["docs/z.txt", "keep.log", "sub/top.txt"]


def test_when_patterns_change_files_are_hidden_and_come_back_with_everything(folder: Folder) -> None:
    folder.put("a.txt", "walrus")
    folder.put("logs/b.txt", "otter")
    folder.take_in()
    folder.put(".chymeignore", "logs/")
    assert folder.scan().vanished == 1
    assert folder.found("otter") == []
    folder.put(".chymeignore", "nothing")
    assert folder.scan().returned == 1

    assert folder.found("otter") == ["logs/b.txt"]
    assert folder.digest() == 0


def test_a_vault_reached_through_a_link_is_the_same_vault(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder.root)
    folder.put("sub/a.txt")

    assert Vault(tmp_path / "link").status("sub/a.txt") is not None
