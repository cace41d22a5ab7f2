"""A provider of models on loopback that speaks OpenAI's chat completions: scripted answers, recorded requests.

    with ModelServer([fails(429, retry_after="7"), says({"title": "Lease"})]) as server:
        ...server.url...
    assert server.count == 2

The answers are given in turn, the last one for ever; or a function of the request returns them.
"""

from __future__ import annotations

import base64
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

JSON = "application/json"
DRIPS, DRIP_SECONDS = 150, 0.2
PATIENCE = 30.0  # seconds a client may keep a connection open without an answer
_AT_ONCE = socket.SO_LINGER, struct.pack("ii", 1, 0)  # closing resets the connection


@dataclass(frozen=True)
class Answer:
    """An answer of the provider. The flags are faults below HTTP."""

    status: int = 200
    body: bytes = b""
    media_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()
    after: float = 0.0  # seconds it takes
    hang: bool = False  # never answers; ends when the client hangs up
    drip: bool = False  # a byte now and then, for ever
    cut: bool = False  # ends the connection in the middle of the answer
    reset: bool = False  # resets the connection instead of answering
    pieces: tuple[bytes, ...] = ()  # sent one by one instead of the body; with `cut`, the end is missing
    pause: float = 0.0  # seconds before each piece


@dataclass(eq=False)
class Asked:
    """A request as it arrived. `ended` is None while it is not answered."""

    number: int  # counted from 0
    path: str
    headers: dict[str, str]  # names in lower case
    body: dict[str, Any]
    at: float  # time.monotonic
    ended: float | None = None
    hung_up: threading.Event = field(default_factory=threading.Event)  # the client left while it was kept waiting

    @property
    def words(self) -> str:
        """All text parts of the request."""
        return "\n".join(part["text"] for part in self._parts() if part.get("type") == "text")

    @property
    def pictures(self) -> list[bytes]:
        """The JPEG files of the request."""
        urls = [part["image_url"]["url"] for part in self._parts() if part.get("type") == "image_url"]
        assert all(url.startswith("data:image/jpeg;base64,") for url in urls)
        return [base64.b64decode(url.partition(",")[2]) for url in urls]

    @property
    def schema(self) -> dict[str, Any] | None:
        """The JSON schema that the answer must fit."""
        requested = self.body.get("response_format", {}).get("json_schema", {}).get("schema")
        return requested if isinstance(requested, dict) else None

    def _parts(self) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = []
        for message in self.body.get("messages", ()):
            content = message.get("content")
            parts += [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        return parts


Script = Sequence[Answer | Callable[[Asked], Answer]] | Callable[[Asked], Answer]


def says(answer: object, finish: str = "stop", refusal: str | None = None, tokens: tuple[int, int] = (7, 3)) -> Answer:
    """A well-formed completion; an `answer` that is a str is its content as it stands."""
    content = answer if isinstance(answer, str) or answer is None else json.dumps(answer)
    message = {"role": "assistant", "content": content, "refusal": refusal}
    return Answer(
        body=json.dumps(
            {
                "id": "c1",
                "object": "chat.completion",
                "created": 1,
                "model": "scripted",
                "choices": [{"index": 0, "message": message, "finish_reason": finish}],
                "usage": {
                    "prompt_tokens": tokens[0],
                    "completion_tokens": tokens[1],
                    "total_tokens": sum(tokens),
                },
            }
        ).encode()
    )


def streams(text: str, pause: float = 0.0, cut: bool = False, tokens: tuple[int, int] = (7, 3)) -> Answer:
    """A streamed completion, word by word; cut, it ends in the middle of the text."""
    words = [word + " " for word in text.split(" ")]
    words[-1] = words[-1][:-1]
    choices: list[list[dict[str, Any]]] = [[{"index": 0, "delta": {"role": "assistant", "content": ""}}]]
    choices += [[{"index": 0, "delta": {"content": word}}] for word in words[: len(words) // 2 if cut else None]]
    counts = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    events: list[dict[str, Any]] = [{"choices": choice} for choice in choices]
    if not cut:
        events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        events.append({"choices": [], "usage": counts})
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    pieces = [b"data: " + json.dumps(head | event).encode() + b"\n\n" for event in events]
    pieces += [] if cut else [b"data: [DONE]\n\n"]
    return Answer(media_type="text/event-stream", pieces=tuple(pieces), pause=pause, cut=cut)


def raw(body: bytes, media_type: str = JSON, status: int = 200) -> Answer:
    """These bytes instead of a completion."""
    return Answer(status, body, media_type)


def fails(status: int, code: str | None = None, message: str = "no", **headers: str) -> Answer:
    """An error as OpenAI words it; `retry_after="7"` becomes the header Retry-After."""
    body = json.dumps({"error": {"message": message, "type": code, "code": code}}).encode()
    return Answer(status, body, headers=tuple((name.replace("_", "-"), value) for name, value in headers.items()))


def blocks() -> Answer:
    """The provider's content filter ends the answer."""
    return says("", finish="content_filter")


def hangs() -> Answer:
    """It accepts the request and never answers."""
    return Answer(hang=True)


def drips() -> Answer:
    """It sends so little at a time that it never finishes."""
    return Answer(drip=True)


def cuts(answer: object) -> Answer:
    """It closes the connection in the middle of this answer."""
    return replace(says(answer), cut=True)


def resets() -> Answer:
    """It resets the connection when it has received the request."""
    return Answer(reset=True)


def late(seconds: float, answer: Answer) -> Answer:
    """This answer, after a while."""
    return replace(answer, after=seconds)


class ModelServer:
    """Serves inside its `with` block. All properties can be read from any thread, also while it serves."""

    def __init__(self, script: Script, port: int = 0) -> None:
        """`port` is the address of an earlier server to replace; 0 for any."""
        self._lock = threading.Condition()
        self._asked: list[Asked] = []
        self._script, self._since = script, 0
        self._port = port
        self.url = ""

    @property
    def requests(self) -> list[Asked]:
        """The requests so far, in the order of arrival."""
        with self._lock:
            return list(self._asked)

    @property
    def count(self) -> int:
        with self._lock:
            return len(self._asked)

    @property
    def port(self) -> int:
        return self._port

    def script(self, script: Script) -> None:
        """Answer by another script from now on, from its beginning."""
        with self._lock:
            self._script, self._since = script, len(self._asked)

    def wait_for(self, count: int, seconds: float = 300.0) -> bool:
        """Whether so many requests arrived in time."""
        with self._lock:
            return self._lock.wait_for(lambda: len(self._asked) >= count, seconds)

    def __enter__(self) -> ModelServer:
        self._server = _Server(("127.0.0.1", self._port), _handler(self))
        self._port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self._port}/v1"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, name="model server", daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def arrived(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> tuple[Asked, Answer]:
        """Record a request and find its answer."""
        with self._lock:
            request = Asked(len(self._asked), path, headers, body, time.monotonic())
            self._asked.append(request)
            script, turn = self._script, request.number - self._since
            self._lock.notify_all()
        scripted = script if callable(script) else script[min(turn, len(script) - 1)]
        return request, scripted(request) if callable(scripted) else scripted


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """Tests provoke clients that hang up in the middle."""


def _handler(server: ModelServer) -> Callable[..., BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request, answer = server.arrived(self.path, headers, json.loads(data))
            try:
                self._answer(request, answer)
            finally:
                request.ended = time.monotonic()

        def _answer(self, request: Asked, answer: Answer) -> None:
            patience = PATIENCE if answer.hang else answer.after
            if patience and self._left(patience):
                request.hung_up.set()
                self.close_connection = True
                return
            if answer.reset or answer.hang:
                self.connection.setsockopt(socket.SOL_SOCKET, *_AT_ONCE)
                self.connection.close()
                self.close_connection = True
                return
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.media_type)
            for name, value in answer.headers:
                self.send_header(name, value)
            if answer.pieces:
                self._stream(request, answer)
                return
            self.send_header("Content-Length", str(DRIPS if answer.drip else len(answer.body)))
            self.end_headers()
            self.close_connection = answer.cut or answer.drip
            for _ in range(DRIPS if answer.drip else 0):
                self.wfile.write(b" ")
                if self._left(DRIP_SECONDS):
                    request.hung_up.set()
                    return
            self.wfile.write(answer.body[: len(answer.body) // 2] if answer.cut else answer.body)

        def _stream(self, request: Asked, answer: Answer) -> None:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.close_connection = answer.cut
            for piece in answer.pieces:
                if answer.pause and self._left(answer.pause):
                    request.hung_up.set()
                    self.close_connection = True
                    return
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
            if not answer.cut:
                self.wfile.write(b"0\r\n\r\n")

        def _left(self, seconds: float) -> bool:
            """Whether the client hangs up within this time."""
            self.connection.settimeout(seconds)
            try:
                return not self.connection.recv(1)
            except TimeoutError:
                return False
            except OSError:
                return True
            finally:
                self.connection.settimeout(None)

        def do_GET(self) -> None:
            server.arrived(self.path, {name.lower(): value for name, value in self.headers.items()}, {})
            self.send_error(404)

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    return Handler
