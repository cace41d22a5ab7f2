"""Lists the digesters with their purpose and the state of their digests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chyme.core.pipeline.again import OutdatedDigester
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import digests
from chyme.core.store import outdated_digests as outdated
from chyme.core.store.sqlite.database import Database
from chyme.digester import Digester
from chyme.model import File, Kind, Stamp, Status

_EXAMPLES: dict[Kind, tuple[str, ...]] = {  # for each kind, types that a digester may treat differently
    Kind.URL: ("application/internet-shortcut",),
    Kind.DOCUMENT: ("application/pdf", "message/rfc822"),
    Kind.IMAGE: ("image/jpeg", "image/heic"),
    Kind.AUDIO: ("audio/mpeg",),
    Kind.VIDEO: ("video/mp4",),
    Kind.TEXT: ("text/plain", "text/markdown"),
    Kind.OTHER: ("application/octet-stream",),
}


@dataclass(frozen=True, slots=True)
class DigesterInfo:
    """A digester, and how many digests it has."""

    name: str
    label: str
    description: str
    outputs: tuple[str, ...]
    reads: tuple[str, ...]
    kinds: tuple[str, ...]  # of files that it digests
    provider: str | None  # of the model it calls: llm, vision, speech, embedding; None if it calls none
    model: str | None  # a description of that model
    statuses: dict[str, int]  # status → digests
    outdated: int


class OutputCounts:
    """How many digests of each output have each status. Counts again only after a commit: there may be millions."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counted: tuple[int, Mapping[tuple[str, str], int]] | None = None  # with the version of the database

    def read(self) -> Mapping[tuple[str, str], int]:
        """(output, status) → how many digests."""
        version, counted = self._database.version(), self._counted  # the version first: a commit meanwhile shows later
        if counted is None or counted[0] != version:
            counted = self._counted = version, digests.counts_by_output(self._database.read())
        return counted[1]


def list_digesters(
    database: Database, output_counts: OutputCounts, rules: Rules, models: Mapping[str, str]
) -> list[DigesterInfo]:
    """Return all digesters in the order in which they run. `models`: provider → description of its model."""
    counts = output_counts.read()
    with database.snapshot() as db:
        old = {name: outdated.count(db, [(name, recipe)]) for name, recipe in rules.recipes()}
    return [_make_info(digester, counts, old, models) for digester in rules.registry]


def _make_info(
    digester: Digester, counts: Mapping[tuple[str, str], int], old: Mapping[str, int], models: Mapping[str, str]
) -> DigesterInfo:
    examples = {kind: [_example(kind, mime) for mime in mimes] for kind, mimes in _EXAMPLES.items()}
    accepted = {kind: [file for file in files if digester.can_digest(file)] for kind, files in examples.items()}
    asked = [provider for files in accepted.values() for file in files if (provider := digester.asks(file))]
    provider = asked[0] if asked else None
    return DigesterInfo(
        digester.name,
        digester.label,
        digester.description,
        digester.outputs,
        digester.reads,
        tuple(str(kind) for kind, files in accepted.items() if files),
        provider,
        None if provider is None else models.get(provider),
        {str(status): sum(counts.get((name, status), 0) for name in digester.outputs) for status in Status},
        sum(old.get(name, 0) for name in digester.outputs),
    )


def _example(kind: Kind, mime: str) -> File:
    return File(0, "example", "example", kind, mime, Stamp("", "", 1, 0), "", 1)


def outdated_json(outdated_digesters: Sequence[OutdatedDigester]) -> dict[str, Any]:
    """Return what is out of date, and what making it again would take, as the command line and HTTP promise it."""
    return {
        "outdated": [
            {
                "digester": entry.digester,
                "files": len(entry.file_ids),
                "calls": entry.calls,
                "seconds": round(entry.seconds, 1),
            }
            for entry in outdated_digesters
        ],
        "calls": sum(entry.calls for entry in outdated_digesters),
        "seconds": round(sum(entry.seconds for entry in outdated_digesters), 1),
    }
