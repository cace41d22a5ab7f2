"""The digester that cuts all readable text about a file into passages and embeds each of them."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain

from chyme.digester import Digester, Inputs, Promises, Runs, Source
from chyme.errors import ChildCrashed, DigestError, EngineUnavailable
from chyme.model import Embedded, File, Kind, Lane, Output, Passage
from chyme.models.embedding.passage_embedder import PassageEmbedder, PassageEmbedding, load_passage_embedder
from chyme.search.passage_hashes import (
    EMBEDDED_BEFORE,
    NO_REUSABLE_PASSAGES,
    SEMANTIC,
    TEXT_HASH,
    ReusablePassages,
    text_hash,
)
from chyme.search.searchable_texts import FILE, SEARCHED_FORMS, TEXT_LIMIT, Texts, texts_of
from chyme.text.markup_removal import remove_markup
from chyme.text.passages import CHARACTERS_PER_TOKEN, cut_passages, estimate_tokens, has_word
from chyme.understanding.classification.document_rules import own_title
from chyme.understanding.classification.picture_rules import own_picture_title
from chyme.understanding.classification.source_text import read_json, text_in

ASKS = "embedding"  # prefix of its service's settings
MOST_PASSAGES = 2000  # of one file
FIRST_PASSAGES = 128  # of a long text: they are embedded at once, the rest when nothing else is to do
LONG_TEXT = 2 * FIRST_PASSAGES  # passages; shorter texts are embedded at once
OPENING = 64  # passages at the beginning of a long text that come first
BATCH_SIZE = 128  # passages embedded between two progress reports
TITLE_CHARACTERS = 120  # characters of the title put before every passage: a model's window is small
SECONDS, PASSAGE_SECONDS = 120.0, 0.5  # for an attempt, and for each passage on a slow and busy machine
PASSAGE_CHARACTERS = 500  # characters: few texts have more than one passage for so many
DEFAULT_WINDOW = 500  # tokens of a passage for a service, if not configured
REQUEST_PASSAGES = 32  # passages sent to a service in one request
PREPARED_FILE = "passages"  # the scratch file in which the preparation leaves the passages for the attempt
MAX_CACHED_WORDS, MAX_CACHED_LENGTH = 100_000, 40  # how many words' token counts are cached, and their greatest length
NUMBER_BYTES = 4  # float32

_LONG_TEXTS = ("url-crawl-content", "doc-to-markdown")
_PASSAGES_FROM = (
    *_LONG_TEXTS,
    "url-metadata",
    "image-ocr",
    "image-captioning",
    "image-objects",
    "speech-recognition-cleanup",
    "speech-recognition",
    "speech-recognition-summary",
    "url-crawl-summary",
)
_PREVIEWS = ("image-preview", "media-preview")  # only the title of these is used
_TITLES_FROM = (*_LONG_TEXTS, "url-metadata", "media-preview", "speech-recognition")  # texts no model wrote
_LONGEST_TEXT = dict(zip((Kind.URL, Kind.DOCUMENT), _LONG_TEXTS, strict=True))


@dataclass(frozen=True, slots=True)
class _CutText:
    """The passages of a file, before they are embedded."""

    content: Mapping[str, object]  # what the output's content says about them so far
    passages: tuple[Passage, ...] = ()
    title: str = ""
    reusable: ReusablePassages = NO_REUSABLE_PASSAGES
    to_come: int = 0  # passages that another attempt embeds

    def list_texts(self) -> list[str]:
        """The new passages as the model reads them: without markup, and with the title first, which says what they are
        about."""
        new = [remove_markup(passage.text) for passage in self.passages if passage.text not in self.reusable]
        return [f"{self.title}\n{text}" if self.title else text for text in new]

    @property
    def reused(self) -> tuple[int, ...]:
        """The positions of passages that have their vectors already."""
        return tuple(position for position, passage in enumerate(self.passages) if passage.text in self.reusable)


@dataclass(frozen=True, slots=True)
class _PassageReader:
    """What must be known about a model to cut texts for it."""

    window: int
    count_tokens: Callable[[str], int] = estimate_tokens
    reads: Callable[[str], bool] = lambda _text: True


class SearchSemantic(Digester):
    """Passages with a vector each, made by a model in a child process or by a service. No other output waits for it.

    There is no fallback to another model: vectors of two models cannot be compared.
    """

    name = SEMANTIC
    version = 2
    label = "Search by meaning"
    description = "The passages by which the file is found by what it means, in whatever words."
    reads = (*_PASSAGES_FROM, *_PREVIEWS)
    inputs = Inputs(forms=SEARCHED_FORMS, artifacts=False)
    runs = Runs(family="meaning", gathers=True, prepares=True)
    promises = Promises(counts=False)

    def __init__(
        self,
        settings: PassageEmbedding | None = None,
        most_passages: int = MOST_PASSAGES,
        text_limit: int = TEXT_LIMIT,
        load: Callable[[PassageEmbedding], PassageEmbedder] = load_passage_embedder,
    ) -> None:
        self.settings = settings or PassageEmbedding()
        self.runs = replace(self.runs, lane=Lane.MEANING if self.settings.local else Lane.MODEL)
        self._max_passages = most_passages
        self._text_limit = text_limit
        self._load = load

    @property
    def fingerprint(self) -> str:
        return (
            f"{self.settings.fingerprint}, {self._max_passages} of {self._text_limit} characters, "
            f"titles of {TITLE_CHARACTERS}"
        )

    @property
    def max_text(self) -> int:
        return self._text_limit + 1

    @property
    def _passages_from(self) -> tuple[str, ...]:
        return tuple(name for name in self.reads if name not in _PREVIEWS)

    @property
    def embedder(self) -> str | None:
        return self.settings.model_name

    def preload(self) -> None:
        if self.settings.local:
            self._load(self.settings)

    def can_digest(self, file: File) -> bool:
        return file.kind is not Kind.OTHER

    def waits_for(self, file: File) -> bool:
        return not self.settings.local

    def asks(self, file: File) -> str | None:
        return None if self.settings.local else ASKS

    def time_limit(self, source: Source) -> float:
        """Grows with the length of the text where that is known; otherwise enough for the longest."""
        passages = self._max_passages
        if source.file.kind is Kind.TEXT:
            passages = min(passages, source.file.size // PASSAGE_CHARACTERS + 1)
        elif name := _LONGEST_TEXT.get(source.file.kind):
            output = source.output(name)
            passages = min(passages, len(output.content or "" if output else "") // PASSAGE_CHARACTERS + 10)
        if self.settings.local:
            return SECONDS + PASSAGE_SECONDS * passages
        return SECONDS + self.settings.seconds * (passages // REQUEST_PASSAGES + 1)

    def digest(self, source: Source) -> list[Output]:
        if not self.settings.local:
            return [self._embed_by_service(source)]
        cut = self._cut(source)

        def embed_in_batches(texts: Sequence[str]) -> bytes:
            batches = [texts[start : start + BATCH_SIZE] for start in range(0, len(texts), BATCH_SIZE)]
            if not batches:
                return b""  # without weights, a file without text is no failure
            vectors = b""
            # The rest of a long text is embedded when no other file is worked on, so its batches share all cores.
            threads = min(len(batches), len(os.sched_getaffinity(0))) if cut.reused else 1
            embed = self._embedder(source).embed
            with ThreadPoolExecutor(threads) as pool:
                made = pool.map(embed, batches) if threads > 1 else map(embed, batches)
                for number, batch in enumerate(made, start=1):
                    vectors += batch
                    source.progress(number / len(batches))
            return vectors

        return [self._make_output(cut, embed_distinct(cut.list_texts(), embed_in_batches))]

    def digest_many(self, sources: Sequence[Source]) -> list[list[Output] | DigestError]:
        """Embed all passages of all files together, as one batch for the model."""
        cuts = [self._cut_or_error(source) for source in sources]
        texts_by_file = [cut.list_texts() if isinstance(cut, _CutText) else [] for cut in cuts]
        texts = list(chain.from_iterable(texts_by_file))
        vectors = embed_distinct(texts, self._embedder(sources[0]).embed) if texts else b""
        size, start = len(vectors) // len(texts) if texts else 0, 0
        results: list[list[Output] | DigestError] = []
        for cut, own_texts in zip(cuts, texts_by_file, strict=True):
            if isinstance(cut, _CutText):
                end = start + size * len(own_texts)
                results.append([self._make_output(cut, vectors[start:end])])
                start = end
            else:
                results.append(cut)
        return results

    def prepare(self, source: Source) -> None:
        """Cut the passages that the service will be sent."""
        from chyme.models.embedding.remote_service import write_passages

        cut = self._cut(source)
        output = Output(self.name, json.dumps(cut.content, ensure_ascii=False), passages=cut.passages)
        write_passages(source.scratch / PREPARED_FILE, output, cut.title)

    def without_model(self, source: Source) -> list[Output]:
        """An output without passages, for a file that must not leave this machine."""
        note = "the file is private, and the model that would have to read it is not on this machine"
        texts = texts_of(source, self._passages_from, self._text_limit)
        return [self._make_output(_CutText({"sources": [], TEXT_HASH: _hash_of(texts), "note": note}), b"")]

    def _embed_by_service(self, source: Source) -> Output:
        from chyme.models.embedding.remote_service import embed_remotely, read_passages

        file = source.file
        try:
            output, title = read_passages(source.scratch / PREPARED_FILE, self.name)
            cut = _CutText(json.loads(output.content or "{}"), output.passages, title, _embedded_before(source))
        except (OSError, ValueError) as error:
            raise ChildCrashed(f"{file.path}: the passages that were cut of it cannot be read") from error

        def ask_service(texts: Sequence[str]) -> bytes:
            return embed_remotely(self.settings, texts, source.calls, name=file.name, progress=source.progress)

        return self._make_output(cut, embed_distinct(cut.list_texts(), ask_service))

    def _make_output(self, cut: _CutText, vectors: bytes) -> Output:
        passages, reused = cut.passages, cut.reused
        if not passages and "note" not in cut.content:
            return Output(self.name, None)
        content: dict[str, object] = {"indexed": bool(passages), "passages": len(passages), **cut.content}
        content["model"] = self.settings.model_name
        if not passages:
            return Output(self.name, json.dumps(content, ensure_ascii=False))
        new = len(passages) - len(reused)
        dimension = len(vectors) // (NUMBER_BYTES * new) if new else cut.reusable.dimension
        content["dimension"] = dimension
        if cut.to_come:
            content["to_come"] = cut.to_come
        embedded = Embedded(self.settings.model_name, dimension, vectors, reused)
        return Output(
            self.name,
            json.dumps(content, ensure_ascii=False),
            passages=passages,
            embedded=embedded,
            unfinished=cut.to_come > 0,
        )

    def _cut_or_error(self, source: Source) -> _CutText | DigestError:
        try:
            return self._cut(source)
        except DigestError as error:
            return error

    def _cut(self, source: Source) -> _CutText:
        """Cut each text into passages, up to the limit, leaving out those the model cannot read."""
        texts = texts_of(source, self._passages_from, self._text_limit)
        notes = list(texts.notes)
        passages: list[Passage] = []
        unreadable = left_out = 0
        for name, text in texts.found:
            if not text.text.strip():
                continue
            reader = self._reader(source)
            spans = cut_passages(text.text, text.places, window=reader.window, count_tokens=reader.count_tokens)
            for span in spans:
                passage_text = text.text[span.start : span.end]
                if not has_word(passage_text):
                    continue
                if len(passages) >= self._max_passages:
                    left_out += 1
                elif reader.reads(passage_text):
                    passages.append(Passage(name, len(passages), passage_text, span))
                else:
                    unreadable += 1
        if left_out:
            notes.append(
                f"first {self._max_passages:,} passages embedded, {left_out:,} left out; meaning_passages allows more"
            )
        if unreadable:
            notes.append(f"{unreadable:,} in a script or language that the model cannot read")
        content: dict[str, object] = {"sources": list(dict.fromkeys(passage.source for passage in passages))}
        content[TEXT_HASH] = _hash_of(texts)
        if notes:
            content["note"] = "; ".join(notes)
        reusable = _embedded_before(source)
        chosen = passages
        if self.settings.local and len(passages) > LONG_TEXT and reusable is NO_REUSABLE_PASSAGES:
            chosen = choose_first(passages)
        title = _title(source, texts) if passages else ""
        return _CutText(content, tuple(chosen), title, reusable, len(passages) - len(chosen))

    def _reader(self, source: Source) -> _PassageReader:
        if not self.settings.local:
            return _PassageReader(self.settings.window or DEFAULT_WINDOW)
        embedder = self._embedder(source)
        return _PassageReader(embedder.window, self._count_tokens, embedder.reads)

    @functools.cached_property
    def _count_tokens(self) -> Callable[[str], int]:
        """Counts word by word: the result is the same and six times as fast, since most words were counted before.

        Whitespace, punctuation and long words give hardly any tokens; a minimum by length keeps such passages short.
        """
        count = self._load(self.settings).count_tokens
        cached_count = functools.lru_cache(MAX_CACHED_WORDS)(count)

        def count_by_words(text: str) -> int:
            tokens = sum(cached_count(word) if len(word) <= MAX_CACHED_LENGTH else count(word) for word in text.split())
            return max(tokens, len(text) // CHARACTERS_PER_TOKEN)

        return count_by_words

    def _embedder(self, source: Source) -> PassageEmbedder:
        try:
            return self._load(self.settings)
        except EngineUnavailable as error:
            raise EngineUnavailable(f"{source.file.name}: {error}") from error


def choose_first(passages: Sequence[Passage]) -> list[Passage]:
    """The passages of a long text by which it is found most likely: its beginning, then what follows each heading."""
    headings = [passage.place.heading for passage in passages]

    def usefulness(position: int) -> int:
        if position < OPENING:
            return 0
        return 1 if headings[position] != headings[position - 1] else 2

    first = sorted(sorted(range(len(passages)), key=usefulness)[:FIRST_PASSAGES])
    return [replace(passages[position], ordinal=ordinal) for ordinal, position in enumerate(first)]


def embed_distinct(texts: Sequence[str], embed: Callable[[Sequence[str]], bytes]) -> bytes:
    """The vectors of all texts, in order; of equal texts only one is embedded."""
    distinct = list(dict.fromkeys(texts))
    vectors = embed(distinct)
    if len(distinct) == len(texts):
        return vectors
    size = len(vectors) // len(distinct)
    starts = {text: number * size for number, text in enumerate(distinct)}
    return b"".join(vectors[starts[text] : starts[text] + size] for text in texts)


def _hash_of(texts: Texts) -> str:
    return text_hash((name, text.text) for name, text in texts.found)


def _embedded_before(source: Source) -> ReusablePassages:
    output = source.output(EMBEDDED_BEFORE)
    return ReusablePassages.from_json(output.content) if output else NO_REUSABLE_PASSAGES


def _title(source: Source, texts: Texts) -> str:
    """The file's own title. It does not depend on the classification, so that no vector is made again for a title that
    came later."""
    if source.file.kind is Kind.IMAGE:
        title = own_picture_title(_content(source, "image-preview"), _content(source, "image-ocr"))
    else:
        contents = {name: content for name in _TITLES_FROM if (content := _content(source, name))}
        contents |= {name: text.text for name, text in texts.found if name == FILE}
        spoken_language = text_in(read_json(contents.get("speech-recognition")), "language") or None
        title = own_title(contents, source.file.mime, spoken_language)
    return (title or "")[:TITLE_CHARACTERS]


def _content(source: Source, name: str) -> str | None:
    output = source.output(name)
    return output.content if output else None
