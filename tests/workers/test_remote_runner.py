"""Attempts on workers, through a real NATS server: where they run, what comes back, and whose fault a failure is."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from remote_runs import DIGESTER, HERE, Outcome, Stage, hang, say, stage, workers_of
from waiting import wait_until

from chyme.core.children.task import Task
from chyme.errors import ChildCrashed, ChymeError, EngineUnavailable, UnreadableFile, WorkerLost
from chyme.model import Artifact, Form, Output, Upstream
from chyme.workers import known_workers, remote_runner, run_watch, work_line, worker, worker_run
from chyme.workers.fabric import FabricAway
from chyme.workers.work_line import PutDown


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """Silences are noticed sooner than in real life."""
    monkeypatch.setattr(run_watch, "SILENT_SECONDS", 3.0)
    monkeypatch.setattr(run_watch, "AWAY_SECONDS", 2.0)
    monkeypatch.setattr(work_line, "LIVE_SECONDS", 4.0)
    monkeypatch.setattr(remote_runner, "SMALL_SECONDS", 0.0)  # made-up digesters take no time
    monkeypatch.setattr(worker, "BEAT_SECONDS", 0.2)
    monkeypatch.setattr(worker, "HELLO_SECONDS", 0.3)
    monkeypatch.setattr(run_watch, "PRESENCE_SECONDS", 0.3)
    with stage(tmp_path) as built:
        yield built


def test_an_attempt_runs_on_a_worker(scene: Stage) -> None:
    runner = scene.runner()
    scene.worker("strong", say("elsewhere"))
    scene.await_fit(runner)
    begun: list[tuple[str, float]] = []

    outcome = scene.begin(runner, scene.task(begin=lambda name, stretch: begun.append((name, stretch))))

    assert outcome.text() == "elsewhere: 9"
    assert begun == [("strong", 1.0)]
    assert not scene.here.ran
    wait_until(lambda: workers_of(runner)[0]["done"] == 1)


def test_a_large_file_large_inputs_and_a_large_answer_travel_in_pieces(scene: Stage) -> None:
    data, artifact = os.urandom(3_000_000), os.urandom(1_500_000)

    def make(task: Task, _progress: object) -> list[Output]:
        given = task.output("image-preview")
        assert given is not None
        joined = task.open().read() + given.artifacts["preview.jpg"]
        return [Output(DIGESTER, hashlib.sha256(joined).hexdigest(), (Artifact("copy.bin", joined),))]

    runner = scene.runner()
    scene.worker("strong", make)
    scene.await_fit(runner)
    upstream = Upstream("image-preview", "text", (), {"preview.jpg": artifact}, Form.DATA)

    outcome = scene.begin(runner, scene.task(data=data, inputs=[upstream]))

    assert outcome.text() == hashlib.sha256(data + artifact).hexdigest()
    assert outcome.outputs is not None
    assert outcome.outputs[0].artifacts[0].data == data + artifact


def test_a_free_child_here_comes_first(scene: Stage) -> None:
    scene.here.may_end.set()
    runner = scene.runner(home_cores=1)
    scene.worker("strong", say("elsewhere"))
    scene.await_fit(runner)
    runner.estimates.learn(DIGESTER, "image/png", 10.0)

    assert scene.begin(runner, scene.task()).text() == HERE


def test_what_waits_for_a_worker_is_taken_by_a_child_that_becomes_free_here(scene: Stage) -> None:
    may_end = threading.Event()
    runner = scene.runner(home_cores=1)
    _, children = scene.worker("strong", hang(may_end))
    scene.await_fit(runner)
    runner.estimates.learn(DIGESTER, "image/png", 10.0)
    first, second = scene.begin(runner, scene.task(1)), scene.begin(runner, scene.task(2))
    assert children.began.wait(300)
    third = scene.begin(runner, scene.task(3))
    wait_until(lambda: described(runner)["waiting"] == {DIGESTER: 1})

    scene.here.may_end.set()

    assert third.text() == HERE
    may_end.set()
    assert sorted([first.text() or "", second.text() or ""]) == ["late", HERE]


def test_small_unknown_and_private_work_stays_here(scene: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_runner, "SMALL_SECONDS", 0.5)
    scene.here.may_end.set()
    runner = scene.runner(home_cores=1, is_private=lambda path: path.endswith("9.png"))
    scene.worker("strong", say("elsewhere"))
    scene.await_fit(runner)
    blocked = hold_home(scene, runner)

    unknown = scene.begin(runner, scene.task(2))
    runner.estimates.learn(DIGESTER, "image/png", 0.01)
    small = scene.begin(runner, scene.task(3))
    runner.estimates.learn(DIGESTER, "image/png", 1000.0)
    private = scene.begin(runner, scene.task(9))
    travels = scene.begin(runner, scene.task(4))

    assert travels.text() == "elsewhere: 9"
    scene.here.may_end.set()
    assert [outcome.text() for outcome in (unknown, small, private, blocked)] == [HERE] * 4


def test_with_home_places_0_private_files_stay_here_all_the_same(scene: Stage) -> None:
    scene.here.may_end.set()
    runner = scene.runner(is_private=lambda _path: True)
    scene.worker("strong", say("elsewhere"))
    scene.await_fit(runner)

    assert scene.begin(runner, scene.task()).text() == HERE


def test_a_worker_that_vanishes_costs_the_file_nothing(scene: Stage) -> None:
    runner = scene.runner()
    never = threading.Event()
    lost, children = scene.worker("fragile", hang(never))
    scene.await_fit(runner)
    outcome = scene.begin(runner, scene.task())
    assert children.began.wait(300)

    cut_off(lost)

    with pytest.raises(WorkerLost):
        outcome.text()
    never.set()


def test_the_third_loss_with_a_worker_to_itself_is_a_crash(scene: Stage) -> None:
    runner = scene.runner()
    never = threading.Event()
    lost, children = scene.worker("fragile", hang(never), places=4)
    scene.await_fit(runner)
    outcome = scene.begin(runner, scene.task(1, losses=2))
    assert children.began.wait(300)
    neighbour = scene.begin(runner, scene.task(2))
    wait_until(lambda: described(runner)["waiting"] == {DIGESTER: 1})  # it gets nothing beside the first

    cut_off(lost)

    with pytest.raises(ChildCrashed, match="three workers ended"):
        outcome.text()
    with pytest.raises(ChymeError):
        neighbour.text()
    never.set()


def test_a_crash_told_by_a_worker_is_tried_elsewhere_and_only_the_second_verdict_counts(scene: Stage) -> None:
    def crash(task: Task, _progress: object) -> list[Output]:
        raise ChildCrashed("its memory is broken")

    runner = scene.runner()
    scene.worker("broken", crash)
    scene.await_fit(runner)
    first = scene.begin(runner, scene.task())
    scene.here.may_end.set()
    assert first.text() == HERE  # no other worker: here

    scene.here.error = EngineUnavailable("nor here")
    second = scene.begin(runner, scene.task(2))
    with pytest.raises(EngineUnavailable, match="nor here"):
        second.text()
    assert workers_of(runner)[0]["set_aside"] is None


def test_three_failures_in_a_row_on_different_files_set_a_worker_aside(scene: Stage) -> None:
    def fail(task: Task, _progress: object) -> list[Output]:
        raise OSError(28, "No space left on device")

    runner = scene.runner()
    scene.worker("black-hole", fail)
    scene.await_fit(runner)
    scene.worker("good", say("well made"))
    scene.await_fit(runner, 2)

    outcomes = [scene.begin(runner, scene.task(number)) for number in range(1, 13)]

    assert {outcome.text() for outcome in outcomes} == {"well made: 9"}
    by_name = {worker["name"]: worker for worker in workers_of(runner)}
    assert by_name["black-hole"]["failed"] <= known_workers.MAX_FAULTS
    assert by_name["good"]["set_aside"] is None
    if by_name["black-hole"]["failed"] == known_workers.MAX_FAULTS:
        assert "start 'chyme work'" in by_name["black-hole"]["set_aside"]
    assert not scene.here.ran


def test_what_is_wrong_with_a_file_is_wrong_everywhere(scene: Stage) -> None:
    def refuse(task: Task, _progress: object) -> list[Output]:
        raise UnreadableFile(f"{task.file.path}: broken", retry_after=None)

    runner = scene.runner()
    scene.worker("honest", refuse)
    scene.await_fit(runner)

    with pytest.raises(UnreadableFile, match=r"folder/1.png: broken"):
        scene.begin(runner, scene.task()).text()
    assert not scene.here.ran


def test_a_run_that_nobody_wants_any_more_is_stopped_and_its_answer_changes_nothing(scene: Stage) -> None:
    wanted = threading.Event()
    wanted.set()
    may_end = threading.Event()
    runner = scene.runner()
    _, children = scene.worker("strong", hang(may_end))
    scene.await_fit(runner)
    outcome = scene.begin(runner, scene.task(wanted=wanted.is_set))
    assert children.began.wait(300)

    wanted.clear()

    assert children.cancelled.wait(300)
    with pytest.raises(PutDown):
        outcome.text()
    assert workers_of(runner)[0]["lost"] == 0
    may_end.set()


def test_closing_the_coordinator_stops_what_runs_elsewhere(scene: Stage) -> None:
    may_end = threading.Event()
    runner = scene.runner()
    _, children = scene.worker("strong", hang(may_end))
    scene.await_fit(runner)
    outcome = scene.begin(runner, scene.task())
    assert children.began.wait(300)

    runner.close()

    assert children.cancelled.wait(300)
    may_end.set()
    with pytest.raises(ChymeError):
        outcome.text()


def test_a_worker_that_drains_finishes_what_it_can_and_gives_back_the_rest(scene: Stage) -> None:
    never = threading.Event()
    runner = scene.runner()
    draining, children = scene.worker("leaving", hang(never), grace_seconds=0.3)
    scene.await_fit(runner)
    outcome = scene.begin(runner, scene.task())
    assert children.began.wait(300)

    draining.drain()

    with pytest.raises(PutDown):
        outcome.text()
    assert workers_of(runner) == []
    never.set()


def test_without_nats_what_waits_is_put_down_and_the_rest_goes_on_here(scene: Stage) -> None:
    never = threading.Event()
    runner = scene.runner(home_cores=1, home_waiting=2)
    _, children = scene.worker("strong", hang(never))
    scene.await_fit(runner)
    runner.estimates.learn(DIGESTER, "image/png", 10.0)
    at_home, remote = scene.begin(runner, scene.task(1)), scene.begin(runner, scene.task(2))
    assert children.began.wait(300)
    waiting = [scene.begin(runner, scene.task(number)) for number in (3, 4, 5)]

    scene.nats.kill()

    with pytest.raises(PutDown):
        remote.text()
    wait_until(lambda: sum(outcome.ended.is_set() for outcome in waiting) >= 2)  # put down
    scene.here.may_end.set()
    assert at_home.text() == HERE
    wait_until(lambda: all(outcome.ended.is_set() for outcome in waiting))
    assert sum(isinstance(outcome.error, PutDown) for outcome in waiting) == 2
    report = described(runner)
    assert not report["connected"] and report["problem"]
    never.set()

    scene.nats.start()

    wait_until(lambda: described(runner)["connected"])
    scene.await_fit(runner)


def test_progress_is_told(scene: Stage) -> None:
    may_end = threading.Event()

    def slowly(task: Task, progress: Any) -> list[Output]:
        progress(0.25)
        assert may_end.wait(300)
        return [Output(DIGESTER, "made")]

    runner = scene.runner()
    scene.worker("strong", slowly)
    scene.await_fit(runner)
    outcome = scene.begin(runner, scene.task())

    wait_until(lambda: 0.25 in outcome.progress)
    may_end.set()
    assert outcome.text() == "made"


def test_what_a_digester_keeps_goes_with_it_to_the_next_worker(scene: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_run, "KEEP_SECONDS", 0.1)
    never = threading.Event()

    def half(task: Task, _progress: object) -> list[Output]:
        (task.scratch / "pages.json").write_text("[1, 2, 3]")
        assert never.wait(300)
        return []

    def rest(task: Task, _progress: object) -> list[Output]:
        return [Output("doc-to-markdown", (task.scratch / "pages.json").read_text())]

    runner = scene.runner()
    fragile, children = scene.worker("fragile", half)
    scene.await_fit(runner)
    task = scene.task(digester="doc-to-markdown")
    first = scene.begin(runner, task)
    assert children.began.wait(300)
    wait_until((task.scratch / "pages.json").exists)
    cut_off(fragile)
    with pytest.raises(WorkerLost):
        first.text()

    scene.worker("strong", rest)
    wait_until(lambda: any(found["name"] == "strong" and found["makes"] for found in workers_of(runner)))

    assert scene.begin(runner, task).text() == "[1, 2, 3]"
    never.set()


def test_workers_take_turns_between_vaults(scene: Stage) -> None:
    order: list[str] = []
    may_go = threading.Event()

    def note(task: Task, _progress: object) -> list[Output]:
        assert may_go.wait(300)
        order.append(task.file.hash)
        return [Output(DIGESTER, "made")]

    full, other = scene.runner(vault="full"), scene.runner(vault="other")
    only, _ = scene.worker("only", note)
    scene.await_fit(full)
    scene.await_fit(other)
    many = [scene.begin(full, scene.task(number)) for number in range(1, 21)]
    wait_until(lambda: sum(described(full)["waiting"].values()) == 19)
    persons = scene.begin(other, scene.task(99))
    wait_until(lambda: any(known.vault == "other" and known.wants for known in only._coordinators.values()))

    may_go.set()

    assert persons.text() == "made"
    assert sum(outcome.ended.is_set() for outcome in many) <= 3  # one was under way, and they take turns
    assert [outcome.text() for outcome in many] == ["made"] * 20


def test_a_worker_of_another_version_gets_no_work(scene: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "WIRE", 999)
    runner = scene.runner()
    scene.worker("newer", say("elsewhere"))
    scene.here.may_end.set()

    with pytest.raises(PutDown):
        monkeypatch.setattr(work_line, "WAIT_SECONDS", 0.5)
        scene.begin(runner, scene.task()).text()


def test_a_worker_with_another_recipe_does_not_fit_and_says_so(scene: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    from chyme.pictures.image_ocr import ImageOcr

    runner = scene.runner()
    monkeypatch.setattr(ImageOcr, "version", ImageOcr.version + 1)
    scene.worker("newer", say("elsewhere"))
    wait_until(lambda: any(found["makes"] for found in workers_of(runner)))

    assert DIGESTER not in workers_of(runner)[0]["makes"]
    assert "another version" in workers_of(runner)[0]["misfits"][DIGESTER]


def hold_home(scene: Stage, runner: Any) -> Outcome:
    """Occupy the only place here."""
    scene.here.may_end.clear()
    outcome = scene.begin(runner, scene.task(1))
    wait_until(lambda: scene.here.ran)
    return outcome


def cut_off(lost: Any) -> None:
    """As if its cable were pulled: nothing more comes from it, and nothing reaches it."""
    fabric = lost._fabric

    async def nothing(*_arguments: object, **_options: object) -> Any:
        raise FabricAway("cut off")

    fabric.request = nothing
    fabric.publish = nothing
    fabric._handlers.clear()
    fabric.call(fabric._client.close()).result(10)


def described(runner: Any) -> Any:
    found = runner.describe()
    return found if isinstance(found, dict) else found.as_json()
