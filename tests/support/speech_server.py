"""A service that transcribes speech, on loopback: scripted answers, recorded requests."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

JSON = (("Content-Type", "application/json"),)
DRIPS, DRIP_SECONDS = 150, 0.2
AT_ONCE = socket.SO_LINGER, struct.pack("ii", 1, 0)  # closing resets the connection

OPENAI = {
    "task": "transcribe",
    "language": "english",
    "duration": 6.0,
    "text": "The ferry leaves at seven. Bring your tickets.",
    "segments": [
        {"id": 0, "seek": 0, "start": 0.2, "end": 2.4, "text": " The ferry leaves at seven.", "avg_logprob": -0.1},
        {"id": 1, "seek": 0, "start": 3.0, "end": 4.6, "text": " Bring your tickets.", "avg_logprob": -0.2},
    ],
    "words": [
        {"word": "The", "start": 0.2, "end": 0.5},
        {"word": "ferry", "start": 0.5, "end": 1.0},
        {"word": "leaves", "start": 1.0, "end": 1.5},
        {"word": "at", "start": 1.5, "end": 1.7},
        {"word": "seven", "start": 1.7, "end": 2.4},
        {"word": "Bring", "start": 3.0, "end": 3.4},
        {"word": "your", "start": 3.4, "end": 3.8},
        {"word": "tickets", "start": 3.8, "end": 4.6},
    ],
}
WHISPER_CPP = {
    "task": "transcribe",
    "language": "en",
    "duration": "6.0",
    "text": " The ferry leaves at seven.\n Bring your tickets.\n",
    "segments": [
        {
            "id": 0,
            "text": " The ferry leaves at seven.",
            "start": 0.2,
            "end": 2.4,
            "tokens": [440, 25950],
            "words": [
                {"word": "[_BEG_]", "start": 0.0, "end": 0.0, "t_dtw": -1, "probability": 0.9},
                {"word": " The", "start": 0.2, "end": 0.5, "t_dtw": -1, "probability": 0.9},
                {"word": " fer", "start": 0.5, "end": 0.8, "t_dtw": -1, "probability": 0.8},
                {"word": "ry", "start": 0.8, "end": 1.0, "t_dtw": -1, "probability": 0.7},
                {"word": " leaves", "start": 1.0, "end": 1.5, "t_dtw": -1, "probability": 0.9},
                {"word": " at", "start": 1.5, "end": 1.7, "t_dtw": -1, "probability": 0.9},
                {"word": " seven", "start": 1.7, "end": 2.3, "t_dtw": -1, "probability": 0.9},
                {"word": ".", "start": 2.3, "end": 2.4, "t_dtw": -1, "probability": 0.6},
            ],
        },
        {"id": 1, "text": " Bring your tickets.", "start": 3.0, "end": 4.6, "words": []},
    ],
}
TEXT = {"text": "The ferry leaves at seven. Bring your tickets."}


@dataclass(frozen=True)
class Reply:
    """An answer of the service. The flags are faults below HTTP."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = JSON
    hang: bool = False  # never answers; ends when the client hangs up
    reset: bool = False  # resets the connection in the middle of the answer
    drip: bool = False  # sends a byte now and then, for ever
    endless: bool = False  # sends as fast as it can, for ever
    late: float = 0.0  # seconds it takes
    early: bool = False  # answers at once and reads no further, as proxies do


@dataclass
class Sent:
    """A request as it arrived."""

    path: str
    headers: dict[str, str]
    fields: list[tuple[str, str]] = field(default_factory=list)
    filename: str = ""
    mime: str = ""
    sound: bytes = b""

    def all_of(self, name: str) -> list[str]:
        return [value for key, value in self.fields if key == name]


@dataclass
class Service:
    """What a test sees of the server."""

    url: str
    script: list[Reply]
    sent: list[Sent] = field(default_factory=list)
    hung_up: threading.Event = field(default_factory=threading.Event)  # a client left while it was kept waiting


def says(answer: object) -> Reply:
    return Reply(body=json.dumps(answer).encode())


def fails(status: int, *, code: str | None = None, message: str = "no", **headers: str) -> Reply:
    """An error in OpenAI's format."""
    body = json.dumps({"error": {"message": message, "type": "invalid_request_error", "code": code}}).encode()
    other_headers = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Reply(status, body, (*JSON, *other_headers))


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Tests provoke clients that hang up in the middle."""


@contextmanager
def serving(script: Sequence[Reply]) -> Iterator[Service]:
    """A service that gives these answers in turn, the last one for ever."""
    service = Service("", list(script))
    server = _Server(("127.0.0.1", 0), _handler(service))
    service.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _parsed(path: str, headers: Message, data: bytes) -> Sent:
    sent = Sent(path, {name.lower(): value for name, value in headers.items()})
    message = BytesParser().parsebytes(f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode() + data)
    assert message.is_multipart()
    for part in message.get_payload():
        assert isinstance(part, Message)
        name = str(part.get_param("name", header="content-disposition"))
        payload = part.get_payload(decode=True)
        assert isinstance(payload, bytes)
        if name == "file":
            sent.filename, sent.mime, sent.sound = part.get_filename("") or "", part.get_content_type(), payload
        else:
            sent.fields.append((name, payload.decode()))
    return sent


def _handler(service: Service) -> Callable[..., BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            reply = service.script[min(len(service.sent), len(service.script) - 1)]
            if reply.early:
                service.sent.append(Sent(self.path, dict(self.headers.items())))
            else:
                data = self.rfile.read(int(self.headers["Content-Length"]))
                service.sent.append(_parsed(self.path, self.headers, data))
            if reply.hang:
                self.connection.settimeout(30)
                if self.connection.recv(1) == b"":
                    service.hung_up.set()
                self.close_connection = True
                return
            time.sleep(reply.late)
            self._answer(reply)

        def _answer(self, reply: Reply) -> None:
            self.send_response(reply.status)
            for name, value in reply.headers:
                self.send_header(name, value)
            if not reply.endless:
                self.send_header("Content-Length", str(DRIPS if reply.drip else len(reply.body)))
            self.end_headers()
            self.close_connection = reply.reset or reply.early or reply.endless
            for _ in range(DRIPS if reply.drip else 0):
                self.wfile.write(b" ")
                time.sleep(DRIP_SECONDS)
            while reply.endless:
                self.wfile.write(b" " * 65536)
            self.wfile.write(reply.body[: len(reply.body) // 2] if reply.reset else reply.body)
            if reply.early:
                self.connection.shutdown(socket.SHUT_WR)
                while self.connection.recv(65536):
                    pass
            if reply.reset:
                self.wfile.flush()
                self.connection.setsockopt(socket.SOL_SOCKET, *AT_ONCE)
                self.connection.close()

        def do_GET(self) -> None:
            service.sent.append(Sent(self.path, dict(self.headers.items())))
            self.send_error(404)

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    return Handler
