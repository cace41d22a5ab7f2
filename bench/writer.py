"""What group commit is worth."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from bench.figures import Figure, Sizes, Tell
from chyme.core.store import vault_properties
from chyme.core.store.sqlite.database import Database

THREADS, EACH = 32, 60


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """Durable one-row transactions from one thread, then from 32, in the same database."""
    database = Database(folder)
    try:
        alone = _rate(database, 1, 300)
        before = database.commits
        together = _rate(database, THREADS, EACH)
        grouped = THREADS * EACH / (database.commits - before)
    finally:
        database.close()
    tell(Figure("one commit each", alone, "/s", "one thread, each transaction durable before the next"))
    tell(Figure("group commit", together, "/s", f"{THREADS} threads; {grouped:.1f} transactions a commit"))
    tell(Figure("group commit against one each", together / alone, "×", "same database, same run"))


def _rate(database: Database, threads: int, each: int) -> float:
    def work(number: int) -> None:
        for turn in range(each):
            database.write(lambda db, turn=turn: vault_properties.put(db, f"bench {number}", str(turn)))  # type: ignore[misc]

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    began = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return threads * each / (time.perf_counter() - began)
