"""Compose a one-sentence caption without a model: from the sort of picture, the objects and the words in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from chyme.pictures.objects import clean_line, with_article

QUOTED_WORDS, QUOTED_CHARS = 8, 70
MAX_NAMES = 5  # object names that are listed; the rest become "other things"
MAX_PLACED = 3  # with more names than this, the sentence does not say where each is
TEXT_LENGTH = 200
_DOUBT_MARK = re.compile(r"\s*\[\?\]")
_NOTE = re.compile(r"^> note:.*$", re.MULTILINE)
_MARKUP = re.compile(r"^[#>\s*|-]+|[*_`|]+", re.MULTILINE)
_WORD = re.compile(r"\w[\w'’.-]*")
_TWO_LETTERS = re.compile(r"[^\W\d_]{2}")
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_IRREGULAR_PLURALS = {"person": "people", "mouse": "mice", "man": "men", "woman": "women", "child": "children"}
_IRREGULAR_PLURALS |= {word: word for word in ("sheep", "skis", "scissors", "people", "broccoli")}
_POSITION_PHRASES = {
    "left": "on the left",
    "right": "on the right",
    "at the top": "at the top",
    "at the bottom": "at the bottom",
    "upper left": "at the upper left",
    "upper right": "at the upper right",
    "lower left": "at the lower left",
    "lower right": "at the lower right",
}


@dataclass(frozen=True, slots=True)
class Thing:
    """An object in a picture, as far as it is known: its colour, and where it is, as `describe_position` says."""

    name: str
    colour: str = ""
    position: str = ""
    counted: bool = True  # False if there may be more of them in the picture


def words_in(text: str) -> str:
    """The words of a recognised text on one line, without [?] marks, notes and markup; empty if no real word."""
    plain = _MARKUP.sub("", _NOTE.sub("", _DOUBT_MARK.sub("", text)))
    line = clean_line(plain, TEXT_LENGTH)
    return line if _TWO_LETTERS.search(line) else ""


def count_text_words(text: str) -> int:
    """Return how many words a recognised text has."""
    return len(_WORD.findall(_NOTE.sub("", _DOUBT_MARK.sub("", text))))


def compose_caption(
    sort: str, things: Sequence[Thing], words: str = "", colours: Sequence[str] = (), sure: bool = True
) -> str:
    """`A photograph of two people on the left and a brown dog; it says “Harbour Street”.`

    If the detector is not `sure` of the things, the sentence says so.
    """
    text = with_article(sort)
    if things:
        doubt = "" if sure else "what looks like "
        text += (" of " if sort.endswith(("photograph", "picture")) else " with ") + doubt + list_things(things)
    elif not words and colours and "plain" not in sort:
        text += f", mostly {' and '.join(colours)}"
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


def list_things(things: Sequence[Thing]) -> str:
    """`two people on the left, a brown dog and a bench`: each name once, with its count, in the given order.

    Colour and position are said where all things of a name share them, and positions only where few are named.
    """
    by_name: dict[str, list[Thing]] = {}
    for thing in things:
        by_name.setdefault(thing.name, []).append(thing)
    says_where = len(by_name) <= MAX_PLACED
    parts = [_describe_group(group, says_where) for group in list(by_name.values())[:MAX_NAMES]]
    if len(by_name) > MAX_NAMES:
        parts.append("other things")
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]


def _describe_group(group: Sequence[Thing], says_where: bool) -> str:
    colours, positions = {thing.colour for thing in group}, {thing.position for thing in group}
    colour = colours.pop() if len(colours) == 1 else ""
    position = positions.pop() if says_where and len(positions) == 1 else ""
    name = _count_name(f"{colour} {group[0].name}".strip(), len(group))
    if len(group) > 1 and not all(thing.counted for thing in group):
        name = f"at least {name}"
    return f"{name} {_POSITION_PHRASES.get(position, '')}".strip()


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
