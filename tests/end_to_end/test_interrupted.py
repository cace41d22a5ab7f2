"""Ctrl-C and SIGTERM stop a digestion at once, without using up attempts."""

from __future__ import annotations

import signal
import time

import pytest
from plugin_package import install
from running_chyme import RunningChyme, wait_until
from waiting import AMPLE

pytestmark = pytest.mark.slow

SLEEPY = '''
class Sleepy(Digester):
    """Works as many seconds as the file says, so that a test can stop it in the middle."""

    name = "sleepy"
    label = "Sleepy"
    description = "Takes its time."

    def can_digest(self, file: File) -> bool:
        return file.name.startswith("slow")

    def digest(self, source: Source) -> list[Output]:
        with source.open() as text:
            time.sleep(float(text.read()))
        return [Output(self.name, "slept")]
'''


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_digest_leaves_nothing_in_progress_and_uses_up_no_attempts(
    chyme: RunningChyme, how: signal.Signals, code: int
) -> None:
    chyme.cold = how is signal.SIGINT
    install(chyme.site, "sleepy_parsers", SLEEPY, {"sleepy": "Sleepy"})
    for number in range(4):
        chyme.drop(f"slow {number}.txt", f"1.{number}")
    running = chyme.start("digest")
    wait_until((chyme.vault / ".chyme/vault.db").exists)
    wait_until(lambda: _in_progress(chyme) > 0)

    running.send_signal(how)

    assert running.wait(AMPLE) == code, chyme.said(running)
    assert "nothing is lost" in chyme.said(running)
    assert "Traceback" not in chyme.said(running)
    assert chyme.alive() == []
    assert _in_progress(chyme) == 0
    assert chyme.rows("SELECT sum(attempts), sum(interruptions) FROM digests WHERE status <> 'completed'") == [(0, 0)]
    assert chyme.rows("SELECT count(*) FROM processing_locks") == [(0,)]

    ended = chyme.run("digest")
    assert ended.code == 0, ended.err
    assert chyme.rows("SELECT status, attempts, count(*) FROM digests WHERE digester = 'sleepy' GROUP BY 1, 2") == [
        ("completed", 1, 4)
    ]


def test_busy_children_end_when_only_chyme_is_killed(chyme: RunningChyme) -> None:
    install(chyme.site, "sleepy_parsers", SLEEPY, {"sleepy": "Sleepy"})
    slow = chyme.drop("slow.txt", "60")
    chyme.cold = True
    running = chyme.start("digest")
    wait_until((chyme.vault / ".chyme/vault.db").exists)
    wait_until(lambda: _in_progress(chyme) > 0)
    wait_until(lambda: len(chyme.alive()) > 1)
    time.sleep(1)  # the child has the task now

    running.kill()

    assert running.wait(AMPLE) == -signal.SIGKILL
    wait_until(lambda: chyme.alive() == [])
    chyme.drop(slow.name, "0.1")
    assert chyme.run("digest", seconds=2 * AMPLE).code == 0
    assert chyme.rows("SELECT status, attempts FROM digests WHERE digester = 'sleepy'") == [("completed", 1)]


def _in_progress(chyme: RunningChyme) -> int:
    tables = chyme.rows("SELECT count(*) FROM sqlite_master WHERE name = 'digests'")
    if tables == [(0,)]:
        return 0
    [(count,)] = chyme.rows("SELECT count(*) FROM digests WHERE status = 'in-progress' AND digester = 'sleepy'")
    return int(count)
