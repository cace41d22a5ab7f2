"""chyme search, status and show: answers about what is there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from chyme.app import App
from chyme.cli import failures
from chyme.cli.transcripts import clock, in_lines, names_in
from chyme.cli.vaults import opened, printable, tell, vault_options
from chyme.decide.boxes import region
from chyme.decide.judge import NOT_APPLICABLE
from chyme.decide.snippet import Snippet, to_plain
from chyme.decide.subtitles import srt, vtt
from chyme.decide.transcript import in_words
from chyme.errors import UsageError
from chyme.model import Kind, Place
from chyme.search.result import Hit
from chyme.search.result import as_json as shape


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000), help="How many hits.")
@click.option("--offset", default=0, type=click.IntRange(0), help="How many hits to leave out first.")
@vault_options
def search(query: tuple[str, ...], limit: int, offset: int, vault: Path | None, as_json: bool) -> None:
    """Search by word. docs/search.md tells what a question may look like."""
    with opened(vault) as app:
        result = app.index.search(" ".join(query), limit=limit, offset=offset)
    if as_json:
        tell(shape(result))
        return
    console = Console()
    for typed, meant in result.corrected.items():
        console.print(f"nothing says “{printable(typed)}”; searched for “{printable(meant)}”", markup=False)
    for hit in result.hits:
        _print_hit(console, hit)
    least = "" if result.total_is_exact else "at least "
    console.print(f"{least}{result.total} found in {result.ms:.0f} ms", style="dim", markup=False)
    for note in result.notes:
        console.print(printable(note), style="yellow", markup=False)


def _print_hit(console: Console, hit: Hit) -> None:
    line = Text(printable(hit.path), style="bold")
    place = where(hit.place, hit.person)
    if place:
        line.append(f"  {place}", style="cyan")
    if hit.title and hit.title != hit.path.rpartition("/")[2]:
        line.append(f"  {printable(hit.title)}", style="dim")
    console.print(line, soft_wrap=True)
    if hit.snippet.text:
        console.print(_marked(hit.snippet), soft_wrap=True)


def where(place: Place | None, person: str | None = None) -> str:
    """A place in words: page 3, 1:05 and who speaks, under a heading."""
    if place is None:
        return ""
    parts = []
    if place.page is not None:
        parts.append(f"page {place.page}")
    if place.seconds is not None:
        parts.append(clock(place.seconds))
    if place.speaker is not None:
        parts.append(printable(person or in_words(place.speaker)))
    if place.box is not None:
        left, top, right, bottom = (round(edge * 100) for edge in place.box)
        parts.append(f"{region(place.box)} ({left}–{right} % across, {top}–{bottom} % down)")
    if place.heading:
        parts.append(f"“{printable(place.heading)}”")
    return ", ".join(parts)


def _marked(snippet: Snippet) -> Text:
    shift = to_plain(snippet).find(snippet.text)
    text = Text("    " + "".join(c if c.isprintable() else " " for c in to_plain(snippet)))
    for start, end in snippet.marks:
        text.stylize("bold yellow", start + shift + 4, end + shift + 4)
    return text


@click.command()
@vault_options
def status(vault: Path | None, as_json: bool) -> None:
    """Show how many digests wait, run, are completed, skipped or failed."""
    with opened(vault) as app:
        told = app.documents.status()
        failed = app.documents.failures()
    if as_json:
        tell(told)
        return
    click.echo(f"{'files':<22}{told['files']:>8}")
    for group in ("digests", "documents"):
        click.echo(group)
        for name, count in told[group].items():
            click.echo(f"  {name:<20}{count:>8}")
    click.echo(f"{'out of date':<22}{told['outdated']:>8}")
    if told["vanished"]:
        click.echo(f"{'vanished':<22}{told['vanished']:>8}")
    if told["purge_waits"]:
        click.echo(told["purge_waits"])
    for work in told["work"]:
        click.echo(f"at work: {printable(work['path'])}, {work['digester']}, {work['fraction']:.0%}")
    for line in failures.told(failed):
        click.echo(line)


@click.command()
@click.argument("path")
@click.option(
    "--save",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write its previews, pages, posters and the like into this folder.",
)
@click.option("--srt", "form", flag_value="srt", help="Print what is said in it as subtitles, SubRip.")
@click.option("--vtt", "form", flag_value="vtt", help="Print what is said in it as subtitles, WebVTT.")
@vault_options
def show(path: str, save: Path | None, form: str | None, vault: Path | None, as_json: bool) -> None:
    """Show everything about one file."""
    if form is not None and (as_json or save is not None):
        raise UsageError(f"--{form} prints subtitles and nothing else; leave out --json and --save")
    with opened(vault) as app:
        inside = app.vault.relative(path)
        if form is not None:
            click.echo(_subtitles(app, inside, form).encode(), nl=False)  # UTF-8, whatever the terminal's encoding
            return
        told = app.documents.show(inside)
        if save is not None:
            _save(save, app.documents.artifacts(inside))
    if as_json:
        tell(told)
        return
    file, document = told["file"], told["document"]
    click.echo(f"{printable(file['path'])}  ({file['kind']}, {file['mime']}, {file['size']:,} bytes)")
    if document:
        _print_document(document)
    apart = [digest["digester"] for digest in told["digests"] if digest["error"] == NOT_APPLICABLE]
    for digest in told["digests"]:
        if digest["digester"] in apart:
            continue
        took = f", {digest['duration_ms']} ms" if digest["duration_ms"] is not None else ""
        click.echo(f"\n{digest['digester']}: {digest['status']}{took}")
        if digest["error"]:
            again = f" (again at {digest['retry_at']})" if digest["retry_at"] else ""
            category = f"{digest['error_category']}: " if digest["error_category"] else ""
            click.echo(f"  {category}{printable(digest['error'])}{again}")
        if digest["content"]:
            lines = in_lines(digest["digester"], digest["content"], names_in(told))
            _print_lines(digest["content"].splitlines() if lines is None else lines)
    if apart:
        click.echo(f"\n{NOT_APPLICABLE}: {', '.join(apart)}")


def _print_document(document: dict[str, Any]) -> None:
    """What a person sees of the file, in a few lines."""
    click.echo(f"{printable(document['title'])}: {document['state']}")
    if document["pages"] is not None:
        click.echo(f"  {document['pages']:,} {'page' if document['pages'] == 1 else 'pages'}")
    known = "; ".join(one for one in (document["date"], document["language"], ", ".join(document["tags"])) if one)
    for line in (document["summary"], known, document["reason"]):
        if line:
            click.echo(f"  {printable(line)}")


def _save(folder: Path, artifacts: dict[str, bytes]) -> None:
    """One file each, named after digester and artifact; what is there already is left alone."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in artifacts.items():
        target = folder / name.replace("/", "-")
        try:
            with target.open("xb") as stream:
                stream.write(data)
        except FileExistsError:
            raise UsageError(f"{target}: is there already; choose another folder") from None
        click.echo(f"wrote {printable(str(target))}", err=True)


def _subtitles(app: App, path: str, form: str) -> str:
    found = app.documents.transcript(path)
    if found is None or not found[0].segments:
        raise UsageError(_why_none(app.documents.show(path)))
    transcript, names = found
    return (srt if form == "srt" else vtt)(transcript.segments, names)


def _why_none(told: dict[str, Any]) -> str:
    path, kind = printable(told["file"]["path"]), told["file"]["kind"]
    if kind not in (Kind.AUDIO, Kind.VIDEO):
        return f"{path}: only recordings and videos have subtitles, and this is of kind {kind}"
    rows = {digest["digester"]: digest for digest in told["digests"]}
    heard = rows.get("speech-recognition")
    if heard is not None and heard["status"] == "completed":
        return f"{path}: nothing is said in it"
    if heard is not None and heard["status"] == "failed":
        return f"{path}: it has no transcript: {printable(heard['error'])}"
    return f"{path}: it has no transcript yet; 'chyme digest' makes it"


def _print_lines(lines: list[str]) -> None:
    for line in lines if not sys.stdout.isatty() else lines[:40]:
        click.echo("  " + printable(line))
    if sys.stdout.isatty() and len(lines) > 40:
        click.echo(f"  … {len(lines) - 40} more lines; --json shows all")
