"""Recognise lines at the top of a document that are no title: the sender's company, addresses and others."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NAME_LENGTH = 60  # characters of a company's name
_DIGIT = re.compile(r"\d")
_COMPANY = re.compile(
    r"(?:^|\s)(?:GmbH(?: & Co\.? KG)?|AG|KG|OHG|UG|mbH|e\. ?K\.?|e\. ?V\.?|Ltd\.?|Limited|Inc\.?|LLC|LLP|PLC|Corp\.?"
    r"|Co\.|Pty|S\.? ?L\.?(?:U\.?)?|S\. ?A\.?|SARL|SAS|S\. ?[rR]\. ?[lL]\.?|S\.? ?p\.? ?A\.?|B\.? ?V\.?|N\.V\.?|AB|Oyj?"
    r"|ApS|A/S|Lda\.?|s\.r\.o\.?|d\.o\.o\.?|[Ss]p\. z o\.?o\.?)$"
)
# Lines above the name of the addressee.
_ADDRESSEE = re.compile(
    r"(?:bill|ship|sold|invoice)[ -]?(?:ed )?to\b|(?:to|an|für|customer|client|cliente|kunde|klant)\W*$"
    r"|(?:rechnungs|liefer)(?:adresse|anschrift|empfänger)|factur(?:é|ar) [àa]\b|destinata",
    re.IGNORECASE,
)
_LOG_TIME = re.compile(
    r"^[\[<(]{0,2}(?:\d{4}[-/.]\d\d[-/.]\d\d[T ,]{1,2}\d\d?:\d\d|[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d"
    r"|\d\d/[A-Z][a-z]{2}/\d{4}:\d\d|\d\d:\d\d:\d\d[.,]\d)"
)
_STREET = re.compile(
    r"^(?:calle|avenida|avda|plaza|rua|via|viale|corso|piazza)\.?\s[A-ZÀ-Ý].{2,40}\d\w?$"
    r"|^\d{1,4}\w?,?\s(?:rue|avenue|boulevard|bd|place|chemin|allée)\s.{2,40}$"
    r"|^\d{1,5}\s[A-Z][\w' .]{2,40}\s(?:street|st|road|rd|avenue|ave|lane|ln|drive|dr|boulevard|blvd|way|court)\.?$"
    r"|^[A-ZÄÖÜ][\w .-]{2,40}(?:straße|strasse|str\.|weg|gasse|platz|allee|ring|damm|ufer|straat|laan|plein)"
    r"\s?\d{1,4}\w?$",
    re.IGNORECASE,
)
_INGREDIENT = re.compile(r"^\d+(?:[.,/]\d+)?\s?(?:g|kg|ml|cl|dl|l|oz|lbs?|EL|TL|tbsp|tsp|cups?|eggs?|Eier)\b")


def is_company(line: str) -> bool:
    """Whether a line ends like the name of a company."""
    return len(line) <= _NAME_LENGTH and ":" not in line and _COMPANY.search(line) is not None


def is_log_line(line: str) -> bool:
    """Whether a line begins with a date and time, like the lines of a log."""
    return _LOG_TIME.match(line) is not None


def is_address_or_list_line(line: str) -> bool:
    """Whether a line is an address, a log line or an ingredient of a recipe, and so no title."""
    if not _DIGIT.search(line):
        return False
    return any(pattern.match(line) for pattern in (_LOG_TIME, _INGREDIENT)) or (
        len(line) <= _NAME_LENGTH and _STREET.match(line) is not None
    )


def sender_in(lines: Iterable[str]) -> str:
    """The first line that names a company, before the addressee; empty if none does."""
    for line in lines:
        if _ADDRESSEE.match(line):
            break
        if is_company(line):
            return line
    return ""
