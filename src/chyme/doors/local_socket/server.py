"""Listens on a socket in the state folder, and answers searches of the vault's owner, and questions about its workers.

One line of JSON comes in, one JSON object goes out, and the connection ends. Only the user this server runs as, and
root, are answered: the kernel says who asks. Nothing else is
offered, so nothing can be changed here; who has changed settings.toml may have it read again.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from chyme.application.app import App
from chyme.core.files.permissions import FILE_MODE
from chyme.doors.local_socket.client import PROTOCOL, SOCKET, open_folder
from chyme.errors import ChymeError, VaultGone
from chyme.search.results import as_json
from chyme.search.search import MODES

log = logging.getLogger(__name__)

READ_SECONDS = 5.0  # in which a question must have arrived
MAX_QUESTION = 1 << 16  # bytes
AT_ONCE = 8  # connections; further ones wait
MAX_HITS, MAX_OFFSET = 1000, 10**6


@contextlib.contextmanager
def answer_commands(app: App) -> Iterator[None]:
    """Answer questions of commands in the background. Where no socket can be made, commands answer themselves."""
    try:
        listener, inode = _listen(app.state)
    except OSError as error:
        log.info("%s: commands cannot ask this server (%s)", app.state / SOCKET, error.strerror)
        yield
        return
    thread = threading.Thread(target=_accept, args=(listener, app), name="chyme-local-socket", daemon=True)
    thread.start()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)  # wakes the thread
        thread.join()
        listener.close()
        _remove(app.state, inode)


def _listen(state: Path) -> tuple[socket.socket, int]:
    """Listen under a name of our own first, and then take the place of a socket that a killed server left."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        with open_folder(state) as folder:
            temporary = f"{folder}/{SOCKET}.{os.getpid()}"
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            listener.bind(temporary)  # the folder lets no other user in
            os.chmod(temporary, FILE_MODE)
            listener.listen(AT_ONCE)
            inode = os.stat(temporary).st_ino
            os.replace(temporary, f"{folder}/{SOCKET}")
    except BaseException:
        listener.close()
        raise
    return listener, inode


def _remove(state: Path, inode: int) -> None:
    """Remove our socket, unless another server has put its own there since."""
    path = state / SOCKET
    with contextlib.suppress(OSError):
        if path.lstat().st_ino == inode:
            path.unlink()


def _accept(listener: socket.socket, app: App) -> None:
    places = threading.Semaphore(AT_ONCE)
    while True:
        places.acquire()
        try:
            connection, _ = listener.accept()
        except OSError:
            return  # the server ends
        threading.Thread(target=_serve, args=(connection, app, places), name="chyme-local-search", daemon=True).start()


def _serve(connection: socket.socket, app: App, places: threading.Semaphore) -> None:
    try:
        with connection:
            connection.settimeout(READ_SECONDS)
            if _user_of(connection) not in (0, os.geteuid()):
                return
            answer = _answer(app, _read_line(connection))
            connection.sendall(json.dumps(answer, default=str).encode())
    except OSError:
        pass  # who asked is gone, or asks too slowly
    finally:
        places.release()


def _user_of(connection: socket.socket) -> int:
    _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(user)


def _read_line(connection: socket.socket) -> bytes:
    line = b""
    while b"\n" not in line and len(line) < MAX_QUESTION:
        piece = connection.recv(MAX_QUESTION)
        if not piece:
            break
        line += piece
    return line


def _answer(app: App, line: bytes) -> dict[str, Any]:
    """The result, or an error: then the command opens the vault itself, and reports what is wrong with it.

    Unless the database was moved away: then what the command would find in its place is not what is served here.
    """
    try:
        asked = json.loads(line)
        if asked["protocol"] != PROTOCOL:
            return {"error": "another version"}
        if asked.get("about") == "workers":
            return {"result": _describe_workers(app)}
        if asked.get("about") == "settings":
            return {"result": {"at_once": list(app.settings_editor.reload())}}
        if asked["mode"] not in MODES:
            return {"error": "another version"}
        result = app.search.search(
            str(asked["query"]),
            limit=min(max(int(asked["limit"]), 1), MAX_HITS),
            offset=min(max(int(asked["offset"]), 0), MAX_OFFSET),
            mode=asked["mode"],
            facets=bool(asked["facets"]),
            as_typed=bool(asked["as_typed"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return {"error": "this is no question"}
    except VaultGone as error:
        return {"gone": str(error)}
    except ChymeError as error:
        return {"error": str(error)}
    except Exception:
        log.exception("a question of a command could not be answered")
        return {"error": "the question could not be answered; the log says why"}
    return {"result": as_json(result)}


def _describe_workers(app: App) -> dict[str, Any]:
    report = app.workers_report()
    return {"enabled": False} if report is None else report.as_json()
