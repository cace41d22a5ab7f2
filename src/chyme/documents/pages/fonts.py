"""Fonts of this machine: which there are, and which letters each can draw."""

from __future__ import annotations

import bisect
import functools
import io
import os
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from PIL import ImageFont

FOLDERS = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "/usr/share/texmf/fonts/opentype",
    "~/.local/share/fonts",
    "~/.fonts",
    "/System/Library/Fonts",
    "/Library/Fonts",
)
MOST_FILES = 3000
CMAP_BYTES = 4 << 20
_ENDINGS = (".ttf", ".otf", ".ttc", ".otc")
# Regular, bold and fixed-width faces that go together, the ones we like best first.
_FAMILIES = (
    ("NotoSans-Regular", "NotoSans-Bold", "NotoSansMono-Regular"),
    ("LiberationSans-Regular", "LiberationSans-Bold", "LiberationMono-Regular"),
    ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono"),
    ("OpenSans-Regular", "OpenSans-Bold", "DejaVuSansMono"),
    ("Roboto-Regular", "Roboto-Bold", "RobotoMono-Regular"),
    ("FreeSans", "FreeSansBold", "FreeMono"),
    ("Arial", "Arial Bold", "Courier New"),
    ("arial", "arialbd", "cour"),
)
_PLAIN = ("Regular", "Sans", "Medium")
_UNWANTED = ("Italic", "Oblique", "Color", "Emoji", "Condensed", "ExtraLight", "Thin", "Black", "Math", "Symbol")
Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class FontFile:
    """A font and the letters it holds, as rising ranges of code points."""

    path: str  # empty for the one that comes with Pillow
    letters: Ranges = field(repr=False)

    def has_glyph(self, letter: str) -> bool:
        code = ord(letter)
        at = bisect.bisect_right(self.letters, (code, 0x110000)) - 1
        return at >= 0 and self.letters[at][0] <= code <= self.letters[at][1]

    def load(self, size: int) -> ImageFont.FreeTypeFont:
        return _loaded(self.path, size)


class Fonts:
    """Regular, bold and mono, and for letters that these lack whatever other font has them."""

    def __init__(self, folders: tuple[str, ...] = FOLDERS) -> None:
        self._paths = _font_files(folders)
        by_stem = {Path(path).stem: path for path in self._paths}
        family = next((names for names in _FAMILIES if names[0] in by_stem), None)
        regular = _read(by_stem[family[0]]) if family else None
        self.regular = regular or _first_latin(self._paths) or _built_in()
        self.bold = (family and _read(by_stem.get(family[1], ""))) or self.regular
        self.mono = (family and _read(by_stem.get(family[2], ""))) or self.regular
        self._others: dict[int, FontFile | None] = {}

    def font_for(self, letter: str, wanted: FontFile) -> FontFile | None:
        """The font for a letter; None when no font here has it."""
        if wanted.has_glyph(letter):
            return wanted
        if self.regular.has_glyph(letter):
            return self.regular
        block = ord(letter) >> 7
        known = self._others.get(block)
        if known is None or not known.has_glyph(letter):
            if block in self._others and known is None:
                return None
            found = (_read(path) for path in self._paths)
            known = self._others[block] = next((font for font in found if font and font.has_glyph(letter)), None)
        return known


@functools.cache
def fonts() -> Fonts:
    """The fonts of this machine, looked up once."""
    return Fonts()


def _font_files(folders: tuple[str, ...]) -> list[str]:
    """Plain faces first: they stand in for letters that the chosen family lacks."""
    found: list[str] = []
    for folder in folders:
        for root, inner, names in os.walk(Path(folder).expanduser()):
            inner.sort()
            found += [os.path.join(root, name) for name in names if name.lower().endswith(_ENDINGS)]
            if len(found) >= MOST_FILES:
                break

    def rank(path: str) -> tuple[bool, bool, str]:
        stem = Path(path).stem
        return any(word in stem for word in _UNWANTED), not any(word in stem for word in _PLAIN), path

    return sorted(found[:MOST_FILES], key=rank)


def _first_latin(paths: list[str]) -> FontFile | None:
    found = (_read(path) for path in paths)
    return next((font for font in found if font and all(map(font.has_glyph, "Aaz09é"))), None)


@functools.cache
def _read(path: str) -> FontFile | None:
    if not path or "Color" in path:
        return None  # colour fonts come in one size only
    try:
        with open(path, "rb") as file:
            letters = letters_of(file)
        font = FontFile(path, letters)
        font.load(20)
    except (OSError, struct.error, ValueError, IndexError):
        return None
    return font if letters else None


@functools.cache
def _built_in() -> FontFile:
    data: bytes = _loaded("", 20).font_bytes
    return FontFile("", letters_of(io.BytesIO(data)))


@functools.lru_cache(maxsize=64)
def _loaded(path: str, size: int) -> ImageFont.FreeTypeFont:
    from PIL import ImageFont

    if path:
        return ImageFont.truetype(path, size)
    font = ImageFont.load_default(size)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font


def letters_of(file: BinaryIO) -> Ranges:
    """The code points for which a TrueType or OpenType font has glyphs, from its `cmap`."""
    start = 0
    head = file.read(16)
    if head[:4] == b"ttcf":
        start = struct.unpack_from(">I", head, 12)[0]
    file.seek(start)
    count = struct.unpack(">4xH6x", file.read(12))[0]
    for _ in range(count):
        tag, offset, length = struct.unpack(">4s4xII", file.read(16))
        if tag == b"cmap":
            file.seek(offset)
            return _ranges(file.read(min(length, CMAP_BYTES)))
    return ()


def _ranges(cmap: bytes) -> Ranges:
    count = struct.unpack_from(">2xH", cmap)[0]
    tables = [struct.unpack_from(">HHI", cmap, 4 + 8 * number) for number in range(count)]
    best: Ranges = ()
    for platform, encoding, offset in tables:
        if (platform, encoding) not in ((3, 10), (3, 1), (0, 3), (0, 4), (0, 6)):
            continue
        form = struct.unpack_from(">H", cmap, offset)[0]
        found: Ranges = ()
        if form == 12:
            groups = struct.unpack_from(">I", cmap, offset + 12)[0]
            found = tuple(struct.unpack_from(">II", cmap, offset + 16 + 12 * number) for number in range(groups))
        elif form == 4:
            half = struct.unpack_from(">H", cmap, offset + 6)[0] // 2
            ends = struct.unpack_from(f">{half}H", cmap, offset + 14)
            starts = struct.unpack_from(f">{half}H", cmap, offset + 16 + 2 * half)
            found = tuple(pair for pair in zip(starts, ends, strict=True) if pair[0] < 0xFFFF)
        best = max(best, tuple(sorted(found)), key=lambda ranges: sum(last - first + 1 for first, last in ranges))
    return best
