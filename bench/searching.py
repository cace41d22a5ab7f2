"""What a question costs among 100 000 passages."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from sqlite3 import Connection

from bench.figures import Figure, Sizes, Tell, percentile, remark
from bench.notes import Notes
from chyme.core.clock import now
from chyme.core.store import files
from chyme.core.store.sqlite.database import Database
from chyme.model import Kind, Passage, Place, Seen, Stamp, iso
from chyme.search.query.spelling import words_of
from chyme.search.search import Search
from chyme.search.sqlite_index import SqliteIndex
from chyme.search.tables import passages
from chyme.text.unspaced_scripts import segment

PER_FILE = 5
BATCH = 200
FREQUENT = 20  # words of this rank stand in nearly every passage


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """Passages straight into the store, then varied questions in this process, held to one core."""
    notes = Notes()
    database = Database(folder)
    try:
        began = time.process_time()
        for first in range(0, sizes.passages // PER_FILE, BATCH):
            database.write(_filling(notes, first, min(BATCH, sizes.passages // PER_FILE - first)))
        database.checkpoint()
        size = (folder / "vault.db").stat().st_size
        remark(f"filled in {time.process_time() - began:.0f} s CPU, {size / 1e6:.0f} MB")
        search = Search(database.read, SqliteIndex(database.read)).search
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(before)})
        try:
            questions = list(notes.queries(sizes.queries))
            questions += [("frequent", notes.words[rank % FREQUENT]) for rank in range(len(questions) // 6)]
            spent: dict[str, list[float]] = {}
            for sort, question in questions:
                search(question)  # the first one warms the page cache, which is not ours to measure
                start = time.thread_time()
                search(question)
                spent.setdefault(sort, []).append(1000 * (time.thread_time() - start))
        finally:
            os.sched_setaffinity(0, before)
    finally:
        database.close()
    everything = [ms for times in spent.values() for ms in times]
    how = f"{len(everything)} questions among {sizes.passages} passages, one core, second time asked"
    tell(Figure("CPU, median", percentile(everything, 0.5), "ms", how, at_most=30.0))
    tell(Figure("CPU, p99", percentile(everything, 0.99), "ms", how, at_most=100.0))
    for sort, times in spent.items():
        tell(Figure(f"… {sort}", percentile(times, 0.5), "ms", f"median; p99 {percentile(times, 0.99):.1f} ms"))


def _filling(notes: Notes, first: int, count: int) -> Callable[[Connection], None]:
    rows = []
    for number in range(first, first + count):
        texts = [notes.note(number * PER_FILE + part) for part in range(PER_FILE)]
        found = [Passage("file", at, text, Place(0, len(text)), segment(text)) for at, text in enumerate(texts)]
        seen = Seen(f"note-{number}.txt", False, Kind.TEXT, "text/plain", Stamp("1", str(number), 1, 1), str(number))
        rows.append((seen, found, words_of(texts)))
    moment = iso(now())

    def fill(db: Connection) -> None:
        for seen, found, words in rows:
            passages.replace(db, files.insert(db, seen, moment), "search-keyword", found, words)

    return fill
