"""Propose a readable name for a file that a device or program named."""

from __future__ import annotations

import json

from chyme.digester import Digester, Inputs, Makes, Runs, Source
from chyme.files.machine_names import is_machine_made, without_extension
from chyme.model import File, Form, Kind, Output
from chyme.understanding.classification.result import CLASSIFIERS, Classification, read_classification
from chyme.understanding.classification.source_text import content_of
from chyme.understanding.slug_format import RULES_VERSION, slug_of

SURE_OF_DATE, SURE_OF_UNCLEAR = 0.5, 0.7  # confidence a date needs to go into a name


class Slug(Digester):
    """Proposes a name; the file is renamed only when a person accepts it. Names that people gave get no proposal.

    It reads only the classifiers: they have read texts, summaries and captions already, and where they find no title
    there is none.
    """

    name = "slug"
    label = "Friendly name"
    description = "A readable name for files that a camera, a scanner or a program has named."
    makes = Makes(Form.NAME)
    reads = CLASSIFIERS
    inputs = Inputs(artifacts=False, file_name=True)
    runs = Runs(quick=True, gathers=True)

    @property
    def fingerprint(self) -> str:
        return f"rules {RULES_VERSION}"

    def can_digest(self, file: File) -> bool:
        return file.kind is not Kind.OTHER

    def time_limit(self, source: Source) -> float:
        return 30.0

    def digest(self, source: Source) -> list[Output]:
        name = source.file.name
        if not is_machine_made(name):
            return [Output(self.name, None)]
        for classifier in self.reads:
            classification = read_classification([content_of(source, classifier)])
            slug = propose_name(name, classification.title, sure_date(classification)) if classification else None
            if classification and slug:
                content = {"slug": slug, "title": classification.title, "from": classifier}
                return [Output(self.name, json.dumps(content, ensure_ascii=False))]
        return [Output(self.name, None)]


def propose_name(name: str, title: str | None, date: str | None) -> str | None:
    """The proposed name for a file of this name; None if there is nothing better."""
    if not title or is_machine_made(title):
        return None
    slug = slug_of(title, date, name[len(without_extension(name)) :])
    return slug if slug and not is_machine_made(slug) else None


def sure_date(found: Classification) -> str | None:
    """The date if it may go into a name. One whose day and month may be swapped needs a higher confidence."""
    ambiguous = any(candidate.ambiguous for candidate in found.dates if candidate.date == found.date)
    needed = SURE_OF_UNCLEAR if ambiguous else SURE_OF_DATE
    return found.date if found.confidence.get("date", 1.0) >= needed else None
