"""Documents classified without a model, from the content of their digests."""

from __future__ import annotations

import json
from datetime import date

import pytest
from growth import grows_linearly

from chyme.model import Kind
from chyme.understanding.classification.document_rules import classify_document_by_rules, plain_text
from chyme.understanding.classification.result import MAX_TAGS, Candidate, Classification, as_json, from_json
from chyme.understanding.dates.choice import dates_of

TODAY = date(2026, 11, 16)
LETTER = """Ada Miller, Harbour Street 5

Berlin, 3 May 2024

Subject: Rental contract of the flat in Harbour Street

Dear Mr Smith,

The rental contract of the flat in Harbour Street ends in June, and the deposit will be paid back in July.

Please send the keys of the flat to the caretaker, who checks the flat before the deposit is paid back.

Yours faithfully
Ada Miller
"""


def classify(texts: dict[str, str], name: str = "scan0001.pdf", mime: str = "application/pdf") -> Classification:
    kind = Kind.TEXT if mime.startswith("text/") else Kind.DOCUMENT
    dates = dates_of(texts, None, kind=kind, mime=mime, name=name, language="en", today=TODAY)
    return classify_document_by_rules(
        texts, None, mime=mime, name=name, language="en", language_confidence=0.9, dates=dates
    )


def test_every_field_of_a_letter_is_found_with_its_confidence_and_evidence() -> None:
    found = classify({"doc-to-markdown": LETTER})

    assert found.title == "Rental contract of the flat in Harbour Street"
    assert found.summary is not None and found.summary.startswith("The rental contract of the flat")
    assert (found.date, found.language, found.engine) == ("2024-05-03", "en", "local")
    assert found.tags[0] == "letter" and {"rental contract", "harbour street", "flat"} <= set(found.tags)
    assert set(found.confidence) == set(found.evidence) == {"title", "summary", "date", "language", "tags"}
    assert all(0 < sure <= 1 for sure in found.confidence.values())
    assert "Subject:" in found.evidence["title"]


@pytest.mark.parametrize(
    ("head", "summary"),
    [
        ("Blue Harbour Ltd.\n12 Quay Street", "An invoice from Blue Harbour Ltd. of 3 April 2026 over 131.50."),
        ("Ada Miller\n12 Quay Street", "An invoice from Ada Miller of 3 April 2026 over 131.50."),
        ("Invoice for the boat\n12 Quay Street", "An invoice called “Invoice no. 7” of 3 April 2026 over 131.50."),
        ("Boat number 12\n12 Quay Street", "An invoice called “Invoice no. 7” of 3 April 2026 over 131.50."),
        (
            "Ada Miller\n\nBill to:\nBlue Harbour Ltd.",
            "An invoice from Ada Miller to Blue Harbour Ltd. of 3 April 2026 over 131.50.",
        ),
    ],
)
def test_an_invoice_is_summarised_by_its_sender_and_day(head: str, summary: str) -> None:
    rows = "Rope 20.00\nTar 12.50\nSails 99.00\nTotal 131.50 incl. VAT"
    text = f"{head}\n\nInvoice no. 7\nInvoice date: 3 April 2026\n\n{rows}\n"
    assert classify({"doc-to-markdown": text}).summary == summary


def test_a_classification_survives_being_written_and_read() -> None:
    found = classify({"doc-to-markdown": LETTER})
    assert from_json(as_json(found)).title == found.title


def test_nothing_at_all_leaves_every_field_empty() -> None:
    found = classify({}, "IMG_0001.pdf")
    assert (found.title, found.summary, found.date, found.tags) == (None, None, None, ())


def test_an_uncertain_date_stays_a_candidate_and_is_not_chosen() -> None:
    doubtful = (Candidate("2020-01-01", "2020", "doc-to-markdown", 0.05),)
    found = classify_document_by_rules(
        {"doc-to-markdown": LETTER},
        None,
        mime="application/pdf",
        name="a.pdf",
        language=None,
        language_confidence=0.0,
        dates=doubtful,
    )
    assert (found.date, found.dates) == (None, doubtful)


def test_a_page_gives_its_own_title_keywords_and_day() -> None:
    texts = {
        "url-crawl-content": "Bread needs dough. " * 20,
        "url-metadata": json.dumps(
            {
                "title": "Sourdough",
                "keywords": ["bread", "dough", "SEO spam nobody wrote"],
                "published_date": "2023-02-01",
            }
        ),
    }
    found = classify(texts, "link.url", "application/x-mswinurl")

    assert found.title == "Sourdough"
    assert found.date == "2023-02-01"
    assert {"bread", "dough"} <= set(found.tags) and "seo spam nobody wrote" not in found.tags


