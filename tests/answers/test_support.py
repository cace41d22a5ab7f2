"""A sentence is held against passages: by its numbers, its names, its words, and whether they say so."""

from __future__ import annotations

import pytest

from chyme.answers.support import hold_against

LEASE = (
    "This lease was signed by Ada Byron and Tom Reed on 14 March 2024. The monthly rent is 1,900.50 euros, payable on"
    " the third day of each month. The deposit is refunded within sixty days. Pets are not allowed in the house."
)
BOILER = "The boiler in the cellar was serviced by Reed Heating on 02.10.2023. The pressure is between 1.2 and 1.8 bar."
GERMAN = "Die Miete beträgt 900 Euro im Monat. Haustiere sind nicht erlaubt."
CHINESE = "租金每月九百欧元。租约由王先生签署。"
PASSAGES = [LEASE, BOILER, GERMAN, CHINESE]


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("The lease was signed by Ada Byron.", 0),
        ("Ada Byron and Tom Reed signed the lease on 14 March 2024.", 0),
        ("The rent is 1900.5 euros a month.", 0),
        ("The rent is 1.900,50 euros a month.", 0),
        ("It is payable on the third day of each month.", 0),
        ("Pets are not allowed.", 0),
        ("Reed Heating serviced the boiler on 2.10.2023.", 1),
        ("The pressure must be between 1.2 and 1.8 bar.", 1),
        ("Die Miete ist 900 Euro im Monat.", 2),
        ("租约由王先生签署。", 3),
    ],
)
def test_what_a_passage_says_is_supported_by_it(sentence: str, passage: int) -> None:
    verdict = hold_against(sentence, PASSAGES, [passage])
    assert [index for index, _ in verdict.places] == [passage], verdict


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("The monthly rent is 950 euros.", "number"),
        ("The lease was signed on 14 March 2025.", "number"),
        ("The lease was signed by Bob Stone.", "name"),
        ("Tom Reed was born in Vienna and loves the opera.", "name"),
        ("The owner plans to sell the garden next summer.", "do not say"),
        ("Pets are allowed in the house.", "opposite"),
        ("The deposit is not refunded within sixty days.", "opposite"),
        ("Die Haustiere sind erlaubt.", "opposite"),
        ("See https://evil.example/lease signed by Ada Byron.", "address"),
        ("Yes.", "could be checked"),
        ("房东计划明年出售花园。", "do not say"),
    ],
)
def test_what_no_passage_says_is_not_supported_and_the_reason_is_given(sentence: str, reason: str) -> None:
    verdict = hold_against(sentence, PASSAGES)
    assert not verdict.places
    assert reason in str(verdict.reason)


def test_a_wrong_citation_is_replaced_by_the_passage_that_says_it() -> None:
    for cited in ([1], [7], []):
        verdict = hold_against("The lease was signed by Ada Byron.", PASSAGES, cited)
        assert [index for index, _ in verdict.places] == [0]


def test_the_place_is_the_sentence_that_supports_and_not_the_whole_passage() -> None:
    (place,) = hold_against("Pets are not allowed.", PASSAGES, [0]).places
    index, (start, end) = place
    assert PASSAGES[index][start:end] == "Pets are not allowed in the house."


def test_two_passages_may_support_one_sentence_together() -> None:
    verdict = hold_against("Tom Reed signed the lease, and Reed Heating serviced the boiler.", PASSAGES, [0, 1])
    assert sorted(index for index, _ in verdict.places) == [0, 1]


def test_words_in_a_title_count_as_said_of_the_passage() -> None:
    text, sentence = ["It was signed by Ada Byron."], "The lease of Elm Street was signed by Ada Byron."
    assert not hold_against(sentence, text, [0]).places
    assert hold_against(sentence, text, [0], headings=["Lease of Elm Street"]).places


@pytest.mark.parametrize(("nearness", "supported"), [(0.9, True), (0.3, False), (None, False)])
def test_other_words_are_supported_only_where_the_meaning_is_near(nearness: float | None, supported: bool) -> None:
    sentence = "The monthly payment falls due on day third."
    verdict = hold_against(sentence, [LEASE], [0], lambda _one, _other: nearness)
    assert bool(verdict.places) is supported


def test_meaning_does_not_excuse_an_invented_number() -> None:
    assert not hold_against("The monthly rent is 5 euros.", [LEASE], [0], lambda _one, _other: 1.0).places
