"""Run the HTTP server beside the digestion, and end both cleanly."""

from __future__ import annotations

import asyncio
import json
import logging
import socket

import click
import uvicorn

from chyme.app.house import House
from chyme.errors import UsageError
from chyme.web.house import addresses_of, create_house

BACKLOG = 2048


def run(house: House, host: str, port: int, as_json: bool = False) -> None:
    """Serve until interrupted. The scan runs in the background, so the first answer does not wait for it."""
    if addresses_of(house.settings, host).beyond_loopback and not house.doors.closed:
        raise UsageError(
            f"without accounts or tokens chyme is on loopback, for this machine alone, and {host} with these settings "
            "(hosts, trusted_proxies) is not; 'chyme users add NAME' makes an account, 'chyme tokens add NAME' a token"
        )
    answers = create_house(house, host)
    listener = listener_at(host, port)
    try:
        address = f"http://{_written(host)}:{listener.getsockname()[1]}"
        house.start(lambda sentence: click.echo(f"chyme: {sentence}", err=True))
        _tell(house, address, as_json)
        config = uvicorn.Config(
            answers,
            log_config=None,  # its lines look like all others
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=3,
            proxy_headers=False,  # the door decides whom to believe
            server_header=False,
        )
        logging.getLogger("uvicorn.error").addFilter(_was_not_cancelled)
        _Server(config, house).run(sockets=[listener])
    finally:
        listener.close()


class _Server(uvicorn.Server):
    """Ends streams of events first: nobody else would, and it waits for them."""

    def __init__(self, config: uvicorn.Config, house: House) -> None:
        super().__init__(config)
        self._house = house

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for app in self._house.vaults.values():
            app.broadcast.stop()
        await super().shutdown(sockets)


def _was_not_cancelled(record: logging.LogRecord) -> bool:
    """Whoever was still uploading when the server ended is no error of ours to tell pages about."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


def listener_at(host: str, port: int) -> socket.socket:
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


def _tell(house: House, address: str, as_json: bool) -> None:
    roots = [str(app.vault.root) for app in house.vaults.values()]
    if as_json:
        vaults = [
            {"name": name, "path": root, "address": f"{address}/v/{name}/"}
            for name, root in zip(house.vaults, roots, strict=True)
        ]
        click.echo(json.dumps({"address": address, "vault": roots[0], "vaults": vaults}))
    else:
        click.echo(f"chyme serves {', '.join(roots)} at {address}  (Ctrl-C ends it)")
