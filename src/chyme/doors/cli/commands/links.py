"""chyme links: the links in a text, and saving the pages behind them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from chyme.doors.cli.vault_options import open_vault, print_json, printable, vault_options
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
