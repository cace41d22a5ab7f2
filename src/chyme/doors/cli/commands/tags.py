"""chyme tags: list, rename, merge and ban tags."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

import click

from chyme.application.app import App
from chyme.doors.cli.formatting import format_count
from chyme.doors.cli.vault_options import (
    GroupOptions,
    group_options,
    open_vault,
    print_json,
    printable,
    vault_group,
)
from chyme.understanding.tags.rename_merge_ban import DecisionResult
from chyme.understanding.tags.rename_merge_ban import as_json as shape


@vault_group
def tags(options: GroupOptions) -> None:
    """List tags; rename, merge or ban them. Files digested later follow these decisions."""
    _print_tags(options)


@tags.command("list")
@group_options
def list_(options: GroupOptions) -> None:
    """List all tags, those on most files first, and what was decided about them."""
    _print_tags(options)


@tags.command()
@click.argument("tag")
@group_options
def show(options: GroupOptions, tag: str) -> None:
    """Show the files that have a tag."""
    with open_vault(options.vault) as app:
        details = app.tags.show(tag)
    if options.as_json:
        files = [asdict(file) for file in details.files]
        print_json({"tag": shape(details.tag), "replaces": list(details.replaces), "files": files})
        return
    click.echo(f"{printable(details.tag.name)}: {format_count(details.tag.files, 'file')}")
    if details.replaces:
        click.echo(f"  also for: {printable(', '.join(details.replaces))}")
    for file in details.files:
        title = f"  {printable(file.title)}" if file.title else ""
        click.echo(f"  {printable(file.path)}{title}{'  (by hand)' if file.by_person else ''}")


@tags.command()
@click.argument("old")
@click.argument("new")
@group_options
def rename(options: GroupOptions, old: str, new: str) -> None:
    """Rename a tag, on all files and whenever it is proposed again."""
    _decide(options, lambda app: app.tags.rename(old, new))


@tags.command()
@click.argument("into")
@click.argument("others", nargs=-1, required=True, metavar="OTHER…")
@group_options
def merge(options: GroupOptions, into: str, others: tuple[str, ...]) -> None:
    """Replace the other tags by the first one, on all files."""
    _decide(options, lambda app: app.tags.merge(into, others))


@tags.command()
@click.argument("tag")
@group_options
def ban(options: GroupOptions, tag: str) -> None:
    """Never give a tag to any file; those you gave it to by hand keep it."""
    _decide(options, lambda app: app.tags.ban(tag))


@tags.command()
@click.argument("tag")
@group_options
def unban(options: GroupOptions, tag: str) -> None:
    """Allow a tag again; files get it when they are digested again."""
    _decide(options, lambda app: app.tags.unban(tag))


@tags.command()
@group_options
def similar(options: GroupOptions) -> None:
    """List tags that may be one, and how to merge them."""
    with open_vault(options.vault) as app:
        pairs = app.tags.similar()
    if options.as_json:
        print_json({"similar": [asdict(pair) for pair in pairs]})
        return
    if not pairs:
        click.echo("no two tags are close")
    for pair in pairs:
        counts = f"{format_count(pair.files[0], 'file')}, {format_count(pair.files[1], 'file')}"
        click.echo(
            f"{pair.likeness:.2f}  chyme tags merge '{printable(pair.one)}' '{printable(pair.other)}'  ({counts})"
        )


@tags.command()
@group_options
def undo(options: GroupOptions) -> None:
    """Undo the last of these decisions; run it again for the one before."""
    _decide(options, lambda app: app.tags.undo(), prefix="undone: ")


def _print_tags(options: GroupOptions) -> None:
    with open_vault(options.vault) as app:
        listing = app.tags.list_all()
    if options.as_json:
        print_json(
            {"tags": [shape(tag) for tag in listing.tags], "banned": list(listing.banned), "becomes": listing.becomes}
        )
        return
    if not listing.tags:
        click.echo("there are no tags yet")
    width = max((len(printable(tag.name)) for tag in listing.tags), default=0)
    for tag in listing.tags:
        by_hand = f", {tag.by_person} by hand" if tag.by_person else ""
        click.echo(f"{printable(tag.name):<{width}}  {format_count(tag.files, 'file')}{by_hand}")
    for name, becomes in listing.becomes.items():
        click.echo(f"{printable(name)} becomes {printable(becomes)}")
    if listing.banned:
        click.echo(f"banned: {printable(', '.join(listing.banned))}")


def _decide(options: GroupOptions, decide: Callable[[App], DecisionResult], prefix: str = "") -> None:
    with open_vault(options.vault) as app:
        result = decide(app)
    if options.as_json:
        print_json(
            {"done": prefix + result.what, "files": result.files, "tag": shape(result.tag) if result.tag else None}
        )
    else:
        click.echo(printable(f"{prefix}{result.what} ({format_count(result.files, 'file')})"))
