"""Describes recent events in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from chyme.core.store.events import Event
from chyme.core.store.files import TRASHED
from chyme.vault.moved_files import DISPLACED, TRASH_REASON

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
    """One event about a file or the vault."""

    at: str
    path: str | None
    words: str
    tone: str = "plain"  # plain, good, amber, red
    why: str | None = None
    linked: bool = True  # whether the file has a page


def describe_events(events: Iterable[Event], limit: int) -> list[RecentEvent]:
    """Return the last event of each file and all decisions, newest first like the given events."""
    found: dict[str, RecentEvent] = {}
    for number, timestamp, type_, path, _digester, status, detail in events:
        if path is not None and path.startswith((DISPLACED, TRASHED)):
            continue  # it has no path
        if type_ == "file" and path and status in FILE:
            words = "was deleted" if detail == TRASH_REASON else FILE[status]
            found.setdefault(path, RecentEvent(timestamp, path, words, linked=status != "vanished"))
        elif type_ == "document" and path and status in DOCUMENT:
            words, tone = DOCUMENT[status]
            reason = detail.replace(f"{path.rpartition('/')[2]}: ", "", 1) if detail else None
            found.setdefault(path, RecentEvent(timestamp, path, words, tone, reason))
        elif type_ in ("vault", "person") and detail and path is None and not (status or "").startswith("job-"):
            last = next(reversed(found.values()), None)
            if last is None or last.words != detail:  # many purged files give one event
                found[f"/{number}"] = RecentEvent(timestamp, None, detail)
        if len(found) == limit:
            break
    return list(found.values())
