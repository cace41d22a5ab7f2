"""Which title a document has."""

from __future__ import annotations

import pytest

from chyme.documents.properties.reader import Properties
from chyme.understanding.classification.source_text import read_source_text
from chyme.understanding.titles.candidates import MIN_CONFIDENCE, find_titles

PDF, MAIL, HTML = "application/pdf", "message/rfc822", "text/html"
PROSE = "The flat lies on the third floor. It has two rooms and a kitchen, and costs nine hundred a month.\n\n" * 5


def of_name(name: str, text: str = "", mime: str = "text/plain") -> str | None:
    """The title of a file of which only the name and this text are known."""
    found = find_titles(read_source_text({"file": text}), name, mime)
    return found[0].text if found and found[0].confidence >= MIN_CONFIDENCE else None


@pytest.mark.parametrize(
    ("name", "mime", "title"),
    [
        ("x.c", "text/x-c", "x.c"),
        ("001.sql", "application/sql", "001.sql"),
        ("a1b2c3d4e5f6.js", "text/javascript", "a1b2c3d4e5f6.js"),
        ("read_mail.py", "text/x-python", "read mail"),
        ("1984.epub", "application/epub+zip", "1984"),
        ("W-2.pdf", PDF, "W-2"),
        ("2024-01-03.md", "text/markdown", "2024-01-03"),
        ("2024-01-03-garden-plan.md", "text/markdown", "2024-01-03 garden plan"),
        ("<script>alert(1)<.txt", "text/plain", "script alert(1)"),
        ("scan0001.pdf", PDF, None),
        ("image001.htm", HTML, None),
    ],
)
def test_a_name_is_a_title_if_a_person_gave_it_or_code_goes_by_it(name: str, mime: str, title: str | None) -> None:
    assert of_name(name, mime=mime) == title


@pytest.mark.parametrize(
    ("letterhead", "title"),
    [
        ("Talleres García S.L.\nCalle Mayor 12\n28013 Madrid", "Talleres García S.L."),
        ("Blue Harbour Ltd.\n12 Quay Street\nBristol", "Blue Harbour Ltd."),
        ("Malerbetrieb Schulze e.K.\nLindenweg 4\n24103 Kiel", "Malerbetrieb Schulze e.K."),
    ],
)
def test_a_company_in_the_letterhead_beats_the_name_of_the_file_and_its_address(letterhead: str, title: str) -> None:
    assert of_name("factura_0012.txt", f"{letterhead}\n\nNo. 2026/0012\n") == title


@pytest.mark.parametrize(
    "line",
    [
        "2026-04-01 12:00:00 ERROR Connection to the database is lost",
        "[2026-04-01T12:00:00Z] ERROR Connection to the database is lost",
        "Apr  1 12:00:00 harbour sshd: Connection to the database is lost",
    ],
)
def test_a_line_of_a_log_is_no_title(line: str) -> None:
    assert of_name("server.log", f"{line}\n{line} again\n") == "server"
    assert of_name("0001.txt", f"{line}\n{line} again\n") is None


def test_a_contract_is_not_called_by_its_parties() -> None:
    text = "Mietvertrag\n\nzwischen Anna Meyer als Vermieterin und Paul Schmidt als Mieter\n\n1. Die Miete\n"
    assert of_name("mietvertrag.txt", text) == "Mietvertrag"


def best(
    text: str, title: str = "", name: str = "scan0001.pdf", mime: str = PDF, where: str = "doc-to-markdown"
) -> str:
    found = find_titles(read_source_text({where: text}, Properties(title)), name, mime)
    return found[0].text if found else ""


def test_a_title_from_the_properties_that_is_also_in_the_text_comes_first() -> None:
    assert (
        best(f"## Notice\n\n# Rental contract Miller\n\n{PROSE}", "Rental contract Miller") == "Rental contract Miller"
    )


@pytest.mark.parametrize(
    "junk", ["Microsoft Word - Document1.doc", "untitled", "PowerPoint Presentation", "rental_v3.doc"]
)
def test_a_title_that_no_person_gave_gives_way_to_the_heading(junk: str) -> None:
    assert best(f"# Rental contract Miller\n\n{PROSE}", junk) == "Rental contract Miller"


def test_a_forgotten_title_of_a_template_gives_way_to_the_heading() -> None:
    assert best(f"# Rental contract Miller\n\n{PROSE}", "Wedding of Anna and Tom") == "Rental contract Miller"


