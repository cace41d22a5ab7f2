"""Read the writing in pictures inside a document, within a budget; photographs and logos are left alone."""

from __future__ import annotations

import hashlib
import io
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chyme.errors import DigestError, EngineUnavailable
from chyme.imaging.decoding.decoder_interface import MB, PictureLimits
from chyme.imaging.decoding.reader import open_picture
from chyme.imaging.ocr.engines import FindsWriting, Line, OcrEngine
from chyme.imaging.ocr.page_text import page_text
from chyme.model import Place

if TYPE_CHECKING:
    from PIL import Image

LONGEST = 2300  # pixels; larger pictures are read at this size, like scanned pages
ONE_PICTURE = PictureLimits(image_bytes=50 * MB, image_pixels=60_000_000)
SHORT_SIDE, LONG_SIDE = 20, 80  # pixels; anything smaller is an icon, a bullet or a rule
CONTRAST = 40  # of 255; between the darkest and the lightest hundredth of the picture
LETTER_WIDTH = 0.5  # of a line's height
MIN_LETTERS = 14  # a region's size lets so many be expected; a logo has fewer
MIN_READ = 10  # letters and digits read with confidence
SURE = 0.8
ALT_LENGTH = 450  # those who leave out the pictures of a text look no further for the end of one
_ALT_MARKS = str.maketrans({"[": "(", "]": ")", "\\": " ", "\n": " "})
_WRITTEN = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class PictureBudget:
    """How much reading the pictures of one document may cost. Pictures without writing count, too."""

    pictures: int = 100
    pixels: int = 200_000_000  # of all pictures together, as they are read
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class PictureText:
    """What is written in a picture, and where each line of the text is in the picture."""

    text: str
    lines: tuple[Place, ...] = ()  # each with a box

    @property
    def markdown(self) -> str:
        """The text marked as read from a picture: as its description, a paragraph each."""
        paragraphs = [" ".join(part.translate(_ALT_MARKS).split()) for part in self.text.split("\n\n")]
        return "\n\n".join(f"![picture: {piece}]()" for part in paragraphs for piece in _pieces(part))


class PictureReader:
    """Reads the pictures of one document. A picture that appears again is not read again."""

    def __init__(
        self,
        load_engine: Callable[[], OcrEngine],
        budget: PictureBudget | None = None,
        doubt: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._load_engine = load_engine
        self._budget = budget or PictureBudget()
        self._doubt = doubt
        self._clock = clock
        self._known: dict[bytes, PictureText | None] = {}
        self._told: set[str] = set()
        self._pictures = self._pixels = self._left = 0
        self._seconds = 0.0
        self._unavailable = ""

    def read(self, picture: bytes | Image.Image) -> PictureText | None:
        """What is written in it; None if it does not look like writing, cannot be read, or the budget is spent."""
        key = _hash(picture)
        if key not in self._known:
            self._known[key] = self._read_within_budget(picture)
        return self._known[key]

    def read_first(self, picture: bytes | Image.Image) -> PictureText | None:
        """The same, but None if this text was returned here before: a sign on every slide is told on the first."""
        found = self.read(picture)
        if found is None or found.text in self._told:
            return None
        self._told.add(found.text)
        return found

    def notes(self) -> tuple[str, ...]:
        """Notes about pictures that were not read, for people."""
        notes: list[str] = []
        if self._unavailable:
            notes.append(f"pictures inside the document were not read: {self._unavailable}")
        if self._left:
            limits = "limits embedded_pictures, embedded_pixels and embedded_seconds"
            more = "1 more was" if self._left == 1 else f"{self._left:,} more were"
            notes.append(f"{self._pictures:,} pictures inside the document were examined; {more} not ({limits})")
        return tuple(notes)

    def _read_within_budget(self, picture: bytes | Image.Image) -> PictureText | None:
        if self._unavailable:
            return None
        if self._pictures >= self._budget.pictures or self._seconds >= self._budget.seconds:
            self._left += 1
            return None
        began = self._clock()
        try:
            return self._read(picture)
        finally:
            self._seconds += self._clock() - began

    def _read(self, picture: bytes | Image.Image) -> PictureText | None:
        image = _decode(picture) if isinstance(picture, bytes) else picture
        if image is None or not may_show_writing(image):
            return None
        if max(image.size) > LONGEST:
            image = image.copy()
            image.thumbnail((LONGEST, LONGEST))
        if self._pixels + image.width * image.height > self._budget.pixels:
            self._left += 1
            return None
        try:
            engine = self._load_engine()
        except EngineUnavailable as error:
            self._unavailable = str(error)
            return None
        self._pictures += 1
        self._pixels += image.width * image.height
        if isinstance(engine, FindsWriting) and not are_lines_of_text(engine.find_writing(image)):
            return None
        try:
            lines = engine.read(image).lines
        except DigestError:
            return None
        if not is_writing(lines):
            return None
        page = page_text(lines, image.width / image.height, self._doubt, markdown=True)
        places = tuple(Place(span.start, span.end, box=lines[span.line].box) for span in page.spans)
        return PictureText(page.text, places)


def may_show_writing(image: Image.Image) -> bool:
    """Whether the picture is large enough and has enough contrast for something to be written in it."""
    if min(image.size) < SHORT_SIDE or max(image.size) < LONG_SIDE:
        return False
    small = image.copy()
    small.thumbnail((512, 512))
    shades = small.convert("L").histogram()
    return _shade_at(shades, 0.99) - _shade_at(shades, 0.01) >= CONTRAST or _has_rare_ink(shades)


def are_lines_of_text(regions: Sequence[tuple[float, float]]) -> bool:
    """Whether regions of this width and height, in pixels, have room for some words, not only for a name."""
    letters = (max(region) / max(1.0, min(region)) / LETTER_WIDTH for region in regions)
    return sum(letters) >= MIN_LETTERS


def is_writing(lines: Sequence[Line]) -> bool:
    """Whether enough was read, and with confidence: patterns in a photograph give a few doubtful letters."""
    read = [len(_WRITTEN.findall(line.text)) for line in lines]
    sure = sum(count for count, line in zip(read, lines, strict=True) if line.confidence >= SURE)
    return sure >= MIN_READ and sure >= sum(read) / 2


def _has_rare_ink(shades: list[int]) -> bool:
    """Whether a few pixels differ from all others: one line of writing on a large empty sheet."""
    total = sum(shades)
    most = max(range(256), key=lambda shade: shades[shade])
    far = sum(count for shade, count in enumerate(shades) if abs(shade - most) >= CONTRAST)
    return far >= 0.0005 * total


def _shade_at(shades: list[int], share: float) -> int:
    wanted, counted = share * sum(shades), 0
    for shade, count in enumerate(shades):
        counted += count
        if counted >= wanted:
            return shade
    return 255


def _decode(picture: bytes) -> Image.Image | None:
    try:
        return open_picture("picture", io.BytesIO(picture), ONE_PICTURE, LONGEST).image
    except DigestError:
        return None


def _hash(picture: bytes | Image.Image) -> bytes:
    if isinstance(picture, bytes):
        return hashlib.sha256(picture).digest()
    return hashlib.sha256(f"{picture.mode} {picture.size}".encode() + picture.tobytes()).digest()


def _pieces(text: str) -> list[str]:
    """The text in pieces of whole words, none too long for a description."""
    pieces: list[str] = []
    for word in text.split():
        if pieces and len(pieces[-1]) + len(word) < ALT_LENGTH:
            pieces[-1] += f" {word}"
        else:
            pieces += [word[start : start + ALT_LENGTH] for start in range(0, len(word), ALT_LENGTH)]
    return pieces
