"""Why an embedder has no vector for a question, as the user reads it."""

from __future__ import annotations

import unicodedata

UNKNOWN_SCRIPT = "not searched by meaning: the embedder does not know this script"
UNKNOWN_WORDS = "not searched by meaning: the embedder does not know these words"
NO_WORDS = "not searched by meaning: numbers and signs have none"


def explain_unreadable(question: str) -> str:
    """The reason by the question's letters: another script than Latin, which every embedder reads, or rare words.

    A Latin word that the embedder has to spell out may be a rare one (rhubarb), a name, or of another language.
    """
    letters = [letter for letter in question if letter.isalpha()]
    if not letters:
        return NO_WORDS
    latin = sum(unicodedata.name(letter, "").startswith("LATIN") for letter in letters)
    return UNKNOWN_WORDS if 2 * latin >= len(letters) else UNKNOWN_SCRIPT
