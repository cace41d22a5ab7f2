"""Recognise common kinds of documents (invoice, letter, recipe …), only on strong evidence."""

from __future__ import annotations

import re
from dataclasses import dataclass

from chyme.understanding.classification.data_descriptions import is_code

_HEAD = 6_000  # characters that are searched
_BEGINNING = 600  # characters in which the name of the kind must occur
_MIN_SIGNS = 2  # signs that are needed besides the name


@dataclass(frozen=True, slots=True)
class _Kind:
    """How a kind of document is recognised."""

    tag: str
    names: re.Pattern[str]
    signs: tuple[re.Pattern[str], ...]


def _make_kind(tag: str, names: str, *signs: str) -> _Kind:
    return _Kind(tag, re.compile(names, re.IGNORECASE), tuple(re.compile(sign, re.IGNORECASE) for sign in signs))


_QUANTITY = (
    r"\d\s?(?:g|kg|ml|cl|dl|l|oz|lbs?|EL|TL|tbsp|tsp|cups?|eggs?|Eier|Ei|œufs?|oeufs?|huevos?|uova|eieren|Stück"
    r"|Prisen?|pinch(?:es)?|cloves?|Zehen?)\b"
)
_MONEY = r"[$€£¥]\s?\d|\d[\d.,]*\s?(?:€|eur|usd|chf|gbp)\b"
_KINDS = (
    _make_kind(
        "invoice",
        r"\b(?:invoice|rechnung|facture|factura|fattura|factuur|fatura)\b",
        r"\b(?:total|sum|amount due|balance due|gesamt(?:betrag|summe)?|summe|montant|importe|totale|totaal)\b",
        r"\b(?:vat|tax|mwst|ust|tva|iva|btw|iban|due date|payable|fällig|zahlbar)\b",
        _MONEY,
        r"\b(?:invoice|rechnungs?|facture|factura|fattura)[\s-]*(?:no|nr|number|nummer|n°|#|date|datum|id)\b",
    ),
    _make_kind(
        "receipt",
        r"\b(?:receipt|quittung|kassenbon|kassenbeleg|reçu|recibo|scontrino|kassabon)\b",
        r"\b(?:total|subtotal|summe|gesamt|totale|cash|card|change|bar|karte)\b",
        r"\b(?:vat|tax|mwst|tva|iva|tip)\b",
        _MONEY,
    ),
    _make_kind(
        "contract",
        r"\b(?:contract|agreement|contrat|contrato|contratto|overeenkomst|huurcontract|lease|tenancy)\b|vertrag\b",
        r"\b(?:hereinafter|hereby|party|parties|parteien|vertragspartei|(?:ver)?mieter(?:in)?|arbeitgeber(?:in)?|landlord"
        r"|tenant|less(?:or|ee)|les parties|las partes|bailleur|locataire|arrendador|arrendatario|locatore"
        r"|verhuurder)\b",
        r"\b(?:shall|terminat\w+|kündigung|résiliation|obligations?|liability|haftung)\b|§\s?\d|^\s*Art(?:icle|\.)\s1\b",
        r"\b(?:signed|signature|unterschrift|unterzeichnet|in witness|governing law|gerichtsstand|effective date"
        r"|firmado|signé|firmato|ondertekend)\b",
    ),
    _make_kind(
        "minutes",
        r"\b(?:minutes of|meeting minutes|minutes|sitzungsprotokoll|protokoll|compte rendu|acta|verbale|notulen)\b",
        r"\b(?:attendees|present|participants|anwesende?|teilnehmer|présents|asistentes|presenti|aanwezig(?:en)?)\b",
        r"\b(?:agenda|action items?|resolved|motion|adjourned|beschluss|tagesordnung|ordre du jour|orden del día"
        r"|ordine del giorno|agendapunten|decided|se aprueba|se acuerda|acuerdos|si delibera|besluit(?:en)?)\b",
    ),
    _make_kind(
        "recipe",
        r"\b(?:recipe|ingredients|rezept|zutaten|recette|ingrédients|receta|ingredientes|ricetta|ingredienti|recept)\b",
        r"\b(?:tablespoons?|teaspoons?|tbsp|tsp|cups?|grams?|esslöffel|teelöffel|\bEL\b|\bTL\b|cuillère|cucharada)\b"
        rf"|{_QUANTITY}",
        rf"{_QUANTITY}[\s\S]{{1,200}}?{_QUANTITY}",
        r"\b(?:preheat|bake|stir|simmer|chop|oven|backofen|rühren|kochen|four|horno|forno|minutes|minuten)\b",
    ),
    _make_kind(
        "manual",
        r"\b(?:user(?:'s)? (?:manual|guide)|owner's manual|instruction manual|bedienungsanleitung|gebrauchsanweisung"
        r"|betriebsanleitung|mode d'emploi|manual de usuario|handbook|handbuch)\b",
        r"\b(?:warning|caution|achtung|warnung|safety|sicherheit|troubleshooting|installation)\b",
        r"\b(?:press|switch|button|taste|cable|install|figure|abbildung|maintenance|wartung)\b",
    ),
    _make_kind(
        "cv",
        r"\b(?:curriculum vitae|résumé|resume|lebenslauf|currículum|c\.?v\.?)\b",
        r"\b(?:education|ausbildung|formation|educación|studies|degree|bachelor|master)\b",
        r"\b(?:experience|berufserfahrung|expérience|experiencia|employment|skills|kenntnisse|languages)\b",
    ),
    _make_kind(
        "letter",
        r"^(?:dear \w.{0,60}[,:]?|sehr geehrte.{0,80},?|madame, monsieur,?|estimad[oa]s?\b.{0,60})$",
        r"\b(?:sincerely|yours (?:truly|faithfully)|kind regards|best regards|hochachtungsvoll|mit freundlichen grüßen"
        r"|cordialement|salutations distinguées|atentamente|cordiali saluti)\b",
        r"^\s*(?:\d{1,2}\.? \w+ \d{4}|\w+ \d{1,2}, \d{4}|.{2,30}, (?:den )?\d{1,2}\.\s?\d{1,2}\.\s?\d{4})\s*$"
        r"|\b(?:betreff|subject|re|objet|asunto)\s*:",
    ),
)  # fmt: skip
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
)


