"""Cutting texts into the pieces of words that the embedder knows."""

from __future__ import annotations

from typing import Any

LONGEST = 256  # tokens of one text that are looked at; the model was trained on no more
FRAME = 2  # tokens around every text: where it begins and where it ends
_ENOUGH = 100_000  # characters: if the first 256 tokens do not lie within these, there are only blanks
UNKNOWN = "[UNK]"
_AT_LEAST = 2  # letters a piece stands for, on average, in words that the model has seen


class Tokens:
    """Knows the pieces. Calls do not change it."""

    def __init__(self, vocabulary: bytes) -> None:
        """Takes the file of the tokenizer; ValueError when it is another one."""
        from tokenizers import Tokenizer

        try:
            self._tokenizer: Any = Tokenizer.from_buffer(vocabulary)
        except Exception as error:  # the library raises nothing narrower
            raise ValueError(str(error)) from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def numbers(self, text: str) -> list[int]:
        """The tokens of a text with its frame, as the model counts them, and no more than it looks at."""
        ids: list[int] = self._tokenizer.encode(_sound(text[:_ENOUGH])).ids
        return ids if len(ids) <= LONGEST else [*ids[: LONGEST - 1], ids[-1]]

    def count(self, text: str) -> int:
        """How many tokens a text has, its frame not counted."""
        return len(self._tokenizer.encode(_sound(text), add_special_tokens=False).ids)

    def knows(self, text: str) -> bool:
        """Whether the model can tell this text from others: it has no unknown piece and is not spelled out.

        All unknown pieces are the same to the model, and so almost are words it has to spell: two texts in a script
        that it never learnt look alike, whatever they say.
        """
        pieces = self._tokenizer.encode(_sound(text), add_special_tokens=False).tokens
        letters = sum(len(piece.removeprefix("##")) for piece in pieces)
        return bool(pieces) and UNKNOWN not in pieces and letters >= _AT_LEAST * len(pieces)

    def reads(self, text: str) -> bool:
        """Whether most of a text is in Latin letters, the only ones the model has seen more than a few words in.

        A letter, a number or a word that nobody ever wrote is near to everything, and says nothing.
        """
        pieces = [piece.removeprefix("##") for piece in self._tokenizer.encode(_sound(text[:_ENOUGH])).tokens[1:-1]]
        strange = sum(piece == UNKNOWN or (piece.isalpha() and not piece.isascii()) for piece in pieces)
        latin = [piece for piece in pieces if piece != UNKNOWN and piece.isascii() and piece.isalpha()]
        return bool(latin) and len(latin) >= strange and sum(map(len, latin)) >= _AT_LEAST * len(latin)


def _sound(text: str) -> str:
    """Halves of characters, which stand for nothing, made into what stands for that."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
