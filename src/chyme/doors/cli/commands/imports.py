"""chyme import: bring documents, links and notes from other programs into the vault."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from chyme.doors.cli.formatting import format_count
from chyme.doors.cli.vault_options import open_vault, print_json, printable, vault_options
from chyme.imports.exports import entries_of
from chyme.imports.importing import ImportOptions
from chyme.imports.summary import ImportSummary

_MAX_PROBLEMS = 20
DEFAULT_FOLDERS = {"paperless": "Paperless", "karakeep": "Karakeep", "bookmarks": "Bookmarks"}
FROM_PROBLEMS = 1  # the exit code if anything failed


@click.group("import")
def import_() -> None:
    """Bring documents, links and notes from other programs; nothing is imported twice."""


def _command(name: str, what: str, help_text: str) -> None:
    @import_.command(name, help=help_text)
    @click.argument("export", type=click.Path(path_type=Path), metavar=what)
    @click.option("--folder", help="The folder of the vault into which it goes; created if it is missing.")
    @click.option("--dry-run", is_flag=True, help="Only count what would be done.")
    @click.option("--again", is_flag=True, help="Bring back what was imported once and deleted here since.")
    @vault_options
    @click.pass_context
    def run(
        ctx: click.Context,
        export: Path,
        folder: str | None,
        dry_run: bool,
        again: bool,
        vault: Path | None,
        as_json: bool,
    ) -> None:
        into = folder if folder is not None else DEFAULT_FOLDERS.get(name) or export.resolve().stem
        options = ImportOptions(name, into, dry_run, again)
        with (
            open_vault(vault, create=True) as app,
            entries_of(name, export) as entries,
            Console(stderr=True).status("reading …") as spinner,
        ):
            summary = app.importer.run(
                entries, options, lambda so_far: spinner.update(f"importing … {so_far.entries:,}")
            )
        if as_json:
            print_json({"source": name, "folder": into, "dry_run": dry_run, **summary.as_json()})
        else:
            _print_summary(summary, into, dry_run)
        ctx.exit(FROM_PROBLEMS if summary.failed else 0)


def _print_summary(summary: ImportSummary, folder: str, dry_run: bool) -> None:
    verb = "would be added" if dry_run else "added"
    click.echo(
        f"{format_count(summary.added, 'file')} {verb} to {printable(folder) or 'the vault'}: {summary.bytes:,} bytes"
    )
    for count, label in (
        (summary.updated, "were there and get new titles, dates, tags or properties"),
        (summary.unchanged, "were there and stay as they are"),
        (summary.deleted_here, "were deleted here and stay deleted; --again brings them back"),
        (summary.left_out, "left out"),
        (summary.failed, "failed"),
    ):
        if count:
            click.echo(f"{count:,} {label}")
    for problem in summary.problems[:_MAX_PROBLEMS]:
        click.echo(printable(problem), err=True)
    if len(summary.problems) > _MAX_PROBLEMS:
        click.echo("… --json lists more of them", err=True)
    if not dry_run and summary.added:
        click.echo("'chyme digest' or a running 'chyme serve' reads them")


_command("paperless", "EXPORT", "Import what the document_exporter of Paperless-ngx wrote: a folder or zip file.")
_command("karakeep", "EXPORT.json", "Import the JSON export of Karakeep (Hoarder): links, notes, tags, lists.")
_command("bookmarks", "FILE.html", "Import bookmarks of a browser, Pocket, Linkding …: their HTML export.")
_command("folder", "DIR", "Import a folder or zip of files with sidecars (.json, .xmp, .yaml, .md).")
