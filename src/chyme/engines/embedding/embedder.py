"""What texts mean: a vector for each, by MiniLM run by onnxruntime."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from chyme.engines.embedding.network import TEXT, WIDTH, network
from chyme.engines.embedding.safetensors import tensors
from chyme.engines.embedding.settings import DIMENSION, EXACT, MODEL, EmbeddingSettings
from chyme.engines.embedding.tokens import Tokens
from chyme.engines.onnx_session import open_session
from chyme.engines.weights.known import EMBEDDING
from chyme.engines.weights.shelf import checked
from chyme.errors import EngineUnavailable

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]

NUMBERS, VOCABULARY = (member.filename for member in EMBEDDING.members)
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
        known = tensors(numbers)
        try:
            made, self._mean = network(known, exact)
            self._words = known["embeddings.word_embeddings.weight"]
            self._places = (
                known["embeddings.position_embeddings.weight"] + (known["embeddings.token_type_embeddings.weight"][0])
            )
        except KeyError as error:
            raise ValueError(f"it has no tensor {error}") from error
        self._session = open_session(made)

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One text at a time: texts of one length each need no padding, which would be multiplied too."""
        if self._threads == 1 or len(texts) == 1:
            return [self._vector(text) for text in texts]
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(self._vector, texts))

    def count_tokens(self, text: str) -> int:
        return self._tokens.count(text)

    def knows(self, text: str) -> bool:
        return self._tokens.knows(text)

    def _vector(self, text: str) -> Vector:
        import numpy

        numbers = self._tokens.numbers(text)
        flow = self._words[numbers] + self._places[: len(numbers)]
        mean: Floats = self._session.run([self._mean], {TEXT: flow})[0].reshape(WIDTH)
        return tuple((mean / numpy.linalg.norm(mean)).tolist())


@functools.cache
def load(settings: EmbeddingSettings) -> Embedder:
    """The embedder, loaded once in a process, or EngineUnavailable with the way to get it."""
    folder = checked(EMBEDDING, settings.weights_dir)
    try:
        return MiniLm(folder / NUMBERS, (folder / VOCABULARY).read_bytes(), settings.workers)
    except ImportError as error:
        raise EngineUnavailable(
            f"embedding texts needs onnxruntime and tokenizers ({error}); pip install onnxruntime tokenizers"
        ) from error
    except ValueError as error:
        raise EngineUnavailable(
            f"the weights for {EMBEDDING.capability} are not those of {EMBEDDING.engine} ({error}); "
            f"run 'chyme weights {EMBEDDING.capability}'"
        ) from error
