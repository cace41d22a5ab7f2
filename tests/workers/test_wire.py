"""Messages between coordinators and workers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chyme.core.children.frames import BadFrame
from chyme.workers.estimates import Estimates
from chyme.workers.known_workers import MAX_FAULTS, MAX_NONSENSE, KnownWorker, KnownWorkers
from chyme.workers.wire import MAX_MESSAGE, Message, is_token, pack_message, read_message


def test_a_message_comes_back_as_it_was() -> None:
    message = read_message(pack_message({"kind": "piece", "size": 3}, b"abc"))

    assert (message.kind, message.integer("size"), message.bulk) == ("piece", 3, b"abc")


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_refused(data: bytes) -> None:
    try:
        read_message(data)
    except BadFrame:
        return


def test_a_message_that_nats_would_refuse_is_not_packed() -> None:
    with pytest.raises(BadFrame):
        pack_message({}, b"x" * MAX_MESSAGE)


@pytest.mark.parametrize("value", [None, 1, [], {}, "x" * 2000, True])
def test_what_is_no_text_is_refused(value: object) -> None:
    with pytest.raises(BadFrame):
        Message({"name": value}).text("name")


@pytest.mark.parametrize("value", [None, -1, 1.5, "1", True, 1 << 60])
def test_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(BadFrame):
        Message({"size": value}).integer("size")


@pytest.mark.parametrize("name", ["", "a.b", "a b", "*", ">", "ä", "a" * 129, "a\n"])
def test_what_would_change_a_subject_is_no_name(name: str) -> None:
    assert not is_token(name)


def test_the_mean_of_attempts_follows_the_newest() -> None:
    estimates = Estimates()
    assert estimates.seconds("image-ocr", "image/png") is None
    estimates.learn("image-ocr", "image/png", 10.0)
    for _ in range(30):
        estimates.learn("image-ocr", "image/png", 0.0)

    seconds = estimates.seconds("image-ocr", "image/png")
    assert seconds is not None and seconds < 0.1


def test_success_or_an_innocent_file_clears_a_worker() -> None:
    worker = KnownWorker("w", "1", 0.0)
    for file in range(MAX_FAULTS - 1):
        worker.blame(file, "crash")
    worker.succeed()
    worker.blame(1, "crash")
    worker.blame(1, "crash")
    worker.blame(2, "crash")
    worker.forgive(2)

    assert not worker.blame(3, "crash")
    assert worker.blame(4, "crash")
    assert worker.set_aside is not None


def test_a_worker_that_talks_nonsense_is_set_aside() -> None:
    worker = KnownWorker("w", "1", 0.0)

    assert [worker.babble("what?") for _ in range(MAX_NONSENSE)] == [False] * (MAX_NONSENSE - 1) + [True]


def test_workers_that_say_nothing_are_forgotten() -> None:
    now = [0.0]
    workers = KnownWorkers(lambda: now[0])
    silent, busy = workers.add("silent", "1"), workers.add("busy", "1")
    assert silent is not None and busy is not None
    busy.running["run"] = "image-ocr"
    now[0] = 1000.0
    workers.forget_silent()

    assert [worker.name for worker in workers] == ["busy"]
    assert workers.live(15.0) == []
