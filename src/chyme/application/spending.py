"""Which models are asked, what that costs, and the button that stops it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from chyme.core.store.models.calls import CallTotals
from chyme.errors import UsageError
from chyme.model import iso
from chyme.models.providers.call_ledger import CallLedger, ProviderStatus


class Spending:
    """What people ask and decide about the models of one vault."""

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
        """Each configured model in words, and how it stands; none where nothing leaves this machine."""
        models = self._models()
        return [(models[one.name], one) for one in self._ledger.statuses(sorted(models))]

    def call_totals(self, by: str, days: int) -> list[CallTotals]:
        """Calls, tokens and cost of the last days, added up by provider, model, digester, file or day."""
        return self._ledger.accounts(by, iso(self._clock() - timedelta(days=days)))

    def pause(self, provider: str | None) -> list[str]:
        """Make no call of a model, or of any, until `resume`. Returns which ones."""
        names = self._meant(provider)
        self._ledger.pause(names)
        return names

    def resume(self, provider: str | None) -> tuple[list[str], int]:
        """Let calls go on. Returns to which models, and how many digests will be made again."""
        names = self._meant(provider)
        count = self._ledger.resume(names)
        self._wake()
        return names, count

    def _meant(self, provider: str | None) -> list[str]:
        known = sorted(self._models())
        if provider is None and known:
            return known
        if provider not in known:
            there = f"there are: {', '.join(known)}" if known else "none is configured"
            raise UsageError(f"there is no model called {provider!r}; {there}" if provider else f"no model: {there}")
        return [provider]
