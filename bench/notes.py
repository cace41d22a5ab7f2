"""Small notes as people keep them, made up the same way every time."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

SEED = 20240517
VOCABULARY = 30_000
PER_FOLDER = 200
WORDS = 150  # some 1 KB
CJK_SHARE, HEADING_SHARE = 0.05, 0.4

_SYLLABLES = [
    a + b for a in ("b", "c", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w") for b in "aeiou"
] + [
    "an",
    "en",
    "in",
    "on",
    "un",
    "ar",
    "er",
    "ir",
    "or",
    "al",
    "el",
    "as",
    "es",
    "is",
    "at",
    "it",
    "ing",
    "ion",
    "ent",
]
_CJK = (
    "山川水火木金土日月人口手目耳心田力男女子大小中上下左右前後東西南北春夏秋冬"
    "朝昼夜雨雪風空海花草虫魚鳥犬猫車道町村国王玉石糸貝見音色"
)


def vocabulary() -> list[str]:
    """Made-up words, the frequent ones shorter."""
    dice = random.Random(SEED)
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        length = 1 + min(4, len(words).bit_length() // 4) + dice.randrange(2)
        words["".join(dice.choices(_SYLLABLES, k=length))] = None
    return list(words)


class Notes:
    """An endless, repeatable stream of notes; words as frequent as their rank says (Zipf)."""

    def __init__(self) -> None:
        self.words = vocabulary()
        self._weights = list(itertools.accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))

    def pick(self, dice: random.Random, count: int) -> list[str]:
        return dice.choices(self.words, cum_weights=self._weights, k=count)

    def note(self, number: int) -> str:
        """The text of note `number`."""
        dice = random.Random(SEED + number)
        if dice.random() < CJK_SHARE:
            return "。\n".join("".join(dice.choices(_CJK, k=dice.randrange(8, 30))) for _ in range(12)) + "。\n"
        words = self.pick(dice, dice.randrange(WORDS // 2, WORDS * 3 // 2))
        lines: list[str] = []
        if dice.random() < HEADING_SHARE:
            lines.append(f"# {' '.join(self.pick(dice, 3)).title()}\n")
        while words:
            length = dice.randrange(6, 16)
            sentence, words = words[:length], words[length:]
            lines.append(" ".join(sentence).capitalize() + ".")
            if dice.random() < 0.15:
                lines.append("")
        return "\n".join(lines) + "\n"

    def write(self, folder: Path, count: int, first: int = 0) -> None:
        """Put notes into sub-folders of `folder`."""
        for number in range(first, first + count):
            place = folder / f"box-{number // PER_FOLDER:04d}"
            if number % PER_FOLDER == 0 or number == first:
                place.mkdir(parents=True, exist_ok=True)
            ending = "md" if number % 3 else "txt"
            (place / f"{'-'.join(self.words[number * 7 % 997 : number * 7 % 997 + 2])}-{number}.{ending}").write_text(
                self.note(number), encoding="utf-8"
            )

    def queries(self, count: int) -> Iterator[tuple[str, str]]:
        """Questions of six sorts, each with the name of its sort."""
        dice = random.Random(SEED - 1)
        for number in range(count):
            known = [w for w in self.note(dice.randrange(5000)).split() if w.isascii()] or ["note"]
            at = dice.randrange(max(1, len(known) - 1))
            long = dice.choice([w for w in self.words[200:5000] if len(w) > 6])
            sort = ("word", "two words", "phrase", "prefix", "typo", "cjk")[number % 6]
            yield (
                sort,
                {
                    "word": self.words[dice.randrange(20, 8000)],
                    "two words": " ".join(self.words[dice.randrange(20, 3000)] for _ in range(2)),
                    "phrase": f'"{" ".join(known[at : at + 2]).strip(".")}"',
                    "prefix": long[:5] + "*",
                    "typo": long[:3] + long[4] + long[3] + long[5:],
                    "cjk": "".join(dice.choices(_CJK, k=2)),
                }[sort],
            )
