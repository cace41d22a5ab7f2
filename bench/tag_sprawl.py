"""How many tags two hundred documents about ten subjects get, with and without reuse."""

from __future__ import annotations

import hashlib
import io
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from sqlite3 import Connection
from typing import BinaryIO

from bench.figures import Figure, Sizes, Tell, percentile, remark
from bench.tag_subjects import Written, documents
from chyme.core.clock import now
from chyme.core.store import documents as rows
from chyme.core.store import files
from chyme.core.store.sqlite.database import Database
from chyme.core.vectors import normalise
from chyme.digester import StaysHome
from chyme.errors import EngineUnavailable
from chyme.model import File, Kind, Output, Seen, Stamp, TagVector, Upstream, iso
from chyme.models.embedding.minilm import DIMENSION, EmbeddingSettings
from chyme.understanding.classify_document import ClassifyDocument
from chyme.understanding.tables import tags
from chyme.understanding.tags.existing_tag_reuse import assign_tags
from chyme.understanding.tags.tags import Tags
from chyme.understanding.tags.vectors import vectors_of

EACH = 20  # documents of each subject
MANY, TURNS = 5000, 50


@dataclass(frozen=True)
class _Source(StaysHome):
    """A made-up document as the digesters see it."""

    file: File
    data: bytes
    scratch: Path
    inputs: dict[str, Upstream]

    def open(self) -> BinaryIO:
        return io.BytesIO(self.data)

    def output(self, name: str) -> Upstream | None:
        return self.inputs.get(name)

    def progress(self, fraction: float) -> None:
        pass


@dataclass(frozen=True)
class _Given:
    """What came of it."""

    tags: list[list[str]]  # of each document
    reused: list[tuple[str, str, str]]  # subject, proposed, used
    milliseconds: list[float]  # of the writer thread, for each document


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """Rules and embedder in this process, then the verdict's transaction; the same proposals each time."""
    made = list(documents(EACH))
    began = time.process_time()
    proposals = [_proposed(document, folder) for document in made]
    spent = 1000 * (time.process_time() - began) / len(made)
    try:
        vectors_of(["tag"], EmbeddingSettings())
    except EngineUnavailable as missing:
        remark(f"without the embedder, so nothing is reused by meaning: {missing}")
    proposed = [list(json.loads(output.content)["proposed"]) if output.content else [] for output in proposals]
    spelt = _given(made, [replace(output, tag_vectors=()) for output in proposals], folder / "spelt")
    meant = _given(made, proposals, folder / "meant")
    every, total = {tag for one in proposed for tag in one}, sum(map(len, proposed))
    how = f"{len(made)} documents, {total} tags proposed"
    tell(Figure("distinct tags without reuse", len(every), "tags", f"{how}; {_lonely(proposed):.0%} on one file only"))
    for what, given in (("by spelling", spelt), ("by spelling and meaning", meant)):
        count = len({tag for one in given.tags for tag in one})
        alone = f"{_lonely(given.tags):.0%} on one file only"
        tell(
            Figure(f"distinct tags, reuse {what}", count, "tags", f"{count / len(every):.0%} of those without; {alone}")
        )
    tell(Figure("proposing tags, CPU a document", spent, "ms", "classification by rules, tags, and their vectors"))
    times = meant.milliseconds
    tell(Figure("giving them, writer thread", percentile(times, 0.5), "ms", f"p99 {percentile(times, 0.99):.1f} ms"))
    only = sorted({(used, tag) for _, tag, used in meant.reused} - {(used, tag) for _, tag, used in spelt.reused})
    remark("reused by meaning: " + (", ".join(f"{tag} → {used}" for used, tag in only) or "nothing"))
    _tell_speed(folder / "many", tell)


def _proposed(document: Written, folder: Path) -> Output:
    data = document.text.encode()
    file = File(
        *(1, document.name, document.name, Kind.TEXT, "text/markdown", Stamp("1", "1", len(data), 0)),
        *(hashlib.sha256(data).hexdigest(), 1),
    )
    source = _Source(file, data, folder, {})
    (classified,) = ClassifyDocument().digest(source)
    told = {classified.name: Upstream(classified.name, classified.content)}
    (output,) = Tags(EmbeddingSettings()).digest(replace(source, inputs=told))
    return output


def _given(made: Sequence[Written], proposals: Sequence[Output], folder: Path) -> _Given:
    folder.mkdir()
    database = Database(folder)
    found = _Given([], [], [])
    try:
        for document, output in zip(made, proposals, strict=True):
            content, spent = database.write(_giving(document.name, output))
            told = json.loads(content or '{"tags": []}')
            found.tags.append(told["tags"])
            found.reused.extend((document.subject, tag, used) for tag, used in told.get("reused", {}).items())
            found.milliseconds.append(spent)
    finally:
        database.close()
    return found


def _giving(name: str, output: Output) -> Callable[[Connection], tuple[str | None, float]]:
    moment = iso(now())

    def give(db: Connection) -> tuple[str | None, float]:
        seen = Seen(name, False, Kind.TEXT, "text/markdown", Stamp("1", name, 1, 1), name)
        file_id = files.insert(db, seen, moment)
        rows.register(db, file_id, moment)
        file = files.by_id(db, file_id)
        assert file is not None
        began = time.thread_time()
        content = assign_tags(db, file, output, moment)
        return content, 1000 * (time.thread_time() - began)

    return give


def _lonely(given: Sequence[Sequence[str]]) -> float:
    """The share of tags that only one file has."""
    counts = Counter(tag for one in given for tag in one)
    return sum(count == 1 for count in counts.values()) / max(len(counts), 1)


def _tell_speed(folder: Path, tell: Tell) -> None:
    """What one tag costs the writer thread where there are many already."""
    made = random.Random(1)
    folder.mkdir()
    database = Database(folder)
    known = [f"{_word(made)} {_word(made)}" for _ in range(MANY)]
    try:
        moment = iso(now())
        database.write(lambda db: [tags.add(db, tag, _meaning(tag, made), moment) for tag in dict.fromkeys(known)])
        spent: dict[str, list[float]] = {"known": [], "new": []}
        for number in range(TURNS):
            for sort, tag in (("known", made.choice(known)), ("new", f"{_word(made)} {_word(made)} {number}")):
                content = json.dumps({"tags": [tag], "source": "generated", "proposed": [tag]})
                output = Output("tags", content, tag_vectors=(_meaning(tag, made),))
                spent[sort].append(database.write(_giving(f"{sort}-{number}", output))[1])
    finally:
        database.close()
    how = f"CPU of the writer thread, median of {TURNS}, {MANY} tags in the vault"
    tell(Figure("a known tag", percentile(spent["known"], 0.5), "ms", how, at_most=0.2))
    tell(
        Figure(
            "a new tag", percentile(spent["new"], 0.5), "ms", f"{how}; the first took {spent['new'][0]:.0f} ms", 10.0
        )
    )


def _word(made: random.Random) -> str:
    return "".join(made.choice("bcdfgklmnprstvz") + made.choice("aeiou") for _ in range(made.randint(2, 5)))


def _meaning(tag: str, made: random.Random) -> TagVector:
    return TagVector(tag, "made up", normalise(made.gauss(0, 1) for _ in range(DIMENSION)))
