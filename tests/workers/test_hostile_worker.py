"""A worker that lies, pries and never ends: nothing changes by it, and it is named."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from remote_runs import DIGESTER, HERE, Stage, hang, stage, workers_of
from waiting import wait_until

from chyme.core.children.frames import BadFrame
from chyme.errors import ChymeError, WorkerLost
from chyme.model import Limits
from chyme.workers import remote_runner, run_watch, worker
from chyme.workers.fabric import Fabric
from chyme.workers.remote_runner import RemoteRunner
from chyme.workers.wire import WIRE, Message, ask_subject, give_subject

INSTANCE = "e1"


class Hostile:
    """Speaks the language of workers, and means harm."""

    def __init__(self, scene: Stage, runner: RemoteRunner, name: str = "evil") -> None:
        self.name = name
        self._runner = runner
        self._fabric = Fabric([scene.nats.url], name)
        self.pieces: Callable[[Message], tuple[dict[str, object], bytes]] = lambda _asked: ({"kind": "piece"}, b"x")
        self.answer_to_beats = Message({})
        self._fabric.listen(give_subject("papers", name, INSTANCE), self._give)
        self._fabric.start()
        wait_until(lambda: self._fabric.connected)
        self.ask("hello", self._introduction())

    async def _give(self, _subject: str, message: Message) -> tuple[dict[str, object], bytes]:
        return self.pieces(message)

    def _introduction(self) -> dict[str, object]:
        config = self._runner._config
        abilities = {name: known.ability for name, known in config.digesters.items()}
        known = {"config": config.config_id, "abilities": abilities, "misfits": {}}
        return {"wire": WIRE, "host": "lair", "version": "6", "places": 9, "slowness": 1, **known}

    def ask(self, kind: str, header: dict[str, object] | None = None, bulk: bytes = b"") -> Message:
        subject = ask_subject("papers", self._runner.coordinator, self.name)
        told = {"kind": kind, "instance": INSTANCE, "free": 9, "room": 1 << 40, **(header or {})}
        return self._fabric.call(self._fabric.request(subject, told, bulk)).result(60)

    def claim(self) -> dict[str, Any]:
        """Take a run."""
        claimed: list[Message] = []

        def got() -> bool:
            claimed[:] = [self.ask("claim")]
            return claimed[0].kind == "run"

        wait_until(got)
        return dict(claimed[0].header)

    def done(self, run: dict[str, Any], **changes: object) -> Message:
        bulk = changes.pop("bulk", b"")
        assert isinstance(bulk, bytes)
        header = {
            "run": run["run"],
            "key": run["key"],
            "seconds": 1.0,
            "size": len(bulk),
            "inline": True,
            "sha256": hashlib.sha256(bulk).hexdigest(),
            "result": "outputs",
            "outputs": [[DIGESTER, len(bulk), 0, []]],
            **changes,
        }
        return self.ask("done", header, bulk)

    def close(self) -> None:
        self._fabric.close()


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setattr(run_watch, "SILENT_SECONDS", 3.0)
    monkeypatch.setattr(worker, "BEAT_SECONDS", 0.2)
    monkeypatch.setattr(worker, "HELLO_SECONDS", 0.3)
    monkeypatch.setattr(run_watch, "PRESENCE_SECONDS", 0.3)
    monkeypatch.setattr(remote_runner, "SMALL_SECONDS", 0.0)
    with stage(tmp_path) as built:
        yield built


@pytest.fixture
def runner(scene: Stage) -> RemoteRunner:
    made = scene.runner()
    wait_until(lambda: made._fabric.connected)
    return made


@pytest.fixture
def evil(scene: Stage, runner: RemoteRunner) -> Iterator[Hostile]:
    hostile = Hostile(scene, runner)
    yield hostile
    hostile.close()


@pytest.mark.parametrize(
    "lie",
    [
        {"outputs": [["doc-to-markdown", 0, 0, []]]},  # an output that this digester does not make
        {"outputs": [[DIGESTER, 99, 0, []]]},  # longer than what came
        {"outputs": [[DIGESTER, 0, 0, [["../../escape", 0]]]]},
        {"outputs": "nonsense"},
        {"outputs": [[DIGESTER, 0, 0, []], [DIGESTER, 0, 0, []]]},
        {"result": "pickle"},
        {"bulk": b"abc", "sha256": "0" * 64},
        {"inline": False, "size": 1 << 49},  # more than an answer may have
    ],
)
def test_a_false_answer_is_made_elsewhere_and_its_worker_is_named(
    scene: Stage, runner: RemoteRunner, evil: Hostile, lie: dict[str, object]
) -> None:
    outcome = scene.begin(runner, scene.task())
    run = evil.claim()
    scene.here.may_end.set()

    evil.done(run, **lie)

    assert outcome.text() == HERE
    assert workers_of(runner)[0]["failed"] == 1


@pytest.mark.parametrize(
    "piece", [({"kind": "piece"}, b"x" * 300_000), ({"kind": "piece"}, b""), ({"kind": "no"}, b""), ({}, b"")]
)
def test_an_answer_whose_pieces_do_not_fit_is_dropped(
    scene: Stage, runner: RemoteRunner, evil: Hostile, piece: tuple[dict[str, object], bytes]
) -> None:
    outcome = scene.begin(runner, scene.task())
    run = evil.claim()
    scene.here.may_end.set()
    evil.pieces = lambda _asked: piece

    evil.done(run, inline=False, size=1_000_000, sha256="0" * 64)

    assert outcome.text() == HERE


def test_bytes_and_answers_are_only_for_the_worker_that_claimed_the_run(
    scene: Stage, runner: RemoteRunner, evil: Hostile
) -> None:
    thief = Hostile(scene, runner, "thief")
    try:
        outcome = scene.begin(runner, scene.task(data=b"a secret"))
        run = evil.claim()
        known = {"run": run["run"], "key": run["key"], "part": "0", "offset": 0}

        assert thief.ask("bytes", known).bulk == b""
        assert evil.ask("bytes", {**known, "key": "guessed"}).bulk == b""
        assert thief.done(run).kind == "not wanted"
        beat: dict[str, object] = {"runs": [[run["run"], run["key"], 0.5, True, 0]]}
        assert thief.ask("beat", beat).rows("stop") == [run["run"]]
        assert not outcome.ended.is_set()

        assert evil.ask("bytes", known).bulk == b"a secret"
        evil.done(run, bulk=b"mine")
        assert outcome.text() == "mine"
    finally:
        thief.close()


@pytest.mark.parametrize("part", ["1", "-1", "inputs", "kept", "../x", "00000000", "٣"])
def test_there_is_nothing_else_to_fetch(scene: Stage, runner: RemoteRunner, evil: Hostile, part: str) -> None:
    outcome = scene.begin(runner, scene.task())
    run = evil.claim()

    with pytest.raises((ChymeError, BadFrame)):
        raise_unless_refused(evil.ask("bytes", {"run": run["run"], "key": run["key"], "part": part, "offset": 0}))

    evil.done(run, bulk=b"made")
    assert outcome.text() == "made"


def raise_unless_refused(answer: Message) -> None:
    if answer.kind != "piece" or not answer.bulk:
        raise BadFrame("refused")


def test_a_worker_that_beats_for_ever_and_never_fetches_is_given_up(
    scene: Stage, runner: RemoteRunner, evil: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_watch, "STALL_SECONDS", 2.0)
    outcome = scene.begin(runner, scene.task())
    run = evil.claim()

    while not outcome.ended.is_set():
        evil.ask("beat", {"runs": [[run["run"], run["key"], 0.1, False, 0]]})

    with pytest.raises(WorkerLost):
        outcome.text()


def test_a_worker_that_says_it_runs_for_ever_is_given_up_after_its_limit(
    scene: Stage, runner: RemoteRunner, evil: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_watch, "SPARE_SECONDS", 0.5)
    outcome = scene.begin(runner, scene.task(), Limits(1.0, 1.0, 1 << 30))
    run = evil.claim()

    while not outcome.ended.is_set():
        evil.ask("beat", {"runs": [[run["run"], run["key"], 0.1, True, 0]]})

    with pytest.raises(WorkerLost):
        outcome.text()


def test_nonsense_changes_nothing(scene: Stage, runner: RemoteRunner, evil: Hostile) -> None:
    outcome = scene.begin(runner, scene.task())
    run = evil.claim()
    subject = ask_subject("papers", runner.coordinator, "evil")
    fabric = evil._fabric

    async def shout() -> None:
        for data in (b"", b"\xff" * 10, b"\0\0\0\x02[]", b"\0\0\0\x02{}", b"\0\xff\xff\xff{}", b"\0\0\0\x04null"):
            await fabric._client.publish(subject, data, reply="chyme.inbox.evil.1")
        for kind in ("beat", "bytes", "done", "hello", "claim", "no such kind"):
            values: tuple[object, ...] = (None, [], {}, "x" * 100_000, -1, 1e308)
            for value in values:
                await fabric.publish(subject, {"kind": kind, "instance": INSTANCE, "run": value, "runs": value})
        await fabric._client.flush()
        await fabric._client.flush()

    fabric.call(shout()).result(60)
    evil.done(run, bulk=b"made")

    assert outcome.text() == "made"


def test_an_answer_is_not_sent_to_another_subject(scene: Stage, runner: RemoteRunner, evil: Hostile) -> None:
    heard: list[bytes] = []
    fabric = evil._fabric

    async def listen() -> None:
        async def note(message: Any) -> None:
            heard.append(message.data)

        await fabric._client.subscribe("chyme.papers.give.>", cb=note)
        await fabric._client.subscribe("chyme.inbox.other.>", cb=note)
        subject = ask_subject("papers", runner.coordinator, "evil")
        for reply in ("chyme.papers.give.other.1", "chyme.inbox.other.1"):
            await fabric.publish(subject, {"kind": "claim"})
            from chyme.workers.wire import pack_message

            told: dict[str, object] = {"kind": "claim", "instance": INSTANCE, "free": 1, "room": 1}
            await fabric._client.publish(subject, pack_message(told), reply=reply)
        await fabric._client.flush()
        await fabric._client.flush()

    fabric.call(listen()).result(60)
    evil.ask("claim")  # answered after those
    fabric.call(asyncio.sleep(0.2)).result(60)

    assert heard == []


def test_a_worker_that_lies_about_its_abilities_gets_nothing(scene: Stage, runner: RemoteRunner, evil: Hostile) -> None:
    wrong = {**evil._introduction(), "abilities": {DIGESTER: "0" * 32, "no-such-digester": "1"}}
    evil.ask("hello", wrong)
    may_end = threading.Event()
    scene.begin(runner, scene.task())

    assert evil.ask("claim").kind == "nothing"
    assert workers_of(runner)[0]["makes"] == []
    may_end.set()


def test_a_worker_that_was_not_introduced_is_told_so(scene: Stage, runner: RemoteRunner, evil: Hostile) -> None:
    assert evil.ask("claim", {"instance": "another"}).kind == "unknown"


def test_an_answer_that_comes_twice_counts_once(scene: Stage, runner: RemoteRunner, evil: Hostile) -> None:
    outcome = scene.begin(runner, scene.task())
    run = evil.claim()

    evil.done(run, bulk=b"first")
    assert outcome.text() == "first"
    assert evil.done(run, bulk=b"second").kind == "not wanted"

    assert workers_of(runner)[0]["late"] == 1


def test_more_work_comes_with_an_answer_only_if_it_is_asked_for_and_the_answer_was_wanted(
    scene: Stage, runner: RemoteRunner, evil: Hostile
) -> None:
    outcomes = [scene.begin(runner, scene.task(number)) for number in (1, 2, 3)]
    wait_until(lambda: len(runner._line.waiting) == 3)
    run = evil.claim()

    taken = evil.done(run, bulk=b"made", claim=True)
    following: Any = taken.header["next"]
    assert (taken.kind, following["kind"]) == ("have it", "run")
    assert taken.bulk == b"a picture"

    assert "next" not in evil.done(run, bulk=b"again", claim=True).header
    assert "next" not in evil.done(following, bulk=b"made").header
    assert evil.done(evil.claim(), bulk=b"made").kind == "have it"
    assert [outcome.text() for outcome in outcomes] == ["made"] * 3


def test_what_a_good_worker_does_is_not_disturbed(scene: Stage, runner: RemoteRunner, evil: Hostile) -> None:
    may_end = threading.Event()
    _, children = scene.worker("good", hang(may_end))
    scene.await_fit(runner, 2)
    evil.ask("hello", {**evil._introduction(), "abilities": {}})  # it wants nothing, so that the other gets it
    outcome = scene.begin(runner, scene.task())
    assert children.began.wait(300)
    run_id = next(iter(runner._line.runs))

    for _ in range(50):
        evil.ask("done", {"run": run_id, "key": "0" * 32, "seconds": 0, "size": 0, "inline": True, "sha256": ""})
        evil.ask("leave", {"gone": True})
        evil.ask("hello", evil._introduction() | {"abilities": {}})

    may_end.set()
    assert outcome.text() == "late"
