"""Quality of the ranking, measured on a collection with known answers."""

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
    relevance: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        question, document, score = line.split("\t")
        relevance[question][document] = int(score)
    shelf.db.execute("BEGIN")
    for line in (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        shelf.put(record["_id"], record["text"], title=record["title"])
    shelf.db.execute("COMMIT")

    quotients = []
    for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines():
        query = json.loads(line)
        scores = relevance[query["_id"]]
        found = [hit.path for hit in shelf.ask(query["text"], limit=10).hits]
        best = gain(sorted(scores.values(), reverse=True))
        if best > 0:
            quotients.append(gain([scores.get(path, 0) for path in found]) / best)

    assert len(quotients) > 200
    assert sum(quotients) / len(quotients) >= 0.53
