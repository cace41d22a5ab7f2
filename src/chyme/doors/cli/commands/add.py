"""chyme add: put links into the vault."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import click

from chyme.doors.cli.vault_options import open_vault, print_json, printable, vault_options
from chyme.vault.intake.links import add_links


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
