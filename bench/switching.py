"""Another embedder takes over while questions are asked: how long it takes, and what those who ask notice of it."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import sqlite3
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from bench.commands import digest
from bench.figures import Figure, Sizes, Tell, percentile, remark
from bench.notes import Notes
from bench.serving import Served, served

FILES = 1000
QUESTIONS = 20
SIZE = 1024  # numbers in the vectors of the second embedder, one for each of so many baskets of words
MODEL = "baskets"
LONGEST_SECONDS = 900.0
_Hits = tuple[tuple[str, tuple[str, ...]], ...]  # paths and why they were found, best first


@dataclass(frozen=True, slots=True)
class _Answer:
    """What was answered, and who served just before and just after."""

    question: str
    before: str
    after: str
    hits: _Hits
    notes: tuple[str, ...]
    ms: float

    @property
    def by_words_and_meaning(self) -> bool:
        why = {reason for _, reasons in self.hits for reason in reasons}
        return not self.notes and {"words", "meaning"} <= why


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """Notes embedded here, then served by a chyme that is to have them embedded by an endpoint, and asked all along."""
    vault, notes = folder / "vault", Notes()
    notes.write(vault, FILES)
    digest(vault).must_succeed()
    old = _serving(vault)
    with served(vault) as server:
        first = _answers_to(server, vault, _candidates(notes))
    good = [answer for answer in first if answer.by_words_and_meaning][:QUESTIONS]
    if len(good) < QUESTIONS:
        raise RuntimeError(f"only {len(good)} questions are answered by words and meaning")
    with _embedding() as url:
        _have_it_embed(vault, url)
        with served(vault) as server:
            began = time.perf_counter()
            asked, switched_after, swept_after = _ask_until_done(server, vault, [one.question for one in good], old)
            remark(f"served after {server.healthy_after:.1f} s, watched for {time.perf_counter() - began:.1f} s")
            last = _answers_to(server, vault, [one.question for one in good])
    _tell_of(asked, {one.question: one for one in good}, {one.question: one for one in last}, old, tell)
    tell(Figure("until it serves", switched_after, "s", f"{FILES} notes, from the start of chyme serve"))
    tell(Figure("until nothing is left of the old one", swept_after, "s", "from the start of chyme serve"))
    lengths = _rows(vault, "SELECT DISTINCT length(vector) / 4 FROM vectors")
    remark(f"vectors have {', '.join(str(length) for (length,) in lengths)} numbers")
    tell(Figure("lengths of vectors left", len(lengths), "", f"{SIZE} numbers are expected", at_most=1))


def _tell_of(asked: list[_Answer], first: dict[str, _Answer], last: dict[str, _Answer], old: str, tell: Tell) -> None:
    """Every answer must be as a whole the old embedder's or the new one's, whichever served at that moment."""
    during = [answer for answer in asked if answer.before == old]
    mixed = [answer for answer in asked if answer.hits not in _expected(answer, first, last, old)]
    switches = sum(one.before != one.after for one in asked) + sum(
        one.after != next_.before for one, next_ in itertools.pairwise(asked)
    )
    for answer in mixed[:3]:
        remark(f"neither the one's nor the other's: {answer}")
    for answer in [one for one in asked if not one.by_words_and_meaning][:3]:
        remark(f"not by words and meaning: {answer}")
    spent = [answer.ms for answer in during]
    tell(Figure("questions asked", len(asked), "", f"{len(during)} of them before it served"))
    share = sum(answer.by_words_and_meaning for answer in asked) / len(asked)
    tell(Figure("answered by words and meaning", 100 * share, "%", "of all of them", at_least=100.0))
    tell(Figure("answers of neither embedder alone", len(mixed), "", "paths, order and why are compared", at_most=0))
    tell(Figure("changes of the one that serves", switches, "", "looked up around each question", at_most=1))
    tell(Figure("a question meanwhile, median", percentile(spent, 0.5), "ms", "both words and meaning, by HTTP"))
    tell(Figure("a question meanwhile, p99", percentile(spent, 0.99), "ms", "one after the other, cores shared"))


def _expected(answer: _Answer, first: dict[str, _Answer], last: dict[str, _Answer], old: str) -> list[_Hits]:
    olds, news = first[answer.question].hits, last[answer.question].hits
    if answer.before == answer.after:
        return [olds if answer.before == old else news]
    return [olds, news]


def _ask_until_done(server: Served, vault: Path, questions: list[str], old: str) -> tuple[list[_Answer], float, float]:
    """Ask one question after the other until only the new embedder is left, and some more."""
    asked: list[_Answer] = []
    switched = swept = 0.0
    while not swept:
        asked += _answers_to(server, vault, questions)
        passed = time.perf_counter() - server.began
        if not switched and asked[-1].after != old:
            switched = passed
        if switched and len(_rows(vault, "SELECT 1 FROM embedders")) == 1:
            swept = passed
        if passed > LONGEST_SECONDS:
            raise RuntimeError(f"the new embedder did not take over within {LONGEST_SECONDS:g} s")
    return asked + _answers_to(server, vault, questions), switched, swept


def _answers_to(server: Served, vault: Path, questions: list[str]) -> list[_Answer]:
    """One answer for each. The first question waits until whoever tells what it means is there."""
    _until(lambda: not server.search(questions[0])["notes"])
    answers = []
    with closing(_opened(vault)) as db:
        for question in questions:
            before = _serving_in(db)
            began = time.perf_counter()
            told = server.ask("/api/search?q=" + urllib.parse.quote(question))
            ms = 1000 * (time.perf_counter() - began)
            hits = tuple((hit["path"], tuple(hit["why"])) for hit in told["hits"])
            answers.append(_Answer(question, before, _serving_in(db), hits, tuple(told["notes"]), ms))
    return answers


def _candidates(notes: Notes) -> list[str]:
    """How notes begin, some from all over the vault."""
    texts = [notes.note(number).replace("#", "").split() for number in range(3, FILES, FILES // 60)]
    return [" ".join(words[:30]).replace(".", "") for words in texts if len(words) > 30]


def _have_it_embed(vault: Path, url: str) -> None:
    (vault / ".chyme/settings.toml").write_text(
        f'embedding_provider = "openai"\nembedding_url = "{url}"\nembedding_model = "{MODEL}"\n'
        "embedding_calls_per_second = 0\n"  # what is measured is not our politeness
    )


@contextmanager
def _embedding() -> Iterator[str]:
    """An endpoint on loopback that counts words in baskets."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Embedder)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Embedder(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
        data = [
            {"object": "embedding", "index": index, "embedding": _in_baskets(text)} for index, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        body = json.dumps({"object": "list", "data": data, "model": MODEL, "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""


def _in_baskets(text: str) -> list[float]:
    counts = [0.01] * SIZE
    for word in set(re.findall(r"\w+", text.lower())):
        counts[int.from_bytes(hashlib.sha256(word.encode()).digest()[:2]) % SIZE] += (
            len(word) ** 2
        )  # long ones are rare
    return counts


def _opened(vault: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{vault / '.chyme/vault.db'}?mode=ro", uri=True, timeout=30)


def _rows(vault: Path, question: str) -> list[tuple[Any, ...]]:
    with closing(_opened(vault)) as db:
        return db.execute(question).fetchall()


def _serving_in(db: sqlite3.Connection) -> str:
    ((model,),) = db.execute("SELECT model FROM embedders WHERE serves").fetchall()
    return str(model)


def _serving(vault: Path) -> str:
    with closing(_opened(vault)) as db:
        return _serving_in(db)


def _until(done: Callable[[], bool], seconds: float = 120) -> None:
    began = time.perf_counter()
    while not done():
        if time.perf_counter() - began > seconds:
            raise RuntimeError(f"it did not happen within {seconds:g} s")
        time.sleep(0.05)
