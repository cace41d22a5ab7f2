"""The fonts of this machine, and the letters each can draw."""

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
MAX_FILES = 3000
CMAP_BYTES = 4 << 20
_ENDINGS = (".ttf", ".otf", ".ttc", ".otc")
# Regular, bold and fixed-width faces that belong together, preferred ones first.
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
    """A font and the letters it has, as rising ranges of code points."""

    path: str  # empty for the font built into Pillow
    letters: Ranges = field(repr=False)

    def has_glyph(self, letter: str) -> bool:
        code = ord(letter)
        i = bisect.bisect_right(self.letters, (code, 0x110000)) - 1
        return i >= 0 and self.letters[i][0] <= code <= self.letters[i][1]

    def load(self, size: int) -> ImageFont.FreeTypeFont:
        return _load_font(self.path, size)


class Fonts:
    """Regular, bold and mono, and for letters that these lack any other font that has them."""

    def __init__(self, folders: tuple[str, ...] = FOLDERS) -> None:
        self._paths = _find_font_files(folders)
        by_stem = {Path(path).stem: path for path in self._paths}
        family = next((names for names in _FAMILIES if names[0] in by_stem), None)
        regular = _read_font(by_stem[family[0]]) if family else None
        self.regular = regular or _first_latin(self._paths) or _built_in()
        self.bold = (family and _read_font(by_stem.get(family[1], ""))) or self.regular
        self.mono = (family and _read_font(by_stem.get(family[2], ""))) or self.regular
        self._fallbacks: dict[int, FontFile | None] = {}

    def font_for(self, letter: str, wanted: FontFile) -> FontFile | None:
        """The font for a letter; None if no font here has it."""
        if wanted.has_glyph(letter):
            return wanted
        if self.regular.has_glyph(letter):
            return self.regular
        block = ord(letter) >> 7
        fallback = self._fallbacks.get(block)
        if fallback is None or not fallback.has_glyph(letter):
            if block in self._fallbacks and fallback is None:
                return None
            candidates = (_read_font(path) for path in self._paths)
            fallback = self._fallbacks[block] = next(
                (font for font in candidates if font and font.has_glyph(letter)), None
            )
        return fallback


@functools.cache
def fonts() -> Fonts:
    """The fonts of this machine, looked up once."""
    return Fonts()


def _find_font_files(folders: tuple[str, ...]) -> list[str]:
    """The font files, plain faces first: they are the fallback for letters that the chosen family lacks."""
    paths: list[str] = []
    for folder in folders:
        for root, inner, names in os.walk(Path(folder).expanduser()):
            inner.sort()
            paths += [os.path.join(root, name) for name in names if name.lower().endswith(_ENDINGS)]
            if len(paths) >= MAX_FILES:
                break

    def rank(path: str) -> tuple[bool, bool, str]:
        stem = Path(path).stem
        return any(word in stem for word in _UNWANTED), not any(word in stem for word in _PLAIN), path

    return sorted(paths[:MAX_FILES], key=rank)


def _first_latin(paths: list[str]) -> FontFile | None:
    candidates = (_read_font(path) for path in paths)
    return next((font for font in candidates if font and all(map(font.has_glyph, "Aaz09é"))), None)


@functools.cache
def _read_font(path: str) -> FontFile | None:
    if not path or "Color" in path:
        return None  # colour fonts have only one size
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
    data: bytes = _load_font("", 20).font_bytes
    return FontFile("", letters_of(io.BytesIO(data)))


@functools.lru_cache(maxsize=64)
def _load_font(path: str, size: int) -> ImageFont.FreeTypeFont:
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
            return _parse_cmap(file.read(min(length, CMAP_BYTES)))
    return ()


def _parse_cmap(cmap: bytes) -> Ranges:
    count = struct.unpack_from(">2xH", cmap)[0]
    tables = [struct.unpack_from(">HHI", cmap, 4 + 8 * number) for number in range(count)]
    best: Ranges = ()
    for platform, encoding, offset in tables:
        if (platform, encoding) not in ((3, 10), (3, 1), (0, 3), (0, 4), (0, 6)):
            continue
        table_format = struct.unpack_from(">H", cmap, offset)[0]
        candidate: Ranges = ()
        if table_format == 12:
            groups = struct.unpack_from(">I", cmap, offset + 12)[0]
            candidate = tuple(struct.unpack_from(">II", cmap, offset + 16 + 12 * number) for number in range(groups))
        elif table_format == 4:
            segment_count = struct.unpack_from(">H", cmap, offset + 6)[0] // 2
            ends = struct.unpack_from(f">{segment_count}H", cmap, offset + 14)
            starts = struct.unpack_from(f">{segment_count}H", cmap, offset + 16 + 2 * segment_count)
            candidate = tuple(pair for pair in zip(starts, ends, strict=True) if pair[0] < 0xFFFF)
        best = max(best, tuple(sorted(candidate)), key=lambda ranges: sum(last - first + 1 for first, last in ranges))
    return best
