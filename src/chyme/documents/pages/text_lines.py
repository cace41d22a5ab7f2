"""Lay out words in lines: which font draws which letters, where a line may break, and its direction."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from chyme.documents.pages.fonts import FontFile, Fonts
from chyme.documents.pages.markdown_blocks import Span

if TYPE_CHECKING:
    from PIL import ImageDraw

LONGEST_WORD = 200  # letters; longer words are split before they are measured
MISSING = "\u25a1"  # an empty box, drawn if no font has the letter
# Chinese, Japanese and Korean break between any two letters.
_WORD = re.compile("\n|[\u2e80-\u2fff\u3001-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]|[^\\S\n]+|"
                   "[^\\s\u2e80-\u2fff\u3001-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]+")  # fmt: skip
_JOINED_CATEGORIES = ("Mn", "Me", "Cf", "Zs")  # marks and signs that take the font of the preceding letter


@dataclass(frozen=True, slots=True)
class Run:
    """Letters that one font draws."""

    text: str
    font: FontFile
    size: int

    @property
    def width(self) -> float:
        return self.font.load(self.size).getlength(self.text)


@dataclass(frozen=True, slots=True)
class Line:
    """The content of one line, in reading order."""

    runs: tuple[Run, ...]
    rightwards: bool = True  # False: read from right to left

    @property
    def width(self) -> float:
        return sum(run.width for run in self.runs)


@dataclass
class LineBreaker:
    """Breaks text into lines, and remembers the scripts for which this machine has no font."""

    fonts: Fonts
    missing: dict[str, None] = field(default_factory=dict)

    def lines(self, spans: Iterable[Span], size: int, width: float, *, bold: bool = False) -> Iterator[Line]:
        """The spans as lines no wider than `width`."""
        spans = tuple(spans)
        rightwards = _runs_rightwards("".join(span.text for span in spans))
        line: list[Run] = []
        used = 0.0
        for next_word in self._words(spans, size, bold):
            word = next_word
            if word is None:
                yield Line(_merge_runs(line), rightwards)
                line, used = [], 0.0
                continue
            length = sum(run.width for run in word)
            blank = word[0].text.isspace()
            if blank and not line and word[0].font != self.fonts.mono:
                continue  # code keeps its indentation
            if used + length > width and not blank and line:
                yield Line(_merge_runs(line), rightwards)
                line, used = [], 0.0
            if length > width:
                *full, word = self._split_word(word, width)
                for part in full:
                    yield Line(_merge_runs(part), rightwards)
                length = sum(run.width for run in word)
            line += word
            used += length
        if line:
            yield Line(_merge_runs(line), rightwards)

    def runs(self, text: str, wanted: FontFile, size: int) -> list[Run]:
        """The text split where another font is needed."""
        runs: list[Run] = []
        for letter in text:
            if unicodedata.category(letter) in ("Cc", "Co", "Cs", "Cn"):
                continue
            if runs and unicodedata.category(letter) in _JOINED_CATEGORIES:
                runs[-1] = Run(runs[-1].text + letter, runs[-1].font, size)
                continue
            font = self.fonts.font_for(letter, wanted)
            if font is None:
                self.missing[_script(letter)] = None
            shown = letter if font else MISSING if wanted.has_glyph(MISSING) else "?"
            if runs and runs[-1].font == (font or wanted):
                runs[-1] = Run(runs[-1].text + shown, runs[-1].font, size)
            else:
                runs.append(Run(shown, font or wanted, size))
        return runs

    def _words(self, spans: tuple[Span, ...], size: int, bold: bool) -> Iterator[list[Run] | None]:
        """Words, blanks and single letters that may be on a line of their own; None where a line must end."""
        for span in spans:
            font = self.fonts.mono if span.mono else self.fonts.bold if bold or span.bold else self.fonts.regular
            scale = round(size * 0.92) if span.mono else size
            for match in _WORD.finditer(span.text):
                text = match[0]
                if text == "\n":
                    yield None
                    continue
                text = " " if text.isspace() and not span.mono else text
                for start in range(0, len(text), LONGEST_WORD):
                    if runs := self.runs(text[start : start + LONGEST_WORD], font, scale):
                        yield runs

    def _split_word(self, word: list[Run], width: float) -> list[list[Run]]:
        """Split a word too long for any line where the line ends."""
        parts: list[list[Run]] = [[]]
        used = 0.0
        for run in word:
            for letter in run.text:
                single = Run(letter, run.font, run.size)
                if parts[-1] and used + single.width > width:
                    parts.append([])
                    used = 0.0
                parts[-1].append(single)
                used += single.width
        return [list(_merge_runs(part)) for part in parts]


def draw_line(draw: ImageDraw.ImageDraw, line: Line, left: float, right: float, baseline: float, ink: str) -> None:
    """Draw a line on its baseline: from the left, or from the right for right-to-left text."""
    from PIL.ImageFont import Layout

    x = left if line.rightwards else right
    for run in line.runs:
        if not line.rightwards:
            x -= run.width
        font = run.font.load(run.size)
        shapes = font.layout_engine == Layout.RAQM  # only then does Pillow accept a direction
        direction = ("ltr" if line.rightwards else "rtl") if shapes else None
        draw.text((x, baseline), run.text, ink, font, anchor="ls", direction=direction)
        if line.rightwards:
            x += run.width


def _merge_runs(runs: list[Run]) -> tuple[Run, ...]:
    merged: list[Run] = []
    for run in runs:
        if merged and (merged[-1].font, merged[-1].size) == (run.font, run.size):
            merged[-1] = Run(merged[-1].text + run.text, run.font, run.size)
        else:
            merged.append(run)
    while merged and not merged[-1].text.strip():
        merged.pop()
    return tuple(merged)


def _runs_rightwards(text: str) -> bool:
    """By the first letter that has a direction."""
    for letter in text[:1000]:
        direction = unicodedata.bidirectional(letter)
        if direction in ("L", "R", "AL"):
            return direction == "L"
    return True


def _script(letter: str) -> str:
    """The first word of a letter's Unicode name, which is its script."""
    if not unicodedata.category(letter).startswith("L"):
        return "signs"
    return unicodedata.name(letter, "other letters").split(" ")[0].capitalize()
