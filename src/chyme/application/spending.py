"""Reports model calls and their cost, and pauses and resumes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from chyme.core.store.models.calls import GROUP_COLUMNS, CallTotals, DayTotals
from chyme.errors import UsageError
from chyme.model import iso
from chyme.models.providers.call_ledger import CallLedger, ProviderStatus

__all__ = ["GROUPINGS", "CallTotals", "DayTotals", "Spending"]

GROUPINGS = tuple(sorted(GROUP_COLUMNS))  # by what calls can be summed


class Spending:
    """What users see and decide about the models of one vault."""

    def __init__(
        self,
        ledger: CallLedger,
        models: Callable[[], Mapping[str, str]],
        clock: Callable[[], datetime],
        wake: Callable[[], None],
    ) -> None:
        self._ledger = ledger
        self._models = models
        self._clock = clock
        self._wake = wake

    def provider_statuses(self) -> list[tuple[str, ProviderStatus]]:
        """Return the description and status of each configured model; empty if no data leaves this machine."""
        models = self._models()
        return [(models[status.name], status) for status in self._ledger.statuses(sorted(models))]

    def call_totals(self, by: str, days: int) -> list[CallTotals]:
        """Return calls, tokens and cost of the last days, summed by provider, model, digester, file or day."""
        return self._ledger.accounts(by, iso(self._clock() - timedelta(days=days)))

    def daily_totals(self, days: int) -> list[DayTotals]:
        """Return calls, tokens and cost of the last days, by day and provider."""
        return self._ledger.accounts_by_day(iso(self._clock() - timedelta(days=days)))

    def pause(self, provider: str | None) -> list[str]:
        """Stop calls of one model (None: all) until `resume`. Return the paused models."""
        names = self._resolve(provider)
        self._ledger.pause(names)
        return names

    def resume(self, provider: str | None) -> tuple[list[str], int]:
        """Allow calls again. Return the models, and how many digests will be made again."""
        names = self._resolve(provider)
        count = self._ledger.resume(names)
        self._wake()
        return names, count

    def _resolve(self, provider: str | None) -> list[str]:
        known = sorted(self._models())
        if provider is None and known:
            return known
        if provider not in known:
            available = f"there are: {', '.join(known)}" if known else "none is configured"
            raise UsageError(
                f"there is no model called {provider!r}; {available}" if provider else f"no model: {available}"
            )
        return [provider]
