"""Forty questions about thirty real pages, ten of them without an answer: right places, refusals, time to a word.

The scripted model copies the sentence with the answer from the passages it is sent, names a wrong passage every third
time, and adds a sentence that it invents. What it cannot do is find the passages, and check sentences: that is ours.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bench.commands import digest
from bench.figures import Figure, Sizes, Tell, remark, warn
from bench.vaults import CORPUS
from chyme.answers.conversation import Answer, Draft, Event, Question, Sentence
from chyme.application.app import App, open_app
from chyme.application.settings import Settings
from chyme.models.local.model import LocalSettings, close_all
from chyme.models.providers.cancellation import CallCancellation
from chyme.text.sentences import sentence_spans

QUESTIONS = Path(__file__).parent / "questions/asked_questions.tsv"
FILES = Path(__file__).parent / "questions/asked_files.txt"
INVENTED = "The mayor of Atlantis was paid 987654 drachmas for it"
LOCAL_MODELS = ("llm", "smollm2")  # the larger one is there after `make llm`
LOCAL_ANSWERED, LOCAL_ABSENT = 4, 2  # questions that a local model is asked: each takes it up to a minute or more


@dataclass(frozen=True, slots=True)
class Asked:
    """A question; the words of its answer, and the files that have them. Without files, nothing answers it."""

    question: str
    words: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer, and how long it took to its first word and to its end."""

    asked: Asked
    answer: Answer
    first: float | None
    seconds: float

    @property
    def said(self) -> list[Sentence]:
        return [sentence for sentence in self.answer.sentences if sentence.supported]

    @property
    def right(self) -> bool:
        """Whether a sentence has a place where the answer stands."""
        return any(self.is_right(sentence) for sentence in self.said)

    def is_right(self, sentence: Sentence) -> bool:
        return any(
            citation.path in self.asked.files and self.asked.words.lower() in citation.quote.lower()
            for citation in sentence.citations
        )


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """The same questions to a scripted model, without one, and to the model that runs here."""
    if not CORPUS.is_dir():
        warn(f"{CORPUS} is absent; skipped")
        return
    vault, questions = folder / "vault", _questions()
    for name in FILES.read_text(encoding="utf-8").split():
        (vault / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(CORPUS / name, vault / name)
    digest(vault).must_succeed()
    with _scripted_model(questions) as url:
        answers = _ask_all(vault, Settings(llm_url=url, llm_model="scripted", llm_calls_per_second=0), questions)
        _tell("scripted", answers, tell)
        invented = [one for answered in answers for one in answered.answer.sentences if "Atlantis" in one.text]
        struck = sum(not sentence.supported for sentence in invented)
        tell(Figure("scripted: invented sentences struck", struck / max(len(invented), 1), "", f"of {len(invented)}"))
    _tell("no model", _ask_all(vault, Settings(), questions), tell)
    few = [one for one in questions if one.files][:: 30 // LOCAL_ANSWERED][:LOCAL_ANSWERED]
    few += [one for one in questions if not one.files][:LOCAL_ABSENT]
    for model in LOCAL_MODELS:
        missing = LocalSettings(capability=model).missing
        if missing:
            warn(f"{model}: {missing}; skipped")
            continue
        remark(f"{model} is asked {len(few)} of the {len(questions)} questions")
        try:
            _tell(model, _ask_all(vault, Settings(llm_provider="local", local_model=model), few), tell)
        finally:
            close_all()


def _tell(name: str, answers: Sequence[Answered], tell: Tell) -> None:
    present = [one for one in answers if one.asked.files]
    absent = [one for one in answers if not one.asked.files]
    said = [(one, sentence) for one in present for sentence in one.said]
    right = sum(one.is_right(sentence) for one, sentence in said)
    tell(Figure(f"{name}: questions answered rightly", _share(one.right for one in present), "", f"of {len(present)}"))
    tell(
        Figure(f"{name}: sentences with a right place", right / max(len(said), 1), "", f"of {len(said)} shown as said")
    )
    tell(
        Figure(f"{name}: refused where absent", _share(not one.answer.found for one in absent), "", f"of {len(absent)}")
    )
    first = [one.first for one in answers if one.first is not None]
    if first:
        tell(Figure(f"{name}: first word, median", statistics.median(first), "s", "wall; the embedder is loaded"))
    tell(Figure(f"{name}: whole answer, median", statistics.median(one.seconds for one in answers), "s", "wall"))
    for one in answers:
        if one.asked.files and not one.right:
            remark(f"not found: {one.asked.question} {[sentence.text[:70] for sentence in one.said]}")
        elif not one.asked.files and one.answer.found:
            remark(f"not refused: {one.asked.question} {[sentence.text[:70] for sentence in one.said]}")


def _share(outcomes: Iterator[bool]) -> float:
    values = list(outcomes)
    return sum(values) / max(len(values), 1)


def _questions() -> list[Asked]:
    rows = [line.split("\t") for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    return [Asked(row[0], row[1] if len(row) > 1 else "", tuple(row[2:])) for row in rows]


def _ask_all(vault: Path, settings: Settings, questions: Sequence[Asked]) -> list[Answered]:
    with open_app(vault, settings) as app:
        app.answering.answer(Question(questions[0].question), lambda _event: None, CallCancellation(), True)
        return [_ask(app, asked) for asked in questions]


def _ask(app: App, asked: Asked) -> Answered:
    began, first = time.perf_counter(), list[float]()

    def note(event: Event) -> None:
        if isinstance(event, Draft | Sentence) and not first:
            first.append(time.perf_counter() - began)

    answer = app.answering.answer(Question(asked.question), note, CallCancellation())
    return Answered(asked, answer, first[0] if first else None, time.perf_counter() - began)


@contextlib.contextmanager
def _scripted_model(questions: Sequence[Asked]) -> Iterator[str]:
    """A provider on loopback that streams as OpenAI's protocol says."""
    known = {asked.question: asked for asked in questions}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            content = body["messages"][-1]["content"]
            text = _copied_answer(content, known[content.rpartition("\nQuestion: ")[2]])
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for word in re.findall(r"\S+\s*", text):
                self._send({"index": 0, "delta": {"content": word}})
            self._send({"index": 0, "delta": {}, "finish_reason": "stop"})
            self.wfile.write(b"data: [DONE]\n\n")

        def _send(self, choice: dict[str, object]) -> None:
            event = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
            self.wfile.write(b"data: " + json.dumps(event | {"choices": [choice]}).encode() + b"\n\n")

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _copied_answer(content: str, asked: Asked) -> str:
    """The first sentence with the words of the answer, copied, and one that is invented."""
    blocks = re.split(r"\n\n(?=\[\d+\] )|\n(?=\[\d+\] )", content)
    passages = [
        (int(block[1 : block.index("]")]), block.partition("\n")[2]) for block in blocks if block.startswith("[")
    ]
    for number, text in passages if asked.words else ():
        for start, end in sentence_spans(text):
            if asked.words.lower() in text[start:end].lower():
                named = number if len(asked.question) % 3 else number % len(passages) + 1
                return f"{text[start:end]} [{named}]\n{INVENTED} [{number}].\n"
    return "NOT FOUND"
