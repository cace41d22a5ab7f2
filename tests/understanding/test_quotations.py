"""What a summary quotes of a document that has no sentence to summarise it: nothing torn, no remains of markup."""

from __future__ import annotations

from chyme.text.markdown_blocks import blocks_of
from chyme.understanding.classification.source_text import read_source_text
from chyme.understanding.classification.summary_sentence import choose_sentence
from chyme.understanding.summaries.facts import DocumentFacts
from chyme.understanding.summaries.quotations import (
    field_labels,
    has_residue,
    is_run_together,
    line_labels,
    quote_lines,
    quote_sentences,
    without_running_heads,
)
from chyme.understanding.summaries.refusals import is_refused

PDF, HTML = "application/pdf", "text/html"


def summarise(text: str, facts: DocumentFacts) -> str:
    found = choose_sentence(read_source_text({"doc-to-markdown": text}), facts)
    return found.text if found else ""


def test_remains_of_an_encoding_are_recognised() -> None:
    assert all(map(has_residue, ("the boat=20", "gel=F6scht", "tea &nbsp; milk", "&nbs= p", "one_x000d_ two")))
    assert not any(map(has_residue, ("x = 20", "Tea & milk; bread", "A=B", "5 = five")))


def test_only_whole_sentences_are_quoted_of_what_is_too_long() -> None:
    texts = ["Tide 7", "The sea rises twice a day here. The moon pulls at it.", "| x", "The town lies behind a dyke."]
    assert quote_sentences(texts, "", "en") == "The sea rises twice a day here. The moon pulls at it."
    long = "The harbour of the town was built of stone by the men of the island and has a light at its end. "
    said = quote_sentences([long * 4], "", "en")
    assert said == long.strip()
    assert (
        quote_sentences(["The law says that $F_n = F_m$ for the two.", "It is set=20 in the text of it."], "", "en")
        == ""
    )


def test_texts_of_boxes_that_are_run_together_are_not_quoted() -> None:
    assert is_run_together("Box TitleThis is a box with a dark borderA box.")
    assert not is_run_together("The OpenOffice file is here.")
    assert quote_sentences(["Box TitleThis is a box with a dark borderA box."], "", "en") == ""


def test_fields_are_told_by_their_labels() -> None:
    text = "HEADER\n\nBoat hire\n\n1\n\nPier number 12\n\n2\n\nRower Ada Winter\n\nPlaces 4\n\nHired: 3 May\n"
    assert field_labels([block for block in blocks_of(text) if block.text.strip("12")], "Boat hire") == [
        *("Pier number", "Places", "Hired"),
    ]
    assert field_labels(blocks_of("Section 1\n\nSection 2\n\nSection 3\n"), "") == []


def test_short_lines_are_listed_only_if_a_text_consists_of_them() -> None:
    assert line_labels(blocks_of("Boats and oars\n\nSwimming in the lake\n\nDucks\n"), "") == [
        *("Boats and oars", "Swimming in the lake", "Ducks"),
    ]
    assert (
        line_labels(blocks_of("Boats and oars\n\nDucks\n\n" + "the water of the lake is cold and dark " * 9), "") == []
    )
    assert line_labels(blocks_of("x = 4\n\nlet y\\_a\n\n{ b }\n"), "") == []


def test_verse_is_quoted_by_lines() -> None:
    verse = "The sea is grey today,\nThe gulls are gone away\nThe boats lie in the sand\nThe wind blows off the land\n"
    assert quote_lines(verse) == "The sea is grey today / The gulls are gone away"
    assert quote_lines("one\ntwo\nthree\nfour\n") == ""


def test_a_running_head_beside_a_page_number_is_no_text() -> None:
    assert without_running_heads(
        ["78 Tides of the north", "The sea.", "Tides of the North 79"], "Tides of the North"
    ) == ["The sea."]


def test_a_long_text_of_fragments_is_not_torn() -> None:
    figure = "\n".join(f"조류 {number}" for number in range(90))
    facts = DocumentFacts("조류 보고서", PDF, "ko")
    assert (
        summarise(f"78 조류 보고서\n\n{figure}\n", facts)
        == "A document in Korean called “조류 보고서”, about 200 words."
    )
    mail = "Hi, Ben, good day.\n\nPlease=20 see\n\nPier: 4\n\nBoat: Swan=20\n\nRower: Ada\n\n" + "x=20 y " * 40
    assert summarise(mail, DocumentFacts(None, HTML, "en")).endswith(" with Pier, Boat, Rower.")


def test_sentences_of_languages_with_other_small_words_are_not_taken_for_lists() -> None:
    assert not is_refused("Волны были очень высокими, и мы не могли выйти в море на лодке.", "ru")
