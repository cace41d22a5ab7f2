"""Embed texts with MiniLM, run by onnxruntime."""

from __future__ import annotations

import functools
import itertools
import os
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chyme.core.package_versions import describe_versions
from chyme.models.embedding.minilm_network import TEXTS, VERSION, build_network
from chyme.models.embedding.model_loader import load_model
from chyme.models.weights.catalog import EMBEDDING
from chyme.models.weights.folder import path_of
from chyme.models.weights.onnx_session import open_session
from chyme.models.weights.safetensors import forget_pages, read_tensors

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]

NUMBERS, VOCABULARY = (member.filename for member in EMBEDDING.members)
DIMENSION = 384
MODEL = f"{EMBEDDING.engine} {DIMENSION} int8"  # vectors of different models cannot be compared
EXACT = f"{EMBEDDING.engine} {DIMENSION} float32"
RUN_TOKENS = 128  # tokens in one run: from here on cost is proportional to tokens, and more gains nothing
LONGEST = 256  # tokens of one text that are used; the model was trained on no more
UNKNOWN = "[UNK]"
_MAX_CHARACTERS = 100_000  # characters: if they do not contain the first 256 tokens, there are only blanks
_MAX_CACHED_WORDS, _MAX_CACHED_LENGTH = 50_000, 40  # how many words are remembered, and their greatest length
_LINE_BREAKS = re.compile(r"[\t\n\r]")
_MIN_LETTERS = 2  # letters per piece, on average, in words that the model has seen
Vector = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """Where the model is, and how much of the machine it may use."""

    weights_dir: str = ""  # the folder of fetched weights; empty: beside Python
    threads: int = 1  # texts embedded at once in one child; 0: one per core

    @property
    def model(self) -> str:
        """The name under which vectors are stored."""
        return MODEL

    @property
    def workers(self) -> int:
        return self.threads or len(os.sched_getaffinity(0))

    @property
    def fingerprint(self) -> str:
        """What changes the vectors, and whether weights are present, so that digests are redone when they appear."""
        presence = "with" if path_of(EMBEDDING, self.weights_dir) else "without"
        identity = EMBEDDING.members[0].sha256[:16]
        libraries = describe_versions("onnxruntime", "tokenizers")
        return f"{MODEL} {identity} {presence} weights, network {VERSION}, {libraries}"


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
            positions, types = (tensors[f"embeddings.{name}_embeddings.weight"] for name in ("position", "token_type"))
            self._position_vectors = positions + types[0]
        except KeyError as error:
            raise ValueError(f"it has no tensor {error}") from error
        self._session = open_session(network)
        forget_pages(self._word_vectors)

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """A vector of length 1 for each text, in order. Text beyond the model's window is ignored."""
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
    by_length = sorted(range(len(lengths)), key=lengths.__getitem__)
    for length, positions in itertools.groupby(by_length, lengths.__getitem__):
        alike, size = list(positions), max(1, RUN_TOKENS // max(1, length))
        runs += [alike[start : start + size] for start in range(0, len(alike), size)]
    return runs


@functools.cache
def load_minilm(settings: EmbeddingSettings) -> MiniLm:
    """The embedder, loaded once per process, or EngineUnavailable with the way to get it."""
    return load_model(
        EMBEDDING,
        settings.weights_dir,
        lambda folder: MiniLm(folder / NUMBERS, (folder / VOCABULARY).read_bytes(), settings.workers),
    )


class Tokens:
    """The tokenizer. Calls do not change it."""

    def __init__(self, vocabulary: bytes) -> None:
        """Takes the tokenizer's file; ValueError if it is another one."""
        from tokenizers import Tokenizer

        try:
            self._tokenizer: Any = Tokenizer.from_buffer(vocabulary)
        except Exception as error:  # the library raises nothing narrower
            raise ValueError(str(error)) from error
        self._measure_again = functools.lru_cache(_MAX_CACHED_WORDS)(self._measure)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def numbers(self, text: str) -> list[int]:
        """The token ids of a text with its frame, at most as many as the model uses."""
        ids: list[int] = self._tokenizer.encode(_replace_surrogates(text[:_MAX_CHARACTERS])).ids
        return ids if len(ids) <= LONGEST else [*ids[: LONGEST - 1], ids[-1]]

    def count(self, text: str) -> int:
        """How many tokens a text has, without its frame."""
        return len(self._tokenizer.encode(_replace_surrogates(text), add_special_tokens=False).ids)

    def knows(self, text: str) -> bool:
        """Whether the model can tell this text from others: no piece is unknown and words are not spelled out.

        All unknown pieces are the same to the model, and words it has to spell are nearly the same: two texts in a
        script it never learnt look alike, whatever they say.
        """
        pieces = self._tokenizer.encode(_replace_surrogates(text), add_special_tokens=False).tokens
        letters = sum(len(piece.removeprefix("##")) for piece in pieces)
        return bool(pieces) and UNKNOWN not in pieces and letters >= _MIN_LETTERS * len(pieces)

    def reads(self, text: str) -> bool:
        """Whether most of a text is in Latin letters, the only script the model has seen more than a few words in.

        The vector of a single letter, a number or a meaningless word is close to everything, and says nothing.
        """
        line = _LINE_BREAKS.sub(" ", _replace_surrogates(text[:_MAX_CHARACTERS]))
        # No piece crosses a space, and most words were measured before. Other white space is left to the tokenizer.
        words = line.split(" ") if line.isprintable() else [line]
        latin = letters = foreign = 0
        for word in words:
            measured = self._measure_again(word) if len(word) <= _MAX_CACHED_LENGTH else self._measure(word)
            latin, letters, foreign = latin + measured[0], letters + measured[1], foreign + measured[2]
        return latin > 0 and latin >= foreign and letters >= _MIN_LETTERS * latin

    def _measure(self, text: str) -> tuple[int, int, int]:
        """How many pieces are in Latin letters, how many letters these have, and how many are in other scripts."""
        pieces = [piece.removeprefix("##") for piece in self._tokenizer.encode(text, add_special_tokens=False).tokens]
        foreign = sum(piece == UNKNOWN or (piece.isalpha() and not piece.isascii()) for piece in pieces)
        latin = [piece for piece in pieces if piece != UNKNOWN and piece.isascii() and piece.isalpha()]
        return len(latin), sum(map(len, latin)), foreign


def _replace_surrogates(text: str) -> str:
    """The text with lone surrogates replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
