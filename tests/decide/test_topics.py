"""What texts are about, as tags."""

from __future__ import annotations

import pytest

from chyme.decide.document_sorts import sort_tags
from chyme.decide.prose import blocks_of
from chyme.decide.topics import topics

ALPS = """# Hiking in the Alps

Mountain huts offer beds to hikers in the Alps. Most mountain huts open in June and close in September.

A hiker should reserve a bed early, because huts are full in August. Figure 3 shows the huts on page 12.

The weather changes quickly in the mountains. A hiker needs a map, and mountain huts have maps to sell.

Several glaciers can be crossed with a guide. Glaciers are dangerous, and crossing glaciers takes experience.
"""


def tags(text: str, language: str | None = "en", title: str | None = None, most: int = 7) -> list[str]:
    return [one.tag for one in topics(blocks_of(text), title, language, most)]


def test_phrases_that_come_again_are_the_topics() -> None:
    found = tags(ALPS, title="Hiking in the Alps")
    assert {"mountain huts", "glaciers", "alps"} <= set(found)


def test_no_tag_is_furniture_a_number_a_month_or_a_verb() -> None:
    found = {word for tag in tags(ALPS * 2, most=20) for word in tag.split()}
    assert found.isdisjoint({"figure", "page", "12", "june", "august", "september", "several", "changes", "quickly"})


def test_tags_are_in_lower_case_and_share_no_word() -> None:
    found = tags(ALPS, title="Hiking in the Alps")
    words = [word for tag in found for word in tag.split()]
    assert len(words) == len(set(words))
    assert all(tag == tag.lower() for tag in found)


def test_one_and_many_are_one_topic() -> None:
    text = "The duck is here.\n\nMany ducks were there.\n\nA duck and the ducks are seen.\n"
    assert [tag for tag in tags(text) if tag.startswith("duck")] in (["duck"], ["ducks"])


def test_german_tags_are_nouns() -> None:
    text = (
        "Die elektronische Patientenakte hilft. Die Ärzte nutzen die Patientenakte schnell.\n\n"
        "Viele Patienten wollen schnell eine Patientenakte, und Patienten fragen schnell danach.\n"
    )
    found = tags(text, "de")
    assert "schnell" not in found
    assert any("patientenakte" in tag for tag in found)


def test_unspaced_script_has_topics_too() -> None:
    assert "会議室" in tags("会議室は二階です。\n\n会議室を予約した。\n\n会議室の鍵。\n", "ja")


def test_a_text_in_which_nothing_comes_again_has_none() -> None:
    assert tags("One apple fell. Somebody laughed about that.") == []


@pytest.mark.parametrize(
    ("text", "mime", "wanted"),
    [
        ("Invoice No. 12\n\nTotal amount due: $120.00 incl. VAT, payable by transfer", "application/pdf", ["invoice"]),
        ("Rechnung\nRechnungsnr. 7\nGesamtbetrag 99,00 EUR inkl. MwSt, IBAN DE02", "application/pdf", ["invoice"]),
        ("# Apple cake\n\nIngredients: 2 cups flour\n\nPreheat the oven, bake 40 minutes.", "text/plain", ["recipe"]),
        ("3 May 2024\n\nDear Mr Miller,\n\nthe flat is yours.\n\nYours faithfully", "application/pdf", ["letter"]),
        ("Minutes of the board\n\nAttendees: A, B\n\nAgenda: money. Resolved: yes.", "application/pdf", ["minutes"]),
        ("def x(): pass", "text/x-python", ["source code"]),
        ("Hello", "message/rfc822", ["e-mail"]),
        ("We never got your invoice and wonder where it is.", "application/pdf", []),
        ("An agreement was reached on Tuesday, the minister said.", "text/html", []),
    ],
)
def test_the_kind_is_told_where_the_evidence_is_strong(text: str, mime: str, wanted: list[str]) -> None:
    assert [tag for tag, _ in sort_tags(text, None, mime)] == wanted
