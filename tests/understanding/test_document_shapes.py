"""Kinds of documents that their format and shape tell, not their words."""

from __future__ import annotations

import pytest

from chyme.documents.properties.reader import Properties
from chyme.text.markdown_blocks import blocks_of
from chyme.understanding.classification.code_texts import is_code_text
from chyme.understanding.classification.document_rules import classify_document_by_rules
from chyme.understanding.classification.document_shapes import shape_tags
from chyme.understanding.classification.literary_forms import is_fiction, is_verse
from chyme.understanding.classification.source_text import read_source_text

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PROSE = (
    "The council bought two ferries last spring, and the older one was sold to a museum in the next town before the "
    "summer began.\n\n"
)
VERSE = """The harbour sleeps beneath the moon,
The nets are drying on the sand,
The fishermen will leave us soon,
And walk along the silent land.

A bell is ringing far away,
The ferry turns around the pier,
It carries home the end of day,
And all the lamps of evening here.
"""
STORY = """CHAPTER II

"Where is the ferry?" asked the old captain.

"It sank," replied Marta, and she looked at the sea.

"All of it?" he cried.

"Every plank," whispered the boy.

They went home without another word that night.
"""


def kinds(
    text: str,
    *,
    name: str = "scan0001.pdf",
    mime: str = DOCX,
    title: str | None = None,
    known: tuple[str, ...] = (),
    properties: Properties | None = None,
) -> list[str]:
    where = "file" if mime.startswith("text/p") else "doc-to-markdown"
    source = read_source_text({where: text}, properties)
    return [tag for tag, _ in shape_tags(source, title, name, mime, known, properties)]


def tags(text: str, *, mime: str = DOCX, name: str = "a.docx", language: str | None = "en") -> tuple[str, ...]:
    where = "file" if mime.startswith("text/p") else "doc-to-markdown"
    return classify_document_by_rules(
        {where: text}, None, mime=mime, name=name, language=language, language_confidence=0.9
    ).tags


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("- ropes\n- sails\n- anchors\n- lamps\n", "list"),
        ("Prices\n\n| Boat | Price |\n| --- | --- |\n| Gull | 12 |\n| Tern | 15 |\n", "table"),
        ("- [x] ropes\n- [ ] sails\n- [x] anchors\n- [ ] lamps\n", "checklist"),
        ("Name ______ \n\nStreet ______ \n\nTown ______ \n\nBoat ______ \n", "form"),
        ("![](page.png)\n", "picture"),
        (VERSE, "poem"),
        (STORY, "fiction"),
        ("> Marta Quist: Approved\n", "stamp"),
        ("Gull\n\n|  | Series 1 | Series 2 |\n| --- | --- | --- |\n| Category 1 | 4 | 2 |\n", "chart"),
    ],
    ids=["list", "table", "checklist", "form", "picture", "poem", "fiction", "stamp", "chart"],
)
def test_the_shape_of_a_document_tells_its_kind(text: str, kind: str) -> None:
    assert kinds(text) == [kind]


def test_prose_has_no_shape_and_a_table_of_contents_is_no_form() -> None:
    assert kinds(PROSE * 8) == []
    contents = "".join(f"{number} Boats of the harbour .................... {number}\n\n" for number in range(1, 9))
    assert "form" not in kinds(contents)


def test_an_essay_with_bullet_points_is_no_list() -> None:
    item = (
        "- **Ferries:** they carry people and goods across the bay, and they have done so for more than sixty years.\n"
    )
    assert kinds(f"Boats of the bay\n\n{item * 4}") == []
    assert kinds("Boats of the bay\n\n" + "- ferries of the bay\n" * 4) == ["list"]
    assert kinds("Boats of the bay\n\n" + item.replace(".", "") * 4) == ["list"]


SCRIPT = """The sheet was made with these commands:

clear all
set obs 3
gen double roots = sqrt(_n)
gen boats = ""
replace boats = "gull" in 1
replace boats = "tern" in 2
save boats.dta
"""


def test_a_script_in_a_plain_text_is_source_code_and_its_names_and_values_are_no_subjects() -> None:
    assert tags(SCRIPT, mime="text/plain", name="boats.txt") == ("source code",)


