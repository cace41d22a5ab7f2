"""Decides which lines of a page are read again by tesseract, because the embedded engine does not know their script."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from chyme.errors import EngineUnavailable, TimedOut, UnreadableFile
from chyme.imaging.ocr.engines import Line, Word, bounding_box, cut_quad
from chyme.imaging.ocr.reading_order import Quad
from chyme.imaging.ocr.script_reader import MAX_LINES, Choice, ScriptReader, StripText
from chyme.imaging.ocr.scripts import Script, install_command, list_names, split_by_installed
from chyme.imaging.ocr.text_regions import DOUBTFUL, Region, cut_strip, cut_unsure_parts, to_quad, turn_corners

if TYPE_CHECKING:
    import numpy

    Pixels = numpy.ndarray[Any, Any]

LETTERS = "Latin, Chinese and Japanese letters"
CERTAIN = 0.95  # below it, a line is read again once the page is known to have another script
MUCH = 12.0  # heights of doubtful lines, side by side; less is not worth starting tesseract
ROUNDS = 3  # scripts that are tried on one page


def read_other_scripts(pixels: Pixels, regions: Sequence[Region], reader: ScriptReader) -> None:
    """Read the regions in scripts that tesseract knows here. If it fails, what it has not read stays as it is."""
    if _measure_suspicion(regions) < MUCH or not reader.installed():
        return
    try:
        with reader.one_picture():
            _read_scripts(pixels, regions, reader)
    except (EngineUnavailable, TimedOut, UnreadableFile):
        return


def _read_scripts(pixels: Pixels, regions: Sequence[Region], reader: ScriptReader) -> None:
    tried: list[Script] = []
    rest = list(regions)
    while len(tried) < ROUNDS and _measure_suspicion(rest) >= MUCH:
        suspects = sorted((one for one in rest if one.may_be_in_other_script), key=lambda region: -region.length)
        parts = [part for region in suspects[:MAX_LINES] for part in cut_unsure_parts(pixels, region)]
        choice = reader.choose(sorted(parts, key=lambda part: -part.shape[1] / part.shape[0]), tried)
        if choice is None:
            return
        tried.append(choice.script)
        unsure = [region for region in rest if _is_unsure(region)]
        choice, texts = _read_either_way([cut_strip(pixels, region.along_page) for region in unsure], choice, reader)
        for region, text in zip(unsure, texts, strict=True):
            if text is not None and (text.confidence >= DOUBTFUL or region.is_doubtful or region.is_noise):
                corners = turn_corners(region.along_page, 2) if choice.upside_down else region.along_page
                region.line = _make_line(text, to_quad(corners, pixels.shape[1], pixels.shape[0]))
                region.in_other_script = True
        rest = [region for region in rest if not region.in_other_script]


def _is_unsure(region: Region) -> bool:
    return (
        region.is_noise
        or region.may_be_in_other_script
        or (region.line is not None and region.line.confidence < CERTAIN)
    )


def _read_either_way(
    strips: Sequence[Pixels], choice: Choice, reader: ScriptReader
) -> tuple[Choice, list[StripText | None]]:
    """Read strips as they are thought to stand and, if nothing is legible, upside down."""
    texts = reader.read(strips, choice)
    if any(texts):
        return choice, texts
    return choice.turn_over(), reader.read(strips, choice.turn_over())


def _measure_suspicion(regions: Sequence[Region]) -> float:
    """The length of all lines that may be in another script, in heights."""
    return sum(region.length for region in regions if region.may_be_in_other_script)


def measure_doubt(regions: Sequence[Region]) -> float:
    """The length of all doubtful lines, in heights."""
    return sum(region.length for region in regions if region.is_doubtful)


def count_unread(regions: Sequence[Region]) -> int:
    """How many regions look like text but were not read.

    Where most of a page is doubtful, its doubtful lines are nonsense in a script that is not known, and count, too.
    """
    unread = sum(region.line is None and not region.is_noise for region in regions)
    doubt = measure_doubt(regions)
    if doubt < MUCH or 2 * doubt < sum(region.length for region in regions):
        return unread
    return unread + sum(region.line is not None and region.is_doubtful for region in regions)


def _make_line(text: StripText, quad: Quad) -> Line:
    words = tuple(
        Word(word.text, round(word.confidence, 3), bounding_box(cut_quad(quad, word.start, word.end)))
        for word in text.words
    )
    return Line(text.text, round(text.confidence, 3), quad, words)


def describe_letters(installed: Collection[str]) -> str:
    """The letters that are read with these languages of tesseract, and how to have others read."""
    readable, missing = split_by_installed(installed)
    known = LETTERS
    if readable:
        known += f" and, by tesseract, {list_names(readable)} ones"
    if missing:
        known += f"; for {list_names(missing)}: {install_command(missing)}"
    return known
