"""Children that hang, crash, eat memory or lie harm only their own task."""

from __future__ import annotations

import logging
import os
import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from children_world import AMPLE, FAMILY, MEGABYTE, MakeRunner, MakeTask, gone, wait_until

from chyme.core.children.child import PROGRESS_SECONDS
from chyme.core.children.runner import Runner
from chyme.core.children.task import Task
from chyme.errors import ChildCrashed, DiskFull, LimitReached, TimedOut
from chyme.model import Upstream

pytestmark = pytest.mark.slow


def still_works(runner: Runner, make_task: MakeTask) -> bool:
    return runner.run(make_task("echo"), "parsers", AMPLE)[0].content == "hello"


def test_abort_fails_only_its_task_and_names_file_cause_and_way_out(
    runner: Runner, make_task: MakeTask, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.DEBUG, "chyme.core.children"),
        pytest.raises(ChildCrashed, match=r"notes/note\.txt.*SIGABRT.*512 MB.*parser_memory_mb"),
    ):
        runner.run(make_task("abort"), "parsers", AMPLE)

    assert "native noise" in caplog.text
    assert still_works(runner, make_task)
    assert runner.snapshot().restarts == 1


def test_a_hanging_child_is_killed_in_time(runner: Runner, make_task: MakeTask) -> None:
    still_works(runner, make_task)

    with pytest.raises(TimedOut, match=r"notes/note\.txt: hang took longer than 0\.3 s"):
        runner.run(make_task("hang"), "parsers", replace(AMPLE, wall_seconds=0.3))

    assert runner.snapshot().children == ()
    assert still_works(runner, make_task)


def test_processes_started_by_a_child_die_with_it(runner: Runner, make_task: MakeTask) -> None:
    task = make_task("with_grandchild")

    with pytest.raises(TimedOut):
        runner.run(task, "parsers", replace(AMPLE, wall_seconds=1.0))

    grandchild = int((task.scratch / "grandchild").read_text())
    wait_until(lambda: gone(grandchild))


def test_burning_cpu_is_stopped(runner: Runner, make_task: MakeTask) -> None:
    with pytest.raises(TimedOut, match=r"notes/note\.txt: burn used more than 1 s of CPU"):
        runner.run(make_task("burn"), "parsers", replace(AMPLE, cpu_seconds=1))

    assert still_works(runner, make_task)


def test_eating_memory_ends_in_a_crash_that_names_the_limit(runner: Runner, make_task: MakeTask) -> None:
    limits = replace(AMPLE, memory_bytes=100 * MEGABYTE)

    with pytest.raises(ChildCrashed, match=r"notes/note\.txt.*more than 100 MB.*parser_memory_mb"):
        runner.run(make_task("eat"), "parsers", limits)

    assert runner.snapshot().children == ()
    assert still_works(runner, make_task)


def test_the_family_bounds_the_memory_of_every_task(make_runner: MakeRunner, make_task: MakeTask) -> None:
    runner = make_runner(parsers=replace(FAMILY, memory_bytes=64 * MEGABYTE, memory_setting="speech_memory_mb"))

    with pytest.raises(ChildCrashed, match=r"more than 64 MB.*speech_memory_mb"):
        runner.run(make_task("eat"), "parsers", AMPLE)


def test_native_code_out_of_memory_is_a_crash(runner: Runner, make_task: MakeTask) -> None:
    with pytest.raises(ChildCrashed, match=r"SIGABRT.*100 MB"):
        runner.run(make_task("native_eat"), "parsers", replace(AMPLE, memory_bytes=100 * MEGABYTE))


def test_limits_are_per_task(runner: Runner, make_task: MakeTask) -> None:
    for _ in range(3):
        runner.run(make_task("slow", name="0.1"), "parsers", replace(AMPLE, cpu_seconds=1))
    size = str(150 * MEGABYTE)
    runner.run(make_task("echo"), "parsers", replace(AMPLE, memory_bytes=20 * MEGABYTE))

    assert runner.run(make_task("keep", name=size), "parsers", AMPLE)[0].content


def test_writing_too_much_is_a_limit(runner: Runner, make_task: MakeTask) -> None:
    with pytest.raises(LimitReached, match=r"notes/note\.txt.*64 MB.*scratch_mb"):
        runner.run(make_task("fill"), "parsers", AMPLE)


def test_a_disk_with_less_room_than_a_task_may_use_is_full_when_the_child_says_so(
    make_runner: MakeRunner, make_task: MakeTask
) -> None:
    runner = make_runner(scratch_bytes=1 << 55)  # more than any disk has
    with pytest.raises(DiskFull, match=r"notes/note\.txt: no room left for no_room"):
        runner.run(make_task("no_room"), "parsers", AMPLE)
    assert runner.snapshot().restarts == 0


def test_a_quota_that_is_used_up_is_a_full_disk(runner: Runner, make_task: MakeTask) -> None:
    with pytest.raises(DiskFull, match="no room left for over_quota"):
        runner.run(make_task("over_quota"), "parsers", AMPLE)


