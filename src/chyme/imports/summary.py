"""What an import did, or would do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from chyme.imports.entries import Problem

MAX_PROBLEMS = 200  # that are listed; all are counted


@dataclass(slots=True)
class ImportSummary:
    """Counts of entries, and the first problems."""

    added: int = 0  # new files
    updated: int = 0  # files that were there, and got other titles, dates, tags or properties
    unchanged: int = 0
    deleted_here: int = 0  # were imported once, and deleted in the vault since
    left_out: int = 0  # on purpose: what is no file, link or note
    failed: int = 0
    bytes: int = 0  # of new files
    problems: list[str] = field(default_factory=list)

    @property
    def entries(self) -> int:
        """All entries so far."""
        return self.added + self.updated + self.unchanged + self.deleted_here + self.left_out + self.failed

    def add_problem(self, problem: Problem) -> None:
        if problem.left_out:
            self.left_out += 1
        else:
            self.failed += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(f"{problem} (left out)" if problem.left_out else str(problem))

    def as_json(self) -> dict[str, Any]:
        """The JSON form that the command line and HTTP promise."""
        return {"entries": self.entries, **asdict(self)}


def summary_from_json(fields: Mapping[str, Any]) -> ImportSummary:
    return ImportSummary(**{name: value for name, value in fields.items() if name != "entries"})
