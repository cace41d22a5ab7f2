"""Measure chyme against its budgets: python -m bench [NAME …]."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from bench import (
    asking,
    classify,
    cores,
    corpus,
    costs,
    crawling,
    embedding,
    engines,
    hints,
    house,
    listing,
    live,
    local_model,
    machinery,
    nearest,
    notes_vault,
    ocr,
    overhead,
    pictures,
    retrieval,
    round_trip,
    rounding,
    searching,
    served_search,
    speech,
    speech_long,
    switching,
    tag_sprawl,
    voices,
    writer,
)
from bench.figures import Benchmark, Record, Sizes

BENCHMARKS: dict[str, tuple[Benchmark, str]] = {
    "costs": (costs.measure, "what PDFs and notes cost with every digester on, against earlier versions"),
    "machinery": (machinery.measure, "CPU of one small text file, engines off"),
    "overhead": (overhead.measure, "whole digestion against the same libraries in a loop"),
    "notes100k": (notes_vault.measure, "a vault of many notes: digestion, start, rescan, idle, memory, queries"),
    "corpus": (corpus.measure, "the whole corpus: memory, failures, quality, what hostile files cost others"),
    "cores": (cores.measure, "two cores against one"),
    "writer": (writer.measure, "group commit against one commit each"),
    "search": (searching.measure, "a question among 100k passages"),
    "listing": (listing.measure, "a page of a list of 100k files: every order, filters, deep inside"),
    "nearest": (nearest.measure, "the nearest of 10k and 100k vectors: time, memory, and how many are found"),
    "served": (served_search.measure, "100k passages served: words, meaning, both; memory, new notes, a storm of them"),
    "house": (house.measure, "100k files served: first page, scrolling, search as you type, memory"),
    "live": (live.measure, "50 clients on the stream of events while notes are digested"),
    "engines": (engines.measure, "the same search by Meilisearch and Qdrant"),
    "switching": (switching.measure, "another embedder takes over while questions are asked"),
    "retrieval": (retrieval.measure, "NDCG@10 on Cranfield, MED and mixed files"),
    "asking": (asking.measure, "40 questions about real pages: right places, refusals, time to the first word"),
    "ocr": (ocr.measure, "words read in pictures and scans, against rapidocr itself"),
    "pictures": (pictures.measure, "pictures against the libraries in a loop, and two cores against one"),
    "heics": (pictures.measure_memory, "memory while ten photographs of 48 megapixels arrive at once"),
    "speech": (speech.measure, "words and speakers in recordings, against faster-whisper itself"),
    "voices": (voices.measure, "speakers told apart within and across files, against two other networks"),
    "speech_long": (speech_long.measure, "a quarter of an hour of speech, undisturbed and killed half-way"),
    "speech_hour": (speech_long.measure_memory, "memory by length of the recording, up to an hour"),
    "crawl": (crawling.measure, "200 web pages on loopback, read, kept and pictured; once killed half-way"),
    "classify": (classify.measure, "title, date, tags and so on of the corpus by rules alone, and their CPU"),
    "local_model": (local_model.measure, "the language model that runs here"),
    "rounding": (rounding.measure, "int8 against float32, here and on a CPU without VNNI"),
    "embedding": (embedding.measure, "what passages and tags mean, in int8 against float32"),
    "tag_sprawl": (tag_sprawl.measure, "tags of 200 documents about ten subjects, with and without reuse"),
    "hints": (hints.measure, "a hint to workers on core NATS and on JetStream"),
    "children": (round_trip.measure, "a tiny task through a warm child"),
}


def main() -> None:
    listed = "\n".join(f"  {name:<12}{told}" for name, (_, told) in BENCHMARKS.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=f"Benchmarks:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="which to run; all when none is given")
    parser.add_argument("--notes", type=int, default=20_000, help="notes in machinery and notes100k (default 20000)")
    parser.add_argument("--passages", type=int, default=100_000, help="passages in search (default 100000)")
    parser.add_argument("--documents", type=int, default=300, help="documents in overhead and cores (default 300)")
    parser.add_argument("--queries", type=int, default=300, help="questions asked (default 300)")
    parser.add_argument("--idle", type=float, default=20.0, help="seconds of doing nothing to watch (default 20)")
    parser.add_argument("--out", type=Path, help="append the figures to this file as JSON lines")
    parser.add_argument("--work", type=Path, help="where to make the vaults (default: the system's temporary folder)")
    asked = parser.parse_args()
    unknown = sorted(set(asked.names) - set(BENCHMARKS))
    if unknown:
        parser.error(f"there is no benchmark called {', '.join(unknown)}; there are: {', '.join(BENCHMARKS)}")
    sizes = Sizes(asked.notes, asked.passages, asked.documents, asked.queries, asked.idle)
    record = Record(asked.out)
    print(f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    for name in asked.names or BENCHMARKS:
        benchmark, told = BENCHMARKS[name]
        print(f"\n{name}: {told}", flush=True)
        began = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix=f"chyme-bench-{name}-", dir=asked.work) as folder:
            os.chmod(folder, 0o755)  # children of root are nobody
            benchmark(sizes, Path(folder), record.teller(name))
        print(f"  ({time.perf_counter() - began:.0f} s)", flush=True)
    if record.missed:
        print("\nmissed: " + "; ".join(record.missed))


if __name__ == "__main__":
    main()
