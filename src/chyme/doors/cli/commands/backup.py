"""chyme backup, restore, rescue and export: copy what chyme knows elsewhere, and bring it back."""

from __future__ import annotations

import os
import shlex
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console

from chyme.application.backup.archive import check
from chyme.application.backup.creation import back_up
from chyme.application.backup.rescue import RescueResult, rescue_vault
from chyme.application.backup.restore import RestoreResult, restore_vault
from chyme.application.settings import FILE_NAME as SETTINGS
from chyme.application.settings import read_settings
from chyme.core.files.vault_folder import STATE, Vault
from chyme.doors.cli.formatting import format_count
from chyme.doors.cli.vault_options import find_vault, open_vault, print_json, printable, vault_options
from chyme.errors import UsageError

FORMATS = ("plain", "paperless", "bookmarks")
_MAX_NAMES = 20  # at most so many names of one list
LABELS = {
    "edits": "titles, dates and tags set by hand",
    "tag_rules": "rules about tags",
    "people": "people",
    "voices": "voices of people",
    "captures": "outputs of captured web pages",
    "renames": "earlier names of files",
    "ai_calls": "calls of models",
}


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--files", "with_files", is_flag=True, help="Put the vault's own files into it as well.")
@click.option("--trash", "with_trash", is_flag=True, help="Put what lies in the trash into it as well.")
@click.option("--check", "check_only", is_flag=True, help="Create no backup, but check whether FILE is intact.")
@vault_options
@click.pass_context
def backup(
    ctx: click.Context,
    file: Path | None,
    with_files: bool,
    with_trash: bool,
    check_only: bool,
    vault: Path | None,
    as_json: bool,
) -> None:
    """Put everything chyme knows about the vault into one archive, also while chyme runs."""
    if check_only:
        _print_check(ctx, file, as_json)
        return
    with open_vault(vault) as app, Console(stderr=True).status("backing up …"):
        result = back_up(app.open_vault, app.settings, file or Path.cwd(), with_files=with_files, with_trash=with_trash)
    if as_json:
        print_json(asdict(result))
        return
    click.echo(f"wrote {printable(str(result.archive))}: {format_count(result.parts, 'part')}, {result.size:,} bytes")
    _print_names("changed while it was read, and may be half old, half new", result.changed)
    _print_names("could not be read, and is missing", result.missing)
    if result.secrets:
        click.echo("it holds keys or accounts: keep it as safe as the vault itself", err=True)


def _print_check(ctx: click.Context, file: Path | None, as_json: bool) -> None:
    if file is None:
        raise click.UsageError("name the FILE to check")
    with Console(stderr=True).status("checking …"):
        problems = check(file)
    if as_json:
        print_json({"problems": problems})
    else:
        for line in problems or ["the archive is whole"]:
            click.echo(printable(line))
    ctx.exit(1 if problems else 0)


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--into",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="The vault's folder: a new one, or the one with the files.",
)
@click.option("--settings", "with_settings", is_flag=True, help="Use the settings of the backup as well.")
@click.option("--server", "with_server", is_flag=True, help="Bring accounts and tokens back as well.")
@click.option("--replace", is_flag=True, help="Replace existing accounts by these.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def restore(file: Path, into: Path, with_settings: bool, with_server: bool, replace: bool, as_json: bool) -> None:
    """Bring back what a backup holds. What was there before is put aside, never deleted."""
    if replace and not with_server:
        raise UsageError("--replace is about accounts; add --server")
    with Console(stderr=True).status("restoring …"):
        result = restore_vault(
            *(file, into),
            with_settings=with_settings,
            with_server=with_server,
            replace=replace,
            environment=os.environ,
        )
    if as_json:
        print_json(asdict(result))
        return
    click.echo(f"{printable(str(result.vault))}: is as it was at {result.made_at}")
    if result.files:
        click.echo(f"{format_count(result.files, 'file')} of the backup in place")
    _print_names("was there already with other content, and was left as it is", result.kept)
    _print_names("what was there before is now called", result.aside)
    if result.settings and not result.settings_in_force:
        click.echo(_explain_settings(result, Path(result.settings)))
    if result.server:
        click.echo("accounts and tokens are back; everybody has to sign in again")
    click.echo("'chyme digest' or 'chyme serve' goes on from there; what has not changed is not digested again")


def _explain_settings(result: RestoreResult, restored_file: Path) -> str:
    settings_file = restored_file.with_name(SETTINGS)
    start = (
        f"{printable(str(restored_file))}: are the settings of the backup; "
        "they name programs and addresses, so they are"
    )
    if settings_file.exists():
        return f"{start} not in force: take over what you want into {SETTINGS}, or restore with --settings"
    source, target = (shlex.quote(printable(str(path))) for path in (restored_file, settings_file))
    return f"{start} in force only once you say: mv {source} {target}"


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default=FORMATS[0],
    show_default=True,
    help="Plain files; what Paperless-ngx' document_importer reads; bookmarks for a browser.",
)
@click.option("--artifacts", is_flag=True, help="Write previews, pages, captured web pages and the like as well.")
@click.option("--spend", is_flag=True, help="Write what the calls of models cost as well.")
@vault_options
def export(folder: Path, form: str, artifacts: bool, spend: bool, vault: Path | None, as_json: bool) -> None:
    """Write documents, digests and edits as plain files, or in a form that another program imports."""
    if form != FORMATS[0] and (artifacts or spend):
        raise click.UsageError("--artifacts and --spend are for plain files")
    with open_vault(vault) as app, Console(stderr=True).status("exporting …") as spinner:

        def show(count: int) -> None:
            spinner.update(f"exporting … {count:,}")

        if form == "paperless":
            result = app.paperless_export.write(folder, show)
        elif form == "bookmarks":
            result = app.bookmark_export.write(folder)
        else:
            result = app.export.write(folder, artifacts=artifacts, spend=spend, progress=show)
    if as_json:
        print_json(asdict(result))
        return
    click.echo(
        f"{format_count(result.files, 'file')} exported to {printable(str(result.folder))}: "
        f"{result.written:,} written, {result.unchanged:,} as they were"
    )
    if result.left_out:
        click.echo(f"{result.left_out:,} left out: copies, and what {form} cannot hold")


