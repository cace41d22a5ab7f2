"""Which title a text without a cover gets: notes, poems, drafts, mailboxes, sheets, slides, and files of tests."""

from __future__ import annotations

import pytest

from chyme.documents.properties.reader import Properties
from chyme.text.sized_lines import SizedLine
from chyme.understanding.classification.source_text import read_source_text
from chyme.understanding.titles.candidates import MIN_CONFIDENCE, find_titles
from chyme.understanding.titles.heading_titles import is_heading

MARKDOWN, PDF, SLIDES = (
    "text/markdown",
    "application/pdf",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
)
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PROSE = (
    "The boats lie on the north side of the harbour. They were painted last spring, and most of them are dry.\n\n" * 4
)
TABLE = "| Boat | Year |\n| --- | --- |\n| Tern | 1994 |\n| Gull | 2003 |\n\n"


def title_of(text: str, name: str = "scan0001.docx", mime: str = MARKDOWN, stored: str = "") -> str | None:
    found = find_titles(read_source_text({"doc-to-markdown": text}, Properties(stored)), name, mime)
    return found[0].text if found and found[0].confidence >= MIN_CONFIDENCE else None


@pytest.mark.parametrize(
    "name",
    [
        "issue7821.pdf",
        "test_2.docx",
        "sample-eng-utf8.txt",
        "archive__fake-text-utf-16.txt",
        "beispiel.odt",
        "letters__0000001.pdf",
    ],
)
def test_how_a_text_begins_says_more_than_a_name_that_is_for_a_test(name: str) -> None:
    assert title_of(PROSE, name) == "The boats lie on the north side of the harbour"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("Rent.txt", "Rent"),
        ("paint_of_boats.docx", "paint of boats"),
        ("test of the new paint.docx", "test of the new paint"),
        ("harbour_survey.docx.pdf", "harbour survey"),
        ("Node.js in short.pdf", "Node.js in short"),
    ],
)
def test_a_name_that_tells_the_subject_says_more_than_how_the_text_begins(name: str, title: str) -> None:
    assert title_of(PROSE, name) == title


def test_a_name_for_a_test_is_still_better_than_nothing() -> None:
    assert title_of("", "issue7821.pdf") == "issue7821"


def test_a_poem_is_called_by_its_first_line() -> None:
    verses = (
        "The gull has left the harbour wall,\nIts cry is in the rain.\nNo sail is seen, no boats at all,\n"
        "Until it calls again.\n\nThe lamp upon the pier is lit,\nThe keeper goes to sleep;\n"
    )
    assert title_of(verses, "0001.txt") == "The gull has left the harbour wall"
    assert title_of(verses, "poem for Ada.txt") == "The gull has left the harbour wall"


@pytest.mark.parametrize(
    "lines",
    [
        "Ada Byron\n12 Quay Street\nBristol\nEngland\n\n",
        "Bread and butter for six,\nTwo cups of flour,\n3 eggs,\nA little salt.\n\n",
        "The harbour was built by the town in\nthe year of the great flood, and since\nthen it has\nbeen repaired.\n",
    ],
)
def test_addresses_lists_and_wrapped_text_are_no_poems(lines: str) -> None:
    found = find_titles(read_source_text({"file": lines + PROSE}), "0001.txt", "text/plain")
    assert all(title.confidence != 0.48 for title in found)


def test_a_line_below_a_table_or_text_is_no_title() -> None:
    assert title_of(f"# Header\n\n{TABLE}After the table\n", "boats.docx") == "boats"
    assert title_of(f"{PROSE}More of it\n", "boats.docx") == "boats"


@pytest.mark.parametrize(
    "line", ["See Table 5.1.", "Siehe Abbildung 3", "see also section 4.2", "Figure 2: The pier", "Table 3.1"]
)
def test_a_reference_to_another_part_and_a_caption_are_no_titles(line: str) -> None:
    assert title_of(f"{line}\n\n{PROSE}", "Paint of boats.docx") == "Paint of boats"


@pytest.mark.parametrize(
    "heading", ["Table with all boats", "Note on the north pier", "To the lighthouse", "From Whitby to Hull"]
)
def test_a_heading_may_begin_with_a_small_word_or_that_of_a_caption(heading: str) -> None:
    assert title_of(f"## {heading}\n\n{PROSE}## Where they lie\n\n{PROSE}") == heading


def test_the_caption_of_the_only_table_is_the_title_without_its_number() -> None:
    assert title_of(f"**Table 3: Boats by year**\n\n{TABLE * 3}", "0001.docx") == "Boats by year"


