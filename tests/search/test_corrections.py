"""A word that occurs nowhere is corrected only when the correction is almost certain, and a note says so."""

from __future__ import annotations

import pytest
from keyword_vault import Shelf
from semantic_vault import MeaningShelf

from chyme.search.results import as_json, spelling_notes

pytestmark = pytest.mark.slow  # each takes little time, but there are many


@pytest.fixture
def contacts(meant: MeaningShelf) -> MeaningShelf:
    meant.put_meant("plumber.txt", "contact the plumber about the leak")
    meant.put_meant("bread.txt", "flour and water and a hot oven")
    return meant


def test_a_note_says_which_word_replaced_an_unknown_one(contacts: MeaningShelf) -> None:
    result = contacts.hybrid("contract")
    assert [hit.path for hit in result.hits] == ["plumber.txt"]
    assert (result.corrected, result.suggested) == ({"contract": "contact"}, {})
    assert spelling_notes(result) == ["nothing has “contract”; showing “contact”"]
    assert as_json(result)["corrected"] == {"contract": "contact"}
    assert as_json(result)["suggested"] == {}


@pytest.mark.parametrize("question", ["+contract", '"contract"'])
def test_a_plus_or_quotes_keep_a_word_as_it_was_typed(contacts: MeaningShelf, question: str) -> None:
    result = contacts.hybrid(question)
    assert (result.hits, result.corrected, result.suggested) == ((), {}, {})
    assert contacts.knows.asked in ([], ["contract"])  # the plus is no part of the embedded question


def test_the_whole_question_can_be_searched_as_typed(contacts: MeaningShelf) -> None:
    result = contacts.index.search("contract", as_typed=True)
    assert (result.hits, result.corrected, result.suggested) == ((), {}, {})


def test_a_question_that_means_something_here_is_not_corrected(meant: MeaningShelf) -> None:
    meant.put_meant("bill.txt", "the vehixle works")  # one letter wrong, and without a meaning
    meant.put_meant("car.txt", "tyres of the car in the garage")
    result = meant.hybrid("vehicle")
    assert [hit.path for hit in result.hits] == ["car.txt"]
    assert (result.corrected, result.suggested) == ({}, {"vehicle": "vehixle"})
    assert spelling_notes(result) == ["nothing has “vehicle”; did you mean “vehixle”?"]


def test_an_unknown_word_is_not_corrected_if_the_question_has_a_meaning_here(meant: MeaningShelf) -> None:
    meant.put_meant("dentist.txt", "the dentist looks at the crown")
    meant.put_meant("oil.txt", "an oil change is due")
    result = meant.hybrid("what did the tooth charge")
    assert result.hits[0].path == "dentist.txt"
    assert (result.corrected, result.suggested) == ({}, {"charge": "change"})


def test_a_typing_error_is_corrected_even_if_other_words_have_a_meaning(meant: MeaningShelf) -> None:
    meant.put_meant("car.txt", "tyres of the car in the garage")
    result = meant.hybrid("automobile garrage")
    assert (result.corrected, result.hits[0].why) == ({"garrage": "garage"}, ("words", "meaning"))


@pytest.mark.parametrize(
    ("text", "typed", "suggestion"),
    [
        ("cars", "cats", "cars"),  # short, and a different consonant
        ("present", "president", "present"),
        ("contest", "content", "contest"),  # a word itself, in the list of common words
        ("Martina", "Martin", "martina"),  # a name
        ("panels", "planes", None),  # the same letters, but not swapped
        ("xample", "example", "xample"),  # a different first letter
    ],
)
def test_an_uncertain_correction_is_only_suggested(shelf: Shelf, text: str, typed: str, suggestion: str | None) -> None:
    shelf.put("a.txt", text)
    result = shelf.ask(typed)
    assert (result.hits, result.corrected) == ((), {})
    assert result.suggested == ({typed: suggestion} if suggestion else {})


@pytest.mark.parametrize("typed", ["x4471", "2023", "abc", "tbale1"])
def test_numbers_codes_and_tiny_words_are_left_alone(shelf: Shelf, typed: str) -> None:
    shelf.put("a.txt", "x4472 2024 abd table1")
    result = shelf.ask(typed)
    assert (result.hits, result.corrected, result.suggested) == ((), {}, {})


def test_neither_of_two_equally_near_and_frequent_words_is_certain(shelf: Shelf) -> None:
    shelf.put("a.txt", "lattice")
    shelf.put("b.txt", "lettuce")
    result = shelf.ask("lettice")
    assert (result.hits, result.corrected) == ((), {})
    assert result.suggested["lettice"] in ("lattice", "lettuce")


def test_no_uncertain_correction_is_suggested_for_a_word_among_others(meant: MeaningShelf) -> None:
    meant.put_meant("car.txt", "the car may rest in the garage")
    assert meant.hybrid("garage for rent").suggested == {}
