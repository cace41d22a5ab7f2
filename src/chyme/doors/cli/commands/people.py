"""chyme people: who is heard in the vault, and how to name, merge and split people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

import click

from chyme.application.app import App
from chyme.doors.cli.vault_options import (
    GroupOptions,
    group_options,
    open_vault,
    print_json,
    printable,
    vault_group,
)
from chyme.speech.people.edits import DecisionResult
from chyme.speech.people.edits import as_json as shape
from chyme.text.display import format_time


@vault_group
def people(options: GroupOptions) -> None:
    """Show who is heard in the vault; name people, and correct who is who.

    PERSON is a number, a name or a word of it; VOICE is a number, or a file and its speaker: talk.mp3:speaker-2.
    """
    _print_people(options)


@people.command("list")
@group_options
def list_(options: GroupOptions) -> None:
    """List all people, named ones first."""
    _print_people(options)


@people.command()
@click.argument("person")
@group_options
def show(options: GroupOptions, person: str) -> None:
    """Show where a person is heard, and their first words there."""
    with open_vault(options.vault) as app:
        found = app.people.show(person)
    details = shape(found.person)
    if options.as_json:
        print_json({"person": details, "voices": [asdict(voice) for voice in found.voices]})
        return
    click.echo(f"{printable(str(details['called']))} (person {details['id']}): {_format_amount(details)}")
    for voice in found.voices:
        click.echo(f"{voice.id:>6}  {printable(voice.path)}:{printable(voice.speaker)}  {format_time(voice.seconds)}")
        if voice.words:
            click.echo(f"        “{printable(voice.words)}”")


@people.command()
@click.argument("person")
@click.argument("name")
@group_options
def name(options: GroupOptions, person: str, name: str) -> None:
    """Give a person a name. Search finds all their files by it."""
    _decide(options, lambda app: app.people.name(person, name))


@people.command()
@click.argument("person")
@group_options
def unname(options: GroupOptions, person: str) -> None:
    """Remove a person's name."""
    _decide(options, lambda app: app.people.remove_name(person))


@people.command()
@click.argument("person")
@click.argument("others", nargs=-1, required=True, metavar="OTHER…")
@group_options
def merge(options: GroupOptions, person: str, others: tuple[str, ...]) -> None:
    """Merge people into one; the first keeps the name."""
    _decide(options, lambda app: app.people.merge(person, others))


@people.command()
@click.argument("person")
@click.argument("voices", nargs=-1, required=True, metavar="VOICE…")
@group_options
def split(options: GroupOptions, person: str, voices: tuple[str, ...]) -> None:
    """Move these voices of a person to one new person."""
    _decide(options, lambda app: app.people.split(person, [_resolve_voice(app, voice) for voice in voices]))


@people.command()
@click.argument("voice")
@click.argument("person", metavar="PERSON|new")
@group_options
def move(options: GroupOptions, voice: str, person: str) -> None:
    """Set whose voice this is: a known person's, or a new one's."""
    _decide(options, lambda app: app.people.move(_resolve_voice(app, voice), person))


@people.command()
@click.argument("person")
@group_options
def remove(options: GroupOptions, person: str) -> None:
    """Forget a named person who is no longer heard anywhere."""
    _decide(options, lambda app: app.people.remove(person))


@people.command()
@group_options
def undo(options: GroupOptions) -> None:
    """Undo the last of these decisions; run it again for the one before."""
    _decide(options, lambda app: app.people.undo(), prefix="undone: ")


def _print_people(options: GroupOptions) -> None:
    with open_vault(options.vault) as app:
        persons = [shape(person) for person in app.people.list_people()]
    if options.as_json:
        print_json({"people": persons})
        return
    if not persons:
        click.echo("nobody was heard yet")
        return
    width = max(len(printable(str(person["called"]))) for person in persons)
    for person in persons:
        click.echo(f"{person['id']:>6}  {printable(str(person['called'])):<{width}}  {_format_amount(person)}")


def _format_amount(person: dict[str, object]) -> str:
    voices, files = person["voices"], person["files"]
    amount = f"{voices} {'voice' if voices == 1 else 'voices'} in {files} {'file' if files == 1 else 'files'}"
    return f"{amount}, {format_time(float(str(person['seconds'])))}" if voices else "heard nowhere"


def _decide(options: GroupOptions, decide: Callable[[App], DecisionResult], prefix: str = "") -> None:
    with open_vault(options.vault) as app:
        result = decide(app)
    if options.as_json:
        print_json({"done": prefix + result.what, "person": shape(result.person) if result.person else None})
    else:
        click.echo(printable(prefix + result.what))


def _resolve_voice(app: App, voice: str) -> str:
    """Return a voice with its file's path as the vault knows it."""
    path, colon, speaker = voice.rpartition(":")
    return f"{app.vault.relative(path)}:{speaker}" if colon else voice
