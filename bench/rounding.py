"""What int8 costs the embedder against float32, on this CPU and on an emulated one without VNNI instructions."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy
from numpy.typing import NDArray

from bench.figures import Figure, Sizes, Tell, remark, warn
from bench.retrieval import judgements, ndcg, rows_of
from bench.vaults import CORPUS
from chyme.models.embedding.minilm import NUMBERS, VOCABULARY, MiniLm
from chyme.models.weights.catalog import EMBEDDING
from chyme.models.weights.folder import path_of

COLLECTIONS = ("cranfield", "med")
THREADS = 2
EMULATOR, CPU = "qemu-x86_64", "Haswell"  # AVX2, no VNNI; Debian's package is qemu-user
SAMPLE = 60  # texts of each collection in the emulator, which is some 20 times as slow
# Embeds the lines it is given and stores the vectors.
EMULATED = """
import json, sys
import numpy
from bench.rounding import embedder
numpy.save(sys.argv[1], embedder(exact=False).rows(json.load(sys.stdin)))
"""

Vectors = NDArray[numpy.float32]


class Collection(NamedTuple):
    """Documents and judged questions, by their numbers."""

    documents: dict[str, str]
    questions: dict[str, str]
    judged: dict[str, dict[str, int]]


def measure(_sizes: Sizes, folder: Path, tell: Tell) -> None:
    """NDCG by cosines alone over whole texts, and how far cosines move."""
    if path_of(EMBEDDING) is None:
        warn("the weights for embedding are not there; run 'chyme weights embedding'")
        return
    for name in COLLECTIONS:
        source = CORPUS / "retrieval" / name
        if not source.is_dir():
            warn(f"{source} is absent; skipped")
            continue
        _tell_collection(name, _read(source), folder, tell)


def embedder(exact: bool) -> MiniLm:
    folder = path_of(EMBEDDING)
    assert folder is not None
    return MiniLm(folder / NUMBERS, (folder / VOCABULARY).read_bytes(), THREADS, exact=exact)


def _tell_collection(name: str, known: Collection, folder: Path, tell: Tell) -> None:
    documents, questions = list(known.documents.values()), list(known.questions.values())
    vectors = {
        kind: (one.rows(documents), one.rows(questions))
        for kind, one in (("float32", embedder(exact=True)), ("int8", embedder(exact=False)))
    }
    for kind, (of_documents, of_questions) in vectors.items():
        tell(Figure(f"NDCG@10, {name}, {kind}", _quality(known, of_documents, of_questions), "", "by cosines alone"))
    _tell_near(f"{name}, int8", vectors["int8"], vectors["float32"], tell)
    some = [*range(0, len(documents), max(1, len(documents) // SAMPLE))][:SAMPLE]
    few = range(min(SAMPLE // 2, len(questions)))
    texts = [*(documents[at] for at in some), *(questions[at] for at in few)]
    emulated = _emulated(texts, folder / f"{name}.npy")
    if emulated is None:
        warn(f"{EMULATOR} is not installed; what CPUs without VNNI give was not measured")
        return
    other = emulated[: len(some)], emulated[len(some) :]
    here, exact = ((one[0][some], one[1][few]) for one in (vectors["int8"], vectors["float32"]))
    _tell_near(f"{name}, {CPU} against this CPU", other, here, tell, at_least=0.9995)
    _tell_near(f"{name}, {CPU} against float32", other, exact, tell)


def _tell_near(
    what: str,
    one: tuple[Vectors, Vectors],
    other: tuple[Vectors, Vectors],
    tell: Tell,
    at_least: float | None = None,
) -> None:
    alike = numpy.concatenate([(a * b).sum(axis=1) for a, b in zip(one, other, strict=True)])
    moved = abs(one[0] @ one[1].T - other[0] @ other[1].T)
    tell(Figure(f"{what}: cosine, mean", float(alike.mean()), "", "of a text's two vectors", at_least=at_least))
    tell(Figure(f"{what}: cosine, lowest", float(alike.min()), "", f"of {len(alike)} texts"))
    remark(f"{what}: cosines of questions and documents move by {moved.mean():.4f}, at most {moved.max():.4f}")


def _emulated(texts: Sequence[str], into: Path) -> Vectors | None:
    if shutil.which(EMULATOR) is None:
        return None
    command = [EMULATOR, "-cpu", CPU, sys.executable, "-c", EMULATED, str(into)]
    subprocess.run(command, input=json.dumps(list(texts)), text=True, stderr=subprocess.DEVNULL, check=True)
    found: Vectors = numpy.load(into)
    return found


def _quality(known: Collection, documents: Vectors, questions: Vectors) -> float:
    numbers = list(known.documents)
    scores = questions @ documents.T
    return fmean(
        ndcg([numbers[at] for at in numpy.argsort(-row)[:10]], known.judged[question])
        for question, row in zip(known.questions, scores, strict=True)
    )


def _read(source: Path) -> Collection:
    judged = judgements(source)
    documents = {row["_id"]: f"{row['title']}\n\n{row['text']}" for row in rows_of(source / "corpus.jsonl")}
    questions = {row["_id"]: row["text"] for row in rows_of(source / "queries.jsonl") if judged.get(row["_id"])}
    return Collection(documents, questions, judged)
