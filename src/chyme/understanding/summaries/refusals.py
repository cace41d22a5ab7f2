"""Recognise sentences that say nothing about a document: fields, stamps, captions, fragments, notices, code."""

from __future__ import annotations

import re
from functools import cache

from chyme.text.function_words import function_words, words_in
from chyme.text.sentences import word_count
from chyme.text.unspaced_scripts import RUNS
from chyme.text.word_lists import WordList
from chyme.understanding.summaries.phrases import PhraseList, plain_words
from chyme.understanding.summaries.self_reference import names_document

_MIN_WORDS, _MAX_WORDS = 5, 110
_ENDED = re.compile(r"[.!?…。！？؟।][\"'”»’)\]」』]{0,3}$")
_BRACKET = re.compile(r"[()]")
_LETTER = re.compile(r"[^\W\d_]")
_SPLIT_WORDS = re.compile(r"\b\w\b \b\w\b \b\w\b")
_INITIALS = re.compile(r"\b[A-Z]\.(?! ?[A-Z][a-z]{2})")
_SALUTATION = re.compile(
    r"^(?:dear|hi|hello|hey|sehr geehrte|liebe[rs]?|hallo|guten (?:tag|morgen)|bonjour"
    r"|good (?:morning|afternoon|evening)"
    r"|cher|chère|hola|estimad\w*|gentile|geachte|best|regards|thanks|thank you|sincerely|mit freundlichen"
    r"|viele grüße|welcome|cheers)\b",
    re.IGNORECASE,
)
_NO_SENTENCE = re.compile(
    r"^[\[{=<|\\@#/&]|-{4,}|={4,}|<<<|>>>|_{3,}|\.{4,}|…{2,}|\]\(|https?://|www\.|\\[a-z]+[{\\]|[{}]|::|\(\)|=>|\);|//"
    r"|\S+=\S+|\s--?[a-z]+\b(?= \S)|[☐☑☒□■]|\[[ xX]?\]|[©∈⊆∩∅⇔∀∃∑∫≤≥≈√∞\ufffd\ue000-\uf8ff]|=[0-9A-F]{2}\b"
    r"|\b[a-z]+_[a-z_]+\(|\b(?:and|or|by|for|of|the|to|with) [,.]|x000d|\^|\$\\|\\$"
)
_CAPTION = re.compile(
    r"^(?:figures?|figs?\.|tables?|tab\.|abb(?:ildung)?\.?|tabelle|chart|exhibit|plate|photo|image|picture|source|quelle"
    r"|listing|scheme|map|box|appendix|annex|grafik|tableau|tabla|figura|cuadro|bild|foto)\s?(?:\(?[\dIVX]+[a-z]?\b|[:.])"
    r"|\((?:photo|image|picture|credit|source)s?\b|^(?:photo|picture|image) by\b",
    re.IGNORECASE,
)
_STAMP = re.compile(
    r"^(?:(?:electronically |e-)?(?:filed|received|entered|docketed)\b.{0,40}\d|case\s?(?:no\b|number|:)"
    r"|(?:appellate )?case:"
    r"|page \d|seite \d|docket|document:? \d|entry id|rev(?:ision)?\.? \d|version \d|draft \d|doc(?:ument)? (?:no|id)"
    r"|printed on|generated (?:on|by)|created (?:on|by)|last (?:up|mod)|changed in version|added in version|exception\b"
    r"|(?:from|to|sent|date|time|cc|bcc|subject|re|von|an|gesendet|betreff|datum|attachments?|tel|fax|phone|e-?mail|address"
    r"|before|present|venue|place|author|editor|keywords)\s?:|(?:heard in|isbn|issn|doi|id|see|cf|ibid)\b"
    r"|for (?:[\w-]+ ){1,5}see\b)",
    re.IGNORECASE,
)
_FIELD = re.compile(r"(?:^|[\s,;|])[A-ZÄÖÜÉ][\w'’/()-]*(?: [\w'’/()#.-]+){0,3}:(?=\s|$)")
_CONTACT = re.compile(
    r"\S@\S|\b(?:tel|fax|phone|telefon)\b\.?:?\s?[+(\d]|\(\d{3}\) ?\d{3}|\+\d{2}[ \d]{6}|\b[A-Z]{2},? \d{5}\b"
    r"|\b\d{1,5} [A-Z]\w+ (?:street|st|road|rd|avenue|ave|drive|lane|blvd)\b|\b\d{5} [A-Z][a-z]+|(?:straße|str\.) \d",
    re.IGNORECASE,
)
_AMOUNT = re.compile(r"(?<![\d.,])\d{1,3}(?:[.,' ]?\d{3}){0,3}[.,]\d\d(?![\d.,]*\d)|[€$£¥]\s?\d")
_FEW_AMOUNTS, _FEW_NUMBERS, _FEW_QUOTES = 3, 0.3, 6
_NAME = re.compile(r"[a-z]{1,12}[A-Z\d]")  # iPhone, py3langid
_TORN = re.compile(r"^[,;:.!?)\]”»%-]|^(?:and|or|of|which|that|und|oder)\b(?![^,]*,)|[,;(\[-]$")
_ODD_WORD = re.compile(
    r"[a-z]{2}[A-Z]{2}|[a-z][A-Z][a-z]+[A-Z]|\d[a-z]\d|[a-z]\d[a-z]|[^\W\d_][|\\~^][^\W\d_]|[¬¦§¶]{2}"
)
_REFUSED, _FILLER = WordList(__package__, "refused_phrases"), WordList(__package__, "filler_text")
_OWN_SUBJECTS = frozenset({"web", "place"})  # "This privacy policy explains …" may speak of them
# What placeholder texts say of themselves.
_BLIND_TEXTS = (
    "dummy text of the printing",
    "text without a meaning",
    "text without meaning",
    "dies ist ein blindtext",
)
_LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt")  # whose function words are known
_NOUN_CAPITALS = ("de", "lb")  # languages that write nouns with a capital


