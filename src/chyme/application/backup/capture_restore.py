"""Restores captured web pages salvaged from a damaged database: the page itself may be gone from the web."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from sqlite3 import Connection

from chyme.application.backup.salvaged_rows import unskip
from chyme.core.pipeline import output_updates
from chyme.core.pipeline.output_updates import PreparedOutput, prepare_output
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import artifacts as sqlar
from chyme.core.store import digests, documents, text_places
from chyme.core.store.rescue.salvage import OldDigest, OldFile, SalvagedData
from chyme.digester import Title
from chyme.model import THUMBNAIL, Artifact, File, Output
from chyme.search.tables import file_terms
from chyme.text.titles import title_from_json
from chyme.understanding.description import describe


@dataclass(frozen=True, slots=True)
class Capture:
    """One output of a captured page, intact according to its hash."""

    digest: OldDigest
    prepared: PreparedOutput


def find_intact_captures(
    salvaged: SalvagedData, rules: Rules, old_id: int, old: OldFile, file: File, outputs: Sequence[str]
) -> list[Capture]:
    """Return the captured outputs of a file of which every byte is as recorded."""
    intact = []
    for name in outputs if old.hash in ("", file.hash) else ():
        digest = salvaged.captures[old_id, name]
        try:
            contents = salvaged.artifacts_of(old.path, name)
        except zlib.error:
            continue
        artifacts = tuple(Artifact(filename, data) for filename, data in contents.items())
        places = tuple(place for _, place in sorted(salvaged.places.get((old_id, name), {}).items()))
        prepared = prepare_output(Output(name, digest.content, artifacts, places=places), rules.form_of(name))
        if prepared.content_hash == digest.content_hash:
            intact.append(Capture(digest, prepared))
    return intact


def restore_captures(db: Connection, rules: Rules, file: File, captures: Sequence[Capture], now: str) -> None:
    """Complete these outputs as they were, with their artifacts; outputs that read them are made again."""
    for capture in captures:
        digest, prepared = capture.digest, capture.prepared
        name = digest.digester
        sqlar_name = sqlar.replace(db, file.path, name, prepared.artifacts, file.stamp.mtime_ns // 10**9)
        text_places.replace(db, file.id, name, prepared.output.places)
        unskip(db, file.id, name)  # its settings may have changed since
        digests.complete(
            db, file.id, name, digest.content, digest.content_hash, sqlar_name, digest.recipe, digest.input_hash,
            None, now,
        )  # fmt: skip
        if rules.traits[name].title is Title.OWN and documents.set_found_title(
            db, file.id, title_from_json(digest.content)
        ):
            describe(db, file.id, now, file_terms.rewrite)
        if any(artifact.filename == THUMBNAIL for artifact in prepared.artifacts):
            documents.set_thumbnail(db, file.id, name, prepared.pages)
    output_updates.update_document(db, rules, file, digests.of_file(db, file.id), now)
