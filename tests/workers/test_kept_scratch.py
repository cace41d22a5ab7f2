"""What a digester keeps in its scratch folder travels as one stream."""

from __future__ import annotations

import io
import json
import os
import struct
from pathlib import Path

import pytest

from chyme.core.children.frames import BadFrame
from chyme.workers.kept_scratch import pack_folder, unpack_folder


def pack(folder: Path, most: int = 1 << 20) -> bytes | None:
    stream = io.BytesIO()
    return stream.getvalue() if pack_folder(folder, stream, most) else None


def stream_of(rows: object, data: bytes = b"") -> bytes:
    head = json.dumps(rows).encode()
    return struct.pack("!I", len(head)) + head + data


def unpack(data: bytes, folder: Path) -> None:
    unpack_folder(io.BytesIO(data), len(data), folder, None)


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    there, here = tmp_path / "there", tmp_path / "here"
    there.mkdir()
    here.mkdir()
    return there, here


def test_files_arrive_as_they_were(folders: tuple[Path, Path]) -> None:
    there, here = folders
    (there / "pages.json").write_bytes(os.urandom(3_000))
    (there / "ein Wort.bin").write_bytes(b"x")
    (here / "pages.json").write_text("older")

    packed = pack(there)
    assert packed is not None
    unpack(packed, here)

    assert {path.name: path.read_bytes() for path in here.iterdir()} == {
        path.name: path.read_bytes() for path in there.iterdir()
    }


def test_traps_are_not_followed(folders: tuple[Path, Path], tmp_path: Path) -> None:
    there, _ = folders
    (tmp_path / "secret").write_text("secret")
    (there / "link").symlink_to(tmp_path / "secret")
    os.link(tmp_path / "secret", there / "second name")
    os.mkfifo(there / "pipe")
    (there / "folder").mkdir()

    assert pack(there) is None


def test_more_than_allowed_is_not_packed(folders: tuple[Path, Path]) -> None:
    (folders[0] / "large").write_bytes(b"x" * 2000)

    assert pack(folders[0], 1999) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0\0\x05[[]",
        struct.pack("!I", 1 << 31) + b"[]",
        stream_of({}),
        stream_of([["../escape", 1]], b"x"),
        stream_of([["/etc/passwd", 1]], b"x"),
        stream_of([[".answer", 1]], b"x"),
        stream_of([["a", 2]], b"x"),
        stream_of([["a", -1], ["b", 2]], b"x"),
        stream_of([["a", 1], ["a", 1]], b"xy"),
        stream_of([["a", 1]], b"xy"),
        stream_of([["a", "1"]], b"x"),
        stream_of([["a"]], b"x"),
        stream_of([["a\nb", 1]], b"x"),
    ],
)
def test_nonsense_is_refused_and_leaves_nothing(folders: tuple[Path, Path], data: bytes) -> None:
    with pytest.raises((BadFrame, struct.error)):
        unpack(data, folders[1])

    assert not list(folders[1].iterdir())
