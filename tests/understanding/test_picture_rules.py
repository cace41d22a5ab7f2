"""Pictures classified without a model."""

from __future__ import annotations

import json

from chyme.understanding.classification.picture_rules import classify_picture_by_rules
from chyme.understanding.classification.result import Candidate, Classification

TAKEN = Candidate("2024-05-03", "2024-05-03T10:00:00", "exif", 0.95)
DOG = json.dumps(
    {
        "objects": [
            {"name": "dog", "confidence": 0.91},
            {"name": "dog", "confidence": 0.6},
            {"name": "frisbee", "confidence": 0.7},
            {"name": "kite", "confidence": 0.2},
        ]
    }
)


def classify(
    preview: object = None,
    ocr: str | None = None,
    caption: str = "A photograph of two dogs and a frisbee.",
    objects: str | None = None,
    name: str = "IMG_0001.jpg",
    composed: bool = True,
) -> Classification:
    return classify_picture_by_rules(
        preview=json.dumps(preview) if preview else None,
        ocr=ocr,
        caption=json.dumps({"text": caption, "composed": composed}) if caption else None,
        objects=objects,
        name=name,
        language="en" if ocr else None,
        language_confidence=0.8,
        dates=(TAKEN,),
    )


def test_a_photograph_is_described_by_what_is_in_it() -> None:
    found = classify({"taken": "2024-05-03T10:00:00"}, objects=DOG)

    assert found.title == "Two dogs and a frisbee"
    assert found.summary == "A photograph of two dogs and a frisbee."
    assert found.tags == ("photo", "dog", "frisbee")
    assert (found.date, found.evidence["date"]) == ("2024-05-03", "2024-05-03T10:00:00")
    assert found.language is None


def test_a_sort_of_picture_is_no_title() -> None:
    for caption in (
        "A photograph.",
        "A dark photograph, mostly blue.",
        "A screenshot.",
        "A plain red picture.",
        "An outdoor photograph, mostly blue and green.",
        "A receipt.",
        "A diagram.",
    ):
        assert classify(caption=caption).title is None


def test_the_photographers_own_words_come_first() -> None:
    found = classify({"title": "Rex at the beach", "keywords": ["Rex", "Beach"]}, objects=DOG)
    assert found.title == "Rex at the beach"
    assert found.tags[:3] == ("photo", "rex", "beach")


def test_a_scanned_page_is_called_by_its_heading_and_tagged_by_its_words() -> None:
    page = (
        "# Invoice No. 12\n\nMiller Bakery [?]\n\nBread rolls 12.00\n\nTotal amount due: $120.00 including VAT\n\n"
        "Bread rolls are delivered on Monday, and bread rolls must be paid at once by those who ate them."
    )
    found = classify(ocr=page, caption="A page of text; it begins “Invoice No. 12 …”.")

    assert found.title == "Invoice No. 12 – Miller Bakery"
    assert found.tags[:2] == ("scan", "invoice")
    assert found.language == "en"


def test_a_few_words_on_a_sign_are_the_title() -> None:
    assert classify(ocr="Harbour Street", caption="A photograph; it says “Harbour Street”.").title == "Harbour Street"


def test_a_name_that_a_person_gave_is_better_than_none() -> None:
    assert classify(caption="A photograph.", name="Rex on the sofa.jpg").title == "Rex on the sofa"


def test_nothing_known_leaves_everything_empty() -> None:
    found = classify_picture_by_rules(preview=None, ocr=None, caption=None, objects=None, name="IMG_0001.jpg")
    assert (found.title, found.summary, found.date, found.language, found.tags) == (None, None, None, None, ())


def test_a_picture_that_cannot_be_opened_is_not_called_by_its_name() -> None:
    unseen = classify_picture_by_rules(preview=None, ocr=None, caption=None, objects=None, name="Rex on the sofa.jpg")
    assert (unseen.title, unseen.confidence) == (None, {})
    seen = classify_picture_by_rules(preview="{}", ocr=None, caption=None, objects=None, name="Rex on the sofa.jpg")
    assert seen.title == "Rex on the sofa"


def test_content_in_no_promised_shape_is_no_error() -> None:
    found = classify_picture_by_rules(
        preview="[1", ocr="", caption="3", objects='{"objects": [3]}', name="IMG_0001.jpg"
    )
    assert found.title is None


def test_a_table_or_chart_is_tagged_as_a_chart_and_says_nothing_more() -> None:
    found = classify(caption="A table or chart.", name="tides.png")

    assert found.tags == ("chart",)
    assert found.summary is None
    assert found.title == "tides"
