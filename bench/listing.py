"""What a page of a list costs in a vault of many files: sorted, filtered, at the beginning and deep inside."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from sqlite3 import Connection

from bench.figures import Figure, Sizes, Tell, percentile, remark
from chyme.core.clock import now
from chyme.core.store import documents, files
from chyme.core.store.sqlite.database import Database
from chyme.model import Kind, Seen, Stamp, iso
from chyme.search.file_list import SORTS, FileList
from chyme.search.tables.listing import Filters

FILES = 100_000
BATCH = 1_000
TIMES = 15
PAGE = 60
DEEP = 30  # pages of 500
KINDS = 40 * ["document"] + 35 * ["image"] + 15 * ["text"] + 4 * ["audio"] + 3 * ["video"] + 2 * ["url"] + ["other"]
FOLDERS = ("", "a", "a/b", "a/b/c", "work", "work/2024", "work/2025", "photos")
WORDS = ("alpha", "beta", "invoice", "letter", "report", "photo", "notes", "tax", "house", "garden", "travel", "Zebra")
TAGS = [f"tag-{number}" for number in range(500)]
OFTEN = [1 / (number + 1) for number in range(500)]
FILTERS = {
    "one kind": Filters(kinds=("image",)),
    "a tag on half of all": Filters(tags=("tag-0",)),
    "a rare tag": Filters(tags=("tag-400",)),
    "a folder": Filters(folder="work"),
    "failed": Filters(states=("failed",)),
    "completed, two kinds": Filters(states=("completed",), kinds=("image", "document")),
    "all at once": Filters(("image", "document"), ("tag-0",), "work", ("completed",), "1995"),
}


def measure(_sizes: Sizes, folder: Path, tell: Tell) -> None:
    """Files straight into the store, then pages in this process; CPU, so that others on the machine do not count."""
    database = Database(folder)
    try:
        began = time.process_time()
        chance = random.Random(4)
        for first in range(0, FILES, BATCH):
            database.write(_filling(chance, first))
        database.checkpoint()
        size = (folder / "vault.db").stat().st_size
        remark(f"filled in {time.process_time() - began:.0f} s CPU, {size / 1e6:.0f} MB")
        library = FileList(database, now)
        _measure_orders(library, database, tell)
        for name, filters in FILTERS.items():
            spent = _spent(lambda: library.page(filters, sort="title", limit=PAGE))  # noqa: B023
            found = library.page(filters).total
            tell(Figure(f"filter: {name}", spent, "ms", f"first page by title; {found:,} files", at_most=100.0))
        tell(Figure("folders", _spent(library.folders), "ms", "the uppermost ones, with their files"))
        tell(Figure("facets", _once(library.facets), "ms", "counted anew; kept until something happens"))
    finally:
        database.close()


def _measure_orders(library: FileList, database: Database, tell: Tell) -> None:
    first, deep = [], []
    for sort in SORTS:
        for descending in (True, False):
            first.append(_spent(lambda: library.page(sort=sort, descending=descending, limit=PAGE)))  # noqa: B023
            cursor = None
            for _ in range(DEEP):
                cursor = library.page(sort=sort, descending=descending, cursor=cursor, limit=500).next
            behind = cursor
            deep.append(
                _spent(lambda: library.page(sort=sort, descending=descending, cursor=behind, limit=PAGE))  # noqa: B023
            )
    bare = _spent(lambda: _bare(database.read()))
    how = f"slowest of {len(first)} orders, {PAGE} of {FILES:,} files"
    tell(Figure("first page", max(first), "ms", how, at_most=20.0))
    tell(Figure("deep page", max(deep), "ms", f"{how}, behind {DEEP * 500:,}", at_most=20.0))
    told = f"newest first; that takes {bare:.2f} ms, and tells neither total, cursor nor state"
    tell(Figure("first page, against the bare SQL", first[0] / bare, "×", told, at_most=15.0))


def _bare(db: Connection) -> None:
    db.execute(
        """
        SELECT f.path, f.name, f.kind, f.mime, f.size, f.mtime_ns, f.created_at, d.title, d.summary, d.date, d.tags,
               d.state, d.face
          FROM shelf s CROSS JOIN files f ON f.id = s.file_id CROSS JOIN documents d ON d.file_id = f.id
         ORDER BY s.added DESC, s.file_id DESC LIMIT ?
        """,
        (PAGE,),
    ).fetchall()


def _spent(work: Callable[[], object]) -> float:
    return percentile([_once(work) for _ in range(TIMES)], 0.5)


def _once(work: Callable[[], object]) -> float:
    start = time.thread_time()
    work()
    return 1000 * (time.thread_time() - start)


def _filling(chance: random.Random, first: int) -> Callable[[Connection], None]:
    begin = datetime(2025, 1, 1, tzinfo=UTC)

    def fill(db: Connection) -> None:
        for number in range(first, first + BATCH):
            folder, name = chance.choice(FOLDERS), f"{chance.choice(WORDS)} {number}.bin"
            path = f"{folder}/{name}" if folder else name
            changed = chance.randrange(10**9, 17 * 10**8) * 10**9
            stamp = Stamp("1", str(number), chance.randrange(10**7), changed)
            seen = Seen(path, False, Kind(chance.choice(KINDS)), "application/octet-stream", stamp, f"{number:064x}")
            at = iso(begin + timedelta(seconds=7 * number))
            file_id = files.insert(db, seen, at)
            documents.register(db, file_id, at)
            title = " ".join(chance.choices(WORDS, k=4)) if chance.random() < 0.8 else None
            date = f"{chance.randrange(1990, 2025)}-03-15" if chance.random() < 0.6 else None
            tags = sorted(set(chance.choices(TAGS, OFTEN, k=5)))
            documents.describe(db, file_id, title, "word " * 40, date, "en", tags)
            state = "completed" if chance.random() < 0.9 else chance.choice(["failed", "processing"])
            documents.set_state(db, file_id, state, None, False, at)

    return fill
