"""Children that work correctly."""

from __future__ import annotations

import json
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from children_world import AMPLE, MEGABYTE, MakeRunner, MakeTask, wait_until

from chyme.core.children.places import Family
from chyme.core.children.runner import Runner
from chyme.digester import Source
from chyme.errors import BY_CATEGORY, Category, ChildCrashed, ChymeError, EngineUnavailable, RateLimited, UsageError
from chyme.model import Artifact, Limits, Output, Passage, Place, Upstream

pytestmark = pytest.mark.slow


def test_an_output_comes_back_whole(runner: Runner, make_task: MakeTask) -> None:
    place = Place(0, 5, page=1, heading="h", seconds=1.5, until=2.5, speaker="s", box=(0.0, 0.1, 0.9, 1.0))
    passage = Passage("file", 0, "hello", Place(0, 5), segmented="seg")

    assert runner.run(make_task("echo"), "parsers", AMPLE) == [
        Output("echo", "hello", (Artifact("raw.bin", b"hello"),), (place,), (passage,), ("word", "мир"))
    ]


def test_each_open_reads_from_the_beginning_and_by_itself(runner: Runner, make_task: MakeTask) -> None:
    task = make_task("reread", data=b"abcdefgh")
    assert task.fd is not None
    os.lseek(task.fd, 3, os.SEEK_SET)

    assert runner.run(task, "parsers", AMPLE)[0].content == "ab|abcd|cd|h"
    assert os.lseek(task.fd, 0, os.SEEK_CUR) == 3


def test_a_task_is_a_source_on_the_parents_side_too(make_task: MakeTask) -> None:
    task = make_task("echo", inputs=(Upstream("a", "text"),))
    source: Source = task

    with source.open() as file:
        assert file.read() == b"hello"
    source.progress(0.5)
    assert source.output("a") == Upstream("a", "text")
    assert source.output("b") is None


def test_large_outputs_and_artifacts_arrive_and_leave_nothing_behind(runner: Runner, make_task: MakeTask) -> None:
    size = 5_000_000
    task = make_task("big", name=str(size))

    (output,) = runner.run(task, "parsers", AMPLE)

    assert output.content == "é" * size
    assert [(a.filename, len(a.data)) for a in output.artifacts] == [("a.bin", size), ("empty", 0), ("b.bin", 10)]
    assert output.artifacts[2].data == b"\x01" * 10
    assert list(task.scratch.iterdir()) == []


@pytest.mark.parametrize("size", [10, 3_000_000])
def test_inputs_arrive_whatever_their_size(runner: Runner, make_task: MakeTask, size: int) -> None:
    upstream = Upstream("image-preview", "é" * size, (Place(0, 1, heading="ü"),), {"p.jpg": b"x" * size, "t": b""})
    task = make_task("inputs", inputs=(upstream,))

    (output,) = runner.run(task, "parsers", AMPLE)

    assert json.loads(output.content or "") == [size, ["ü"], {"p.jpg": size, "t": 0}]
    assert list(task.scratch.iterdir()) == []


def test_progress_is_reported_and_limited_to_between_0_and_1(runner: Runner, make_task: MakeTask) -> None:
    fractions: list[float] = []

    runner.run(make_task("steps"), "parsers", AMPLE, fractions.append)

    assert fractions == [0.25, 0.5, 1.0]


def test_a_watcher_that_fails_does_not_fail_the_task(runner: Runner, make_task: MakeTask) -> None:
    def watch(fraction: float) -> None:
        raise RuntimeError(fraction)

    assert runner.run(make_task("steps"), "parsers", AMPLE, watch) == [Output("steps", None)]


@pytest.mark.parametrize("category", list(BY_CATEGORY))
def test_a_digest_error_keeps_its_category(runner: Runner, make_task: MakeTask, category: Category) -> None:
    with pytest.raises(BY_CATEGORY[category]) as caught:
        runner.run(make_task("fail", name=category), "parsers", AMPLE)

    assert type(caught.value) is BY_CATEGORY[category]


def test_a_digest_error_keeps_retry_after_and_its_child(runner: Runner, make_task: MakeTask) -> None:
    before = runner.run(make_task("pid"), "parsers", AMPLE)

    with pytest.raises(RateLimited, match="slow down") as caught:
        runner.run(make_task("fail", name="rate_limit"), "parsers", AMPLE)

    assert caught.value.retry_after == 7.5
    assert runner.run(make_task("pid"), "parsers", AMPLE) == before


def test_lone_surrogates_are_replaced(runner: Runner, make_task: MakeTask) -> None:
    assert runner.run(make_task("halves"), "parsers", AMPLE)[0].content == "a?b"


def test_scratch_files_are_available_to_the_next_attempt(runner: Runner, make_task: MakeTask) -> None:
    first = make_task("surroundings")
    runner.run(first, "parsers", AMPLE)

    again = make_task("kept")
    (first.scratch / "kept.txt").rename(again.scratch / "kept.txt")
    assert runner.run(again, "parsers", AMPLE)[0].content == "stretch"


def test_a_child_that_prints_a_lot_is_not_blocked(runner: Runner, make_task: MakeTask) -> None:
    assert runner.run(make_task("noise"), "parsers", AMPLE) == [Output("noise", None)]


def test_many_threads_share_few_children(make_runner: MakeRunner, make_task: MakeTask) -> None:
    runner = make_runner()
    tasks = [make_task("echo", data=str(number).encode()) for number in range(60)]

    with ThreadPoolExecutor(12) as pool:
        contents = [out[0].content for out in pool.map(lambda task: runner.run(task, "parsers", AMPLE), tasks)]

    assert contents == [str(number) for number in range(60)]
    assert len(runner.snapshot().children) == 2
    assert runner.snapshot().tasks == 60
    assert runner.snapshot().restarts == 0


