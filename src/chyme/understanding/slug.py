"""Propose a friendly name for a file that no person has named."""

from __future__ import annotations

import json
from typing import ClassVar

from chyme.digester import Digester, Source
from chyme.files.machine_names import is_machine_made, without_extension
from chyme.model import File, Kind, Output
from chyme.understanding.classification.result import Classification, from_json
from chyme.understanding.slug_format import RULES_VERSION, slug_of

SURE_OF_DATE, SURE_OF_UNCLEAR = 0.5, 0.7  # a date less sure than this does not go into a name


class Slug(Digester):
    """A proposal: the file is renamed only when somebody accepts it. Nothing for a name that a person gave.

    It reads the classifiers alone: they have looked at texts, summaries and captions already, and where they find no
    title there is none.
    """

    name = "slug"
    label = "Friendly name"
    description = "A readable name for files that a camera, a scanner or a program has named."
    reads: ClassVar[tuple[str, ...]] = ("classify-document", "classify-image")
    reads_artifacts = False
    family = "text"
    quick = True
    uses_name = True

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
        for reads in self.reads:
            found = _classified(source, reads)
            slug = propose_name(name, found.title, sure_date(found)) if found else None
            if found and slug:
                content = {"slug": slug, "title": found.title, "from": reads}
                return [Output(self.name, json.dumps(content, ensure_ascii=False))]
        return [Output(self.name, None)]


def propose_name(name: str, title: str | None, date: str | None) -> str | None:
    """The name that a file of this name would get; None where nothing better is known."""
    if not title or is_machine_made(title):
        return None
    slug = slug_of(title, date, name[len(without_extension(name)) :])
    return slug if slug and not is_machine_made(slug) else None


def sure_date(found: Classification) -> str | None:
    """Its date where that may go into a name; of which day and month may be the other way round only if signs speak."""
    unclear = any(one.ambiguous for one in found.dates if one.date == found.date)
    enough = SURE_OF_UNCLEAR if unclear else SURE_OF_DATE
    return found.date if found.confidence.get("date", 1.0) >= enough else None


def _classified(source: Source, name: str) -> Classification | None:
    upstream = source.output(name)
    if upstream is None or not upstream.content:
        return None
    try:
        return from_json(upstream.content)
    except (ValueError, TypeError, KeyError):
        return None
