"""chyme ai: which models are asked, what that costs, and the button that stops it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from chyme.core.store.models.calls import GROUP_COLUMNS, CallTotals
from chyme.doors.cli.group_options import GroupOptions, group_options
from chyme.doors.cli.plurals import format_count
from chyme.doors.cli.vault_options import open_vault, print_json, printable, vault_options
from chyme.models.providers.call_ledger import ProviderStatus


@click.group(invoke_without_command=True)
@vault_options
@click.pass_context
def ai(ctx: click.Context, vault: Path | None, as_json: bool) -> None:
    """Tell which models are asked and what they cost; pause them, let them go on.

    PROVIDER is how its settings begin: llm, vision, speech or embedding.
    """
    ctx.obj = GroupOptions(vault, as_json)
    if ctx.invoked_subcommand is None:
        _status(ctx.obj)


@ai.command()
@group_options
def status(asked: GroupOptions) -> None:
    """Show how each configured model stands: ready, paused, resting after failures, or its budget spent."""
    _status(asked)


@ai.command()
@click.argument("provider", required=False)
@group_options
def pause(asked: GroupOptions, provider: str | None) -> None:
    """Make no call of a model, or of any, until `resume`. Everything else goes on, by local rules."""
    with open_vault(asked.vault) as app:
        names = app.spending.pause(provider)
    if asked.as_json:
        print_json({"paused": names})
    else:
        click.echo(f"paused: {', '.join(names)}; calls under way end by themselves. 'chyme ai resume' lets them go on")


@ai.command()
@click.argument("provider", required=False)
@group_options
def resume(asked: GroupOptions, provider: str | None) -> None:
    """Let calls go on, also to a model that is resting after failures; what was made without it is made again."""
    with open_vault(asked.vault) as app:
        names, count = app.spending.resume(provider)
    if asked.as_json:
        print_json({"resumed": names, "digests": count})
    else:
        click.echo(
            f"goes on: {', '.join(names)}; {format_count(count, 'digest')} will be made again by 'chyme digest' or "
            "'chyme serve'"
        )


@ai.command()
@click.option("--by", type=click.Choice(sorted(GROUP_COLUMNS)), default="provider", help="What to add up by.")
@click.option("--days", type=click.IntRange(min=1), default=30, help="How far to look back.")
@group_options
def spend(asked: GroupOptions, by: str, days: int) -> None:
    """Add up calls, tokens and cost."""
    with open_vault(asked.vault) as app:
        found = app.spending.accounts(by, days)
    if asked.as_json:
        print_json({"by": by, "days": days, "spend": [asdict(one) for one in found]})
        return
    if not found:
        click.echo(f"no model was asked in the last {'day' if days == 1 else f'{days} days'}")
        return
    click.echo(f"{'calls':>8}{'failed':>8}{'tokens in':>12}{'out':>10}{'seconds':>10}{'US$':>10}  {by}")
    for one in found:
        click.echo(_line(one))


def _line(one: CallTotals) -> str:
    cost = "?" if one.cost is None else f"{one.cost:.4f}"
    counts = f"{one.calls:>8,}{one.failed:>8,}{one.tokens_in:>12,}{one.tokens_out:>10,}"
    return f"{counts}{one.seconds:>10,.1f}{cost:>10}  {printable(one.name)}"


def _status(asked: GroupOptions) -> None:
    with open_vault(asked.vault) as app:
        found = app.spending.standings()
        private, problem = app.private.patterns, app.private.problem
    if asked.as_json:
        shapes = [{"model": model, **asdict(one)} for model, one in found]
        print_json({"providers": shapes, "private_patterns": private})
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
        click.echo(f"{format_count(private, 'pattern')} in .chymeprivate {keep} files away from models")


def _told(one: ProviderStatus, model: str) -> list[str]:
    lines = [f"{one.name:<8}{one.state:<9}{model}"]
    if why := pause_reason(one):
        until = f"; until {one.until}" if one.until else ""
        lines.append(f"        {why}{until}")
    most = one.allowance.calls
    calls = f"{one.spent.calls:,} of {format_count(most, 'call')}" if most else format_count(one.spent.calls, "call")
    lines.append(
        f"        today: {calls}, {format_count(one.spent.tokens, 'token')}, "
        f"{one.spent.cost:.4f} dollars where prices are known; {one.in_flight} under way"
    )
    if one.waiting:
        lines.append(f"        {describe_fallback(one, 'it')}")
    return lines


def pause_reason(one: ProviderStatus) -> str | None:
    """Why the model is not asked; None when it is."""
    if one.reason is None or one.state == "ready":
        return None
    return f"paused {one.reason.replace(', ', ' ')}" if one.state == "paused" else one.reason


def describe_fallback(one: ProviderStatus, called: str) -> str:
    """What local rules made instead of this model, and what becomes of that."""
    by_itself = one.waiting - one.for_person
    count = by_itself or one.for_person
    made = f"{format_count(count, 'digest')} {'was' if count == 1 else 'were'} made"
    told = f"{made} without {called} and will be made again"
    if not one.for_person:
        return told
    return f"{told}; {one.for_person:,} only by 'chyme retry'" if by_itself else f"{told} only by 'chyme retry'"
