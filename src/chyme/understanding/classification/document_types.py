"""Recognise common kinds of documents (invoice, letter, recipe …), only on strong evidence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from chyme.text.word_lists import WordList
from chyme.understanding.classification.data_descriptions import is_code

_HEAD, _TAIL = 6_000, 4_000  # characters at the beginning and the end that are searched
_BEGINNING = 600  # characters in which the name of the kind must occur
_FRONT = 3_500  # the same for a paper, whose abstract is below its authors
_MIN_SIGNS = 2  # signs that are needed besides the name
_MAX_KINDS = 2  # kinds of one document, besides that of its file
_TYPES = WordList(__package__, "document_types")
_QUANTITY = (
    r"\d\s?(?:g|kg|ml|cl|dl|l|oz|lbs?|EL|TL|tbsp|tsp|cups?|eggs?|Eier|Ei|œufs?|oeufs?|huevos?|uova|eieren|Stück"
    r"|Prisen?|pinch(?:es)?|cloves?|Zehen?)\b"
)
_GREETING = re.compile(
    r"^(?:dear \w.{0,60}[,:]?|sehr geehrte.{0,80},?|madame, monsieur,?|(?:madame|monsieur),?|ch[eè]re? .{0,40},"
    r"|estimad[oa]s?\b.{0,60}|(?:gentile|egregi[oa]|spett\.?(?:le|abile)) .{0,60}|geachte .{0,60})$",
    re.IGNORECASE,
)
_FAREWELL = re.compile(
    r"\b(?:sincerely|yours (?:truly|faithfully)|kind regards|best regards|hochachtungsvoll|mit freundlichen grüßen"
    r"|mit freundlichem gruß|freundliche grüße|cordialement|salutations distinguées|atentamente|cordiali saluti"
    r"|distinti saluti|hoogachtend|met vriendelijke groet(?:en)?)\b"
    r"|^\s*(?:\d{1,2}\.? \w+ \d{4}|\w+ \d{1,2}, \d{4}|.{2,30}, (?:den )?\d{1,2}\.\s?\d{1,2}\.\s?\d{4})\s*$"
    r"|\b(?:betreff|subject|re|objet|asunto)\s*:",
    re.IGNORECASE,
)
# A till receipt seldom calls itself one.
_TILL = tuple(
    re.compile(sign, re.IGNORECASE | re.MULTILINE)
    for sign in (
        r"^\W{0,3}(?:sub)?(?:total|summe|gesamt|totale|totaal)\b.{0,30}\d[.,]\d\d\b",
        r"^\W{0,3}(?:geg\.|gegeben|bar|cash|change|rückgeld|wechselgeld|rendu|monnaie|espèces|efectivo|cambio|contanti|resto"
        r"|wisselgeld|contant|visa|mastercard|girocard|ec-?karte|card|carte|pin)\b.{0,30}\d[.,]\d\d\b",
        r"\b(?:bon|beleg|kasse|receipt|ticket|till|register|cashier|terminal|trans(?:action)?)[\s-]?(?:nr|no|num|id|#|:|\d)"
        r"|\b(?:vielen dank für ihren einkauf|thank you for (?:shopping|your (?:purchase|visit)))\b"
        r"|\b(?:merci de votre visite|gracias por su (?:compra|visita)|grazie (?:e arrivederci|della visita))\b"
        r"|\d\d:\d\d",
        r"(?:^[^\n]{2,60}[\s€$£]\d{1,4}[.,]\d\d(?:\s?(?:€|EUR))?(?:\s?[A-Z*])?\s*\n+){3}",
    )
)
_BY_MIME = (
    ("message/rfc822", "e-mail"),
    ("application/mbox", "e-mail"),
    ("outlook", "e-mail"),
    ("epub", "book"),
    ("presentation", "presentation"),
    ("powerpoint", "presentation"),
    ("spreadsheet", "spreadsheet"),
    ("excel", "spreadsheet"),
    ("text/csv", "table"),
    ("tab-separated", "table"),
    ("text/calendar", "calendar"),
    ("text/vcard", "contact"),
    ("text/vtt", "subtitles"),
    ("subrip", "subtitles"),
    ("ipynb", "notebook"),
)
_GROUP = re.compile(r"\([^()]*\)[?*+]?(?:\{[\d,]+\})?|\[[^\[\]]*\][?*+]?(?:\{[\d,]+\})?")
_OPTIONAL = re.compile(r"\\?.[?*]|\\.")
_LETTERS = re.compile(r"[^\W\d_]+")
_LOG_LINE = re.compile(
    r"^\W?(?:\d{4}-\d\d-\d\d[T ]|\d{1,2}/\w{3}/\d{4}:|[A-Z][a-z]{2} [ \d]\d )?\d\d:\d\d:\d\d.{0,60}?"
    r"\b(?:INFO|WARN(?:ING)?|ERROR|DEBUG|TRACE|FATAL|NOTICE|kernel|sshd|systemd|GET|POST)\b",
    re.MULTILINE,
)
_MIN_LOG_LINES = 3


@dataclass(frozen=True, slots=True)
class _Type:
    """How a kind of document is recognised."""

    tag: str
    names: re.Pattern[str]
    anchors: frozenset[str]  # one of these is part of every name; empty if that is not certain
    in_title: bool  # only the title may name it
    signs: tuple[re.Pattern[str], ...]
    least: int
    replaces: frozenset[str]


def title_names_type(title: str, tag: str) -> bool:
    """Whether a title names this kind of document."""
    return any(one.names.search(title) for one in _types() if one.tag == tag)


def document_type_tags(text: str, title: str | None, mime: str) -> list[tuple[str, float]]:
    """Tags for the kind of document, in English, with confidences: from its MIME type and its text."""
    found = [(tag, 0.9) for part, tag in _BY_MIME if part in mime][:1]
    if is_code(mime):
        return [("source code", 0.9)]
    is_mail = "rfc822" in mime or "outlook" in mime
    kinds = _without_replaced(list(_find_types(text, title, is_mail)))
    head = text[:_HEAD]
    if not any(tag in ("receipt", "reminder") for tag, _ in kinds) and all(sign.search(head) for sign in _TILL):
        kinds.insert(0, ("receipt", 0.7))
    if not kinds and len(_LOG_LINE.findall(head)) >= _MIN_LOG_LINES:
        kinds.append(("log", 0.8))
    return found + kinds[:_MAX_KINDS]


def _find_types(text: str, title: str | None, is_mail: bool) -> Iterator[tuple[str, float]]:
    """Every kind for which there is evidence, in the order of the list."""
    head = text[:_HEAD]
    searched = f"{head}\n{text[max(_HEAD, len(text) - _TAIL) :]}"
    front = f"{title or ''}\n{head[:_FRONT]}"
    beginning = front[: len(title or "") + 1 + _BEGINNING]
    lower, lower_front = beginning.lower(), front.lower()
    for one in _types():
        is_paper = one.tag == "paper"
        if one.anchors and not any(anchor in (lower_front if is_paper else lower) for anchor in one.anchors):
            continue
        named = one.names.search(title or "") is not None
        if not named and (one.in_title or not one.names.search(front if is_paper else beginning)):
            continue
        signs = sum(sign.search(searched) is not None for sign in one.signs)
        if signs >= one.least:
            yield one.tag, min(0.9, 0.5 + 0.1 * signs + 0.1 * named)
    if not is_mail and _is_letter(head, text[:20_000]):
        yield "letter", 0.7


def _without_replaced(kinds: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """The kinds without those that are only a part of another one: the order in an invoice."""
    tags = {tag for tag, _ in kinds}
    replaced = frozenset[str]().union(*(one.replaces for one in _types() if one.tag in tags))
    return [(tag, score) for tag, score in kinds if tag not in replaced]


@cache
def _types() -> tuple[_Type, ...]:
    return tuple(_read_type(tag, lines) for tag, lines in _TYPES.sections.items())


def _read_type(tag: str, lines: Sequence[str]) -> _Type:
    fields = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    values = dict(fields)
    signs = [_compile_words(value) for name, value in fields if name == "sign"]
    signs += [
        re.compile(value.replace("QUANTITY", _QUANTITY), re.IGNORECASE) for name, value in fields if name == "pattern"
    ]
    others = frozenset(other for other in _TYPES.sections if other in values.get("replaces", ""))
    names = values.get("names") or values["title"]
    return _Type(
        tag,
        _compile_words(names),
        _find_anchors(names),
        "title" in values,
        tuple(signs),
        int(values.get("least", _MIN_SIGNS)),
        (others | {"letter"} if "letter" in values.get("replaces", "") else others) - {tag},
    )


def _find_anchors(words: str) -> frozenset[str]:
    """A few letters of each alternative, by which most texts are passed over without a costlier search."""
    while (flat := _GROUP.sub(" ", words)) != words:
        words = flat
    anchors = [max(_LETTERS.findall(_OPTIONAL.sub(" ", part)), key=len, default="") for part in words.split("|")]
    return frozenset(anchors) if all(len(anchor) > 1 for anchor in anchors) else frozenset()


def _compile_words(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)


def _is_letter(head: str, text: str) -> bool:
    """Whether a line of the beginning greets somebody and one of the text says goodbye."""
    if not any(_GREETING.search(line.strip()) for line in head.split("\n")):
        return False
    return any(_FAREWELL.search(line) for line in text.split("\n"))
