"""How good the order of the hits is, on Cranfield."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

from bench.commands import digest
from bench.figures import Figure, Sizes, Tell, remark, warn
from bench.vaults import CORPUS
from chyme.app import open_app

DEPTH = 10
BM25 = 0.534


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """1400 abstracts as a vault of text files, digested by the command; 225 questions; NDCG of the first ten."""
    source = CORPUS / "retrieval" / "cranfield"
    if not source.is_dir():
        warn(f"{source} is absent; skipped")
        return
    for row in _rows(source / "corpus.jsonl"):
        (folder / f"{row['_id']}.txt").write_text(f"{row['title']}\n\n{row['text']}\n", encoding="utf-8")
    ran = digest(folder)
    if ran.code != 0:
        raise RuntimeError(f"chyme digest failed:\n{ran.output}")
    judged: dict[str, dict[str, int]] = {}
    with (source / "qrels.tsv").open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream, delimiter="\t"):
            judged.setdefault(row["query-id"], {})[row["corpus-id"]] = int(row["score"])
    scores, first, unanswered = [], 0, 0
    with open_app(folder) as app:
        for row in _rows(source / "queries.jsonl"):
            wanted = judged.get(row["_id"])
            if not wanted:
                continue
            hits = [hit.path.removesuffix(".txt") for hit in app.index.search(row["text"], limit=DEPTH).hits]
            scores.append(ndcg(hits, wanted))
            first += bool(hits) and wanted.get(hits[0], 0) > 0
            unanswered += not hits
    remark(f"{len(scores)} questions judged, {unanswered} without any hit")
    tell(
        Figure(
            "NDCG@10", sum(scores) / len(scores), "", "a vault of text files; BM25 .534, vectors .511", at_least=BM25
        )
    )
    tell(Figure("first hit is right", first / len(scores), "", "share of the questions"))


def ndcg(hits: list[str], wanted: dict[str, int]) -> float:
    """Gain of the hits, discounted by their rank, against the best order there is."""
    gained = sum(max(0, wanted.get(hit, 0)) / math.log2(rank + 2) for rank, hit in enumerate(hits[:DEPTH]))
    ideal = sorted((gain for gain in wanted.values() if gain > 0), reverse=True)[:DEPTH]
    best = sum(gain / math.log2(rank + 2) for rank, gain in enumerate(ideal))
    return gained / best if best else 0.0


def _rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
