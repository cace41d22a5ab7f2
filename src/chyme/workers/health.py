"""An address that tells whether a worker is well, for service managers."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class HealthServer:
    """Answers `GET /health` on loopback: 200 while connected, otherwise 503, with the worker's state as JSON."""

    def __init__(self, port: int, describe: Callable[[], dict[str, object]]) -> None:
        class Handler(BaseHTTPRequestHandler):
            timeout = 5  # seconds for a request that does not come to its end

            def do_GET(self) -> None:
                if self.path != "/health":
                    self.send_error(404)
                    return
                state = describe()
                body = json.dumps(state).encode()
                self.send_response(200 if state.get("connected") else 503)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, name="chyme-health", daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
