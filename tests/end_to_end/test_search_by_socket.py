"""chyme search asks the server that runs on the vault, and answers itself where there is none."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running_chyme import RunningChyme, Server, wait_until
from waiting import AMPLE

from chyme.core.store.sqlite.database import Database
from chyme.doors.cli.commands.search import MODES
from chyme.doors.local_socket.client import SOCKET, ask_server
from chyme.search.search import MODES as ALL_MODES

pytestmark = pytest.mark.slow

QUESTIONS = (
    ("fondue",),
    ("melted", "cheese"),
    ("fondue", "--mode", "words", "--facets"),
    ("fondeu",),
    ("fondue", "--limit", "1", "--offset", "1"),
    ("kind:text", "--facets"),
    ("--mode", "meaning", "melted cheese for guests"),
    ("-bread",),
)


def same(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name != "ms"}


def is_done(status: dict[str, Any]) -> bool:
    return status["files"] == 2 and not status["digests"]["todo"] and not status["digests"]["in-progress"]


@pytest.fixture
def serving(chyme: RunningChyme) -> Iterator[Server]:
    chyme.drop("fondue.md", "# Fondue\n\nA recipe for cheese fondue with bread.")
    chyme.drop("notes/käse.txt", "Melt the cheese slowly. The fondue is for eight guests.")
    server = chyme.serve()
    wait_until(lambda: is_done(server.http.get("/api/status").json()))
    yield server
    server.http.close()


def question(query: str) -> dict[str, Any]:
    return {"query": query, "limit": 5, "offset": 0, "mode": "words", "facets": False, "as_typed": False}


def test_answers_are_the_same_with_a_server_and_without(chyme: RunningChyme, serving: Server) -> None:
    state = chyme.vault / ".chyme"
    assert stat.S_IMODE((state / SOCKET).lstat().st_mode) == 0o600
    by_server = {asked: chyme.run("search", *asked, "--json").json for asked in QUESTIONS}
    shown = {asked: chyme.run("search", *asked).out for asked in QUESTIONS}
    assert any(answer["hits"] for answer in by_server.values())
    serving.end(signal.SIGTERM)

    assert not (state / SOCKET).exists()
    for asked, answer in by_server.items():
        assert same(chyme.run("search", *asked, "--json").json) == same(answer)
        lines = [line for line in chyme.run("search", *asked).out.splitlines() if " found in " not in line]
        assert lines == [line for line in shown[asked].splitlines() if " found in " not in line]


def test_the_command_shows_what_the_socket_answers(chyme: RunningChyme) -> None:
    state = chyme.vault / ".chyme"
    state.mkdir()
    hit = {"path": "from the server.md", "title": "", "why": ["words"], "place": None, "snippet": "", "marks": []}
    answer = {
        "hits": [hit],
        "total": 1,
        "total_is_exact": True,
        "ms": 1.0,
        "corrected": {},
        "suggested": {},
        "notes": [],
    }
    asked: list[dict[str, Any]] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(state / SOCKET))
        listener.listen()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                asked.append(json.loads(connection.recv(1 << 16)))
                connection.sendall(json.dumps({"result": answer}).encode())

        thread = threading.Thread(target=serve)
        thread.start()
        ended = chyme.run("search", "fondue", "--mode", "words", "pot", "--limit", "3")
        thread.join(AMPLE)
    assert ended.out == "from the server.md\n1 found in 1 ms\n"
    assert asked == [{"protocol": 1, **question("fondue pot"), "limit": 3}]


def test_a_socket_left_by_a_killed_server_is_ignored_and_replaced(chyme: RunningChyme, serving: Server) -> None:
    path = chyme.vault / ".chyme" / SOCKET
    serving.end(signal.SIGKILL)
    assert path.is_socket()
    assert ask_server(path.parent, question("fondue")) is None
    assert [hit["path"] for hit in chyme.run("search", "fondue", "--json").json["hits"]]
    again = chyme.serve()
    assert ask_server(path.parent, question("fondue")) is not None
    again.end(signal.SIGTERM)
    assert not path.exists()


def test_a_database_moved_away_under_the_server_is_an_error_not_an_empty_answer(
    chyme: RunningChyme, serving: Server, tmp_path: Path
) -> None:
    database = chyme.vault / ".chyme" / "vault.db"
    moved = database.with_name("moved.sqlite")
    database.rename(moved)
    gone = chyme.run("search", "fondue")
    assert gone.code != 0
    assert f"{database} is gone (deleted or renamed)" in gone.err

    Database(tmp_path / "other").close()  # a new and empty one in its place
    (tmp_path / "other" / "vault.db").rename(database)
    replaced = chyme.run("search", "fondue")
    assert replaced.code != 0
    assert f"{database} is not the database that chyme has opened; put that one back" in replaced.err

    moved.replace(database)
    assert chyme.run("search", "fondue", "--json").json["total"] == 2

    database.rename(moved)
    serving.end(signal.SIGKILL)
    for command in (("search", "fondue"), ("status",)):
        lost = chyme.run(*command)
        assert lost.code != 0
        assert "vault.db-wal is still beside it; if it was only renamed, put it back" in lost.err


def test_what_is_no_question_harms_nobody(chyme: RunningChyme, serving: Server) -> None:
    path = chyme.vault / ".chyme" / SOCKET
    for sent in (b"\n", b"[]\n", b"{}\n", b"\xff\xfe\n", b"x" * (1 << 17), b'{"protocol": 99, "mode": "both"}\n'):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(os.fspath(path))
            connection.settimeout(60)
            try:
                connection.sendall(sent)
                answer = connection.recv(1 << 16)
            except ConnectionError:  # it stopped reading
                continue
        assert set(json.loads(answer)) == {"error"}
    assert ask_server(path.parent, question("fondue")) is not None


def test_another_user_gets_no_answer(chyme: RunningChyme, serving: Server) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can ask as another user")
    path = chyme.vault / ".chyme" / SOCKET
    connection = socket.socket(socket.AF_UNIX)
    process = os.fork()
    if process == 0:  # opened up on purpose, so that only the check of the peer is left
        try:
            os.chmod(path, 0o666)
            os.chmod(path.parent, 0o711)
            os.chdir(path.parent)
            os.setresuid(65534, 65534, 65534)
            connection.connect(SOCKET)
            connection.sendall(json.dumps({"protocol": 1, **question("fondue")}).encode() + b"\n")
            os._exit(0 if connection.recv(100) == b"" else 1)
        except ConnectionError:
            os._exit(0)
        except BaseException:
            os._exit(2)
    connection.close()
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0


def test_every_mode_is_offered() -> None:
    assert MODES == ALL_MODES


def test_a_deep_folder_has_a_socket_too(chyme: RunningChyme, tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120) / "state"
    chyme.settings["CHYME_STATE_DIR"] = os.fspath(deep)
    server = chyme.serve()
    assert (deep / SOCKET).is_socket()
    assert ask_server(deep, question("anything")) is not None
    assert server.end(signal.SIGTERM) == 0
