"""Summaries that are composed: of bills, contracts, tables, slides, stories, short and empty documents."""

from __future__ import annotations

import json

import pytest

from chyme.documents.properties.office import count_parts
from chyme.understanding.classification.data_descriptions import parse_delimited_table
from chyme.understanding.classification.source_text import read_source_text
from chyme.understanding.classification.summary_sentence import choose_sentence
from chyme.understanding.summaries.bills import find_total
from chyme.understanding.summaries.composition import describe_empty
from chyme.understanding.summaries.contracts import find_parties
from chyme.understanding.summaries.facts import DocumentFacts
from chyme.understanding.summaries.introductions import introduce
from chyme.understanding.summaries.mails import describe_mail
from chyme.understanding.summaries.refusals import is_filler
from chyme.understanding.summaries.self_reference import names_document
from chyme.understanding.summaries.shortening import strip_marks
from chyme.understanding.summaries.stories import is_story
from chyme.understanding.summaries.tables import find_period
from chyme.understanding.summaries.weighing import stands_alone

PDF, HTML, CSV = "application/pdf", "text/html", "text/csv"
SLIDES = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
SHEETS = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
STORY = (
    "The captain bowed and Ada Winter laughed at him. He sighed, and she whispered that her brother had seen him on "
    "the ice. I told you, he replied, that I would wait for her. She smiled at Ada Winter and he nodded to her mother. "
) * 6


def summarise(text: str, facts: DocumentFacts) -> str:
    found = choose_sentence(read_source_text({"doc-to-markdown": text}), facts)
    assert found is not None
    return found.text


def test_a_sentence_that_does_not_speak_of_the_title_is_introduced_by_it() -> None:
    page = DocumentFacts("Water seen on a distant moon", HTML, "en")
    assert introduce("The find was made on Hawaii.", page) == (
        "A page called “Water seen on a distant moon”: The find was made on Hawaii."
    )
    assert introduce("A distant moon has water.", page) == "A distant moon has water."
    report = DocumentFacts("Varn bridges: what forty years of inspections have shown us", PDF, "en")
    assert introduce("The bridges of Varn are safe.", report) == "The bridges of Varn are safe."
    assert introduce("Steel rusts.", DocumentFacts("scan 12", PDF, "en", is_named=False)) == "Steel rusts."
    assert (
        introduce("Flood engineer.", DocumentFacts("Ada Winter", PDF, "en", ["cv"]))
        == "A CV of Ada Winter: Flood engineer."
    )
    letter = DocumentFacts("Window", PDF, "en", ["letter"], "Blue Harbour Ltd", day="2026-04-03")
    assert (
        introduce("The window is late.", letter)
        == "A letter from Blue Harbour Ltd of 3 April 2026: The window is late."
    )


@pytest.mark.parametrize(
    "sentence",
    [
        "I've been busy with the boat for weeks.",
        "We all buy things.",
        "Because it rains.",
        "It's late.",
        "Why do we wait for the boat?",
    ],
)
def test_small_talk_and_references_do_not_stand_alone(sentence: str) -> None:
    assert not stands_alone(sentence)
    assert stands_alone("The town of Varn paints its roofs white.")


def test_small_talk_in_a_description_is_passed_over() -> None:
    page = {
        "title": "Tide clock",
        "description": "I've been away for a while. The tide clock shows when the water is high.",
    }
    source = read_source_text({"url-crawl-content": "Hello.", "url-metadata": json.dumps(page)})
    found = choose_sentence(source, DocumentFacts("Tide clock", HTML, "en"))

    assert found is not None
    assert found.text == "The tide clock shows when the water is high."


@pytest.mark.parametrize(
    ("text", "total"),
    [
        ("Subtotal 250.00\nTOTAL SALES TAX 23.13\nAmount due | 273.13\nUSD", "273.13 USD"),
        ("Total Amount: $99.99", "$99.99"),
        ("Summe 720,00 EUR\nMwSt. 136,80\nGesamtbetrag 856,80 €", "856,80 €"),
        ("Summe 720,00 EUR zzgl. MwSt.", ""),
        ("Tax 9.25%\nTotal 19.00 %", ""),
    ],
)
def test_the_total_is_what_is_to_be_paid(text: str, total: str) -> None:
    assert find_total(text) == total


