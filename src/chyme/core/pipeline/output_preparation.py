"""Prepares outputs for the database outside the writer thread: hashes and compresses them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from chyme.core.pipeline.document_state import page_count
from chyme.core.store import artifacts as sqlar
from chyme.model import Form, Output

PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class PreparedOutput:
    """An output ready to be written."""

    output: Output
    content_hash: str | None
    artifacts: tuple[sqlar.PackedArtifact, ...]
    extras: tuple[object, ...] = ()  # what each recorder prepared for it, in the order of the recorders
    pages: int | None = None

    @property
    def size(self) -> int:
        text = len(self.output.content or "") + sum(len(p.text) for p in self.output.passages)
        vectors = len(self.output.embedded.vectors) if self.output.embedded else 0
        return text + vectors + sum(len(a.data) for a in self.artifacts)


def prepare_output(output: Output, form: Form, extras: tuple[object, ...] = ()) -> PreparedOutput:
    """Hash and compress an output whose content has this form."""
    pages = page_count(output.content) if form is Form.PAGES else None
    packed = tuple(map(sqlar.pack, output.artifacts))
    return PreparedOutput(output, content_hash(output), packed, extras, pages)


def content_hash(output: Output) -> str | None:
    """The hash of content, artifacts and places; None if there are neither content nor artifacts."""
    if output.content is None and not output.artifacts:
        return None
    digest = hashlib.sha256()
    text = output.content or ""
    for start in range(0, len(text), PIECE):  # in pieces: a second copy of a long text would need too much memory
        digest.update(text[start : start + PIECE].encode("utf-8", "surrogatepass"))
    for artifact in output.artifacts:
        digest.update(f"\0{artifact.filename}\0{len(artifact.data)}\0".encode())
        digest.update(artifact.data)
    if output.places:
        digest.update(json.dumps([asdict(place) for place in output.places]).encode())
    return digest.hexdigest()
