"""Runs the HTTP server beside the digestion, and ends both cleanly."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import resource
import socket
from typing import Any

import click
import uvicorn

from chyme.accounts.first_owner import FirstOwner
from chyme.application.server_vaults import ServerVaults
from chyme.application.settings import Settings
from chyme.doors.http.access_middleware import SETUP_PATH
from chyme.doors.http.connections import ACCEPTS_AT_ONCE, ConnectionLimits, Connections, limit_connections
from chyme.doors.http.protocol import NOT_HTTP, bounded_protocol
from chyme.doors.http.server_api import addresses_of, create_server_app
from chyme.doors.local_socket.server import answer_commands
from chyme.errors import UsageError

BACKLOG = 2048
TICKS_PER_CHECK = 10  # uvicorn ticks ten times a second


def run(
    server_vaults: ServerVaults,
    host: str,
    port: int,
    as_json: bool = False,
    beside: contextlib.AbstractContextManager[object] | None = None,
) -> None:
    """Serve until interrupted. The scan runs in the background, so that the first response does not wait for it.

    `beside` is entered once the server listens, and left when it ends.
    """
    addresses = addresses_of(server_vaults.settings, host)
    needs_owner = addresses.beyond_loopback and not server_vaults.authenticator.login_required
    first_owner = FirstOwner(server_vaults.authenticator) if needs_owner else None
    server_app = create_server_app(server_vaults, host, first_owner)
    connections = Connections(_connection_limits(server_vaults.settings, len(server_vaults.vaults)), addresses.proxies)
    listener = open_listener(host, port)
    with contextlib.ExitStack() as stack:
        stack.callback(listener.close)
        address = f"http://{_url_host(host)}:{listener.getsockname()[1]}"
        server_vaults.start(lambda sentence: click.echo(f"chyme: {sentence}", err=True))
        for app in server_vaults.vaults.values():
            stack.enter_context(answer_commands(app))
        _print_address(server_vaults, address, as_json)
        if first_owner is not None:
            _print_setup(first_owner, address)
        if beside is not None:
            stack.enter_context(beside)
        config = uvicorn.Config(
            server_app,
            http=bounded_protocol(connections),
            ws="none",
            loop="asyncio",
            backlog=ACCEPTS_AT_ONCE,  # how many asyncio accepts at once; startup() sets the real backlog
            log_config=None,  # its lines get our format
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=3,
            proxy_headers=False,  # AccessMiddleware decides which proxies to trust
            server_header=False,
        )
        logging.getLogger("uvicorn.error").addFilter(_worth_logging)
        _Server(config, server_vaults, connections).run(sockets=[listener])


class _Server(uvicorn.Server):
    """Checks its connections every second. Ends event streams before it shuts down, because it would wait for them."""

    def __init__(self, config: uvicorn.Config, server_vaults: ServerVaults, connections: Connections) -> None:
        super().__init__(config)
        self._server_vaults = server_vaults
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
        for app in self._server_vaults.vaults.values():
            app.broadcast.stop()
        await super().shutdown(sockets)

    def _note_failure(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Count connections that cannot be accepted; asyncio would log a traceback for each, thousands in a second."""
        if str(context.get("message", "")).startswith("socket.accept()"):
            self._connections.free_descriptors()
        else:
            loop.default_exception_handler(context)


def _connection_limits(settings: Settings, vaults: int) -> ConnectionLimits:
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
    except (ValueError, OSError):  # macOS reports "unlimited" but allows less
        return soft
    return hard if hard != resource.RLIM_INFINITY else 1 << 20


def _worth_logging(record: logging.LogRecord) -> bool:
    """Whether a record of uvicorn is logged.

    Uploads cancelled by the shutdown are no error; requests that are not HTTP are counted and logged once a minute.
    """
    cancelled = record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError)
    return not cancelled and record.msg != NOT_HTTP


def open_listener(host: str, port: int) -> socket.socket:
    """Open the listening socket; clients can connect from now on."""
    plain = host.strip("[]")
    family = socket.AF_INET6 if ":" in plain else socket.AF_INET
    # without IPPROTO_TCP asyncio leaves Nagle's delay on
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((plain, port))
        listener.listen(BACKLOG)  # clients may connect as soon as the address is printed
    except OSError as error:
        listener.close()
        raise UsageError(
            f"port {port} on {host} cannot be used ({error.strerror}); choose another with --port"
        ) from error
    return listener


def _url_host(host: str) -> str:
    return f"[{host.strip('[]')}]" if ":" in host else host


def _print_setup(first_owner: FirstOwner, address: str) -> None:
    """Show the code on the terminal, and nowhere else: it is in no log and no address."""
    click.echo(f"there is no account yet: open {address}{SETUP_PATH} and make the owner's with this code:", err=True)
    click.echo(f"    {first_owner.code}", err=True)
    click.echo("it works once; until then nothing else is served", err=True)
    if any(wildcard in address for wildcard in ("//0.0.0.0:", "//[::]:")):
        click.echo(
            "from another machine, open it by an address of this one, or by a name from the setting hosts", err=True
        )


def _print_address(server_vaults: ServerVaults, address: str, as_json: bool) -> None:
    roots = [str(app.vault.root) for app in server_vaults.vaults.values()]
    if as_json:
        vaults = [
            {"name": name, "path": root, "address": f"{address}/v/{name}/"}
            for name, root in zip(server_vaults.vaults, roots, strict=True)
        ]
        click.echo(json.dumps({"address": address, "vault": roots[0], "vaults": vaults}))
    else:
        click.echo(f"chyme serves {', '.join(roots)} at {address}  (Ctrl-C ends it)")
