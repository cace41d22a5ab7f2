"""The state of a document, as people see it, and the reason for it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from chyme.core.pipeline.digest_state import NOT_APPLICABLE
from chyme.errors import Category
from chyme.model import Digest, Kind, Status

STATE_RULES = 2  # raise it when `compute_state` changes: affected documents are then computed again
STALE_SECONDS = 600
PROCESSING_STATUS = {
    "processing": "pending",
    "stale": "pending",
    "completed": "completed",
    "needs-classification": "completed",  # its text exists: it can be read and searched
    "failed": "failed",
}
KEPT_SUFFIX = ", kept from before"  # suffix of a recipe: its model made this once, and cannot be asked again now
NO_TITLE = "no title was found"  # why a document needs classification


def displayed_state(state: str, moved_at: str, stale_before: str) -> str:
    """The state as people see it: a document in progress that has not moved since `stale_before` is stale."""
    return "stale" if state == "processing" and moved_at < stale_before else state


@dataclass(frozen=True, slots=True)
class DocumentState:
    """A document's state, and why it is not completed."""

    state: str  # processing, completed, needs-classification, failed
    reason: str | None = None
    degraded: bool = False  # something was made without the model that should have made it


def compute_state(
    kind: Kind,
    rows: Iterable[Digest],
    titled: bool,
    classified: bool,
    uncounted: Collection[str],
    essential: Collection[str],
    classifiers: Collection[str],
) -> DocumentState:
    """The state of a document.

    `classified`: a classifier handles such files, so a title is expected. `essential`: the outputs without which
    the file counts as unreadable.
    """
    counted = [row for row in rows if row.digester not in uncounted]
    without = [row for row in counted if row.status is Status.COMPLETED and row.provider is not None]
    broken = find_unreadable(counted, essential)
    if broken is not None:
        return DocumentState("failed", broken.error, bool(without))
    unsettled = [row.digester for row in counted if not row.settled]
    if unsettled:
        return DocumentState("processing", "waiting for " + ", ".join(unsettled), bool(without))
    for row in counted:
        # Its model answered once, and that answer is still good.
        kept = row.recipe is not None and row.recipe.endswith(KEPT_SUFFIX)
        if row.digester in classifiers and not kept and (row in without or row.status is Status.FAILED):
            return DocumentState("needs-classification", row.error, bool(without))
    if classified and not titled and kind is not Kind.OTHER:
        return DocumentState("needs-classification", NO_TITLE, bool(without))
    return DocumentState("completed", without[0].error if without else None, bool(without))


@dataclass(frozen=True, slots=True)
class Steps:
    """How many digests a file has, and how many of them are settled."""

    settled: int
    total: int


def steps_of(rows: Iterable[Digest]) -> Steps:
    """Count a file's digests, without those that its kind of file never has."""
    settled = [row.settled for row in rows if not is_not_applicable(row.status, row.error)]
    return Steps(sum(map(bool, settled)), len(settled))


def is_not_applicable(status: str, error: str | None) -> bool:
    """Whether a digest was skipped because this kind of file never has it."""
    return status == Status.SKIPPED and error == NOT_APPLICABLE


def find_unreadable(rows: Iterable[Digest], essential: Collection[str]) -> Digest | None:
    """The failed digest that shows that the file itself cannot be read, if there is one."""
    soft = {Category.UNSUPPORTED_FILE_TYPE, Category.UNAVAILABLE, Category.BUDGET}
    for row in rows:
        hard = row.status is Status.FAILED and row.settled and row.digester in essential
        if hard and row.error_category not in soft:
            return row
    return None


def captured_address(content: str | None) -> str | None:
    """The address in the link file for which a page was captured, from the facts about the page."""
    facts = _parse_object(content)
    address = facts.get("requested_url", facts.get("url"))
    return address if isinstance(address, str) else None


def page_count(content: str | None) -> int | None:
    """The number of pages of a document, from the content of an output of the form `pages`."""
    pages = _parse_object(content).get("pages")
    return pages if type(pages) is int and 0 <= pages < 1 << 62 else None


def _parse_object(content: str | None) -> dict[str, object]:
    try:
        parsed = json.loads(content) if content else None
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}
