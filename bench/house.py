"""A vault of 100,000 files, served: the first page, scrolling, search as you type, memory."""

from __future__ import annotations

import http.client
import json
import time
import urllib.parse
from pathlib import Path
from sqlite3 import Connection

from bench.figures import Figure, Sizes, Tell, percentile, remark
from bench.notes import Notes
from bench.serving import Served, served
from chyme.application.app import open_app
from chyme.core.store import files
from chyme.model import File, Passage, Place
from chyme.search.tables import passages
from chyme.text.unspaced_scripts import segment

FILES = 100_000
BATCH = 500
MB = 1e6
TRIES = 20
PAGES_DOWN = 50
FIRST_PAGE_MS = 300.0
KINDS = ("text", "text", "document", "image", "audio")


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """Real files that are taken in by a scan; what digestion would have found is written straight into the store."""
    vault, notes = folder / "vault", Notes()
    count = min(sizes.passages, FILES)
    notes.write(vault, count)
    began = time.perf_counter()
    _fill(vault, notes)
    remark(f"{count} files filled in {time.perf_counter() - began:.0f} s")
    with served(vault) as server:  # it makes good what filling left out, as after a change of the embedder
        tell(Figure("first start", server.healthy_after, "s", "lanes and embedder of every file are set"))
    with served(vault) as server:
        tell(Figure("start until it answers", server.healthy_after, "s", f"{count} files", at_most=2.0))
        began = time.perf_counter()
        _ask(server, "/")
        tell(Figure("first page after the start", 1000 * (time.perf_counter() - began), "ms", "the very first"))
        time.sleep(20)  # the scan at the start
        _pages(server, tell)
        _scrolling(server, tell)
        _typing(server, notes, tell)
        tell(Figure("private memory", server.private / MB, "MB", "of the server, after these", at_most=210.0))


def _pages(server: Served, tell: Tell) -> None:
    asked = {
        "the page": "/",
        "the page as a table": "/?view=table",
        "the page, one kind": "/?kind=document",
        "the page, one tag": "/?tag=tag-7",
        "the page, what failed": "/?state=failed",
        "60 files": "/api/files?limit=60",
        "60 files by title": "/api/files?limit=60&sort=title&order=asc",
        "60 files by date, one kind": "/api/files?limit=60&sort=date&kind=image",
        "activity": "/activity",
        "tags": "/tags",
    }
    for what, path in asked.items():
        spent = [_timed(server, path) for _ in range(TRIES)]
        told = f"p95 {percentile(spent, 0.95):.0f} ms; first {spent[0]:.0f} ms; {len(_ask(server, path)) / 1000:.0f} KB"
        tell(Figure(what, percentile(spent, 0.5), "ms", f"median; {told}", at_most=FIRST_PAGE_MS))
    spent = [_timed(server, "/api/status") for _ in range(TRIES)]
    told = f"median; every digest is counted; p95 {percentile(spent, 0.95):.0f} ms"
    tell(Figure("status", percentile(spent, 0.5), "ms", told))


def _scrolling(server: Served, tell: Tell) -> None:
    spent, cursor = [], ""
    for _ in range(PAGES_DOWN):
        began = time.perf_counter()
        told = json.loads(_ask(server, f"/api/files?limit=200{cursor}"))
        spent.append(1000 * (time.perf_counter() - began))
        cursor = "&cursor=" + urllib.parse.quote(told["next"])
    how = f"median of {PAGES_DOWN} times 200 files, one after the other; p95 {percentile(spent, 0.95):.0f} ms"
    tell(Figure("scrolling on", percentile(spent, 0.5), "ms", how))


def _typing(server: Served, notes: Notes, tell: Tell) -> None:
    """Every letter of a few questions."""
    spent = []
    for word in notes.words[300:310]:
        for length in range(2, len(word) + 1):
            spent.append(_timed(server, "/api/search?typing=true&q=" + urllib.parse.quote(word[:length])))
    how = f"median of {len(spent)} letters typed; p95 {percentile(spent, 0.95):.0f} ms"
    tell(Figure("search as you type", percentile(spent, 0.5), "ms", how, at_most=100.0))


def _timed(server: Served, path: str) -> float:
    began = time.perf_counter()
    _ask(server, path)
    return 1000 * (time.perf_counter() - began)


def _ask(server: Served, path: str) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
    finally:
        connection.close()
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status} {body[:200]!r}")
    return body


def _fill(vault: Path, notes: Notes) -> None:
    with open_app(vault, create=True) as app:
        app.scan_and_settle()
        known = files.below(app.database.read(), "")
        for first in range(0, len(known), BATCH):
            made = [(file, _passage(notes, file)) for file in known[first : first + BATCH]]
            app.database.write(lambda db, made=made: _describe(db, made))  # type: ignore[misc]
        app.database.write(_finish)
        app.database.checkpoint()


def _passage(notes: Notes, file: File) -> Passage:
    text = notes.note(file.id)
    return Passage("file", 0, text, Place(0, len(text)), segment(text))


def _describe(db: Connection, made: list[tuple[File, Passage]]) -> None:
    for file, passage in made:
        passages.replace(db, file.id, "search-keyword", [passage])
        tags = json.dumps([f"tag-{file.id % 300}", f"subject-{file.id % 17}"])
        state = "failed" if file.id % 1000 == 0 else "completed"
        db.execute(
            "UPDATE documents SET title = ?, summary = ?, date = ?, tags = ?, state = ?, reason = ? WHERE file_id = ?",
            (
                *(passage.text[:60].strip(), passage.text[60:200], f"{2000 + file.id % 26}-{1 + file.id % 12:02}"),
                *(tags, state, "the file is broken" if state == "failed" else None, file.id),
            ),
        )
        db.execute("UPDATE files SET kind = ? WHERE id = ?", (KINDS[file.id % len(KINDS)], file.id))


def _finish(db: Connection) -> None:
    """As after a digestion of everything."""
    db.execute("UPDATE digests SET status = 'completed', settled = 1 WHERE status = 'todo'")
    db.execute("ANALYZE")
