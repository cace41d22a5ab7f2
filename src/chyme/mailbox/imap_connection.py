"""An IMAP connection that a slow or hostile server can neither hold for ever nor make fill the memory."""

from __future__ import annotations

import imaplib
import socket
import ssl
import time
from collections.abc import Callable

SILENCE_SECONDS = 30.0  # without a byte, after which the server counts as gone
COMMAND_SECONDS = 60.0
SLOWEST_BYTES = 10_000  # a second, of a message
COMMAND_BYTES = 16 * 1024 * 1024  # of all responses to one command, besides a message: fits a million uids
PIECE = 64 * 1024


class ImapConnection(imaplib.IMAP4):
    """Python's IMAP client with its own reading: every command has a number of bytes and seconds that it may take."""

    def __init__(self, host: str, port: int, connect: Callable[[], socket.socket]) -> None:
        self._open_socket = connect
        self._buffer = bytearray()
        self._bytes_left = 0
        self._deadline = 0.0
        self.allow()
        super().__init__(host, port)

    def allow(self, message_bytes: int = 0) -> None:
        """Set the limits for the next command, which fetches a message of this size."""
        self._bytes_left = COMMAND_BYTES + message_bytes
        self._deadline = time.monotonic() + COMMAND_SECONDS + message_bytes / SLOWEST_BYTES
        if hasattr(self, "untagged_responses"):
            self.untagged_responses = {}  # what came unasked is not kept

    def start_tls(self, context: ssl.SSLContext) -> None:
        """Encrypt the connection. What came before is not believed."""
        status, _ = self._simple_command("STARTTLS")
        if status != "OK":
            raise self.error("the server does not encrypt (STARTTLS)")
        if self._buffer:
            raise self.abort("the server sent something between STARTTLS and the encryption")
        self.sock = context.wrap_socket(self.sock, server_hostname=self.host)
        self.file = self.sock.makefile("rb")
        self._get_capabilities()

    def refresh_capabilities(self) -> None:
        """Ask what the server can do: after signing in it may be more."""
        self.allow()
        self._get_capabilities()

    def _create_socket(self, timeout: float | None = None) -> socket.socket:
        return self._open_socket()

    def read(self, size: int) -> bytes:
        """Read the bytes of a literal, whose size the server has named."""
        if size > self._bytes_left + len(self._buffer):
            raise self.abort(f"the server wanted to send {size:,} bytes, which is too much")
        while len(self._buffer) < size:
            self._receive()
        return self._take(size)

    def readline(self) -> bytes:
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            self._receive()
        return self._take(end + 1)

    def _take(self, size: int) -> bytes:
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def _receive(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise self.abort("the server took too long")
        self.sock.settimeout(min(left, SILENCE_SECONDS))
        try:
            data = self.sock.recv(PIECE)
        except TimeoutError:
            raise self.abort("the server does not answer") from None
        if not data:
            raise self.abort("the connection was cut")
        self._bytes_left -= len(data)
        if self._bytes_left < 0:
            raise self.abort("the server sent too much")
        self._buffer += data
