"""Tell raised digits in a PDF from ordinary ones: m² is not m2, and the mark of a footnote is not part of a word."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pypdfium2  # type: ignore[import-untyped]

MAX_CANDIDATES = 300  # examined on one page
MIN_RAISE = 0.15  # of the height of the letter beside it
MAX_HEIGHT = 1.3  # likewise: fonts of formulas differ in what they call their height
SHORT_BASE = 2  # letters; a longer word has a footnote, not a power
CONTEXT = 24  # characters before the digits by which they are found again
_CLOSING = ".,;:!?\"'”’»"
_CANDIDATE = re.compile(  # PDFium may put raised digits on a line of their own
    rf"(?:[^\W\d_]|[{_CLOSING})\]]|(?<![\d.,])10)(?P<gap>(?:\x20?\r?\n)?)"
    rf"(?P<mark>[-−]?[1-9]\d{{0,2}}(?:,\x20?[1-9]\d{{0,2}}){{0,4}})(?=[{_CLOSING})\]·]|\s{{1,3}}[^\d\s]|\s*$)"
    r"|(?:^|\n)(?P<note>[1-9]\d{0,2})(?=[\r\n]{0,2}[^\W\d_])"
)
_RAISED = str.maketrans("0123456789-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻")
_LAST_WORD = re.compile(r"[^\W\d_]*$")
_LAST_PIECE = re.compile(r"\S*$")
_LATIN_AND_GREEK = "\u0530"  # letters before this one; others have notes, not powers
_FUNCTIONS = frozenset(("sin", "cos", "tan", "cot", "log", "ln", "exp"))


@dataclass(frozen=True, slots=True)
class RaisedDigits:
    """Digits of a page's text that stand above the line, with the characters on their line before or after them."""

    digits: str
    before: str  # without blanks; empty at the beginning of a line
    after: str = ""

    @property
    def markdown(self) -> str:
        """The digits as they are written: a power as raised digits, the mark of a footnote in brackets."""
        if not self.before:
            return f"[^{self.digits}]: "
        found = _LAST_WORD.search(self.before)
        word = found[0] if found else ""
        is_power = (
            self.before.endswith((")", "]", "10"))
            or (len(word) == 1 and word < _LATIN_AND_GREEK)
            or (len(word) == SHORT_BASE and word < _LATIN_AND_GREEK and self.digits in ("2", "3"))
            or word in _FUNCTIONS
        )
        if is_power:
            return self.digits.translate(_RAISED)
        return "".join(f"[^{digits.strip()}]" for digits in self.digits.split(","))


def find_raised_digits(textpage: pypdfium2.PdfTextPage, text: str) -> list[RaisedDigits]:
    """The raised digits of a page in the order of its text, which is PDFium's own, unchanged."""
    if not text or max(text) > "\uffff":  # PDFium counts such a character twice
        return []
    found: list[RaisedDigits] = []
    for candidate in islice(_CANDIDATE.finditer(text), MAX_CANDIDATES):
        group = "note" if candidate["mark"] is None else "mark"
        start, end = candidate.span(group)
        after = text[end : end + CONTEXT].lstrip()
        before = candidate.start("gap") - 1
        if group == "mark" and _is_raised(textpage, start, before):
            piece = _LAST_PIECE.search(text[max(0, before - CONTEXT) : before + 1])
            found.append(RaisedDigits(text[start:end], piece[0] if piece else "", after))
        elif (
            (group == "note" or "\n" in candidate["gap"])
            and after[:1].isalpha()
            and _is_raised(textpage, start, text.index(after[0], end))
        ):
            found.append(RaisedDigits(text[start:end], "", after))
    return found


def mark_raised_digits(markdown: str, marks: Sequence[RaisedDigits]) -> str:
    """The text with these digits written as what they are; those that are not found in it stay as they are."""
    if not marks:
        return markdown
    parts: list[str] = []
    position = 0
    for mark in marks:
        start, end = next(_occurrences(markdown, mark, position), (-1, -1))
        if start >= 0:
            parts += [markdown[position:start], mark.markdown]
            position = end
    return "".join((*parts, markdown[position:]))


def _occurrences(markdown: str, mark: RaisedDigits, position: int) -> Iterator[tuple[int, int]]:
    """Where the digits are, after the text that is before them on their line and before the text that follows."""
    after = re.match(r"\w*", mark.after)
    following = after[0][:8] if after else ""
    for written in dict.fromkeys((mark.before + mark.digits, f"{mark.before} {mark.digits}".lstrip())):
        start = markdown.find(written, position)
        while start >= 0:
            end = start + len(written)
            rest = markdown[end : end + 20].lstrip()
            begins = start == 0 or markdown[start - 1].isspace() or bool(mark.before)
            if begins and not rest[:1].isdigit() and (not following or rest.startswith(following)):
                yield start + len(mark.before), end
            start = markdown.find(written, end)


def _is_raised(textpage: pypdfium2.PdfTextPage, at: int, beside: int) -> bool:
    """Whether one character is smaller than the one beside it and stands above its line."""
    from pypdfium2 import raw

    heights: list[float] = []
    baselines: list[float] = []
    for index in (at, beside):
        position = raw.FPDFText_GetCharIndexFromTextIndex(textpage, index)
        box, x, y = raw.FS_RECTF(), ctypes.c_double(), ctypes.c_double()
        if (
            position < 0
            or not raw.FPDFText_GetLooseCharBox(textpage, position, ctypes.byref(box))
            or not raw.FPDFText_GetCharOrigin(textpage, position, ctypes.byref(x), ctypes.byref(y))
        ):
            return False
        heights.append(abs(box.top - box.bottom))
        baselines.append(y.value)
    return heights[0] < MAX_HEIGHT * heights[1] and MIN_RAISE * heights[1] < baselines[0] - baselines[1] < heights[1]
