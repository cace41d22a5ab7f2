"""What a summary quotes of a document that has no sentence to summarise it: nothing torn, no remains of markup."""

from __future__ import annotations

from chyme.documents.properties.reader import Properties
from chyme.text.markdown_blocks import blocks_of
from chyme.understanding.classification.source_text import read_source_text
from chyme.understanding.classification.summary_sentence import choose_sentence
from chyme.understanding.summaries.descriptions import choose_description
from chyme.understanding.summaries.facts import DocumentFacts
from chyme.understanding.summaries.introductions import is_section_heading
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


def plain(text: str, facts: DocumentFacts) -> str:
    found = choose_sentence(read_source_text({"file": text}), facts)
    return found.text if found else ""


def test_typst_is_told_without_its_commands_and_formulas() -> None:
    text = (
        '#set page(width: 9cm)\n#set heading(numbering: "1.")\n\n= Tidal sums\n'
        "The sums are defined by the relation $T_n = T_(n-1) + 2$.\n\n#let tide(n) = (\n  if n { 1 }\n)\n"
    )
    facts = DocumentFacts("Tidal sums", "text/plain", "en")
    assert plain(text, facts) == "A Typst document about “Tidal sums”."
    said = "The tides of the northern coast are summed up by the day of the year."
    assert plain(f"{text}\n{said}\n", facts).endswith(said)


def test_latex_and_asciidoc_are_told_by_their_prose_and_headings() -> None:
    latex = (
        "\\documentclass{article}\n\\begin{document}\n\\section{Rivers}\n"
        "This paper describes how \\emph{rivers} carry sand of size $d$ to the sea.\n\\end{document}\n"
    )
    facts = DocumentFacts("Rivers", "text/plain", "en")
    assert plain(latex, facts) == "This paper describes how rivers carry sand of size d to the sea."
    asciidoc = "= Boats\n:toc:\n\n== Oars and rowing\n\n- one\n\n== Sails of cloth\n\n----\n"
    assert plain(asciidoc, DocumentFacts("Boats", "text/plain", "en")) == (
        "An AsciiDoc document called “Boats”: Oars and rowing; Sails of cloth."
    )


def test_commands_of_statistics_are_named_and_not_quoted() -> None:
    text = 'Made on a ship, from\n\nclear all\nset obs 3\n\ngen fish = ""\nreplace fish = "cod" in 1\nsave fish.dta\n'
    assert plain(text, DocumentFacts(None, "text/plain", "en")) == (
        "A text with Stata commands that says “Made on a ship, from”."
    )
    assert "commands" not in plain("Use the boat.\n\nReplace the oar.\n", DocumentFacts(None, "text/plain", "en"))


def test_the_heading_of_a_later_section_is_not_what_a_document_is_called() -> None:
    text = "# Coast\n\nThe coast is made of sand and stones, and of clay.\n\n## Part two\n\nSand\n"
    assert is_section_heading(read_source_text({"doc-to-markdown": text}), "Part two")
    assert not is_section_heading(read_source_text({"doc-to-markdown": text}), "Coast")
    cover = "# Harbour Board\n\nReport\n\n## Tides of the coast\n\nThe tides of the coast are high.\n"
    assert not is_section_heading(read_source_text({"doc-to-markdown": cover}), "Tides of the coast")
    filler = f"# Top\n\n{'Lorem ipsum dolor sit amet consectetur adipiscing elit. ' * 3}\n\n## Part two\n"
    assert "Part two" not in summarise(filler, DocumentFacts("Part two", PDF, "la"))


def test_the_description_of_a_template_that_shares_no_word_with_the_text_is_not_used() -> None:
    text = "## Tides of the coast\n\nThe sea rises twice a day.\n"
    facts = DocumentFacts("Tides of the coast", PDF, "en")
    foreign = Properties(description="Write a longer remark of several lines here._x000d_ Thanks a lot.")
    fitting = Properties(description="How the coast changes_x000d_ with every hour of the day and night.")
    sources = [read_source_text({"doc-to-markdown": text}, properties) for properties in (foreign, fitting)]
    assert [choose_description(source, facts) for source in sources] == [
        "",
        "How the coast changes with every hour of the day and night.",
    ]


def test_rows_of_numbers_in_a_short_document_are_not_quoted() -> None:
    text = "Text 2\n\nText 1\n\n|  | Series 1 |\n| --- | --- |\n| Category 1 | 4.3 |\n\nFig – Speed of the boat\n"
    assert summarise(text, DocumentFacts(None, PDF)) == "A document with a chart of Series 1."
