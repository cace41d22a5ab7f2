"""chyme digest: scan for new files and digest until nothing is due."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from chyme.application.app import App
from chyme.application.digestion import Progress as DigestionProgress
from chyme.application.settings import Settings
from chyme.application.weights_fetching import fetch_permitted, may_fetch, missing_weights
from chyme.core.clock import now
from chyme.doors.cli.commands.ai import describe_fallback, pause_reason
from chyme.doors.cli.formatting import format_count, format_failures
from chyme.doors.cli.vault_options import open_vault, print_json, printable, vault_options
from chyme.doors.cli.weights_progress import WeightsBar
from chyme.errors import EngineUnavailable
from chyme.model import Digest, iso
from chyme.vault.watch.pending_files import ScanReport

SHOWN = 20


@click.command()
@click.argument("paths", nargs=-1)
@click.option("--no-wait", is_flag=True, help="Do not wait for failed digests to be tried again.")
@click.option("--fetch-weights", is_flag=True, help="Fetch the weights of models that are missing first.")
@vault_options
@click.pass_context
def digest(
    ctx: click.Context,
    paths: tuple[str, ...],
    no_wait: bool,
    fetch_weights: bool,
    vault: Path | None,
    as_json: bool,
) -> None:
    """Scan the vault, or the given files and folders, and digest until nothing is due."""
    started_at = iso(now())
    with open_vault(vault, create=True) as app:
        console = Console(stderr=True)
        for problem in app.problems:
            console.print(printable(problem), style="yellow", markup=False, soft_wrap=True)
        for problem in _prepare_weights(app.settings, fetch_weights):
            console.print(printable(problem), style="yellow", markup=False, soft_wrap=True)
        inside_paths = [app.vault.relative(path) for path in paths]
        file_ids = None
        if inside_paths:
            report = _scan(app, inside_paths, console)
            file_ids = frozenset(file.id for file in app.open_vault.files_below(inside_paths))
            work = app.start(follow=False, only_files=file_ids)
        else:
            work = app.start(follow=False)  # the first files are digested while the scan goes on
            report = _scan(app, inside_paths, console)
        with _create_bar(console) as bar:
            remaining = work.drain(wait=not no_wait, report=_create_watcher(bar))
        app.search_index.finish_embedder_migration()
        search_problem = app.search_index.catch_up()
        if search_problem:
            console.print(f"{printable(search_problem)}; it gets the rest later", style="yellow", markup=False)
        failed = [d for d in app.failures_since(started_at) if file_ids is None or d.file_id in file_ids]
        if as_json:
            print_json({"scan": vars(report), **app.documents.status(), "failed": [_failure_json(d) for d in failed]})
        else:
            _print_summary(app, report, failed, remaining, console)
    ctx.exit(1 if failed else 0)


def _prepare_weights(settings: Settings, fetch: bool) -> list[str]:
    """Fetch missing weights if that was asked for. Returns what to tell about those that are missing."""
    missing = missing_weights(settings)
    problems: list[str] = []
    if fetch:
        with WeightsBar() as bar:
            for weights in missing:
                try:
                    fetch_permitted(weights, settings, bar.begin(weights))
                except EngineUnavailable as error:
                    problems.append(str(error))
                finally:
                    bar.end(weights)
    elif missing and may_fetch(settings):
        names, size = ", ".join(weights.capability for weights in missing), sum(weights.bytes for weights in missing)
        problems.append(
            f"the weights of models for {names} are missing, and everything else works; --fetch-weights or "
            f"'chyme weights' fetches them once ({size / 1e6:.0f} MB)"
        )
    return problems


def _scan(app: App, inside_paths: Sequence[str], console: Console) -> ScanReport:
    with console.status("looking through the vault …") as spinner:
        report = app.scan_and_settle(inside_paths, lambda n: spinner.update(f"looking through the vault … {n:,} files"))
    for folder in report.unreadable:
        console.print(
            f"cannot be read, left as it is: {printable(folder)}", style="yellow", markup=False, soft_wrap=True
        )
    return report


def _create_bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[now]}"),
        console=console,
        transient=True,
        refresh_per_second=4,
        disable=not sys.stderr.isatty(),
    )


def _create_watcher(bar: Progress) -> Callable[[DigestionProgress], None]:
    task = bar.add_task("digesting", total=0, now="")
    highest = 0

    def watch(progress: DigestionProgress) -> None:
        nonlocal highest
        left = progress.todo + progress.later + progress.running + progress.again
        highest = max(highest, left)
        current = next(iter(progress.work), None)
        text = f"{printable(current[0])}: {current[1]}" if current else ""
        if not progress.running and progress.again:
            text = f"waiting to try {progress.again} again, next at {progress.next_retry}"
        bar.update(task, total=highest, completed=highest - left, now=progress.paused or text[-60:])

    return watch


def _failure_json(digest: Digest) -> dict[str, object]:
    return {
        "path": digest.file_path,
        "digester": digest.digester,
        "error": digest.error,
        "error_category": digest.error_category,
        "attempts": digest.attempts,
    }


def _print_summary(
    app: App, report: ScanReport, failed: list[Digest], remaining: DigestionProgress, console: Console
) -> None:
    changes = [
        f"{count} {word}"
        for count, word in (
            (report.new, "new"),
            (report.changed, "changed"),
            (report.moved, "moved"),
            (report.vanished, "vanished"),
        )
        if count
    ]
    status = app.documents.status()
    digests = status["digests"]
    click.echo(f"files: {status['files']}" + (f" ({', '.join(changes)})" if changes else ""))
    click.echo(f"digests: {digests['completed']} completed, {digests['skipped']} skipped, {digests['failed']} failed")
    if remaining.again:
        click.echo(f"{remaining.again} will be tried again; the next at {remaining.next_retry}")
    for _, provider in app.spending.provider_statuses():
        if provider.waiting:
            reason = pause_reason(provider)
            click.echo(
                describe_fallback(provider, f"{provider.name} ({printable(reason)})" if reason else provider.name)
            )
    if remaining.moving == 1:
        click.echo("1 file is still being written; run this again when it is whole")
    elif remaining.moving:
        click.echo(f"{remaining.moving:,} files are still being written; run this again when they are whole")
    lines = format_failures(failed)
    for line in lines[:SHOWN]:
        console.print(line, style="red", markup=False, soft_wrap=True)
    if len(lines) > SHOWN:
        click.echo(f"… and {format_count(len(lines) - SHOWN, 'file')} more; 'chyme status' shows them all", err=True)
