"""Marks that stand for pictures while a converter runs; afterwards the text read in each picture takes its place."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from chyme.documents.conversion.embedded_pictures import PictureReader
from chyme.documents.conversion.zip_packages import Package

MAX_MARKS = 2_000
BODY_LETTERS = 40  # a document with fewer letters of its own consists of its pictures
_LETTER = re.compile(r"[^\W_]")
_GENERATED = re.compile(
    r"\W*(?:description (?:automatically )?generated(?: with \w+ confidence)?|"
    r"ai-generated content may be incorrect)\W*$",
    re.IGNORECASE,
)
_READABLE = (".png", ".jpg", ".jpeg", ".jpe", ".gif", ".bmp", ".tif", ".tiff", ".webp")


@dataclass(slots=True)
class PictureMarks:
    """The pictures of one package that a reader has found something in, by their marks."""

    package: Package
    reader: PictureReader
    nonce: str = ""
    texts: dict[str, str] = field(default_factory=dict)  # by part
    plain: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = "\n".join(self.package.names)
        self.nonce = hashlib.sha256(names.encode("utf-8", "replace")).hexdigest()[:8]

    def mark(self, part: str) -> str:
        """The mark of a picture; empty if nothing is written in it, or its text has its place already."""
        if part in self.texts or len(self.texts) >= MAX_MARKS or not is_picture(part):
            return ""
        data = self.package.read(part)
        found = self.reader.read_first(data) if data else None
        if found is None:
            return ""
        self.texts[part], self.plain[part] = found.markdown, found.text
        return f"⟦{self.nonce}:{len(self.texts) - 1}⟧"

    def fill_in(self, markdown: str) -> str:
        """The text with each picture's writing after the line its mark is on, within that line in a table."""
        if not self.texts:
            return markdown
        mark = re.compile(rf" ?⟦{self.nonce}:(\d+)⟧")
        own = len(_LETTER.findall(mark.sub("", markdown)))
        texts = list((self.plain if own < BODY_LETTERS else self.texts).values())
        used: set[int] = set()
        lines = [_fill_line(line, mark, texts, used) if "⟦" in line else line for line in markdown.split("\n")]
        missing = [text for number, text in enumerate(texts) if number not in used]  # the converter dropped its place
        return "\n\n".join(filter(None, ["\n".join(lines).strip(), *missing]))


def is_picture(part: str) -> bool:
    """Whether a part is a picture in a format that can be decoded, and not the small image of the whole document."""
    name = part.lower()
    return name.endswith(_READABLE) and "thumbnail" not in name


def _fill_line(line: str, mark: re.Pattern[str], texts: list[str], used: set[int]) -> str:
    numbers = [int(number) for number in mark.findall(line) if int(number) < len(texts)]
    new = [number for number in dict.fromkeys(numbers) if number not in used]
    used.update(new)
    if line.lstrip().startswith("|"):
        return mark.sub(_taker(texts, set(new)), line)
    rest = mark.sub("", line)
    return "\n\n".join([*([rest] if rest.strip(" >-*") else []), *(texts[number] for number in new)])


def _taker(texts: list[str], wanted: set[int]) -> Callable[[re.Match[str]], str]:
    """Replaces each mark once, by its text in one line."""

    def take(found: re.Match[str]) -> str:
        number = int(found[1])
        if number not in wanted:
            return ""
        wanted.discard(number)
        return " " + " ".join(texts[number].replace("|", "/").split())

    return take


def authored(description: str) -> str:
    """The description of a picture without what programs add to those they write themselves."""
    return _GENERATED.sub("", description).strip()
