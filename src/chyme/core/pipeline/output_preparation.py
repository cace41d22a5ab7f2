"""Outputs made ready for the database, outside the writer thread: hashed, compressed, their title read."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from chyme.core.pipeline.document_state import heading_title, page_count, title_from_json
from chyme.core.store import artifacts as sqlar
from chyme.model import File, Kind, Output

PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class PreparedOutput:
    """An output made ready for the database, outside the writer thread."""

    output: Output
    content_hash: str | None
    artifacts: tuple[sqlar.PackedArtifact, ...]
    title: str | None
    forgotten: frozenset[str] = frozenset()
    pages: int | None = None

    @property
    def size(self) -> int:
        text = len(self.output.content or "") + sum(len(p.text) for p in self.output.passages)
        vectors = len(self.output.embedded.vectors) if self.output.embedded else 0
        return text + vectors + sum(len(a.data) for a in self.artifacts)


def prepare_output(file: File, output: Output, forgotten: frozenset[str] = frozenset()) -> PreparedOutput:
    """Hash, compress and read the title."""
    title = None
    if output.name == "doc-to-markdown":
        title = heading_title(output.content)
    elif output.name == "url-metadata":
        title = title_from_json(output.content)
    elif output.name == "search-keyword" and file.mime == "text/markdown" and output.passages:
        title = heading_title(output.passages[0].text)
    elif output.name == "search-keyword" and file.kind is Kind.URL:
        title = title_from_json(output.content)  # what somebody wrote beside the address
    packed = tuple(map(sqlar.pack, output.artifacts))
    return PreparedOutput(output, content_hash(output), packed, title, forgotten, page_count(output))


def content_hash(output: Output) -> str | None:
    """Covers content, artifacts and places; None for nothing at all."""
    if output.content is None and not output.artifacts:
        return None
    told = hashlib.sha256()
    text = output.content or ""
    for start in range(0, len(text), PIECE):  # a whole second copy of a long text is memory we do not have
        told.update(text[start : start + PIECE].encode("utf-8", "surrogatepass"))
    for artifact in output.artifacts:
        told.update(f"\0{artifact.filename}\0{len(artifact.data)}\0".encode())
        told.update(artifact.data)
    if output.places:
        told.update(json.dumps([asdict(place) for place in output.places]).encode())
    return told.hexdigest()
