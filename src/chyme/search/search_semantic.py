"""Cut everything readable about a file into passages and say what each of them means."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from chyme.digester import Digester, Source
from chyme.errors import ChildCrashed, DigestError, EngineUnavailable
from chyme.model import Embedded, File, Kind, Lane, Output, Passage
from chyme.models.embedding.passage_embedder import PassageEmbedder, PassageEmbedding, load_passage_embedder
from chyme.search.embedders.passage_hashes import (
    EMBEDDED_BEFORE,
    NO_REUSABLE_PASSAGES,
    SEMANTIC,
    TEXT_HASH,
    ReusablePassages,
    text_hash,
)
from chyme.search.searchable_texts import ABOUT, FILE, LONG_TEXTS, TEXT_LIMIT, Texts, texts_of
from chyme.text.passages import CHARACTERS_PER_TOKEN, cut_passages, estimate_tokens
from chyme.text.searchable_text import has_word
from chyme.understanding.classification.document_rules import own_title
from chyme.understanding.classification.picture_rules import own_picture_title
from chyme.understanding.classification.source_text import read_json, text_in

ASKS = "embedding"  # how the settings of its service begin
MOST_PASSAGES = 2000  # of one file
AT_ONCE = 128  # passages embedded between two words of progress
TITLE = 120  # characters of it that stand before every passage: a model's window is small
SECONDS, PASSAGE_SECONDS = 120.0, 0.5  # for an attempt, and for each passage on a slow machine that has much to do
PASSAGE = 500  # characters: few texts have more passages than one for so many
WINDOW = 500  # tokens of a passage for a service, where nobody said how many
REQUEST = 32  # passages that a service is sent at once
PREPARED = "passages"  # the file that leads from the preparation to the attempt
MOST_WORDS, LONG_WORD = 100_000, 40  # how many words' tokens are remembered, and of how many characters
NUMBER_BYTES = 4  # float32

_PASSAGES_FROM = (
    *LONG_TEXTS,
    "url-metadata",
    "image-ocr",
    "image-captioning",
    "image-objects",
    "speech-recognition-cleanup",
    "speech-recognition",
    "speech-recognition-summary",
    "url-crawl-summary",
)
_PREVIEWS = ("image-preview", "media-preview")  # of these only the title is taken
_TITLES_FROM = (*LONG_TEXTS, "url-metadata", "media-preview", "speech-recognition")  # texts that no model makes
_LONGEST_TEXT = {Kind.URL: LONG_TEXTS[0], Kind.DOCUMENT: LONG_TEXTS[1]}


@dataclass(frozen=True, slots=True)
class _Cut:
    """The passages of a file, before they are embedded."""

    told: Mapping[str, object]  # what the content says of them so far
    passages: tuple[Passage, ...] = ()
    title: str = ""
    before: ReusablePassages = NO_REUSABLE_PASSAGES

    @property
    def texts(self) -> list[str]:
        """What the model has yet to read, as it reads it: a passage that does not say what it is about has the title
        to do so."""
        new = [one.text for one in self.passages if one.text not in self.before]
        return [f"{self.title}\n{text}" if self.title else text for text in new]

    @property
    def reused(self) -> tuple[int, ...]:
        """Which of the passages have their vectors already."""
        return tuple(at for at, one in enumerate(self.passages) if one.text in self.before)


@dataclass(frozen=True, slots=True)
class _Reader:
    """What must be known of a model to cut texts for it."""

    window: int
    count_tokens: Callable[[str], int] = estimate_tokens
    reads: Callable[[str], bool] = lambda _text: True


class SearchSemantic(Digester):
    """Passages with a vector each, by a model in a child or by a service. Nothing else of a document waits for it.

    When the model cannot, nobody else does it: vectors of two models cannot be compared.
    """

    name = SEMANTIC
    label = "Search by meaning"
    description = "The passages by which the file is found by what it means, in whatever words."
    reads: ClassVar[tuple[str, ...]] = (*_PASSAGES_FROM, *_PREVIEWS)
    optional_reads = ABOUT
    reads_artifacts = False
    family = "meaning"
    counts = False
    gathers = True
    prepares = True

    def __init__(
        self,
        settings: PassageEmbedding | None = None,
        most_passages: int = MOST_PASSAGES,
        text_limit: int = TEXT_LIMIT,
        load: Callable[[PassageEmbedding], PassageEmbedder] = load_passage_embedder,
    ) -> None:
        self.settings = settings or PassageEmbedding()
        self.lane = Lane.MEANING if self.settings.local else Lane.MODEL
        self._most = most_passages
        self._text_limit = text_limit
        self._load = load

    @property
    def fingerprint(self) -> str:
        return f"{self.settings.fingerprint}, {self._most} of {self._text_limit} characters, titles of {TITLE}"

    @property
    def reads_at_most(self) -> Mapping[str, int]:
        return dict.fromkeys(LONG_TEXTS, self._text_limit + 1)

    @property
    def embedder(self) -> str | None:
        return self.settings.model_name

    def can_digest(self, file: File) -> bool:
        return file.kind is not Kind.OTHER

    def waits_for(self, file: File) -> bool:
        return not self.settings.local

    def asks(self, file: File) -> str | None:
        return None if self.settings.local else ASKS

    def time_limit(self, source: Source) -> float:
        """Grows with the text, where its length is known; else it is enough for the longest."""
        passages = self._most
        if source.file.kind is Kind.TEXT:
            passages = min(passages, source.file.size // PASSAGE + 1)
        elif name := _LONGEST_TEXT.get(source.file.kind):
            output = source.output(name)
            passages = min(passages, len(output.content or "" if output else "") // PASSAGE + 10)
        if self.settings.local:
            return SECONDS + PASSAGE_SECONDS * passages
        return SECONDS + self.settings.seconds * (passages // REQUEST + 1)

    def digest(self, source: Source) -> list[Output]:
        if not self.settings.local:
            return [self._sent(source)]
        found = self._cut(source)
        texts, rows = found.texts, b""
        for start in range(0, len(texts), AT_ONCE):
            rows += self._embedder(source).embed(texts[start : start + AT_ONCE])
            source.progress(min(1.0, (start + AT_ONCE) / len(texts)))
        return [self._output(found, rows)]

    def digest_many(self, sources: Sequence[Source]) -> list[list[Output] | DigestError]:
        """All passages of all files at once: the model works on them together, whosever they are."""
        cuts = [self._cut_or_error(source) for source in sources]
        texts = [text for one in cuts if isinstance(one, _Cut) for text in one.texts]
        rows = self._embedder(sources[0]).embed(texts) if texts else b""
        size, at = len(rows) // len(texts) if texts else 0, 0
        made: list[list[Output] | DigestError] = []
        for one in cuts:
            if isinstance(one, _Cut):
                end = at + size * len(one.texts)
                made.append([self._output(one, rows[at:end])])
                at = end
            else:
                made.append(one)
        return made

    def prepare(self, source: Source) -> None:
        """Cut what the service is sent."""
        from chyme.models.embedding.passage_file import write_passages

        found = self._cut(source)
        output = Output(self.name, json.dumps(found.told, ensure_ascii=False), passages=found.passages)
        write_passages(source.scratch / PREPARED, output, found.title)

    def without_model(self, source: Source) -> list[Output]:
        """Nothing, for a file that must not leave this machine."""
        note = "the file is private, and the model that would have to read it is not on this machine"
        texts = texts_of(source, _PASSAGES_FROM, self._text_limit)
        return [self._output(_Cut({"sources": [], TEXT_HASH: _hash_of(texts), "note": note}), b"")]

    def _sent(self, source: Source) -> Output:
        from chyme.models.embedding.passage_file import read_passages
        from chyme.models.embedding.remote_service import embed_remotely

        file = source.file
        try:
            output, title = read_passages(source.scratch / PREPARED, self.name)
            found = _Cut(json.loads(output.content or "{}"), output.passages, title, _embedded_before(source))
        except (OSError, ValueError) as error:
            raise ChildCrashed(f"{file.path}: the passages that were cut of it cannot be read") from error
        rows = embed_remotely(self.settings, found.texts, source.calls, name=file.name, progress=source.progress)
        return self._output(found, rows)

    def _output(self, found: _Cut, rows: bytes) -> Output:
        passages, reused = found.passages, found.reused
        if not passages and "note" not in found.told:
            return Output(self.name, None)
        content: dict[str, object] = {"indexed": bool(passages), "passages": len(passages), **found.told}
        content["model"] = self.settings.model_name
        if not passages:
            return Output(self.name, json.dumps(content, ensure_ascii=False))
        new = len(passages) - len(reused)
        dimension = len(rows) // (NUMBER_BYTES * new) if new else found.before.dimension
        content["dimension"] = dimension
        embedded = Embedded(self.settings.model_name, dimension, rows, reused)
        return Output(self.name, json.dumps(content, ensure_ascii=False), passages=passages, embedded=embedded)

    def _cut_or_error(self, source: Source) -> _Cut | DigestError:
        try:
            return self._cut(source)
        except DigestError as error:
            return error

    def _cut(self, source: Source) -> _Cut:
        """The passages of each text by itself, as many as are allowed, and only those the model can read."""
        texts = texts_of(source, _PASSAGES_FROM, self._text_limit)
        notes = list(texts.notes)
        passages: list[Passage] = []
        unread = left_out = 0
        for name, text in texts.found:
            if not text.text.strip():
                continue
            reader = self._reader(source)
            spans = cut_passages(text.text, text.places, window=reader.window, count_tokens=reader.count_tokens)
            for span in spans:
                bit = text.text[span.start : span.end]
                if not has_word(bit):
                    continue
                if len(passages) >= self._most:
                    left_out += 1
                elif reader.reads(bit):
                    passages.append(Passage(name, len(passages), bit, span))
                else:
                    unread += 1
        if left_out:
            notes.append(f"first {self._most:,} passages embedded, {left_out:,} left out; meaning_passages allows more")
        if unread:
            notes.append(f"{unread:,} in a script or language that the model cannot read")
        told: dict[str, object] = {"sources": list(dict.fromkeys(one.source for one in passages))}
        told[TEXT_HASH] = _hash_of(texts)
        if notes:
            told["note"] = "; ".join(notes)
        return _Cut(told, tuple(passages), _title(source, texts) if passages else "", _embedded_before(source))

    def _reader(self, source: Source) -> _Reader:
        if not self.settings.local:
            return _Reader(self.settings.window or WINDOW)
        embedder = self._embedder(source)
        return _Reader(embedder.window, self._count_tokens, embedder.reads)

    @functools.cached_property
    def _count_tokens(self) -> Callable[[str], int]:
        """Counts word by word, which gives the same and is six times as fast: most words were counted before.

        Blanks, marks and long words are hardly any tokens: what nobody would call a passage has more all the same.
        """
        count = self._load(self.settings).count_tokens
        known = functools.lru_cache(MOST_WORDS)(count)

        def counted(text: str) -> int:
            tokens = sum(known(word) if len(word) <= LONG_WORD else count(word) for word in text.split())
            return max(tokens, len(text) // CHARACTERS_PER_TOKEN)

        return counted

    def _embedder(self, source: Source) -> PassageEmbedder:
        try:
            return self._load(self.settings)
        except EngineUnavailable as error:
            raise EngineUnavailable(f"{source.file.name}: {error}") from error


def _hash_of(texts: Texts) -> str:
    return text_hash((name, text.text) for name, text in texts.found)


def _embedded_before(source: Source) -> ReusablePassages:
    told = source.output(EMBEDDED_BEFORE)
    return ReusablePassages.from_json(told.content) if told else NO_REUSABLE_PASSAGES


def _title(source: Source, texts: Texts) -> str:
    """The title that the file bears itself. It is the same however the file is classified, so that no vector is ever
    made again for a title that came later."""
    if source.file.kind is Kind.IMAGE:
        title = own_picture_title(_content(source, "image-preview"), _content(source, "image-ocr"))
    else:
        told = {name: content for name in _TITLES_FROM if (content := _content(source, name))}
        told |= {name: text.text for name, text in texts.found if name == FILE}
        spoken_in = text_in(read_json(told.get("speech-recognition")), "language") or None
        title = own_title(told, source.file.mime, spoken_in)
    return (title or "")[:TITLE]


def _content(source: Source, name: str) -> str | None:
    output = source.output(name)
    return output.content if output else None
