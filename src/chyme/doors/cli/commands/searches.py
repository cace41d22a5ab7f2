"""chyme searches: saved searches, what is new to them, and their feeds."""

from __future__ import annotations

import click

from chyme.core.user_reference import UserReference
from chyme.doors.cli.account_options import open_accounts_of
from chyme.doors.cli.formatting import format_count
from chyme.doors.cli.vault_options import (
    GroupOptions,
    group_options,
    open_vault,
    print_json,
    printable,
    vault_group,
)
from chyme.search.saved_searches import MAX_COUNTED, search_json
from chyme.search.search import MODES, Mode

_user = click.option("--user", metavar="NAME", help="Whose they are; without it, those of the vault itself.")


@vault_group
def searches(options: GroupOptions) -> None:
    """Save searches, and see what is new to them since you last looked."""
    _print_searches(options, None)


@searches.command("list")
@_user
@group_options
def list_(options: GroupOptions, user: str | None) -> None:
    """List saved searches, with how many files are new to each."""
    _print_searches(options, user)


@searches.command()
@click.argument("name")
@click.argument("query", nargs=-1, required=True)
@click.option("--mode", type=click.Choice(MODES), default=MODES[0], show_default=True, help="What is compared.")
@_user
@group_options
def save(options: GroupOptions, name: str, query: tuple[str, ...], mode: Mode, user: str | None) -> None:
    """Save a search as NAME. What is there now counts as seen."""
    owner = _find_user(options, user)
    with open_vault(options.vault) as app:
        saved = app.saved_searches.save(name, " ".join(query), mode, owner)
    if options.as_json:
        print_json({"search": search_json(saved, 0)})
    else:
        click.echo(f"saved {printable(saved.name)}: {printable(saved.query)}")


@searches.command()
@click.argument("name")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, MAX_COUNTED), help="How many files.")
@click.option("--seen", is_flag=True, help="Mark them as seen afterwards.")
@_user
@group_options
def new(options: GroupOptions, name: str, limit: int, seen: bool, user: str | None) -> None:
    """Show the files that are new to a saved search, given by name or number."""
    owner = _find_user(options, user)
    with open_vault(options.vault) as app:
        saved = app.saved_searches.find_by_name(name, owner)
        files, count = app.saved_searches.new_files(saved, limit), app.saved_searches.count_new(saved)
        if seen:
            app.saved_searches.mark_seen(saved.id, saved.newest, owner)
    if options.as_json:
        listed = [{"path": file.card.path, "title": file.card.title, "arrived_at": file.at} for file in files]
        print_json({"search": search_json(saved, count), "files": listed})
        return
    for file in files:
        title = f"  {printable(file.card.title)}" if file.card.title != file.card.name else ""
        click.echo(f"{file.at[:16]}  {printable(file.card.path)}{title}")
    click.echo(f"{_format_new(count)} since {saved.seen_at[:16]}", err=True)


@searches.command()
@click.argument("name")
@_user
@group_options
def seen(options: GroupOptions, name: str, user: str | None) -> None:
    """Mark what is new to a saved search as seen."""
    owner = _find_user(options, user)
    with open_vault(options.vault) as app:
        saved = app.saved_searches.mark_seen(app.saved_searches.find_by_name(name, owner).id, None, owner)
    if options.as_json:
        print_json({"search": search_json(saved, 0)})
    else:
        click.echo(f"{printable(saved.name)}: nothing is new")


@searches.command()
@click.argument("name")
@click.argument("new_name")
@_user
@group_options
def rename(options: GroupOptions, name: str, new_name: str, user: str | None) -> None:
    """Rename a saved search."""
    owner = _find_user(options, user)
    with open_vault(options.vault) as app:
        saved = app.saved_searches.rename(app.saved_searches.find_by_name(name, owner).id, new_name, owner)
        count = app.saved_searches.count_new(saved)
    if options.as_json:
        print_json({"search": search_json(saved, count)})
    else:
        click.echo(f"it is called {printable(saved.name)} now")


@searches.command()
@click.argument("name")
@_user
@group_options
def delete(options: GroupOptions, name: str, user: str | None) -> None:
    """Delete a saved search; its feed ends with it."""
    owner = _find_user(options, user)
    with open_vault(options.vault) as app:
        saved = app.saved_searches.find_by_name(name, owner)
        app.saved_searches.delete(saved.id, owner)
    if options.as_json:
        print_json({"deleted": saved.name})
    else:
        click.echo(f"deleted {printable(saved.name)}")


@searches.command()
@click.argument("name")
@click.option("--revoke", is_flag=True, help="End the feed instead: its address opens nothing any more.")
@click.option("--server", default="", metavar="URL", help="The address of your server, to print the whole address.")
@_user
@group_options
def feed(options: GroupOptions, name: str, revoke: bool, server: str, user: str | None) -> None:
    """Make the address of an Atom feed of a saved search. It is shown this once; an earlier one ends."""
    owner = _find_user(options, user)
    with open_vault(options.vault) as app:
        saved = app.saved_searches.find_by_name(name, owner)
        if revoke:
            app.saved_searches.end_feed(saved.id, owner)
        secret = "" if revoke else app.saved_searches.make_feed(saved.id, owner)
    address = f"{server.rstrip('/')}/feeds/{secret}.atom" if secret else None
    if options.as_json:
        print_json({"feed": address})
        return
    click.echo(address or f"the feed of {printable(saved.name)} has ended")
    if address:
        hint = "" if server else "; put the address of your server before it"
        click.echo(f"keep it: it is shown this once{hint}", err=True)


def _print_searches(options: GroupOptions, user: str | None) -> None:
    owner = _find_user(options, user)
    with open_vault(options.vault) as app:
        listed = [(saved, app.saved_searches.count_new(saved)) for saved in app.saved_searches.list_all(owner)]
    if options.as_json:
        print_json({"searches": [search_json(saved, count) for saved, count in listed]})
        return
    if not listed:
        click.echo("no search is saved; 'chyme searches save NAME QUERY' saves one")
    for saved, count in listed:
        has_feed = ", has a feed" if saved.has_feed else ""
        click.echo(f"{saved.id:>6}  {printable(saved.name)}: {printable(saved.query)} ({_format_new(count)}{has_feed})")


def _format_new(count: int) -> str:
    return f"more than {MAX_COUNTED} new" if count >= MAX_COUNTED else f"{format_count(count, 'file')} new"


def _find_user(options: GroupOptions, name: str | None) -> UserReference | None:
    if name is None:
        return None
    with open_accounts_of(options) as authenticator:
        return authenticator.find_user(name)
