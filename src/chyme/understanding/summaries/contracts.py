"""Describe a contract by its parties, where it has no sentence that can be quoted."""

from __future__ import annotations

import re

from chyme.text.markdown_lines import shorten_text
from chyme.understanding.summaries.facts import Composed, DocumentFacts
from chyme.understanding.summaries.wording import name_day, name_kind, name_subject

_HEAD = 6_000  # characters in which the parties are named
_PARTY_LENGTH = 70
_MARKUP = re.compile(r"\\?[*_#|]+|<[^<>]{0,40}>")
_BLANK = re.compile(r"\\?_(?:\\?_|\s)*|\.{4,}")
_GAP = "\ue000"  # stands for what is to be filled in
_PARTIES = re.compile(
    r"\b(?:by and between|between|zwischen|entre|tra|tussen)\b[\s:,]*(?:the\s|der\s|dem\s|la\s|el\s|le\s)?"
    r"(.{2,260}?)\s(?:and|und|et|y|e|en)\b[\s:,]*(?:the\s|der\s|dem\s|la\s|el\s|le\s)?(.{2,260}?)"
    r"(?=[,;.(]|\s(?:for|on|in|to|with|dated?|hereinafter|is|wird|pour|para|per)\s|$)",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"\s*(?:[,(;\"“]|\bof \d|\b(?:hereinafter|hereafter|nachfolgend|residing|with its|having its|vertreten)\b).*"
)
_ROLE = re.compile(r"(?:called|as|genannt|als|the)\s+[\"“„']?(?:the )?([A-Za-zÄÖÜäöü]{4,20})[\"”“']?", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")


def describe_contract(text: str, facts: DocumentFacts) -> Composed | None:
    """`A contract of 1 May 2024 called “Lease” between Harold Finch and Priya Nair.`"""
    if "contract" not in facts.kinds:
        return None
    parties = find_parties(text)
    if not parties:
        return None
    known = f"{name_kind(facts)}{name_day(facts.day)}{name_subject(facts, facts.kind)}"
    return Composed(f"{known} between {parties[0]} and {parties[1]}.", 0.6)


def find_parties(text: str) -> tuple[str, str] | None:
    """The two parties of a contract; one that is to be filled in is called by its role."""
    plain = " ".join(_MARKUP.sub(" ", _BLANK.sub(f" {_GAP} ", text[:_HEAD])).split())
    for match in _PARTIES.finditer(plain):
        first, second = (
            _name_party(match[number], plain[match.start(number) : match.end(number) + 80]) for number in (1, 2)
        )
        if first and second:
            return first, second
    return None


def _name_party(party: str, around: str) -> str:
    name = _ASIDE.sub("", party).replace(_GAP, " ").strip(" .:-")
    name = " ".join(name.split())
    if len(_LETTER.findall(name)) < 3:
        role = _ROLE.search(around) if _GAP in around else None
        return f"a {role[1].lower()}" if role else ""
    if not name[0].isupper():
        return ""
    return shorten_text(name.title() if name.isupper() and " " in name else name, _PARTY_LENGTH)