def title_names_type(title: str, tag: str) -> bool:
    """Whether a title names this kind of document."""
    return any(kind.names.search(title) for kind in _KINDS if kind.tag == tag)


def document_type_tags(text: str, title: str | None, mime: str) -> list[tuple[str, float]]:
    """Tags for the kind of document, in English, with confidences: from its MIME type and its text."""
    found = [(tag, 0.9) for part, tag in _BY_MIME if part in mime][:1]
    if is_code(mime):
        return [("source code", 0.9)]
    head = text[:_HEAD]
    beginning = f"{title or ''}\n{head[:_BEGINNING]}"
    for kind in _KINDS:
        named = kind.names.search(title or "") is not None
        if kind.tag == "letter":
            if _is_letter(kind, head, text[:20_000]) and "rfc822" not in mime and "outlook" not in mime:
                found.append(("letter", 0.7))
            continue
        if not named and not kind.names.search(beginning):
            continue
        signs = sum(sign.search(head) is not None for sign in kind.signs)
        if signs >= _MIN_SIGNS:
            found.append((kind.tag, min(0.9, 0.5 + 0.1 * signs + 0.1 * named)))
    if not any(tag in ("invoice", "receipt") for tag, _ in found) and all(sign.search(head) for sign in _TILL):
        found.append(("receipt", 0.7))
    return found[:3]


def _is_letter(letter: _Kind, head: str, text: str) -> bool:
    """Whether a line of the beginning greets somebody and one of the text says goodbye."""
    if not any(letter.names.search(line.strip()) for line in head.split("\n")):
        return False
    lines = text.split("\n")
    return any(sign.search(line) for sign in letter.signs for line in lines)
