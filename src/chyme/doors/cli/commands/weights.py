"""chyme weights: download the weights of models."""

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
from chyme.text import language_model

LANGUAGES = "languages"


@click.command()
@click.argument("capabilities", nargs=-1, metavar="[CAPABILITY]…", type=click.Choice(sorted([*CATALOG, LANGUAGES])))
@vault_options
@click.pass_context
def weights(ctx: click.Context, capabilities: tuple[str, ...], vault: Path | None, as_json: bool) -> None:
    """Fetch the weights of models that are missing or damaged, of the given capabilities or of all that are usual, and
    unpack the one that comes packed."""
    weights_dir = read_settings(find_vault(vault) / STATE, os.environ).weights_dir
    rows: list[dict[str, object]] = []
    console = Console(stderr=True, quiet=not sys.stderr.isatty())
    for capability in dict.fromkeys(capabilities or (*DEFAULT_CAPABILITIES, LANGUAGES)):
        if capability == LANGUAGES:
            rows.append(_unpack_languages())
            continue
        model = CATALOG[capability]
        state, how = "there", ""
        with console.status(f"looking after the weights for {capability} …"):
            try:
                state = "fetched" if fetch(model, weights_dir) else "there"
            except EngineUnavailable as error:
                state, how = "missing", str(error)
        rows.append(
            {
                "capability": capability,
                "engine": model.engine,
                "state": state,
                "folder": str(folder_of(model, weights_dir)),
                "licence": model.licence,
                "origin": model.origin,
                "how": how,
            }
        )
    if as_json:
        print_json({"weights": rows})
    else:
        for row in rows:
            click.echo(f"{row['state']:<8}  {row['capability']:<14}{row['engine']} ({row['licence']})  {row['folder']}")
            if row["how"]:
                click.echo(f"chyme: {printable(str(row['how']))}", err=True)
    ctx.exit(1 if any(row["state"] == "missing" for row in rows) else 0)


def _unpack_languages() -> dict[str, object]:
    """Unpack the model that tells languages apart: it comes with its package, and works packed as well."""
    folder, how = language_model.unpacked_folder(), ""
    try:
        state = "unpacked" if language_model.unpack() else "there"
    except OSError as error:
        state = "packed"
        how = (
            f"{folder} cannot be written ({error.strerror or error}), so each process unpacks the languages' model anew"
        )
    return {
        "capability": LANGUAGES,
        "engine": language_model.PACKAGE,
        "state": state,
        "folder": str(folder),
        "licence": "BSD-3-Clause",
        "origin": f"the package {language_model.PACKAGE}, which is installed",
        "how": how,
    }
