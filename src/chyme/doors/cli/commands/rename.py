"""chyme rename: descriptive names for files that were named by a camera, a scanner or a program."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from chyme.doors.cli.vault_options import open_vault, print_json, printable, vault_options
from chyme.understanding.rename_proposals import FileRenamer, Proposal, RenameResult


@click.command()
@click.argument("paths", nargs=-1)
@click.option("--accept", is_flag=True, help="Rename the files.")
@click.option("--undo", is_flag=True, help="Take back what was accepted last, or the last name of the given files.")
@vault_options
@click.pass_context
def rename(
    ctx: click.Context, paths: tuple[str, ...], accept: bool, undo: bool, vault: Path | None, as_json: bool
) -> None:
    """Propose names for files whose names say nothing, such as IMG_1234.jpg; with --accept, give them.

    Nothing is ever written over, and everything known about a file stays.
    """
    if accept and undo:
        raise click.UsageError("use --accept or --undo, not both")
    with open_vault(vault) as app:
        inside_paths = [app.vault.relative(path) for path in paths]
        renamer = FileRenamer(app.open_vault)
        if accept or undo:
            _print_results(ctx, as_json, renamer.accept(inside_paths) if accept else renamer.undo(inside_paths))
        else:
            _print_proposals(as_json, renamer.proposals(inside_paths))


def _print_proposals(as_json: bool, proposals: list[Proposal]) -> None:
    if as_json:
        print_json({"proposals": [asdict(proposal) for proposal in proposals]})
        return
    for proposal in proposals:
        click.echo(f"{printable(proposal.path)} → {printable(_file_name(proposal.becomes))}")
        click.echo(f"    {proposal.said_by}: “{printable(proposal.title)}”")
    if proposals:
        click.echo("'chyme rename --accept' renames them; '--undo' takes it back")
    else:
        click.echo("nothing to propose: every name is a person's, or nothing better is known")


def _print_results(ctx: click.Context, as_json: bool, results: list[RenameResult]) -> None:
    if as_json:
        print_json({"renamed": [asdict(result) for result in results]})
    else:
        for result in results:
            if result.problem is None:
                click.echo(f"{printable(result.path)} → {printable(_file_name(result.becomes))}")
            else:
                click.echo(f"{printable(result.path)}: {printable(result.problem)}", err=True)
        if not results:
            click.echo("nothing to rename")
    ctx.exit(1 if any(result.problem for result in results) else 0)


def _file_name(path: str) -> str:
    return path.rpartition("/")[2]
