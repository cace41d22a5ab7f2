"""Cuts scripts without spaces into overlapping pairs, so that a word index finds words inside them."""

from __future__ import annotations

import re
import unicodedata

# Han, Kana, Hangul (also as separate jamo, as macOS writes names), half-width Kana.
_IDEOGRAPHS = (
    "\u1100-\u11ff\u3005-\u3007\u3031-\u3035\u303b\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7fb"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u0edc-\u0edf\u1000-\u103f\u1050-\u109d\u1780-\u17d3"  # Thai … Khmer
)
_FULL_WIDTH = "\uff10-\uff19\uff21-\uff3a\uff41-\uff5a"

RUNS = re.compile(f"[{_IDEOGRAPHS}{_UNSPACED}]+")
IDEOGRAPH = re.compile(f"[{_IDEOGRAPHS}{_UNSPACED}]")
_TO_CHANGE = re.compile(f"[{_IDEOGRAPHS}{_UNSPACED}]+|[{_FULL_WIDTH}]+")
_MARKED = re.compile(f"[{_UNSPACED}]")


def normalize_run(run: str) -> str:
    """Normalise a run as the index does: composed, no half-width letters, no marks that would split a token."""
    composed = unicodedata.normalize("NFKC", run)
    if _MARKED.search(composed):
        return "".join(letter for letter in composed if not unicodedata.category(letter).startswith("M"))
    return composed


def split_pairs(run: str) -> list[str]:
    """東京都 → 東京, 京都, 都: every letter begins a token, so that a single letter is found by prefix."""
    normalized = normalize_run(run)
    return [normalized[i : i + 2] for i in range(len(normalized))]


def segment(text: str) -> str | None:
    """The text for the index, or None when that is the text itself."""
    if not _TO_CHANGE.search(text):
        return None
    return _TO_CHANGE.sub(lambda run: _rewrite(run[0]), text)


def segment_query(text: str) -> str:
    """The same for a query: its last run may continue in the file, so it lacks the single letter that ends a run."""
    return _TO_CHANGE.sub(lambda run: _rewrite(run[0], open_ended=run.end() == len(text)), text)


def _rewrite(run: str, open_ended: bool = False) -> str:
    if "\uff10" <= run[0] <= "\uff5a":
        return unicodedata.normalize("NFKC", run)
    tokens = split_pairs(run)
    if open_ended and len(tokens) > 1:
        tokens.pop()
    return f" {' '.join(tokens)} "
