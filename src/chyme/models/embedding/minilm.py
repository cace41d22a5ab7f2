"""What texts mean: a vector for each, by MiniLM run by onnxruntime."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from chyme.models.embedding.minilm_network import TEXTS, build_network
from chyme.models.embedding.minilm_settings import DIMENSION, EXACT, MODEL, EmbeddingSettings
from chyme.models.embedding.minilm_tokenizer import Tokens
from chyme.models.embedding.model_loader import load_model
from chyme.models.weights.catalog import EMBEDDING
from chyme.models.weights.onnx_session import open_session
from chyme.models.weights.safetensors import read_tensors

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]

NUMBERS, VOCABULARY = (member.filename for member in EMBEDDING.members)
TOGETHER = 128  # tokens in one run: by then a text costs what its tokens cost, and no more is gained
Vector = tuple[float, ...]


class Embedder(Protocol):
    """Whoever turns texts into vectors that can be compared by their cosine."""

    model: str  # vectors of different models cannot be compared
    dimension: int

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """A vector of length 1 for each text, in order. What does not fit the model's window is not looked at."""

    def count_tokens(self, text: str) -> int:
        """How much of the model's window a text takes."""

    def knows(self, text: str) -> bool:
        """Whether the vector of so short a text says anything: it is in a script and language the model has seen."""


class MiniLm:
    """all-MiniLM-L6-v2. Any number of threads may call; each call uses `threads` of its own."""

    dimension = DIMENSION

    def __init__(self, numbers: Path, vocabulary: bytes, threads: int = 1, exact: bool = False) -> None:
        """Takes the files of weights; ValueError when they are others. `exact` multiplies real numbers."""
        self.model = EXACT if exact else MODEL
        self._tokens = Tokens(vocabulary)
        self._threads = threads
        known = read_tensors(numbers)
        try:
            made, self._mean = build_network(known, exact)
            self._words = known["embeddings.word_embeddings.weight"]
            self._places = (
                known["embeddings.position_embeddings.weight"] + (known["embeddings.token_type_embeddings.weight"][0])
            )
        except KeyError as error:
            raise ValueError(f"it has no tensor {error}") from error
        self._session = open_session(made)

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [tuple(row) for row in self.rows(texts).tolist()]

    def rows(self, texts: Sequence[str]) -> Floats:
        """The vectors as one matrix.

        Short texts of one length share a run; no text is padded, for padding would be multiplied too.
        """
        import numpy

        tokens = [self._tokens.numbers(text) for text in texts]
        runs = _runs([len(numbers) for numbers in tokens])
        found = numpy.empty((len(texts), DIMENSION), numpy.float32)

        def run(places: list[int]) -> None:
            found[places] = self._vectors([tokens[place] for place in places])

        if self._threads == 1 or len(runs) == 1:
            for places in runs:
                run(places)
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                list(pool.map(run, runs))
        return found

    def count_tokens(self, text: str) -> int:
        return self._tokens.count(text)

    def knows(self, text: str) -> bool:
        return self._tokens.knows(text)

    def reads(self, text: str) -> bool:
        """Whether the vector of a longer text says anything: most of it is in a script the model has seen."""
        return self._tokens.reads(text)

    def _vectors(self, tokens: Sequence[Sequence[int]]) -> Floats:
        """The vectors of texts that have as many tokens each."""
        import numpy

        flow = self._words[numpy.array(tokens)] + self._places[: len(tokens[0])]
        means: Floats = self._session.run([self._mean], {TEXTS: flow})[0]
        means /= numpy.linalg.norm(means, axis=1, keepdims=True)
        return means


def _runs(lengths: Sequence[int]) -> list[list[int]]:
    """The places of texts that go through the network together: as long as each other, and few tokens in all."""
    runs: list[list[int]] = []
    for length, places in itertools.groupby(sorted(range(len(lengths)), key=lengths.__getitem__), lengths.__getitem__):
        together = max(1, TOGETHER // max(1, length))
        runs += _portions(list(places), together)
    return runs


def _portions(places: list[int], size: int) -> list[list[int]]:
    return [places[start : start + size] for start in range(0, len(places), size)]


@functools.cache
def load_minilm(settings: EmbeddingSettings) -> MiniLm:
    """The embedder, loaded once in a process, or EngineUnavailable with the way to get it."""
    return load_model(
        EMBEDDING,
        settings.weights_dir,
        lambda folder: MiniLm(folder / NUMBERS, (folder / VOCABULARY).read_bytes(), settings.workers),
    )
