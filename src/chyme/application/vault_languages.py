"""Which languages the documents of a vault are in, and what the multilingual embedder would do for them."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from chyme.core.store import documents
from chyme.core.store.sqlite.database import FILE_NAME
from chyme.core.store.sqlite.read_only import connect_read_only
from chyme.errors import VaultError
from chyme.text.language_codes import name_of

# Languages in scripts that MiniLM does not know, and that the multilingual encoder was trained on.
ONLY_MULTILINGUAL = ("ar", "ja", "ko", "ru", "th", "zh")


def count_languages(state: Path) -> dict[str, int]:
    """The number of documents by language, read without changing anything; empty where there is no vault."""
    path = state / FILE_NAME
    if not path.is_file():
        return {}
    try:
        with contextlib.closing(connect_read_only(path)) as db:
            return documents.count_by_language(db)
    except (sqlite3.Error, VaultError):
        return {}  # other checks report a damaged database


def suggest_multilingual(counts: Mapping[str, int], is_fetched: bool) -> str:
    """Why and how to search by meaning in several languages; empty if the vault has no use for it."""
    found = sorted(
        ((language, count) for language, count in counts.items() if language in ONLY_MULTILINGUAL),
        key=lambda pair: (-pair[1], pair[0]),
    )
    if not found:
        return ""
    total = sum(count for _, count in found)
    named = ", ".join(f"{name_of(language)} {count:,}" for language, count in found)
    fetch = "" if is_fetched else "run 'chyme weights multilingual' and "
    are = "document is" if total == 1 else "documents are"
    return (
        f"{total:,} {are} in languages that it does not know ({named}) and found by their words only; "
        f"{fetch}set embedding_provider to multilingual for them: English is then found less well by meaning"
    )
