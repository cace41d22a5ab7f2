"""The one sentence that says what a document is about."""

from __future__ import annotations

import json

from chyme.decide.material import material
from chyme.decide.one_sentence import one_sentence

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


def told(text: str, title: str | None = None, mime: str = PDF, where: str = "doc-to-markdown") -> str | None:
    found = one_sentence(material({where: text}), title, mime, "en")
    return found.text if found else None


def test_it_is_a_sentence_of_the_text_that_speaks_of_the_title() -> None:
    assert told(BREAD, "Baking bread at home") == (
        "Baking bread at home takes flour, water, salt, and a little patience with the dough."
    )


def test_it_does_not_lean_on_a_sentence_that_is_not_there() -> None:
    text = (
        "This bread oven of the street is hot, and it bakes bread.\n\n"
        "The bread oven needs dry wood every single day.\n\n"
        + "".join(f"House {at} of the street has a chimney, a door and a garden with trees.\n\n" for at in range(12))
    )
    assert told(text, "Bread oven") == "The bread oven needs dry wood every single day."


def test_it_is_never_longer_than_it_may_be() -> None:
    assert len(told("The bread " + "is good and the oven is hot and " * 40 + "done.") or "") <= 400


def test_a_page_is_told_by_its_own_description() -> None:
    page = json.dumps({"title": "Bread", "description": "How to bake bread in any oven you have. And more."})
    found = one_sentence(material({"url-crawl-content": BREAD, "url-metadata": page}), "Bread", "text/html", "en")
    assert found is not None
    assert (found.text, found.where) == ("How to bake bread in any oven you have.", "url-metadata")


def test_a_table_is_told_plainly() -> None:
    assert told("| Year | Ducks |\n| --- | --- |\n" + "| 2020 | 135 |\n" * 5) == (
        "A table of 2 columns and 5 rows: Year, Ducks."
    )


def test_slides_without_sentences_are_told_by_their_headings() -> None:
    slides = "## Our year\n\n- Ducks\n\n## Ponds\n\n- Cold\n\n## Plans\n"
    mime = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
    assert told(slides, "Our year", mime) == "A presentation about Ponds; Plans."


def test_a_recording_is_told_by_its_summary() -> None:
    said = json.dumps({"text": "so yes", "segments": [{"text": "so yes let us talk about bread"}]})
    summary = "The bread is to be baked by Friday. Then it is sold.\n\n## Topics\n\n- Bread\n\n*Made by rules.*\n"
    found = one_sentence(
        material({"speech-recognition": said, "speech-recognition-summary": summary}), None, "audio/mpeg", "en"
    )
    assert found is not None
    assert found.text == "The bread is to be baked by Friday."


def test_nothing_is_said_about_nothing() -> None:
    assert told("") is None
    assert told("12 13 14") is None
