"""How good the order is, on a collection whose answers are known."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from pathlib import Path

import pytest
from keyword_vault import Shelf


def gain(scores: list[int]) -> float:
    return sum(score / math.log2(place + 2) for place, score in enumerate(scores[:10]))


@pytest.mark.slow
def test_cranfield_is_answered_as_well_as_by_plain_bm25(shelf: Shelf, corpus: Path) -> None:
    folder = corpus / "retrieval/cranfield"
    wanted: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        question, document, score = line.split("\t")
        wanted[question][document] = int(score)
    shelf.db.execute("BEGIN")
    for line in (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        shelf.put(told["_id"], told["text"], title=told["title"])
    shelf.db.execute("COMMIT")

    reached = []
    for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines():
        asked = json.loads(line)
        scores = wanted[asked["_id"]]
        found = [hit.path for hit in shelf.ask(asked["text"], limit=10).hits]
        best = gain(sorted(scores.values(), reverse=True))
        if best > 0:
            reached.append(gain([scores.get(path, 0) for path in found]) / best)

    assert len(reached) > 200
    assert sum(reached) / len(reached) >= 0.53
