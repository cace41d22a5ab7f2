"""Read the words in a picture."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from chyme.core.bounding_boxes import overlap
from chyme.digester import Digester, Source
from chyme.errors import DigestError, EngineUnavailable, LimitReached
from chyme.imaging.decoding.limits import PictureLimits
from chyme.imaging.ocr.engine_interface import (
    Line,
    OcrEngine,
    OcrResult,
    OcrSettings,
    Quad,
    Word,
    move_line,
    unread_note,
)
from chyme.imaging.ocr.engines import fingerprint, load_engine
from chyme.imaging.ocr.page_text import PageText, page_text
from chyme.imaging.ocr.tiles import Tile, longest_side, needs_tiles, tiles
from chyme.model import Artifact, Box, File, Kind, Output, Place
from chyme.pictures.preview_output import preview_of
from chyme.text.number_ranges import format_ranges

if TYPE_CHECKING:
    from PIL import Image

PREVIEW = "image-preview"
WORDS = "words.json"
TIFF = "TIFF"
SLACK = 6  # pixels by which tiles may disagree about where a line is
SAME_LINE, SEEN_TWICE = 0.5, 400  # shared area of a line seen in two tiles, and how far back it may have been seen
LARGEST_PAGE = 4096  # pixels of the longest side at which a page of a TIFF is read
PAGE_BYTES, PAGE_SECONDS = 5_000, 10.0  # a page has at least so many bytes and takes at most so long, as a rule


@dataclass(frozen=True, slots=True)
class _Page:
    """One page as it was read; `number` is None for a picture that has no pages."""

    number: int | None
    reading: OcrResult
    text: PageText


class ImageOcr(Digester):
    """Plain text in reading order, a place for every line, and all words with their boxes in `words.json`.

    Boxes are those of the upright preview, also where the writing runs up, down or stands on its head. What could not
    be read is told in the text's last lines, each `> note: …`; a picture without words has no content.
    """

    name = "image-ocr"
    label = "Words in the picture"
    description = "The words in the picture, in reading order, and where they stand."
    reads = (PREVIEW,)
    family = "pictures"

    def __init__(
        self, settings: OcrSettings | None = None, seconds: float = 600.0, limits: PictureLimits | None = None
    ) -> None:
        self.settings = settings or OcrSettings()
        self.seconds = seconds
        self.limits = limits or PictureLimits()

    @property
    def fingerprint(self) -> str:
        return f"{fingerprint(self.settings)} {self.settings.ocr_pages}"

    def can_digest(self, file: File) -> bool:
        return file.kind is Kind.IMAGE

    def time_limit(self, source: Source) -> float:
        if source.file.mime != "image/tiff":
            return self.seconds
        return self.seconds + PAGE_SECONDS * min(self.settings.ocr_pages, source.file.size // PAGE_BYTES)

    def digest(self, source: Source) -> list[Output]:
        preview, upstream = preview_of(source), source.output(PREVIEW)
        known = _known(upstream.content if upstream else None)
        try:
            engine = load_engine(self.settings)
            if known.format == TIFF and known.frames > 1:
                pages = list(self._leaves(source, engine, known.frames))
            else:
                pages = [self._single(source, engine, preview, known)]
        except EngineUnavailable as error:
            raise EngineUnavailable(f"{source.file.name}: {error}") from error
        return [self._output(pages, engine, known.frames if known.format == TIFF else 1)]

    def _single(self, source: Source, engine: OcrEngine, preview: bytes, known: _Known) -> _Page:
        from PIL import Image

        with Image.open(io.BytesIO(preview)) as image:
            shown = image.size
            reading = engine.read(image)
        heights = [(line.box[3] - line.box[1]) * shown[1] for line in reading.lines]
        if known.size and needs_tiles(known.size, shown, heights):
            closer = self._closer(source, engine, known.size)
            reading = closer or reading
        return _Page(None, reading, page_text(reading.lines, shown[0] / shown[1], self.settings.ocr_doubt))

    def _closer(self, source: Source, engine: OcrEngine, size: tuple[int, int]) -> OcrResult | None:
        """The original, tile by tile; None when it cannot be had, for the preview was read already."""
        from chyme.imaging.decoding.reader import open_picture

        try:
            with source.open() as stream:
                image = open_picture(source.file.name, stream, self.limits, longest_side(size)).image
        except DigestError:
            return None
        lines: list[Line] = []
        unread = 0
        cut = tiles(image.width, image.height)
        for number, tile in enumerate(cut, 1):
            found = engine.read(image.crop(tile.seen))
            for line in _whole(found.lines, tile, image):
                if all(overlap(line.box, other.box) < SAME_LINE for other in lines[-SEEN_TWICE:]):
                    lines.append(line)
            unread += found.unread
            source.progress(number / len(cut))
        return OcrResult(tuple(lines), unread)

    def _leaves(self, source: Source, engine: OcrEngine, count: int) -> Iterator[_Page]:
        from chyme.imaging.decoding.reader import frames

        count = min(count, self.settings.ocr_pages)
        with source.open() as stream:
            leaves = frames(stream, source.file.name, self.limits)
            number = 0
            while number < count:
                try:
                    number, image = next(leaves, (count + 1, None))
                except LimitReached:
                    if not number:
                        raise
                    return  # the pages before it are read
                if image is None or number > count:
                    return
                image.thumbnail((LARGEST_PAGE, LARGEST_PAGE))
                reading = engine.read(image)
                text = page_text(reading.lines, image.width / image.height, self.settings.ocr_doubt)
                yield _Page(number, reading, text)
                source.progress(number / count)

    def _output(self, pages: list[_Page], engine: OcrEngine, count: int) -> Output:
        text, places = join_pages(pages)
        read = sum(len(page.reading.lines) for page in pages)
        unread = unread_note(read, sum(page.reading.unread for page in pages), engine.letters)
        notes = [unread] if unread else []
        wanted = min(count, self.settings.ocr_pages)
        if count > wanted:
            notes.append(f"first {wanted:,} of {count:,} pages read (limit ocr_pages)")
        lost = sorted(set(range(1, wanted + 1)) - {page.number or 1 for page in pages})
        if lost:
            notes.append(f"{'page' if len(lost) == 1 else 'pages'} {format_ranges(lost)} cannot be decoded")
        if not text and not unread:
            return Output(self.name, None)
        told = "\n\n".join([*([text] if text else []), *(f"> note: {note}" for note in notes)])
        return Output(self.name, told, (Artifact(WORDS, _words(pages, engine)),) if text else (), places)


def join_pages(pages: list[_Page]) -> tuple[str, tuple[Place, ...]]:
    """One text of all pages, and the places of pages and lines in it."""
    parts: list[str] = []
    places: list[Place] = []
    at = 0
    for page in pages:
        if not page.text.text:
            continue
        at += 2 if parts else 0
        if page.number is not None:
            places.append(Place(at, at + len(page.text.text), page=page.number))
        for span in page.text.spans:
            places.append(Place(at + span.start, at + span.end, box=page.reading.lines[span.line].box))
        parts.append(page.text.text)
        at += len(page.text.text)
    return "\n\n".join(parts), tuple(places)


def _words(pages: list[_Page], engine: OcrEngine) -> bytes:
    lines: list[dict[str, object]] = []
    for page in pages:
        for span in page.text.spans:
            line = page.reading.lines[span.line]
            told: dict[str, object] = {"text": line.text, "confidence": line.confidence, "box": line.box}
            if page.number is not None:
                told["page"] = page.number
            told["words"] = [{"text": word.text, "confidence": word.confidence, "box": word.box} for word in line.words]
            lines.append(told)
    angle = next((page.text.angle for page in pages if page.text.spans), 0.0)
    found = {"engine": engine.name, "angle": angle, "lines": lines}
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class _Known:
    """What the preview tells of the original."""

    size: tuple[int, int] | None = None
    format: str = ""
    frames: int = 1


def _known(content: str | None) -> _Known:
    try:
        told = json.loads(content or "{}")
    except ValueError:
        return _Known()
    if not isinstance(told, dict):
        return _Known()
    width, height = told.get("width"), told.get("height")
    size = (width, height) if isinstance(width, int) and isinstance(height, int) and min(width, height) > 0 else None
    count = told.get("frames", 1)
    return _Known(size, str(told.get("format", "")).upper(), count if isinstance(count, int) else 1)


def _whole(lines: tuple[Line, ...], tile: Tile, image: Image.Image) -> Iterator[Line]:
    """The lines of a tile as lines of the picture, without the words that belong to a neighbouring tile."""
    left, top, right, bottom = tile.seen
    across, down = image.width, image.height
    # A line on a seam may lie a pixel higher in one tile than in the other: better twice than never.
    core = (
        tile.core[0] / across,
        (tile.core[1] - SLACK) / down,
        tile.core[2] / across,
        (tile.core[3] + SLACK) / down,
    )
    for line in lines:
        here = move_line(line, left / across, top / down, (right - left) / across, (bottom - top) / down)
        kept = tuple(word for word in here.words if _inside(word.box, core))
        if len(kept) == len(here.words):
            yield here
        elif kept:
            yield replace(here, text=" ".join(word.text for word in kept), words=kept, quad=_cut(here, kept))


def _inside(box: Box, core: Box) -> bool:
    across, down = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return core[0] <= across < core[2] and core[1] <= down < core[3]


def _cut(line: Line, kept: tuple[Word, ...]) -> Quad:
    """The corners of what is left of an upright line."""
    left, right = min(word.box[0] for word in kept), max(word.box[2] for word in kept)
    top, bottom = line.box[1], line.box[3]
    return (left, top), (right, top), (right, bottom), (left, bottom)
