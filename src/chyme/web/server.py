"""Run the HTTP server beside the digestion, and end both cleanly."""

from __future__ import annotations

import json
import socket
import threading

import click
import uvicorn

from chyme.app import App
from chyme.errors import ChymeError, UsageError
from chyme.web.house import create_house


def run(app: App, host: str, port: int, as_json: bool = False) -> None:
    """Serve until interrupted. The scan runs in the background, so the first answer does not wait for it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # else asyncio leaves Nagle's delay on
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host.strip("[]"), port))
    except OSError as error:
        listener.close()
        raise UsageError(
            f"port {port} on {host} cannot be had ({error.strerror}); choose another with --port"
        ) from error
    address = f"http://{host}:{listener.getsockname()[1]}"
    app.start(follow=True)
    scan = threading.Thread(target=_scan, args=(app,), name="chyme-first-scan", daemon=True)
    scan.start()
    if as_json:
        click.echo(json.dumps({"address": address, "vault": str(app.vault.root)}))
    else:
        click.echo(f"chyme serves {app.vault.root} at {address}  (Ctrl-C ends it)")
    config = uvicorn.Config(create_house(app), log_level="warning", access_log=False, timeout_graceful_shutdown=3)
    try:
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        listener.close()


def _scan(app: App) -> None:
    try:
        app.scan()
    except ChymeError as error:
        click.echo(f"chyme: the vault could not be scanned: {error}", err=True)
        return
    app.work.supervisor.wake()
