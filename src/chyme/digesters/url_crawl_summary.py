"""Say in short what a web page says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from chyme.decide.correction import written
from chyme.decide.page_summary import ENOUGH, RULES, in_markdown, picked, spoken_in, text_of, unfit
from chyme.decide.prose import blocks_of
from chyme.decide.stretches import stretches
from chyme.digester import Digester, Source
from chyme.digesters.speech_recognition_cleanup import LOCAL
from chyme.engines.llm.misfit import Misfit
from chyme.engines.llm.pages import PROMPTS, points_of
from chyme.engines.llm.settings import LanguageSettings
from chyme.errors import UpstreamMissing
from chyme.model import File, Kind, Output

if TYPE_CHECKING:
    from chyme.engines.llm.page_shapes import PagePoints

CONTENT = "url-crawl-content"
LOOKED_AT = 500_000  # characters: a book's worth; whoever writes more says there what it is about
PICKED = f"Picked from the page by rules ({LOCAL})."
ITSELF = f"The page itself ({LOCAL})."
_GAP = "[a part of the page is left out here]"
_LINE = 2000  # characters of a line that is sent


class UrlCrawlSummary(Digester):
    """Markdown: three to five points, then how they were made.

    Written by the language model if there is one, else picked from the page's sentences by rules; the last line says
    which. A page of a few sentences is its own summary, and nobody is asked about it.
    """

    name = "url-crawl-summary"
    label = "Summary"
    description = "What the page says, in three to five points."
    reads = (CONTENT,)
    reads_artifacts = False
    family = "text"

    def __init__(self, language: LanguageSettings | None = None, seconds: float = 600.0) -> None:
        self.language = language
        self.seconds = seconds

    @property
    def fingerprint(self) -> str:
        rules = f"rules {RULES}"
        if self.language is None:
            return rules
        return f"{self.language.fingerprint}, prompts {PROMPTS}, {self.language.characters} characters, {rules}"

    @property
    def reads_at_most(self) -> Mapping[str, int]:
        return {CONTENT: LOOKED_AT}

    def can_digest(self, file: File) -> bool:
        return file.kind is Kind.URL

    def waits_for(self, file: File) -> bool:
        return self.language is not None

    def time_limit(self, source: Source) -> float:
        """With a model: its time, and then that of the rules, which serve when its answer does not fit."""
        return self.seconds + (self.language.seconds if self.language else 0.0)

    def digest(self, source: Source) -> list[Output]:
        page = source.output(CONTENT)
        if page is None:
            raise UpstreamMissing(f"{source.file.name}: the page was not read; see what became of {CONTENT}")
        points, made = self._points(source.file.name, (page.content or "")[:LOOKED_AT])
        return [Output(self.name, in_markdown(points, made) if points else None)]

    def _points(self, name: str, markdown: str) -> tuple[Sequence[str], str]:
        """The points, and how they were made."""
        blocks = blocks_of(markdown)
        lines = text_of(blocks)
        if sum(map(len, lines)) < ENOUGH:
            return (), ITSELF
        language = spoken_in(lines)
        by_rules = picked(blocks, language)
        if by_rules.whole:
            return by_rules.points, ITSELF
        if self.language is None:
            return by_rules.points, PICKED
        try:
            return _by_model(name, lines, language, self.language)
        except Misfit as error:
            return by_rules.points, f"{PICKED[:-1]}: {str(error).removeprefix(f'{name}: ')}."


def _by_model(
    name: str, lines: Sequence[str], language: str | None, settings: LanguageSettings
) -> tuple[Sequence[str], str]:
    pieces = [line[at : at + _LINE] for line in lines for at in range(0, len(line), _LINE)]
    sent = stretches(pieces, settings.characters, _GAP)

    def wrong(answer: PagePoints) -> str | None:
        return unfit([written(point) for point in answer.points], sent.text, language)

    answer = points_of(name, sent.text, language, settings, wrong)
    part = "" if sent.share == 1.0 else f" from its beginning, middle and end, {max(sent.share, 0.01):.0%} of it"
    return [written(point) for point in answer.points], f"Written by {settings.model}{part}."
