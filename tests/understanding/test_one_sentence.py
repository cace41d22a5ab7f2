"""The one sentence that says what a document is about."""

from __future__ import annotations

import json
import re

import pytest

from chyme.understanding.classification.source_text import read_source_text
from chyme.understanding.classification.summary_sentence import choose_sentence
from chyme.understanding.summaries.facts import DocumentFacts
from chyme.understanding.summaries.word_positions import find_words

PDF = "application/pdf"
BREAD = """# Baking bread at home

Dear reader,

Baking bread at home takes flour, water, salt, and a little patience with the dough. It is cheap, too.

Do you need a machine for that? However, the dough must rest for a night before the bread goes into the oven.

The oven should be hot, and a pot with a lid keeps the steam around the bread while it bakes.

| flour | 500 g |
| --- | --- |
| water | 350 g |

All rights reserved, subscribe to our newsletter about bread and baking at home with flour and water.
"""


def sentence_of(text: str, title: str | None = None, mime: str = PDF, where: str = "doc-to-markdown") -> str | None:
    found = choose_sentence(read_source_text({where: text}), DocumentFacts(title, mime, "en"))
    return found.text if found else None


def test_it_is_a_sentence_of_the_text_that_speaks_of_the_title() -> None:
    assert sentence_of(BREAD, "Baking bread at home") == (
        "Baking bread at home takes flour, water, salt, and a little patience with the dough."
    )


def test_it_does_not_refer_to_a_sentence_that_is_missing() -> None:
    text = (
        "This bread oven of the street is hot, and it bakes bread.\n\n"
        "The bread oven needs dry wood every single day.\n\n"
        + "".join(f"House {at} of the street has a chimney, a door and a garden with trees.\n\n" for at in range(12))
    )
    assert sentence_of(text, "Bread oven") == "The bread oven needs dry wood every single day."


def test_it_is_never_longer_than_the_limit() -> None:
    assert len(sentence_of("The bread " + "is good and the oven is hot and " * 40 + "done.") or "") <= 400


def test_a_page_is_summarised_by_its_own_description() -> None:
    page = json.dumps({"title": "Bread", "description": "How to bake bread in any oven you have. And more."})
    found = choose_sentence(
        read_source_text({"url-crawl-content": BREAD, "url-metadata": page}), DocumentFacts("Bread", "text/html", "en")
    )
    assert found is not None
    assert found.text == "How to bake bread in any oven you have."


def test_a_table_is_described_by_its_size_and_columns() -> None:
    assert sentence_of("| Year | Ducks |\n| --- | --- |\n" + "| 2020 | 135 |\n" * 5) == (
        "A table of 2 columns and 5 rows: Year, Ducks."
    )


def test_slides_without_sentences_are_described_by_their_headings() -> None:
    slides = "## Our year\n\n- Ducks\n\n## Ponds\n\n- Cold\n\n## Plans\n"
    mime = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
    assert sentence_of(slides, "Our year", mime) == "A presentation about “Our year”: Ponds; Plans."


def test_a_recording_is_described_by_its_summary() -> None:
    transcript = json.dumps({"text": "so yes", "segments": [{"text": "so yes let us talk about bread"}]})
    summary = "The bread is to be baked by Friday. Then it is sold.\n\n## Topics\n\n- Bread\n\n*Made by rules.*\n"
    found = choose_sentence(
        read_source_text({"speech-recognition": transcript, "speech-recognition-summary": summary}),
        DocumentFacts(None, "audio/mpeg", "en"),
    )
    assert found is not None
    assert found.text == "The bread is to be baked by Friday."


BILL = """Malerbetrieb Schulze
Lindenweg 4
24103 Kiel

Pos Bezeichnung Menge Preis
1 Wände streichen 40 m² 480,00 EUR
2 Decke streichen 20 m² 240,00 EUR
Summe 720,00 EUR zzgl. MwSt.

Die Wände wurden gestrichen wie am Montag mit Ihnen besprochen.
"""


def test_rows_of_a_table_and_an_address_are_no_sentence() -> None:
    assert sentence_of(BILL) == "Die Wände wurden gestrichen wie am Montag mit Ihnen besprochen."
    assert "says" in (
        sentence_of("Corner Market\nMain Street\nSpringfield in Illinois\nMilk and bread and apples\n") or ""
    )
    rows = "Corner Market\nMain Street\nSpringfield in Illinois\nMilk and bread and apples are sold.\n"
    assert "says" in (sentence_of(rows) or "")


