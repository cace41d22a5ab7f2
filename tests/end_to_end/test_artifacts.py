"""Artifacts can be listed and unpacked with SQLite's own command line, without chyme."""

from __future__ import annotations

import random
import shutil
import subprocess

import pytest
from plugin_package import install
from running_chyme import RunningChyme
from waiting import AMPLE

pytestmark = pytest.mark.slow

MAKER = """
import random

SQUEEZABLE = b"the same line again and again\\n" * 4000
NOISE = random.Random(7).randbytes(50_000)


class Maker(Digester):
    name = "maker"
    label = "Maker"
    description = "Makes artifacts."

    def can_digest(self, file: File) -> bool:
        return True

    def digest(self, source: Source) -> list[Output]:
        made = (Artifact("lines.txt", SQUEEZABLE), Artifact("noise.bin", NOISE), Artifact("nothing", b""))
        return [Output(self.name, source.file.name, made)]
"""
EXPECTED = {
    "lines.txt": b"the same line again and again\n" * 4000,
    "noise.bin": random.Random(7).randbytes(50_000),
    "nothing": b"",
}


def test_artifacts_can_be_unpacked_by_sqlite_alone(chyme: RunningChyme) -> None:
    sqlite = shutil.which("sqlite3")
    if sqlite is None:
        pytest.skip("needs the sqlite3 command (on Debian: apt install sqlite3)")
    install(chyme.site, "artifact_makers", MAKER, {"maker": "Maker"})
    for name in ("one.md", "one.md.md", "deep/one.md"):
        chyme.drop(name, f"# {name}")
    assert chyme.run("digest").code == 0
    database = chyme.vault / ".chyme/vault.db"

    listed = subprocess.run(
        [sqlite, database, "-A", "-t"], capture_output=True, text=True, check=True, timeout=AMPLE
    ).stdout.split()
    assert len(listed) == 9
    folder = chyme.folder / "unpacked"
    folder.mkdir()
    subprocess.run([sqlite, database, "-A", "-x", "-C", folder], capture_output=True, check=True, timeout=AMPLE)

    for path, sqlar_name in chyme.rows("SELECT file_path, sqlar_name FROM digests WHERE digester = 'maker'"):
        assert sqlar_name in listed
        assert len(sqlar_name.split("/")[0]) == 16
        for filename, data in EXPECTED.items():
            unpacked = folder / sqlar_name.rpartition("/")[0] / filename
            assert unpacked.read_bytes() == data, f"{path}: {filename}"
    stored = chyme.rows("SELECT DISTINCT sz, length(data) FROM sqlar WHERE name LIKE '%.bin'")
    assert stored == [(50_000, 50_000)], "data that does not shrink is stored unchanged"
    [(size, stored_size)] = chyme.rows("SELECT DISTINCT sz, length(data) FROM sqlar WHERE name LIKE '%.txt'")
    assert stored_size < size / 10

    (chyme.vault / "one.md").rename(chyme.vault / "renamed.md")
    assert chyme.run("digest").code == 0
    details = chyme.run("show", "renamed.md", "--json").json
    [made] = [digest for digest in details["digests"] if digest["digester"] == "maker"]
    assert made["artifacts"] == sorted(EXPECTED)
    assert chyme.rows("SELECT count(*) FROM sqlar WHERE name = ?", made["sqlar_name"]) == [(1,)]
    assert chyme.run("verify").code == 0
