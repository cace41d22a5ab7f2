"""Every call of a model, its cost, and paid responses that have not been used yet."""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Connection

from chyme.model import CallEnd, Question, Reply

NEVER_SENT = "unreachable"  # the provider did not receive it, so it costs nothing
SEARCH, ASK = "search", "ask"  # the digester's names for a person's question, which has no file
TRIAL = "settings"  # the same for a call that tries settings


@dataclass(frozen=True, slots=True)
class Spending:
    """The sum of some calls."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class CallTotals:
    """The totals of calls that have something in common."""

    name: str  # of the provider, model, digester, file or day
    calls: int
    failed: int
    tokens_in: int
    tokens_out: int
    cost: float | None  # None: the price is unknown
    seconds: float


GROUP_COLUMNS = {
    "provider": "provider",
    "model": "model",
    "digester": "digester",
    "file": f"""coalesce((SELECT path FROM files WHERE id = file_id),
                         CASE WHEN digester IN ('{SEARCH}', '{ASK}') THEN '(questions)'
                              WHEN digester = '{TRIAL}' THEN '(settings)' ELSE '(forgotten)' END)""",
    "day": "substr(at, 1, 10)",
}


def begin(db: Connection, question: Question, digester: str, file_id: int | None, run_id: str, now: str) -> int:
    """Record a call that is about to be made; return its id. Without a file, nothing of the question is stored."""
    question_hash = "" if file_id is None else question.hash
    row = db.execute(
        """
        INSERT INTO ai_calls (at, provider, host, model, digester, file_id, run_id, question, outcome)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'in-flight') RETURNING id
        """,
        (now, question.provider, question.host, question.model, digester, file_id, run_id, question_hash),
    ).fetchone()
    return int(row[0])


def end(db: Connection, call_id: int, end: CallEnd) -> None:
    """Record the result; the response is kept, unless its file was purged in the meantime."""
    reply = end.reply
    db.execute(
        """
        UPDATE ai_calls
           SET outcome = :outcome, status = :status, tokens_in = :tokens_in, tokens_out = :tokens_out, cost = :cost,
               duration_ms = :ms, media_type = iif(file_id IS NULL, NULL, :type),
               response = iif(file_id IS NULL, NULL, :body)
         WHERE id = :id
        """,
        {
            "outcome": end.outcome,
            "status": end.status if reply is None else reply.status,
            "tokens_in": end.tokens_in,
            "tokens_out": end.tokens_out,
            "cost": end.cost,
            "ms": round(end.seconds * 1000),
            "type": reply.media_type if reply else None,
            "body": reply.body if reply else None,
            "id": call_id,
        },
    )


def find_unused_reply(db: Connection, file_id: int, digester: str, question: str) -> Reply | None:
    """The response to exactly this question, if it has not been used yet."""
    row = db.execute(
        """
        SELECT status, media_type, response FROM ai_calls
         WHERE file_id = ? AND digester = ? AND question = ? AND response IS NOT NULL ORDER BY id DESC LIMIT 1
        """,
        (file_id, digester, question),
    ).fetchone()
    return Reply(row[0] or 200, row[1] or "", row[2]) if row else None


def has_unused_reply(db: Connection, file_id: int, digester: str) -> bool:
    """Whether there is a response that has not been used."""
    row = db.execute(
        "SELECT 1 FROM ai_calls WHERE file_id = ? AND digester = ? AND response IS NOT NULL LIMIT 1",
        (file_id, digester),
    ).fetchone()
    return row is not None


def forget_responses(db: Connection, file_id: int, digester: str) -> None:
    """Delete the responses, because the digest made from them is stored."""
    db.execute(
        """
        UPDATE ai_calls SET response = NULL, media_type = NULL
         WHERE file_id = ? AND digester = ? AND response IS NOT NULL
        """,
        (file_id, digester),
    )


def mark_lost(db: Connection) -> int:
    """Mark calls whose process died: whether they were answered is unknown."""
    return db.execute(
        """
        UPDATE ai_calls SET outcome = 'lost'
         WHERE outcome = 'in-flight' AND run_id NOT IN (SELECT run_id FROM digests WHERE status = 'in-progress')
        """
    ).rowcount


def sum_spending(db: Connection, provider: str, since: str) -> Spending:
    """What a provider has cost since this moment, including calls in flight and lost ones."""
    row = db.execute(
        """
        SELECT count(*), coalesce(sum(coalesce(tokens_in, 0) + coalesce(tokens_out, 0)), 0), coalesce(sum(cost), 0.0)
          FROM ai_calls INDEXED BY ai_calls_by_time WHERE provider = ? AND at >= ? AND outcome <> ?
        """,
        (provider, since, NEVER_SENT),
    ).fetchone()
    return Spending(*row)


def totals_by(db: Connection, by: str, since: str) -> list[CallTotals]:
    """The calls since this moment, by one of GROUP_COLUMNS; most expensive first, then most calls; days in order."""
    order = "name" if by == "day" else "coalesce(sum(cost), 0) DESC, count(*) DESC, name"
    rows = db.execute(
        f"""
        SELECT {GROUP_COLUMNS[by]} AS name, count(*), count(*) FILTER (WHERE outcome NOT IN ('answered', 'in-flight')),
               coalesce(sum(tokens_in), 0), coalesce(sum(tokens_out), 0), sum(cost),
               coalesce(sum(duration_ms), 0) / 1000.0
          FROM ai_calls WHERE at >= ? GROUP BY 1 ORDER BY {order}
        """,
        (since,),
    )
    return [CallTotals(*row) for row in rows]


@dataclass(frozen=True, slots=True)
class DayTotals:
    """What calls of one provider cost on one day."""

    day: str
    provider: str
    calls: int
    tokens: int
    cost: float | None  # None: the price is unknown


def totals_by_day(db: Connection, since: str) -> list[DayTotals]:
    """The calls since this moment by day and provider, in order of the days."""
    rows = db.execute(
        """
        SELECT substr(at, 1, 10), provider, count(*),
               coalesce(sum(coalesce(tokens_in, 0) + coalesce(tokens_out, 0)), 0), sum(cost)
          FROM ai_calls WHERE at >= ? GROUP BY 1, 2 ORDER BY 1, 2
        """,
        (since,),
    )
    return [DayTotals(*row) for row in rows]


def count_in_flight(db: Connection, provider: str) -> int:
    row = db.execute("SELECT count(*) FROM ai_calls WHERE provider = ? AND outcome = 'in-flight'", (provider,))
    return int(row.fetchone()[0])
