"""Delimit data in a prompt, so that it is not read as part of the question."""

from __future__ import annotations

import hashlib


def delimit_data(question: str, language: str | None, data: str) -> str:
    """The question, and the data between two lines that it cannot contain, because they are its hash."""
    mark = hashlib.sha256(data.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    language_note = f" The language is {language!r}." if language else ""
    return f"{question}{language_note}\nBEGIN {mark}\n{data}\nEND {mark}"
