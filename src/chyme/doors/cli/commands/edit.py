"""chyme edit: set the title, date and tags of a document by hand."""

from __future__ import annotations

from pathlib import Path

import click

from chyme.doors.cli.vault_options import open_vault, print_json, printable, vault_options
from chyme.understanding.edit_rules import FIELDS, EditRequest
from chyme.understanding.edits import DocumentEdits, EditResult
from chyme.understanding.edits import as_json as shape


@click.command()
@click.argument("path", required=False)
@click.option("--title", help="What it is called; empty for no title.")
@click.option("--date", help="2026-04-03, 2026-04 or 2026; empty for no date.")
@click.option("--tag", "add", multiple=True, help="Add a tag; may be repeated.")
@click.option("--untag", "remove", multiple=True, help="Take a tag away for good; may be repeated.")
@click.option("--tags", help="These tags and no others, with commas between them; empty for none.")
@click.option("--clear", multiple=True, type=click.Choice(FIELDS), help="Go back to what was found in the file.")
@click.option("--undo", is_flag=True, help="Take the last change back: of this file, or without PATH of any.")
@vault_options
def edit(
    path: str | None,
    title: str | None,
    date: str | None,
    add: tuple[str, ...],
    remove: tuple[str, ...],
    tags: str | None,
    clear: tuple[str, ...],
    undo: bool,
    vault: Path | None,
    as_json: bool,
) -> None:
    """Set title, date and tags of a document; without options, show them and where they come from.

    What you set stays, even when the file is digested again.
    """
    fields = {name: text or None for name, text in (("title", title), ("date", date)) if text is not None}
    tag_list = None if tags is None else [tag for tag in tags.split(",") if tag.strip()]
    request = EditRequest(fields, tag_list, add, remove, clear)
    has_changes = bool(fields or add or remove or clear) or tag_list is not None
    if undo and has_changes:
        raise click.UsageError("--undo cannot be combined with other changes")
    if path is None and not undo:
        raise click.UsageError("name a file")
    with open_vault(vault) as app:
        inside_path = None if path is None else app.vault.relative(path)
        if undo:
            _print_result(as_json, app.edits.undo(inside_path), "undone: ")
        elif has_changes:
            _print_result(as_json, app.edits.change(str(inside_path), request), "")
        else:
            _print_edits(as_json, app.edits.get(str(inside_path)))


def _print_result(as_json: bool, result: EditResult, prefix: str) -> None:
    if as_json:
        print_json({"done": prefix + result.what, **shape(result.shown)})
    else:
        click.echo(printable(prefix + result.what))


def _print_edits(as_json: bool, shown: DocumentEdits) -> None:
    if as_json:
        print_json(shape(shown))
        return
    current, found = shown.document, shown.found
    rows = (
        ("title", current.title or "", found.title or ""),
        ("date", current.date or "", found.date or ""),
        ("tags", ", ".join(current.tags), ", ".join(found.tags)),
    )
    click.echo(printable(shown.path))
    for name, value, machine_value in rows:
        origin = f"  (yours; found: {machine_value or 'nothing'})" if name in shown.edits else ""
        click.echo(printable(f"  {name:<6}{value or '–'}{origin}"))
    for name, value in shown.properties.items():
        click.echo(printable(f"  {name}: {' '.join(value.split())}"))
