"""Run the HTTP server beside the digestion, and end both cleanly."""

from __future__ import annotations

import asyncio
import json
import logging
import resource
import socket
from typing import Any

import click
import uvicorn

from chyme.application.server_vaults import ServerVaults
from chyme.application.settings import Settings
from chyme.doors.http.connection_limits import ConnectionLimits, limit_connections
from chyme.doors.http.connections import ACCEPTS_AT_ONCE, Connections
from chyme.doors.http.protocol import NOT_HTTP, bounded_protocol
from chyme.doors.http.server_api import addresses_of, create_server_app
from chyme.errors import UsageError

BACKLOG = 2048
TICKS_PER_CHECK = 10  # uvicorn ticks ten times a second


def run(house: ServerVaults, host: str, port: int, as_json: bool = False) -> None:
    """Serve until interrupted. The scan runs in the background, so the first answer does not wait for it."""
    addresses = addresses_of(house.settings, host)
    if addresses.beyond_loopback and not house.doors.login_required:
        raise UsageError(
            f"without accounts or tokens chyme is on loopback, for this machine alone, and {host} with these settings "
            "(hosts, trusted_proxies) is not; 'chyme users add NAME' makes an account, 'chyme tokens add NAME' a token"
        )
    answers = create_server_app(house, host)
    connections = Connections(_limits(house.settings, len(house.vaults)), addresses.proxies)
    listener = open_listener(host, port)
    try:
        address = f"http://{_written(host)}:{listener.getsockname()[1]}"
        house.start(lambda sentence: click.echo(f"chyme: {sentence}", err=True))
        _tell(house, address, as_json)
        config = uvicorn.Config(
            answers,
            http=bounded_protocol(connections),
            ws="none",
            loop="asyncio",
            backlog=ACCEPTS_AT_ONCE,  # asyncio accepts as many at once; the listener's own backlog is set again later
            log_config=None,  # its lines look like all others
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=3,
            proxy_headers=False,  # the door decides whom to believe
            server_header=False,
        )
        logging.getLogger("uvicorn.error").addFilter(_worth_logging)
        _Server(config, house, connections).run(sockets=[listener])
    finally:
        listener.close()


class _Server(uvicorn.Server):
    """Checks its connections every second. Ends streams of events first: nobody else would, and it waits for them."""

    def __init__(self, config: uvicorn.Config, house: ServerVaults, connections: Connections) -> None:
        super().__init__(config)
        self._house = house
        self._connections = connections

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(self._note_failure)
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(BACKLOG)

    async def on_tick(self, counter: int) -> bool:
        if counter % TICKS_PER_CHECK == 0:
            self._connections.check()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for app in self._house.vaults.values():
            app.broadcast.stop()
        await super().shutdown(sockets)

    def _note_failure(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """asyncio logs a traceback for each connection it cannot accept, thousands in a second; this counts them."""
        if str(context.get("message", "")).startswith("socket.accept()"):
            self._connections.free_descriptors()
        else:
            loop.default_exception_handler(context)


def _limits(settings: Settings, vaults: int) -> ConnectionLimits:
    return limit_connections(
        _raise_descriptor_limit(),
        vaults,
        settings.connections,
        settings.connections_per_address,
        settings.head_seconds,
        settings.stall_seconds,
    )


def _raise_descriptor_limit() -> int:
    """Allow this process as many open files as the system permits. Returns how many. Children set their own limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):  # macOS says "unlimited" and means less
        return soft
    return hard if hard != resource.RLIM_INFINITY else 1 << 20


def _worth_logging(record: logging.LogRecord) -> bool:
    """Uploads that end with the server are no error, and what is not HTTP is counted and logged once a minute."""
    cancelled = record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError)
    return not cancelled and record.msg != NOT_HTTP


def open_listener(host: str, port: int) -> socket.socket:
    """Where visitors knock; from now on they are heard."""
    plain = host.strip("[]")
    family = socket.AF_INET6 if ":" in plain else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # else asyncio leaves Nagle's delay on
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((plain, port))
        listener.listen(BACKLOG)  # whoever reads the address may come at once
    except OSError as error:
        listener.close()
        raise UsageError(
            f"port {port} on {host} cannot be had ({error.strerror}); choose another with --port"
        ) from error
    return listener


def _written(host: str) -> str:
    return f"[{host.strip('[]')}]" if ":" in host else host


def _tell(house: ServerVaults, address: str, as_json: bool) -> None:
    roots = [str(app.vault.root) for app in house.vaults.values()]
    if as_json:
        vaults = [
            {"name": name, "path": root, "address": f"{address}/v/{name}/"}
            for name, root in zip(house.vaults, roots, strict=True)
        ]
        click.echo(json.dumps({"address": address, "vault": roots[0], "vaults": vaults}))
    else:
        click.echo(f"chyme serves {', '.join(roots)} at {address}  (Ctrl-C ends it)")