@pytest.mark.parametrize(
    "text",
    [
        PROSE * 3,
        "if you see a ferry\nfor the first time\nwhile the moon is up\nlet it pass by\nuse no lamp\n",
        "boat = gull\nport = Hull\ncrew = 4\nyear = 1990\nflag = red\n",
    ],
    ids=["prose", "lines", "fields"],
)
def test_prose_and_fields_are_no_source_code(text: str) -> None:
    assert not is_code_text(text)


def test_lines_that_would_take_a_search_for_code_long_are_read_at_once() -> None:
    assert not is_code_text(("if " + "x(" * 140 + "!\n") * 200)


def test_who_wrote_a_comment_and_a_placeholder_are_no_subjects() -> None:
    comments = "> Marta Quist: The ferry is late.\n\n> Marta Quist: The ferry is old.\n\n> Marta Quist: No ferry.\n\n"
    assert not {"marta quist", "marta", "quist"} & set(tags(comments * 2))
    assert tags("Ropes: [placeholder]\n\nSails: [placeholder]\n\nLamps: [placeholder]\n") == ()


def test_a_list_that_names_its_kind_is_called_by_that_alone() -> None:
    assert kinds("- ropes\n- sails\n- anchors\n", known=("order",)) == []


@pytest.mark.parametrize(
    ("mime", "kind"),
    [
        ("application/zip", "archive"),
        ("application/json", "structured data"),
        ("application/yaml", "configuration"),
        ("text/x-bibtex", "bibliography"),
        ("application/gpx+xml", "gps track"),
    ],
)
def test_a_format_that_tells_the_kind_gives_the_tag(mime: str, kind: str) -> None:
    assert kinds("harbour: tides\n", mime=mime) == [kind]


def test_what_an_archive_lists_is_no_subject() -> None:
    listing = "- readme.csv\n- ferry/readme.csv\n- ferry/readme.txt\n- harbour/readme.csv\n"
    assert tags(listing, mime="application/zip", name="boats.zip") == ("archive",)


def test_a_web_page_of_paragraphs_is_an_article_and_another_one_a_web_page() -> None:
    assert kinds(PROSE * 6, mime="text/html", title="Ferries sold") == ["article"]
    items = "- The harbour has a long list of ferries, boats and barges to look at in the summer months.\n" * 9
    assert kinds(PROSE * 6 + items, mime="text/html", title="Ferries sold") == ["article"]
    assert kinds("Please follow the link.\n", mime="text/html", title="Ferries") == ["web page"]
    assert kinds(PROSE * 6, mime="text/html", title="Ferries sold", known=("press release",)) == []


def test_an_encyclopedia_and_a_readme_name_themselves() -> None:
    assert kinds(PROSE * 3, title="Ferry - Wikipedia") == ["encyclopedia article"]
    assert kinds(PROSE * 3, name="README.md", mime="text/plain") == ["readme"]


def test_a_pdf_with_fields_to_fill_in_is_a_form() -> None:
    assert kinds("Name\n\nTown\n", mime="application/pdf", properties=Properties(fields=3)) == ["form"]
    assert kinds("Name\n\nTown\n", mime="application/pdf", properties=Properties(fields=1)) == []


def test_wide_pages_with_few_words_or_from_a_program_for_slides_are_a_presentation() -> None:
    wide = Properties(wide_pages=4)
    assert kinds("Ferries\n\nBoats\n", mime="application/pdf", properties=wide) == ["presentation"]
    assert kinds(PROSE * 60, mime="application/pdf", properties=wide) == []
    assert kinds(PROSE, mime="application/pdf", properties=Properties(generator="Impress", wide_pages=1)) == [
        "presentation"
    ]
    assert kinds(PROSE, mime="application/pdf", properties=Properties(generator="PowerPoint")) == []  # a poster


def test_placeholder_text_is_called_so_and_has_no_subjects() -> None:
    lorem = "Lorem ipsum dolor sit amet, consectetur adipiscing elit. Mauris pellentesque scelerisque vestibulum. "
    blind = "Here is some text without a meaning. It should show what a printed text will look like at this place. "
    assert tags(lorem * 6) == ("placeholder text",)
    assert tags(f"# A report\n\n{blind * 4}") == ("placeholder text",)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("# Test document\n\nNothing to see.\n", "a.docx"),
        ("# Testing linked boats\n\nNothing to see.\n", "a.docx"),
        ("# Boats\n\nThis is a sample file for the importer.\n", "a.docx"),
        ("The quick brown fox jumps over the lazy dog.\n", "a.docx"),
        ("This is a test of ropes.\n\nThick\n\nThin\n", "a.docx"),
        ("# Rigging\n\nTesting ropes: [Rope placeholder]\n\nTesting new sails: [Sail placeholder]\n", "a.docx"),
        ("Nothing to see here.\n", "test.docx"),
        ("Nothing to see here.\n", "boats_testPDF_links.pdf"),
    ],
)
def test_a_short_text_that_says_so_is_a_test_document(text: str, name: str) -> None:
    assert "test document" in tags(text, name=name)


