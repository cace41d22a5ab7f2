"""Parse what a person typed into the search box. Every string is a valid question."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from chyme.text.common_words import stop_words
from chyme.text.stemmer import fold
from chyme.text.unspaced_scripts import RUNS, segment_query, split_pairs

LONGEST_QUESTION = 2000
MOST_EXCLUDED = 40
_MOST_READ = 300  # different words of a question, of which the rarest are searched for
_LONG_QUESTION = 5  # words beside quoted phrases, small ones too: then a person asks, and does not write a formula
_WITH_DIGITS = re.compile(r"(?:[^\W\d_]{1,4}\d{1,2}){1,3}[^\W\d_]{0,3}")  # m2, CO2, C6H12O6
_RAISED, _LOWERED = (str.maketrans("0123456789", digits) for digits in ("⁰¹²³⁴⁵⁶⁷⁸⁹", "₀₁₂₃₄₅₆₇₈₉"))
_MAX_PHRASE_RUN = 4  # a longer run of unspaced script is a sentence: its parts match, too

FIELDS = {
    "kind": "kind", "type": "kind", "tag": "tag", "folder": "folder", "in": "folder", "name": "name", "title": "title",
    "date": "date", "status": "status", "ext": "ext", "person": "person",
}  # fmt: skip

_PARTS = re.compile(
    r"""(?:(?P<not>-)|(?P<as_typed>\+))?
        (?:(?P<field>[A-Za-z]+):(?=\S))?
        (?:"(?P<quoted>[^"]*)"|(?P<word>[^\s"()]+))""",
    re.VERBOSE,
)
_TOKEN = re.compile(r"[^\W_]")
_LAST_RUN = re.compile(RUNS.pattern + r"\Z")
_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")
_INVALID_CHARACTERS = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Term:
    """A word, or several that must be together; as a prefix, its last word may be unfinished."""

    text: str
    phrase: bool = False
    prefix: bool = False
    as_typed: bool = field(default=False, compare=False)  # must not be corrected


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on the file itself."""

    field: str
    value: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed question."""

    terms: tuple[Term, ...] = ()
    excluded: tuple[Term, ...] = ()
    filters: tuple[Filter, ...] = ()
    notes: tuple[str, ...] = ()
    # The question with its stop words, without filters and excluded words.
    question: str = field(default="", compare=False)
    phrases_required: bool = (
        True  # whether a file must have the quoted phrases; in a long question they only count more
    )

    @property
    def empty(self) -> bool:
        return not (self.terms or self.excluded or self.filters)


def parse(text: str, *, typing: bool = False) -> Query:
    """Parse words, "phrases", -not, +as_typed and field:value. While typing, the last word may be unfinished."""
    notes: list[str] = []
    clean = _INVALID_CHARACTERS.sub(" ", text)
    if len(clean) > LONGEST_QUESTION:
        clean = clean[:LONGEST_QUESTION]
        notes.append(f"only the first {LONGEST_QUESTION} characters of the question were read")
    unfinished = typing and clean[-1:] not in (" ", '"', ")")
    if unfinished and clean.count('"') % 2:
        clean += '"'  # a phrase being typed; in a finished question a single quote means nothing
    terms: list[Term] = []
    excluded: list[Term] = []
    filters: list[Filter] = []
    words: list[str] = []
    not_next = last_is_term = False
    for part in _PARTS.finditer(clean):
        negated = bool(part["not"]) or not_next
        not_next = last_is_term = False
        field = FIELDS.get((part["field"] or "").lower())
        if field:
            value = (part["quoted"] if part["word"] is None else part["word"]).strip()
            if _TOKEN.search(value) or (value and field not in ("name", "title")):
                filters.append(Filter(field, value, negated))
            continue
        if part["word"] in ("AND", "OR", "NOT") and not part["field"]:
            not_next = part["word"] == "NOT"
            continue
        term = _term(part)
        if term is not None:
            (excluded if negated else terms).append(term)
            last_is_term = not negated
            if not negated:
                words.append(term.text)
    if unfinished and terms and last_is_term:
        terms[-1] = replace(terms[-1], prefix=True)
    is_long = sum(not term.phrase for term in terms) >= _LONG_QUESTION
    terms = _remove_stop_words(terms)
    if len(terms) > _MOST_READ:
        terms = list(dict.fromkeys(terms))[:_MOST_READ]
    if len(excluded) > MOST_EXCLUDED:
        excluded = excluded[:MOST_EXCLUDED]
        notes.append(f"only the first {MOST_EXCLUDED} excluded words of the question were used")
    query = Query(tuple(terms), tuple(excluded), tuple(filters), tuple(notes), " ".join(words))
    return soften_phrases(query) if is_long else query


def soften_phrases(query: Query) -> Query:
    """The question in which quoted phrases only count more: their words are searched for, and as phrases again."""
    terms: list[Term] = []  # a word that is asked for twice stays twice: it counts more
    for term in query.terms:
        terms.append(term)
        if term.phrase:
            terms += _remove_stop_words([Term(word) for word in term.text.split() if _TOKEN.search(word)])
    return replace(query, terms=tuple(terms), phrases_required=not any(term.phrase for term in terms))


def neighbours(terms: Sequence[Term]) -> list[Term]:
    """Adjacent words of the question, each pair as a phrase."""
    plain = [None if term.phrase or term.prefix else term.text for term in terms]
    return [Term(f"{word} {next_word}", phrase=True) for word, next_word in pairwise(plain) if word and next_word]


def _term(part: re.Match[str]) -> Term | None:
    if part["word"] is None:
        text = f"{part['field'] or ''} {part['quoted']}".strip()
        return Term(text, phrase=True) if _TOKEN.search(text) else None
    text = f"{part['field']}:{part['word']}" if part["field"] else part["word"]
    prefix = text.endswith("*")
    text = text.strip("*")
    return Term(text, prefix=prefix, as_typed=bool(part["as_typed"])) if _TOKEN.search(text) else None


def _remove_stop_words(terms: Sequence[Term]) -> list[Term]:
    remaining = [term for term in terms if term.phrase or term.prefix or term.text.lower() not in stop_words()]
    return remaining or list(terms)


def expression(terms: Iterable[Term], columns: str = "") -> str:
    """The terms as an FTS5 expression, any of which may match; '' without terms. All user text is quoted."""
    phrases = [phrase for term in terms for phrase in _fts_phrases(term)]
    joined = " OR ".join(phrases)
    return f"{{{columns}}} : ({joined})" if columns and joined else joined


def _fts_phrases(term: Term) -> list[str]:
    last = _LAST_RUN.search(term.text)
    ends_in_single = last is not None and len(split_pairs(last[0])) == 1  # the index has pairs that begin with it
    whole = _quote(segment_query(term.text), term.prefix or ends_in_single)
    if term.phrase or not RUNS.fullmatch(term.text) or len(term.text) <= _MAX_PHRASE_RUN:
        return [whole, *(_quote(other, term.prefix) for other in _other_digits(term.text))]
    return [whole, *(_quote(pair, False) for pair in split_pairs(term.text)[:-1])]


def _other_digits(word: str) -> list[str]:
    """The same word with its digits raised and lowered, or as plain ones: m2 may be written m², and H2O H₂O."""
    if _WITH_DIGITS.fullmatch(word):
        return [word.translate(_RAISED), word.translate(_LOWERED)]
    plain = unicodedata.normalize("NFKC", word)
    return [plain] if plain != word and _WITH_DIGITS.fullmatch(plain) else []


def _quote(text: str, prefix: bool) -> str:
    return '"' + text.replace('"', '""') + '"' + (" *" if prefix else "")


def apply_corrections(query: Query, replacements: Mapping[str, str]) -> Query:
    """The question with mistyped words replaced."""
    terms = tuple(replace(term, text=replacements.get(term.text, term.text)) for term in query.terms)
    question = " ".join(replacements.get(word, word) for word in query.question.split(" "))
    return replace(query, terms=terms, question=question)


def plain_word(term: Term) -> str | None:
    """The folded word of a term that is one word, or None."""
    word = fold(term.text)
    return word if not term.phrase and word.isalpha() else None


def protect_words(question: str, words: Iterable[str]) -> str:
    """The question with a plus before these words, so that they are searched as typed."""
    protected = set(words)
    return _PARTS.sub(lambda part: f"+{part[0]}" if _is_word(part, protected) else part[0], question)


def replace_word(question: str, typed: str, other: str) -> str:
    """The question with another word in place of a typed one."""
    return _PARTS.sub(lambda part: other if _is_word(part, {typed}) else part[0], question)


def _is_word(part: re.Match[str], words: Collection[str]) -> bool:
    """Whether a part of a question is one of these words, and nothing more."""
    return part[0].strip("*") in words


def date_range(value: str) -> tuple[str, str] | None:
    """`2024`, `2024-03`, `2023..2024`, `..2024-05-31`, `2024..` as text to compare ISO dates with, both inclusive."""
    first, dots, last = value.partition("..")
    if not dots:
        last = first
    if not (first or last) or not all(_DATE.fullmatch(part) for part in (first, last) if part):
        return None
    return first, last + "~"  # sorts after every date with this beginning