def test_a_recording_without_a_title_is_called_by_its_topics() -> None:
    lines = [
        "The harbour bridge will be closed.",
        "So the harbour bridge needs paint.",
        "Who paints the harbour bridge?",
    ]
    texts = {"speech-recognition": json.dumps({"text": "", "segments": [{"text": line} for line in lines]})}
    found = classify(texts, "REC_0001.wav", "audio/wav")

    assert found.title is not None and "harbour bridge" in found.title.lower()
    assert "recording" in found.tags


def test_code_is_described_plainly_and_has_no_topics() -> None:
    found = classify({"file": "def bake():\n    flour = flour + flour\n" * 20}, "bake.py", "text/x-python")
    assert found.summary == "Python source code, 41 lines: bake."
    assert found.tags == ("source code",)


def test_data_has_no_topics_either() -> None:
    found = classify({"file": "name: wild ducks\nplace: pond of wild ducks\n" * 20}, "ducks.yaml", "application/yaml")
    assert found.tags == ("configuration",)


def test_a_notebook_is_read_by_its_cells() -> None:
    cells = [{"cell_type": "markdown", "source": ["# Duck counts\n", "Ducks are counted."]}, {"cell_type": "code"}]
    found = classify({"file": json.dumps({"cells": cells})}, "1.ipynb", "application/x-ipynb+json")
    assert found.title == "Duck counts"


def test_subtitles_are_read_without_their_times() -> None:
    times = "00:00:01.000 --> 00:00:04.000", "00:00:06.000 --> 00:00:09.000"
    text = f"WEBVTT FILE\n\n1\n{times[0]}\nThe harbour at night\n\n2\n{times[1]}\nShips.\n"
    assert classify({"file": text}, "IMG_0001.vtt", "text/vtt").title == "The harbour at night"


def test_content_in_no_promised_shape_is_no_error() -> None:
    texts = dict.fromkeys(("url-metadata", "media-preview", "speech-recognition", "speech-recognition-summary"), '["x"')
    assert classify(texts, "IMG_0001.pdf").title is None


def test_plain_text_is_without_markup_and_notes_and_from_the_whole_document() -> None:
    long = "# A *heading*\n\n" + "word " * 100_000 + "\n\nThe very end.\n\n> note: 3 pages left out"
    plain = plain_text({"doc-to-markdown": long})
    assert plain.startswith("A heading") and "word" in plain
    assert len(plain) <= 100_000
    assert "note:" not in plain_text({"doc-to-markdown": "Text.\n\n> note: 3 pages left out"})


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "x" * 5_000_000, "lorem ipsum " * 400_000, "A short line.\n" * 350_000, "[(" * 2_500_000, "# a\n" * 1_200_000,
        "| a | b |\n" * 500_000, '"a":' * 1_250_000, ". " * 2_500_000, "A. " * 1_600_000, "<a " * 1_600_000,
        "_" * 5_000_000,
    ],
    ids=["letters", "words", "lines", "brackets", "headings", "rows", "fields", "dots", "initials", "tags", "rules"],
)  # fmt: skip
@pytest.mark.parametrize("mime", ["application/pdf", "text/csv", "application/json"])
def test_five_megabytes_of_anything_cost_no_more_than_their_length(text: str, mime: str) -> None:
    where = "doc-to-markdown" if mime == "application/pdf" else "file"

    def read(size: int) -> None:
        found = classify_document_by_rules(
            {where: text[:size]}, None, mime=mime, name="a.txt", language="en", language_confidence=1.0
        )
        assert len(found.title or "") <= 200 and len(found.summary or "") <= 400 and len(found.tags) <= MAX_TAGS

    assert grows_linearly(read, len(text))


def test_text_that_only_fills_a_layout_has_no_subjects() -> None:
    lorem = "Lorem ipsum dolor sit amet, consectetur adipiscing elit. Mauris pellentesque scelerisque vestibulum. "
    found = classify({"doc-to-markdown": lorem * 6})
    assert found.tags == ("placeholder text",)
    assert found.summary == "Placeholder text (lorem ipsum)."


def test_a_phrase_of_the_title_takes_the_place_of_its_last_word() -> None:
    text = "# Tables with cell format specifiers\n\nThe specifiers are letters. All specifiers come before a bar.\n"
    assert "cell format specifiers" in classify({"doc-to-markdown": text}).tags


def test_a_title_that_only_names_the_kind_gives_no_subject() -> None:
    text = "Invoice Number 12345\n\nTotal amount due: 250.00 EUR\nVAT 20 %\nQuantity 3\n"
    assert classify({"doc-to-markdown": text}).tags == ("invoice",)


def test_the_cells_of_a_sheet_are_no_subjects_but_its_columns_are() -> None:
    rows = "".join(f"| {year} | gull {year} | Joe |\n" for year in range(2001, 2020))
    text = f"| Year | Freshwater ducks | Warden |\n| --- | --- | --- |\n{rows}"
    mime = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    found = classify({"doc-to-markdown": text}, "a.xlsx", mime).tags
    assert "freshwater ducks" in found and {"gull", "joe"}.isdisjoint(found)
