"""chyme tags: what files are about in a word or two, and which of these words you want."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from chyme.app import App
from chyme.cli.counted import counted
from chyme.cli.vaults import opened, printable, tell, vault_options
from chyme.tags import Done
from chyme.tags import as_json as shape


@dataclass(frozen=True)
class Asked:
    """--vault and --json, which may stand before or behind what is to be done."""

    vault: Path | None
    as_json: bool

    def or_(self, vault: Path | None, as_json: bool) -> Asked:
        return Asked(vault or self.vault, as_json or self.as_json)


@click.group(invoke_without_command=True)
@vault_options
@click.pass_context
def tags(ctx: click.Context, vault: Path | None, as_json: bool) -> None:
    """Tell which tags there are; rename, merge or ban them. Whatever is digested later keeps to it."""
    ctx.obj = Asked(vault, as_json)
    if ctx.invoked_subcommand is None:
        _list(ctx.obj)


@tags.command("list")
@vault_options
@click.pass_obj
def list_(asked: Asked, vault: Path | None, as_json: bool) -> None:
    """List all tags, those on most files first, and what was decided about them."""
    _list(asked.or_(vault, as_json))


@tags.command()
@click.argument("tag")
@vault_options
@click.pass_obj
def show(asked: Asked, tag: str, vault: Path | None, as_json: bool) -> None:
    """Show the files that have a tag."""
    asked = asked.or_(vault, as_json)
    with opened(asked.vault) as app:
        found = app.tags.show(tag)
    if asked.as_json:
        files = [asdict(file) for file in found.files]
        tell({"tag": shape(found.tag), "replaces": list(found.replaces), "files": files})
        return
    click.echo(f"{printable(found.tag.name)}: {counted(found.tag.files, 'file')}")
    if found.replaces:
        click.echo(f"  also for: {printable(', '.join(found.replaces))}")
    for file in found.files:
        title = f"  {printable(file.title)}" if file.title else ""
        click.echo(f"  {printable(file.path)}{title}{'  (by hand)' if file.by_person else ''}")


@tags.command()
@click.argument("old")
@click.argument("new")
@vault_options
@click.pass_obj
def rename(asked: Asked, old: str, new: str, vault: Path | None, as_json: bool) -> None:
    """Call a tag otherwise, on all files and whenever it is proposed again."""
    _decide(asked.or_(vault, as_json), lambda app: app.tags.rename(old, new))


@tags.command()
@click.argument("into")
@click.argument("others", nargs=-1, required=True, metavar="OTHER…")
@vault_options
@click.pass_obj
def merge(asked: Asked, into: str, others: tuple[str, ...], vault: Path | None, as_json: bool) -> None:
    """Say that the other tags mean the first one. Files that have one of them have that one instead."""
    _decide(asked.or_(vault, as_json), lambda app: app.tags.merge(into, others))


@tags.command()
@click.argument("tag")
@vault_options
@click.pass_obj
def ban(asked: Asked, tag: str, vault: Path | None, as_json: bool) -> None:
    """Never give a tag to any file; those you gave it to by hand keep it."""
    _decide(asked.or_(vault, as_json), lambda app: app.tags.ban(tag))


@tags.command()
@click.argument("tag")
@vault_options
@click.pass_obj
def unban(asked: Asked, tag: str, vault: Path | None, as_json: bool) -> None:
    """Allow a tag again; files get it when they are digested again."""
    _decide(asked.or_(vault, as_json), lambda app: app.tags.unban(tag))


@tags.command()
@vault_options
@click.pass_obj
def similar(asked: Asked, vault: Path | None, as_json: bool) -> None:
    """List tags that may be one, and how to merge them."""
    asked = asked.or_(vault, as_json)
    with opened(asked.vault) as app:
        pairs = app.tags.similar()
    if asked.as_json:
        tell({"similar": [asdict(pair) for pair in pairs]})
        return
    if not pairs:
        click.echo("no two tags are close")
    for pair in pairs:
        counts = f"{counted(pair.files[0], 'file')}, {counted(pair.files[1], 'file')}"
        click.echo(
            f"{pair.likeness:.2f}  chyme tags merge '{printable(pair.one)}' '{printable(pair.other)}'  ({counts})"
        )


@tags.command()
@vault_options
@click.pass_obj
def undo(asked: Asked, vault: Path | None, as_json: bool) -> None:
    """Take the last of these decisions back; again: the one before it."""
    _decide(asked.or_(vault, as_json), lambda app: app.tags.undo(), before="undone: ")


def _list(asked: Asked) -> None:
    with opened(asked.vault) as app:
        found = app.tags.listed()
    if asked.as_json:
        tell({"tags": [shape(tag) for tag in found.tags], "banned": list(found.banned), "becomes": found.becomes})
        return
    if not found.tags:
        click.echo("there are no tags yet")
    width = max((len(printable(tag.name)) for tag in found.tags), default=0)
    for tag in found.tags:
        by_hand = f", {tag.by_person} by hand" if tag.by_person else ""
        click.echo(f"{printable(tag.name):<{width}}  {counted(tag.files, 'file')}{by_hand}")
    for name, becomes in found.becomes.items():
        click.echo(f"{printable(name)} becomes {printable(becomes)}")
    if found.banned:
        click.echo(f"banned: {printable(', '.join(found.banned))}")


def _decide(asked: Asked, decide: Callable[[App], Done], before: str = "") -> None:
    with opened(asked.vault) as app:
        done = decide(app)
    if asked.as_json:
        tell({"done": before + done.what, "files": done.files, "tag": shape(done.tag) if done.tag else None})
    else:
        click.echo(printable(f"{before}{done.what} ({counted(done.files, 'file')})"))
