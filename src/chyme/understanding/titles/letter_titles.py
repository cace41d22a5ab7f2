"""Titles of letters and bills: the subject, or the number and who wrote it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from chyme.understanding.classification.source_text import SourceText
from chyme.understanding.titles.cleanup import is_address_or_list_line, is_company, sender_in, to_normal_case
from chyme.understanding.titles.first_lines import LETTERHEAD, first_lines, strip_markdown
from chyme.understanding.titles.line_roles import is_issuing_body, is_no_title, is_salutation
from chyme.understanding.titles.possible_title import Title, complete_kind, join_title_lines

_FIRST_LINES = 12  # first lines that may be a title without being marked as one
_SUBJECT_LINES = 3
_MAX_MAILS = 500
_MAIL_SUBJECT = re.compile(r"^(?:#{1,2} |(?:\*\*)?Subject:(?:\*\*)? )(\S.{0,300})$", re.MULTILINE)
_MAILBOX = re.compile(r"^# .{1,300}\n+(?=A mailbox )")  # its file's name
_BILL_LINES = 40
_RECEIPT_LENGTH = 4_000  # characters
_MIN_SIGNS = 3
_RECEIPT_SIGNS = re.compile(
    r"\b(?:(grand total|total|summe|gesamt|importe|totale|totaal)[^\n]{0,30}\d[.,]\d\d\b|(cash|bar|visa|mastercard"
    r"|card|karte|espèces|efectivo|contanti)\b|(change|rückgeld|rounding|rendu|cambio)\b|(gst|vat|mwst|ust|tva|iva|btw"
    r"|sales tax|tax)\b|(qty|quantity|menge|subtotal|sub-total|zwischensumme)\b|(receipt|quittung|cashier|kassierer"
    r"|salesperson|table no|kasse|bon\b|ticket)|(invoice no|invoice #|invoice number|invoice:|rechnungsnr|bill no))",
    re.IGNORECASE,
)
_RECEIPT_KIND = re.compile(
    r"\b(?:simplified tax invoice|tax\s+invoice|cash bill|invoice|receipt|rechnung|quittung|kassenbon|facture|reçu"
    r"|factura|recibo|ticket|fattura|ricevuta|scontrino|factuur|kassabon)\b",
    re.IGNORECASE,
)
_REGISTRATION = re.compile(r"\s*\([\w .:/-]{0,14}\d[\w .:/-]{0,14}\)$")
REPLIES = re.compile(r"^(?:(?:re|aw|fwd?|wg|antw|rv|tr|sv|vs)\s*(?:\[\d+\])?\s*[:：]\s*)+", re.IGNORECASE)
_SUBJECT = re.compile(
    r"^\W{0,4}(?:subject|betreff|betr\.|objet|asunto|oggetto|onderwerp|assunto|ämne|emne|temat|тема|主题|主旨|件名|제목"
    r"|re)\W{0,3}\s*[:：]\W{0,3}\s*(\S.{2,200})$",
    re.IGNORECASE,
)
_MEMO = re.compile(r"^\W{0,4}(?:to|from|date|cc|an|von|datum|à|de|para|fecha)\W{0,4}:", re.IGNORECASE)
_TITLE_FIELD = re.compile(
    r"^\W{0,3}(?:#\+title|:?title|titel|titre|título|document title)\s*[:=]\s*(\S.{1,200})$", re.I
)
_QUOTED_TITLE = re.compile(r"^[\"“'‘](.{2,150})[\"”'’],?$")
_INLINE_SUBJECT = re.compile(r"\s(?:Re|RE|Betreff|Objet|Subject|Asunto|Oggetto)\s?:\s+(\S.{4,200})$")
_AFTER_SUBJECT = re.compile(r"\s+(?:dear|sehr geehrte|liebe[rs]?|madame|monsieur|estimad[oa])\b.*$", re.IGNORECASE)
_PERSON = re.compile(r"^(?:(?:Dr|Prof|Mr|Ms|Mrs)\.?\s)?[A-ZÀ-Ý][\w.'’-]{0,20}(?:\s[A-ZÀ-Ý][\w.'’-]{0,20}){1,3}$")
_NUMBERED = re.compile(r"^\d{1,5}\w?\s|\s\d{1,4}\w?$")  # a house in its street
_FIELD = re.compile(r"^[\w-]{2,15}(?:\s\w{2,10})?:(?:\s|$)")
_BILL = re.compile(
    r"^(?:tax |pro ?forma |sales |commercial )?(?:invoice|receipt|credit note|debit note|purchase order|quotation"
    r"|delivery note|statement of account|rechnung|quittung|gutschrift|mahnung|lieferschein|angebot|auftragsbestätigung"
    r"|facture|devis|reçu|avoir|factura|recibo|presupuesto|fattura|ricevuta|preventivo|factuur|offerte|fatura|faktura)"
    r"(?:\s?(?:no|nr|number|nummer|n[°º])\b\.?)?[\s:#.-]{0,4}(?=[\w/.-]{0,12}\d)[\w/.-]{1,24}"
    r"(?:,?\s(?:vom\s|of\s|du\s)?[\w .,/-]{1,24}\d{2,4})?$",
    re.IGNORECASE,
)


def titles_from_fields(lines: Sequence[str], where: str) -> Iterator[Title]:
    """The subject of a letter, which takes precedence over its letterhead, and a title that is called so."""
    greeting = next((number for number, line in enumerate(lines) if is_salutation(strip_markdown(line))), None)
    is_memo = sum(_MEMO.match(line) is not None for line in lines[:_FIRST_LINES]) >= 2
    is_letter = greeting is not None or is_memo
    if greeting:
        above = [strip_markdown(line) for line in lines[:greeting] if line][:_FIRST_LINES]
        sender = next((line for line in above if is_company(line) or is_issuing_body(line)), "") or _writer_in(above)
        if sender:
            yield Title(f"Letter from {to_normal_case(sender, sender.lower())}", 0.61, where, sender)
    for number, line in enumerate(lines):
        field = title_field(line)
        inline = None if field or not is_letter or number > _FIRST_LINES else _INLINE_SUBJECT.search(line[:400])
        if not field and not inline:
            continue
        parts = [strip_markdown((field or inline)[1])]  # type: ignore[index]
        for following in lines[number + 1 : number + _SUBJECT_LINES]:
            if not following or is_salutation(following) or _FIELD.match(following) or len(" ".join(parts)) > 120:
                break
            if is_letter and greeting and number < greeting:
                parts.append(strip_markdown(following))
            else:
                break
        text = REPLIES.sub("", _AFTER_SUBJECT.sub("", join_title_lines(parts)))
        if quoted := _QUOTED_TITLE.match(text):  # `title: "Care of boats",` of a document's source
            yield Title(quoted[1], 0.85, where, line)
            continue
        is_subject = is_memo or (greeting is not None and number < greeting + 4)
        yield Title(text, (0.93 if is_subject else 0.75) - number / 400, where, line)


def _writer_in(above: Sequence[str]) -> str:
    """The person whose name and address a letter begins with."""
    if len(above) > 1 and _PERSON.match(above[0]) and (is_address_or_list_line(above[1]) or _NUMBERED.search(above[1])):
        return above[0]
    return ""


def title_field(line: str) -> re.Match[str] | None:
    """The subject or the title that a line says it has."""
    return None if line.startswith("|") else _SUBJECT.match(line) or _TITLE_FIELD.match(line)


def titles_of_mails(text: str, where: str) -> Iterator[Title]:
    """The subject that most mails of a container have; else the file's name says more than one of them."""
    subjects = [match[1] for match in _MAIL_SUBJECT.finditer(_MAILBOX.sub("", text, count=1))]
    plain = [" ".join(REPLIES.sub("", strip_markdown(subject)).split()) for subject in subjects[:_MAX_MAILS]]
    if plain:
        subject, count = Counter(plain).most_common(1)[0]
        yield Title(subject, 0.8 if 2 * count > len(plain) else 0.32, where, subject)


