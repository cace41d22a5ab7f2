"""Summarises a web page in a few points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from chyme.digester import Calls, Inputs, Makes, Promises, Source
from chyme.errors import UpstreamMissing
from chyme.model import File, Form, Kind, Lane, Output
from chyme.models.model_digesters import LanguageModelDigester, fingerprint_with_model
from chyme.models.providers.endpoints import LanguageSettings
from chyme.speech.speech_recognition_cleanup import LOCAL
from chyme.text.excerpts import take_excerpts
from chyme.text.markdown_blocks import blocks_of
from chyme.text.model_output import plain_line
from chyme.text.page_summary import (
    ENOUGH,
    RULES,
    detect_language,
    find_problem,
    format_markdown,
    pick_sentences,
    text_of,
)
from chyme.webpages.summary_prompt import PROMPT_VERSION, ask_for_points

if TYPE_CHECKING:
    from chyme.webpages.summary_schema import PagePoints

CONTENT = "url-crawl-content"
MAX_INPUT_CHARS = 500_000  # about a book; a longer page says within this what it is about
RULES_NOTE = f"Picked from the page by rules ({LOCAL})."
WHOLE_PAGE_NOTE = f"The page itself ({LOCAL})."
_GAP_MARK = "[a part of the page is left out here]"
_MAX_LINE_CHARS = 2000  # of a line sent to the model


class UrlCrawlSummary(LanguageModelDigester):
    """Markdown: three to five points, then how they were made.

    The language model writes them if there is one; otherwise rules pick them from the page's sentences. The last line
    says which. A page of a few sentences is its own summary, and no model is asked about it.
    """

    name = "url-crawl-summary"
    label = "Page summary"
    description = "What the page says, in three to five points."
    makes = Makes(Form.SUMMARY)
    reads = (CONTENT,)
    inputs = Inputs(artifacts=False)
    promises = Promises(falls_back=True)

    def __init__(self, language: LanguageSettings | None = None, seconds: float = 600.0) -> None:
        self.language = language
        self.runs = replace(self.runs, lane=Lane.MODEL if language else Lane.ORDINARY)
        self.seconds = seconds

    @property
    def fingerprint(self) -> str:
        return fingerprint_with_model(self.language, PROMPT_VERSION, f"rules {RULES}", long_texts=True)

    @property
    def max_text(self) -> int:
        return MAX_INPUT_CHARS

    def can_digest(self, file: File) -> bool:
        return file.kind is Kind.URL

    def digest(self, source: Source) -> list[Output]:
        return [self._output(source, self.language)]

    def without_model(self, source: Source) -> list[Output]:
        return [self._output(source, None)]

    def _output(self, source: Source, language: LanguageSettings | None) -> Output:
        page = source.output(CONTENT)
        if page is None:
            raise UpstreamMissing(f"{source.file.name}: the page was not read; see what became of {CONTENT}")
        points, how = _make_points(source, (page.content or "")[:MAX_INPUT_CHARS], language)
        return Output(self.name, format_markdown(points, how) if points else None)


def _make_points(source: Source, markdown: str, model: LanguageSettings | None) -> tuple[Sequence[str], str]:
    """Return the points, and how they were made."""
    blocks = blocks_of(markdown)
    lines = text_of(blocks)
    if sum(map(len, lines)) < ENOUGH:
        return (), WHOLE_PAGE_NOTE
    language = detect_language(lines)
    by_rules = pick_sentences(blocks, language)
    if by_rules.whole:
        return by_rules.points, WHOLE_PAGE_NOTE
    if model is None:
        return by_rules.points, RULES_NOTE
    return _ask_model(source.calls, source.file.name, lines, language, model)


def _ask_model(
    calls: Calls, name: str, lines: Sequence[str], language: str | None, settings: LanguageSettings
) -> tuple[Sequence[str], str]:
    pieces = [line[start : start + _MAX_LINE_CHARS] for line in lines for start in range(0, len(line), _MAX_LINE_CHARS)]
    excerpt = take_excerpts(pieces, settings.characters, _GAP_MARK)

    def wrong(answer: PagePoints) -> str | None:
        return find_problem([plain_line(point) for point in answer.points], excerpt.text, language)

    answer = ask_for_points(calls, name, excerpt.text, language, settings, wrong)
    return [plain_line(point) for point in answer.points], f"Written by {settings.model}{excerpt.note}."