def test_a_wrapped_sentence_is_still_one_sentence() -> None:
    text = (
        "The harbour office of the town lets the boat house at the\n"
        "old pier to the rowing club for as long as the club\n"
        "keeps its roof tight and its doors painted, and it asks\n"
        "for nothing else than that the club rows at the feast.\n"
    )
    assert sentence_of(text) == " ".join(text.split())
    assert sentence_of("The boat was clean\nwhen it came back.\n") == "The boat was clean when it came back."


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("The kettle boils.", "The kettle sings. The\n kettle\t boils. The kettle boils."),
        ("The kettle boils.", "The kettle " * 200 + "The\u00a0kettle\nboils. The kettle boils."),
        ("The kettle boils.", "Thekettle boils. The kettleboils."),
        ("The kettle boils.", "The kettle " * 200),
        ("The kettle boils.", "The kettle " * 50),
        ("kettle", "a teakettles"),
        ("a (b) c*", "a\n(b)\r\nc*d"),
        ("word", ""),
    ],
)
def test_words_are_found_where_they_first_follow_one_another(words: str, text: str) -> None:
    match = re.search(r"\s+".join(map(re.escape, words.split())), text)

    assert find_words(words.split(), text) == (match.span() if match else (0, 0))


def test_a_sentence_without_amounts_is_preferred() -> None:
    text = "We charged 12.50 and 13.50 and also 99.00 for the boat you rented. The boat was clean when it came back."
    assert sentence_of(text) == "The boat was clean when it came back."


@pytest.mark.parametrize(
    "sentence",
    [
        "Der Preis für die Wände ist inkl. MwSt. Kiel und Umgebung gerechnet worden.",
        "Die Wände bzw. Decken sind z. B. Weiß und die Türen evtl. Blau gestrichen worden.",
        "Die Rechnung mit der Nr. Sieben geht an die Anna-Str. Acht in der Stadt Kiel.",
    ],
)
def test_a_sentence_does_not_end_with_an_abbreviation(sentence: str) -> None:
    assert sentence_of(f"{sentence} Danke dafür.") == sentence


def test_a_word_that_is_also_an_abbreviation_may_end_a_sentence() -> None:
    assert sentence_of("The harbour town has always lived from boats and art. Thanks.", None) == (
        "The harbour town has always lived from boats and art."
    )


def bill(sort: str, sender: str = "", day: str = "") -> str | None:
    facts = DocumentFacts(None, "text/plain", "de", [sort] if sort else [], sender, day=day)
    found = choose_sentence(read_source_text({"file": BILL}), facts)
    return found.text if found else None


def test_a_bill_is_described_by_its_sender_and_date() -> None:
    assert bill("invoice", "Malerbetrieb Schulze", "2026-04-03") == (
        "An invoice from Malerbetrieb Schulze of 3 April 2026."
    )
    assert bill("receipt", "Corner Market", "2026-04") == "A receipt from Corner Market of April 2026."
    assert bill("receipt", day="2026") == "A receipt of 2026."
    assert bill("invoice") == bill("") == "Die Wände wurden gestrichen wie am Montag mit Ihnen besprochen."


def test_a_text_without_words_is_described_and_nothing_has_no_sentence() -> None:
    assert sentence_of("") is None
    assert sentence_of("12 13 14") == "A document of numbers and signs."


def test_a_text_that_says_no_more_than_its_title_is_quoted() -> None:
    assert sentence_of("Hidden text") == "A document that says only “Hidden text”."
    assert sentence_of("🍣") == "A document that says only “🍣”."
    links = "One\n\nThree with [the link to the harbour](https://harbour.example).\n\nNine."
    assert sentence_of(links) == "A document that says “One · Nine.”."  # not only that


def test_a_document_of_pictures_alone_is_told_as_such() -> None:
    assert sentence_of("![](image_0.jpeg)") == "A document with a picture and no text."
    assert sentence_of("![](a.jpeg)\n\n![](b.jpeg)") == "A document with pictures and no text."
