"""Without a model, the sentences that have what the question asks about are quoted, or nothing is."""

from __future__ import annotations

import pytest

from chyme.answers.quotations import quote

PASSAGES = [
    "# Lease of Elm Street\n\nThis lease was signed by Ada Byron on 14 March 2024. The monthly rent is 900 euros.",
    "The boiler was serviced by Reed Heating in October. The next service is due in a year.",
    "Notes of the choir. The concert in the church begins at eight.",
]
HEADINGS = ["lease.md · Lease of Elm Street", "boiler.txt", "choir.txt"]


@pytest.mark.parametrize(
    ("question", "quotation"),
    [
        ("What is the monthly rent?", "The monthly rent is 900 euros."),
        ("Who signed the lease of Elm Street?", "This lease was signed by Ada Byron on 14 March 2024."),
        ("Who serviced the boiler?", "The boiler was serviced by Reed Heating in October."),
        ("When does the concert in the church begin?", "The concert in the church begins at eight."),
    ],
)
def test_the_best_sentence_comes_first(question: str, quotation: str) -> None:
    best = quote(question, PASSAGES, HEADINGS)[0]
    assert PASSAGES[best.index][slice(*best.span)] == quotation


@pytest.mark.parametrize(
    "question", ["What is the dentist's telephone number?", "Who painted the ceiling of the chapel?", "What is it?", ""]
)
def test_nothing_is_quoted_where_nothing_answers(question: str) -> None:
    assert not quote(question, PASSAGES, HEADINGS)


def test_a_sentence_in_other_words_is_quoted_if_it_is_near_in_meaning() -> None:
    question = "Which company did maintenance of the boiler?"
    assert not quote(question, PASSAGES, HEADINGS)
    (best, *_) = quote(question, PASSAGES, HEADINGS, lambda _one, other: 0.8 if "boiler" in other else 0.1)
    assert "Reed Heating" in PASSAGES[best.index][slice(*best.span)]


def test_a_heading_by_itself_is_not_quoted() -> None:
    assert not any(PASSAGES[one.index][one.span[0]] == "#" for one in quote("Lease of Elm Street?", PASSAGES, HEADINGS))
