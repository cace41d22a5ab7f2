"""What texts mean in sixteen languages: a vector for each, alike for texts that say the same in different ones."""

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
WINDOW = 120  # tokens of a passage: it was trained on sentences, and a short passage leads closer to the place
LONGEST = 256  # tokens of one text that are looked at
_ENOUGH = 100_000  # characters that are cut into tokens, of which the first are looked at
_TABLES, _TABLE = 17, "Func/StatefulPartitionedCall/input/_{}:0"  # of words, dealt out to them in turn
_UNKNOWN, _BEGIN, _END = 0, 1, 2  # tokens with a meaning of their own
_SPACE = "▁"  # how the pieces of words write a blank
# Scripts of the languages it was trained on: Arabic, Chinese (both), Dutch, English, French, German, Italian, Japanese,
# Korean, Polish, Portuguese, Russian, Spanish, Thai, Turkish.
_SCRIPTS = ("LATIN", "CYRILLIC", "ARABIC", "CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "FULLWIDTH")


class Multilingual:
    """universal-sentence-encoder-multilingual. Any number of threads may call; each call uses `threads` of its own."""

    model = MODEL
    dimension = DIMENSION
    window = WINDOW

    def __init__(self, path: Path, threads: int = 1) -> None:
        """Takes the file of weights; ValueError when it is another."""
        encoder = multilingual_weights.read(path)
        self._threads = threads
        self._tokenizer = _tokenizer(encoder.pieces)
        try:
            made, self._vector = build_network(encoder.tensors)
            names = [_TABLE.format(number + 1) for number in range(_TABLES)]
            self._words = [encoder.tensors[f"{name}_quantized"] for name in names]
            self._steps = [
                (float(encoder.tensors[f"{name}_scale"]), int(encoder.tensors[f"{name}_zero_point"])) for name in names
            ]
        except KeyError as error:
            raise ValueError(f"it has no tensor {error}") from error
        self._session = open_session(made)

    def embed(self, texts: Sequence[str]) -> bytes:
        """One text at a time: what flows through the network is rounded by its largest number."""
        if self._threads == 1 or len(texts) == 1:
            return b"".join(map(self._row, texts))
        with ThreadPoolExecutor(self._threads) as pool:
            return b"".join(pool.map(self._row, texts))

    def count_tokens(self, text: str) -> int:
        return len(self._encode(text).ids)

    def reads(self, text: str) -> bool:
        """Whether most letters are in a script of the languages it was trained on."""
        letters = [letter for letter in text[:_ENOUGH] if letter.isalpha()]
        if not letters:
            return bool(text.strip())
        return 2 * sum(unicodedata.name(letter, "").startswith(_SCRIPTS) for letter in letters) >= len(letters)

    def numbers(self, text: str) -> list[int]:
        """The tokens of a text with its frame, as the model counts them, and no more than are looked at."""
        return [_BEGIN, *self._encode(text[:_ENOUGH]).ids[: LONGEST - 2], _END]

    def _encode(self, text: str) -> Any:
        return self._tokenizer.encode(text.encode("utf-8", "replace").decode("utf-8"))

    def _row(self, text: str) -> bytes:
        import numpy

        flow = numpy.array([self._word(number) for number in self.numbers(text)], numpy.float32)
        vector: Floats = self._session.run([self._vector], {TEXT: flow})[0][0]
        return (vector / numpy.linalg.norm(vector)).astype("<f4", copy=False).tobytes()

    def _word(self, number: int) -> Floats:
        table = number % _TABLES
        step, zero = self._steps[table]
        row: Floats = (self._words[table][number // _TABLES].astype("f4") - zero) * step
        return row


def _tokenizer(pieces: multilingual_weights.Pieces) -> Any:
    """What cuts texts as SentencePiece does, or ValueError."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    try:
        made = Tokenizer(models.Unigram(pieces.pieces, unk_id=_UNKNOWN))
        made.normalizer = normalizers.Sequence(
            [
                normalizers.Precompiled(pieces.even),
                normalizers.Strip(),
                normalizers.Replace(Regex(" {2,}"), " "),
            ]
        )
        made.pre_tokenizer = pre_tokenizers.Metaspace(_SPACE, prepend_scheme="always", split=False)
    except Exception as error:  # the library raises nothing narrower
        raise ValueError(str(error)) from error
    return made
