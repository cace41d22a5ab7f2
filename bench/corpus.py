"""The whole corpus in one vault: does it all end, within its limits, and how good is the text."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import sys
from collections import Counter
from datetime import datetime
from pathlib import Path

from bench.commands import digest, run
from bench.figures import Figure, Sizes, Tell, remark, warn
from bench.vaults import CORPUS

MB = 1e6
PRIVATE_LIMIT = 200 * 1.048576
CHILD_LIMIT = 3072 * 1.048576
TARGETS = {
    "pdf": 0.955, "docx": 0.97, "odt": 0.96, "rtf": 0.89, "html": 0.95, "pptx": 0.94, "xlsx": 0.88, "epub": 0.95,
}  # fmt: skip
NOT_FILES = ("truth", "manifest.jsonl", "score.py", "README.md", "retrieval")


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """Digest everything, hostile files included, then the same without these."""
    if not CORPUS.is_dir():
        warn(f"{CORPUS} is absent; skipped")
        return
    vault, peaceful, out = folder / "vault", folder / "peaceful", folder / "out"
    shutil.copytree(CORPUS, vault, ignore=shutil.ignore_patterns(*NOT_FILES))
    shutil.copytree(CORPUS, peaceful, ignore=shutil.ignore_patterns("hostile", *NOT_FILES))
    before = _hashes(vault)
    ran = digest(vault, sample_seconds=0.1)
    count = len(before)
    tell(Figure("wall", ran.wall, "s", f"{count} files, retries waited for"))
    tell(Figure("CPU", ran.cpu, "s", f"parent {ran.parent:.1f} s, children {ran.children:.1f} s"))
    tell(
        Figure(
            "private memory of the parent", ran.private / MB, "MB", "most of looks every 0.1 s", at_most=PRIVATE_LIMIT
        )
    )
    tell(Figure("largest child", ran.largest_child / MB, "MB", "resident, same looks", at_most=CHILD_LIMIT))
    changed = sum(before[path] != hash_ for path, hash_ in _hashes(vault).items()) + abs(len(_hashes(vault)) - count)
    tell(Figure("originals changed", changed, "files", "SHA-256 of each before and after", at_most=0))
    with sqlite3.connect(vault / ".chyme" / "vault.db") as db:
        _endings(db, tell)
        _scores(db, out, tell)
        finished = _others_done(db)
    db.close()
    digest(peaceful, "--no-wait")
    _hostility(finished, peaceful, tell)


def _hashes(vault: Path) -> dict[str, str]:
    found = (path for path in vault.rglob("*") if path.is_file() and ".chyme" not in path.parts)
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def _endings(db: sqlite3.Connection, tell: Tell) -> None:
    states = dict(db.execute("SELECT status, count(*) FROM digests GROUP BY status"))
    remark(", ".join(f"{count} {status}" for status, count in sorted(states.items())))
    open_ends = states.get("todo", 0) + states.get("in-progress", 0)
    tell(Figure("digests not finished", open_ends, "digests", "todo or in progress at the end", at_most=0))
    failed = db.execute("SELECT file_path, error_category, error FROM digests WHERE status = 'failed'").fetchall()
    silent = sum(not category or not error for _, category, error in failed)
    tell(Figure("failures without a reason", silent, "digests", f"of {len(failed)} failed", at_most=0))
    for category, number in Counter(category for _, category, _ in failed).most_common():
        remark(f"failed: {number:>4} {category}")
    elsewhere = [row for row in failed if not row[0].startswith("hostile/")]
    for path, category, error in elsewhere:
        remark(f"  {path}: {category}: {error}")
    tell(Figure("failures outside hostile/", len(elsewhere), "digests", "listed above"))


def _scores(db: sqlite3.Connection, out: Path, tell: Tell) -> None:
    """Lay the markdown down as the corpus' own script wants it, and read that script's table."""
    made = db.execute("SELECT file_path, content FROM digests WHERE digester = 'doc-to-markdown' AND content NOT NULL")
    for path, content in made:
        target = out / f"{path}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8", errors="replace")
    table = run((sys.executable, str(CORPUS / "score.py"), str(out))).output
    for line in table.splitlines():
        columns = line.split()
        if columns and columns[0] in TARGETS:
            kind, number, score, recall, order = columns
            how = f"word F1 of {number} files; recall {recall}, order {order}"
            tell(Figure(f"quality {kind}", float(score), "F1", how, at_least=TARGETS[kind]))


def _others_done(db: sqlite3.Connection) -> float:
    """Seconds from the first digest of a file that is not hostile until the last of them was completed."""
    first, last = db.execute(
        """
        SELECT min(created_at), max(updated_at) FROM digests
         WHERE file_path NOT LIKE 'hostile/%' AND status = 'completed'
        """
    ).fetchone()
    return (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds()


def _hostility(with_hostile: float, peaceful: Path, tell: Tell) -> None:
    with sqlite3.connect(peaceful / ".chyme" / "vault.db") as db:
        alone = _others_done(db)
    db.close()
    how = f"time until all other files were completed: {with_hostile:.1f} s with hostile/, {alone:.1f} s without"
    tell(Figure("delay of others by hostile files", with_hostile / alone, "×", how))