@pytest.mark.parametrize("line", ["Dolor sit amet", "Lorem ipsum dolor sit amet, consectetur adipiscing elit."])
def test_placeholder_text_is_no_title(line: str) -> None:
    assert title_of(f"{line}\n\n{TABLE}", "layout of the leaflet.docx") == "layout of the leaflet"


def test_a_document_of_placeholder_text_is_called_so() -> None:
    text = "Lorem ipsum dolor sit amet, consectetur adipiscing elit. Duis tempor magna eget.\n\n" * 4
    assert title_of(text, "test1.docx") == "Placeholder text (lorem ipsum)"
    assert title_of(text, "layout of the leaflet.docx") == "layout of the leaflet"


def test_the_first_line_is_the_title_where_headings_only_divide_the_text() -> None:
    assert title_of(f"Care of wooden boats\n\n## Paint\n\n{PROSE}## Ropes\n\n{PROSE}") == "Care of wooden boats"
    text = f"Care of wooden boats\n\nby Ada Byron\n\n3 May 2024\n\n# Paint\n\n{PROSE}# Ropes\n\n{PROSE}"
    assert title_of(text) == "Care of wooden boats"
    assert title_of(f"**Care of boats**\n\nAda Byron\n\nWhitby\n\n# Paint\n\n{PROSE}") == "Care of boats"


@pytest.mark.parametrize(
    "first", ["Harbour Office of Whitby", "Blue Harbour Ltd.", "They were painted.", "Dear Ada", "12 Quay Street"]
)
def test_a_sender_or_a_sentence_above_the_headings_is_no_title(first: str) -> None:
    assert title_of(f"{first}\n\n## Care of wooden boats\n\n{PROSE}## Ropes\n\n{PROSE}") == "Care of wooden boats"


def test_the_highest_heading_beats_a_line_right_above_it() -> None:
    assert title_of(f"Harbour papers in three parts\n\n# Care of wooden boats\n\n{PROSE}") == "Care of wooden boats"


def test_a_mailbox_is_not_called_by_the_heading_that_is_its_file_name() -> None:
    def mailbox(*subjects: str) -> str:
        mails = "\n\n".join(f"## {subject}\n\n**From:** Ada\n\nSee below." for subject in subjects)
        return f"# harbour__mails\n\nA mailbox with {len(subjects)} e-mails.\n\n{mails}"

    box = "application/mbox"
    assert title_of(mailbox("Re: The pier", "The pier", "Lunch"), "harbour__mails.mbox", box) == "The pier"
    assert title_of(mailbox("Rope", "The pier", "Lunch"), "harbour__mails.mbox", box) == "harbour mails"


def test_the_first_of_several_sheets_says_less_than_a_name_that_a_person_gave() -> None:
    text = f"## Mooring fees\n\n{TABLE}## Winter quarters\n\n{TABLE}"
    assert title_of(text, "harbour budget.xlsx", SHEET) == "harbour budget"
    assert title_of(text, "scan0001.xlsx", SHEET) == "Mooring fees"


def test_a_name_that_was_written_twice_is_written_once() -> None:
    assert title_of(f"## Attendance - Attendance\n\n{TABLE}", "scan0001.xlsx", SHEET) == "Attendance"


def test_a_title_in_quotation_marks_in_the_source_of_a_document_is_the_title() -> None:
    text = f'#set document(\n  title: "Care of wooden boats",\n  author: "Ada Byron"\n)\n\n= Paint\n\n{PROSE}'
    assert title_of(text, "boats.typ", "text/plain") == "Care of wooden boats"


def test_characters_that_could_not_be_read_are_no_part_of_a_title() -> None:
    assert title_of(PROSE, "a.eml", "message/rfc822", "The pier is open\ufffd\ufffd\ufffd") == "The pier is open"


def test_a_title_in_the_properties_gets_the_subtitle_that_the_heading_has() -> None:
    text = f"# CARE OF BOATS: A GUIDE FOR OWNERS\n\n{PROSE}"
    assert title_of(text, mime=PDF, stored="Care of Boats") == "Care of Boats: a Guide for Owners"
    assert title_of(f"# Care of boats in winter\n\n{PROSE}", mime=PDF, stored="Care of boats") == "Care of boats"


