"""What the rules say about documents of everyday life: their date and their kind."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pytest

from chyme.model import Kind
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
    "till": ("ROPES & CO\nREG #19- 28/03/2018 17:24:07\n1 ROPE 3.50\nTOTAL 3.50\nCASH 5.00\n", "en", "2018-03-28"),
    "work cited with its revision": ("# Sources\n\n- Ropes for all people, Revision 1.1 (May 2017)\n", "en", None),
    "table of years": ("| 2025 | Q1 |\n| --- | --- |\n| Rope | 3 |\n", "en", None),
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
