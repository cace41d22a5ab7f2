"""chyme status and show: the state of the vault, and details of a file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from chyme.application.app import App
from chyme.core.files.permissions import FILE_MODE, make_private_folder
from chyme.core.pipeline.document_state import is_not_applicable
from chyme.doors.cli.commands.workers import describe_in_a_line
from chyme.doors.cli.formatting import format_count, format_digest, format_failures, names_in
from chyme.doors.cli.vault_options import open_vault, print_json, printable, vault_options
from chyme.errors import UsageError
from chyme.model import Form, Kind
from chyme.speech.transcripts.subtitles import srt, vtt

LOOK_SECONDS = 2.0  # at most so long for the check whether the database is damaged


@click.command()
@vault_options
@click.pass_context
def status(ctx: click.Context, vault: Path | None, as_json: bool) -> None:
    """Show how many digests wait, run, are completed, skipped or failed."""
    workers, workers_line = describe_in_a_line(vault)
    with open_vault(vault) as app:
        damaged = app.database.quick_check(LOOK_SECONDS)
        report = {
            **app.documents.status(),
            "search": app.search_index.status(),
            "workers": workers,
            "mailbox": app.mailbox.status().as_json() if app.mailbox.settings.enabled else None,
            "damaged": str(damaged) if damaged is not None else None,
        }
        failed = app.documents.failures()
    if as_json:
        print_json(report)
        ctx.exit(1 if damaged is not None else 0)
    if damaged is not None:
        click.echo(f"chyme: {damaged}", err=True)
    click.echo(f"{'files':<22}{report['files']:>8}")
    for group in ("digests", "documents"):
        click.echo(group)
        for name, count in report[group].items():
            click.echo(f"  {name:<20}{count:>8}")
    click.echo(f"{'out of date':<22}{report['outdated']:>8}")
    if report["vanished"]:
        click.echo(f"{'vanished':<22}{report['vanished']:>8}")
    if report["purge_waits"]:
        click.echo(report["purge_waits"])
    for line in _search_notes(report["search"]):
        click.echo(line)
    if workers_line is not None:
        click.echo(f"workers: {printable(workers_line)}")
    if report["mailbox"] is not None:
        click.echo(f"mailbox: {printable(report['mailbox']['summary'])}")
    for work in report["work"]:
        click.echo(f"at work: {printable(work['path'])}, {work['digester']}, {work['fraction']:.0%}")
    for line in format_failures(failed):
        click.echo(line)
    ctx.exit(1 if damaged is not None else 0)


def _search_notes(search_status: dict[str, Any]) -> list[str]:
    """Describe what is unusual about the search."""
    lines = []
    if "next_embedder" in search_status:
        lines.append(f"{search_status['embedder']} answers until {search_status['next_embedder']} has read every file")
    if search_status.get("engines", {}).get("behind"):
        lines.append(
            f"the search engines have yet to be told of {format_count(search_status['engines']['behind'], 'file')}"
        )
    return lines


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
    with open_vault(vault) as app:
        inside_path = app.vault.relative(path)
        if form is not None:
            # UTF-8, regardless of the terminal's encoding
            click.echo(_subtitles(app, inside_path, form).encode(), nl=False)
            return
        details = app.documents.show(inside_path)
        if save is not None:
            _save_artifacts(save, app.documents.artifacts(inside_path))
    if as_json:
        print_json(details)
        return
    file, document = details["file"], details["document"]
    click.echo(f"{printable(file['path'])}  ({file['kind']}, {file['mime']}, {file['size']:,} bytes)")
    if document:
        _print_document(document)
    not_applicable = [
        digest["digester"] for digest in details["digests"] if is_not_applicable(digest["status"], digest["error"])
    ]
    for digest in details["digests"]:
        if digest["digester"] in not_applicable:
            continue
        duration = f", {digest['duration_ms']} ms" if digest["duration_ms"] is not None else ""
        maker = f", made by the worker {digest['worker']}" if digest["worker"] else ""
        click.echo(f"\n{digest['digester']}: {digest['status']}{duration}{printable(maker)}")
        if digest["error"]:
            retry = f" (again at {digest['retry_at']})" if digest["retry_at"] else ""
            category = f"{digest['error_category']}: " if digest["error_category"] else ""
            click.echo(f"  {category}{printable(digest['error'])}{retry}")
        if digest["content"]:
            lines = format_digest(app.rules.form_of(digest["digester"]), digest["content"], names_in(details))
            _print_lines(digest["content"].splitlines() if lines is None else lines)
    if not_applicable:
        click.echo(f"\nnot applicable: {', '.join(not_applicable)}")


def _print_document(document: dict[str, Any]) -> None:
    """Print a short overview of the file."""
    click.echo(f"{printable(document['title'])}: {document['state']}")
    if document["pages"] is not None:
        click.echo(f"  {document['pages']:,} {'page' if document['pages'] == 1 else 'pages'}")
    facts = "; ".join(part for part in (document["date"], document["language"], ", ".join(document["tags"])) if part)
    for line in (document["summary"], facts, document["reason"]):
        if line:
            click.echo(f"  {printable(line)}")


def _save_artifacts(folder: Path, artifacts: dict[str, bytes]) -> None:
    """Write one file each, named after digester and artifact; existing files are never overwritten."""
    if not folder.is_dir():
        make_private_folder(folder)
    for name, data in artifacts.items():
        target = folder / name.replace("/", "-")
        try:
            with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE), "wb") as stream:
                stream.write(data)
        except FileExistsError:
            raise UsageError(f"{target}: is there already; choose another folder") from None
        click.echo(f"wrote {printable(str(target))}", err=True)


def _subtitles(app: App, path: str, form: str) -> str:
    found = app.documents.transcript(path)
    if found is None or not found[0].segments:
        raise UsageError(_explain_missing_transcript(app, app.documents.show(path)))
    transcript, names = found
    return (srt if form == "srt" else vtt)(transcript.segments, names)


def _explain_missing_transcript(app: App, details: dict[str, Any]) -> str:
    path, kind = printable(details["file"]["path"]), details["file"]["kind"]
    if kind not in (Kind.AUDIO, Kind.VIDEO):
        return f"{path}: only recordings and videos have subtitles, and this is of kind {kind}"
    rows = {digest["digester"]: digest for digest in details["digests"]}
    transcripts = [rows[name] for name in app.rules.of_form(Form.TRANSCRIPT) if name in rows]
    recognition = transcripts[0] if transcripts else None
    if recognition is not None and recognition["status"] == "completed":
        return f"{path}: nothing is said in it"
    if recognition is not None and recognition["status"] == "failed":
        return f"{path}: it has no transcript: {printable(recognition['error'])}"
    return f"{path}: it has no transcript yet; 'chyme digest' makes it"


def _print_lines(lines: list[str]) -> None:
    for line in lines if not sys.stdout.isatty() else lines[:40]:
        click.echo("  " + printable(line))
    if sys.stdout.isatty() and len(lines) > 40:
        click.echo(f"  … {len(lines) - 40} more lines; --json shows all")
