"""Split texts into the word pieces that the embedder knows."""

from __future__ import annotations

from typing import Any

LONGEST = 256  # tokens of one text that are used; the model was trained on no more
FRAME = 2  # tokens around every text that mark its beginning and end
_MAX_CHARACTERS = 100_000  # characters: if they do not contain the first 256 tokens, there are only blanks
UNKNOWN = "[UNK]"
_MIN_LETTERS = 2  # letters per piece, on average, in words that the model has seen


class Tokens:
    """The tokenizer. Calls do not change it."""

    def __init__(self, vocabulary: bytes) -> None:
        """Takes the tokenizer's file; ValueError if it is another one."""
        from tokenizers import Tokenizer

        try:
            self._tokenizer: Any = Tokenizer.from_buffer(vocabulary)
        except Exception as error:  # the library raises nothing narrower
            raise ValueError(str(error)) from error
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
        pieces = [
            piece.removeprefix("##")
            for piece in self._tokenizer.encode(_replace_surrogates(text[:_MAX_CHARACTERS])).tokens[1:-1]
        ]
        foreign = sum(piece == UNKNOWN or (piece.isalpha() and not piece.isascii()) for piece in pieces)
        latin = [piece for piece in pieces if piece != UNKNOWN and piece.isascii() and piece.isalpha()]
        return bool(latin) and len(latin) >= foreign and sum(map(len, latin)) >= _MIN_LETTERS * len(latin)


def _replace_surrogates(text: str) -> str:
    """The text with lone surrogates replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
