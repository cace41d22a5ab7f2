"""Titles that programs write where no person gave one."""

from __future__ import annotations

import pytest

from chyme.understanding.titles.cleanup import is_cut_off, is_file_name, is_junk, same_words, strip_program_name


@pytest.mark.parametrize(
    "title",
    [
        "untitled", "Untitled Document", "PowerPoint Presentation", "Slide 1", "Dokument1", "Unbenannt", "無題",
        "9f86d081884c7d659a2feaa0c55ad015", "2cdda5c8-e50e-4db4-b5f0-9722a649f455", "<%Title%>", "{{ title }}", "",
        "?????", "https://example.org/a/b", "Chapter 3", "Table of Contents", "  ", "Click to edit Master title style",
        "C:\\docs\\a.doc", "– 7 –", "12/34", "Text 2", "Box 3", "Fig. 1", "Textfeld 12", "Series 1",
        "%()+,-./0123456789:; ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", "QWERTYUIOP asdf",
    ],
)  # fmt: skip
def test_a_meaningless_title_is_junk(title: str) -> None:
    assert is_junk(title)


@pytest.mark.parametrize(
    "title",
    [
        "Rental contract Miller",
        "Geometrie",
        "东京",
        "Chapter and verse",
        "Page Six: a history",
        "Poetry",
        "C++",
        "Invoice 0123456789",
        "Text and image",
        "Group 8 report",
        "Photo 51: a life",
    ],
)
def test_a_title_that_a_person_wrote_is_not_junk(title: str) -> None:
    assert is_junk(title) is (title == "C++")  # too short to mean anything


def test_the_name_of_the_generating_program_is_no_title() -> None:
    assert is_junk("Writer", generator="Writer")


def test_the_program_in_front_of_a_name_is_removed() -> None:
    assert strip_program_name("Microsoft Word - Contract.doc") == "Contract.doc"
    assert strip_program_name("Word by word") == "Word by word"


def test_a_file_name_is_recognised_by_its_extension_or_its_form() -> None:
    assert is_file_name("odf_presentation.odp")
    assert is_file_name("SampleContract_2")
    assert not is_file_name("Sample contract")
    assert same_words("rental_contract", "Rental contract")


@pytest.mark.parametrize(
    "title",
    ["The file was made on a small boat, from", "A history of the", "It was made on this machine from:", "The boats,",
     "Bericht des Rates über die Arbeit der"],
)  # fmt: skip
def test_a_title_that_ends_in_the_middle_of_a_sentence_is_cut_off(title: str) -> None:
    assert is_cut_off(title)


@pytest.mark.parametrize(
    "title",
    ["What the boats are waiting for", "Report of the council:", "Plan A", "A letter from Ada", "Before and after"],
)
def test_a_title_that_is_whole_is_not_cut_off(title: str) -> None:
    assert not is_cut_off(title)
