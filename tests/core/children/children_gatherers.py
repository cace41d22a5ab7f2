"""Digesters that take several files at once, and some that misbehave. They run inside real children."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from chyme.digester import Digester, Runs, Source
from chyme.errors import DigestError, EngineUnavailable
from chyme.model import Artifact, Embedded, File, Output, Passage, Place

Result = list[Output] | DigestError


class Gatherer(Digester):
    """A digester whose behaviour is one function."""

    label = "Gatherer"
    description = "For tests."
    runs = Runs(gathers=True)
    acts: ClassVar[Callable[[Sequence[Source]], list[Result]]]

    def can_digest(self, file: File) -> bool:
        return True

    def digest(self, source: Source) -> list[Output]:
        (result,) = type(self).acts([source])
        if isinstance(result, DigestError):
            raise result
        return result

    def digest_many(self, sources: Sequence[Source]) -> list[Result]:
        return type(self).acts(sources)


def read(source: Source) -> str:
    with source.open() as stream:
        return stream.read().decode()


def roll(sources: Sequence[Source]) -> list[Result]:
    """Return for each file its bytes, its input and the names of all files, and write into its folder."""
    together = ",".join(source.file.name for source in sources)
    results: list[Result] = []
    for source in sources:
        (source.scratch / "mine").write_text(source.file.name)
        upstream = source.output("text")
        content = f"{read(source)}|{upstream.content if upstream else None}|{together}"
        results.append([Output("roll", content, (Artifact("name.bin", source.file.name.encode()),))])
    return results


def choosy(sources: Sequence[Source]) -> list[Result]:
    return [
        EngineUnavailable(f"{source.file.path}: not this one")
        if source.file.name == "bad"
        else [Output("choosy", source.file.name)]
        for source in sources
    ]


def fragile(sources: Sequence[Source]) -> list[Result]:
    """Abort, hang or raise if a file has that name: it affects the whole process."""
    for source in sources:
        match source.file.name:
            case "abort":
                os.abort()
            case "hang":
                time.sleep(60)
            case "raise":
                raise ValueError(source.file.name)
    return [[Output("fragile", source.file.name)] for source in sources]


def forgetful(sources: Sequence[Source]) -> list[Result]:
    return [[Output("forgetful", source.file.name)] for source in sources[1:]]


def large(sources: Sequence[Source]) -> list[Result]:
    return [[Output("large", source.file.name * 100_000)] for source in sources]


def meant(sources: Sequence[Source]) -> list[Result]:
    """Return the vectors in the text of the file: first the dimension, then the numbers, for two passages."""
    results: list[Result] = []
    for source in sources:
        dimension, *numbers = map(float, read(source).split())
        passages = tuple(Passage("file", at, f"passage {at}", Place(0, 1)) for at in range(2))
        vectors = struct.pack(f"<{len(numbers)}f", *numbers)
        results.append([Output("meant", None, passages=passages, embedded=Embedded("model", int(dimension), vectors))])
    return results


def digesters(_config: dict[str, object]) -> dict[str, Digester]:
    found = {}
    for act in (roll, choosy, fragile, forgetful, large, meant):
        name = act.__name__
        found[name] = type(name, (Gatherer,), {"name": name, "acts": staticmethod(act)})()
    return found
