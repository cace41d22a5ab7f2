"""chyme add and links: put links into the vault, and keep the pages behind the links in a text."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click

from chyme.doors.cli.vault_options import open_vault, print_json, printable, vault_options
from chyme.vault.intake.links import add_links
from chyme.vault.intake.text_links import FOLDER, keep_links, links_of


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
def add(urls: tuple[str, ...], name: str | None, folder: str, vault: Path | None, as_json: bool) -> None:
    """Put links into the vault, to be crawled with the next digestion; - reads them from standard input, one a line."""
    is_given = vault is not None or bool(os.environ.get("CHYME_VAULT"))
    with open_vault(vault, create=is_given) as app:
        target = app.vault.relative(folder) if folder else ""
        links = add_links(app.open_vault, list(_read_urls(urls)), name, target)
    if as_json:
        print_json({"links": [{"url": link.url, "path": link.path, "created": link.created} for link in links]})
        return
    for link in links:
        click.echo(f"{'added' if link.created else 'already there:'} {printable(link.path)}")
    if any(link.created for link in links):
        click.echo("'chyme digest' or a running 'chyme serve' fetches what is new")


def _read_urls(urls: tuple[str, ...]) -> Iterator[str]:
    for url in urls:
        if url != "-":
            yield url
            continue
        for line in click.open_file("-", encoding="utf-8", errors="surrogateescape"):
            if line.strip() and not line.lstrip().startswith("#"):
                yield line
