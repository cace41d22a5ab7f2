"""The digester that reads the text in a picture."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from chyme.core.bounding_boxes import overlap
from chyme.digester import Digester, Makes, Runs, Source
from chyme.errors import DigestError, EngineUnavailable, LimitReached
from chyme.imaging.decoding.decoder_interface import PictureLimits
from chyme.imaging.ocr.engines import (
    Line,
    OcrEngine,
    OcrResult,
    OcrSettings,
    Word,
    fingerprint,
    load_engine,
    move_line,
    portable_fingerprint,
    unread_note,
)
from chyme.imaging.ocr.page_text import PageText, page_text
from chyme.imaging.ocr.reading_order import Quad
from chyme.imaging.ocr.tiles import Tile, longest_side, needs_tiles, tiles
from chyme.model import Artifact, Box, File, Form, Kind, Output, Place
from chyme.pictures.image_preview import preview_of
from chyme.text.display import format_ranges

if TYPE_CHECKING:
    from PIL import Image

PREVIEW = "image-preview"
WORDS = "words.json"
TIFF = "TIFF"
SLACK = 6  # pixels by which tiles may disagree about where a line is
SAME_LINE, SEEN_TWICE = 0.5, 400  # shared area of a line seen in two tiles, and how many lines back to look for it
LARGEST_PAGE = 4096  # pixels of the longest side at which a page of a TIFF is read
PAGE_BYTES, PAGE_SECONDS = 5_000, 10.0  # usually a page has at least so many bytes and takes at most so long


@dataclass(frozen=True, slots=True)
class _Page:
    """One page that was read; `number` is None for a picture without pages."""

    number: int | None
    reading: OcrResult
    text: PageText


class ImageOcr(Digester):
    """Plain text in reading order, a place for every line, and all words with their boxes in `words.json`.

    Boxes refer to the upright preview, also where the text runs up, down or upside down. The last lines of the
    text, each `> note: …`, say what could not be read; a picture without words has no content.
    """

    name = "image-ocr"
    label = "Words in the picture"
    description = "The words in the picture, in reading order, and where they stand."
    makes = Makes(Form.TEXT)
    reads = (PREVIEW,)
    runs = Runs(family="pictures")

    def __init__(
        self, settings: OcrSettings | None = None, seconds: float = 600.0, limits: PictureLimits | None = None
    ) -> None:
        self.settings = settings or OcrSettings()
        self.seconds = seconds
        self.limits = limits or PictureLimits()

    @property
    def fingerprint(self) -> str:
        return f"{fingerprint(self.settings)} {self.settings.ocr_pages}"

    @property
    def portable_fingerprint(self) -> str:
        engine = portable_fingerprint(self.settings)
        return f"{engine} {self.settings.ocr_pages}" if engine else ""

    def preload(self) -> None:
        if self.settings.ocr_threads == 1:
            load_engine(self.settings)

    def can_digest(self, file: File) -> bool:
        return file.kind is Kind.IMAGE

    def time_limit(self, source: Source) -> float:
        if source.file.mime != "image/tiff":
            return self.seconds
        return self.seconds + PAGE_SECONDS * min(self.settings.ocr_pages, source.file.size // PAGE_BYTES)

    def digest(self, source: Source) -> list[Output]:
        preview, upstream = preview_of(source), source.output(PREVIEW)
        facts = _parse_preview_facts(upstream.content if upstream else None)
        try:
            engine = load_engine(self.settings)
            if facts.format == TIFF and facts.frames > 1:
                pages = list(self._read_tiff_pages(source, engine, facts.frames))
            else:
                pages = [self._read_single(source, engine, preview, facts)]
        except EngineUnavailable as error:
            raise EngineUnavailable(f"{source.file.name}: {error}") from error
        return [self._make_output(pages, engine, facts.frames if facts.format == TIFF else 1)]

    def _read_single(self, source: Source, engine: OcrEngine, preview: bytes, facts: _PreviewFacts) -> _Page:
        from PIL import Image

        with Image.open(io.BytesIO(preview)) as image:
            size = image.size
            reading = engine.read(image)
        heights = [(line.box[3] - line.box[1]) * size[1] for line in reading.lines]
        if facts.size and needs_tiles(facts.size, size, heights):
            reading = self._read_tiles(source, engine, facts.size) or reading
        return _Page(None, reading, page_text(reading.lines, size[0] / size[1], self.settings.ocr_doubt))

    def _read_tiles(self, source: Source, engine: OcrEngine, size: tuple[int, int]) -> OcrResult | None:
        """Read the original tile by tile; None if it cannot be decoded, because the preview was already read."""
        from chyme.imaging.decoding.reader import open_picture

        try:
            with source.open() as stream:
                image = open_picture(source.file.name, stream, self.limits, longest_side(size)).image
        except DigestError:
            return None
        lines: list[Line] = []
        unread = 0
        all_tiles = tiles(image.width, image.height)
        for number, tile in enumerate(all_tiles, 1):
            result = engine.read(image.crop(tile.seen))
            for line in _lines_of_tile(result.lines, tile, image):
                if all(overlap(line.box, other.box) < SAME_LINE for other in lines[-SEEN_TWICE:]):
                    lines.append(line)
            unread += result.unread
            source.progress(number / len(all_tiles))
        return OcrResult(tuple(lines), unread)

    def _read_tiff_pages(self, source: Source, engine: OcrEngine, count: int) -> Iterator[_Page]:
        from chyme.imaging.decoding.reader import frames

        count = min(count, self.settings.ocr_pages)
        with source.open() as stream:
            pages = frames(stream, source.file.name, self.limits)
            number = 0
            while number < count:
                try:
                    number, image = next(pages, (count + 1, None))
                except LimitReached:
                    if not number:
                        raise
                    return  # the pages before it are already read
                if image is None or number > count:
                    return
                image.thumbnail((LARGEST_PAGE, LARGEST_PAGE))
                reading = engine.read(image)
                text = page_text(reading.lines, image.width / image.height, self.settings.ocr_doubt)
                yield _Page(number, reading, text)
                source.progress(number / count)

    def _make_output(self, pages: list[_Page], engine: OcrEngine, count: int) -> Output:
        text, places = join_pages(pages)
        line_count = sum(len(page.reading.lines) for page in pages)
        unread = unread_note(line_count, sum(page.reading.unread for page in pages), engine.letters)
        notes = [unread] if unread else []
        wanted = min(count, self.settings.ocr_pages)
        if count > wanted:
            notes.append(f"first {wanted:,} of {count:,} pages read (limit ocr_pages)")
        missing = sorted(set(range(1, wanted + 1)) - {page.number or 1 for page in pages})
        if missing:
            notes.append(f"{'page' if len(missing) == 1 else 'pages'} {format_ranges(missing)} cannot be decoded")
        if not text and not unread:
            return Output(self.name, None)
        content = "\n\n".join([*([text] if text else []), *(f"> note: {note}" for note in notes)])
        return Output(self.name, content, (Artifact(WORDS, _words_json(pages, engine)),) if text else (), places)


def join_pages(pages: list[_Page]) -> tuple[str, tuple[Place, ...]]:
    """One text of all pages, and the places of pages and lines in it."""
    parts: list[str] = []
    places: list[Place] = []
    position = 0
    for page in pages:
        if not page.text.text:
            continue
        position += 2 if parts else 0
        if page.number is not None:
            places.append(Place(position, position + len(page.text.text), page=page.number))
        for span in page.text.spans:
            places.append(Place(position + span.start, position + span.end, box=page.reading.lines[span.line].box))
        parts.append(page.text.text)
        position += len(page.text.text)
    return "\n\n".join(parts), tuple(places)


def _words_json(pages: list[_Page], engine: OcrEngine) -> bytes:
    lines: list[dict[str, object]] = []
    for page in pages:
        for span in page.text.spans:
            line = page.reading.lines[span.line]
            fields: dict[str, object] = {"text": line.text, "confidence": line.confidence, "box": line.box}
            if page.number is not None:
                fields["page"] = page.number
            fields["words"] = [
                {"text": word.text, "confidence": word.confidence, "box": word.box} for word in line.words
            ]
            lines.append(fields)
    angle = next((page.text.angle for page in pages if page.text.spans), 0.0)
    document = {"engine": engine.name, "angle": angle, "lines": lines}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class _PreviewFacts:
    """What the preview says about the original."""

    size: tuple[int, int] | None = None
    format: str = ""
    frames: int = 1


def _parse_preview_facts(content: str | None) -> _PreviewFacts:
    try:
        fields = json.loads(content or "{}")
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        return _PreviewFacts()
    width, height = fields.get("width"), fields.get("height")
    size = (width, height) if isinstance(width, int) and isinstance(height, int) and min(width, height) > 0 else None
    count = fields.get("frames", 1)
    return _PreviewFacts(size, str(fields.get("format", "")).upper(), count if isinstance(count, int) else 1)


def _lines_of_tile(lines: tuple[Line, ...], tile: Tile, image: Image.Image) -> Iterator[Line]:
    """The lines of a tile as lines of the picture, without the words that belong to a neighbouring tile."""
    left, top, right, bottom = tile.seen
    across, down = image.width, image.height
    first, upper, last, lower = tile.core
    # A line on a seam may lie a pixel higher in one tile than in the other; reading it twice is better than losing it.
    core = first / across, (upper - SLACK) / down, last / across, (lower + SLACK) / down
    for line in lines:
        moved = move_line(line, left / across, top / down, (right - left) / across, (bottom - top) / down)
        words = tuple(word for word in moved.words if _center_inside(word.box, core))
        if len(words) == len(moved.words):
            yield moved
        elif words:
            yield replace(moved, text=" ".join(word.text for word in words), words=words, quad=_corners(moved, words))


def _center_inside(box: Box, core: Box) -> bool:
    across, down = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return core[0] <= across < core[2] and core[1] <= down < core[3]


def _corners(line: Line, words: tuple[Word, ...]) -> Quad:
    """The corners of the remaining part of an upright line."""
    left, right = min(word.box[0] for word in words), max(word.box[2] for word in words)
    top, bottom = line.box[1], line.box[3]
    return (left, top), (right, top), (right, bottom), (left, bottom)
