"""How close the rounded embedder is to the exact one, how fast and how large; what its likeness of tags is worth."""

from __future__ import annotations

import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy
from numpy.typing import NDArray

from bench.figures import Figure, Sizes, Tell, remark, warn
from bench.packaged_minilm import PackagedMiniLm, fetched
from bench.tag_pairs import ONE, TWO
from chyme.core.children.frames import InlineBulk
from chyme.core.children.serialization import decode_outputs, encode_output
from chyme.model import Output, TagVector
from chyme.models.embedding.minilm import NUMBERS, VOCABULARY, EmbeddingSettings, MiniLm, load_minilm
from chyme.models.embedding.passage_embedder import PassageEmbedding, load_passage_embedder
from chyme.models.weights.catalog import EMBEDDING, MULTILINGUAL
from chyme.models.weights.folder import path_of
from chyme.text.spelling_variants import comparison_key
from chyme.understanding.tags.same_meaning import (
    RESCORE_COUNT,
    SAME_MEANING,
    TagCodes,
    likeness_of,
    may_be_one,
    sign_bits,
)
from chyme.understanding.tags.vectors import EMBEDDING_TEMPLATE, TagCache, vectors_of

Matrix = NDArray[numpy.float64]
DOCS = Path(__file__).resolve().parents[1] / "docs"
WORDS = 120  # of a passage
PASSAGES = 60
CORES = 2
ROUNDS = 5  # of both embedders in turn, so that whatever else runs here slows both
THRESHOLDS = (0.80, 0.84, 0.86, 0.88, 0.90, 0.92, 0.94)
CROWD = 5000  # tags among which the nearest are sought
LENGTHS = (8, 16, 64, 128, 200, 256)  # tokens of a text
TAG_FILES = 32  # files whose tags go through a child together
# Loads the embedder in a process of its own and tells how long that took, in seconds and CPU seconds, and its private
# memory, in bytes.
ALONE = """
import time
began = time.perf_counter()
import os, sys
from chyme.models.embedding.passage_embedder import PassageEmbedding, load_passage_embedder
embedder = load_passage_embedder(PassageEmbedding(sys.argv[1]))
embedder.embed(["the rent is paid on the third of each month, says the contract. " * 20])
spent = time.perf_counter() - began
from bench.processes import private_bytes
print(spent, time.process_time(), private_bytes(os.getpid()))
"""


def measure(_sizes: Sizes, folder: Path, tell: Tell) -> None:
    """Passages of our own documentation, then pairs of tags."""
    weights = path_of(EMBEDDING)
    if weights is None:
        warn("the weights for embedding are not there; run 'chyme weights embedding'")
        return
    passages = _passages()
    vocabulary = (weights / VOCABULARY).read_bytes()
    ours, exact = (MiniLm(weights / NUMBERS, vocabulary, CORES, exact=one) for one in (False, True))
    tokens = statistics.mean(map(ours.count_tokens, passages))
    speeds = _in_turn({"int8": ours.rows, "float32": exact.rows}, passages)
    for kind, speed in speeds.items():
        tell(Figure(f"speed, {kind}", speed, "/s", f"passages of {tokens:.0f} tokens, {CORES} threads"))
    alike = (ours.rows(passages) * exact.rows(passages)).sum(axis=1)
    tell(Figure("cosine to the exact vectors, mean", float(alike.mean()), "", "", at_least=0.995))
    tell(Figure("cosine to the exact vectors, lowest", float(alike.min()), "", "", at_least=0.99))
    _tell_packaged(ours, exact, passages, vocabulary, folder, tell)
    _tell_short(MiniLm(weights / NUMBERS, vocabulary), tell)
    _tell_lengths(MiniLm(weights / NUMBERS, vocabulary), tell)
    _tell_tag_vectors(tell)
    _tell_alone("minilm", tell)
    _tell_multilingual(passages, tell)
    _tell_tags(tell)


def _in_turn(embedders: dict[str, Callable[[list[str]], object]], texts: list[str]) -> dict[str, float]:
    """Texts in a second for each, the best of several rounds in which all take their turn."""
    best = dict.fromkeys(embedders, 0.0)
    for _, (name, embed) in itertools.product(range(ROUNDS), embedders.items()):
        began = time.perf_counter()
        embed(texts)
        best[name] = max(best[name], len(texts) / (time.perf_counter() - began))
    return best


def _tell_packaged(
    ours: MiniLm, exact: MiniLm, passages: list[str], vocabulary: bytes, folder: Path, tell: Tell
) -> None:
    """The same model as somebody else rounded it, with as many threads and the same tokens.

    Its whole numbers only save space: they become real ones when it is loaded, and those are multiplied.
    """
    path = fetched(folder)
    if path is None:
        warn("the packaged int8 file cannot be fetched; how much faster ours is was not measured")
        return
    packaged, our_way = (PackagedMiniLm(path, vocabulary, CORES, one) for one in (False, True))
    speeds = _in_turn({"ours": ours.rows, "packaged": packaged.rows, "our way": our_way.rows}, passages)
    how = f"{speeds['ours']:.0f} and {speeds['packaged']:.0f} a second, in turn in one run"
    tell(Figure("speed against the packaged int8 file", speeds["ours"] / speeds["packaged"], "x", how, at_least=3.0))
    how = f"{speeds['our way']:.0f} a second: {CORES} texts at once, one thread each"
    tell(Figure("the same, the packaged run as ours is", speeds["ours"] / speeds["our way"], "x", how))
    alike = (packaged.rows(passages) * exact.rows(passages)).sum(axis=1)
    tell(Figure("its cosine to the exact vectors, lowest", float(alike.min()), "", "for comparison"))


