"""chyme does not wait for a removed plug-in; when the plug-in is back, its work is done."""

from __future__ import annotations

import shutil

import pytest
from plugin_package import install
from running_chyme import RunningChyme

pytestmark = pytest.mark.slow

GUEST = """
class Guest(Digester):
    name = "guest"
    label = "Guest"
    description = "Comes and goes."

    def can_digest(self, file: File) -> bool:
        return True

    def digest(self, source: Source) -> list[Output]:
        if {broken}:
            raise UnreadableFile("not today")
        return [Output(self.name, "at last")]
"""


def install_guest(chyme: RunningChyme, *, broken: bool) -> None:
    source = "from chyme.errors import UnreadableFile\n" + GUEST.format(broken=broken)
    install(chyme.site, f"guest_{broken}", source, {"guest": "Guest"})


def test_digestion_ends_without_a_plugin_whose_work_was_pending(chyme: RunningChyme) -> None:
    install_guest(chyme, broken=True)
    chyme.drop("note.txt", "hello")
    assert chyme.run("digest").code == 1
    assert chyme.run("retry").code == 0  # it is todo again
    assert chyme.rows("SELECT status FROM digests WHERE digester = 'guest'") == [("todo",)]
    shutil.rmtree(chyme.site)
    chyme.site.mkdir()

    assert chyme.run("digest", seconds=60).code == 0
    guest = chyme.rows("SELECT status, error FROM digests WHERE digester = 'guest'")
    assert guest == [("skipped", "nobody makes this any more")]
    assert chyme.rows("SELECT state FROM documents") == [("completed",)]
    assert chyme.run("verify").code == 0

    install_guest(chyme, broken=False)
    assert chyme.run("digest", seconds=60).code == 0
    guest = chyme.rows("SELECT status, content, attempts FROM digests WHERE digester = 'guest'")
    assert guest == [("completed", "at last", 1)]
    assert chyme.run("verify").code == 0
