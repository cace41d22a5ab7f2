"""Compose a one-sentence caption without a model: from the sort of picture, the objects and the words in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from chyme.pictures.objects import clean_line, with_article

QUOTED_WORDS, QUOTED_CHARS = 8, 70
MAX_NAMES = 5  # object names that are listed; the rest become "other things"
PAGE_WORDS = 25
TEXT_LENGTH = 200
_DOUBT_MARK = re.compile(r"\s*\[\?\]")
_NOTE = re.compile(r"^> note:.*$", re.MULTILINE)
_MARKUP = re.compile(r"^[#>\s*|-]+|[*_`|]+", re.MULTILINE)
_WORD = re.compile(r"\w[\w'’.-]*")
_TWO_LETTERS = re.compile(r"[^\W\d_]{2}")
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_IRREGULAR_PLURALS = {"person": "people", "mouse": "mice", "man": "men", "woman": "women", "child": "children"}
_IRREGULAR_PLURALS |= {word: word for word in ("sheep", "skis", "scissors", "people", "broccoli")}


@dataclass(frozen=True, slots=True)
class Scene:
    """What can be said about a picture without understanding it. If everything is False, nothing is certain."""

    photograph: bool = False
    drawn: bool = False  # flat colours with sharp edges: a drawing, a diagram, a sign
    paper: bool = False  # nearly all of it is white
    grey: bool = False  # without colour
    pale: bool = False  # hardly any colour, as on yellowed paper
    bright: bool = False
    dark: bool = False
    plain: bool = False  # one colour and nothing else
    screen: bool = False  # drawn, and exactly as large as a screen
    colour: str | None = None  # the colour of more than half of it


def words_in(text: str) -> str:
    """The words of a recognised text on one line, without [?] marks, notes and markup; empty if no real word."""
    plain = _MARKUP.sub("", _NOTE.sub("", _DOUBT_MARK.sub("", text)))
    line = clean_line(plain, TEXT_LENGTH)
    return line if _TWO_LETTERS.search(line) else ""


def count_text_words(text: str) -> int:
    """Return how many words a recognised text has."""
    return len(_WORD.findall(_NOTE.sub("", _DOUBT_MARK.sub("", text))))


def sort_of_picture(words: int, scene: Scene, camera: bool = False) -> str:
    """What to call the picture. `words` is how many were read in it; `camera`, whether the file names a camera."""
    dark = "dark " if scene.dark else ""
    if scene.plain:
        return f"plain {scene.colour} picture" if scene.colour else "plain picture"
    if scene.screen:
        return "screenshot"
    if words >= PAGE_WORDS and scene.pale and (scene.paper or scene.bright):
        return "page of text"
    if words >= PAGE_WORDS and scene.paper:
        return "page with text"
    if scene.paper and scene.pale and words:
        return "piece of text"
    if scene.photograph or (camera and not scene.drawn and not scene.paper):  # scanners write a camera name too
        return f"{dark}{'black-and-white ' if scene.grey else ''}photograph"
    if scene.drawn:
        return "drawing or diagram"
    return f"{dark}{'black-and-white ' if scene.grey and not scene.paper else ''}picture"


def compose_caption(
    sort: str, names: Sequence[str], words: str = "", colour: str | None = None, likely: Sequence[str] = ()
) -> str:
    """`A photograph of two people and a dog; it says “Harbour Street”.` Without sure `names`, use the `likely` ones."""
    text = with_article(sort)
    shown = list_names(names) if names else f"what looks like {list_names(likely)}" if likely else ""
    if shown:
        text += (" of " if "text" not in sort and sort != "screenshot" else " with ") + shown
    elif not words and colour and "plain" not in sort and colour not in ("grey", "black"):
        text += f", mostly {colour}"
    if words:
        text += f"; {quote_words(words)}"
    return text[0].upper() + text[1:] + ("" if text.endswith((".”", "!”", "?”")) else ".")


def quote_words(words: str) -> str:
    """Quote the words, or only the first few if there are many."""
    line = words.replace("“", "").replace("”", "").replace('"', "")
    parts = line.split(" ")
    if len(parts) <= QUOTED_WORDS and len(line) <= QUOTED_CHARS:
        return f"it says “{line}”"
    beginning = " ".join(parts[:QUOTED_WORDS])
    if len(beginning) > QUOTED_CHARS:
        beginning = beginning[:QUOTED_CHARS].rpartition(" ")[0] or beginning[:QUOTED_CHARS]
    return f"it begins “{beginning.rstrip('.,;:')} …”"


def list_names(names: Sequence[str]) -> str:
    """`two people, a dog and a bench`: each name once, with its count, in the given order."""
    counted = list(Counter(names).items())
    parts = [_count_name(name, count) for name, count in counted[:MAX_NAMES]]
    if len(counted) > MAX_NAMES:
        parts.append("other things")
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]


def _count_name(name: str, count: int) -> str:
    if count == 1:
        return with_article(name)
    return f"{_NUMBERS[count] if count < len(_NUMBERS) else count} {plural(name)}"


def plural(name: str) -> str:
    """The plural of a name; only its last word changes."""
    before, space, last = name.rpartition(" ")
    return before + space + (_IRREGULAR_PLURALS.get(last) or _regular_plural(last))


def _regular_plural(word: str) -> str:
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    if word == "knife":
        return "knives"
    return word + "s"