def test_the_highest_heading_is_the_title_and_a_table_of_contents_is_none() -> None:
    assert best(f"# Contents\n\n# Rental contract\n\n## The rent\n\n{PROSE}") == "Rental contract"


@pytest.mark.parametrize("line", ["Betreff: Kündigung der Wohnung", "Subject: Re: Kündigung der Wohnung"])
def test_a_letter_is_called_by_its_subject(line: str) -> None:
    assert best(f"Ada Miller\n12345 Berlin\n\n{line}\n\nSehr geehrte Damen,\n\n{PROSE}") == "Kündigung der Wohnung"


def test_a_mail_is_called_by_its_subject_however_poor() -> None:
    assert best(PROSE, "AW: Fwd: test", "a.eml", MAIL) == "test"


def test_the_first_meaningful_line_is_the_title_where_nothing_is_marked() -> None:
    text = f"3 May 2024\n\nPage 1 of 3\n\nHouse rules for tenants\n\n{PROSE}"
    assert best(text, where="file", mime="text/plain") == "House rules for tenants"


def test_a_line_that_goes_on_below_is_no_title_before_the_name() -> None:
    text = "The prince said that Genoa and Lucca had become family estates in Tuscany\nAnna knew that it meant war.\n"
    assert best(text, name="War and Peace.txt", mime="text/plain", where="file") == "War and Peace"


def test_a_name_that_a_person_gave_is_the_title_where_the_text_has_none() -> None:
    found = find_titles(read_source_text({"doc-to-markdown": ""}), "Rental_contract-Miller.pdf", PDF)
    assert [(candidate.text, candidate.where) for candidate in found] == [("Rental contract Miller", "name")]
    assert found[0].confidence < 0.5


def test_a_name_that_a_machine_gave_is_never_the_title() -> None:
    assert (
        find_titles(read_source_text({"doc-to-markdown": ""}), "WhatsApp Image 2024-01-01 at 10.00.00.pdf", PDF) == []
    )


def test_how_the_text_begins_is_better_than_nothing() -> None:
    assert best("All people are born free. They have rights.", name="IMG_1234.pdf") == "All people are born free"


def test_capitals_are_lowered_as_the_words_are_written_in_the_text() -> None:
    text = f"# RENTAL CONTRACT OF THE NASA BUILDING\n\nThis rental contract of NASA is for a building.\n\n{PROSE}"
    assert best(text) == "Rental Contract of the NASA Building"


def test_page_numbers_leaders_and_markup_are_no_part_of_a_title() -> None:
    assert best(f"# **House** [rules](http://x.org) ........ 12\n\n{PROSE}") == "House rules"


def test_the_name_of_the_site_behind_a_bar_goes() -> None:
    assert best(PROSE, "How to bake bread | The Daily Oven", "a.html", HTML) == "How to bake bread"


def test_the_name_of_the_site_behind_a_dash_goes_if_the_headline_is_in_the_text() -> None:
    text = f"# How to bake bread\n\n{PROSE}"
    assert best(text, "How to bake bread - The Daily Oven", "a.html", HTML) == "How to bake bread"
    assert best(PROSE, "How to bake bread - in an oven", "a.html", HTML) == "How to bake bread - in an oven"


def test_a_spreadsheet_is_called_by_the_line_above_its_table() -> None:
    text = "## Sheet1\n\n|  |  |\n| --- | --- |\n| Ducks per year |  |\n| Year | Ducks |\n" + "| 2020 | 135 |\n" * 3
    assert best(text, name="book1.xlsx", mime="application/vnd.ms-excel") == "Ducks per year"


def test_a_longest_title_is_cut() -> None:
    assert len(best(f"# {'very ' * 100}long\n\n{PROSE}")) <= 200


def test_two_places_that_agree_are_surer_than_one() -> None:
    alone = find_titles(
        read_source_text({"doc-to-markdown": f"# House rules for all\n\n{PROSE}"}, Properties()), "scan1.pdf", PDF
    )
    both = find_titles(
        read_source_text({"doc-to-markdown": f"# House rules for all\n\n{PROSE}"}, Properties("House rules for all")),
        "scan1.pdf",
        PDF,
    )
    assert both[0].confidence > alone[0].confidence


def test_a_title_in_two_lines_is_whole() -> None:
    text = "PIZZA DOUGH WITH\nSTORE-BOUGHT YEAST\n\nIn a bowl, mix the flour with water, and let the dough rest.\n"
    assert best(text, where="image-ocr", mime="image") == "Pizza Dough with Store-Bought Yeast"
