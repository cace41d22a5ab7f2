"""What the rules make of the corpus without any model: how many documents get which fields, and what that costs."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from bench.figures import Figure, Sizes, Tell, remark, warn
from bench.score_corpus import DiskSource, source_of
from bench.vaults import CORPUS
from chyme.documents.conversion.converter import convert
from chyme.documents.conversion.results import ConversionLimits
from chyme.documents.properties.reader import properties_of
from chyme.errors import DigestError
from chyme.model import Kind
from chyme.text.decoding import read_text
from chyme.text.language_detection import language_of
from chyme.understanding.classification.document_rules import classify_document_by_rules, plain_text
from chyme.understanding.classification.result import Classification
from chyme.understanding.classification.source_text import FILE
from chyme.understanding.dates.choice import dates_of

FOLDERS = ("pdf", "docx", "xlsx", "pptx", "epub", "odt", "rtf", "html", "eml", "text", "csv", "json")
SAMPLE, SEED = 30, 11
SECONDS = 60  # a document that takes longer is left out
LEAST = {"title": 0.6, "date": 0.5, "language": 0.65, "tags": 0.55, "summary": 0.75}


@dataclass(frozen=True, slots=True)
class _Done:
    """A document, what was told of it, and the CPU milliseconds of its conversion and its classification."""

    name: str
    text: bool
    found: Classification
    conversion: float
    rules: float

    @property
    def by_name(self) -> bool:
        return self.found.evidence.get("title") == self.name


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """Convert every document and text of the corpus once, classify it by rules, and show some to be judged by eye."""
    if not CORPUS.is_dir():
        warn(f"{CORPUS} is absent; skipped")
        return
    language_of("the model is loaded before anything is measured")
    paths = [path for name in FOLDERS for path in sorted((CORPUS / name).iterdir()) if path.is_file()]
    done = [one for path in paths if (one := _done(path, folder))]
    count = len(done)
    remark(f"{count} of {len(paths)} files could be converted; {sum(one.text for one in done)} of them have any text")
    shares: dict[str, Callable[[_Done], bool]] = {
        "title": lambda one: bool(one.found.title) and not one.by_name,
        "date": lambda one: one.found.date is not None,
        "language": lambda one: one.found.language is not None,
        "tags": lambda one: bool(one.found.tags),
        "summary": lambda one: one.found.summary is not None,
    }
    for field, has in shares.items():
        share = sum(map(has, done)) / count
        texts = sum(has(one) for one in done if one.text) / max(sum(one.text for one in done), 1)
        how = f"of all documents; {texts:.0%} of those with text" + (
            ", not the file's name" if field == "title" else ""
        )
        tell(Figure(f"share with {field}", share, "", how, at_least=LEAST[field]))
    tell(Figure("tags a document", sum(len(one.found.tags) for one in done) / count, "", "mean"))
    conversion, rules = sorted(one.conversion for one in done), sorted(one.rules for one in done)
    for name, at in (("median", count // 2), ("p95", int(count * 0.95))):
        tell(Figure(f"classification, {name}", rules[at], "ms CPU", f"conversion: {conversion[at]:.1f} ms"))
    tell(Figure("classification against conversion", sum(rules) / sum(conversion), "×", "CPU of all documents"))
    tags = Counter(tag for one in done for tag in one.found.tags)
    remark("most frequent tags: " + ", ".join(f"{tag} {number}" for tag, number in tags.most_common(20)))
    for one in sorted(random.Random(SEED).sample(done, min(SAMPLE, count)), key=lambda one: one.name):
        _show(one)


def _done(path: Path, scratch: Path) -> _Done | None:
    source = source_of(path, scratch)
    if source.file.kind not in (Kind.DOCUMENT, Kind.TEXT):
        return None
    data = path.read_bytes()
    began = time.process_time()
    try:
        with _in_time():
            texts = _texts(source, data)
    except (DigestError, TimeoutError):
        return None
    converted = time.process_time()
    found = _classified(source, texts)
    ended = time.process_time()
    has_text = bool("".join(texts.values()).strip())
    return _Done(path.name, has_text, found, 1000 * (converted - began), 1000 * (ended - converted))


def _texts(source: DiskSource, data: bytes) -> dict[str, str]:
    file = source.file
    if file.kind is Kind.TEXT:
        return {FILE: read_text(source).text}
    return {"doc-to-markdown": convert(file.name, data, file.mime, ConversionLimits()).markdown}


def _classified(source: DiskSource, texts: dict[str, str]) -> Classification:
    file = source.file
    properties = properties_of(source)
    language, sure = language_of(plain_text(texts))
    dates = dates_of(
        texts, properties, kind=file.kind, mime=file.mime, name=file.name, language=language, today=date.today()
    )
    return classify_document_by_rules(
        texts,
        properties,
        mime=file.mime,
        name=file.name,
        language=language,
        language_confidence=sure,
        dates=dates,
    )


def _show(one: _Done) -> None:
    found, sure = one.found, one.found.confidence
    remark(f"{one.name}")
    remark(f"    title    {sure.get('title', 0):.2f} {found.title}")
    remark(f"    summary  {sure.get('summary', 0):.2f} {found.summary}")
    remark(f"    date     {sure.get('date', 0):.2f} {found.date} ({found.evidence.get('date', '')})")
    remark(f"    language {sure.get('language', 0):.2f} {found.language}; tags: {', '.join(found.tags)}")


@contextmanager
def _in_time() -> Iterator[None]:
    """End what takes too long; in chyme a child would be killed."""

    def stop(number: int, frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
