"""chyme workers: the machines that take attempts from this vault, as its server sees them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from chyme.application.settings import read_settings
from chyme.core.files.vault_folder import STATE
from chyme.doors.cli.vault_options import find_state_folder, find_vault, print_json, printable, vault_options
from chyme.doors.local_socket.client import ask_server
from chyme.errors import UsageError

HEADINGS = ("NAME", "HOST", "VERSION", "DOING NOW", "DONE", "FAILED", "LOST", "HEARD", "")
NUMBERS = frozenset({4, 5, 6})  # columns
ANSWER_SECONDS = 5.0  # the server has the answer in its memory


@click.command()
@vault_options
def workers(vault: Path | None, as_json: bool) -> None:
    """Show the workers on other machines: what each does, how it did so far, and why some work fits none of them."""
    answer = _ask(vault)
    if answer is None:
        raise UsageError(_explain_silence(find_vault(vault)))
    if as_json:
        print_json(answer)
        return
    if not answer.get("enabled"):
        click.echo(
            "workers are not set up: everything is digested on this machine (the setting workers_url changes that)"
        )
        return
    for line in format_workers(answer):
        click.echo(line)


def describe_in_a_line(vault: Path | None) -> tuple[dict[str, Any] | None, str | None]:
    """What the server says of its workers, for `chyme status`: the figures, and a line. None where none are set up."""
    answer = _ask(vault)
    if answer is None:
        return None, "set up, but no server gives them work" if _is_set_up(find_vault(vault)) else None
    if not answer.get("enabled"):
        return None, None
    figures = ("connected", "problem", "live", "silent", "set_aside", "running", "unfit", "summary")
    return {name: answer[name] for name in figures}, str(answer["summary"])


def _ask(vault: Path | None) -> dict[str, Any] | None:
    return ask_server(find_state_folder(vault), {"about": "workers"}, ANSWER_SECONDS)


def _is_set_up(root: Path) -> bool:
    return bool(read_settings(root.resolve() / STATE, os.environ).workers_url)


def _explain_silence(root: Path) -> str:
    if not _is_set_up(root):
        return (
            f"{root}: no server runs on this vault, and workers are not set up for it; set workers_url, "
            "then start 'chyme serve'"
        )
    return f"{root}: no server runs on this vault, so nothing is known of its workers; start 'chyme serve'"


def format_workers(report: Mapping[str, Any]) -> list[str]:
    """Return the lines for people: a summary, a table, and what fits no worker or waits."""
    lines = [printable(str(report["summary"]))]
    found = report["workers"]
    if found:
        lines += ["", *_format_table([HEADINGS, *map(_row, found)])]
    aside = [worker for worker in found if worker["set_aside"]]
    if aside:
        lines += ["", *(printable(f"{worker['name']} is set aside: {worker['set_aside']}") for worker in aside)]
    if report["fit"]:
        lines += ["", *map(printable, report["fit"])]
    if report["waiting"]:
        lines += ["", "waiting: " + ", ".join(f"{count} × {name}" for name, count in report["waiting"].items())]
    return lines


def _row(worker: Mapping[str, Any]) -> tuple[str, ...]:
    doing = "; ".join(map(_describe_run, worker["running"])) or "nothing"
    fields = (
        *(worker["name"], worker["host"], worker["version"], doing),
        *(worker["done"], worker["failed"], worker["lost"]),
        f"{worker['heard_seconds_ago']:.0f} s ago",
        worker["state"] if worker["state"] != "live" else "",
    )
    return tuple(printable(str(field)) for field in fields)


def _describe_run(run: Mapping[str, Any]) -> str:
    if run["seconds"] is None:
        return f"{run['digester']} of {run['path']}, receiving"
    return f"{run['digester']} of {run['path']}, {run['fraction']:.0%}, {run['seconds']:.0f} s"


def _format_table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{field:>{width}}" if number in NUMBERS else f"{field:<{width}}"
            for number, (field, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
