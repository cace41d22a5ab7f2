"""chyme serve: watch vaults, digest new files, answer HTTP."""

from __future__ import annotations

from pathlib import Path

import click

from chyme.application.server_vaults import open_server_vaults
from chyme.application.weights_fetching import fetch_in_background
from chyme.doors.cli import log_formats
from chyme.doors.cli.vault_options import find_vault, printable, vault_options
from chyme.doors.cli.weights_progress import WeightsBar


@click.command()
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path, file_okay=False), metavar="[VAULT…]")
@click.option("--host", help="The address to listen on; beyond loopback, the owner's account is made first.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port to listen on.")
@vault_options
@click.pass_context
def serve(
    context: click.Context,
    folders: tuple[Path, ...],
    host: str | None,
    port: int | None,
    vault: Path | None,
    as_json: bool,
) -> None:
    """Watch one vault or several, digest what is new or changed, and answer HTTP."""
    roots = folders or (find_vault(vault),)
    if folders and vault is not None:
        roots = (vault, *folders)
    with open_server_vaults(roots) as server_vaults:
        for app in server_vaults.vaults.values():
            for problem in app.problems:
                click.echo(printable(problem), err=True)
        server_vaults.preload()
        from chyme.doors.http.server import run  # imported here: meanwhile the model of questions is loaded

        settings = server_vaults.settings
        log_formats.set_up(settings.log_format, bool(context.obj))
        with WeightsBar() as bar:
            all_settings = [app.settings for app in server_vaults.vaults.values()]
            weights = fetch_in_background(all_settings, _notify, bar, server_vaults.notice_engines)
            run(server_vaults, host or settings.host, settings.port if port is None else port, as_json, weights)


def _notify(sentence: str) -> None:
    click.echo(f"chyme: {printable(sentence)}", err=True)
