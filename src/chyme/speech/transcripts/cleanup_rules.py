"""Correct a transcript by rules: fillers, stutters, spacing, capitals, full stops; never the meaning of a word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice, product

from chyme.model import Segment
from chyme.text.function_words import begins_a_sentence, function_words
from chyme.text.word_lists import WordList

RULES = 1  # raise it when a rule changes the result
UNCASED = frozenset({"zh", "ja", "ko", "yue", "th", "lo", "my", "km"})  # only their spacing is corrected

_BLANKS = re.compile(r"[ \t\r\n\f\v]+")
_CONTROL_CHARACTERS = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u200b\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_SPACE_BEFORE_MARK = re.compile(r" ([,;:!?]|\.(?![\w.]))(?=[\s\"”»’')\]]|$)")
_SPACE_BEFORE_MARK_FRENCH = re.compile(r" (,|\.(?![\w.]))(?=[\s\"”»’')\]]|$)")  # the others take a space
_MISSING_SPACE = re.compile(r"(?<=[^\W\d_]),(?=[^\W\d_])|(?<=[^\W\d_])(?<=\w)([?!])(?=[A-ZÀ-ÖØ-Þ])")
_REPEATED_MARKS = (
    (re.compile(r" ,(?=[^\W\d_])"), ", "),
    (re.compile(r",(?: ?,)+"), ","),
    (re.compile(r";(?: ?;)+"), ";"),
    (re.compile(r"([!?])\1+"), r"\1"),
    (re.compile(r"\.{4,}"), "..."),
    (re.compile(r"(?<!\.)\.\.(?!\.)"), "."),
    (re.compile(r"([!?])\.(?!\.)"), r"\1"),
    (re.compile(r"[,;:] ?([.!?])(?![\w.])"), r"\1"),
)
_LEADING_MARKS = "\"'“”„«»‘’([¿¡"
_TRAILING_MARKS = ".,;:!?…\"'“”»’)]-–—\u00a0\u202f"
_STAMMER = re.compile(r"([^\W\d_])(?:-\1)+-(?=\1)", re.IGNORECASE)  # w-w-what
_STAMMERED_I = re.compile(r"(?:I-)+(?=I\b)")
_LOWER_I = re.compile(r"(?<![\w.'’-])i(?=(?:['’](?:m|d|ll|ve))?(?:[\s,;:!?…]|\.?$|\. ))")
_MAX_BROKEN_OFF = 8  # maximum letters of a broken-off word
_ENDS = tuple(".!?…。！？")
_CLOSING = "\"'”»’)]"
_NOT_FINAL = frozenset({"", ",", "-", "–", "—", "...", "…"})
_ABBREVIATIONS = WordList(__package__, "abbreviations")
_SAID_ONCE = WordList(__package__, "said_once")  # words whose immediate repetition is a stutter
_QUESTION_WORDS = WordList(__package__, "question_words")
# A sound in one language is a word in another: `um` is German and Portuguese, `er` German and Dutch.
_FILLERS = {
    "en": r"u+m+|u+h+m*|e+r+m+|er|ehm+",
    "de": r"ä+h+m*|ö+h+m*|e+h+m+|ühm+|uhm+",
    "fr": r"e+u+h+m*|h+e+u+h*|ehm+",
    "es": r"eh+m*|em+|uhm+",
    "it": r"eh+m+|uhm+|ehmm+",
    "nl": r"u+h+m*|e+h+m*|e+u+h+m*",
    "pt": r"ehm+|uhm+|ahm+|ã+h+m*",
}
_FILLERS_ELSEWHERE = r"uhm+|ehm+|ähm+"
_ARTICLES, _BEFORE_ARTICLES = WordList(__package__, "articles"), WordList(__package__, "before_articles")
KNOWN = tuple(_FILLERS)


@dataclass(frozen=True, slots=True)
class _Token:
    """One word with the punctuation around it."""

    before: str
    word: str
    after: str

    def __str__(self) -> str:
        return self.before + self.word + self.after


def clean_segments(segments: Sequence[Segment], language: str | None) -> tuple[str, ...]:
    """Return one text per segment. A segment keeps its own text if nothing would be left."""
    if language in UNCASED:
        return tuple(_fix_spacing(segment.text, language) or segment.text for segment in segments)
    texts: list[str] = []
    for index, segment in enumerate(segments):
        starts_sentence = index == 0 or _ends_with_stop(texts[-1]) or _speaker_changes(segments[index - 1], segment)
        text = _clean_text(segment.text, language, starts_sentence)
        if text and language in KNOWN and _needs_full_stop(segments, index, text, language):
            text += "."
        texts.append(text or segment.text)
    return tuple(texts)


def strip_fillers(text: str, language: str | None) -> str:
    """The text without fillers and stutters; empty when it contains nothing else."""
    if language in UNCASED:
        return _fix_spacing(text, language)
    return _clean_text(text, language, starts_sentence=False)


def _clean_text(text: str, language: str | None, starts_sentence: bool) -> str:
    spaced = _fix_spacing(text, language)
    tokens = _without_fillers([_split_marks(word) for word in spaced.split(" ") if word], language)
    tokens = _without_stutters(tokens, language)
    cleaned = _fix_spacing(" ".join(map(str, tokens)), language)
    if language == "en":
        cleaned = _LOWER_I.sub("I", cleaned)
    if not any(letter.isalnum() for letter in cleaned):
        return ""
    words = cleaned.split(" ")
    capitalise_next = starts_sentence or next((letter for letter in spaced if letter.isalpha()), "").isupper()
    for index, word in enumerate(words):
        if capitalise_next:
            words[index] = _capitalise(word, language)
        capitalise_next = _ends_a_sentence(word, language) and index + 1 < len(words)
    return " ".join(words)


def _fix_spacing(text: str, language: str | None) -> str:
    spaced = _BLANKS.sub(" ", _CONTROL_CHARACTERS.sub(" ", text)).strip()
    if language in UNCASED:
        return spaced
    spaced = (_SPACE_BEFORE_MARK_FRENCH if language == "fr" else _SPACE_BEFORE_MARK).sub(r"\1", spaced)
    for doubled, single in _REPEATED_MARKS:
        spaced = doubled.sub(single, spaced)
    return _MISSING_SPACE.sub(lambda mark: f"{mark[0]} ", spaced).strip()


def _split_marks(word: str) -> _Token:
    rest = word.lstrip(_LEADING_MARKS)
    bare_word = rest.rstrip(_TRAILING_MARKS)
    return _Token(word[: len(word) - len(rest)], bare_word, rest[len(bare_word) :])


def _without_fillers(tokens: Sequence[_Token], language: str | None) -> list[_Token]:
    result: list[_Token] = []
    capitalise_next = False  # a capitalised filler was removed: the next word gets its capital
    for token in tokens:
        after = token.after.strip("-–—")
        if token.before or not _is_filler(token.word, language) or after not in ("", ",", ";", ":", ".", "…", "..."):
            result.append(replace(token, word=_capitalise(token.word, language)) if capitalise_next else token)
            capitalise_next = False
            continue
        capitalise_next = capitalise_next or token.word[:1].isupper()
        if not result:
            continue
        last = result[-1]
        if after in (".", "…", "..."):
            marks = last.after.rstrip(",;:")
            result[-1] = replace(last, after=marks if marks.endswith(_ENDS) else marks + after)
        elif after == "," and last.after == "," and not _is_opener(result):
            result[-1] = replace(last, after="")  # both commas belong to the filler: "I think, um, we"
    return result


def _is_opener(tokens: Sequence[_Token]) -> bool:
    """Whether the last word stands alone at the start of a sentence and owns its comma: `Yes, um, I think`."""
    is_first = len(tokens) == 1 or tokens[-2].after.endswith(_ENDS)
    return is_first and tokens[-1].word.lower() not in ("i", "je", "ich", "yo", "io", "ik", "eu")


def _without_stutters(tokens: Sequence[_Token], language: str | None) -> list[_Token]:
    once, phrases = _SAID_ONCE.words(language or ""), _stutter_phrases(language or "")
    result: list[_Token] = []
    for original in tokens:
        token = replace(original, word=_remove_stammer(original.word, language))
        while result and _is_false_start(result, token, once):
            first = result.pop()
            if not first.word:  # there is a dash between them
                first = result.pop()
            token = _Token(first.before, _with_case_of(first.word, token.word), token.after)
        result.append(token)
        if len(result) >= 4 and _is_phrase_twice(result[-4:], phrases):
            result[-2:] = []
            result[-1] = replace(result[-1], after=token.after)
    return result


def _is_false_start(tokens: Sequence[_Token], token: _Token, once: frozenset[str]) -> bool:
    """Whether the last token was a false start of this word: `the the`, `th- the`, `I — I`."""
    last = tokens[-1]
    word = token.word.lower().replace("’", "'")
    if token.before or not word:
        return False
    if not last.word:
        if len(tokens) < 2 or str(last).strip("-–—"):
            return False
        last = tokens[-2]
    previous = last.word.lower().replace("’", "'")
    if last.after == "-" and previous.isalpha() and len(previous) <= _MAX_BROKEN_OFF and word.startswith(previous):
        return True
    is_spelled = last.word.isupper() and token.word.isupper() and word != "i"  # spelled letters: A A
    return previous == word and word in once and last.after in _NOT_FINAL and not is_spelled


def _is_phrase_twice(tokens: Sequence[_Token], phrases: frozenset[tuple[str, str]]) -> bool:
    first, second, third, fourth = (token.word.lower() for token in tokens)
    plain = not any(token.before or token.after not in ("", ",") for token in tokens[:3])
    return plain and (first, second) == (third, fourth) and (first, second) in phrases and not tokens[3].before


def _remove_stammer(word: str, language: str | None) -> str:
    plain = _STAMMER.sub("", word)
    if plain != word:
        plain = _with_case_of(word, plain)
    return _STAMMERED_I.sub("", plain) if language == "en" else plain


def _with_case_of(first: str, word: str) -> str:
    return word[:1].upper() + word[1:] if first[:1].isupper() and word[:1].islower() else word


def _capitalise(word: str, language: str | None) -> str:
    """Capitalise the word; leave names like iPhone and addresses unchanged."""
    token = _split_marks(word)
    bare_word = token.word
    if not bare_word[:1].islower() or not all(part.isalpha() for part in re.split(r"[-'’]", bare_word) if part):
        return word
    if any(letter.isupper() for letter in bare_word) or (language == "nl" and token.before.endswith(("'", "’"))):
        return word
    if language in ("tr", "az") and bare_word[0] == "i":
        capital = "İ"
    elif language == "nl" and bare_word.startswith("ij"):
        return f"{token.before}IJ{bare_word[2:]}{token.after}"
    else:
        capital = bare_word[0].upper()
    return f"{token.before}{capital}{bare_word[1:]}{token.after}" if len(capital) == 1 else word


def _ends_with_stop(text: str) -> bool:
    return text.rstrip(_CLOSING + " ").endswith(_ENDS)


def _ends_a_sentence(word: str, language: str | None) -> bool:
    """Whether a new sentence follows in the same text; in doubt, no: `ca. ten`, `No. 5`, `“What?” he asked`."""
    token = _split_marks(word)
    if token.after in ("!", "?"):
        return True
    plain = token.word.lower()
    known = plain.isalpha() and (len(plain) > 3 or plain in function_words(language))
    return token.after == "." and known and plain not in _ABBREVIATIONS.words()


def _speaker_changes(first: Segment, second: Segment) -> bool:
    return first.speaker is not None and second.speaker is not None and first.speaker != second.speaker


def _needs_full_stop(segments: Sequence[Segment], index: int, text: str, language: str | None) -> bool:
    """Whether a full stop is missing: another speaker or a new sentence follows, and this is no question."""
    if not (text[-1].isalnum() or text[-1] == "%"):
        return False
    first = _split_marks(text.split(" ", 1)[0]).word.lower().replace("’", "'")
    if first in _QUESTION_WORDS.words(language or ""):
        return False
    following = next((segment for segment in islice(segments, index + 1, None) if segment.text.strip()), None)
    if following is None or _speaker_changes(segments[index], following):
        return True
    word = _split_marks(following.text.split(maxsplit=1)[0]).word
    return begins_a_sentence(word, language)


@cache
def _stutter_phrases(language: str) -> frozenset[tuple[str, str]]:
    """Pairs of words, in lower case, whose immediate repetition is a stutter."""
    return frozenset(product(_BEFORE_ARTICLES.words(language), _ARTICLES.words(language)))


def _is_filler(word: str, language: str | None) -> bool:
    """Whether a bare word is only a sound. In capitals it is an abbreviation: ER, UM."""
    pattern = _FILLERS.get(language or "", _FILLERS_ELSEWHERE)
    return re.fullmatch(pattern, word, re.IGNORECASE) is not None and (len(word) < 2 or not word.isupper())
