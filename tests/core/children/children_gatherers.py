"""Digesters that take several files at once, and some that should not have. They run inside real children."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from chyme.digester import Digester, Runs, Source
from chyme.errors import DigestError, EngineUnavailable
from chyme.model import Artifact, Embedded, File, Output, Passage, Place

Made = list[Output] | DigestError


class Gatherer(Digester):
    """A digester whose behaviour is one function."""

    label = "Gatherer"
    description = "For tests."
    runs = Runs(gathers=True)
    acts: ClassVar[Callable[[Sequence[Source]], list[Made]]]

    def can_digest(self, file: File) -> bool:
        return True

    def digest(self, source: Source) -> list[Output]:
        (made,) = type(self).acts([source])
        if isinstance(made, DigestError):
            raise made
        return made

    def digest_many(self, sources: Sequence[Source]) -> list[Made]:
        return type(self).acts(sources)


def read(source: Source) -> str:
    with source.open() as stream:
        return stream.read().decode()


def roll(sources: Sequence[Source]) -> list[Made]:
    """Each says its own bytes, its input, who was there, and writes into its own folder."""
    together = ",".join(source.file.name for source in sources)
    made: list[Made] = []
    for source in sources:
        (source.scratch / "mine").write_text(source.file.name)
        upstream = source.output("text")
        told = f"{read(source)}|{upstream.content if upstream else None}|{together}"
        made.append([Output("roll", told, (Artifact("name.bin", source.file.name.encode()),))])
    return made


def choosy(sources: Sequence[Source]) -> list[Made]:
    return [
        EngineUnavailable(f"{source.file.path}: not this one")
        if source.file.name == "bad"
        else [Output("choosy", source.file.name)]
        for source in sources
    ]


def fragile(sources: Sequence[Source]) -> list[Made]:
    """What one file says happens to the whole process."""
    for source in sources:
        match source.file.name:
            case "abort":
                os.abort()
            case "hang":
                time.sleep(60)
            case "raise":
                raise ValueError(source.file.name)
    return [[Output("fragile", source.file.name)] for source in sources]


def forgetful(sources: Sequence[Source]) -> list[Made]:
    return [[Output("forgetful", source.file.name)] for source in sources[1:]]


def large(sources: Sequence[Source]) -> list[Made]:
    return [[Output("large", source.file.name * 100_000)] for source in sources]


def meant(sources: Sequence[Source]) -> list[Made]:
    """Vectors as the file's text says: its numbers, and how many there should be to each of two passages."""
    made: list[Made] = []
    for source in sources:
        dimension, *numbers = map(float, read(source).split())
        passages = tuple(Passage("file", at, f"passage {at}", Place(0, 1)) for at in range(2))
        vectors = struct.pack(f"<{len(numbers)}f", *numbers)
        made.append([Output("meant", None, passages=passages, embedded=Embedded("model", int(dimension), vectors))])
    return made


def digesters(_config: dict[str, object]) -> dict[str, Digester]:
    found = {}
    for act in (roll, choosy, fragile, forgetful, large, meant):
        name = act.__name__
        found[name] = type(name, (Gatherer,), {"name": name, "acts": staticmethod(act)})()
    return found
