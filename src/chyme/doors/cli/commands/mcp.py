"""chyme mcp: let an assistant on this machine search and read the vault."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from chyme.doors.cli.vault_options import open_vault, printable, vault_options


@click.command()
@vault_options
def mcp(vault: Path | None, as_json: bool) -> None:
    """Answer an assistant over standard input and output (Model Context Protocol). Read only; digests nothing."""
    from chyme.doors.mcp.server import run_stdio  # imported here: it takes as long as all other imports together

    with open_vault(vault) as app:
        for problem in app.problems:
            click.echo(printable(problem), err=True)
        with contextlib.suppress(KeyboardInterrupt):
            run_stdio(app)
