"""How good the order of the hits is: on Cranfield, on MED, and for questions about the mixed files of the corpus."""

from __future__ import annotations

import csv
import json
import math
import shutil
from pathlib import Path
from statistics import fmean

from bench.commands import digest
from bench.figures import Figure, Sizes, Tell, remark, warn
from bench.vaults import CORPUS
from chyme.application.app import open_app
from chyme.search.search import MODES, Mode

DEPTH = 10
MIXED_QUESTIONS, MIXED_FILES = (
    Path(__file__).parent / "questions" / name for name in ("mixed_questions.tsv", "mixed_files.txt")
)
KNOWN: dict[tuple[str, Mode], tuple[float, str]] = {
    ("cranfield", "words"): (0.534, "BM25 over whole texts .534"),
    ("cranfield", "meaning"): (0.511, "the same vectors elsewhere .511"),
    ("cranfield", "both"): (0.585, "rank fusion .564, z-score fusion .578"),
    ("med", "both"): (0.82, "meaning alone .80"),
}


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """Abstracts as a vault of text files, digested by the command; NDCG of the first ten."""
    for name in ("cranfield", "med"):
        source = CORPUS / "retrieval" / name
        if source.is_dir():
            _measure_collection(name, source, folder / name, tell)
        else:
            warn(f"{source} is absent; skipped")
    if CORPUS.is_dir():
        _measure_mixed(folder / "mixed", tell)
    else:
        warn(f"{CORPUS} is absent; the questions about mixed files are skipped")


def mixed_questions() -> list[tuple[str, str, dict[str, int]]]:
    """Number, question and the files that answer it, as we judged them: 3, or 1 if only about the subject."""
    found = []
    for number, line in enumerate(MIXED_QUESTIONS.read_text(encoding="utf-8").splitlines(), 1):
        question, *answers = line.split("\t")
        parts = [answer.partition("=") for answer in answers]
        found.append((str(number), question, {path: int(grade or 3) for path, _, grade in parts}))
    return found


def _measure_mixed(vault: Path, tell: Tell) -> None:
    """Files of many kinds; nothing was chosen by these questions, which most files answer too easily to tell much."""
    missing = 0
    for path in MIXED_FILES.read_text(encoding="utf-8").splitlines():
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        if (CORPUS / path).is_file():
            shutil.copy(CORPUS / path, vault / path)
        else:
            missing += 1
    if missing:
        warn(f"{missing} of the mixed files are not in the corpus: these figures cannot be compared with others")
    digest(vault).must_succeed()
    questions = mixed_questions()
    with open_app(vault) as app:
        for mode in MODES:
            scores: dict[str, float] = {}
            right = 0
            for number, text, wanted in questions:
                hits = [hit.path for hit in app.search.search(text, limit=DEPTH, mode=mode).hits]
                scores[number] = ndcg(hits, wanted)
                right += bool(hits) and hits[0] in wanted
            _tell_mode(tell, "mixed files", mode, scores, right)


def _measure_collection(name: str, source: Path, vault: Path, tell: Tell) -> None:
    vault.mkdir()
    for row in rows_of(source / "corpus.jsonl"):
        text = f"{row['title']}\n\n{row['text']}\n".lstrip()
        (vault / f"{row['_id']}.txt").write_text(text, encoding="utf-8")
    digest(vault).must_succeed()
    judged = judgements(source)
    questions = [(row["_id"], row["text"]) for row in rows_of(source / "queries.jsonl") if judged.get(row["_id"])]
    with open_app(vault) as app:
        for mode in MODES:
            scores: dict[str, float] = {}
            right = unanswered = 0
            notes: set[str] = set()
            for number, text in questions:
                result = app.search.search(text, limit=DEPTH, mode=mode)
                hits = [hit.path.removesuffix(".txt") for hit in result.hits]
                scores[number] = ndcg(hits, judged[number])
                right += bool(hits) and judged[number].get(hits[0], 0) > 0
                unanswered += not hits
                notes.update(result.notes)
            _tell_mode(tell, name, mode, scores, right)
            remark(f"{name}, {mode}: {len(scores)} questions judged, {unanswered} without any hit")
            for note in sorted(notes):
                warn(f"{mode}: {note}")


def _tell_mode(tell: Tell, name: str, mode: Mode, scores: dict[str, float], right: int) -> None:
    """All questions, and both halves of them: what helps one half only was fitted to it."""
    least, how = KNOWN.get((name, mode), (None, "no target"))
    tell(Figure(f"NDCG@10, {name}, {mode}", fmean(scores.values()), "", how, at_least=least))
    for half_name, odd in (("even", 0), ("odd", 1)):
        half = [score for number, score in scores.items() if int(number) % 2 == odd]
        tell(Figure(f"… {half_name} questions", fmean(half), "", f"{len(half)} of them"))
    tell(Figure(f"first hit is right, {name}, {mode}", right / len(scores), "", "share of the questions"))


def ndcg(hits: list[str], wanted: dict[str, int]) -> float:
    """Gain of the hits, discounted by their rank, against the best order there is."""
    gained = sum(max(0, wanted.get(hit, 0)) / math.log2(rank + 2) for rank, hit in enumerate(hits[:DEPTH]))
    ideal = sorted((gain for gain in wanted.values() if gain > 0), reverse=True)[:DEPTH]
    best = sum(gain / math.log2(rank + 2) for rank, gain in enumerate(ideal))
    return gained / best if best else 0.0


def judgements(source: Path) -> dict[str, dict[str, int]]:
    """By question: how well each document answers it, as people judged it."""
    judged: dict[str, dict[str, int]] = {}
    with (source / "qrels.tsv").open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream, delimiter="\t"):
            judged.setdefault(row["query-id"], {})[row["corpus-id"]] = int(row["score"])
    return judged


def rows_of(path: Path) -> list[dict[str, str]]:
    """The documents or questions of a collection."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
