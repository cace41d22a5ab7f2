"""Correct a transcript by rules: fillers, stutters, spacing, capitals, full stops; never a word's meaning."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from chyme.model import Segment
from chyme.speech.transcripts.fillers import KNOWN, is_filler, stutter_phrases, stutter_words
from chyme.text.function_words import begins_a_sentence, function_words

RULES = 1  # raise it when a rule changes what comes out
UNCASED = frozenset({"zh", "ja", "ko", "yue", "th", "lo", "my", "km"})  # only their spacing is touched

_BLANKS = re.compile(r"[ \t\r\n\f\v]+")
_UNWRITTEN = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u200b\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_LATE = re.compile(r" ([,;:!?]|\.(?![\w.]))(?=[\s\"”»’')\]]|$)")
_LATE_IN_FRENCH = re.compile(r" (,|\.(?![\w.]))(?=[\s\"”»’')\]]|$)")  # which puts a blank before the others
_CROWDED = re.compile(r"(?<=[^\W\d_]),(?=[^\W\d_])|(?<=[^\W\d_])(?<=\w)([?!])(?=[A-ZÀ-ÖØ-Þ])")
_DOUBLED = (
    (re.compile(r" ,(?=[^\W\d_])"), ", "),
    (re.compile(r",(?: ?,)+"), ","),
    (re.compile(r";(?: ?;)+"), ";"),
    (re.compile(r"([!?])\1+"), r"\1"),
    (re.compile(r"\.{4,}"), "..."),
    (re.compile(r"(?<!\.)\.\.(?!\.)"), "."),
    (re.compile(r"([!?])\.(?!\.)"), r"\1"),
    (re.compile(r"[,;:] ?([.!?])(?![\w.])"), r"\1"),
)
_BEFORE = "\"'“”„«»‘’([¿¡"
_AFTER = ".,;:!?…\"'“”»’)]-–—\u00a0\u202f"
_STAMMER = re.compile(r"([^\W\d_])(?:-\1)+-(?=\1)", re.IGNORECASE)  # w-w-what
_STAMMERED_I = re.compile(r"(?:I-)+(?=I\b)")
_LOWER_I = re.compile(r"(?<![\w.'’-])i(?=(?:['’](?:m|d|ll|ve))?(?:[\s,;:!?…]|\.?$|\. ))")
_CUT_OFF = 8  # letters a word that was broken off may have had
_ENDS = tuple(".!?…。！？")
_CLOSING = "\"'”»’)]"
_GOES_ON = frozenset({"", ",", "-", "–", "—", "...", "…"})
_ABBREVIATIONS = """
abs ang apr approx aprox apt art aug ave bijv bzw capt chap col dept dez div dott dra ecc engl enz env est etc evt evtl
excl exkl feb fig geb gen gest ggf gov inc incl inkl jan jul jun ltd max min mio mrd mrs nov núm oct okt prof pág rev
sec sen sep sept sgt sig sog sra srta str tel usw vgl vol zzgl
"""
_QUESTION_WORDS = {
    "en": "who whom whose what which where when why how is are was were do does did can could will would should have"
    " has",
    "de": "wer wen wem wessen was welche welcher welches wo wohin woher wann warum wieso weshalb wie ist sind hat haben"
    " kann können soll willst kannst hast bist",
    "fr": "qui que quoi quel quelle quels quelles où quand pourquoi comment combien est-ce qu'est-ce",
    "es": "quién quiénes qué cuál cuáles dónde cuándo por cómo cuánto cuántos cuánta",
    "it": "chi che cosa quale quali dove quando perché come quanto quanti",
    "nl": "wie wat welke waar wanneer waarom hoe is zijn heb heeft kan kun zou",
    "pt": "quem que qual quais onde quando por como quanto quantos será",
}


@dataclass(frozen=True, slots=True)
class _Token:
    """One word with the marks around it."""

    before: str
    word: str
    after: str

    def __str__(self) -> str:
        return self.before + self.word + self.after


def clean_segments(segments: Sequence[Segment], language: str | None) -> tuple[str, ...]:
    """One text for each segment. Where nothing would be left, the segment keeps its own."""
    if language in UNCASED:
        return tuple(_spaced(segment.text, language) or segment.text for segment in segments)
    texts: list[str] = []
    for at, segment in enumerate(segments):
        fresh = at == 0 or _ended(texts[-1]) or _other_speaker(segments[at - 1], segment)
        text = _tidy(segment.text, language, fresh)
        if text and language in KNOWN and _stops(segments, at, text, language):
            text += "."
        texts.append(text or segment.text)
    return tuple(texts)


def strip_fillers(text: str, language: str | None) -> str:
    """The text without fillers and stutters; empty when it has nothing else."""
    return _tidy(text, language, fresh=False) if language not in UNCASED else _spaced(text, language)


def _tidy(text: str, language: str | None, fresh: bool) -> str:
    spaced = _spaced(text, language)
    tokens = _without_stutters(
        _without_fillers([_token(word) for word in spaced.split(" ") if word], language), language
    )
    tidy = _spaced(" ".join(map(str, tokens)), language)
    if language == "en":
        tidy = _LOWER_I.sub("I", tidy)
    if not any(letter.isalnum() for letter in tidy):
        return ""
    words = tidy.split(" ")
    begins = fresh or _is_capital(spaced)
    for at, word in enumerate(words):
        if begins:
            words[at] = _capital(word, language)
        begins = _ends_a_sentence(word, language) and at + 1 < len(words)
    return " ".join(words)


def _spaced(text: str, language: str | None) -> str:
    spaced = _BLANKS.sub(" ", _UNWRITTEN.sub(" ", text)).strip()
    if language in UNCASED:
        return spaced
    spaced = (_LATE_IN_FRENCH if language == "fr" else _LATE).sub(r"\1", spaced)
    for doubled, single in _DOUBLED:
        spaced = doubled.sub(single, spaced)
    return _CROWDED.sub(lambda mark: f"{mark[0]} ", spaced).strip()


def _token(word: str) -> _Token:
    rest = word.lstrip(_BEFORE)
    bare_word = rest.rstrip(_AFTER)
    return _Token(word[: len(word) - len(rest)], bare_word, rest[len(bare_word) :])


def _without_fillers(tokens: Sequence[_Token], language: str | None) -> list[_Token]:
    kept: list[_Token] = []
    capital = False  # a filler with a capital was left out: the next word takes it
    for token in tokens:
        after = token.after.strip("-–—")
        if token.before or not is_filler(token.word, language) or after not in ("", ",", ";", ":", ".", "…", "..."):
            kept.append(replace(token, word=_capital(token.word, language)) if capital else token)
            capital = False
            continue
        capital = capital or token.word[:1].isupper()
        if not kept:
            continue
        last = kept[-1]
        if after in (".", "…", "..."):
            ended = last.after.rstrip(",;:")
            kept[-1] = replace(last, after=ended if ended.endswith(_ENDS) else ended + after)
        elif after == "," and last.after == "," and not _opens(kept):
            kept[-1] = replace(last, after="")  # both commas were the filler's: "I think, um, we"
    return kept


def _opens(kept: Sequence[_Token]) -> bool:
    """Whether the last word stands by itself at the beginning, and its comma is its own: `Yes, um, I think`."""
    first = len(kept) == 1 or kept[-2].after.endswith(_ENDS)
    return first and kept[-1].word.lower() not in ("i", "je", "ich", "yo", "io", "ik", "eu")


def _without_stutters(tokens: Sequence[_Token], language: str | None) -> list[_Token]:
    once, phrases = stutter_words(language), stutter_phrases(language)
    kept: list[_Token] = []
    for each in tokens:
        token = replace(each, word=_unstammered(each.word, language))
        while kept and _repeats(kept, token, once):
            first = kept.pop()
            if not first.word:  # a dash between them
                first = kept.pop()
            token = _Token(first.before, _with_case_of(first.word, token.word), token.after)
        kept.append(token)
        if len(kept) >= 4 and _is_phrase_twice(kept[-4:], phrases):
            kept[-2:] = []
            kept[-1] = replace(kept[-1], after=token.after)
    return kept


def _repeats(kept: Sequence[_Token], token: _Token, once: frozenset[str]) -> bool:
    """Whether the last of these was a false start of this word: `the the`, `th- the`, `I — I`."""
    last = kept[-1]
    word = token.word.lower().replace("’", "'")
    if token.before or not word:
        return False
    if not last.word:
        if len(kept) < 2 or str(last).strip("-–—"):
            return False
        last = kept[-2]
    said = last.word.lower().replace("’", "'")
    if last.after == "-" and said.isalpha() and len(said) <= _CUT_OFF and word.startswith(said):
        return True
    spelt = last.word.isupper() and token.word.isupper() and word != "i"  # letters: A A
    return said == word and word in once and last.after in _GOES_ON and not spelt


def _is_phrase_twice(tokens: Sequence[_Token], phrases: frozenset[tuple[str, str]]) -> bool:
    first, second, third, fourth = (token.word.lower() for token in tokens)
    plain = not any(token.before or token.after not in ("", ",") for token in tokens[:3])
    return plain and (first, second) == (third, fourth) and (first, second) in phrases and not tokens[3].before


def _unstammered(word: str, language: str | None) -> str:
    plain = _STAMMER.sub("", word)
    if plain != word:
        plain = _with_case_of(word, plain)
    return _STAMMERED_I.sub("", plain) if language == "en" else plain


def _with_case_of(first: str, word: str) -> str:
    return word[:1].upper() + word[1:] if first[:1].isupper() and word[:1].islower() else word


def _capital(word: str, language: str | None) -> str:
    """The word with a capital; names like iPhone and addresses stay what they are."""
    token = _token(word)
    bare_word = token.word
    if not bare_word[:1].islower() or not all(part.isalpha() for part in re.split(r"[-'’]", bare_word) if part):
        return word
    if any(letter.isupper() for letter in bare_word) or (language == "nl" and token.before.endswith(("'", "’"))):
        return word
    if language in ("tr", "az") and bare_word[0] == "i":
        large = "İ"
    elif language == "nl" and bare_word.startswith("ij"):
        return f"{token.before}IJ{bare_word[2:]}{token.after}"
    else:
        large = bare_word[0].upper()
    return f"{token.before}{large}{bare_word[1:]}{token.after}" if len(large) == 1 else word


def _is_capital(text: str) -> bool:
    first = next((letter for letter in text if letter.isalpha()), "")
    return first.isupper()


def _ended(text: str) -> bool:
    return text.rstrip(_CLOSING + " ").endswith(_ENDS)


def _ends_a_sentence(word: str, language: str | None) -> bool:
    """Whether what follows in the same text begins anew; in doubt, not: `ca. ten`, `No. 5`, `“What?” he asked`."""
    token = _token(word)
    if token.after in ("!", "?"):
        return True
    plain = token.word.lower()
    known = plain.isalpha() and (len(plain) > 3 or plain in function_words(language))
    return token.after == "." and known and plain not in _ABBREVIATIONS.split()


def _other_speaker(one: Segment, other: Segment) -> bool:
    return one.speaker is not None and other.speaker is not None and one.speaker != other.speaker


def _stops(segments: Sequence[Segment], at: int, text: str, language: str | None) -> bool:
    """Whether a full stop is missing: the next one speaks or begins anew, and this is no question."""
    if not (text[-1].isalnum() or text[-1] == "%"):
        return False
    first = _token(text.split(" ", 1)[0]).word.lower().replace("’", "'")
    if first in _QUESTION_WORDS.get(language or "", "").split():
        return False
    following = next((segment for segment in islice(segments, at + 1, None) if segment.text.strip()), None)
    if following is None or _other_speaker(segments[at], following):
        return True
    word = _token(following.text.split(maxsplit=1)[0]).word
    return begins_a_sentence(word, language)
