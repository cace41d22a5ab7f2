"""chyme ask: a question in words, answered from the files, each sentence with its places."""

from __future__ import annotations

import os
from pathlib import Path

import click

from chyme.answers.conversation import (
    NOT_FOUND,
    Answer,
    Began,
    Event,
    Question,
    Sentence,
    notes_for_people,
)
from chyme.answers.conversation import as_json as shape
from chyme.doors.cli.places import describe_place
from chyme.doors.cli.vault_options import open_vault, print_json, printable, vault_options
from chyme.models.providers.cancellation import CallCancellation


@click.command(context_settings={"ignore_unknown_options": True})  # -word excludes that word
@click.argument("question", nargs=-1, required=True)
@click.option("--file", "paths", multiple=True, metavar="PATH", help="Only in this file; may be given several times.")
@click.option("--quote", is_flag=True, help="Ask no model: quote the best sentences themselves.")
@vault_options
def ask(question: tuple[str, ...], paths: tuple[str, ...], quote: bool, vault: Path | None, as_json: bool) -> None:
    """Answer a question from the files of the vault. Filters work as in chyme search."""
    with open_vault(vault) as app:
        chosen = tuple(app.vault.relative(path) for path in paths) if paths else None
        asked = Question(" ".join(question), (), chosen)
        cancellation = CallCancellation()
        show = (lambda _event: None) if as_json else _show
        try:
            answer = app.answering.answer(asked, show, cancellation, quote)
        except BaseException:
            cancellation.cancel()
            raise
    if as_json:
        print_json(shape(answer))


def _show(event: Event) -> None:
    if isinstance(event, Began) and event.model:
        _print_styled(
            printable(f"{event.model} reads {event.files} {'file' if event.files == 1 else 'files'}"), dim=True
        )
    elif isinstance(event, Sentence):
        _show_sentence(event)
    elif isinstance(event, Answer):
        if not event.found:
            click.echo(NOT_FOUND)
        for note in notes_for_people(event):
            _print_styled(printable(note), fg="yellow")


def _show_sentence(sentence: Sentence) -> None:
    if not sentence.supported:
        _print_styled(printable(f"[struck: {sentence.reason}] {sentence.text}"), dim=True)
        return
    click.echo(printable(sentence.text))
    for citation in sentence.citations:
        where = describe_place(citation.place, citation.person, citation.path)
        line = f"    {citation.path}" + (f", {where}" if where else "")
        _print_styled(printable(line), fg="cyan")


def _print_styled(line: str, *, dim: bool = False, fg: str | None = None) -> None:
    color = False if os.environ.get("NO_COLOR") else None
    click.echo(click.style(line, dim=dim or None, fg=fg), color=color)
