"""Titles and dates of some forty everyday documents of our own making, each of another class."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from chyme.documents.properties.reader import Properties
from chyme.model import Kind
from chyme.understanding.classification.source_text import read_source_text
from chyme.understanding.dates.choice import choose_date, dates_of
from chyme.understanding.titles.candidates import MIN_CONFIDENCE, find_titles

TODAY = date(2026, 4, 3)
SLIDES = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
PROSE = {
    "en": "Most of the boats that were repaired last winter are back on the water. The others wait for parts. " * 6,
    "de": "Die meisten Boote, die im Winter repariert wurden, sind wieder auf dem Wasser. Andere warten noch. " * 6,
    "fr": "La plupart des bateaux réparés cet hiver sont de nouveau sur l’eau. Les autres attendent encore. " * 6,
    "es": "La mayoría de los barcos reparados este invierno ya están en el agua. Los otros todavía esperan. " * 6,
    "it": "La maggior parte delle barche riparate in inverno è di nuovo in acqua. Le altre aspettano ancora. " * 6,
}


def _documents() -> list[tuple[str, str, str, str, str]]:
    parts = (Path(__file__).parent / "titled_documents.txt").read_text(encoding="utf-8").split("\n=== ")[1:]
    found = []
    for part in parts:
        head, _, text = part.partition("\n")
        name, language, title, day = (field.strip() for field in head.split(" | "))
        found.append((name, language, title, day, text.replace("~", PROSE[language])))
    return found


@pytest.mark.parametrize("document", _documents(), ids=lambda document: document[0])
def test_a_document_has_the_title_and_the_date_that_a_reader_would_give_it(document: tuple[str, ...]) -> None:
    name, language, title, day, text = document
    mime = SLIDES if name == "slide deck" else "text/markdown"
    texts = {"doc-to-markdown": text}
    titles = find_titles(read_source_text(texts, Properties()), "scan0001.docx", mime)
    dates = dates_of(texts, None, kind=Kind.DOCUMENT, mime=mime, name="scan0001.docx", language=language, today=TODAY)
    found = titles[0].text if titles and titles[0].confidence >= MIN_CONFIDENCE else "none"
    chosen = choose_date(dates)
    assert (found, chosen.date if chosen else "none") == (title, day)