def test_a_test_in_the_name_or_text_of_a_longer_document_makes_it_no_test_document() -> None:
    assert "test document" not in tags(f"# Test drive of a ferry\n\n{PROSE * 20}")
    assert "test document" not in tags(PROSE * 8, name="test.docx")
    assert "test document" not in tags("# Blood test results\n\nAll is well.\n", name="blood_test_2024.docx")
    assert "test document" not in tags("# Blood test\n\nAll is well.\n")
    assert "test document" not in tags("港の歴史は長い。" * 220, name="test.docx", language="ja")


def test_a_title_that_calls_it_a_test_document_counts_whatever_its_length() -> None:
    assert "test document" in tags(f"# 2nd sample document title\n\n{PROSE * 20}")


def test_words_that_recur_in_a_test_document_or_a_novel_are_no_subjects() -> None:
    repeated = "The importer reads a gadget. A gadget is a gadget.\n\n" * 3
    assert tags(f"# Sample file\n\n{repeated}") == ("test document",)
    assert tags(STORY * 3) == ("fiction",)


def test_mails_of_programs_are_notifications_or_delivery_failures() -> None:
    notice = "**From:** no-reply@example.org  \n**Subject:** Password changed\n\nThe password was changed.\n"
    bounce = "**From:** MAILER-DAEMON@example.org  \n**Subject:** Returned mail\n\nNo such user.\n"
    person = "**From:** Ada Miller <ada@example.org>  \n**Subject:** Ferries\n\nThe ferry was sold.\n"
    found = [kinds(text, mime="message/rfc822", known=("e-mail",)) for text in (notice, bounce, person)]
    assert found == [["notification"], ["delivery failure"], []]


def test_a_letter_without_a_subject_is_a_letter() -> None:
    assert kinds(PROSE, title="Letter from Harbour Trust") == ["letter"]


def test_a_text_in_two_languages_is_multilingual_and_has_the_subjects_of_its_own() -> None:
    english = (
        "The ferry is old and the harbour is small, but it is the harbour that we have and the ferry we know. " * 2
    )
    spanish = (
        "El barco de los niños está en el puerto con las velas que hicieron para la fiesta de todos los años. " * 2
    )
    found = tags(f"{english}\n\n{english}\n\n{spanish}\n\n{spanish}\n")
    assert "multilingual" in found and {"ferry", "harbour"} <= set(found)
    assert {"niños", "puerto", "velas", "barco", "fiesta", "todos"}.isdisjoint(" ".join(found).split())
    assert "multilingual" not in tags(english * 8)


def test_short_lines_that_do_not_rhyme_or_have_numbers_or_few_words_are_no_verse() -> None:
    assert is_verse(VERSE)
    assert not is_verse(
        VERSE.replace("sand", "beach").replace("soon", "tonight").replace("away", "off").replace("here", "on")
    )
    assert not is_verse(VERSE.replace("moon", "moon 12"))
    assert not is_verse("Kingdom of Bulgaria\nKingdom of Croatia\nLand of Estonia\nKingdom of Austria\n" * 3)
    names = ("Bulgaria", "Croatia", "Estonia", "Austria", "Latvia", "Georgia", "Armenia")
    assert not is_verse("".join(f"Northern {name}\n" for name in names))
    assert not is_verse(VERSE.replace("\n", "\n\n"))


def test_a_newspaper_and_a_study_that_quote_people_are_no_fiction() -> None:
    news = '"The ferry is sold," Mr Lund said.\n\nThe council met on Monday, and nobody else spoke.\n\n' * 5
    study = '"The ferry," replied the poet (1921).\n\n"No," asked Lund (1934).\n\n' * 5
    assert is_fiction(blocks_of(STORY * 3))
    assert not is_fiction(blocks_of(news.replace('"', "")))
    assert not is_fiction(blocks_of(study))
