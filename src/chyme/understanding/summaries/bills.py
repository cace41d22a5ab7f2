"""Describe invoices, receipts and the like by who wrote them to whom, when, and over which amount."""

from __future__ import annotations

import re

from chyme.text.markdown_lines import shorten_text
from chyme.understanding.summaries.facts import Composed, DocumentFacts
from chyme.understanding.summaries.wording import name_day, name_sender, quote_name, with_article
from chyme.understanding.titles.cleanup import is_junk

BILLS = ("invoice", "bill", "receipt", "reminder", "offer", "order")
_HEAD = 20_000  # characters in which amounts and names are looked for
_NAME_LENGTH = 60
_CODE = r"(?:USD|EUR|GBP|CHF|CAD|AUD|JPY|SEK|NOK|DKK|PLN|INR|CNY|BRL|MXN)"
_AMOUNT = re.compile(
    rf"(?P<before>[$€£¥]|US\$|\b{_CODE}\b)?\s?"
    rf"(?P<number>(?<![\d.,-])\d{{1,3}}(?:[.,' ]\d{{3}}){{0,3}}[.,]\d\d|\d{{1,7}}[.,]\d\d|(?<=[$€£¥])\d{{1,7}})"
    rf"(?![\d%]|[.,]\d|\s?%)\s?(?P<after>€|\b{_CODE}\b)?"
)
_CURRENCY = re.compile(rf"[$€£¥]|\b{_CODE}\b")
# What is to be paid, the surest name of it first. A sum of parts and a tax are no total.
_TOTALS = tuple(
    re.compile(rf"(?<![\w-])(?:{names})\b(?! (?:sales )?(?:tax|vat))", re.IGNORECASE)
    for names in (
        r"(?:total )?amount due|balance due|total due|(?:amount|total) payable|grand total|invoice total|total amount"
        r"|rechnungsbetrag|gesamtbetrag|endbetrag|zahlbetrag|zu zahlen(?:der betrag)?|net à payer|total ttc"
        r"|montant total|total a pagar|importe total|totale (?:fattura|da pagare)|te betalen|totaalbedrag|total geral"
        r"|valor total",
        r"total|summe|gesamt|gesamtsumme|totale|totaal",
    )
)
_NET = re.compile(r"\W{0,12}(?:zzgl|plus\b|excl|netto\b|hors\b|ex\.? vat)", re.IGNORECASE)  # a tax comes on top of it
_AFTER_LABEL = 60  # characters after such a name in which its amount is
_TO = re.compile(
    r"^\W{0,4}(?:bill(?:ed)? to|invoiced? to|sold to|customer(?: name)?|client|rechnung an|rechnungsempfänger|kunde"
    r"|facturé à|facturar a|cliente|intestatario|factuur aan)\W{0,6}[ \t]*\n?[ \t]*\W{0,4}([^\W\d_][^\n|*:]{2,60})",
    re.IGNORECASE | re.MULTILINE,
)
_FIELD_NAME = re.compile(
    r"\b(?:no|nr|number|nummer|id|date|datum|invoice|ship|address|name|reference|account|code)\b", re.IGNORECASE
)


def describe_bill(text: str, facts: DocumentFacts) -> Composed | None:
    """`An invoice from Blue Harbour Ltd to Ada Winter of 3 April 2026 over €273.13.`"""
    kind = next((kind for kind in facts.kinds if kind in BILLS), "")
    if not kind:
        return None
    head = text[:_HEAD]
    total, recipient = find_total(head), _find_recipient(head)
    if not (facts.sender or facts.day or total):
        return None
    known = f"{name_sender(facts.sender)}{f' to {recipient}' if recipient and recipient != facts.sender else ''}"
    if not facts.sender and facts.title and facts.is_named and not is_junk(facts.title):
        known = f" called {quote_name(facts.title)}{known}"
    over = f" over {total}" if total else ""
    kind = {"offer": "quotation", "reminder": "payment reminder"}.get(kind, kind)
    return Composed(f"{with_article(kind)}{known}{name_day(facts.day)}{over}.", 0.6)


def find_total(text: str) -> str:
    """The amount that is to be paid or was paid, with its currency; empty if no line names it."""
    currencies = _CURRENCY.findall(text)
    common = max(set(currencies), key=currencies.count) if currencies else ""
    for names in _TOTALS:
        found = [amount for label in names.finditer(text) if (amount := _amount_after(text, label.end()))]
        if found:
            before, number, after = max(found, key=lambda parts: _value(parts[1]))
            return _format(before or after or common, number)
    return ""


def _amount_after(text: str, start: int) -> tuple[str, str, str] | None:
    """The currency before it, the number and the currency after it; of several the last one on the first line."""
    for line in text[start : start + _AFTER_LABEL].split("\n")[:3]:
        amounts = list(_AMOUNT.finditer(line))
        if amounts:
            last = amounts[-1]
            is_net = _NET.match(text, start + last.end())
            return None if is_net else (last["before"] or "", last["number"], last["after"] or "")
        start += len(line) + 1
    return None


def _value(number: str) -> int:
    digits = re.sub(r"\D", "", number)
    return int(digits) if re.search(r"[.,]\d\d$", number) else int(digits) * 100


def _format(currency: str, number: str) -> str:
    if len(currency) > 2 and "$" not in currency:
        return f"{number} {currency}"
    return f"{number} €" if currency == "€" and "," in number[-3:] else f"{currency}{number}"


def _find_recipient(text: str) -> str:
    """Whom a bill is for, if a field says so."""
    for match in _TO.finditer(text):
        name = " ".join(match[1].split(",")[0].split())
        if not _FIELD_NAME.search(name) and not is_junk(name):
            return shorten_text(name, _NAME_LENGTH)
    return ""
