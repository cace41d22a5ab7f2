"""A provider of models on loopback: scripted answers, recorded requests."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

OBJECTS = {
    "objects": [
        {
            "name": "dog",
            "description": "A brown dog with a collar that says REX.",
            "category": "Animal",
            "tags": ["Dog", "brown", "dog"],
            "box": [0.1, 0.2, 0.5, 0.9],
        }
    ]
}
DRIPS, DRIP_SECONDS = 150, 0.2
CAPTION = {"caption": "A dog on a pier.", "visible_text": "Harbour Street"}


@dataclass(frozen=True)
class Reply:
    """An answer of the provider. `hang`, `cut` and `drip` are faults below HTTP."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    hang: bool = False  # never answers; ends when the client hangs up
    cut: bool = False  # closes the connection in the middle of the answer
    drip: bool = False  # sends a byte now and then, for ever
    late: float = 0.0  # seconds it takes


@dataclass
class Asked:
    """A request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def pictures(self) -> list[bytes]:
        parts = [part for message in self.body["messages"] for part in _parts(message["content"])]
        urls = [part["image_url"]["url"] for part in parts if part.get("type") == "image_url"]
        assert all(url.startswith("data:image/jpeg;base64,") for url in urls)
        return [base64.b64decode(url.partition(",")[2]) for url in urls]

    @property
    def words(self) -> str:
        parts = [part for message in self.body["messages"] for part in _parts(message["content"])]
        return "\n".join(part["text"] for part in parts if part.get("type") == "text")


def _parts(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or []


@dataclass
class Provider:
    """What a test sees of the server."""

    url: str
    script: list[Reply | Callable[[Asked], Reply]]
    asked: list[Asked] = field(default_factory=list)
    hung_up: threading.Event = field(default_factory=threading.Event)  # a client left while it was kept waiting


def says(answer: object, finish: str = "stop", refusal: str | None = None) -> Reply:
    """A well-formed completion; an `answer` that is a str is sent as it is."""
    content = answer if isinstance(answer, str) or answer is None else json.dumps(answer)
    message = {"role": "assistant", "content": content, "refusal": refusal}
    body = {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "seer",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
    return Reply(body=json.dumps(body).encode(), headers=(("Content-Type", "application/json"),))


def fails(status: int, *, code: str | None = None, message: str = "no", **headers: str) -> Reply:
    """An error in OpenAI's format."""
    body = json.dumps({"error": {"message": message, "type": code, "code": code}}).encode()
    other_headers = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Reply(status, body, (("Content-Type", "application/json"), *other_headers))


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Tests provoke clients that hang up in the middle."""


@contextmanager
def serving(script: Sequence[Reply | Callable[[Asked], Reply]]) -> Iterator[Provider]:
    """A provider that gives these answers in turn, the last one for ever; functions answer depending on the request."""
    provider = Provider("", list(script))
    server = _Server(("127.0.0.1", 0), _handler(provider))
    provider.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(provider: Provider) -> Callable[..., BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            scripted = provider.script[min(len(provider.asked), len(provider.script) - 1)]
            provider.asked.append(Asked(self.path, dict(self.headers.items()), json.loads(data)))
            reply = scripted if isinstance(scripted, Reply) else scripted(provider.asked[-1])
            time.sleep(reply.late)
            if reply.hang:
                self.connection.settimeout(30)
                if self.connection.recv(1) == b"":
                    provider.hung_up.set()
                self.close_connection = True
                return
            self.send_response(reply.status)
            for name, value in reply.headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(DRIPS if reply.drip else len(reply.body)))
            self.end_headers()
            for _ in range(DRIPS if reply.drip else 0):
                self.wfile.write(b" ")
                time.sleep(DRIP_SECONDS)
            self.wfile.write(reply.body[: len(reply.body) // 2] if reply.cut else reply.body)
            self.close_connection = reply.cut

        def do_GET(self) -> None:
            provider.asked.append(Asked(self.path, dict(self.headers.items()), {}))
            self.send_error(404)

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    return Handler
