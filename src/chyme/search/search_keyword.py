"""The digester that cuts all readable text about a file into passages for the keyword index."""

from __future__ import annotations

import json

from chyme.digester import Digester, Inputs, Makes, Runs, Source, Title
from chyme.files.link_files import link_note_of
from chyme.model import File, Kind, Output, Passage
from chyme.search.query.spelling import words_of
from chyme.search.searchable_texts import SEARCHED_FORMS, TEXT_LIMIT, texts_of
from chyme.text.digest_text import ReadableText
from chyme.text.passages import WINDOW, cut_passages
from chyme.text.titles import clean_title, heading_title
from chyme.text.unspaced_scripts import segment

MOST_WORDS = 20_000  # of one file, short ones first: each new word adds about ten rows to the dictionary


class SearchKeyword(Digester):
    """Every file gets this digest: one without text is found by its name.

    Name, title, tags and summary are indexed where they are set (search/tables/file_terms.py), so that it waits for
    none of them.
    """

    name = "search-keyword"
    label = "Keyword search"
    description = "The passages by which the file is found word for word."
    makes = Makes(title=Title.FALLBACK, essential_for=frozenset({Kind.TEXT}))
    # The file's own texts first: a text that comes later does not move their passages.
    reads = (
        "url-crawl-content",
        "url-metadata",
        "doc-to-markdown",
        "image-ocr",
        "image-preview",
        "media-preview",
        "speech-recognition-cleanup",
        "speech-recognition",
        "image-captioning",
        "image-objects",
        "speech-recognition-summary",
        "url-crawl-summary",
    )
    inputs = Inputs(forms=SEARCHED_FORMS, artifacts=False)
    runs = Runs(family="words", quick=True, gathers=True)

    def __init__(self, text_limit: int = TEXT_LIMIT) -> None:
        self._text_limit = text_limit

    @property
    def fingerprint(self) -> str:
        return f"{WINDOW} tokens, {self._text_limit} characters"

    @property
    def max_text(self) -> int:
        return self._text_limit + 1

    def can_digest(self, file: File) -> bool:
        return True

    def digest(self, source: Source) -> list[Output]:
        passages: list[Passage] = []
        sources: list[str] = []
        texts = texts_of(source, self.reads, self._text_limit)
        for name, text in texts.found:
            found = _passages(name, text, len(passages))
            if found:
                sources.append(name)
                passages += found
        if not passages and not texts.notes:
            return [Output(self.name, None)]
        words = words_of(passage.text for passage in passages)
        content: dict[str, object] = {
            "indexed": bool(passages),
            "passages": len(passages),
            "words": len(words),
            "sources": sources,
        }
        link = link_note_of(source) if source.file.kind is Kind.URL else None
        title = heading_title(passages[0].text) if source.file.mime == "text/markdown" and passages else None
        if link is not None and link.title:
            content["title"] = title = link.title
        if texts.notes:
            content["note"] = "; ".join(texts.notes)
        return [
            Output(
                self.name,
                json.dumps(content, ensure_ascii=False),
                passages=tuple(passages),
                words=tuple(sorted(words, key=lambda word: (len(word), word))[:MOST_WORDS]),
                title=clean_title(title),
            )
        ]


def _passages(name: str, text: ReadableText, ordinal: int) -> list[Passage]:
    spans = cut_passages(text.text, text.places, window=WINDOW)
    texts = [text.text[span.start : span.end] for span in spans]
    return [
        Passage(name, number, passage_text, span, segment(passage_text))
        for number, (span, passage_text) in enumerate(zip(spans, texts, strict=True), ordinal)
    ]
