"""Kill chyme again and again while it digests, and see that nothing is lost: python -m bench.crash [--kills 200]."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from bench import crash_checks, marked
from bench.crash_files import Stock

CHYME = [sys.executable, "-m", "chyme"]
PLENTY = 60  # digests nobody has been killed over: they go first, so no single file is hit again and again
BATCH, QUICK_BATCH = 20, 8  # files, of some six digests each
LONG = 900.0


class Victim:
    """One vault, one `chyme digest` at a time, and many sudden ends."""

    def __init__(
        self,
        folder: Path,
        seed: int,
        start: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen,
        quick: bool = False,
    ) -> None:
        self.vault = folder / "vault"
        self.vault.mkdir()
        self.mark = folder / "mark"
        self.mark.mkdir(mode=0o755)
        self.chance = random.Random(seed)
        self._start = start
        self._batch = QUICK_BATCH if quick else BATCH
        self.stock = Stock(self.vault, self.chance, quick)
        self.kills: Counter[str] = Counter()
        self.hit = 0  # kills that found digests in progress
        self.interrupted = 0
        self.finished = 0
        self.processes = 0

    def run(self, *arguments: str, vault: Path | None = None, codes: tuple[int, ...] = (0,)) -> str:
        """A chyme command, undisturbed."""
        command = [*CHYME, *arguments, "--vault", os.fspath(vault or self.vault)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with self._start(command, env=marked.environment(self.mark), **pipes) as process:
            try:
                out, err = process.communicate(timeout=LONG)
            except BaseException:
                process.kill()
                raise
        if process.returncode not in codes:
            said = (out + err).decode()
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{said}")
        return out.decode()

    def kill_once(self) -> None:
        """Start a digestion and end it at some moment. One that was quicker than we does not count."""
        self._keep_busy()
        process = self._start(
            [*CHYME, "digest", "--vault", os.fspath(self.vault)],
            env=marked.environment(self.mark),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            how = self._await_moment(process)
        finally:
            quick = process.poll() is not None
            self._end(process)
        if quick:
            self.finished += 1
            return
        self.kills[how] += 1
        self._count_hits()

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Mostly the whole tree; sometimes the parent alone, whose children must then end by themselves."""
        if self.chance.random() < 0.3:
            self.processes += len(marked.alive(self.mark))
            process.send_signal(signal.SIGKILL)
        else:
            self.processes += marked.kill(self.mark, process.pid)
        process.wait()
        left = marked.wait_until_gone(self.mark, 5)
        if left:
            marked.kill(self.mark, left[0])
            raise SystemExit(f"child processes outlived chyme: {left}")

    def _await_moment(self, process: subprocess.Popen[bytes]) -> str:
        draw = self.chance.random()
        if draw < 0.25:
            time.sleep(self.chance.uniform(0.05, 2.0))
            return "after start"
        changes = self._journal_changes(process)
        next(changes, None)
        if draw < 0.6:
            time.sleep(self.chance.uniform(0.05, 2.0))
            return "after first progress"
        for _ in range(self.chance.randrange(1, 60)):
            next(changes, None)
        return "at a commit"

    def _journal_changes(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """Yields whenever the write-ahead log has just been written to. We look from outside: a connection of
        ours would keep the log's index alive and spare the next process its recovery."""
        journal, before = self.vault / ".chyme/vault.db-wal", self._stamp()
        deadline = time.monotonic() + 10
        while process.poll() is None and time.monotonic() < deadline:
            now = self._stamp()
            if now != before and journal.exists():
                before = now
                yield
            else:
                time.sleep(0.0003)

    def _stamp(self) -> tuple[int, int]:
        try:
            status = os.stat(self.vault / ".chyme/vault.db-wal")
        except FileNotFoundError:
            return 0, 0
        return status.st_size, status.st_mtime_ns

    def _keep_busy(self) -> None:
        """Fresh work for the next kill to hit. Files that were hit before go to the back of the queue by themselves."""
        fresh = 0
        if (self.vault / ".chyme/vault.db").exists() and any(self.kills.values()):
            with contextlib.suppress(sqlite3.DatabaseError), crash_checks.opened(self.vault) as db:
                # Killed before there was a schema, it has no work at all.
                fresh = db.execute(
                    "SELECT count(*) FROM digests WHERE status = 'todo' AND priority < 2 AND interruptions < 2"
                ).fetchone()[0]
        if fresh < PLENTY:
            self.stock.lay_down(self._batch)

    def _count_hits(self) -> None:
        try:
            with crash_checks.opened(self.vault) as db:
                found = db.execute("SELECT count(*) FROM digests WHERE status = 'in-progress'").fetchone()[0]
        except sqlite3.DatabaseError:
            return  # killed before there was a schema
        self.hit += found > 0
        self.interrupted += found


def examine(victim: Victim) -> list[str]:
    """Finish undisturbed, do the same in a second vault, and compare."""
    victim.run("digest", codes=(0, 1))
    twin = victim.vault.with_name("twin")
    shutil.copytree(victim.vault, twin, ignore=shutil.ignore_patterns(".chyme"))
    victim.run("digest", vault=twin, codes=(0, 1))
    found = list(crash_checks.damage(victim.vault))
    ours, theirs = crash_checks.outcomes(victim.vault), crash_checks.outcomes(twin)
    found += crash_checks.differences(crash_checks.in_one_spelling(ours, theirs), theirs, "digest")
    found += crash_checks.differences(crash_checks.pieces(victim.vault), crash_checks.pieces(twin), "piece")
    found += json.loads(victim.run("verify", "--json", codes=(0, 1)))["problems"]
    found += [f"process {pid} was left behind" for pid in marked.wait_until_gone(victim.mark, 5)]
    return found


def told(victim: Victim, seconds: float) -> str:
    states = Counter(str(row[0]) for row in crash_checks.outcomes(victim.vault).values())
    moments = ", ".join(f"{count} {how}" for how, count in sorted(victim.kills.items()))
    return (
        f"{sum(victim.kills.values())} kills ({moments}) in {seconds:.0f} s; {victim.processes} processes ended; "
        f"{victim.hit} kills hit digests in progress, {victim.interrupted} digests in all; "
        f"{victim.finished} runs finished before they could be killed\n"
        f"{victim.stock.laid} files: {', '.join(f'{count} {state}' for state, count in sorted(states.items()))}; "
        f"{crash_checks.left_in_scratch(victim.vault)} scratch folders left"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.crash", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="chyme-crash-") as folder:
        victim = Victim(Path(folder), options.seed)
        while (done := sum(victim.kills.values())) < options.kills:
            victim.kill_once()
            if sys.stderr.isatty():
                print(f"\r{done + 1} of {options.kills} kills", end="", file=sys.stderr, flush=True)
        problems = examine(victim)
        print(told(victim, time.monotonic() - began))
    for problem in problems[:50]:
        print(f"LOST: {problem}")
    print("nothing is lost" if not problems else f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
