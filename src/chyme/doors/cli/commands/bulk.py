"""chyme bulk: digest many files again as a job, and see, pause or cancel such jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

import click

from chyme.application.app import App
from chyme.application.bulk_jobs import Job, Plan, Selection
from chyme.doors.cli.formatting import format_count
from chyme.doors.cli.vault_options import (
    GroupOptions,
    group_options,
    open_vault,
    print_json,
    printable,
    vault_group,
)
from chyme.model import Mode


@vault_group
def bulk(options: GroupOptions) -> None:
    """Digest many files again as a job; 'chyme digest' and a running 'chyme serve' work on it."""
    _print_jobs(options)


@bulk.command()
@click.argument("paths", nargs=-1)
@click.option("--query", help="The files that answer this question (docs/search.md).")
@click.option("--all", "everything", is_flag=True, help="All files.")
@click.option("--digester", "digesters", multiple=True, help="Only this digester; may be repeated.")
@click.option(
    "--mode",
    type=click.Choice([mode.value for mode in Mode]),
    default=Mode.RESET.value,
    show_default=True,
    help="Everything, what failed, what is old.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be done.")
@group_options
def start(
    options: GroupOptions,
    paths: tuple[str, ...],
    query: str | None,
    everything: bool,
    digesters: tuple[str, ...],
    mode: str,
    dry_run: bool,
) -> None:
    """Make digests of these files and folders, or of all that a question finds, again."""
    with open_vault(options.vault) as app:
        inside_paths = tuple(app.vault.relative(path) for path in paths) or None
        selection = Selection(query, inside_paths, None, everything)
        if dry_run:
            _print_plan(options, app.bulk.plan(selection, digesters or None, Mode(mode)))
        else:
            _print_job(options, app.bulk.start(selection, digesters or None, Mode(mode)))


@bulk.command("list")
@group_options
def list_(options: GroupOptions) -> None:
    """List current jobs, and recent finished ones."""
    _print_jobs(options)


@bulk.command()
@click.argument("job", type=click.IntRange(1))
@group_options
def pause(options: GroupOptions, job: int) -> None:
    """Start no more files of a job; those that are under way are finished."""
    _change_job(options, lambda app: app.bulk.pause(job))


@bulk.command()
@click.argument("job", type=click.IntRange(1))
@group_options
def resume(options: GroupOptions, job: int) -> None:
    """Go on with a paused job."""
    _change_job(options, lambda app: app.bulk.resume(job))


@bulk.command()
@click.argument("job", type=click.IntRange(1))
@group_options
def cancel(options: GroupOptions, job: int) -> None:
    """End a job; files that it has not started are left as they are."""
    _change_job(options, lambda app: app.bulk.cancel(job))


def _change_job(options: GroupOptions, change: Callable[[App], Job]) -> None:
    with open_vault(options.vault) as app:
        _print_job(options, change(app))


def _print_jobs(options: GroupOptions) -> None:
    with open_vault(options.vault) as app:
        jobs = app.bulk.list_jobs()
    if options.as_json:
        print_json({"jobs": [{**asdict(job), "left": job.left} for job in jobs]})
        return
    for job in jobs:
        click.echo(_format_job(job))
    if not jobs:
        click.echo("there are no jobs; 'chyme bulk start' starts one")


def _print_job(options: GroupOptions, job: Job) -> None:
    if options.as_json:
        print_json({"job": {**asdict(job), "left": job.left}})
        return
    click.echo(_format_job(job))
    if job.state == "running":
        click.echo("'chyme digest' or a running 'chyme serve' does it")


def _format_job(job: Job) -> str:
    counts = "".join(
        f", {count:,} {word}" for count, word in ((job.failed, "failed"), (job.left_out, "left out")) if count
    )
    done = f"{job.done:,} of {format_count(job.total, 'file')} done{counts}"
    return f"{job.id:>4}  {job.state:<10}{done}: {printable(job.what)}"


def _print_plan(options: GroupOptions, plan: Plan) -> None:
    if options.as_json:
        print_json({**asdict(plan), "dry_run": True})
        return
    for name, count in plan.by_digester.items():
        click.echo(f"{name:<28}{format_count(count, 'digest'):>16}")
    calls = "".join(f", up to {format_count(count, 'call')} of {name}" for name, count in plan.providers.items())
    click.echo(
        f"{format_count(plan.digests, 'digest')} of {format_count(plan.files, 'file')} would be made again{calls}"
    )
