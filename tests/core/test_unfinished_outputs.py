"""An output that is used while the rest of it waits until nothing else is to do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest
from coordinating import Bench, Clock, ScriptedDigester
from waiting import AMPLE, wait_until

from chyme.core.children.frames import InlineBulk
from chyme.core.children.serialization import decode_outputs, encode_output
from chyme.core.pipeline.digest_state import ENDLESS
from chyme.core.pipeline.file_scheduler import FileScheduler
from chyme.core.pipeline.transitions import PassResult
from chyme.core.store import digest_queue, digest_resets, digests
from chyme.digester import Source
from chyme.model import Output, iso

Open = Callable[..., Bench]


class InParts:
    """Makes the first part of an output, then all of it."""

    def __init__(self, parts: int = 2) -> None:
        self._parts = parts
        self.made: list[str] = []

    def __call__(self, source: Source) -> list[Output]:
        self.made.append(source.file.name)
        count = self.made.count(source.file.name)
        return [Output("text", f"part {count}", unfinished=count < self._parts)]


def test_a_child_can_send_it() -> None:
    bulk: list[bytes] = []
    rows = [encode_output(Output("text", "part", unfinished=True), bulk), encode_output(Output("other", "all"), bulk)]

    first, second = decode_outputs(rows, ("text", "other"), InlineBulk(b"".join(bulk)))

    assert (first.unfinished, second.unfinished) == (True, False)


def test_it_is_in_use_and_queued_after_everything_else(bench: Open) -> None:
    make = InParts()
    vault = bench(ScriptedDigester("text", make))
    long = vault.drop("long.txt", "a long text")

    assert vault.process(long) is PassResult.DONE
    assert vault.content(long, "text") == "part 1"
    assert vault.digest(long, "text") == ("todo", None, 1)
    short = vault.drop("short.txt", "a short text that was there later")
    due = digest_queue.list_due(vault.db, iso(vault.clock()), 10)
    assert [(one.file_id, one.last) for one in due] == [(short, False), (long, True)]

    vault.process(long)

    assert vault.content(long, "text") == "part 2"
    assert vault.digest(long, "text") == ("completed", None, 2)
    assert make.made == ["long.txt", "long.txt"]


def test_one_that_never_ends_fails(bench: Open) -> None:
    vault = bench(ScriptedDigester("text", InParts(parts=100)))
    file = vault.drop("endless.txt")

    for _ in range(6):
        vault.process(file)

    assert vault.digest(file, "text") == ("failed", "crash", 4)
    assert digests.of_file(vault.db, file)["text"].error == ENDLESS


def test_a_new_version_of_the_file_is_not_put_off(bench: Open) -> None:
    vault = bench(ScriptedDigester("text", InParts()))
    file = vault.drop("long.txt", "first version")
    vault.process(file)
    vault.drop("long.txt", "second version")

    (due,) = digest_queue.list_due(vault.db, iso(vault.clock()), 10)

    assert not due.last


def test_a_new_version_of_what_it_was_made_from_is_not_put_off(bench: Open) -> None:
    vault = bench(ScriptedDigester("source"), ScriptedDigester("text", InParts(), reads=("source",)))
    file = vault.drop("long.txt", "first version")
    vault.process(file)
    assert vault.digest(file, "text") == ("todo", None, 1)

    vault.database.write(lambda db: digest_resets.cascade(db, file, ["text"], iso(vault.clock())))

    (due,) = digest_queue.list_due(vault.db, iso(vault.clock()), 10)
    assert not due.last
    assert vault.digest(file, "text") == ("todo", None, 0)


@pytest.fixture
def scheduler(clock: Clock) -> Iterator[Callable[[Bench], FileScheduler]]:
    started: list[FileScheduler] = []

    def start(vault: Bench) -> FileScheduler:
        started.append(FileScheduler(vault.database, vault.coordinator, 4, clock, lambda _: None))
        started[-1].start()
        return started[-1]

    yield start
    for each in started:
        each.close()


def test_the_rest_is_made_when_no_other_file_is_worked_on(
    bench: Open, scheduler: Callable[[Bench], FileScheduler]
) -> None:
    make, busy, go_on = InParts(), threading.Event(), threading.Event()

    def work(source: Source) -> list[Output]:
        if source.file.name == "other.txt":
            busy.set()
            go_on.wait()
            return [Output("text", "other")]
        return make(source)

    vault = bench(ScriptedDigester("text", work))
    long = vault.drop("long.txt", "a long text")
    vault.process(long)
    other = vault.drop("other.txt", "something else")
    supervisor = scheduler(vault)
    try:
        assert busy.wait(AMPLE)
        for _ in range(5):
            supervisor.wake()
            time.sleep(0.1)
        assert make.made == ["long.txt"]
    finally:
        go_on.set()

    wait_until(lambda: vault.digest(long, "text")[0] == "completed")
    assert vault.digest(other, "text")[0] == "completed"
