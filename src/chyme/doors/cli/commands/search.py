"""chyme search and similar: files that match a query, and files that are like a given one.

A server that runs on the vault is asked, which has everything loaded. So this module imports little at its top.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chyme.doors.cli.places import describe_place
from chyme.doors.cli.vault_options import find_state_folder, open_vault, print_json, printable, vault_options
from chyme.doors.local_socket.client import ask_server
from chyme.model import Place

if TYPE_CHECKING:
    from chyme.search.search import Mode

MODES = ("both", "words", "meaning")
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
    text = " ".join(query)
    question = {"query": text, "limit": limit, "offset": offset, "mode": mode, "facets": facets, "as_typed": as_typed}
    result = ask_server(find_state_folder(vault), question)
    if result is None:
        from chyme.search.results import as_json as shape

        with open_vault(vault) as app:
            result = shape(
                app.search.search(text, limit=limit, offset=offset, mode=mode, facets=facets, as_typed=as_typed)
            )
    _print_result(result, as_json)


@click.command()
@click.argument("path")
@_LIMIT
@_OFFSET
@vault_options
def similar(path: str, limit: int, offset: int, vault: Path | None, as_json: bool) -> None:
    """Find the files that are most like this one."""
    from chyme.search.results import as_json as shape

    with open_vault(vault) as app:
        result = shape(app.search.similar(app.vault.relative(path), limit=limit, offset=offset))
    _print_result(result, as_json)


def _print_result(result: Mapping[str, Any], as_json: bool) -> None:
    """Print a result in the form that JSON has, whoever found it."""
    if as_json:
        print_json(result)
        return
    for typed, instead in result["corrected"].items():
        click.echo(printable(f"nothing has “{typed}”; showing “{instead}”"))
    for typed, other in result["suggested"].items():
        click.echo(printable(f"nothing has “{typed}”; did you mean “{other}”?"))
    if result["corrected"]:
        _print_styled("--as-typed searches for the words as you typed them", dim=True)
    for hit in result["hits"]:
        _print_hit(hit)
    prefix = "" if result["total_is_exact"] else "at least "
    _print_styled(f"{prefix}{result['total']} found in {result['ms']:.0f} ms", dim=True)
    for name, counts in result.get("facets", {}).items():
        line = ", ".join(f"{printable(value)} {count}" for value, count in list(counts.items())[:_MAX_VALUES])
        if line:
            _print_styled(f"{name}: {line}", dim=True)
    for note in result["notes"]:
        _print_styled(printable(note), fg="yellow")


def _print_hit(hit: Mapping[str, Any]) -> None:
    line = click.style(printable(hit["path"]), bold=True)
    place = describe_place(*_place_of(hit["place"]), hit["path"])
    if place:
        line += click.style(f"  {place}", fg="cyan")
    if hit["title"] and hit["title"] != hit["path"].rpartition("/")[2]:
        line += click.style(f"  {printable(hit['title'])}", dim=True)
    if not {"words", "name", "filter"}.intersection(hit["why"]):
        line += click.style(f"  by {printable(', '.join(hit['why']))}", fg="magenta")
    click.echo(line, color=_color())
    if hit["snippet"]:
        click.echo("    " + _highlight(hit["snippet"], hit["marks"]), color=_color())


def _place_of(fields: Mapping[str, Any] | None) -> tuple[Place | None, str | None]:
    if fields is None:
        return None, None
    values = {name: value for name, value in fields.items() if name != "person"}
    if "box" in values:
        values["box"] = tuple(values["box"])
    return Place(**values), fields.get("person")


def _highlight(text: str, marks: list[list[int]]) -> str:
    visible = "".join(sign if sign.isprintable() else " " for sign in text)
    parts, end = [], 0
    for start, stop in marks:
        parts += [visible[end:start], click.style(visible[start:stop], bold=True, fg="yellow")]
        end = stop
    return "".join([*parts, visible[end:]])


def _print_styled(line: str, *, dim: bool = False, fg: str | None = None) -> None:
    click.echo(click.style(line, dim=dim or None, fg=fg), color=_color())


def _color() -> bool | None:
    """None lets click decide, which uses colours on terminals only."""
    return False if os.environ.get("NO_COLOR") else None
