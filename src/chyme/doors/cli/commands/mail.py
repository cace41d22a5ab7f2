"""chyme mail: the mailbox whose messages become files."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from chyme.doors.cli.formatting import format_count
from chyme.doors.cli.vault_options import open_vault, print_json, printable, vault_options
from chyme.mailbox.mailbox import MailboxStatus


@click.command()
@click.option("--fetch", is_flag=True, help="Take new messages now, once.")
@click.option("--retry", is_flag=True, help="Try skipped messages again. Implies --fetch.")
@vault_options
def mail(fetch: bool, retry: bool, vault: Path | None, as_json: bool) -> None:
    """Show how the watched mailbox does; with --fetch, take its new messages into the vault."""
    with open_vault(vault) as app:
        if retry:
            app.mailbox.retry_skipped()
        report = app.mailbox.fetch() if fetch or retry else None
        status = app.mailbox.status()
    if as_json:
        print_json({**status.as_json(), **({"fetched": asdict(report)} if report is not None else {})})
        return
    if report is not None:
        click.echo(
            f"{format_count(report.messages, 'new message')}, {format_count(report.files, 'file')}, "
            f"{report.skipped:,} skipped"
        )
    for line in format_mailbox(status):
        click.echo(printable(line))


def format_mailbox(status: MailboxStatus) -> list[str]:
    """Return the lines for people: a summary, when it was fetched, and which messages had problems."""
    lines = [status.summary]
    if status.last_success:
        lines.append(f"last fetched {status.last_success[:16]}, next about {(status.next_attempt or '')[:16]}")
    for message in status.problems:
        kept = f" (kept as {message.path})" if message.path else ""
        state = {"failed": "is tried again", "skipped": "skipped"}.get(message.state, "taken")
        lines.append(f"message {message.uid} {state}{kept}: {message.problem}")
    return lines
