"""Embed passages and questions with the configured embedder. Importing this loads no model."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from chyme.core.package_versions import describe_versions
from chyme.errors import EngineUnavailable
from chyme.models.embedding import multilingual
from chyme.models.embedding.minilm import DIMENSION, MODEL, EmbeddingSettings, MiniLm, load_minilm
from chyme.models.embedding.model_loader import load_model
from chyme.models.embedding.multilingual_network import VERSION
from chyme.models.weights.catalog import MULTILINGUAL
from chyme.models.weights.folder import path_of

Engine = Literal["minilm", "multilingual", "openai"]
LOCAL = ("minilm", "multilingual")
WINDOW = 200  # tokens: the model uses 256, and a title is put before the passage


class PassageEmbedder(Protocol):
    """Turns passages into vectors that can be compared by their cosine."""

    model: str  # vectors of different models cannot be compared
    dimension: int
    window: int  # tokens a passage should have at most

    def embed(self, texts: Sequence[str]) -> bytes:
        """A row of float32, little-endian and of length 1, for each text, in order."""

    def count_tokens(self, text: str) -> int:
        """How many tokens of the model's window a text takes."""

    def reads(self, text: str) -> bool:
        """Whether the vector of such a text is meaningful: the model has seen the script of most of it."""


@dataclass(frozen=True, slots=True)
class PassageEmbedding:
    """Which embedder, where it is, and how much of the machine it may use. 0 means the engine's own value."""

    engine: Engine = "minilm"
    weights_dir: str = ""  # the folder of fetched weights; empty: beside Python
    threads: int = 1  # texts embedded at once in one child; 0: one per core
    url: str = ""  # of the endpoint
    model: str = ""  # the endpoint's name for it
    key: str = field(default="", repr=False)
    dimension: int = 0  # numbers in a vector
    window: int = 0  # tokens of a passage
    seconds: float = 30.0  # for one request to the endpoint

    def __post_init__(self) -> None:
        """The dimension and window of our own engines cannot be chosen."""
        fixed = {"minilm": (DIMENSION, WINDOW), "multilingual": (multilingual.DIMENSION, multilingual.WINDOW)}
        dimension, window = fixed.get(self.engine, (self.dimension, self.window))
        object.__setattr__(self, "dimension", dimension)
        object.__setattr__(self, "window", window)

    @property
    def local(self) -> bool:
        """Whether texts stay on this machine."""
        return self.engine in LOCAL

    @property
    def model_name(self) -> str:
        """The name under which vectors are stored."""
        if self.engine == "minilm":
            return MODEL
        return multilingual.MODEL if self.engine == "multilingual" else f"{self.model} {self.dimension}"

    @property
    def workers(self) -> int:
        return EmbeddingSettings(threads=self.threads).workers

    @property
    def fingerprint(self) -> str:
        """What changes the vectors, and whether weights are present, so that digests are redone when they appear."""
        if self.engine == "minilm":
            engine = EmbeddingSettings(self.weights_dir).fingerprint
        elif self.engine == "multilingual":
            presence = "with" if path_of(MULTILINGUAL, self.weights_dir) else "without"
            identity = MULTILINGUAL.members[0].sha256[:16]
            libraries = describe_versions("onnxruntime", "tokenizers")
            engine = f"{self.model_name} {identity} {presence} weights, network {VERSION}, {libraries}"
        else:
            engine = f"{self.model_name} at {self.url}"
        return f"{engine}, passages of {self.window}"


class _MiniLmPassages:
    """MiniLM, for passages."""

    window = WINDOW
    dimension = DIMENSION

    def __init__(self, minilm: MiniLm) -> None:
        self.model = minilm.model
        self._minilm = minilm

    def embed(self, texts: Sequence[str]) -> bytes:
        return self._minilm.rows(texts).astype("<f4", copy=False).tobytes()

    def count_tokens(self, text: str) -> int:
        return self._minilm.count_tokens(text)

    def reads(self, text: str) -> bool:
        return self._minilm.reads(text)


@functools.cache
def load_passage_embedder(settings: PassageEmbedding) -> PassageEmbedder:
    """The embedder that runs here, loaded once per process, or EngineUnavailable with the way to get it."""
    if settings.engine == "minilm":
        return _MiniLmPassages(load_minilm(EmbeddingSettings(settings.weights_dir, settings.threads)))
    if settings.engine == "multilingual":
        return load_model(
            MULTILINGUAL,
            settings.weights_dir,
            lambda folder: multilingual.Multilingual(folder / multilingual.NUMBERS, settings.workers),
        )
    raise EngineUnavailable(f"the embedder of {settings.url} does not run here; ask it there, or choose minilm")
