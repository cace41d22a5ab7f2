"""Children have no network and no privileges, and die with their parent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
from children_world import AMPLE, HERE, MakeRunner, MakeTask, gone, wait_until

from chyme.core.children.runner import NOBODY, Runner, isolation

pytestmark = pytest.mark.slow

READ_EVERYTHING = 1 << 2

OWNER = """
import os, sys, threading
from pathlib import Path
from typing import cast
from chyme.core.children.places import Family
from chyme.core.children.runner import Runner
from chyme.core.children.task import Task
from chyme.model import File, Kind, Limits, Stamp

file = File(1, "a", "a", Kind.TEXT, "", Stamp("1", "2", 3, 4), "", 1)
runner = Runner("children_digesters:digesters", {}, {"p": Family(2, 1 << 30)}, import_from=[Path(sys.argv[1])])
for number, digester in enumerate(("burn", "hang")):
    scratch = Path(sys.argv[2], str(number))
    scratch.mkdir()
    task = Task(digester, file, None, (), scratch)
    threading.Thread(target=runner.run, args=(task, "p", Limits(60, 60, 1 << 29)), daemon=True).start()
while len(pids := [child.pid for child in runner.snapshot().children if child.resident_bytes]) < 2 or not all(
    "chyme.core.children" in Path(f"/proc/{pid}/cmdline").read_text() and len(os.listdir(f"/proc/{pid}/cwd/")) == 0
    for pid in pids
):
    pass
print(*pids, flush=True)
sys.stdin.read()
"""


def read_surroundings(runner: Runner, make_task: MakeTask) -> dict[str, object]:
    surroundings: dict[str, object] = json.loads(
        runner.run(make_task("surroundings"), "parsers", AMPLE)[0].content or ""
    )
    return surroundings


def test_children_have_no_network(runner: Runner, make_task: MakeTask) -> None:
    (output,) = runner.run(make_task("network"), "parsers", AMPLE)
    state = runner.snapshot().isolation
    assert state is not None
    if not state.network_off:
        pytest.skip(state.how)

    assert json.loads(output.content or "") == ["Network is unreachable"] * 2


def test_doctor_learns_how_children_are_isolated(runner: Runner, make_task: MakeTask) -> None:
    runner.run(make_task("pid"), "parsers", AMPLE)

    assert isolation() == runner.snapshot().isolation
    assert ("network off" in isolation().how) is isolation().network_off


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has privileges to drop")
def test_root_runs_children_as_nobody(runner: Runner, make_task: MakeTask) -> None:
    surroundings = read_surroundings(runner, make_task)

    assert surroundings["uid"] == [NOBODY[0]] * 3
    assert surroundings["gid"] == [NOBODY[1]] * 3
    assert surroundings["groups"] == []
    assert surroundings["capabilities"] in (0, READ_EVERYTHING)
    state = runner.snapshot().isolation
    assert state is not None
    assert ("may read every file" in state.how) == (surroundings["capabilities"] == READ_EVERYTHING)


@pytest.mark.skipif(os.geteuid() == 0, reason="root's children run as another user")
def test_children_of_an_ordinary_user_run_as_that_user(runner: Runner, make_task: MakeTask) -> None:
    surroundings = read_surroundings(runner, make_task)

    assert surroundings["uid"] == [os.geteuid()] * 3
    assert surroundings["capabilities"] == 0


def test_children_get_only_what_they_need(
    make_runner: MakeRunner, make_task: MakeTask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.chdir(tmp_path)

    surroundings = read_surroundings(make_runner(), make_task)

    assert "OPENAI_API_KEY" not in str(surroundings["environment"])
    assert surroundings["no_new_privs"] == "1"
    assert surroundings["core"] == [0, 0]
    assert surroundings["session"] is True
    assert surroundings["stdin"] == "/dev/null"
    assert surroundings["temporary_in_scratch"] is True
    assert set(cast("list[str]", surroundings["imports_from"])).isdisjoint({"", ".", str(tmp_path)})


def test_children_die_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(HERE), str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with owner:
        assert owner.stdout is not None
        pids = [int(pid) for pid in owner.stdout.readline().split()]
        assert len(pids) == 2
        assert not any(gone(pid) for pid in pids)

        owner.send_signal(signal.SIGKILL)
        owner.wait()

        wait_until(lambda: all(gone(pid) for pid in pids))


def test_ctrl_c_does_not_reach_children(runner: Runner, make_task: MakeTask) -> None:
    pid = int(runner.run(make_task("pid"), "parsers", AMPLE)[0].content or "")

    assert os.getpgid(pid) == pid != os.getpgid(0)
    assert os.getsid(pid) != os.getsid(0)
