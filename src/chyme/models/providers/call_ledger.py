"""The ledger between digesters and models: budgets, pauses, rest after failures, and replies already paid for."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from sqlite3 import Connection

from chyme.core.store import digest_queue, vault_properties
from chyme.core.store.models import calls, fallbacks, providers
from chyme.core.store.models.calls import CallTotals, DayTotals, Spending
from chyme.core.store.models.providers import Provider
from chyme.core.store.sqlite.database import Database
from chyme.errors import BY_CATEGORY, BudgetSpent, Category, DigestError, EngineUnavailable, RateLimited
from chyme.model import CallEnd, File, Kind, Lane, Question, Reply, Stamp, Ticket, iso
from chyme.models.providers.availability import (
    LONGEST_WAIT,
    RESTS,
    after_answer,
    after_failure,
    rest_seconds,
    schedule_call,
    start_probe,
)
from chyme.models.providers.daily_budget import Allowance, budget_day, find_spent_budget

log = logging.getLogger(__name__)

BATCH = 200  # digests requeued together
PATIENCE = 3  # after so many rests in a row, no one at the screen is made to wait for the provider
SOON = timedelta(minutes=3)
PERSONS_WAIT = 1.0  # seconds a person's question may wait for its turn
ASKED = "your question"
PERSON = File(0, ASKED, ASKED, Kind.OTHER, "", Stamp("", "", 0, 0), "", 0)  # stands in for the file where there is none


@dataclass(frozen=True, slots=True)
class ProviderStatus:
    """The status of one provider, for display."""

    name: str
    state: str  # ready, paused, resting, spent
    reason: str | None
    until: str | None
    spent: Spending
    allowance: Allowance
    renews: str
    in_flight: int
    waiting: int  # digests that were made without it
    for_person: int = 0  # of these, how many are redone only when a person asks for it


class CallLedger:
    """What calls cost and whether they may be made. The state is in the database, so every process sees the same."""

    def __init__(
        self,
        database: Database,
        clock: Callable[[], datetime],
        allowances: Mapping[str, Allowance],
        private: Callable[[str], bool] = lambda _path: False,
        local_providers: Collection[str] = (),
        max_attempts: int = 3,
    ) -> None:
        self._database = database
        self._clock = clock
        self._allowances = allowances
        self._private = private
        self._local_providers = local_providers
        self._max_attempts = max_attempts

    def is_private(self, file: File, provider: str | None) -> bool:
        """Whether this provider must not see the file. A local one may: nothing leaves this machine."""
        return provider is not None and provider not in self._local_providers and self._private(file.path)

    def calls_for(self, file: File, digester: str, run_id: str) -> AttemptCalls:
        """The calls of one attempt."""
        return AttemptCalls(self, file, digester, run_id)

    def calls_for_search(self) -> AttemptCalls:
        """The calls for a person's question. Neither the question nor the answers are stored."""
        return AttemptCalls(self, PERSON, calls.SEARCH, calls.SEARCH)

    def calls_for_answer(self) -> AttemptCalls:
        """The calls that answer a person's question. Neither the question nor the answers are stored."""
        return AttemptCalls(self, PERSON, calls.ASK, calls.ASK)

    def calls_for_trial(self) -> TrialCalls:
        """The calls that try settings before they are stored. They count, but say nothing about the stored ones."""
        return TrialCalls(self, PERSON, calls.TRIAL, calls.TRIAL, just_answered=True)

    def adopt(self, allowances: Mapping[str, Allowance], local_providers: Collection[str]) -> None:
        """From the next call on, these limits apply."""
        self._allowances, self._local_providers = allowances, local_providers

    def allowance(self, provider: str) -> Allowance:
        return self._allowances.get(provider, Allowance())

    def begin(
        self, question: Question, file: File, digester: str, run_id: str, just_answered: bool = False
    ) -> Ticket | Reply:
        """See `Calls`. `just_answered`: the provider just answered this attempt, so a rest does not apply."""
        if file is not PERSON and not question.own and self._private(file.path):
            raise EngineUnavailable(
                f"{file.name}: is private (.chymeprivate) and stays on this machine; {question.model} was not asked"
            )
        reply = calls.find_unused_reply(self._database.read(), file.id, digester, question.hash)
        if reply is not None:
            return reply
        now = self._clock()

        def request_permission(db: Connection) -> Ticket | DigestError:
            provider = providers.get(db, question.provider)
            refusal = self._refusal(db, provider, file, now, just_answered)
            if refusal is not None:
                return refusal
            following, wait = schedule_call(provider, self.allowance(provider.name).per_second, now)
            if wait > (PERSONS_WAIT if file is PERSON else LONGEST_WAIT):
                return RateLimited(
                    f"{file.name}: waits its turn; {provider.name}_calls_per_second allows more",
                    retry_after=wait,
                    tried=False,
                )
            following = start_probe(following, file.id, now)
            if following != provider:
                providers.put(db, following)
            return Ticket(calls.begin(db, question, digester, file.id or None, run_id, iso(now)), wait)

        permission = self._database.write(request_permission)
        if isinstance(permission, DigestError):
            raise permission
        return permission

    def _refusal(
        self, db: Connection, provider: Provider, file: File, now: datetime, just_answered: bool = False
    ) -> DigestError | None:
        name = provider.name
        if provider.paused_at is not None:
            return BudgetSpent(f"{file.name}: calls of {name} are paused; 'chyme ai resume {name}' lets them go on")
        rest = rest_seconds(provider, now)
        if rest is not None and not just_answered:
            error = BY_CATEGORY[Category(provider.category or Category.NETWORK)]
            return error(f"{file.name}: {provider.reason}; it is left alone for a while", retry_after=rest, tried=False)
        spent_budget = self._find_spent_budget(db, name, now)
        if spent_budget is None:
            return None
        _, ends = budget_day(now)
        return BudgetSpent(
            f"{file.name}: the day's budget of {spent_budget} for {name} is spent; it renews at {ends:%Y-%m-%d %H:%M}",
            retry_after=(ends - now).total_seconds(),
        )

    def require_available(self, name: str, file: File, digester: str) -> None:
        """Raise what `begin` would raise, before a call is prepared; not if the reply is already stored."""
        db = self._database.read()
        if not calls.has_unused_reply(db, file.id, digester):
            refusal = self._refusal(db, providers.get(db, name), file, self._clock())
            if refusal is not None:
                raise refusal

    def end(self, ticket: Ticket, end: CallEnd) -> None:
        self._database.write(lambda db: calls.end(db, ticket.id, end), len(end.reply.body) if end.reply else 0)

    def answered(self, name: str) -> None:
        """Record that the provider answered; digests that waited for it continue."""
        before = providers.get(self._database.read(), name)
        if not before.failures and not before.open:
            return
        now = iso(self._clock())

        def record(db: Connection) -> int:
            provider = providers.get(db, name)
            providers.put(db, after_answer(provider))
            if not provider.open:
                return 0
            return fallbacks.requeue_failed(db, name, provider.since or now, self._max_attempts, now)

        requeued = self._database.write(record)
        if before.open:
            log.warning("%s answers again; %d digests made without it will be made again", name, requeued)

    def failed(self, name: str, error: DigestError, outage: bool, file: File) -> None:
        """Record a failure. A person's question has little time: that it was not answered in time proves nothing."""
        if file is PERSON and not outage and not providers.get(self._database.read(), name).open:
            return
        now = self._clock()
        reason = str(error).removeprefix(f"{file.name}: ")

        def record(db: Connection) -> Provider:
            before = providers.get(db, name)
            after = after_failure(before, error.category, reason, error.retry_after, outage, file.id, now)
            providers.put(db, after)
            return before

        before = self._database.write(record)
        if outage and not before.open:
            log.warning("%s: %s", name, reason)

    def retry_terms(self, name: str, error: DigestError, outage: bool) -> tuple[float | None, bool]:
        """When to retry after this failure, and whether the attempt counts: not while the provider is at fault.

        `outage`: whether this call failed because of the provider. A question that fails by itself always counts.
        """
        rest = rest_seconds(providers.get(self._database.read(), name), self._clock())
        if rest is None or error.category not in RESTS:
            return error.retry_after, error.tried
        return max(rest, error.retry_after or 0.0), error.tried and not outage

    def _find_spent_budget(self, db: Connection, name: str, now: datetime) -> str | None:
        allowance = self.allowance(name)
        if not (allowance.calls or allowance.tokens or allowance.cost):
            return None
        return find_spent_budget(allowance, calls.sum_spending(db, name, iso(budget_day(now)[0])))

    def pause(self, names: list[str]) -> None:
        """Make no calls until `resume`. Calls under way are not interrupted."""
        now = iso(self._clock())

        def record(db: Connection) -> None:
            for name in names:
                provider = providers.get(db, name)
                providers.put(db, replace(provider, paused_at=provider.paused_at or now))

        self._database.write(record)

    def resume(self, names: list[str]) -> int:
        """Allow calls again, also to a resting provider. Returns how many digests will be redone."""
        now = iso(self._clock())

        def record(db: Connection) -> int:
            count = 0
            for name in names:
                provider = providers.get(db, name)
                providers.put(db, replace(provider, paused_at=None, until=None))
                count += fallbacks.requeue_waiting(db, name, now)
            return count

        return self._database.write(record)

    def requeue_after_changes(self, fingerprints: Mapping[str, str]) -> None:
        """At start and after a change, requeue digests made without a model that has changed or is gone.

        If only its budget changed, requeue those that wait for the budget.
        """
        db, now = self._database.read(), iso(self._clock())
        names = sorted({*fingerprints, *fallbacks.list_awaited_providers(db)})
        current = {name: (fingerprints.get(name, ""), repr(self.allowance(name))) for name in names}
        changed = {
            name: fingerprint_and_budget
            for name, fingerprint_and_budget in current.items()
            if vault_properties.value_of(db, _property_name(name)) != json.dumps(fingerprint_and_budget)
        }
        if not changed:
            return

        def record(db: Connection) -> None:
            for name, (fingerprint, allowance) in changed.items():
                before = json.loads(vault_properties.value_of(db, _property_name(name)) or '["", ""]')
                provider = providers.get(db, name)
                if before[0] != fingerprint:
                    providers.put(db, Provider(name, paused_at=provider.paused_at))
                    fallbacks.requeue_all(db, name, now)
                elif before[1] != allowance:
                    fallbacks.renew_budget(db, name, now)
                vault_properties.put(db, _property_name(name), json.dumps((fingerprint, allowance)))

        self._database.write(record)

    def wake(self, moved: Callable[[Connection, int], None], among: Collection[int] | None = None) -> int:
        """Requeue digests that were made without a model and may have it now. Returns how many.

        While a provider rests, one at a time; while a budget allows only a few, only so many; and never more than can
        start soon. `moved` is called for each file, in the same transaction.
        """
        now = self._clock()
        due = fallbacks.list_due_providers(self._database.read(), iso(now), among)
        if not due:
            return 0

        def requeue(db: Connection) -> int:
            count = 0
            for name in due:
                requeued = fallbacks.requeue_due(db, name, iso(now), self._requeue_limit(db, name, now), among)
                for file_id in requeued:
                    moved(db, file_id)
                count += sum(requeued.values())
            return count

        return self._database.write(requeue)

    def _requeue_limit(self, db: Connection, name: str, now: datetime) -> int:
        """How many digests may be requeued now."""
        provider = providers.get(db, name)
        if provider.paused_at is not None or rest_seconds(provider, now) is not None:
            return 0
        limit, allowance = 1 if provider.open else BATCH, self.allowance(name)
        if self._find_spent_budget(db, name, now) is not None:
            return 0
        if allowance.calls:
            limit = min(limit, allowance.calls - calls.sum_spending(db, name, iso(budget_day(now)[0])).calls)
        if allowance.per_second:
            limit = min(limit, max(1, round(allowance.per_second * LONGEST_WAIT)))
        return max(0, limit - digest_queue.count_under_way(db, Lane.MODEL, BATCH))

    def count_due_soon(self, among: Collection[int] | None = None) -> tuple[int, str | None]:
        """How many digests wait for a model that may be back in a moment, and when the next of them is tried."""
        db, now = self._database.read(), self._clock()
        count, first = 0, None
        for name, waiting, due in fallbacks.waiting_until(db, iso(now + SOON), among):
            provider = providers.get(db, name)
            retry_at = max(due, provider.until or due) if provider.open else due
            hopeless = provider.open and provider.category == Category.UNAVAILABLE  # until a person corrects something
            away = hopeless or provider.trips > PATIENCE or provider.paused_at is not None or retry_at > iso(now + SOON)
            if not away and self._find_spent_budget(db, name, now) is None:
                count, first = count + waiting, min(first or retry_at, retry_at)
        return count, first

    def statuses(self, names: list[str]) -> list[ProviderStatus]:
        """The status of each provider, for display."""
        now = self._clock()
        began, ends = budget_day(now)
        provider_statuses = []
        with self._database.snapshot() as db:
            for name in names:
                provider, spending = providers.get(db, name), calls.sum_spending(db, name, iso(began))
                state, reason, until = self._describe_state(provider, spending, now)
                provider_statuses.append(
                    ProviderStatus(
                        *(name, state, reason, until, spending, self.allowance(name), iso(ends)),
                        *(calls.count_in_flight(db, name), *fallbacks.count_waiting(db, name)),
                    )
                )
        return provider_statuses

    def _describe_state(
        self, provider: Provider, spending: Spending, now: datetime
    ) -> tuple[str, str | None, str | None]:
        if provider.paused_at is not None:
            return "paused", f"by you, at {provider.paused_at}", None
        spent_budget = find_spent_budget(self.allowance(provider.name), spending)
        if spent_budget is not None:
            return "spent", f"the day's budget of {spent_budget} is spent", iso(budget_day(now)[1])
        if provider.open:
            return "resting", provider.reason, provider.until
        return "ready", provider.reason, None

    def accounts_by_day(self, since: str) -> list[DayTotals]:
        return calls.totals_by_day(self._database.read(), since)

    def accounts(self, by: str, since: str) -> list[CallTotals]:
        return calls.totals_by(self._database.read(), by, since)


