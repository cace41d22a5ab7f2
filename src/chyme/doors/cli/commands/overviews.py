"""chyme timeline and chyme throughput: files by time and kind, and what was digested in the last day."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path

import click

from chyme.doors.cli.vault_options import open_vault, print_json, printable, vault_options
from chyme.errors import UsageError


@click.command()
@click.option("--year", default=None, help="Count the months of this year.")
@vault_options
def timeline(vault: Path | None, as_json: bool, year: str | None) -> None:
    """Count files by the date of their documents and by kind."""
    if year is not None and not (len(year) == 4 and year.isascii() and year.isdecimal()):
        raise UsageError(f"{year!r} is no year; write it like 2019")
    with open_vault(vault) as app:
        counts = app.file_list.count_by_time(year)
    if as_json:
        print_json({"year": year, "counts": [asdict(count) for count in counts]})
        return
    by_period: dict[str, list[str]] = {}
    totals: Counter[str] = Counter()
    for count in counts:
        by_period.setdefault(count.period, []).append(f"{count.files:,} {count.kind}")
        totals[count.period] += count.files
    for period, kinds in by_period.items():
        click.echo(f"{period:<8}{totals[period]:>10,}  {', '.join(kinds)}")
    if not counts:
        click.echo("no file has a date in that year" if year else "there are no files yet")


@click.command()
@vault_options
def throughput(vault: Path | None, as_json: bool) -> None:
    """Count the digests that ended in the last day, by output and hour."""
    with open_vault(vault) as app:
        hours = app.throughput()
    if as_json:
        print_json({"hours": [asdict(hour) for hour in hours]})
        return
    completed: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for hour in hours:
        completed[hour.output] += hour.completed
        failed[hour.output] += hour.failed
    for output, count in completed.most_common():
        click.echo(printable(f"{count:>10,} completed{failed[output]:>8,} failed  {output}"))
    if not hours:
        click.echo("nothing was digested in the last day")
