"""How many words a transcript got wrong."""

from __future__ import annotations

import re
import unicodedata

NORMALISED = "lower case, without punctuation, apostrophes dropped, Mr and Mrs written out"
_SAME = {"mr": "mister", "mrs": "missus"}


def words_of(text: str) -> list[str]:
    """The words as they are compared."""
    spelt = re.sub("['’]", "", unicodedata.normalize("NFKC", text).casefold())
    return [_SAME.get(word, word) for word in re.findall(r"\w+", spelt)]


def errors(text: str, truth: str) -> tuple[int, int]:
    """The fewest words to insert, delete or replace until the text is the truth, and how many words that has."""
    found, wanted = words_of(text), words_of(truth)
    row = list(range(len(wanted) + 1))
    for at, word in enumerate(found, 1):
        above, row[0] = row[0], at
        for column, other in enumerate(wanted, 1):
            above, row[column] = row[column], min(row[column] + 1, row[column - 1] + 1, above + (word != other))
    return row[-1], len(wanted)
