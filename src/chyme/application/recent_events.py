"""What happened lately, in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from chyme.core.files.moves import DISPLACED, TRASH_REASON, TRASHED
from chyme.core.store.events import Event

FILE = {
    "new": "was added",
    "changed": "was changed",
    "moved": "was moved here",
    "vanished": "has vanished",
    "returned": "is back",
}
DOCUMENT = {
    "completed": ("is ready", "good"),
    "needs-classification": ("needs classification", "amber"),
    "failed": ("failed", "red"),
}


@dataclass(frozen=True, slots=True)
class RecentEvent:
    """One thing that happened, to a file or to the vault."""

    at: str
    path: str | None
    words: str
    tone: str = "plain"  # plain, good, amber, red
    why: str | None = None
    linked: bool = True  # whether there is a page about it


def describe_events(events: Iterable[Event], most: int) -> list[RecentEvent]:
    """What people care about, newest first as the events are: the last thing about each file, and what was decided."""
    found: dict[str, RecentEvent] = {}
    for number, at, type_, path, _digester, status, detail in events:
        if path is not None and path.startswith((DISPLACED, TRASHED)):
            continue  # it is at no path
        if type_ == "file" and path and status in FILE:
            words = "was deleted" if detail == TRASH_REASON else FILE[status]
            found.setdefault(path, RecentEvent(at, path, words, linked=status != "vanished"))
        elif type_ == "document" and path and status in DOCUMENT:
            words, tone = DOCUMENT[status]
            why = detail.replace(f"{path.rpartition('/')[2]}: ", "", 1) if detail else None
            found.setdefault(path, RecentEvent(at, path, words, tone, why))
        elif type_ in ("vault", "person") and detail and path is None and not (status or "").startswith("job-"):
            last = next(reversed(found.values()), None)
            if last is None or last.words != detail:  # many files that are purged are told of once
                found[f"/{number}"] = RecentEvent(at, None, detail)
        if len(found) == most:
            break
    return list(found.values())
