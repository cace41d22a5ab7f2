"""A question about data that is no part of the question."""

from __future__ import annotations

import hashlib


def delimit_data(question: str, language: str | None, data: str) -> str:
    """The data between two lines that nobody could have written: they are made from all of it."""
    mark = hashlib.sha256(data.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    told = f" The language is {language!r}." if language else ""
    return f"{question}{told}\nBEGIN {mark}\n{data}\nEND {mark}"