def _tell_short(ours: MiniLm, tell: Tell) -> None:
    """What texts gain that share a run because they have as many tokens."""
    tags = [EMBEDDING_TEMPLATE.format(tag) for tag in sorted({tag for pair in (*ONE, *TWO) for tag in pair})[:200]]
    speeds = _in_turn({"together": ours.rows, "alone": lambda texts: [ours.rows([text]) for text in texts]}, tags)
    how = f"{len(tags)} tags in a sentence; {speeds['together']:.0f} a second"
    tell(Figure("short texts together against alone", speeds["together"] / speeds["alone"], "x", how, at_least=1.2))


def _tell_lengths(ours: MiniLm, tell: Tell) -> None:
    """What a token costs in texts of several lengths: attention compares every token with every other."""
    costs = {}
    for length in LENGTHS:
        text = "rent " * (length - 2)
        costs[length] = _least_cpu(lambda text=text: ours.rows([text])) / length  # type: ignore[misc]
    how = ", ".join(f"{1e6 * cost:.0f} at {length}" for length, cost in costs.items())
    tell(Figure("CPU of a token in a text of 200", 1e6 * costs[200], "us", f"one text in a run; {how}"))


def _tell_tag_vectors(tell: Tell) -> None:
    """What the vectors of a file's tags cost, from the tags to the values that the server stores."""
    tags = sorted({tag for pair in (*ONE, *TWO) for tag in pair})
    files = [tuple(tags[start : start + 3]) for start in range(0, 3 * TAG_FILES, 3)]

    def embed_and_send(files_at_once: int) -> None:
        for start in range(0, TAG_FILES, files_at_once):
            some = list(itertools.chain.from_iterable(files[start : start + files_at_once]))
            embedder = load_minilm(EmbeddingSettings())
            vectors = TagCache(embedder.embed).embed(some)
            found = tuple(TagVector(tag, embedder.model, vector) for tag, vector in zip(some, vectors, strict=True))
            bulk: list[bytes] = []
            row = encode_output(Output("tags", "{}", tag_vectors=found), bulk)
            decode_outputs([row], ("tags",), InlineBulk(b"".join(bulk)))

    together, alone = (1000 * _least_cpu(lambda n=n: embed_and_send(n)) / TAG_FILES for n in (TAG_FILES, 1))  # type: ignore[misc]
    tell(Figure("CPU of the vectors of a file's tags", together, "ms", f"3 new tags; {alone:.1f} ms for a file alone"))


def _least_cpu(work: Callable[[], object]) -> float:
    """CPU seconds, the least of several rounds."""
    spent = []
    for _ in range(2 * ROUNDS):
        began = time.process_time()
        work()
        spent.append(time.process_time() - began)
    return min(spent)


def _tell_alone(engine: str, tell: Tell) -> None:
    told = [
        subprocess.run([sys.executable, "-c", ALONE, engine], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(3)
    ]
    seconds, processor, memory = (min(float(one[part]) for one in told) for part in range(3))
    tell(Figure(f"loading and a first text, {engine}", seconds, "s", "a new process, libraries and check included"))
    tell(Figure(f"CPU of that, {engine}", processor, "s", "imports of Python and numpy included"))
    tell(Figure(f"private memory, {engine}", memory / 2**20, "MB", "of a process that embeds"))


def _tell_multilingual(passages: list[str], tell: Tell) -> None:
    if path_of(MULTILINGUAL) is None:
        warn("the weights for multilingual are not there; run 'chyme weights multilingual'")
        return
    embedder = load_passage_embedder(PassageEmbedding("multilingual", threads=CORES))
    short = [" ".join(passage.split()[: WORDS // 2]) for passage in passages]
    speed = _in_turn({"multilingual": embedder.embed}, short)["multilingual"]
    tokens = statistics.mean(map(embedder.count_tokens, short))
    tell(Figure("speed, multilingual", speed, "/s", f"passages of {tokens:.0f} tokens, {CORES} threads"))
    _tell_alone("multilingual", tell)


def _passages() -> list[str]:
    words = [word for page in sorted(DOCS.glob("*.md")) for word in page.read_text(encoding="utf-8").split()]
    cut = [" ".join(part) for part in zip(*[iter(words)] * WORDS, strict=False)]
    return cut[:: max(1, len(cut) // PASSAGES)][:PASSAGES]


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
    codes = [(ids[tag], sign_bits(vector)) for tag, vector in everybody.items()]
    close = [pair for pair in ONE if _likeness(pair, vectors) >= SAME_MEANING]
    known = TagCodes(codes)
    kept = sum(ids[other] in known.near(sign_bits(vectors[one])) for one, other in close)
    tell(
        Figure(
            f"near tags among the best {RESCORE_COUNT} by signs",
            100 * kept / len(close),
            "%",
            f"{len(close)} pairs among {len(codes)} tags",
            at_least=99.0,
        )
    )


def _joined(pair: tuple[str, str], vectors: dict[str, tuple[float, ...]], enough: float) -> bool:
    one, other = pair
    return comparison_key(one) == comparison_key(other) or (
        _likeness(pair, vectors) >= enough and may_be_one(one, other)
    )


def _likeness(pair: Sequence[str], vectors: dict[str, tuple[float, ...]]) -> float:
    one, other = (vectors.get(tag) for tag in pair)
    return likeness_of(one, other) if one and other else -1.0
