"""chyme add and links: put links into the vault, and keep the pages behind the links in a text."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from chyme.doors.cli.vault_options import open_vault, print_json, printable, vault_options
from chyme.errors import UsageError
from chyme.vault.intake.links import add_links
from chyme.vault.intake.text_links import FOLDER, keep_links, links_of
from chyme.vault.intake.url_normalisation import address_of


@click.command()
@click.argument("path")
@click.option("--keep", is_flag=True, help="Write a link file for each of them that is not kept yet.")
@click.option("--url", "urls", multiple=True, help="Keep only this one; may be repeated. Implies --keep.")
@click.option("--folder", default=FOLDER, show_default=True, help="The folder of the vault that link files go to.")
@vault_options
def links(path: str, keep: bool, urls: tuple[str, ...], folder: str, vault: Path | None, as_json: bool) -> None:
    """List the links in a text of the vault; with --keep, have the pages behind them kept."""
    with open_vault(vault) as app:
        inside_path = app.vault.relative(path)
        if keep or urls:
            saved = keep_links(
                app.open_vault, inside_path, list(urls) or None, app.vault.relative(folder) if folder else ""
            )
            if as_json:
                print_json({"links": [asdict(result) for result in saved]})
                return
            for result in saved:
                click.echo(f"{'added' if result.created else 'already there:'} {printable(result.path)}")
            if any(result.created for result in saved):
                click.echo("'chyme digest' or a running 'chyme serve' fetches what is new")
            return
        text_links = links_of(app.open_vault, inside_path)
    if as_json:
        print_json({"links": [asdict(link) for link in text_links]})
        return
    for link in text_links:
        click.echo(f"{printable(link.url)}{f'  kept as {printable(link.path)}' if link.path else ''}")


@click.command()
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option("--name", help="What the file is called; else it is named after the address.")
@click.option("--folder", default="", help="The folder of the vault it is put into, made where it is missing.")
@vault_options
@click.pass_context
def add(
    ctx: click.Context, urls: tuple[str, ...], name: str | None, folder: str, vault: Path | None, as_json: bool
) -> None:
    """Put links into the vault, to be crawled with the next digestion; - reads them from standard input, one a line.

    Lines of standard input that are no address are reported with their numbers, and the rest is added.
    """
    is_given = vault is not None or bool(os.environ.get("CHYME_VAULT"))
    addresses, bad_lines = _read_addresses(urls)
    with open_vault(vault, create=is_given) as app:
        target = app.vault.relative(folder) if folder else ""
        links = add_links(app.open_vault, addresses, name, target) if addresses or not bad_lines else []
    if as_json:
        added = [{"url": link.url, "path": link.path, "created": link.created} for link in links]
        print_json({"links": added, "problems": [asdict(line) for line in bad_lines]})
    else:
        for link in links:
            click.echo(f"{'added' if link.created else 'already there:'} {printable(link.path)}")
        for line in bad_lines:
            click.echo(f"chyme: line {line.line}: {printable(line.problem)}", err=True)
        if any(link.created for link in links):
            click.echo("'chyme digest' or a running 'chyme serve' fetches what is new")
    ctx.exit(1 if bad_lines else 0)


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line of standard input that is no address."""

    line: int
    problem: str


def _read_addresses(urls: tuple[str, ...]) -> tuple[list[str], list[BadLine]]:
    """Return the addresses given, those of standard input in place of `-`, and the lines there that are none."""
    addresses: list[str] = []
    bad_lines: list[BadLine] = []
    for url in urls:
        if url != "-":
            addresses.append(url)
            continue
        lines = click.open_file("-", encoding="utf-8", errors="surrogateescape")
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            try:
                addresses.append(address_of(line))
            except UsageError as error:
                bad_lines.append(BadLine(number, str(error)))
    return addresses, bad_lines