def test_a_slide_without_a_title_is_called_by_its_first_line() -> None:
    text = "Subcontracts of the harbour (by quarter);\n\n2002-2005 Actuals\n\nThe sum\n\nhas fallen\n\nsince 2002."
    assert title_of(text, "scan0001.pptx", SLIDES) == "Subcontracts of the harbour (by quarter)"


def test_entries_of_a_table_of_contents_and_the_first_section_are_no_titles() -> None:
    text = f"Contents\n\n1 Paint 2\n\n2 Ropes 4\n\n1 Paint\n\n{PROSE}"
    assert title_of(text, "care of boats.pdf", PDF) == "care of boats"


def test_a_question_is_not_how_a_text_is_called_that_has_no_title() -> None:
    assert (
        title_of("- Does it float on the other side too?\n- It does, and it is dry.\n", "test1.docx")
        == "It does, and it is dry"
    )


@pytest.mark.parametrize("heading", ["Main Title", "HEADER", "Heading 1", "Überschrift", "Título"])
def test_a_section_is_no_title_where_the_highest_heading_names_nothing(heading: str) -> None:
    text = f"# {heading}\n\nBelow it.\n\n## Boats of the harbour\n\n{PROSE}"
    assert title_of(text) == heading
    assert title_of(text, "harbour_survey.docx") == "harbour survey"
    assert title_of(text, "archive__table_with_heading_02.docx") == heading
    assert title_of(text, stored="Boats and tides") == "Boats and tides"
    assert title_of(text.replace(heading, "Tides of the bay")) == "Tides of the bay"


def test_a_line_that_names_nothing_does_not_hide_a_heading_as_high_as_itself() -> None:
    assert title_of(f"# Title\n\n# Boats of the harbour\n\n{PROSE}") == "Boats of the harbour"


def test_smaller_print_is_no_title_where_the_largest_names_nothing() -> None:
    def front(first: str) -> tuple[SizedLine, ...]:
        lines = [(first, 0.03), ("Boats of the harbour", 0.02), *[(line, 0.01) for line in PROSE.split("\n") if line]]
        return tuple(SizedLine(text, size, 0.1 + 0.05 * number, True) for number, (text, size) in enumerate(lines))

    def printed(first: str) -> str:
        text = f"{first}\n\nBoats of the harbour\n\n{PROSE}"
        source = read_source_text({"doc-to-markdown": text}, Properties("", front=front(first)))
        return find_titles(source, "scan0001.pdf", PDF)[0].text

    assert printed("Header") == "Header"
    assert printed("12 May 2021") == "Boats of the harbour"


def test_slides_are_called_by_the_first_one_with_a_title_and_not_by_one_after_an_agenda() -> None:
    slides = "## {}\n\n- Boats\n\n## Boats of the harbour\n\n- Tern\n\n## Tides\n\n- High"
    assert title_of(slides.format("Harbour and bay"), "harbour_talk.pptx", SLIDES) == "Harbour and bay"
    assert title_of(slides.format("Table of Contents"), "harbour_talk.pptx", SLIDES) == "harbour talk"
    assert title_of(slides.format("Title Slide"), "output-1.pptx", SLIDES) == "Title Slide"


def test_names_with_their_values_are_no_title() -> None:
    assert title_of("# Colour: red Size: small\n\n## Boats of the harbour\n\n" + PROSE) == "Boats of the harbour"
    large = (SizedLine("Colour: red", 0.03, 0.1), SizedLine("Size: small", 0.03, 0.14))
    printed = (*large, SizedLine("The boats lie on the north side of the harbour.", 0.01, 0.3))
    source = read_source_text({"doc-to-markdown": PROSE}, Properties("", front=printed))
    assert find_titles(source, "harbour_survey.pdf", PDF)[0].text == "harbour survey"
    assert title_of("# Boats: a history\n\n## Boats of the harbour\n\n" + PROSE) == "Boats: a history"


def test_what_ends_in_the_middle_of_a_sentence_and_what_is_above_a_rule_are_no_titles() -> None:
    rule = "-" * 70
    text = (
        f"boats.dat was made on a small machine in the harbour, from:\n{rule}\nload boats\n\nsave all boats\n{rule}\n"
    )
    assert title_of(text, "boats_by_year.txt", "text/plain") == "boats by year"
    assert title_of(f"Boats of the harbour\n{rule}\n\n{PROSE}", "boats_by_year.txt", "text/plain") == (
        "Boats of the harbour"
    )
    assert is_heading(["Boats of the harbour", rule], 0)
    assert not is_heading(["", "Boats of the harbour", rule], 1)
