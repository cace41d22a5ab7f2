"""Answer one assistant over standard input and output, until it closes the connection."""

from __future__ import annotations

import anyio

from chyme.application.app import App
from chyme.doors.mcp.server import create_server


def run(app: App) -> None:
    """Return when standard input ends. Nothing but the protocol is written to standard output."""
    app.search_index.preload()  # during the handshake
    anyio.run(create_server(app).run_stdio_async)
