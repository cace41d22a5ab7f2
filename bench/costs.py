"""What a file costs with every digester on: PDFs, notes, memory, the first search. Compared with earlier versions."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from bench.commands import CHYME, Ran, digest
from bench.figures import Figure, Sizes, Tell, remark, warn
from bench.processes import family_of
from bench.serving import Served, served
from bench.vaults import CORPUS

BEFORE = Path(__file__).with_name("costs_before.json")  # version → figure → value
PDFS, NOTES, MANY_NOTES = 40, 100, 2000
NOTE_CHARACTERS = 1024
DENSE_PAGES = "hostile/scanned_no_text.pdf"
REST_SECONDS = 100.0  # children and their template end after a minute without work
QUESTION = "a question in other words than the text"


def measure(_sizes: Sizes, folder: Path, tell: Tell) -> None:
    """Each figure with what earlier versions had, measured by this same code on the same kind of machine."""
    if not CORPUS.is_dir():
        warn(f"{CORPUS} is absent; skipped")
        return
    before = json.loads(BEFORE.read_text(encoding="utf-8"))

    def compare(figure: Figure) -> None:
        known = [f"{values[figure.what]:g} in {version}" for version, values in before.items() if figure.what in values]
        tell(replace(figure, how=f"{figure.how}; {', '.join(known) or 'new'}"))

    _measure_pdfs(folder / "pdfs", compare)
    for count, at_most in ((NOTES, 0.03), (MANY_NOTES, 0.012)):
        _measure_notes(folder / f"notes-{count}", count, at_most, compare)
    _measure_dense_page(folder / "scan", compare)
    _measure_demo(folder / "demo", compare)
    _measure_server(folder / "demo", compare)


def _measure_pdfs(vault: Path, compare: Tell) -> None:
    paths = sorted(path for path in (CORPUS / "pdf").iterdir() if path.suffix == ".pdf")[::2][:PDFS]
    _fill(vault, [(path.name, path.read_bytes()) for path in paths])
    ran, peak, processes = _watch(lambda: digest(vault))
    compare(Figure(f"{len(paths)} PDFs", ran.cpu, "s CPU", "chyme digest, all processes", at_most=50))
    compare(Figure("… peak memory of all processes", peak / 2**20, "MB PSS", f"{processes} processes", at_most=800))
    compare(Figure("… of it CPU of the parent", ran.parent, "s CPU", "start included"))
    compare(Figure("… cores kept busy", ran.cpu / ran.wall, "cores", "of two"))


def _measure_notes(vault: Path, count: int, at_most: float, compare: Tell) -> None:
    _fill(vault, [(f"note {number:05}.txt", text.encode()) for number, text in enumerate(_notes(count))])
    ran = digest(vault)
    ran.must_succeed()
    how = f"{NOTE_CHARACTERS} characters of English each; start of everything included"
    compare(Figure(f"{count} notes, each", ran.cpu / count, "s CPU", how, at_most=at_most))
    compare(Figure(f"{count} notes, the parent's part", ran.parent / count, "s CPU", "of each"))


def _notes(count: int) -> list[str]:
    """Pieces of real abstracts; when they are used up, pieces of two of them."""
    texts = [
        json.loads(line)["text"]
        for name in ("med", "cranfield")
        for line in (CORPUS / f"retrieval/{name}/corpus.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    pieces = [
        text[start : start + NOTE_CHARACTERS]
        for text in texts
        for start in range(0, len(text) - NOTE_CHARACTERS + 1, NOTE_CHARACTERS)
    ]
    half = NOTE_CHARACTERS // 2
    mixed = [one[:half] + other[half:] for one, other in itertools.pairwise(pieces)]
    return (pieces + mixed)[:count]


def _measure_dense_page(vault: Path, compare: Tell) -> None:
    """Scanned pages against the same vault without OCR."""
    path = CORPUS / DENSE_PAGES
    _fill(vault, [(path.name, path.read_bytes())])
    read = digest(vault, cores=(0,))
    shutil.rmtree(vault / ".chyme")
    unread = digest(vault, cores=(0,), settings={"ocr_pages": "0"})
    pages = 4
    compare(Figure("a dense scanned page", (read.cpu - unread.cpu) / pages, "s CPU", "reading alone", at_most=4))


def _measure_demo(vault: Path, compare: Tell) -> None:
    shutil.copytree(Path(__file__).resolve().parents[1] / "demo", vault)
    _age(vault)
    ran, peak, _ = _watch(lambda: digest(vault))
    compare(Figure("demo vault of 37 files", ran.cpu, "s CPU", f"{ran.wall:.1f} s wall"))
    compare(Figure("… peak memory of its processes, 37 files", peak / 2**20, "MB PSS", "demo vault of 37 files"))


def _measure_server(vault: Path, compare: Tell) -> None:
    with served(vault) as server:
        began = time.perf_counter()
        server.search(QUESTION)
        first = time.perf_counter() - began
        _wait_until_done(server)
        compare(Figure("first search after start", first, "s wall", "as soon as it answers", at_most=0.3))
        beside = min(_time_command(vault) for _ in range(5))
        compare(Figure("chyme search beside a server", beside, "s wall", "best of five", at_most=0.25))
        time.sleep(REST_SECONDS)
        processes = [server.pid, *(used.pid for used in family_of(server.pid))]
        resting = sum(map(_pss, processes)) / 2**20
        compare(Figure("at rest", resting, "MB PSS", f"{len(processes)} processes", at_most=250))


def _wait_until_done(server: Served) -> None:
    while server.left():
        time.sleep(0.2)


def _time_command(vault: Path) -> float:
    began = time.perf_counter()
    subprocess.run((*CHYME, "search", "--vault", str(vault), QUESTION), check=True, capture_output=True)
    return time.perf_counter() - began


def _fill(vault: Path, files: list[tuple[str, bytes]]) -> None:
    vault.mkdir()
    for name, data in files:
        (vault / name).write_bytes(data)
    _age(vault)


def _age(vault: Path) -> None:
    """chyme leaves a file alone until it was unchanged for a while."""
    time.sleep(1.0)
    remark(f"{vault.name}: {sum(path.is_file() for path in vault.rglob('*'))} files")


def _watch(work: Callable[[], Ran]) -> tuple[Ran, int, int]:
    """Run a command, and return the most memory and processes that it had at once."""
    done, peak, most = threading.Event(), [0], [0]

    def look() -> None:
        while not done.wait(0.1):
            processes = [used.pid for used in family_of(os.getpid())]
            peak[0] = max(peak[0], sum(map(_pss, processes)))
            most[0] = max(most[0], len(processes))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        return work(), peak[0], most[0]
    finally:
        done.set()
        thread.join()


def _pss(pid: int) -> int:
    """Memory of a process, shared pages divided among those that share them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)