def test_a_child_that_finds_no_room_on_a_disk_that_has_plenty_has_crashed(runner: Runner, make_task: MakeTask) -> None:
    with pytest.raises(ChildCrashed, match="OSError"):
        runner.run(make_task("no_room"), "parsers", AMPLE)


def test_an_exception_is_named_by_type_without_its_detail(
    runner: Runner, make_task: MakeTask, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.DEBUG, "chyme.core.children"),
        pytest.raises(ChildCrashed, match=r"notes/note\.txt.*ValueError") as caught,
    ):
        runner.run(make_task("raise_value_error"), "parsers", AMPLE)

    assert "secret" not in str(caught.value)
    assert "secret detail" in caplog.text
    assert runner.snapshot().restarts == 0


def test_a_child_that_wants_to_leave_is_a_crash_and_is_replaced(runner: Runner, make_task: MakeTask) -> None:
    with pytest.raises(ChildCrashed, match="SystemExit"):
        runner.run(make_task("leave"), "parsers", AMPLE)

    assert still_works(runner, make_task)


HOSTILE = [
    *("undeclared", "twice", "outside", "slash", "garbage", "list_frame", "deep", "oversized", "wrong_id"),
    *("unknown_kind", "overdrawn", "negative", "not_utf8", "not_finite", "symlink", "fifo", "hard_link"),
    *("too_much", "shorter"),
]


@pytest.mark.parametrize("digester", HOSTILE)
def test_an_answer_that_lies_is_refused_at_once(runner: Runner, make_task: MakeTask, digester: str) -> None:
    with pytest.raises(ChildCrashed, match=rf"notes/{digester}: {digester} gave an answer that makes no sense"):
        runner.run(make_task(digester, name=digester), "parsers", AMPLE)

    assert runner.snapshot().children == ()
    assert still_works(runner, make_task)


def test_an_error_is_never_made_from_a_name_the_child_sends(runner: Runner, make_task: MakeTask) -> None:
    with pytest.raises(ChildCrashed) as caught:
        runner.run(make_task("class_name"), "parsers", AMPLE)

    assert type(caught.value) is ChildCrashed
    assert str(caught.value) == "notes/note.txt: class_name failed"


def test_a_folder_where_the_answer_should_be_fails_the_task_alone(runner: Runner, make_task: MakeTask) -> None:
    task = make_task("folder")

    for _ in range(2):
        with pytest.raises(ChildCrashed):
            runner.run(task, "parsers", AMPLE)

    assert still_works(runner, make_task)


def test_a_link_left_where_inputs_go_is_not_followed(runner: Runner, make_task: MakeTask, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    task = make_task("inputs", inputs=(Upstream("image-preview", "x" * 100_000),))
    (task.scratch / ".input").symlink_to(precious)

    runner.run(task, "parsers", AMPLE)

    assert precious.read_text() == "mine"


def test_a_flood_of_progress_neither_drowns_the_watcher_nor_moves_the_limit(
    runner: Runner, make_task: MakeTask
) -> None:
    fractions: list[float] = []
    began = time.monotonic()

    with pytest.raises(TimedOut):
        runner.run(make_task("flood"), "parsers", replace(AMPLE, wall_seconds=2.0), fractions.append)

    assert 0 < len(fractions) <= (time.monotonic() - began) / PROGRESS_SECONDS + 1


def test_a_kill_at_any_point_of_a_large_answer_harms_no_other_task(
    make_runner: MakeRunner, make_task: MakeTask
) -> None:
    runner = make_runner(parsers=replace(FAMILY, count=3))
    chance = random.Random(7)
    stop = threading.Event()
    kills: list[int] = []

    def crashed(task: Task) -> int:
        try:
            (output,) = runner.run(task, "parsers", AMPLE)
        except ChildCrashed as error:
            assert "SIGKILL" in str(error)
            return 1
        expected = 9 if task.digester == "echo" else int(task.file.name)
        assert len(output.content or "") == expected
        return 0

    def bystander(task: Task) -> list[int]:
        return [crashed(task) for _ in iter(stop.is_set, True)]

    def killer(path: str, delay: float) -> None:
        time.sleep(delay)
        for child in runner.snapshot().children:
            if child.busy_with == path:
                with suppress(ProcessLookupError):  # it may have ended by itself or after an earlier shot
                    os.kill(child.pid, signal.SIGKILL)
                    kills.append(child.pid)

    with ThreadPoolExecutor(4) as pool:
        bystanders = [pool.submit(bystander, make_task("echo", data=b"bystander")) for _ in range(2)]
        try:
            crashes = 0
            for number in range(300):
                if number >= 30 and crashes >= 5:
                    break
                task = make_task("big", name=f"{6_900_000 + number}")
                shot = pool.submit(killer, task.file.path, chance.uniform(0.0, 0.12))
                crashes += crashed(task)
                shot.result()
        finally:
            stop.set()
        runs = [run for done in bystanders for run in done.result()]

    # A shot may come late and hit the next task of that child; but one shot never harms two tasks.
    assert 5 <= crashes <= crashes + sum(runs) <= len(kills)
    assert len(runs) >= 2
    assert still_works(runner, make_task)
    assert len(runner.snapshot().children) <= 3
