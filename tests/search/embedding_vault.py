"""A digester that embeds files, and helpers that read the stored vectors."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import replace

from coordinating import Bench, ScriptedDigester

from chyme.core.store import outdated_digests
from chyme.digester import Source
from chyme.errors import ChildCrashed, DigestError
from chyme.model import Embedded, Output, Passage, Place, iso
from chyme.search.passage_hashes import SEMANTIC, text_hash
from chyme.search.tables import embedders, vectors

Made = list[Output] | DigestError


class Meaning(ScriptedDigester):
    """Embeds each line of a file, with as many numbers as the model has."""

    promises = replace(ScriptedDigester.promises, counts=False)
    runs = replace(ScriptedDigester.runs, gathers=True)

    def __init__(
        self, model: str = "small", dimension: int = 2, reads: tuple[str, ...] = (), **options: object
    ) -> None:
        super().__init__(SEMANTIC, self.embed, reads, **options)  # type: ignore[arg-type]
        self.model, self.dimension = model, dimension
        self.fails: dict[str, DigestError] = {}  # name of a file → the error to raise
        self.groups: list[list[str]] = []
        self.guilty: str | None = None  # this file crashes the child, in a group and alone
        self.latin = False  # whether it reads only ASCII texts

    @property
    def fingerprint(self) -> str:
        return f"{self.model} {self.dimension}"

    @property
    def embedder(self) -> str | None:
        return self.model

    def embed(self, source: Source) -> list[Output]:
        name = source.file.name
        if name == self.guilty:
            raise ChildCrashed(f"{name}: as asked")
        if name in self.fails:
            raise self.fails[name]
        with source.open() as stream:
            text = stream.read().decode()
        lines = text.split("\n") if text.strip() and (text.isascii() or not self.latin) else []
        passages = tuple(Passage("file", at, line, Place(0, len(line))) for at, line in enumerate(lines))
        row = struct.pack(f"<{self.dimension}f", 1.0, *([0.0] * (self.dimension - 1)))
        content = {"passages": len(lines), "text_hash": text_hash([("file", text)]), "model": self.model}
        embedded = Embedded(self.model, self.dimension, row * len(lines)) if lines else None
        return [Output(SEMANTIC, json.dumps(content), passages=passages, embedded=embedded)]

    def digest_many(self, sources: Sequence[Source]) -> list[Made]:
        self.groups.append([source.file.name for source in sources])
        if any(source.file.name == self.guilty for source in sources):
            raise ChildCrashed("the child ended")
        return super().digest_many(sources)


def meant(vault: Bench, file_id: int, model: str = "small") -> list[str]:
    """Return the passages that this model has embedded."""
    embedder = embedders.by_model(vault.db, model)
    return (
        [] if embedder is None else [passage.text for _, passage, _ in vectors.of_file(vault.db, file_id, embedder.id)]
    )


def serving(vault: Bench) -> str | None:
    found = embedders.get_serving(vault.db)
    return found.model if found else None


def make_again(vault: Bench, *file_ids: int) -> None:
    """Queue the files again, as for an outdated digest: the present output stays until it is replaced."""
    now = iso(vault.clock())
    vault.database.write(lambda db: [outdated_digests.requeue(db, file_id, [SEMANTIC], now) for file_id in file_ids])
