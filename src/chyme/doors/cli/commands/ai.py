"""chyme ai: which models are asked, what that costs, and the button that stops it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from chyme.core.store.models.calls import BY, Account
from chyme.doors.cli.group_options import Asked, asked_options
from chyme.doors.cli.plurals import counted
from chyme.doors.cli.vault_options import opened, printable, tell, vault_options
from chyme.models.providers.call_ledger import Standing


@click.group(invoke_without_command=True)
@vault_options
@click.pass_context
def ai(ctx: click.Context, vault: Path | None, as_json: bool) -> None:
    """Tell which models are asked and what they cost; pause them, let them go on.

    PROVIDER is how its settings begin: llm, vision, speech or embedding.
    """
    ctx.obj = Asked(vault, as_json)
    if ctx.invoked_subcommand is None:
        _status(ctx.obj)


@ai.command()
@asked_options
def status(asked: Asked) -> None:
    """Show how each configured model stands: ready, paused, resting after failures, or its budget spent."""
    _status(asked)


@ai.command()
@click.argument("provider", required=False)
@asked_options
def pause(asked: Asked, provider: str | None) -> None:
    """Make no call of a model, or of any, until `resume`. Everything else goes on, by local rules."""
    with opened(asked.vault) as app:
        names = app.spending.pause(provider)
    if asked.as_json:
        tell({"paused": names})
    else:
        click.echo(f"paused: {', '.join(names)}; calls under way end by themselves. 'chyme ai resume' lets them go on")


@ai.command()
@click.argument("provider", required=False)
@asked_options
def resume(asked: Asked, provider: str | None) -> None:
    """Let calls go on, also to a model that is resting after failures; what was made without it is made again."""
    with opened(asked.vault) as app:
        names, count = app.spending.resume(provider)
    if asked.as_json:
        tell({"resumed": names, "digests": count})
    else:
        click.echo(
            f"goes on: {', '.join(names)}; {counted(count, 'digest')} will be made again by 'chyme digest' or "
            "'chyme serve'"
        )


@ai.command()
@click.option("--by", type=click.Choice(sorted(BY)), default="provider", help="What to add up by.")
@click.option("--days", type=click.IntRange(min=1), default=30, help="How far to look back.")
@asked_options
def spend(asked: Asked, by: str, days: int) -> None:
    """Add up calls, tokens and cost."""
    with opened(asked.vault) as app:
        found = app.spending.accounts(by, days)
    if asked.as_json:
        tell({"by": by, "days": days, "spend": [asdict(one) for one in found]})
        return
    if not found:
        click.echo(f"no model was asked in the last {'day' if days == 1 else f'{days} days'}")
        return
    click.echo(f"{'calls':>8}{'failed':>8}{'tokens in':>12}{'out':>10}{'seconds':>10}{'US$':>10}  {by}")
    for one in found:
        click.echo(_line(one))


def _line(one: Account) -> str:
    cost = "?" if one.cost is None else f"{one.cost:.4f}"
    counts = f"{one.calls:>8,}{one.failed:>8,}{one.tokens_in:>12,}{one.tokens_out:>10,}"
    return f"{counts}{one.seconds:>10,.1f}{cost:>10}  {printable(one.name)}"


def _status(asked: Asked) -> None:
    with opened(asked.vault) as app:
        found = app.spending.standings()
        private, problem = app.private.patterns, app.private.problem
    if asked.as_json:
        shapes = [{"model": model, **asdict(one)} for model, one in found]
        tell({"providers": shapes, "private_patterns": private})
        return
    if not found:
        click.echo("no model is configured: local rules serve. docs/models.md tells how to have one")
    for model, one in found:
        for line in _told(one, model):
            click.echo(printable(line))
    if problem:
        click.echo(printable(problem))
    if private:
        keep = "keeps" if private == 1 else "keep"
        click.echo(f"{counted(private, 'pattern')} in .chymeprivate {keep} files away from models")


def _told(one: Standing, model: str) -> list[str]:
    lines = [f"{one.name:<8}{one.state:<9}{model}"]
    if why := why_not(one):
        until = f"; until {one.until}" if one.until else ""
        lines.append(f"        {why}{until}")
    most = one.allowance.calls
    calls = f"{one.spent.calls:,} of {counted(most, 'call')}" if most else counted(one.spent.calls, "call")
    lines.append(
        f"        today: {calls}, {counted(one.spent.tokens, 'token')}, "
        f"{one.spent.cost:.4f} dollars where prices are known; {one.in_flight} under way"
    )
    if one.waiting:
        lines.append(f"        {made_without(one, 'it')}")
    return lines


def why_not(one: Standing) -> str | None:
    """Why the model is not asked; None when it is."""
    if one.reason is None or one.state == "ready":
        return None
    return f"paused {one.reason.replace(', ', ' ')}" if one.state == "paused" else one.reason


def made_without(one: Standing, called: str) -> str:
    """What local rules made instead of this model, and what becomes of that."""
    by_itself = one.waiting - one.for_person
    count = by_itself or one.for_person
    told = f"{counted(count, 'digest')} {'was' if count == 1 else 'were'} made without {called} and will be made again"
    if not one.for_person:
        return told
    return f"{told}; {one.for_person:,} only by 'chyme retry'" if by_itself else f"{told} only by 'chyme retry'"
