"""chyme serve: watch the vault, digest what comes, answer HTTP."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import click

from chyme.app import open_app
from chyme.cli.vaults import chosen, printable, vault_options
from chyme.errors import UsageError


@click.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path, file_okay=False), metavar="[VAULT]")
@click.option("--host", help="The address to listen on; loopback only.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port to listen on.")
@vault_options
def serve(folder: Path | None, host: str | None, port: int | None, vault: Path | None, as_json: bool) -> None:
    """Watch the vault, digest what is new or changed, and answer HTTP."""
    from chyme.web.server import run  # takes as long to import as all the rest, and only serve needs it

    with open_app(chosen(folder or vault), create=True) as app:
        address = host or app.settings.host
        if not _loopback(address):
            raise UsageError(
                f"{address}: chyme has no passwords yet, so it listens on loopback only; use 127.0.0.1, "
                "and an SSH tunnel or a proxy with a password to reach it from elsewhere"
            )
        for problem in app.problems:
            click.echo(printable(problem), err=True)
        run(app, address, app.settings.port if port is None else port, as_json)


def _loopback(address: str) -> bool:
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False
