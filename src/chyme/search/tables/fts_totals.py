"""The totals FTS5 uses in bm25(): the number of texts in an index, and their average length."""

from __future__ import annotations

from sqlite3 import Connection
from typing import Literal, NamedTuple


class Totals(NamedTuple):
    """The totals of one index."""

    texts: int
    average_length: float  # in words, all columns together


def totals(db: Connection, index: Literal["passage_fts", "file_fts"]) -> Totals:
    """Read from the row in which FTS5 keeps them: the number of texts, then of words in each column."""
    row = db.execute(f"SELECT block FROM {index}_data WHERE id = 1").fetchone()
    texts, *lengths = _decode_varints(row[0]) if row and row[0] else [0]
    return Totals(texts, sum(lengths) / texts if texts else 0.0)


def _decode_varints(block: bytes) -> list[int]:
    """Decode SQLite's variable-length integers: seven bits a byte, the highest bit says that another byte follows."""
    numbers = []
    number = 0
    for byte in block:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(number)
            number = 0
    return numbers
