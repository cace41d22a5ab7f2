"""Embed texts with MiniLM, run by onnxruntime."""

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
RUN_TOKENS = 128  # tokens in one run: from here on cost is proportional to tokens, and more gains nothing
Vector = tuple[float, ...]


class Embedder(Protocol):
    """Turns texts into vectors that can be compared by their cosine."""

    model: str  # vectors of different models cannot be compared
    dimension: int

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """A vector of length 1 for each text, in order. Text beyond the model's window is ignored."""

    def count_tokens(self, text: str) -> int:
        """How many tokens of the model's window a text takes."""

    def knows(self, text: str) -> bool:
        """Whether the vector of a short text is meaningful: the model has seen its script and language."""


class MiniLm:
    """all-MiniLM-L6-v2. Any number of threads may call it; each call uses `threads` threads of its own."""

    dimension = DIMENSION

    def __init__(self, numbers: Path, vocabulary: bytes, threads: int = 1, exact: bool = False) -> None:
        """Takes the files of weights; ValueError if they are others. `exact` computes in float32."""
        self.model = EXACT if exact else MODEL
        self._tokens = Tokens(vocabulary)
        self._threads = threads
        tensors = read_tensors(numbers)
        try:
            network, self._output_name = build_network(tensors, exact)
            self._word_vectors = tensors["embeddings.word_embeddings.weight"]
            self._position_vectors = (
                tensors["embeddings.position_embeddings.weight"]
                + (tensors["embeddings.token_type_embeddings.weight"][0])
            )
        except KeyError as error:
            raise ValueError(f"it has no tensor {error}") from error
        self._session = open_session(network)

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [tuple(row) for row in self.rows(texts).tolist()]

    def rows(self, texts: Sequence[str]) -> Floats:
        """The vectors as one matrix.

        Short texts of the same length share a run; no text is padded, because padding would be multiplied too.
        """
        import numpy

        tokens = [self._tokens.numbers(text) for text in texts]
        runs = _group_by_length([len(numbers) for numbers in tokens])
        vectors = numpy.empty((len(texts), DIMENSION), numpy.float32)

        def run(positions: list[int]) -> None:
            vectors[positions] = self._vectors([tokens[position] for position in positions])

        if self._threads == 1 or len(runs) == 1:
            for positions in runs:
                run(positions)
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                list(pool.map(run, runs))
        return vectors

    def count_tokens(self, text: str) -> int:
        return self._tokens.count(text)

    def knows(self, text: str) -> bool:
        return self._tokens.knows(text)

    def reads(self, text: str) -> bool:
        """Whether the vector of a longer text is meaningful: the model has seen the script of most of it."""
        return self._tokens.reads(text)

    def _vectors(self, tokens: Sequence[Sequence[int]]) -> Floats:
        """The vectors of texts with the same number of tokens."""
        import numpy

        flow = self._word_vectors[numpy.array(tokens)] + self._position_vectors[: len(tokens[0])]
        means: Floats = self._session.run([self._output_name], {TEXTS: flow})[0]
        means /= numpy.linalg.norm(means, axis=1, keepdims=True)
        return means


def _group_by_length(lengths: Sequence[int]) -> list[list[int]]:
    """The positions of texts that go through the network together: of the same length, and few tokens in all."""
    runs: list[list[int]] = []
    for length, positions in itertools.groupby(
        sorted(range(len(lengths)), key=lengths.__getitem__), lengths.__getitem__
    ):
        texts_per_run = max(1, RUN_TOKENS // max(1, length))
        runs += _split(list(positions), texts_per_run)
    return runs


def _split(positions: list[int], size: int) -> list[list[int]]:
    return [positions[start : start + size] for start in range(0, len(positions), size)]


@functools.cache
def load_minilm(settings: EmbeddingSettings) -> MiniLm:
    """The embedder, loaded once per process, or EngineUnavailable with the way to get it."""
    return load_model(
        EMBEDDING,
        settings.weights_dir,
        lambda folder: MiniLm(folder / NUMBERS, (folder / VOCABULARY).read_bytes(), settings.workers),
    )
