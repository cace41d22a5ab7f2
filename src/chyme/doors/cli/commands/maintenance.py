"""chyme reset, retry, redo, doctor, index, verify and purge: maintenance of a vault."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click
from rich.console import Console
from rich.progress import track

from chyme.application.digester_list import outdated_json
from chyme.application.doctor import doctor as examine
from chyme.doors.cli.formatting import format_count
from chyme.doors.cli.vault_options import find_vault, open_vault, print_json, printable, vault_options
from chyme.model import Mode

_DIGESTER = click.option("--digester", "digesters", multiple=True, help="Only this digester; may be repeated.")


@click.command()
@click.argument("paths", nargs=-1)
@_DIGESTER
@click.option("--yes", is_flag=True, help="Do not ask before resetting the whole vault.")
@vault_options
def reset(paths: tuple[str, ...], digesters: tuple[str, ...], yes: bool, vault: Path | None, as_json: bool) -> None:
    """Have digests made again: of the given files and folders, or of the whole vault."""
    with open_vault(vault) as app:
        if not paths and not yes:
            click.confirm(f"reset every file of {app.vault.root}?", abort=True, err=True)
        count = app.request_again(Mode.RESET, [app.vault.relative(path) for path in paths], digesters).files
    _print_count(as_json, "file", count, "will be digested again by 'chyme digest' or a running 'chyme serve'")


@click.command()
@click.argument("paths", nargs=-1)
@_DIGESTER
@vault_options
def retry(paths: tuple[str, ...], digesters: tuple[str, ...], vault: Path | None, as_json: bool) -> None:
    """Give failed digests their attempts back."""
    with open_vault(vault) as app:
        count = app.request_again(Mode.RETRY, [app.vault.relative(path) for path in paths], digesters).digests
    _print_count(as_json, "digest", count, "will be tried again by 'chyme digest' or a running 'chyme serve'")


@click.command()
@click.argument("paths", nargs=-1)
@click.option("--outdated", is_flag=True, help="What was made by older rules, models or prompts than today's.")
@_DIGESTER
@click.option("--dry-run", is_flag=True, help="Only show what would be made again, and what that takes.")
@vault_options
def redo(
    paths: tuple[str, ...],
    outdated: bool,
    digesters: tuple[str, ...],
    dry_run: bool,
    vault: Path | None,
    as_json: bool,
) -> None:
    """Have digests that are out of date made again; what is there stays until it is replaced."""
    if not outdated:
        raise click.UsageError("say --outdated; 'chyme reset' makes anything again")
    with open_vault(vault) as app:
        outdated_digests = app.list_outdated([app.vault.relative(path) for path in paths], digesters)
        count = 0 if dry_run else app.redo(outdated_digests)
    if as_json:
        print_json({**outdated_json(outdated_digests), "digests": count, "dry_run": dry_run})
        return
    if not outdated_digests:
        click.echo("nothing is out of date")
        return
    for entry in outdated_digests:
        calls_text = f", {format_count(entry.calls, 'call')} of a model" if entry.calls else ""
        click.echo(
            f"{entry.digester:<28}{format_count(len(entry.file_ids), 'file'):>14}, "
            f"about {_format_duration(entry.seconds)}{calls_text}"
        )
    calls, seconds = sum(entry.calls for entry in outdated_digests), sum(entry.seconds for entry in outdated_digests)
    click.echo(
        f"together {format_count(calls, 'call')} of models at least, "
        f"and about {_format_duration(seconds)}, one after the other"
    )
    if not dry_run:
        click.echo(f"{format_count(count, 'digest')} will be made again by 'chyme digest' or a running 'chyme serve'")


def _format_duration(seconds: float) -> str:
    return (
        f"{seconds:.1f} s"
        if seconds < 120
        else f"{seconds / 60:.0f} min"
        if seconds < 7200
        else f"{seconds / 3600:.1f} h"
    )


@click.command()
@vault_options
@click.pass_context
def doctor(ctx: click.Context, vault: Path | None, as_json: bool) -> None:
    """Show what is installed, what is missing, and how to get it."""
    engines = examine(find_vault(vault))
    if as_json:
        print_json({"engines": [vars(engine) for engine in engines]})
    else:
        for engine in engines:
            click.echo(f"{'ok  ' if engine.ok else 'LACK'}  {engine.capability:<26}{engine.engine}")
            if engine.how:
                click.echo(f"      {engine.how}")
    ctx.exit(0 if all(engine.ok for engine in engines) else 1)


@click.command()
@click.option("--rebuild", is_flag=True, help="Make the indexes again from what the database holds.")
@click.option("--check", is_flag=True, help="Compare the indexes with the texts.")
@vault_options
@click.pass_context
def index(ctx: click.Context, rebuild: bool, check: bool, vault: Path | None, as_json: bool) -> None:
    """Check or rebuild the search index."""
    if not rebuild and not check:
        raise click.UsageError("say --check or --rebuild")
    with open_vault(vault) as app:
        if rebuild:
            with Console(stderr=True).status("making the indexes again …"):
                app.search_index.rebuild()
        problems = app.search_index.check()
    _print_problems(ctx, as_json, problems, "the index agrees with the texts")


@click.command()
@vault_options
@click.pass_context
def verify(ctx: click.Context, vault: Path | None, as_json: bool) -> None:
    """Check that the vault's database agrees with itself."""
    with open_vault(vault) as app, Console(stderr=True).status("checking …"):
        problems = app.documents.problems()
    _print_problems(ctx, as_json, problems, "all is well")


@click.command()
@click.option("--all", "everything", is_flag=True, help="Also files that vanished only recently.")
@click.option("--yes", is_flag=True, help="Do not ask; also confirms a scan in which many files vanished at once.")
@vault_options
def purge(everything: bool, yes: bool, vault: Path | None, as_json: bool) -> None:
    """Delete everything known about files that vanished."""
    with open_vault(vault) as app:
        files = app.list_purgeable(everything)
        if files and not yes:
            for file in files[:20]:
                click.echo(printable(file.path), err=True)
            click.confirm(f"forget {len(files)} vanished files?", abort=True, err=True)
        console = Console(stderr=True)
        steps = iter(track(range(len(files)), "purging", console=console, disable=not sys.stderr.isatty()))
        count = app.purge(everything, confirmed=yes, progress=lambda _done, _all: _advance(steps))
    _print_count(as_json, "vanished file", count, "purged")


def _advance(steps: Iterator[int]) -> None:
    next(steps, None)


def _print_count(as_json: bool, name: str, count: int, sentence: str) -> None:
    if as_json:
        print_json({f"{name.rpartition(' ')[2]}s": count})
    else:
        click.echo(f"{format_count(count, name)} {sentence}")


def _print_problems(ctx: click.Context, as_json: bool, problems: list[str], success: str) -> None:
    if as_json:
        print_json({"problems": problems})
    else:
        for line in problems or [success]:
            click.echo(printable(line))
    ctx.exit(1 if problems else 0)
