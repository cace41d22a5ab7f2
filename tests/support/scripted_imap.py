"""A small IMAP server that does what a test tells it: cuts connections, names hostile sizes, changes UIDVALIDITY."""

from __future__ import annotations

import re
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field

MANY = 10_000_000_000


@dataclass
class ScriptedImap:
    """One folder of one user, whose name and password are not checked unless `password` is set."""

    messages: dict[int, bytes] = field(default_factory=dict)
    uidvalidity: int = 7
    password: str | None = None
    cut: set[int] = field(default_factory=set)  # uids whose fetching ends the connection in the middle
    refused: set[int] = field(default_factory=set)  # uids whose fetching is answered with NO
    hostile: str | None = None  # greeting, line, literal, flood: what is sent instead of the answer to FETCH
    seen: list[int] = field(default_factory=list)
    fetched: list[int] = field(default_factory=list)
    logins: int = 0

    def __post_init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._server.close()
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                self._open.add(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection, connection.makefile("rb") as lines:
            if self.hostile == "greeting":
                self._flood(connection, b"x" * 65536)
            connection.sendall(b"* OK ready\r\n")
            for line in lines:
                tag, _, command = line.strip().partition(b" ")
                if not self._answer(connection, tag, command):
                    return
        self._open.discard(connection)

    def _answer(self, connection: socket.socket, tag: bytes, command: bytes) -> bool:
        """Answer one command. Return whether the connection goes on."""
        word = command.upper()
        said = b""
        if word.startswith(b"CAPABILITY"):
            said = b"* CAPABILITY IMAP4rev1\r\n"
        elif word.startswith(b"LOGIN"):
            self.logins += 1
            if self.password is not None and self.password.encode() not in command:
                connection.sendall(tag + b" NO wrong: " + command + b"\r\n")
                return True
        elif word.startswith(b"SELECT"):
            said = b"* %d EXISTS\r\n* OK [UIDVALIDITY %d] valid\r\n" % (len(self.messages), self.uidvalidity)
        elif word.startswith(b"UID SEARCH"):
            first = int(command.split()[-1].partition(b":")[0])
            uids = sorted(uid for uid in self.messages if uid >= first) or sorted(self.messages)[-1:]
            said = b"* SEARCH " + b" ".join(b"%d" % uid for uid in uids) + b"\r\n"
        elif (found := re.match(rb"UID FETCH (\d+) \(RFC822.SIZE\)", word)) and int(found[1]) in self.messages:
            uid = int(found[1])
            said = b"* 1 FETCH (UID %d RFC822.SIZE %d)\r\n" % (uid, len(self.messages[uid]))
        elif (found := re.match(rb"UID FETCH (\d+) \(BODY", word)) is not None:
            return self._send_message(connection, tag, int(found[1]))
        elif (found := re.match(rb"UID STORE (\d+)", word)) is not None:
            self.seen.append(int(found[1]))
        elif word.startswith(b"LOGOUT"):
            said = b"* BYE\r\n"
        connection.sendall(said + tag + b" OK done\r\n")
        return not word.startswith(b"LOGOUT")

    def _send_message(self, connection: socket.socket, tag: bytes, uid: int) -> bool:
        self.fetched.append(uid)
        data = self.messages[uid]
        if uid in self.refused:
            connection.sendall(tag + b" NO broken on disk\r\n")
            return True
        if self.hostile == "literal":
            connection.sendall(b"* 1 FETCH (UID %d BODY[] {%d}\r\n" % (uid, MANY))
            self._flood(connection, b"x" * 65536)
        if self.hostile == "digits":
            connection.sendall(b"* 1 FETCH (UID %d BODY[] {%s}\r\n" % (uid, b"9" * 5000))
        if self.hostile == "line":
            self._flood(connection, b"x" * 65536)
        if self.hostile == "flood":
            self._flood(connection, b"* 1 EXISTS\r\n" * 5000)
        connection.sendall(b"* 1 FETCH (UID %d BODY[] {%d}\r\n" % (uid, len(data)))
        connection.sendall(data[: len(data) // 2] if uid in self.cut else data)
        if uid in self.cut:
            return False
        connection.sendall(b")\r\n" + tag + b" OK done\r\n")
        return True

    def _flood(self, connection: socket.socket, piece: bytes) -> None:
        """Send without end, until the client has gone."""
        while True:
            connection.sendall(piece)
