"""chyme weights: fetch what models need."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
from rich.console import Console

from chyme.application.settings import read_settings
from chyme.core.files.vault_folder import STATE
from chyme.doors.cli.vault_options import find_vault, print_json, printable, vault_options
from chyme.errors import EngineUnavailable
from chyme.models.weights.catalog import CATALOG, DEFAULT_CAPABILITIES
from chyme.models.weights.download import fetch
from chyme.models.weights.folder import folder_of


@click.command()
@click.argument("capabilities", nargs=-1, metavar="[CAPABILITY]…", type=click.Choice(sorted(CATALOG)))
@vault_options
@click.pass_context
def weights(ctx: click.Context, capabilities: tuple[str, ...], vault: Path | None, as_json: bool) -> None:
    """Fetch the weights of models that are missing or damaged: of the given capabilities, or of all that are usual."""
    weights_dir = read_settings(find_vault(vault) / STATE, os.environ).weights_dir
    told: list[dict[str, object]] = []
    console = Console(stderr=True, quiet=not sys.stderr.isatty())
    for capability in dict.fromkeys(capabilities or DEFAULT_CAPABILITIES):
        known = CATALOG[capability]
        state, how = "there", ""
        with console.status(f"looking after the weights for {capability} …"):
            try:
                state = "fetched" if fetch(known, weights_dir) else "there"
            except EngineUnavailable as error:
                state, how = "missing", str(error)
        told.append(
            {
                "capability": capability,
                "engine": known.engine,
                "state": state,
                "folder": str(folder_of(known, weights_dir)),
                "licence": known.licence,
                "origin": known.origin,
                "how": how,
            }
        )
    if as_json:
        print_json({"weights": told})
    else:
        for one in told:
            click.echo(f"{one['state']:<8}  {one['capability']:<14}{one['engine']} ({one['licence']})  {one['folder']}")
            if one["how"]:
                click.echo(f"chyme: {printable(str(one['how']))}", err=True)
    ctx.exit(1 if any(one["state"] == "missing" for one in told) else 0)
