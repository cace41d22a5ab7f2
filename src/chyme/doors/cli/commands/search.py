"""chyme search and similar: files that match a query, and files that are like a given one."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from chyme.doors.cli.commands.status import describe_place
from chyme.doors.cli.vault_options import open_vault, print_json, printable, vault_options
from chyme.search.results import Hit, SearchResult, spelling_notes
from chyme.search.results import as_json as shape
from chyme.search.search import MODES, Mode
from chyme.search.snippets import Snippet, to_plain

_LIMIT = click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000), help="How many hits.")
_OFFSET = click.option("--offset", default=0, type=click.IntRange(0, 10**6), help="How many hits to leave out first.")
_MAX_VALUES = 8  # at most so many values of one facet


@click.command(context_settings={"ignore_unknown_options": True})  # -word excludes that word
@click.argument("query", nargs=-1, required=True)
@click.option("--mode", type=click.Choice(MODES), default=MODES[0], show_default=True, help="What is compared.")
@click.option("--facets", is_flag=True, help="Also count what was found by kind, tag, folder, year, person and status.")
@click.option("--as-typed", is_flag=True, help="Correct no word, also where nothing has it.")
@_LIMIT
@_OFFSET
@vault_options
def search(
    query: tuple[str, ...],
    mode: Mode,
    facets: bool,
    as_typed: bool,
    limit: int,
    offset: int,
    vault: Path | None,
    as_json: bool,
) -> None:
    """Search by word and by meaning. docs/search.md explains the query syntax."""
    with open_vault(vault) as app:
        result = app.search.search(
            " ".join(query), limit=limit, offset=offset, mode=mode, facets=facets, as_typed=as_typed
        )
    _print_result(result, as_json)


@click.command()
@click.argument("path")
@_LIMIT
@_OFFSET
@vault_options
def similar(path: str, limit: int, offset: int, vault: Path | None, as_json: bool) -> None:
    """Find the files that are most like this one."""
    with open_vault(vault) as app:
        result = app.search.similar(app.vault.relative(path), limit=limit, offset=offset)
    _print_result(result, as_json)


def _print_result(result: SearchResult, as_json: bool) -> None:
    if as_json:
        print_json(shape(result))
        return
    console = Console()
    for note in spelling_notes(result):
        console.print(printable(note), markup=False)
    if result.corrected:
        console.print("--as-typed searches for the words as you typed them", style="dim", markup=False)
    for hit in result.hits:
        _print_hit(console, hit)
    prefix = "" if result.total_is_exact else "at least "
    console.print(f"{prefix}{result.total} found in {result.ms:.0f} ms", style="dim", markup=False)
    _print_facets(console, result)
    for note in result.notes:
        console.print(printable(note), style="yellow", markup=False)


def _print_hit(console: Console, hit: Hit) -> None:
    line = Text(printable(hit.path), style="bold")
    place = describe_place(hit.place, hit.person)
    if place:
        line.append(f"  {place}", style="cyan")
    if hit.title and hit.title != hit.path.rpartition("/")[2]:
        line.append(f"  {printable(hit.title)}", style="dim")
    if hit.why == ("meaning",):
        line.append("  by meaning", style="magenta")
    console.print(line, soft_wrap=True)
    if hit.snippet.text:
        console.print(_highlight(hit.snippet), soft_wrap=True)


def _highlight(snippet: Snippet) -> Text:
    shift = to_plain(snippet).find(snippet.text)
    text = Text("    " + "".join(c if c.isprintable() else " " for c in to_plain(snippet)))
    for start, end in snippet.marks:
        text.stylize("bold yellow", start + shift + 4, end + shift + 4)
    return text


def _print_facets(console: Console, result: SearchResult) -> None:
    for facet in fields(result.facets) if result.facets else ():
        counts = getattr(result.facets, facet.name)
        line = ", ".join(f"{printable(value)} {count}" for value, count in counts[:_MAX_VALUES])
        if line:
            console.print(f"{facet.name}: {line}", style="dim", markup=False)
