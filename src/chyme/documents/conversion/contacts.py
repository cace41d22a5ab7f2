"""Convert contacts (vCard 2.1, 3.0, 4.0): each with names, numbers, addresses, birthday and notes; no pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from chyme.documents.conversion.calendar_times import MONTHS, describe_date
from chyme.documents.conversion.content_lines import ContentLine, parse_content_lines, without_attachments
from chyme.documents.conversion.numbered_parts import Part, join_parts, title_from_name
from chyme.documents.conversion.results import ConversionLimits, ConversionResult, broken_file_error

_LABELS = {
    "NICKNAME": "Nickname", "ORG": "Organisation", "TITLE": "Position", "ROLE": "Role", "TEL": "Phone",
    "EMAIL": "E-mail", "IMPP": "Chat", "ADR": "Address", "BDAY": "Birthday", "ANNIVERSARY": "Anniversary", "URL": "Web",
    "X-SKYPE": "Skype", "RELATED": "Related", "CATEGORIES": "Groups", "LANG": "Language",
}  # fmt: skip
_SILENT_TYPES = frozenset({"pref", "voice", "internet", "x-internet", "other", "postal", "parcel", "dom", "intl"})
_DATE = re.compile(r"(\d{4}|--)-?(\d\d)-?(\d\d)(?:T.*)?")
_APPLE_LABEL = re.compile(r"_\$!<(.*)>!\$_")
_SCHEME = re.compile(r"^(?:tel|mailto|xmpp|skype|sip):", re.IGNORECASE)


def convert_contacts(name: str, data: bytes, limits: ConversionLimits) -> ConversionResult:
    """The contacts of a file, in its order."""
    data, notes = without_attachments(data)
    cards = _read(data)
    if not cards:
        raise broken_file_error(name, "file with contacts", "it has no contacts")
    count = len(cards)
    result = join_parts(
        _name_of(cards[0]) if count == 1 else title_from_name(name),
        "A contact." if count == 1 else f"A file with {count:,} contacts.",
        (Part(_name_of(card), _describe(card)) for card in cards),
        count,
        ("contact", "contacts"),
        limits,
    )
    return replace(result, notes=(*result.notes, *notes))


def _read(data: bytes) -> list[list[ContentLine]]:
    cards: list[list[ContentLine]] = []
    depth = 0  # vCard 2.1 can hold a card inside a card, such as that of an agent
    for line in parse_content_lines(data):
        if line.name == "BEGIN" and line.value.strip().upper() == "VCARD":
            depth += 1
            if depth == 1:
                cards.append([])
        elif line.name == "END":
            depth = max(0, depth - 1)
        elif depth == 1:
            cards[-1].append(line)
    return cards


def _name_of(card: list[ContentLine]) -> str:
    for wanted in ("FN", "N", "ORG", "NICKNAME", "EMAIL", "TEL"):
        for line in card:
            if line.name == wanted and (name := _ordered_name(line) if wanted == "N" else _joined(line)):
                return name
    return "Unnamed contact"


def _ordered_name(line: ContentLine) -> str:
    """Title, given names, family name and suffix; the property has the family name first."""
    family, given, middle, prefix, suffix = (*line.parts(";"), "", "", "", "", "")[:5]
    return " ".join(part for part in (prefix, given, middle, family, suffix) if part)


def _joined(line: ContentLine) -> str:
    return ", ".join(part for part in line.parts(";") if part) if line.name in ("ORG", "ADR") else line.text


def _describe(card: list[ContentLine]) -> str:
    labels = {
        line.group: _APPLE_LABEL.sub(r"\1", line.text) for line in card if line.name == "X-ABLABEL" and line.group
    }
    facts = list(dict.fromkeys(_facts(card, labels)))
    notes = [line.text for line in card if line.name == "NOTE" and line.text]
    return "\n\n".join(filter(None, ["  \n".join(facts), *notes]))


def _facts(card: list[ContentLine], labels: dict[str, str]) -> Iterator[str]:
    for name, label in _LABELS.items():
        for line in card:
            if line.name != name:
                continue
            value = _value_of(line)
            sorts = [labels[line.group]] if line.group in labels else [t for t in line.types if t not in _SILENT_TYPES]
            sort = f" ({', '.join(sorts[:3])})" if sorts else ""
            if value:
                yield f"**{label}{sort}:** {value}"


def _value_of(line: ContentLine) -> str:
    if line.name in ("BDAY", "ANNIVERSARY"):
        return _date_in_words(line.text)
    if line.name == "CATEGORIES":
        return ", ".join(part for part in line.parts(",") if part)
    return " ".join(_SCHEME.sub("", _joined(line)).split())


def _date_in_words(text: str) -> str:
    found = _DATE.fullmatch(text)
    if found is None or not 1 <= int(found[2]) <= len(MONTHS):
        return text
    return describe_date(int(found[1]) if found[1] != "--" else None, int(found[2]), int(found[3]))
