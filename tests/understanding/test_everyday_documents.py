"""What the rules say about documents of everyday life: their date and their kind."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pytest

from chyme.model import Kind
from chyme.understanding.classification.document_types import document_type_tags
from chyme.understanding.dates.choice import choose_date, dates_of

TODAY = date(2026, 4, 10)


@dataclass(frozen=True, slots=True)
class Everyday:
    """A document, and what a reader would say of it."""

    name: str
    language: str
    date: str | None
    kind: str | None
    text: str


def _read_document(part: str) -> Everyday:
    head, _, text = part.partition("\n")
    name, language, day, kind = head.split(" | ")
    return Everyday(name, language, None if day == "none" else day, None if kind == "none" else kind, text)


EVERYDAY = [
    _read_document(part)
    for part in Path(__file__).with_name("everyday_documents.txt").read_text(encoding="utf-8").split("\n=== ")[1:]
]


def _date_of(text: str, language: str, mime: str = "application/pdf") -> str | None:
    texts = {"doc-to-markdown": text}
    found = dates_of(texts, None, kind=Kind.DOCUMENT, mime=mime, name="scan1.pdf", language=language, today=TODAY)
    chosen = choose_date(found)
    return chosen.date if chosen else None


@pytest.mark.parametrize("document", EVERYDAY, ids=lambda document: document.name)
def test_a_document_has_the_date_that_a_reader_would_give_it(document: Everyday) -> None:
    assert _date_of(document.text, document.language) == document.date


@pytest.mark.parametrize("document", EVERYDAY, ids=lambda document: document.name)
def test_a_document_is_tagged_with_its_kind_and_no_other(document: Everyday) -> None:
    title = next((line.lstrip("# ") for line in document.text.split("\n") if line.startswith("#")), None)
    found = [tag for tag, _ in document_type_tags(document.text, title, "application/pdf")]

    assert found == ([document.kind] if document.kind else [])


DATED = {
    "revision of a form": ("Form H-9\n(Rev. October 2018)\nDepartment of Harbours\n\nName\n", "en", "2018-10"),
    "fiscal year of a registered company": (
        "FORM 10-K\n\nANNUAL REPORT UNDER THE EXCHANGE ACT OF 1934\n\nFor the fiscal year ended September 30, 2023\n",
        "en",
        "2023-09-30",
    ),
    "masthead": (
        "Harbour Register / Vol. 85, No. 12 / Friday, January 17, 2020 / Rules\n\n"
        "This rule is effective February 18, 2020.\n",
        "en",
        "2020-01-17",
    ),
    "term": ("# Introduction to Tides\n\nFall Semester 2019\n\nInstructor: A. Bell\n", "en", "2019"),
    "patent": ("Patent No. 7,123,456\nDate of Patent: Oct. 17, 2006\nFiled: Mar. 3, 2003\n", "en", "2006-10-17"),
    "month in figures beside a label": ("# Merkblatt\n\nStand: 05/2023\n", "de", "2023-05"),
    "month in figures without a label": ("# Merkblatt\n\n05/2023\n", "de", None),
    "place and month": ("# Festschrift\n\nBerlin, im Mai 2023\n", "de", "2023-05"),
    "years of two": ("# Annual Report 2022/23\n\nThe harbour is well.\n", "en", "2023"),
    "year of an act in a report's name": ("# Annual report under the Ports Act of 1934\n\nAll is well.\n", "en", None),
    "volume": ("Source: Journal of Harbours, Vol. 12, No. 3 (Sep., 1987), pp. 114-129\n", "en", "1987-09"),
    "log": ("2024-03-01 10:00 start\n2024-03-01 10:01 ok\n2024-03-02 10:02 low\n2024-03-03 10:02 low\n", "en", None),
    "insurance": ("Policy period: 06/01/2023 to 06/01/2024\n\nDate issued: 05/12/2023\n", "en", "2023-05-12"),
    "till": ("ROPES & CO\nDESK #4- 29/01/2020 09:41:30\n1 ROPE 3.50\nTOTAL 3.50\nCASH 5.00\n", "en", "2020-01-29"),
    "work cited with its revision": ("# Sources\n\n- Ropes for all people, Revision 1.1 (May 2017)\n", "en", None),
    "table of years": ("| 2025 | Q1 |\n| --- | --- |\n| Rope | 3 |\n", "en", None),
    "essay": (
        "# How to Moor\n\nJanuary 2023 *(Somebody asked me.)* The way to moor is slow and sure.\n",
        "en",
        "2023-01",
    ),
    "a month told first": ("# On Mooring\n\nMarch 2022 was cold, and the harbour froze over.\n", "en", None),
    "number above a date": (
        "Board of Pilots, Chamber No. 2.\n\nApril 17, 1961.\n\nThe ship ran aground at noon.\n",
        "en",
        "1961-04-17",
    ),
    "an hour is no label": (
        "Ropes and Sails\n\nMay 21, 1957.\n\nSellers of hemp had to bring a sample along to the ropery, and "
        "samples were to be submitted until 4:30 in the afternoon of February 9, 1951, at the gate.\n",
        "en",
        "1957-05-21",
    ),
    "minutes in a sentence": (
        "Niederschrift\n\nüber die Sitzung des Ausschusses für Hafen und Brücken von Nordhafen vom 17.10.2016.\n\n"
        "Genehmigung des Protokolls der 3. Sitzung vom 19.05.2016\n",
        "de",
        "2016-10-17",
    ),
    "a day with an hour": ("# Hafenausschuss\n\nDienstag, 07. Mai 2021 , 17:30 Uhr\n\nTOP 1\n", "de", "2021-05-07"),
    "French minutes": (
        "# Procès-verbal de la réunion du comité du port du 23 juin 2016\n\nDate de convocation : 9 juin 2016\n\n"
        "Approbation du procès-verbal de la réunion du 18 février 2016\n",
        "fr",
        "2016-06-23",
    ),
    "several revisions": (
        "# Mooring rules\n\nRevision 1 effective: 02/14/2011\nRevision 2 effective: 09/28/2018\nReview: 09/28/2020\n",
        "en",
        "2018-09-28",
    ),
    "adopted": ("RESOLUTION NO. 2019-14\n\nPASSED AND ADOPTED this 8th day of January, 2019.\n", "en", "2019-01-08"),
}


@pytest.mark.parametrize("name", DATED)
def test_a_date_is_found_where_documents_of_this_class_have_it(name: str) -> None:
    text, language, wanted = DATED[name]
    assert _date_of(text, language) == wanted


def test_the_copyright_notice_of_a_web_page_belongs_to_its_site() -> None:
    text = "# Ropes\n\nAll about ropes.\n\n© 2018 Rope Club\n"

    assert _date_of(text, "en") == "2018"
    assert _date_of(text, "en", "text/html") is None


KINDS = {
    "reminder": ("Möwe GmbH\n\nMahnung\n\nUnsere Rechnung vom 03.05.2024 ist noch offen.\n", ["reminder"]),
    "offer": ("Angebot Nr. 12\n\nEinzelpreis 12,00 €\nSumme 24,00 €\nGültig bis 1.6.2024\n", ["offer"]),
    "order": ("Order confirmation\n\nOrder number 12\nQuantity 2\nShipping $3.00\n", ["order"]),
    "delivery note": ("Lieferschein 4711\n\nBestellnummer 12\nMenge 3\n", ["delivery note"]),
    "tax return": ("Steuererklärung 2023\n\nFinanzamt Kiel\nEinkünfte aus Arbeit\nSteuernummer 12\n", ["tax form"]),
    "insurance": ("Versicherungsschein\n\nVersicherungsnehmer: Anna\nJahresbeitrag 120 €\n", ["insurance policy"]),
    "patent": ("Patent No. 7\n\nInventors: A. Bell\n\nPrior art is wet.\n\nWhat is claimed is a rope.\n", ["patent"]),
    "job": (
        "Stellenausschreibung\n\nIhre Aufgaben: Boote\n\nAnforderungen: Ruhe\n\nBewerbung bis Mai\n",
        ["job posting"],
    ),
    "exam": ("Midterm\n\nQuestion 1 (10 points)\n\nSolve it. Time allowed: 60 minutes\n", ["exam"]),
    "ticket": ("Bordkarte\n\nSitz 12A\nAbfahrt 08:30\nBuchung XY12\n", ["ticket"]),
    "tender": (
        "Request for Proposals\n\nBidders send them before the closing date. Scope of work: a pier.\n",
        ["tender"],
    ),
    "form": ("Application form\n\nFirst name ________\nDate of birth ________\nSignature ________\n", ["form"]),
    "memo": ("MEMORANDUM\n\nTO: All\nFROM: Ann\nRE: Parking\n\nPark well.\n", ["memo"]),
    "log": ("2024-03-01 10:00:01 INFO up\n2024-03-01 10:00:02 WARN low\n2024-03-01 10:00:03 INFO ok\n", ["log"]),
    "till that calls itself an invoice": (
        "TAX INVOICE\nInvoice no 7\nROPE 2.49\nOIL 3.19\nTAR 4.05\nTOTAL 9.73\nCASH 10.00\nVAT 1.00\n10:12\n",
        ["receipt", "invoice"],
    ),
    "invoice without a sum": (
        "# INVOICE 2020-10\n\n| Item | Quantity | Price |\n|---|---|---|\n| Rope | 2 | 3.00 |\n\n"
        "Terms of payment: 30 days\n",
        ["invoice"],
    ),
    "news of a court": ("# Judge hears appeal\n\nThe Supreme Court heard the appeal, the judge said.\n", []),
    "report of a case": (
        "Hemp v. Rope\n\nHigh Court of Harbours\n\nThe jury believed the plaintiff.\n",
        ["court document"],
    ),
    "a talk about courts": ("# The court and the tide\n\nThe tennis court was flooded, and nobody played.\n", []),
    "a policy in passing": ("Our policy is honesty.\n\nRopes are long.\n", []),
    "abstract art": ("# Abstract art\n\nAbstract painters in Paris. We present them in the introduction.\n", []),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_needs_its_name_and_independent_signs(name: str) -> None:
    text, wanted = KINDS[name]
    assert [tag for tag, _ in document_type_tags(text, None, "application/pdf")] == wanted
