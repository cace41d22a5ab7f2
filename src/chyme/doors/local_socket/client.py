"""Asks the server that runs on a vault. Imports next to nothing, so that a command which asks it starts at once."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from chyme.errors import VaultGone

SOCKET = "search.sock"  # in the state folder
PROTOCOL = 1  # of another one, as after an upgrade, no question is asked
CONNECT_SECONDS = 1.0
ANSWER_SECONDS = 30.0  # an embedder that does not load is given up long before
MAX_BYTES = 64 << 20


def ask_server(state: Path, question: Mapping[str, Any], seconds: float = ANSWER_SECONDS) -> dict[str, Any] | None:
    """Return the server's answer, or None if there is no server, or it cannot answer in time.

    Then the command must answer itself.
    Raises VaultGone if the vault's database was moved away under the server.
    """
    request = json.dumps({"protocol": PROTOCOL, **question}).encode() + b"\n"
    try:
        with _connect(state) as connection:
            connection.settimeout(seconds)
            connection.sendall(request)
            answer = json.loads(_read_all(connection))
    except (OSError, ValueError):
        return None
    if not isinstance(answer, dict):
        return None
    if isinstance(answer.get("gone"), str):
        raise VaultGone(answer["gone"])
    result = answer.get("result")
    return result if isinstance(result, dict) else None


def _connect(state: Path) -> socket.socket:
    with open_folder(state) as folder:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        try:
            connection.settimeout(CONNECT_SECONDS)
            connection.connect(f"{folder}/{SOCKET}")
        except BaseException:
            connection.close()
            raise
    return connection


@contextlib.contextmanager
def open_folder(state: Path) -> Iterator[str]:
    """A short path to the folder: a socket's address may have 107 bytes only."""
    handle = os.open(state, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)


def _read_all(connection: socket.socket) -> bytes:
    received = bytearray()
    while piece := connection.recv(1 << 16):
        received += piece
        if len(received) > MAX_BYTES:
            raise ValueError("the answer is too long")
    return bytes(received)