def _property_name(name: str) -> str:
    return f"model {name}"


@dataclass(slots=True)
class AttemptCalls:
    """The calls of one attempt at one digest."""

    ledger: CallLedger
    file: File
    digester: str
    run_id: str
    outage: bool = True  # whether the last failure was the provider's fault
    just_answered: bool = False  # whether the last call was answered

    def begin(self, question: Question) -> Ticket | Reply:
        return self.ledger.begin(question, self.file, self.digester, self.run_id, self.just_answered)

    def end(self, ticket: Ticket, end: CallEnd) -> None:
        self.just_answered = end.outcome == "answered"
        self.ledger.end(ticket, end)

    def require_available(self, provider: str) -> None:
        self.ledger.require_available(provider, self.file, self.digester)

    def retry_terms(self, provider: str, error: DigestError) -> tuple[float | None, bool]:
        return self.ledger.retry_terms(provider, error, self.outage)

    def answered(self, provider: str) -> None:
        self.ledger.answered(provider)

    def failed(self, provider: str, error: DigestError, outage: bool) -> None:
        self.outage = outage
        self.ledger.failed(provider, error, outage, self.file)


class TrialCalls(AttemptCalls):
    """The calls of a trial. Whether they are answered changes nothing for the calls of digesters."""

    __slots__ = ()

    def answered(self, provider: str) -> None:
        """Nothing: other settings may be in use."""

    def failed(self, provider: str, error: DigestError, outage: bool) -> None:
        """Nothing: other settings may be in use."""
