"""A worker that is told to end notices, whichever of its threads the kernel gives the signal to."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
from waiting import AMPLE

from chyme.workers.fabric import Fabric
from chyme.workers.scratch_root import ScratchRoot
from chyme.workers.worker import Worker, WorkerConfig


class SignalReceived(BaseException):
    """Raised by the handler, as SIGTERM's does."""


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    config = WorkerConfig(
        name="one",
        places=1,
        slowness=1.0,
        config={},
        make_children=lambda _config: pytest.fail("it has no work"),
        run_as=None,
        scratch_bytes=1 << 20,
    )
    unreachable = Fabric(["nats://127.0.0.1:1"], "one")
    worker = Worker(config, unreachable, ScratchRoot(tmp_path / "scratch", 1 << 30))
    worker.start()
    yield worker
    worker.close()


@pytest.fixture
def handled() -> Iterator[None]:
    def raise_received(_number: int, _frame: FrameType | None) -> None:
        raise SignalReceived

    previous = signal.signal(signal.SIGUSR2, raise_received)
    yield
    signal.signal(signal.SIGUSR2, previous)


@pytest.mark.usefixtures("handled")
def test_a_signal_that_another_thread_gets_ends_the_waiting(worker: Worker) -> None:
    assert threading.current_thread() is threading.main_thread(), "handlers run in the main thread only"

    def get_signal() -> None:
        time.sleep(0.2)  # by then the main thread waits; should it not, the test passes all the same
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR2)

    rescue = threading.Timer(AMPLE, worker.close)  # the handler runs late then, but it runs
    getter = threading.Thread(target=get_signal)
    rescue.start()
    getter.start()
    with pytest.raises(SignalReceived):
        worker.wait()
    assert rescue.is_alive(), "only its end woke the main thread"
    rescue.cancel()
    getter.join()


def test_waiting_ends_after_the_seconds_it_was_given(worker: Worker) -> None:
    assert not worker.wait(0.01)


def test_waiting_ends_when_the_worker_has(worker: Worker) -> None:
    closing = threading.Timer(0.1, worker.close)
    closing.start()
    assert worker.wait(AMPLE)
    closing.join()
