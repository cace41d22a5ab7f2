"""Several tasks that one child runs in one batch, and vectors that come back unchanged."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from dataclasses import replace

import pytest
from children_world import AMPLE, MakeRunner, MakeTask, wait_until

from chyme.core.children.runner import Runner
from chyme.core.children.task import MAX_BATCH_TASKS
from chyme.errors import ChildCrashed, TimedOut, UsageError
from chyme.model import Embedded, Output, Upstream

pytestmark = pytest.mark.slow


@pytest.fixture
def runner(make_runner: MakeRunner) -> Runner:
    return make_runner(entry="children_gatherers:digesters")


def contents_or_errors(results: Sequence[list[Output] | Exception]) -> list[str | None]:
    return [result[0].content if isinstance(result, list) else type(result).__name__ for result in results]


def test_every_task_has_its_own_bytes_inputs_and_folder_and_is_answered_in_order(
    runner: Runner, make_task: MakeTask
) -> None:
    tasks = [
        make_task("roll", name=f"n{n}", data=f"bytes {n}".encode(), inputs=(Upstream("text", f"input {n}"),))
        for n in range(MAX_BATCH_TASKS)
    ]

    results = runner.run_many(tasks, "parsers", AMPLE)

    together = ",".join(f"n{n}" for n in range(MAX_BATCH_TASKS))
    assert contents_or_errors(results) == [f"bytes {n}|input {n}|{together}" for n in range(MAX_BATCH_TASKS)]
    assert [result[0].artifacts[0].data for result in results if isinstance(result, list)] == [
        f"n{n}".encode() for n in range(32)
    ]
    assert [(task.scratch / "mine").read_text() for task in tasks] == [f"n{n}" for n in range(MAX_BATCH_TASKS)]
    assert len(runner.snapshot().children) == 1


def test_descriptors_do_not_pile_up_in_the_child(runner: Runner, make_task: MakeTask) -> None:
    tasks = [make_task("roll", name=f"n{n}") for n in range(MAX_BATCH_TASKS)]
    for _ in range(3):
        runner.run_many(tasks, "parsers", AMPLE)

    (child,) = runner.snapshot().children
    # the child closes them after its answer
    wait_until(lambda: len(os.listdir(f"/proc/{child.pid}/fd")) < MAX_BATCH_TASKS)


def test_a_task_without_bytes_runs_in_a_batch(runner: Runner, make_task: MakeTask) -> None:
    tasks = [make_task("choosy", name="a"), replace(make_task("choosy", name="b"), fd=None), make_task("choosy")]
    assert contents_or_errors(runner.run_many(tasks, "parsers", AMPLE)) == ["a", "b", "note.txt"]


def test_large_inputs_and_answers_travel_as_files(runner: Runner, make_task: MakeTask) -> None:
    inputs = [Upstream("text", letter * 80_000) for letter in "xyz"]
    tasks = [
        make_task("large", name=upstream.content[0], inputs=(upstream,)) for upstream in inputs if upstream.content
    ]

    assert contents_or_errors(runner.run_many(tasks, "parsers", AMPLE)) == [letter * 100_000 for letter in "xyz"]
    assert [os.listdir(task.scratch) for task in tasks] == [[], [], []]


def test_a_task_that_fails_by_itself_leaves_the_others_their_outputs(runner: Runner, make_task: MakeTask) -> None:
    results = runner.run_many([make_task("choosy", name=name) for name in ("a", "bad", "c")], "parsers", AMPLE)

    assert contents_or_errors(results) == ["a", "EngineUnavailable", "c"]
    assert str(results[1]) == "notes/bad: not this one"


@pytest.mark.parametrize(("how", "error"), [("abort", ChildCrashed), ("raise", ChildCrashed), ("hang", TimedOut)])
def test_when_the_child_fails_all_tasks_are_refused_and_each_can_be_run_alone(
    runner: Runner, make_task: MakeTask, how: str, error: type[Exception]
) -> None:
    tasks = [make_task("fragile", name=name) for name in ("a", how, "c")]
    limits = replace(AMPLE, wall_seconds=2.0)

    with pytest.raises(error):
        runner.run_many(tasks, "parsers", limits)

    assert contents_or_errors([runner.run(tasks[0], "parsers", limits), runner.run(tasks[2], "parsers", limits)]) == [
        "a",
        "c",
    ]
    with pytest.raises(error, match=how):
        runner.run(tasks[1], "parsers", limits)


def test_a_child_that_does_not_answer_every_task_is_distrusted(runner: Runner, make_task: MakeTask) -> None:
    with pytest.raises(ChildCrashed, match="does not answer every task"):
        runner.run_many([make_task("forgetful", name=name) for name in "abc"], "parsers", AMPLE)
    assert runner.snapshot().children == ()


def test_the_time_begins_when_a_child_is_free(runner: Runner, make_task: MakeTask) -> None:
    began: list[int] = []
    runner.run_many([make_task("choosy"), make_task("choosy")], "parsers", AMPLE, lambda: began.append(1))
    assert began == [1]


def test_too_many_or_different_tasks_are_refused(runner: Runner, make_task: MakeTask) -> None:
    with pytest.raises(UsageError):
        runner.run_many([make_task("roll")] * (MAX_BATCH_TASKS + 1), "parsers", AMPLE)
    with pytest.raises(UsageError):
        runner.run_many([make_task("roll"), make_task("choosy")], "parsers", AMPLE)


def test_vectors_come_back_byte_for_byte(runner: Runner, make_task: MakeTask) -> None:
    first = make_task("meant", data=b"3 1 0 0 0.6 0 0.8")
    second = make_task("meant", data=b"2 0 1 0 -1")

    results = runner.run_many([first, second], "parsers", AMPLE)

    vectors = [result[0].embedded for result in results if isinstance(result, list)]
    assert vectors == [
        Embedded("model", 3, struct.pack("<6f", 1, 0, 0, 0.6, 0, 0.8)),
        Embedded("model", 2, struct.pack("<4f", 0, 1, 0, -1)),
    ]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"3 1 0 0", "less than its header says"),
        (b"0", "too long"),
        (b"4097", "too long"),
        (b"2 1 0 nan 0", "not of length 1"),
        (b"2 1 0 inf 0", "not of length 1"),
        (b"2 1 0 0 0", "not of length 1"),
        (b"2 1 0 1 1", "not of length 1"),
    ],
)
def test_invalid_vectors_are_rejected(runner: Runner, make_task: MakeTask, data: bytes, why: str) -> None:
    with pytest.raises(ChildCrashed, match=why):
        runner.run(make_task("meant", data=data), "parsers", AMPLE)
