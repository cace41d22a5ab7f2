"""chyme ai: which models are used, what they cost, and how to pause them."""

from __future__ import annotations

from dataclasses import asdict

import click

from chyme.application.spending import GROUPINGS, CallTotals
from chyme.doors.cli.formatting import format_count
from chyme.doors.cli.vault_options import (
    GroupOptions,
    group_options,
    open_vault,
    print_json,
    printable,
    vault_group,
)
from chyme.models.providers.call_ledger import ProviderStatus


@vault_group
def ai(options: GroupOptions) -> None:
    """Show which models are used and what they cost; pause and resume them.

    PROVIDER is how its settings begin: llm, vision, speech or embedding.
    """
    _print_status(options)


@ai.command()
@group_options
def status(options: GroupOptions) -> None:
    """Show how each configured model stands: ready, paused, resting after failures, or its budget spent."""
    _print_status(options)


@ai.command()
@click.argument("provider", required=False)
@group_options
def pause(options: GroupOptions, provider: str | None) -> None:
    """Make no call to a model, or to any, until `resume`. Everything else goes on, with local rules."""
    with open_vault(options.vault) as app:
        names = app.spending.pause(provider)
    if options.as_json:
        print_json({"paused": names})
    else:
        click.echo(f"paused: {', '.join(names)}; calls under way end by themselves. 'chyme ai resume' lets them go on")


@ai.command()
@click.argument("provider", required=False)
@group_options
def resume(options: GroupOptions, provider: str | None) -> None:
    """Allow calls again, also to a model that is resting after failures; what was made without it is made again."""
    with open_vault(options.vault) as app:
        names, count = app.spending.resume(provider)
    if options.as_json:
        print_json({"resumed": names, "digests": count})
    else:
        click.echo(
            f"goes on: {', '.join(names)}; {format_count(count, 'digest')} will be made again by 'chyme digest' or "
            "'chyme serve'"
        )


@ai.command()
@click.option("--by", type=click.Choice(GROUPINGS), default="provider", help="What to add up by.")
@click.option("--days", type=click.IntRange(min=1), default=30, help="How far to look back.")
@group_options
def spend(options: GroupOptions, by: str, days: int) -> None:
    """Add up calls, tokens and cost."""
    with open_vault(options.vault) as app:
        totals = app.spending.call_totals(by, days)
    if options.as_json:
        print_json({"by": by, "days": days, "spend": [asdict(total) for total in totals]})
        return
    if not totals:
        click.echo(f"no model was asked in the last {'day' if days == 1 else f'{days} days'}")
        return
    click.echo(f"{'calls':>8}{'failed':>8}{'tokens in':>12}{'out':>10}{'seconds':>10}{'US$':>10}  {by}")
    for total in totals:
        click.echo(_format_total(total))


def _format_total(total: CallTotals) -> str:
    cost = "?" if total.cost is None else f"{total.cost:.4f}"
    counts = f"{total.calls:>8,}{total.failed:>8,}{total.tokens_in:>12,}{total.tokens_out:>10,}"
    return f"{counts}{total.seconds:>10,.1f}{cost:>10}  {printable(total.name)}"


def _print_status(options: GroupOptions) -> None:
    with open_vault(options.vault) as app:
        statuses = app.spending.provider_statuses()
        private, problem = app.private.patterns, app.private.problem
    if options.as_json:
        providers = [{"model": model, **asdict(status)} for model, status in statuses]
        print_json({"providers": providers, "private_patterns": private})
        return
    if not statuses:
        click.echo("no model is configured: local rules are used. docs/models.md explains how to configure one")
    for model, status in statuses:
        for line in _format_status(status, model):
            click.echo(printable(line))
    if problem:
        click.echo(printable(problem))
    if private:
        keep = "keeps" if private == 1 else "keep"
        click.echo(f"{format_count(private, 'pattern')} in .chymeprivate {keep} files away from models")


def _format_status(status: ProviderStatus, model: str) -> list[str]:
    lines = [f"{status.name:<8}{status.state:<9}{model}"]
    if reason := pause_reason(status):
        until = f"; until {status.until}" if status.until else ""
        lines.append(f"        {reason}{until}")
    limit = status.allowance.calls
    calls = (
        f"{status.spent.calls:,} of {format_count(limit, 'call')}"
        if limit
        else format_count(status.spent.calls, "call")
    )
    lines.append(
        f"        today: {calls}, {format_count(status.spent.tokens, 'token')}, "
        f"{status.spent.cost:.4f} dollars where prices are known; {status.in_flight} under way"
    )
    if status.waiting:
        lines.append(f"        {describe_fallback(status, 'it')}")
    return lines


def pause_reason(status: ProviderStatus) -> str | None:
    """Return why the model is not called; None when it is."""
    if status.reason is None or status.state == "ready":
        return None
    return f"paused {status.reason.replace(', ', ' ')}" if status.state == "paused" else status.reason


def describe_fallback(status: ProviderStatus, model_name: str) -> str:
    """Describe what local rules made instead of this model, and when that is made again."""
    automatic = status.waiting - status.for_person
    count = automatic or status.for_person
    made = f"{format_count(count, 'digest')} {'was' if count == 1 else 'were'} made"
    sentence = f"{made} without {model_name} and will be made again"
    if not status.for_person:
        return sentence
    return (
        f"{sentence}; {status.for_person:,} only by 'chyme retry'" if automatic else f"{sentence} only by 'chyme retry'"
    )
