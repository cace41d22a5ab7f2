"""The scripts that tesseract can add to those the embedded engine knows, and which of them a text is written in."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass

TOGETHER = 3  # languages of one script that are read with at the same time; more make tesseract slow
BESIDE = "eng"  # Latin words among those of another script are read with it
DISTINCT = 2  # letters that no Latin letter looks like; fewer do not prove a script
SHARE = 0.3  # of the letters of a line that are of the script, in a line that is read with it


@dataclass(frozen=True, slots=True)
class Script:
    """A script, and how tesseract names it."""

    name: str
    model: str  # tesseract's model of all languages of the script
    languages: tuple[str, ...]  # tesseract's models of single languages, the most common first
    detected_as: tuple[str, ...]  # what tesseract's detection of scripts calls it
    ranges: tuple[tuple[int, int], ...]  # of code points
    look_alikes: str = ""  # letters that look like Latin ones

    @property
    def package(self) -> str:
        """The Debian package of its most common language."""
        return f"tesseract-ocr-{self.languages[0]}"

    def has(self, letter: str) -> bool:
        return any(first <= ord(letter) <= last for first, last in self.ranges)


SCRIPTS = (
    Script(
        "Cyrillic",
        "script/Cyrillic",
        ("rus", "ukr", "bul", "bel", "srp", "mkd", "kaz", "kir", "tgk", "mon"),
        ("Cyrillic",),
        ((0x400, 0x52F),),
        "АВЕЅІЈКМНОРСТУХаеѕіјорсухь",
    ),
    Script(
        "Greek",
        "script/Greek",
        ("ell", "grc"),
        ("Greek",),
        ((0x370, 0x3FF), (0x1F00, 0x1FFF)),
        "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧινορυ",
    ),
    Script(
        "Arabic",
        "script/Arabic",
        ("ara", "fas", "urd", "pus", "uig", "kur_ara"),
        ("Arabic",),
        ((0x600, 0x6FF), (0x750, 0x77F), (0x8A0, 0x8FF), (0xFB50, 0xFDFF), (0xFE70, 0xFEFC)),
    ),
    Script("Hebrew", "script/Hebrew", ("heb", "yid"), ("Hebrew",), ((0x590, 0x5FF), (0xFB1D, 0xFB4F))),
    Script("Devanagari", "script/Devanagari", ("hin", "mar", "nep", "san"), ("Devanagari",), ((0x900, 0x97F),)),
    Script("Korean", "script/Hangul", ("kor",), ("Korean", "Hangul"), ((0x1100, 0x11FF), (0xAC00, 0xD7AF))),
    Script("Thai", "script/Thai", ("tha",), ("Thai",), ((0xE00, 0xE7F),)),
)


def find_languages(script: Script, installed: Collection[str]) -> str:
    """What tesseract reads the script with, in its own notation; empty if nothing of it is installed."""
    if script.model in installed:
        return script.model
    found = [language for language in script.languages if language in installed][:TOGETHER]
    if not found:
        return ""
    return "+".join([*found, BESIDE] if BESIDE in installed else found)


def split_by_installed(installed: Collection[str]) -> tuple[list[Script], list[Script]]:
    """The scripts that can be read, and those that cannot."""
    readable = [script for script in SCRIPTS if find_languages(script, installed)]
    return readable, [script for script in SCRIPTS if script not in readable]


def install_command(missing: Sequence[Script]) -> str:
    """The one command that adds these scripts, on Debian."""
    return f"apt-get install {' '.join(['tesseract-ocr', *(script.package for script in missing)])}"


def list_names(scripts: Sequence[Script]) -> str:
    """Their names in a sentence."""
    names = [script.name for script in scripts]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def is_written_in(text: str, script: Script) -> bool:
    """Whether a line is written in the script, or in its digits, possibly with words in another one."""
    letters = [
        letter for letter in text if unicodedata.category(letter)[0] in "LM" or (letter > "9" and letter.isdecimal())
    ]
    own = [letter for letter in letters if script.has(letter)]
    distinct = sum(letter not in script.look_alikes for letter in own)
    return distinct >= DISTINCT and len(own) >= SHARE * len(letters)


def is_right_to_left(text: str) -> bool:
    """Whether most letters of a text are of a script that is written from right to left."""
    directions = [unicodedata.bidirectional(letter) for letter in text]
    leftward = sum(direction in ("R", "AL") for direction in directions)
    return leftward > directions.count("L")