def titles_of_bill(lines: Sequence[str], where: str) -> Iterator[Title]:
    """The line of an invoice, receipt or the like that has its number, with who wrote it."""
    plains = [strip_markdown(line) for line in lines[:_BILL_LINES] if line]
    number = next((at for at, plain in enumerate(plains) if _BILL.match(plain)), None)
    if number is not None:
        sender = sender_in(plains[:_FIRST_LINES])
        text = complete_kind(_calm_number(plains[number]), (), plains[number + 1 : number + 3])
        yield Title(f"{text} – {sender}" if sender and sender not in text else text, 0.86, where, plains[number])


def titles_of_receipt(lines: Sequence[str], text: str, where: str) -> Iterator[Title]:
    """A short list of amounts with a total is a receipt: it is called by its kind and by who wrote it."""
    if len(text) > _RECEIPT_LENGTH or len({match.lastindex for match in _RECEIPT_SIGNS.finditer(text)}) < _MIN_SIGNS:
        return
    plains = [
        plain for line in lines[:_FIRST_LINES] if (plain := strip_markdown(line.partition(" | ")[0]).strip(" .:"))
    ]
    sender = sender_in(plains) or next((plain for plain in plains if _may_send(plain)), "")
    if sender:
        numbered = _calm_number(next((plain for plain in plains if _BILL.match(plain)), ""))
        found = _RECEIPT_KIND.search(text)
        kind = numbered or (" ".join(found[0].split()).capitalize() if found else "Receipt")
        plain = _REGISTRATION.sub("", sender)
        yield Title(f"{kind} – {to_normal_case(plain, plain.lower())}", 0.91, where, sender)


def _calm_number(line: str) -> str:
    """`INVOICE #: R12` as `Invoice R12`."""
    word, _, rest = " ".join(re.split(r"[\s#:]+", line)).partition(" ")
    return f"{word.capitalize()} {rest}".strip()


def _may_send(line: str) -> bool:
    letters = sum(map(str.isalpha, line))
    is_name = letters >= 5 and letters > 0.6 * len(line.replace(" ", "")) and not any(map(str.isdigit, line))
    return is_name and not (is_no_title(line) or is_address_or_list_line(line) or _RECEIPT_KIND.search(line))


def find_company(source: SourceText) -> str:
    """The first line of the letterhead that names a company; empty if none does."""
    return sender_in([strip_markdown(line) for line in first_lines(source.text[:LETTERHEAD]) if line][:_FIRST_LINES])
