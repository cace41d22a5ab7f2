"""Questions as people ask them: long ones, with quotation marks in them, and with conditions that no file meets."""

from __future__ import annotations

import pytest
from keyword_vault import Shelf
from semantic_vault import MeaningShelf

from chyme.search.query.parser import Term, parse
from chyme.search.query.relaxation import relaxations
from chyme.search.results import as_json

LONG = 'what does the "force majeure" clause say about late payment'


@pytest.fixture
def lease(shelf: Shelf) -> Shelf:
    shelf.put("both.txt", "The force majeure clause excuses late payment.", date="2021-02-01")
    shelf.put("apart.txt", "A payment that is late: the clause says nothing about majeure or force.", tags=["rent"])
    shelf.put("other.txt", "Late payment costs interest, another clause says.")
    return shelf


def test_quotation_marks_in_a_long_question_strengthen_and_do_not_exclude(lease: Shelf) -> None:
    assert lease.found(LONG) == ["both.txt", "apart.txt", "other.txt"]
    assert lease.ask(LONG).dropped == ()


def test_a_phrase_counts_more_than_its_words_apart(shelf: Shelf) -> None:
    shelf.put("apart.txt", "red brick, apple tree, wall and garden by the old gate")
    shelf.put("together.txt", "brick wall, red apple, tree and garden by the old gate")
    assert shelf.found('where in the garden is the "red apple" by the gate') == ["together.txt", "apart.txt"]


def test_a_short_question_keeps_its_phrases_strict(lease: Shelf) -> None:
    assert lease.found('"force majeure"') == ["both.txt"]
    assert lease.found('"force majeure" late payment') == ["both.txt"]
    assert lease.found('"majeure force"') == []
    assert parse('"force majeure" late payment').phrases_required
    assert not parse(LONG).phrases_required


def test_words_of_a_softened_phrase_are_searched_for_and_small_words_are_not() -> None:
    terms = parse('who wrote the play with "to be or not to be, Hamlet" in it').terms
    assert Term("to be or not to be, Hamlet", phrase=True) in terms
    assert Term("Hamlet") in terms
    assert Term("be") not in terms


def test_the_rarest_words_of_a_long_question_are_searched_for(shelf: Shelf) -> None:
    common = [f"filler{number}x" for number in range(60)]
    for number in range(3):
        shelf.put(f"common{number}.txt", " ".join(common))
    shelf.put("rare.txt", "pelican")
    result = shelf.ask(" ".join([*common, "unknownword", "pelican"]))
    assert "rare.txt" in [hit.path for hit in result.hits]
    assert "40 rarest words" in result.notes[0]


def test_a_word_that_is_repeated_takes_one_place(shelf: Shelf) -> None:
    shelf.put("rare.txt", "pelican")
    result = shelf.ask("the gull " * 50 + "pelican")
    assert ([hit.path for hit in result.hits], result.notes) == (["rare.txt"], ())


@pytest.mark.parametrize(
    ("question", "dropped"),
    [
        ("payment kind:image", ("kind:image",)),
        ("payment kind:image date:2021", ("kind:image",)),
        ("interest date:2021", ("date:2021",)),
        ('payment "clause force"', ('"clause force"',)),
        ("payment -late", ("-late",)),
        ("payment tag:boat date:2010", ("tag:boat", "date:2010")),
        ('payment folder:"my papers"', ('folder:"my papers"',)),
        ("payment name:boat", ("name:boat",)),
    ],
)
def test_a_condition_that_leaves_nothing_is_dropped_and_named(
    lease: Shelf, question: str, dropped: tuple[str, ...]
) -> None:
    result = lease.ask(question)
    assert result.total > 0
    assert result.dropped == dropped
    assert f"nothing meets {' and '.join(dropped)}; shown without that" in result.notes
    assert as_json(result)["dropped"] == list(dropped)


def test_conditions_that_some_file_meets_stay(lease: Shelf) -> None:
    assert lease.ask("payment date:2021").dropped == ()
    assert lease.found("payment tag:boat date:2021") == ["both.txt"]
    assert lease.ask("payment tag:boat date:2021").dropped == ("tag:boat",)


def test_words_that_are_nowhere_find_nothing_without_conditions_either(lease: Shelf) -> None:
    result = lease.ask("zeppelin kind:image")
    assert (result.hits, result.total, result.dropped) == ((), 0, ())


def test_no_condition_is_dropped_while_typing_or_on_request(lease: Shelf) -> None:
    assert lease.ask("payment kind:image", typing=True).total == 0
    assert lease.ask("payment kind:image", keep_conditions=True).total == 0


def test_what_is_done_to_all_files_found_respects_every_condition(lease: Shelf) -> None:
    assert lease.index.all_files("payment kind:image") == []


def test_filters_alone_are_never_dropped_and_a_hint_says_which_to_leave_out(lease: Shelf) -> None:
    result = lease.ask("date:2021 tag:rent kind:text")
    assert (result.total, result.dropped) == (0, ())
    assert result.notes == (
        "no file meets date:2021 and tag:rent and kind:text; without date:2021 there is 1 file, "
        "without tag:rent there is 1 file",
    )
    assert lease.ask("kind:image").notes == ("no file meets kind:image",)


def test_a_condition_is_dropped_when_searched_by_meaning_too(meant: MeaningShelf) -> None:
    meant.put_meant("car.txt", "The vehicle needs new tyres.")
    result = meant.hybrid("automobile kind:image")
    assert [(hit.path, hit.why) for hit in result.hits] == [("car.txt", ("meaning",))]
    assert result.dropped == ("kind:image",)


def test_a_question_without_conditions_has_nothing_to_relax() -> None:
    assert list(relaxations(parse("late payment"))) == []
    assert list(relaxations(parse("kind:image"))) == []
    assert list(relaxations(parse('"late payment"'))) == []


def test_a_word_that_is_asked_for_twice_counts_twice() -> None:
    terms = parse("why is the lift of a wing more than the lift of the tail").terms
    assert terms.count(Term("lift")) == 2
