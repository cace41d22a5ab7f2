"""Reads large JSON documents element by element, so that an export of any length fits into little memory."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from chyme.errors import UsageError

PIECE = 256 * 1024
MAX_ELEMENT = 64 * 1024 * 1024  # characters; the text of the longest document is far shorter
_SPACE = " \t\r\n"


def elements(stream: BinaryIO, name: str, max_element: int = MAX_ELEMENT) -> Iterator[tuple[str, Any]]:
    """Yield the elements of a list as ("", element); of an object each (key, value), its lists element by element.

    Raises UsageError where the text is no JSON; what came before has been yielded.
    """
    reader = _Reader(stream, name, max_element)
    first = reader.peek()
    if first == "[":
        for element in reader.list_elements():
            yield "", element
    elif first == "{":
        yield from reader.members()
    else:
        raise UsageError(f"{name}: is no JSON list or object; export it again")
    if reader.peek():
        raise UsageError(f"{name}: something follows the end of the JSON; export it again")


class _Reader:
    def __init__(self, stream: BinaryIO, name: str, max_element: int) -> None:
        self._stream = stream
        self._name = name
        self._max_element = max_element
        self._decode = codecs.getincrementaldecoder("utf-8-sig")()
        self._json = json.JSONDecoder()
        self._text = ""
        self._position = 0
        self._before = 0  # characters that are not in `_text` any more
        self._ended = False

    def peek(self) -> str:
        """The next character that is no space; "" at the end."""
        while True:
            while self._position < len(self._text):
                if self._text[self._position] not in _SPACE:
                    return self._text[self._position]
                self._position += 1
            if not self._fill(PIECE):
                return ""

    def members(self) -> Iterator[tuple[str, Any]]:
        self._take("{")
        while self.peek() != "}":
            key = self._value()
            if not isinstance(key, str):
                raise self._broken()
            self._take(":")
            if self.peek() == "[":
                for element in self.list_elements():
                    yield key, element
            else:
                yield key, self._value()
            self._take_separator("}")
        self._take("}")

    def list_elements(self) -> Iterator[Any]:
        self._take("[")
        while self.peek() != "]":
            yield self._value()
            self._take_separator("]")
        self._take("]")

    def _take(self, expected: str) -> None:
        if self.peek() != expected:
            raise self._broken()
        self._position += 1

    def _take_separator(self, end: str) -> None:
        if self.peek() == ",":
            self._position += 1
            if self.peek() == end:
                raise self._broken()
        elif self.peek() != end:
            raise self._broken()

    def _value(self) -> Any:
        """Decode the next value; as it grows, it is tried again only when twice as much is there."""
        self.peek()
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._position)
            except RecursionError:
                raise self._broken("is nested too deeply") from None
            except ValueError:
                if self._ended:
                    raise self._broken() from None
            else:
                # A number may go on in the next piece; everything else says itself where it ends.
                if end < len(self._text) or self._ended or isinstance(value, (dict, list, str)):
                    self._position = end
                    return value
            have = len(self._text) - self._position
            if have > self._max_element:
                raise self._broken(f"has a single entry of more than {self._max_element / 1024**2:,.3g} MB")
            self._fill(max(PIECE, have))

    def _fill(self, size: int) -> bool:
        """Read more; False at the end."""
        if self._ended:
            return False
        data = self._stream.read(size)
        self._ended = not data
        try:
            more = self._decode.decode(data, final=self._ended)
        except UnicodeDecodeError:
            raise self._broken("is not UTF-8") from None
        self._before += self._position
        self._text = self._text[self._position :] + more
        self._position = 0
        return True

    def _broken(self, what: str = "is no valid JSON") -> UsageError:
        return UsageError(f"{self._name}: {what} at character {self._before + self._position:,}; export it again")
