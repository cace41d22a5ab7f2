"""The model of languages, unpacked once or for each process."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from chyme.doors.cli.commands.weights import weights as command
from chyme.text import language_model
from chyme.text.language_model import load_identifier, unpack

TEXTS = (
    "The harbour office opens at eight and closes when the last ferry has left.",
    "Das Hafenamt öffnet um acht und schließt, wenn die letzte Fähre abgelegt hat.",
    "Портовая контора открывается в восемь часов утра.",
    "港務局は八時に開きます。",
    "12 34 56",
    "",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("languages") / "share" / "model"
    umask = os.umask(0o077)  # children of another user must be able to read it all the same
    try:
        assert unpack(folder)
    finally:
        os.umask(umask)
    return folder


def test_the_unpacked_copy_answers_as_the_package_does(folder: Path, tmp_path: Path) -> None:
    unpacked, packed = load_identifier(folder), load_identifier(tmp_path / "missing")
    for text in TEXTS:
        assert unpacked.rank(text) == packed.rank(text)


def test_it_is_mapped_and_not_copied(folder: Path) -> None:
    maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    identifier = load_identifier(folder)
    assert identifier.tk_nextmove.readonly
    assert str(folder / "nextmove.npy") not in maps
    assert str(folder / "nextmove.npy") in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")


def test_a_copy_that_is_there_stays_and_everyone_may_read_it(folder: Path) -> None:
    before = {path: path.stat().st_ino for path in folder.iterdir()}
    assert not unpack(folder)
    assert {path: path.stat().st_ino for path in folder.iterdir()} == before
    assert {path.stat().st_mode & 0o777 for path in (folder, folder.parent)} == {0o755}
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o644}


def test_a_damaged_copy_is_not_used_and_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "languages" / "new"
    former, stale, running = (folder.parent / name for name in ("old", ".unpacking-stale", ".unpacking-now"))
    for other in (folder, former, stale, running):
        other.mkdir(parents=True)
    os.utime(stale, (0, 0))
    (folder / "ptc.npy").write_bytes(b"\x93NUMPY\x01\x00")
    asked: list[str] = []
    unpack_arrays = language_model._unpack_arrays

    def unpack_and_note() -> dict[str, Any]:
        asked.append("packed")
        return unpack_arrays()

    monkeypatch.setattr(language_model, "_unpack_arrays", unpack_and_note)
    assert load_identifier(folder).classify(TEXTS[0])[0] == "en"
    assert unpack(folder)
    assert asked == ["packed"] * 2
    assert load_identifier(folder).classify(TEXTS[1])[0] == "de"
    assert asked == ["packed"] * 2
    assert sorted(path.name for path in folder.parent.iterdir()) == [running.name, "new"]


def test_the_command_unpacks_it_and_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))

    def run() -> dict[str, str]:
        done = CliRunner().invoke(command, ["languages", "--vault", str(tmp_path), "--json"])
        assert done.exit_code == 0, done.output
        (row,) = json.loads(done.stdout)["weights"]
        return dict(row)

    assert [run()["state"], run()["state"]] == ["unpacked", "there"]
    assert Path(run()["folder"]).is_relative_to(tmp_path)


def test_a_folder_that_cannot_be_written_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "share").write_bytes(b"")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    done = CliRunner().invoke(command, ["languages", "--vault", str(tmp_path)])
    assert done.exit_code == 0
    assert "packed" in done.stdout
    assert "each process unpacks" in done.stderr
    assert load_identifier().classify(TEXTS[0])[0] == "en"
