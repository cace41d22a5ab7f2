"""A vault of many notes, served: how fast, how large, how quiet."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from bench.commands import run
from bench.figures import Figure, Sizes, Tell, percentile
from bench.machinery import SCAN_ONLY
from bench.notes import Notes
from bench.serving import Served, served
from chyme.application.app import open_app

MB = 1e6
PRIVATE_LIMIT = 200 * 1.048576
LOOK_SECONDS = 0.5
NEW_NOTES = 10


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """Serve an undigested vault until all is done; then start again and look at everything else."""
    vault = folder / "vault"
    notes = Notes()
    notes.write(vault, sizes.notes)
    _digestion(sizes, vault, tell)
    look_at(sizes, vault, notes, tell)


def look_at(sizes: Sizes, vault: Path, notes: Notes, tell: Tell) -> None:
    """Everything about a vault of notes that has been digested."""
    size = sum(path.stat().st_size for path in (vault / ".chyme").glob("vault.db*"))
    tell(Figure("database", size / MB, "MB", f"{size / sizes.notes:,.0f} bytes a note, after the server has ended"))
    _rescan(vault, tell)
    questions = [question for _, question in notes.queries(sizes.queries)]
    with served(vault) as server:
        tell(Figure("start to first /healthz", server.healthy_after, "s", "digested vault, wall", at_most=2.0))
        server.search(questions[0])
        tell(Figure("start to first search", time.perf_counter() - server.began, "s", "wall", at_most=2.0))
        tell(Figure("CPU until then", server.cpu, "s", "steadier than the wall; part of the scan is in it"))
        time.sleep(5 + sizes.notes / 20_000)  # the scan at the start is not idling
        before = server.cpu
        time.sleep(sizes.idle_seconds)
        idle = 100 * (server.cpu - before) / sizes.idle_seconds
        tell(Figure("idle", idle, "% of a core", f"CPU over {sizes.idle_seconds:g} s", at_most=0.5))
        tell(
            Figure(
                "private memory, idle",
                server.private / MB,
                "MB",
                "anonymous pages, before any question",
                at_most=PRIVATE_LIMIT,
            )
        )
        spent = server.timed(questions)
        how = f"{len(spent)} varied questions, wall"
        tell(Figure("search by HTTP, median", percentile(spent, 0.5), "ms", how))
        tell(Figure("search by HTTP, p99", percentile(spent, 0.99), "ms", how, at_most=100.0))
        tell(
            Figure(
                "private memory after the questions",
                server.private / MB,
                "MB",
                "anonymous pages",
                at_most=PRIVATE_LIMIT,
            )
        )
        _new_notes(server, vault, tell)
    _in_process(vault, questions, tell)


def _digestion(sizes: Sizes, vault: Path, tell: Tell) -> None:
    with served(vault) as server:
        private = 0
        found = 0
        while found < sizes.notes or server.left():
            private = max(private, server.private)
            found = int(server.ask("/api/status")["files"])
            time.sleep(LOOK_SECONDS)
        wall, cpu = time.perf_counter() - server.began, server.cpu
        after = server.private
    tell(Figure("notes a second", sizes.notes / wall, "/s", "serve on an undigested vault, wall, start to last digest"))
    tell(Figure("CPU a note", 1000 * cpu / sizes.notes, "ms", "server and children; status asked twice a second"))
    tell(Figure("private memory while digesting", private / MB, "MB", "most of all looks", at_most=PRIVATE_LIMIT))
    tell(Figure("private memory after digesting", after / MB, "MB", "anonymous pages", at_most=PRIVATE_LIMIT))


def _rescan(vault: Path, tell: Tell) -> None:
    find, scan = [], []
    for _ in range(3):
        ran = run(("find", str(vault), "-printf", "%p %s %T@ %i %D\\n"))
        find.append(ran.cpu)
        scan.append(float(run((sys.executable, "-c", SCAN_ONLY, str(vault))).output))
    tell(Figure("rescan", min(scan), "s", "CPU of a scan that finds nothing changed, best of three"))
    how = f"find -printf needs {min(find):.3f} s CPU for the same tree"
    tell(Figure("rescan against find", min(scan) / max(min(find), 0.001), "×", how, at_most=3.0))


def _new_notes(server: Served, vault: Path, tell: Tell) -> None:
    waits = []
    for number in range(NEW_NOTES):
        word = f"freshly{'abcdefghij'[number]}qx"
        if server.search(f'"{word}"')["hits"]:
            raise RuntimeError(f"{word} stands in the vault already; this needs a fresh one")
        (vault / "box-0000" / f"new-{number}.md").write_text(f"# New\n\nThis one says {word}.\n", encoding="utf-8")
        began = time.perf_counter()
        while not server.search(f'"{word}"')["hits"]:
            if time.perf_counter() - began > 30:
                raise RuntimeError(f"a new note with {word} cannot be found after 30 s")
            time.sleep(0.01)
        waits.append(time.perf_counter() - began)
        time.sleep(0.3)
    how = f"of {NEW_NOTES}; 0.5 s of it the file must be still"
    tell(Figure("new note to searchable, median", percentile(waits, 0.5), "s", how, at_most=1.5))
    tell(Figure("new note to searchable, slowest", max(waits), "s", how, at_most=1.5))


def _in_process(vault: Path, questions: list[str], tell: Tell) -> None:
    spent = []
    with open_app(vault) as app:
        for question in questions:
            began = time.thread_time()
            app.search.search(question)
            spent.append(1000 * (time.thread_time() - began))
    tell(Figure("search in process, median", percentile(spent, 0.5), "ms", "CPU, the same questions", at_most=30.0))
    tell(Figure("search in process, p99", percentile(spent, 0.99), "ms", "CPU", at_most=100.0))
