"""Stands between digesters and models: budgets, pauses, rest after failures, and what was paid for before."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from sqlite3 import Connection

from chyme.core.store import digest_queue, vault_properties
from chyme.core.store.models import calls, fallbacks, providers
from chyme.core.store.models.calls import CallTotals, Spending
from chyme.core.store.models.providers import Provider
from chyme.core.store.sqlite.database import Database
from chyme.errors import BY_CATEGORY, BudgetSpent, Category, DigestError, EngineUnavailable, RateLimited
from chyme.model import CallEnd, File, Kind, Lane, Question, Reply, Stamp, Ticket, iso
from chyme.models.providers.availability import (
    LONGEST_WAIT,
    Allowance,
    RestPeriods,
    after_answer,
    after_failure,
    budget_day,
    find_spent_budget,
    rest_seconds,
    schedule_call,
    start_probe,
)

log = logging.getLogger(__name__)

BATCH = 200  # digests that are woken together
PATIENCE = 3  # trips after which nobody waits in front of the screen for a provider to return
SOON = timedelta(minutes=3)
PERSONS_WAIT = 1.0  # seconds a person's question may wait for its turn
ASKED = "your question"
PERSON = File(0, ASKED, ASKED, Kind.OTHER, "", Stamp("", "", 0, 0), "", 0)  # stands for the file where there is none


@dataclass(frozen=True, slots=True)
class ProviderStatus:
    """How one provider stands, for people."""

    name: str
    state: str  # ready, paused, resting, spent
    reason: str | None
    until: str | None
    spent: Spending
    allowance: Allowance
    renews: str
    in_flight: int
    waiting: int  # digests that were made without it
    for_person: int = 0  # of these, how many are made again only when a person asks for it


class CallLedger:
    """What calls cost and whether they may be made. All of it is in the database: every process sees the same."""

    def __init__(
        self,
        database: Database,
        clock: Callable[[], datetime],
        allowances: Mapping[str, Allowance],
        private: Callable[[str], bool] = lambda _path: False,
        rests: RestPeriods | None = None,
        own: Collection[str] = (),
        max_attempts: int = 3,
    ) -> None:
        self._database = database
        self._clock = clock
        self._allowances = allowances
        self._rests = rests or RestPeriods()
        self._private = private
        self._own = own
        self._max_attempts = max_attempts

    def is_private(self, file: File, provider: str | None) -> bool:
        """Whether this provider must not see the file. One that runs here may: nothing leaves this machine."""
        return provider is not None and provider not in self._own and self._private(file.path)

    def calls_for(self, file: File, digester: str, run_id: str) -> AttemptCalls:
        """The counter for one attempt."""
        return AttemptCalls(self, file, digester, run_id)

    def calls_for_search(self) -> AttemptCalls:
        """The counter for what a person asks. Answers are not kept, and nothing that was asked is."""
        return AttemptCalls(self, PERSON, calls.SEARCH, calls.SEARCH)

    def allowance(self, provider: str) -> Allowance:
        return self._allowances.get(provider, Allowance())

    def begin(self, question: Question, file: File, digester: str, run_id: str, lively: bool = False) -> Ticket | Reply:
        """See `Calls`. `lively`: it answered this very attempt a moment ago, so that it need not be left alone."""
        if file is not PERSON and not question.own and self._private(file.path):
            raise EngineUnavailable(
                f"{file.name}: is private (.chymeprivate) and stays on this machine; {question.model} was not asked"
            )
        reply = calls.find_unused_reply(self._database.read(), file.id, digester, question.hash)
        if reply is not None:
            return reply
        now = self._clock()

        def take_leave(db: Connection) -> Ticket | DigestError:
            provider = providers.get(db, question.provider)
            refused = self._refusal(db, provider, file, now, lively)
            if refused is not None:
                return refused
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

        leave = self._database.write(take_leave)
        if isinstance(leave, DigestError):
            raise leave
        return leave

    def _refusal(
        self, db: Connection, provider: Provider, file: File, now: datetime, lively: bool = False
    ) -> DigestError | None:
        name = provider.name
        if provider.paused_at is not None:
            return BudgetSpent(f"{file.name}: calls of {name} are paused; 'chyme ai resume {name}' lets them go on")
        rest = rest_seconds(provider, now)
        if rest is not None and not lively:
            error = BY_CATEGORY[Category(provider.category or Category.NETWORK)]
            return error(f"{file.name}: {provider.reason}; it is left alone for a while", retry_after=rest, tried=False)
        began, ends = budget_day(now)
        what = self._spent(db, name, began)
        if what is None:
            return None
        return BudgetSpent(
            f"{file.name}: the day's budget of {what} for {name} is spent; it renews at {ends:%Y-%m-%d %H:%M}",
            retry_after=(ends - now).total_seconds(),
        )

    def require_available(self, name: str, file: File, digester: str) -> None:
        """Raise what `begin` would, before anything is made ready for a call; unless its answer is there already."""
        db = self._database.read()
        if not calls.has_unused_reply(db, file.id, digester):
            refused = self._refusal(db, providers.get(db, name), file, self._clock())
            if refused is not None:
                raise refused

    def end(self, ticket: Ticket, end: CallEnd) -> None:
        self._database.write(lambda db: calls.end(db, ticket.id, end), len(end.reply.body) if end.reply else 0)

    def answered(self, name: str) -> None:
        """It is well; what waited for it goes on."""
        before = providers.get(self._database.read(), name)
        if not before.failures and not before.open:
            return
        now = iso(self._clock())

        def note(db: Connection) -> int:
            provider = providers.get(db, name)
            providers.put(db, after_answer(provider))
            if not provider.open:
                return 0
            return fallbacks.requeue_failed(db, name, provider.since or now, self._max_attempts, now)

        forgiven = self._database.write(note)
        if before.open:
            log.warning("%s answers again; %d digests made without it will be made again", name, forgiven)

    def failed(self, name: str, error: DigestError, outage: bool, file: File) -> None:
        """It failed. A person is impatient: that their question was not answered in time says nothing yet."""
        if file is PERSON and not outage and not providers.get(self._database.read(), name).open:
            return
        now = self._clock()
        reason = str(error).removeprefix(f"{file.name}: ")

        def note(db: Connection) -> Provider:
            before = providers.get(db, name)
            after = after_failure(before, error.category, reason, error.retry_after, outage, file.id, now, self._rests)
            providers.put(db, after)
            return before

        before = self._database.write(note)
        if outage and not before.open:
            log.warning("%s: %s", name, reason)

    def retry_terms(self, name: str, error: DigestError, outage: bool) -> tuple[float | None, bool]:
        """When to try again after this failure, and whether the attempt counts: not while the provider is at fault.

        `outage`: whether this very call failed so. A question that fails by itself counts, whoever else fails.
        """
        rest = rest_seconds(providers.get(self._database.read(), name), self._clock())
        if rest is None or error.category not in self._rests.seconds:
            return error.retry_after, error.tried
        return max(rest, error.retry_after or 0.0), error.tried and not outage

    def _spent(self, db: Connection, name: str, began: datetime) -> str | None:
        """Which of the day's budgets is spent; None when there is none, or something left."""
        allowance = self.allowance(name)
        if not (allowance.calls or allowance.tokens or allowance.cost):
            return None
        used = calls.sum_spending(db, name, iso(began))
        return find_spent_budget(allowance, used.calls, used.tokens, used.cost)

    def pause(self, names: list[str]) -> None:
        """Make no call until somebody lets them go on. Calls under way end by themselves."""
        now = iso(self._clock())

        def note(db: Connection) -> None:
            for name in names:
                provider = providers.get(db, name)
                providers.put(db, replace(provider, paused_at=provider.paused_at or now))

        self._database.write(note)

    def resume(self, names: list[str]) -> int:
        """Let calls go on, also to a provider that was left alone. Returns how many digests will be made again."""
        now = iso(self._clock())

        def note(db: Connection) -> int:
            count = 0
            for name in names:
                provider = providers.get(db, name)
                providers.put(db, replace(provider, paused_at=None, until=None))
                count += fallbacks.requeue_waiting(db, name, now)
            return count

        return self._database.write(note)

    def requeue_after_changes(self, fingerprints: Mapping[str, str]) -> None:
        """When chyme starts: where a model is another one than before, or none, what was made without it is due; where
        its budget is another one, what waits for that."""
        db, now = self._database.read(), iso(self._clock())
        names = sorted({*fingerprints, *fallbacks.list_awaited_providers(db)})
        told = {name: (fingerprints.get(name, ""), repr(self.allowance(name))) for name in names}
        changed = {
            name: one for name, one in told.items() if vault_properties.value_of(db, _mark(name)) != json.dumps(one)
        }
        if not changed:
            return

        def note(db: Connection) -> None:
            for name, (fingerprint, allowance) in changed.items():
                before = json.loads(vault_properties.value_of(db, _mark(name)) or '["", ""]')
                provider = providers.get(db, name)
                if before[0] != fingerprint:
                    providers.put(db, Provider(name, paused_at=provider.paused_at))
                    fallbacks.requeue_all(db, name, now)
                elif before[1] != allowance:
                    fallbacks.renew_budget(db, name, now)
                vault_properties.put(db, _mark(name), json.dumps((fingerprint, allowance)))

        self._database.write(note)

    def wake(self, moved: Callable[[Connection, int], None], among: Collection[int] | None = None) -> int:
        """Make again what was made without a model and may have it now. Returns how many digests.

        While a provider is left alone, one at a time; while a budget allows only a few, only so many; and never more
        than can be begun soon. `moved` is told of each file, in the same transaction.
        """
        now = self._clock()
        due = fallbacks.list_due_providers(self._database.read(), iso(now), among)
        if not due:
            return 0

        def wake_all(db: Connection) -> int:
            count = 0
            for name in due:
                woken = fallbacks.requeue_due(db, name, iso(now), self._room(db, name, now), among)
                for file_id in woken:
                    moved(db, file_id)
                count += sum(woken.values())
            return count

        return self._database.write(wake_all)

    def _room(self, db: Connection, name: str, now: datetime) -> int:
        """How many digests may be made again now."""
        provider = providers.get(db, name)
        if provider.paused_at is not None or rest_seconds(provider, now) is not None:
            return 0
        most, allowance = 1 if provider.open else BATCH, self.allowance(name)
        if self._spent(db, name, budget_day(now)[0]) is not None:
            return 0
        if allowance.calls:
            most = min(most, allowance.calls - calls.sum_spending(db, name, iso(budget_day(now)[0])).calls)
        if allowance.per_second:
            most = min(most, max(1, round(allowance.per_second * LONGEST_WAIT)))
        return max(0, most - digest_queue.count_under_way(db, Lane.MODEL, BATCH))

    def count_due_soon(self, among: Collection[int] | None = None) -> tuple[int, str | None]:
        """How many digests wait for a model that may be back in a moment, and when the next of them is tried."""
        db, now = self._database.read(), self._clock()
        count, first = 0, None
        for name, waiting, due in fallbacks.waiting_until(db, iso(now + SOON), among):
            provider = providers.get(db, name)
            at = max(due, provider.until or due) if provider.open else due
            hopeless = provider.open and provider.category == Category.UNAVAILABLE  # until a person corrects something
            away = hopeless or provider.trips > PATIENCE or provider.paused_at is not None or at > iso(now + SOON)
            if not away and self._spent(db, name, budget_day(now)[0]) is None:
                count, first = count + waiting, min(first or at, at)
        return count, first

    def statuses(self, names: list[str]) -> list[ProviderStatus]:
        """How the providers stand, for people."""
        now = self._clock()
        began, ends = budget_day(now)
        told = []
        with self._database.snapshot() as db:
            for name in names:
                provider, used = providers.get(db, name), calls.sum_spending(db, name, iso(began))
                state, reason, until = self._told(provider, used, now)
                told.append(
                    ProviderStatus(
                        *(name, state, reason, until, used, self.allowance(name), iso(ends)),
                        *(calls.count_in_flight(db, name), *fallbacks.count_waiting(db, name)),
                    )
                )
        return told

    def _told(self, provider: Provider, used: Spending, now: datetime) -> tuple[str, str | None, str | None]:
        if provider.paused_at is not None:
            return "paused", f"by you, at {provider.paused_at}", None
        what = find_spent_budget(self.allowance(provider.name), used.calls, used.tokens, used.cost)
        if what is not None:
            return "spent", f"the day's budget of {what} is spent", iso(budget_day(now)[1])
        if provider.open:
            return "resting", provider.reason, provider.until
        return "ready", provider.reason, None

    def accounts(self, by: str, since: str) -> list[CallTotals]:
        return calls.totals_by(self._database.read(), by, since)


def _mark(name: str) -> str:
    return f"model {name}"


@dataclass(slots=True)
class AttemptCalls:
    """The calls of one attempt at one digest."""

    ledger: CallLedger
    file: File
    digester: str
    run_id: str
    outage: bool = True  # whether the last failure was the provider's own
    lively: bool = False  # whether the last call was answered

    def begin(self, question: Question) -> Ticket | Reply:
        return self.ledger.begin(question, self.file, self.digester, self.run_id, self.lively)

    def end(self, ticket: Ticket, end: CallEnd) -> None:
        self.lively = end.outcome == "answered"
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