def _print_names(label: str, names: tuple[str, ...]) -> None:
    for name in names[:_MAX_NAMES]:
        click.echo(f"{label}: {printable(name)}", err=True)
    if len(names) > _MAX_NAMES:
        click.echo(f"… and {len(names) - _MAX_NAMES:,} more", err=True)


@click.command()
@click.option("--dry-run", is_flag=True, help="Only show what is wrong, and what can be read.")
@click.option("--force", is_flag=True, help="Rebuild even a database that is not damaged.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@vault_options
def rescue(dry_run: bool, force: bool, yes: bool, vault: Path | None, as_json: bool) -> None:
    """Build a new database from the files, keeping what can be read of a damaged one.

    Titles, dates and tags set by hand, rules about tags, people and their voices, captured web pages and what models
    cost are kept; all else is digested anew. The damaged database stays beside the new one.
    """
    root = Vault(find_vault(vault)).root
    settings = read_settings(root / STATE, os.environ)
    if not dry_run and not yes:
        with Console(stderr=True).status("looking …"):
            preview = rescue_vault(root, settings, dry_run=True, force=force)
        _print_rescue(preview, err=True)
        click.confirm("build a new database with that, and put the damaged one aside?", abort=True, err=True)
    with Console(stderr=True).status("rescuing …"):
        result = rescue_vault(root, settings, dry_run=dry_run, force=force)
    if as_json:
        print_json(asdict(result))
        return
    _print_rescue(result, err=False)


def _print_rescue(result: RescueResult, err: bool) -> None:
    if result.problem:
        click.echo(printable(f"the database of {result.vault} {result.problem}"), err=err)
    damaged = f"; {format_count(result.damaged_pages, 'page')} cannot be read whole" if result.damaged_pages else ""
    click.echo(f"{format_count(result.pages, 'page')}{damaged}", err=err)
    for kind, count in result.found.items():
        if not count:
            continue
        if result.dry_run:
            click.echo(f"{LABELS[kind]}: {count:,} can be read", err=err)
            continue
        saved = result.saved.get(kind, 0)
        note = "; of the others the file is not there, or they are not whole" if saved < count else ""
        click.echo(f"{LABELS[kind]}: {saved:,} of {count:,} kept{note}", err=err)
    if not any(result.found.values()):
        click.echo("nothing that a person decided or a web page left could be read", err=err)
    if not result.identity:
        click.echo("the vault gets a new identity: give accounts and tokens their rights to it again", err=err)
    for name in result.aside:
        click.echo(f"the damaged database is now called {printable(name)}", err=err)
    if not result.dry_run:
        click.echo(
            f"{format_count(result.files, 'file')} will be digested anew by 'chyme digest' or 'chyme serve'", err=err
        )