def test_waiting_for_a_free_child_costs_no_time_of_the_limit(make_runner: MakeRunner, make_task: MakeTask) -> None:
    runner = make_runner(parsers=Family(count=1, memory_bytes=512 * MEGABYTE))
    runner.run(make_task("pid"), "parsers", AMPLE)
    limits = Limits(wall_seconds=3.0, cpu_seconds=10, memory_bytes=512 * MEGABYTE)
    tasks = [make_task("slow", name="1.0") for _ in range(4)]

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda task: runner.run(task, "parsers", limits), tasks))

    assert len(answers) == 4


def test_families_have_children_of_their_own(make_runner: MakeRunner, make_task: MakeTask) -> None:
    small = Family(count=1, memory_bytes=512 * MEGABYTE)
    runner = make_runner(parsers=small, speech=small)
    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(runner.run, make_task("hang"), "parsers", replace(AMPLE, wall_seconds=300))
        wait_until(lambda: any(child.busy_with for child in runner.snapshot().children))

        runner.run(make_task("pid"), "speech", AMPLE)

        assert not busy.done()
        children = runner.snapshot().children
        runner.close()
    assert sorted(child.family for child in children) == ["parsers", "speech"]
    assert {child.busy_with for child in children} == {"notes/note.txt", None}


def test_an_unknown_family_or_digester_is_named(runner: Runner, make_task: MakeTask) -> None:
    with pytest.raises(UsageError, match=r"nonsense.*parsers"):
        runner.run(make_task("pid"), "nonsense", AMPLE)
    with pytest.raises(EngineUnavailable, match=r"notes/note\.txt.*unheard-of"):
        runner.run(make_task("unheard-of"), "parsers", AMPLE)


def test_a_child_that_grew_is_replaced_between_tasks(make_runner: MakeRunner, make_task: MakeTask) -> None:
    runner = make_runner(parsers=Family(count=1, memory_bytes=512 * MEGABYTE, recycle_growth_bytes=30 * MEGABYTE))
    pids = [runner.run(make_task("keep", name=size), "parsers", AMPLE)[0].content for size in ("1", "40000000", "1")]

    assert pids[0] == pids[1] != pids[2]
    assert runner.snapshot().restarts == 1


def test_the_snapshot_includes_the_peak_memory(runner: Runner, make_task: MakeTask) -> None:
    runner.run(make_task("keep", name="80000000"), "parsers", AMPLE)

    (child,) = runner.snapshot().children
    assert child.tasks == 1
    assert child.peak_bytes >= child.resident_bytes > 80_000_000


def test_an_idle_child_ends_and_the_next_task_gets_a_new_child(make_runner: MakeRunner, make_task: MakeTask) -> None:
    runner = make_runner(parsers=Family(count=1, memory_bytes=512 * MEGABYTE, idle_seconds=0.2))
    first = runner.run(make_task("pid"), "parsers", AMPLE)
    pid = int(first[0].content or "")

    wait_until(lambda: not runner.snapshot().children)

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert runner.run(make_task("pid"), "parsers", AMPLE) != first
    assert runner.snapshot().restarts == 0


def test_a_task_that_arrives_while_the_only_child_is_ending_gets_another(
    make_runner: MakeRunner, make_task: MakeTask
) -> None:
    runner = make_runner(parsers=Family(count=1, memory_bytes=512 * MEGABYTE, idle_seconds=0))
    runner.run(make_task("pid"), "parsers", AMPLE)
    served: list[list[Output]] = []
    late = threading.Thread(target=lambda: served.append(runner.run(make_task("pid"), "parsers", AMPLE)), daemon=True)
    (slot,) = runner._slots
    end_child = slot.end_child

    def end_slowly() -> None:
        late.start()
        late.join(120)
        end_child()

    slot.end_child = end_slowly  # type: ignore[method-assign]
    runner._end_idle_children()
    assert len(served) == 1


def test_an_idle_child_that_was_killed_is_replaced_silently(runner: Runner, make_task: MakeTask) -> None:
    for _ in range(5):
        (output,) = runner.run(make_task("pid"), "parsers", AMPLE)
        os.kill(int(output.content or ""), signal.SIGKILL)

    assert runner.run(make_task("echo"), "parsers", AMPLE)[0].content == "hello"
    assert runner.snapshot().restarts >= 4


def test_an_entry_that_cannot_be_loaded_says_why(make_runner: MakeRunner, make_task: MakeTask) -> None:
    with pytest.raises(EngineUnavailable, match=r"notes/note\.txt.*libparser\.so\.1"):
        make_runner(config={"broken": True}).run(make_task("echo"), "parsers", AMPLE)
    with pytest.raises(EngineUnavailable, match="no_such_module"):
        make_runner(entry="no_such_module:f").run(make_task("echo"), "parsers", AMPLE)


def test_children_that_die_at_their_start_end_in_an_error(make_runner: MakeRunner, make_task: MakeTask) -> None:
    with pytest.raises(ChildCrashed, match=r"notes/note\.txt.*SIGKILL"):
        make_runner(config={"die": True}).run(make_task("echo"), "parsers", AMPLE)


def test_close_ends_everything_at_once(make_runner: MakeRunner, make_task: MakeTask) -> None:
    runner = make_runner()
    tasks = [make_task("hang") for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(runner.run, task, "parsers", AMPLE) for task in tasks]
        wait_until(lambda: sum(child.busy_with is not None for child in runner.snapshot().children) == 2)
        pids = [child.pid for child in runner.snapshot().children]

        runner.close()

        for answer in answers:
            assert type(answer.exception()) is ChymeError
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    with pytest.raises(ChymeError, match="shutting down"):
        runner.run(make_task("echo"), "parsers", AMPLE)
    runner.close()
