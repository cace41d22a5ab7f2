"""Embed texts in sixteen languages; texts that say the same in different languages get similar vectors."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chyme.models.embedding import multilingual_weights
from chyme.models.embedding.multilingual_network import TEXT, WIDTH, build_network
from chyme.models.weights.catalog import MULTILINGUAL
from chyme.models.weights.onnx_session import open_session

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]

(NUMBERS,) = (member.filename for member in MULTILINGUAL.members)
DIMENSION = WIDTH
MODEL = f"{MULTILINGUAL.engine} {DIMENSION} int8"
WINDOW = 120  # tokens of a passage: the model was trained on sentences, and short passages locate a match better
LONGEST = 256  # tokens of one text that are used
_MAX_CHARACTERS = 100_000  # characters that are tokenized, of which the first tokens are used
_TABLE_COUNT = 17  # tables of word vectors; token n is in table n % 17
_TABLE_NAME = "Func/StatefulPartitionedCall/input/_{}:0"
_UNKNOWN, _BEGIN, _END = 0, 1, 2  # special tokens
_SPACE = "▁"  # how word pieces write a blank
# Scripts of the languages it was trained on: Arabic, Chinese (both), Dutch, English, French, German, Italian, Japanese,
# Korean, Polish, Portuguese, Russian, Spanish, Thai, Turkish.
_SCRIPTS = ("LATIN", "CYRILLIC", "ARABIC", "CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "FULLWIDTH")


class Multilingual:
    """universal-sentence-encoder-multilingual. Threads may call it concurrently; each call uses `threads` threads."""

    model = MODEL
    dimension = DIMENSION
    window = WINDOW

    def __init__(self, path: Path, threads: int = 1) -> None:
        """Takes the file of weights; ValueError if it is another."""
        encoder = multilingual_weights.read(path)
        self._threads = threads
        self._tokenizer = _make_tokenizer(encoder.pieces)
        try:
            network, self._output_name = build_network(encoder.tensors)
            names = [_TABLE_NAME.format(number + 1) for number in range(_TABLE_COUNT)]
            self._word_tables = [encoder.tensors[f"{name}_quantized"] for name in names]
            self._steps = [
                (float(encoder.tensors[f"{name}_scale"]), int(encoder.tensors[f"{name}_zero_point"])) for name in names
            ]
        except KeyError as error:
            raise ValueError(f"it has no tensor {error}") from error
        self._session = open_session(network)

    def embed(self, texts: Sequence[str]) -> bytes:
        """Runs one text at a time, because activations are rounded by the largest number in a run."""
        if self._threads == 1 or len(texts) == 1:
            return b"".join(map(self._embed_one, texts))
        with ThreadPoolExecutor(self._threads) as pool:
            return b"".join(pool.map(self._embed_one, texts))

    def count_tokens(self, text: str) -> int:
        return len(self._encode(text).ids)

    def reads(self, text: str) -> bool:
        """Whether most letters are in a script of the languages it was trained on."""
        letters = [letter for letter in text[:_MAX_CHARACTERS] if letter.isalpha()]
        if not letters:
            return bool(text.strip())
        return 2 * sum(unicodedata.name(letter, "").startswith(_SCRIPTS) for letter in letters) >= len(letters)

    def numbers(self, text: str) -> list[int]:
        """The token ids of a text with its frame, at most as many as the model uses."""
        return [_BEGIN, *self._encode(text[:_MAX_CHARACTERS]).ids[: LONGEST - 2], _END]

    def _encode(self, text: str) -> Any:
        return self._tokenizer.encode(text.encode("utf-8", "replace").decode("utf-8"))

    def _embed_one(self, text: str) -> bytes:
        import numpy

        flow = numpy.array([self._word_vector(number) for number in self.numbers(text)], numpy.float32)
        vector: Floats = self._session.run([self._output_name], {TEXT: flow})[0][0]
        return (vector / numpy.linalg.norm(vector)).astype("<f4", copy=False).tobytes()

    def _word_vector(self, number: int) -> Floats:
        table = number % _TABLE_COUNT
        step, zero = self._steps[table]
        row: Floats = (self._word_tables[table][number // _TABLE_COUNT].astype("f4") - zero) * step
        return row


def _make_tokenizer(pieces: multilingual_weights.Pieces) -> Any:
    """A tokenizer that works like SentencePiece, or ValueError."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    try:
        tokenizer = Tokenizer(models.Unigram(pieces.pieces, unk_id=_UNKNOWN))
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.Precompiled(pieces.normalizer), normalizers.Strip(), normalizers.Replace(Regex(" {2,}"), " ")]
        )
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(_SPACE, prepend_scheme="always", split=False)
    except Exception as error:  # the library raises nothing narrower
        raise ValueError(str(error)) from error
    return tokenizer