def test_the_parties_of_a_contract_are_told() -> None:
    text = (
        "THIS AGREEMENT is made by and between the VARN HARBOUR BOARD, hereinafter called BOARD, and ______, "
        "hereinafter called CONSULTANT for ____."
    )
    assert find_parties(text) == ("Varn Harbour Board", "a consultant")
    facts = DocumentFacts("Harbour survey", PDF, "en", ["contract"])
    assert summarise(f"# Harbour survey\n\n{text}\n", facts) == (
        "A contract called “Harbour survey” between Varn Harbour Board and a consultant."
    )
    assert find_parties("The distance between one and two is long.") is None


def test_a_table_is_told_with_its_name_and_period() -> None:
    text = "year,temp\n1880,1\n1950,2\n2023,3\n"
    assert summarise(text, DocumentFacts("air temperature", CSV, is_named=False)) == (
        "A table called “air temperature” of 2 columns and 3 rows from 1880 to 2023: year, temp."
    )
    table = parse_delimited_table("date,n\nJan 1 2000,1\nMay 1 2010,2\n")
    assert table and find_period("date,n\nJan 1 2000,1\nMay 1 2010,2\n", table) == " from 2000 to 2010"
    assert find_period("id,n\n2000,1\n2010,2\n", table) == ""


def test_a_document_of_tables_is_told_with_its_title_and_how_many_they_are() -> None:
    table = "| Code | Error |\n| --- | --- |\n| a | b |\n| c | d |\n"
    facts = DocumentFacts("Faults of pumps", WORD, "en")
    assert (
        summarise(table, facts)
        == "A document called “Faults of pumps” with a table of 2 columns and 2 rows: Code, Error."
    )
    assert summarise(f"{table}\n{table}", facts) == (
        "A document called “Faults of pumps” with 2 tables; the largest has 2 rows of Code, Error."
    )
    swatches = "| A = 0.55, 0.10 | B = 0.60, 0.10 |\n| --- | --- |\n| C = 0.65, 0.10 | D = 0.70, 0.10 |\n"
    assert "0.55" not in summarise(swatches, DocumentFacts("Colours", PDF, "en"))


def test_rows_of_a_pdf_are_not_counted_where_tables_end_with_the_page_or_rows_are_merged() -> None:
    table = "| Code | Error |\n| --- | --- |\n| a | b |\n| c | d |\n"
    facts = DocumentFacts("Faults of pumps", PDF, "en")
    assert summarise(table, facts).endswith("with a table of 2 columns and 2 rows: Code, Error.")
    assert summarise(f"{table}\n{table}", facts) == "A document called “Faults of pumps” with tables of Code, Error."
    years = "| Income | 2021 | 2022 |\n| --- | --- | --- |\n| Rent Sales | 100 300 | 200 400 |\n| Gifts | 1 | 2 |\n"
    assert summarise(years, DocumentFacts("Income", PDF, "en")) == (
        "A document called “Income” with figures for 2021, 2022."
    )


def test_the_data_of_charts_is_told_as_charts() -> None:
    chart = "|  | Apples | Pears |\n| --- | --- | --- |\n| May | 4.3 | 2 |\n| June | 2.5 | 4 |\n"
    assert summarise(chart, DocumentFacts(None, SLIDES)) == "A presentation with a chart of Apples, Pears."
    assert summarise(f"{chart}\n{chart}", DocumentFacts(None, SLIDES)) == (
        "A presentation with charts of Apples, Pears."
    )
    unnamed = "|  | Series 1 |\n| --- | --- |\n| Category 1 | 4.3 |\n"
    assert summarise(unnamed, DocumentFacts("Sales", WORD, "en")) == (
        "A document called “Sales” with a chart of Series 1."
    )
    assert "table" in summarise(chart, DocumentFacts("Fruit", WORD, "en"))
    assert "table" in summarise(chart.replace("2.5", "few"), DocumentFacts(None, SLIDES))


def test_a_sheet_without_names_of_columns_is_told_by_its_first_words() -> None:
    sheet = "## Sheet1\n\n| red kite | 2014-06-06 |\n| --- | --- |\n| tern | 5 |\n| 7.50 | 8 |\n"
    assert summarise(sheet, DocumentFacts(None, SHEETS)) == "A spreadsheet with 3 rows and 2 columns: red kite, tern."
    numbers = "## Sheet1\n\n| 1 | 2 |\n| --- | --- |\n| 3 | 4 |\n"
    assert summarise(numbers, DocumentFacts(None, SHEETS)) == "A spreadsheet with 2 rows and 2 columns of numbers."
    gaps = "## Sheet1\n\n|  |  |  |  |\n| --- | --- | --- | --- |\n| Part | Price |  |  |\n| a | 1 |  |  |\n"
    assert summarise(gaps, DocumentFacts(None, SHEETS)).endswith("of Part, Price.")


