"""How close the rounded embedder is to the exact one, how fast and how large; what its likeness of tags is worth."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy
from numpy.typing import NDArray

from bench.figures import Figure, Sizes, Tell, remark, warn
from bench.tag_pairs import ONE, TWO
from chyme.decide.tag_likeness import may_be_one
from chyme.decide.tag_names import comparable
from chyme.decide.tag_reuse import RESCORED, SAME_MEANING, code_of, likeness_of, nearest
from chyme.engines.embedding.embedder import NUMBERS, VOCABULARY, MiniLm
from chyme.engines.embedding.settings import EmbeddingSettings
from chyme.engines.embedding.tag_vectors import vectors_of
from chyme.engines.weights.known import EMBEDDING
from chyme.engines.weights.shelf import path_of

Matrix = NDArray[numpy.float64]
DOCS = Path(__file__).resolve().parents[1] / "docs"
WORDS = 120  # of a passage
PASSAGES = 60
THRESHOLDS = (0.80, 0.84, 0.86, 0.88, 0.90, 0.92, 0.94)
CROWD = 5000  # tags among which the nearest are sought
# Loads the embedder in a process of its own and tells its private memory, in bytes.
ALONE = """
import os, pathlib, sys
from bench.processes import private_bytes
from chyme.engines.embedding.embedder import MiniLm
numbers, vocabulary, exact = sys.argv[1:]
embedder = MiniLm(pathlib.Path(numbers), pathlib.Path(vocabulary).read_bytes(), exact=exact == "exact")
embedder.embed(["the rent is paid on the third of each month, says the contract. " * 20])
print(private_bytes(os.getpid()))
"""


def measure(_sizes: Sizes, _folder: Path, tell: Tell) -> None:
    """Passages of our own documentation, then pairs of tags."""
    weights = path_of(EMBEDDING)
    if weights is None:
        warn("the weights for embedding are not there; run 'chyme weights embedding'")
        return
    passages = _passages()
    known: dict[str, Matrix] = {}
    for kind, exact in (("int8", False), ("float32", True)):
        began = time.perf_counter()
        embedder = MiniLm(weights / NUMBERS, (weights / VOCABULARY).read_bytes(), exact=exact)
        tell(Figure(f"loading, {kind}", time.perf_counter() - began, "s", "tensors to a network that runs"))
        embedder.embed(passages[:2])
        spent = time.process_time()
        known[kind] = numpy.array(embedder.embed(passages))
        spent = time.process_time() - spent
        tokens = sum(map(embedder.count_tokens, passages)) / len(passages)
        tell(Figure(f"speed, {kind}", len(passages) / spent, "/CPU s", f"passages of {tokens:.0f} tokens, one thread"))
        tell(Figure(f"private memory, {kind}", _memory(weights, kind) / 2**20, "MB", "of a process that embeds"))
    alike = (known["int8"] * known["float32"]).sum(axis=1)
    tell(Figure("cosine to the exact vectors, mean", float(alike.mean()), "", "", at_least=0.995))
    tell(Figure("cosine to the exact vectors, lowest", float(alike.min()), "", "", at_least=0.99))
    _tell_tags(tell)


def _passages() -> list[str]:
    words = [word for page in sorted(DOCS.glob("*.md")) for word in page.read_text(encoding="utf-8").split()]
    cut = [" ".join(part) for part in zip(*[iter(words)] * WORDS, strict=False)]
    return cut[:: max(1, len(cut) // PASSAGES)][:PASSAGES]


def _memory(weights: Path, kind: str) -> int:
    files = (str(weights / NUMBERS), str(weights / VOCABULARY))
    told = subprocess.run(
        [sys.executable, "-c", ALONE, *files, "exact" if kind == "float32" else kind],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(told.stdout)


def _tell_tags(tell: Tell) -> None:
    """How many pairs that are one tag become one, and how many that are two."""
    vectors = {
        known.tag: known.vector
        for known in vectors_of(itertools.chain.from_iterable((*ONE, *TWO)), EmbeddingSettings())
    }
    remark(f"{len(ONE)} pairs that are one tag, {len(TWO)} that are not: joined from a likeness of …")
    for enough in THRESHOLDS:
        found, wrong = (sum(_joined(pair, vectors, enough) for pair in pairs) for pairs in (ONE, TWO))
        unguarded = sum(_likeness(pair, vectors) >= enough for pair in TWO)
        remark(f"{enough:.2f}: {found:>4} right, {wrong:>3} wrong ({unguarded} if letters had no say)")
    right, wrong = (sum(_joined(pair, vectors, SAME_MEANING) for pair in pairs) for pairs in (ONE, TWO))
    tell(Figure("one tag, and joined", 100 * right / len(ONE), "%", f"likeness {SAME_MEANING}"))
    tell(Figure("two tags, and joined", 100 * wrong / len(TWO), "%", f"likeness {SAME_MEANING}", at_most=1.0))
    _tell_codes(vectors, tell)


def _tell_codes(vectors: dict[str, tuple[float, ...]], tell: Tell) -> None:
    """Whether signs alone keep the near ones among thousands of tags."""
    words = sorted({word.strip(".,;:()`*").lower() for page in DOCS.glob("*.md") for word in page.read_text().split()})
    made = (f"{one} {other}" for one, other in zip(words, reversed(words), strict=True))
    crowd = list(itertools.islice((tag for tag in (*words, *made) if tag and tag not in vectors), CROWD - len(vectors)))
    everybody = {**vectors, **{known.tag: known.vector for known in vectors_of(crowd, EmbeddingSettings())}}
    ids = {tag: number for number, tag in enumerate(everybody)}
    codes = [(ids[tag], code_of(vector)) for tag, vector in everybody.items()]
    close = [pair for pair in ONE if _likeness(pair, vectors) >= SAME_MEANING]
    kept = sum(ids[other] in nearest(code_of(vectors[one]), codes) for one, other in close)
    tell(
        Figure(
            f"near tags among the best {RESCORED} by signs",
            100 * kept / len(close),
            "%",
            f"{len(close)} pairs among {len(codes)} tags",
            at_least=99.0,
        )
    )


def _joined(pair: tuple[str, str], vectors: dict[str, tuple[float, ...]], enough: float) -> bool:
    one, other = pair
    return comparable(one) == comparable(other) or (_likeness(pair, vectors) >= enough and may_be_one(one, other))


def _likeness(pair: Sequence[str], vectors: dict[str, tuple[float, ...]]) -> float:
    one, other = (vectors.get(tag) for tag in pair)
    return likeness_of(one, other) if one and other else -1.0
