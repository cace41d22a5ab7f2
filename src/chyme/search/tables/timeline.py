"""How many files of each kind have a date in each year, or in each month of a year. Reads one narrow index."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from sqlite3 import Connection


@dataclass(frozen=True, slots=True)
class PeriodCount:
    """Files of one kind in one period."""

    period: str  # a year, 2019, or a month, 2019-03
    kind: str
    files: int


def by_year(db: Connection) -> list[PeriodCount]:
    """Every year with files, in order."""
    counts: Counter[tuple[str, str]] = Counter()
    rows = db.execute(
        """
        SELECT substr(day, 1, 4), kind, count(*) FROM shelf INDEXED BY shelf_facets
         GROUP BY kind, state, substr(day, 1, 4)
        """
    )  # in the order of the index: sorting 100,000 files by other columns takes longer than reading them
    for year, kind, files in rows:
        counts[year, kind] += files
    return [PeriodCount(year, kind, files) for (year, kind), files in sorted(counts.items()) if year]


def by_month(db: Connection, year: str) -> list[PeriodCount]:
    """Every month of this year with files, in order."""
    rows = db.execute(
        """
        SELECT substr(day, 1, 7), kind, count(*) FROM shelf INDEXED BY shelf_by_day
         WHERE day >= :year AND day < :after GROUP BY 1, 2 ORDER BY 1, 2
        """,
        {"year": year, "after": f"{year}~"},  # "~" is after every sign in a date
    )
    return [PeriodCount(*row) for row in rows if len(row[0]) == 7]
