"""Answer one assistant over standard input and output, until it hangs up."""

from __future__ import annotations

import anyio

from chyme.application.app import App
from chyme.doors.mcp.server import create_server


def run(app: App) -> None:
    """Returns when standard input ends. Nothing but the protocol is written to standard output."""
    app.searching.preload()  # while the assistant introduces itself
    anyio.run(create_server(app).run_stdio_async)
