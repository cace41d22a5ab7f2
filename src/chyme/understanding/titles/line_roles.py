"""What a line of a first page is if it is no title: a stamp, a date, boilerplate, or the name of who issued it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from chyme.text.function_words import empty_words
from chyme.text.stemmer import fold
from chyme.text.word_lists import WordList
from chyme.understanding.dates.vocabulary import MONTHS, SHORT_MONTHS
from chyme.understanding.titles.cleanup import WEEKDAYS

_BODIES = WordList(__package__, "issuing_bodies")
_KINDS = WordList(__package__, "work_kinds")
_BESIDE_DATES = WordList(__package__, "beside_dates")
_BOILERPLATE = WordList(__package__, "boilerplate_lines")
_BODY_WORDS = 12  # words of the name of a body
_AFTER_BOILERPLATE = 18  # characters that may follow boilerplate: a date, a number
_OF = ("of", "for", "de", "di", "der", "du", "da", "do")
_KIND_WORDS = 4  # words of a title that only says what kind of work it is
_WORD = re.compile(r"[^\W\d_]+(?:[.'’-][^\W\d_]+)*\.?")
_LETTER = re.compile(r"[^\W\d_]")
_STAMP = re.compile(
    r"^(?:us[cd]ca\d?\s|appellate\s)?case:?\s(?:no\.?:?\s)?\d[\w:.-]*\s.*\b(?:document|doc|filed|page|date)\b"
    r"|\bdoc(?:ument)?:?\s#?\d{1,5}(?:-\d+)?\s.*\b(?:filed|page|pg)\b"
    r"|^(?:electronically\s)?(?:filed|e-filed|received|served|entered|docketed)\b[^a-z]{0,6}(?:\d|on\b|at\b|with\b|[a-z]{3,9}\.?\s\d)"
    r"|^(?:filed|received|copy|original|approved|paid|void)$"
    r"|^arxiv:\S+|^(?:doi|issn|isbn|pmid|omb)\b[\s:]|\bomb\s(?:approval\s)?(?:no|number)\b|^https?://|^www\.\S+$"
    r"|^(?:page|seite|pagina|página|p\.|s\.)\s?\d{1,4}(?:\s?(?:of|von|de|di|van|/)\s?\d{1,4})?$|^-?\s?\d{1,4}\s?-?$"
    r"|^\d{1,4}\s?(?:of|von|/)\s?\d{1,4}$"
    r"|^(?:grand |sub-?\s?)?tot[a1]l\b.*\d|^(?:cash|change|amount|balance|vat|gst|tax|summe|betrag|mwst)\b.{0,16}\d"
    r"|\bvol(?:ume)?\.?\s?\d{1,4}\b.*(?:\bno\.?\s?\d|\bissue\s|\bpp?\.\s?\d|\d{4})|^vol(?:ume)?\.?\s\d"
    r"|\bdownloaded\sfrom\b|\baccepted:?\s\d|^(?:received|accepted|revised):?\s\d|©|\(c\)\s\d{4}"
    r"|^(?:no|nr|az|aktenzeichen|docket|case|file|ref|reference|our ref|your ref|n[°º])"
    r"\.?(?:\s?(?:no|nos|number|nummer)\.?)?\s?[:#.]?\s?[\w:./()-]*\d[\w:./() -]{0,30}$",
    re.IGNORECASE,
)
# `See Table 5.1.`, `Table 3: Boats by year`
_REFERENCE = re.compile(
    r"^(?:see|siehe|vgl\.|voir|véase|vedi|zie)\s(?:also\s|auch\s|aussi\s)?(?:the\s)?(?:table|fig(?:ure|\.)|section|page|chapter"
    r"|appendix|annex|note|below|above|overleaf|reverse|tabelle|abb(?:ildung|\.)|abschnitt|seite|kapitel|anlage|unten|oben|tableau"
    r"|section|annexe|tabla|figura|anexo|tabella|allegato|tabel|bijlage)\b"
    r"|^(?:table|tabelle|tableau|tabla|tabella|tabel|fig(?:ure|\.)|abb(?:ildung|\.)|figura|exhibit)\s?[A-Z]?\d{1,3}(?:[.-]\d{1,3})*\b",
    re.IGNORECASE,
)
_FIELDS = re.compile(r"[^\W\d_][\w ]{0,20}:\s\S{1,20}(?:\s[^\W\d_]\w{0,20}:\s\S{1,20})*")
_NUMERIC_DATE = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}[./-]\d{1,2}[./-]\d{1,2}|\d{4}年|\d{1,2}月")
_CLOCK = re.compile(r"\b\d{1,2}[:.]\d{2}(?::\d{2})?\s?(?:[ap]\.?m\.?|uhr|h)?\b", re.IGNORECASE)
_SALUTATION = re.compile(
    r"^(?:dear|hi|hello|hey|sehr geehrte|liebe[rs]?|hallo|guten tag|bonjour|cher|chère|madame|monsieur|hola|estimad|"
    r"gentile|egregio|caro|cara|geachte|beste|prezad)\b",
    re.IGNORECASE,
)
_PLACE = re.compile(r"^[^\W\d_][\w .'’()-]{2,40},\s?(?=\D{0,12}\d)")
_QUESTION = re.compile(
    r"^(?:how|why|what|when|where|who|which|wie|warum|was|wer|comment|pourquoi|qué|cómo|como|perché)\b", re.IGNORECASE
)
_COURT_PART = re.compile(
    r"^(?:in and )?for the\b.*\b(?:district|circuit|county|division|state|court)\b"
    r"|^division (?:one|two|three|four|\w{1,3})$"
    r"|^(?:\w+ ){0,3}(?:judicial )?(?:district|circuit|division|term)(?: of [\w ]{3,40})?$",
    re.IGNORECASE,
)


def is_stamp(line: str) -> bool:
    """Whether it was put on the page by a court, an archive, a journal or a printer: a filing stamp, a page number."""
    return _STAMP.search(line[:200]) is not None


def is_date_line(line: str) -> bool:
    """Whether a line holds a date and at most a place and a time."""
    if len(line) > 80 or not any(map(str.isdigit, line)):
        return False
    rest = _CLOCK.sub(" ", line)
    return any(map(_is_date, (rest, _PLACE.sub("", rest))))


def _is_date(text: str) -> bool:
    words = [fold(word).rstrip(".") for word in _WORD.findall(text)]
    has_date = _NUMERIC_DATE.search(text) is not None or any(word in _month_names() for word in words)
    return has_date and all(
        word in _month_names() or word in _BESIDE_DATES.words() or word in _day_names() for word in words
    )


def is_boilerplate(line: str) -> bool:
    """Whether it says how a document may be used or who made it, as lines above and below titles do."""
    plain = " ".join(line.casefold().split()).strip(" .:;!*-–—_[]()\"'“”")
    if plain in _BOILERPLATE.phrases():
        return True
    head = next((phrase for phrase in _boilerplate_heads() if plain.startswith(phrase)), None)
    if head is None:
        return False
    rest = plain[len(head) :]
    if head.endswith((" by", " to", " for", " von")):
        return rest[:1] in ("", " ", ":")
    return len(rest) <= _AFTER_BOILERPLATE and not rest.lstrip()[:1].isalpha()


def is_issuing_body(line: str) -> bool:
    """Whether a line is the name of a ministry, a court, a university or the like, and not the title of a work."""
    if len(line) > 120 or line.rstrip()[-1:] in "?!;" or _QUESTION.match(line):
        return False
    if line.endswith(tuple(_BODIES.words("unspaced"))):
        return True
    if _COURT_PART.match(line):
        return True
    words = _WORD.findall(line)
    if not 1 <= len(words) <= _BODY_WORDS or any(map(str.isdigit, line)) or names_kind(line):
        return False
    small = _small_words()
    plain = [fold(word).strip(".") for word in words]
    if plain[:2] == ["in", "the"]:
        plain = plain[2:]
    strong, weak = _BODIES.words("strong"), _BODIES.words("weak")
    if not plain:
        return False
    lower = sum(word[0].islower() and word.casefold() not in small for word in words)
    if lower and not (plain[0] in strong and plain[1:2] and plain[1] in small and lower <= len(plain) // 3):
        return False  # a sentence, or a title in lower case
    ends = tuple(_BODIES.words("endings"))
    if {*plain[:4], plain[-1]} & strong or any(word.endswith(ends) and len(word) > 8 for word in (plain[0], plain[-1])):
        return len(plain) > 1 or plain[0] not in strong
    rank = _BODIES.words("rank")
    beside = {second for first, second in zip(plain, [*plain[1:], ""], strict=True) if first in rank}
    if (beside | {plain[-1]} & weak) & weak and set(plain[:-1]) & rank:
        return True
    if plain[0] in _BODIES.words("places") and plain[1:2] and plain[1] in _OF:
        return len(plain) > 2 and plain[2] not in small
    return any(first in weak and second in _OF for first, second in pairwise(plain[:4]))


def names_kind(line: str) -> bool:
    """Whether a line names a kind of work, such as report or contract."""
    kinds = _KINDS.words("general") | _KINDS.words("work")
    return any(_is_kind(word, kinds) for word in map(fold, _WORD.findall(line)))


def names_meeting(line: str) -> bool:
    """Whether a line names the record or the programme of a meeting, of which there is one for each day."""
    words = [fold(word) for word in _WORD.findall(line)]
    return any(_is_kind(word, _KINDS.words("meeting")) for word in (*words[:2], *words[-1:]))


def ends_with_kind(line: str) -> bool:
    """Whether the last word of a line names a kind of work: `Purchase agreement`, but not `Paper planes`."""
    words = [fold(word) for word in _WORD.findall(line)]
    return bool(words) and _is_kind(words[-1], _KINDS.words("general") | _KINDS.words("work"))


def is_only_kind(line: str) -> bool:
    """Whether a line says nothing but the kind of a work: `Minutes`, `Annual report`."""
    kinds, small = _KINDS.words("general"), _small_words()
    words = [fold(word) for word in _WORD.findall(line)]
    named = [word for word in words if word not in small]
    return 0 < len(named) <= _KIND_WORDS and all(_is_kind(word, kinds) for word in named)


def is_year_or_period(line: str) -> bool:
    """Whether a line is a year, or a period such as `2022/23` or `Q3 2021`."""
    return re.fullmatch(r"(?:FY|Q[1-4])?\s?(?:19|20)\d\d(?:\s?[/–—-]\s?(?:\d\d){1,2})?", line.strip()) is not None


def is_torn(line: str) -> bool:
    """Whether a line begins in the middle of a sentence."""
    first = line.lstrip("\"'“„«( ")[:1]
    return first.islower() or first in ",.;:)"


def is_salutation(line: str) -> bool:
    """Whether a line greets the reader of a letter."""
    return _SALUTATION.match(line) is not None


def is_no_title(line: str) -> bool:
    """Whether a line is certainly no title."""
    return is_stamp(line) or is_date_line(line) or is_boilerplate(line) or is_reference(line)


def is_reference(line: str) -> bool:
    """Whether a line refers to a table, a figure or another part, or is the caption of one."""
    return _REFERENCE.match(line) is not None


def are_fields(lines: Sequence[str]) -> bool:
    """Whether lines are two or more names with their values: `Colour: red Size: small`."""
    return all(map(_FIELDS.fullmatch, lines)) and sum(line.count(":") for line in lines) > 1


def has_letters(line: str) -> bool:
    return len(_LETTER.findall(line)) > 1


def _is_kind(word: str, kinds: frozenset[str]) -> bool:
    plain = word.rstrip(".").removesuffix("'s").removesuffix("’s")
    return plain in kinds or plain.removesuffix("s") in kinds


@cache
def _month_names() -> frozenset[str]:
    lines = [line for names in (MONTHS, SHORT_MONTHS) for part in names.sections.values() for line in part]
    return frozenset(fold(name) for name in " ".join(lines).replace("|", " ").split() if name != "-")


@cache
def _day_names() -> frozenset[str]:
    return frozenset(map(fold, WEEKDAYS.words()))


@cache
def _small_words() -> frozenset[str]:
    return frozenset[str]().union(*map(empty_words, ("en", "de", "fr", "es", "it", "nl", "pt"))) | {"e", "y", "i", "og"}


@cache
def _boilerplate_heads() -> tuple[str, ...]:
    return tuple(sorted(_BOILERPLATE.phrases(), key=len, reverse=True))