def is_refused(sentence: str, language: str | None, names: frozenset[str] = frozenset()) -> bool:
    """Whether a sentence cannot be the summary of a document. `names` are words that may begin it in lower case."""
    words = word_count(sentence)
    return (
        not _MIN_WORDS <= words <= _MAX_WORDS
        or not is_complete(sentence, names)
        or sentence.isupper()
        or _NO_SENTENCE.search(sentence) is not None
        or _SALUTATION.match(sentence) is not None
        or _CAPTION.search(sentence) is not None
        or _STAMP.match(sentence) is not None
        or has_refused_phrase(sentence)
        or _is_noise(sentence, words)
        or _is_list(sentence, language)
    )


def is_complete(sentence: str, names: frozenset[str] = frozenset()) -> bool:
    """Whether a sentence has its beginning and its end."""
    if not _ENDED.search(sentence) or _TORN.search(sentence):
        return False
    if sentence[0].islower() and not _NAME.match(sentence) and sentence.split(maxsplit=1)[0] not in names:
        return False
    depth = 0
    for mark in _BRACKET.findall(sentence):
        depth += 1 if mark == "(" else -1
        if depth < 0:
            return False
    return depth == 0 and sentence.count("“") == sentence.count("”") and sentence.count('"') % 2 == 0


def has_refused_phrase(sentence: str) -> bool:
    """Whether it is a notice: of a mail, a licence or a web page, or it only points elsewhere."""
    groups = _refused_phrases().groups_in(plain_words(sentence))
    return bool(groups - _OWN_SUBJECTS if groups and names_document(sentence) else groups)


def is_filler(text: str) -> bool:
    """Whether a text is placeholder text (lorem ipsum)."""
    words = words_in(text)
    is_latin = len(words) > 3 and sum(word in _FILLER.words() for word in words) > 0.4 * len(words)
    return is_latin or any(phrase in text.lower() for phrase in _BLIND_TEXTS)


@cache
def _refused_phrases() -> PhraseList:
    return PhraseList(_REFUSED.sections)


def _is_noise(sentence: str, words: int) -> bool:
    """Whether it is made of numbers, initials, contacts, fields, split or misread words."""
    letters = len(_LETTER.findall(sentence))
    return (
        letters < 0.6 * len(sentence.replace(" ", ""))
        or len(_INITIALS.findall(sentence)) > 2
        or _SPLIT_WORDS.search(sentence) is not None
        or (len(_CONTACT.findall(sentence)) > 1 and not names_document(sentence))
        or len(_FIELD.findall(sentence)) > 1
        or sentence.count('"') > _FEW_QUOTES
        or len(_AMOUNT.findall(sentence)) >= _FEW_AMOUNTS
        or sum(map(str.isdecimal, sentence)) > _FEW_NUMBERS * letters
        or len(_ODD_WORD.findall(sentence)) > max(1, words // 12)
        or is_filler(sentence)
    )


def _is_list(sentence: str, language: str | None) -> bool:
    """Whether it has too few small words or too many capitals for a sentence: names, a title, cells of a table."""
    if RUNS.search(sentence):
        return False
    words = words_in(sentence)
    small = _all_function_words() | function_words(language)  # the detected one may be that of another part
    if function_words(language) and len(words) > 6 and sum(word in small for word in words) < 0.12 * len(words):
        return True
    spaced = [word for word in sentence.split() if word[:1].isalpha()]
    capitals = sum(word[0].isupper() for word in spaced)
    return capitals > (0.8 if language in _NOUN_CAPITALS else 0.62) * len(spaced)


@cache
def _all_function_words() -> frozenset[str]:
    return frozenset().union(*(function_words(language) for language in _LANGUAGES))
