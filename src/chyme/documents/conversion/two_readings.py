"""Join two readings of a page: one with its layout, one with every character, each wrong where the other is right."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

MIN_KEPT = 0.93  # of a page's characters; with less, the layout reader dropped a part of it
MIN_LOST = 0.8  # of a line's words, for the line to be lost
MAX_LOST = 40  # lines put back on one page
LOST_LETTERS = 3
MIN_PART = 3  # letters of a part of a glued word whose parts are not neighbours
MIN_HALF = 2  # letters on each side of a hyphen
MAX_JOINED = 200  # words on one page
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_LETTER = re.compile(r"\w")
_WORD = re.compile(r"[^\W_]+")
_LANGUAGE = re.compile(r"^```\w+[ \t]*$", re.MULTILINE)  # the layout reader guesses a programming language
_BROKEN_WORD = re.compile(  # `pre- and post-` is not one
    r"(?<=[a-zß-öø-ÿ]{2})(?:-|\xad|\u2010)(?: |<br>|\n)(?=[a-zß-öø-ÿ]{2})"
    r"(?!(?:and|or|und|oder|et|ou|y|o|e|to|bis|sowie|bzw)\b)"
)


def join_readings(laid_out: str, plain: str) -> str:
    """The text of a page as the layout reader has it, mended with the characters that PDFium finds."""
    letters, laid_out_letters = len(_LETTER.findall(plain)), len(_LETTER.findall(laid_out))
    if not laid_out_letters or laid_out_letters < MIN_KEPT * letters:
        return plain
    if len(_RIGHT_TO_LEFT.findall(plain)) > 0.3 * letters:
        return plain  # liteparse reverses lines of right-to-left words
    laid_out = _BROKEN_WORD.sub("", _LANGUAGE.sub("```", laid_out))
    has, wants = Counter(_words(laid_out)), Counter(_words(plain))
    if has == wants:
        return laid_out
    extra, missing = has - wants, wants - has
    if extra and missing:
        laid_out = _mend_words(laid_out, plain, extra, missing)
    if missing:
        laid_out = _put_back_lines(laid_out, plain, missing)
    return laid_out


def _mend_words(laid_out: str, plain: str, extra: Counter[str], missing: Counter[str]) -> str:
    """Part words that were glued together, and join those that were torn apart, where the plain text has them so."""
    neighbours = {first + second: (first, second) for first, second in _neighbours(plain, missing)}
    for word in [word for word in extra if word in neighbours]:
        first, second = neighbours[word]
        if missing[first] > 0 and missing[second] > 0 and (first != second or missing[first] > 1):
            laid_out, count = re.subn(
                rf"(?i)(?<![^\W_]){re.escape(first)}(?={re.escape(second)}(?![^\W_]))",
                lambda found: f"{found[0]} ",
                laid_out,
                count=extra[word],
            )
            missing[first] -= count
            missing[second] -= count
    lower = plain.casefold()
    for word in [word for word in extra if word not in neighbours and len(word) >= 2 * MIN_PART]:
        for at in range(MIN_PART, len(word) - MIN_PART + 1):
            first, second = word[:at], word[at:]
            if missing[first] > 0 and missing[second] > 0 and f"{first}-" not in lower:
                laid_out, count = re.subn(
                    rf"(?i)(?<![^\W_]){first}(?={second}(?![^\W_]))", lambda found: f"{found[0]} ", laid_out, count=1
                )
                missing[first] -= count
                missing[second] -= count
    for first, second in set(_neighbours(laid_out, extra)):
        word = first + second
        if missing[word] > 0 and extra[first] > 0 and extra[second] > 0:
            laid_out, count = re.subn(
                rf"(?i)(?<![^\W_])({re.escape(first)}) ({re.escape(second)})(?![^\W_])",
                r"\1\2",
                laid_out,
                count=missing[word],
            )
            missing[word] -= count
    return _join_hyphenated(laid_out, extra, missing)


def _join_hyphenated(laid_out: str, extra: Counter[str], missing: Counter[str]) -> str:
    """Words that a hyphen parted at the end of a line, also where a paragraph or emphasis ended there."""
    wanted = [word for word, count in missing.items() if count > 0 and len(word) >= 2 * MIN_HALF and word.isalpha()]
    for word in wanted[:MAX_JOINED]:
        for at in range(MIN_HALF, len(word) - MIN_HALF + 1):
            first, second = word[:at], word[at:]
            if extra[first] <= 0 or extra[second] <= 0:
                continue
            laid_out, count = re.subn(
                rf"(?i)(?<![^\W_])({first})[-\u2010\xad][\s*_]{{1,8}}({second})(?![^\W_])",
                r"\1\2",
                laid_out,
                count=missing[word],
            )
            missing[word] -= count
            extra[first] -= count
            extra[second] -= count
    return laid_out


def _put_back_lines(laid_out: str, plain: str, missing: Counter[str]) -> str:
    """The text with the lines that the layout reader dropped, each after the line before it."""
    rows = plain.split("\n")
    letters = "".join(_words(laid_out))
    put_back = 0
    for index, row in enumerate(rows):
        words = _words(row)
        lost = sum(1 for word in words if missing[word] > 0)
        if lost < max(1, MIN_LOST * len(words)) or sum(map(len, words)) < LOST_LETTERS or "".join(words) in letters:
            continue
        put_back += 1
        if put_back > MAX_LOST:
            break
        missing.subtract(words)
        before = next((earlier.strip() for earlier in reversed(rows[max(0, index - 3) : index]) if earlier.strip()), "")
        at = laid_out.find(before) if before else -1
        end = _end_of_block(laid_out, at) if at >= 0 else len(laid_out)
        laid_out = f"{laid_out[:end].rstrip()}\n\n{row.strip()}\n\n{laid_out[end:].lstrip()}".strip()
    return laid_out


def _end_of_block(markdown: str, at: int) -> int:
    """Where the line at this position ends, or the table that it is in."""
    end = markdown.find("\n", at)
    while end >= 0 and markdown.startswith("|", end + 1):
        end = markdown.find("\n", end + 1)
    return end if end >= 0 else len(markdown)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _neighbours(text: str, among: Counter[str]) -> Iterator[tuple[str, str]]:
    """Those of these words that follow each other on a line, with only a blank between them."""
    for line in text.casefold().split("\n"):
        for first, second in pairwise(_WORD.findall(line)):
            if first in among and second in among and f"{first} {second}" in line:
                yield first, second