def test_comments_below_a_sheet_do_not_hide_its_table() -> None:
    sheet = "## Index\n\n| Topic | Page |\n| --- | --- |\n| Cash | 1 |\n\n" + "A long comment on the sheet. " * 20
    assert summarise(sheet, DocumentFacts("Index", SHEETS, "en")) == "A spreadsheet “Index” with 1 row of Topic, Page."
    assert "Sheet4" not in summarise(
        "## Sheet1\n\n| Topic | Page |\n| --- | --- |\n| Cash | 1 |\n\n## Sheet4 (hidden)\n\n| x |\n",
        DocumentFacts(None, SHEETS),
    )


def test_slides_without_titles_are_told_by_what_they_say() -> None:
    text = "## Third quarter\n\nRevenue grew by 18 %.\n\nNorth led growth.\n"
    assert summarise(text, DocumentFacts("Third quarter", SLIDES, "en", ["presentation"])) == (
        "A presentation about “Third quarter”: Revenue grew by 18 %; North led growth."
    )
    assert (
        summarise("![a](b.png)\n\n-----\n", DocumentFacts(None, SLIDES)) == "A presentation with a picture and no text."
    )


def test_a_story_is_told_as_one_and_not_by_one_of_its_sentences() -> None:
    assert is_story(STORY)
    assert not is_story("The board said that it asked the town for money. " * 40)
    assert summarise(STORY, DocumentFacts(None, "text/plain", "en")).startswith(
        "A story with Ada Winter; it begins “The captain bowed and Ada Winter laughed at him.”"
    )


def test_a_long_document_without_a_good_sentence_is_told_by_its_headings() -> None:
    part = (
        "the moon was low over the bog and pools of black water lay in the hollows of the land, dark and deep\n\n" * 200
    )
    text = "".join(f"## {name}\n\n{part}" for name in ("The moon", "The giver", "The bee"))
    assert (
        summarise(text, DocumentFacts("Tales", PDF, "en")) == "A document called “Tales”: The moon; The giver; The bee."
    )


def test_a_short_document_of_fragments_is_quoted_as_it_is() -> None:
    text = "- First item\n- Second item\n\nSome text between two lists of items.\n\n- Third item\n"
    assert summarise(text, DocumentFacts(None, PDF, "en")) == (
        "A document that says only “First item · Second item · Some text between two lists of items. · Third item”."
    )


def test_placeholder_text_is_called_that() -> None:
    assert is_filler("Hello, here is some text without a meaning.")
    facts = DocumentFacts("Sample page", HTML, "la")
    assert summarise("lorem ipsum dolor sit amet consectetur " * 5, facts) == (
        "A page called “Sample page” of placeholder text (lorem ipsum)."
    )


def test_transitions_and_questions_after_a_statement_are_left_out() -> None:
    assert strip_marks("To this end, we propose a warm filter.") == "We propose a warm filter."
    assert strip_marks("Using this idea, in this paper, we test it.") == "In this paper, we test it."
    assert strip_marks("The way to find new ideas is to look at gaps: what is missing there?") == (
        "The way to find new ideas is to look at gaps."
    )


def test_a_document_names_itself_only_before_the_verb() -> None:
    assert names_document("This short report lists the bridges.")
    assert not names_document("This is a box with text.")


def test_a_mailbox_with_headings_is_counted_and_named() -> None:
    mailbox = "A mailbox with 2 e-mails.\n\n## Re: Roof\n\n**From:** Ada\n\nYes.\n\n## Roof\n\n**From:** Kim\n\nNo.\n"
    found = describe_mail(mailbox, "application/mbox")
    assert found and found.text == "A mailbox of 2 e-mails: Roof."


def test_an_empty_document_is_told_by_what_it_has_instead() -> None:
    assert describe_empty(PDF, pages=2) == "A document of 2 pages without text."
    assert describe_empty(SLIDES, 0, 3, 1) == "A presentation with 3 pictures and 1 embedded file, and no text."
    assert describe_empty(SHEETS) == "A spreadsheet without text."
    assert count_parts(["ppt/media/a.png", "ppt/embeddings/b.bin", "ppt/slides/slide1.xml", "Pictures/c.jpg"]) == (2, 1)
