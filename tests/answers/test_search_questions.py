"""Which searches a question leads to, and what of it a model reads."""

from __future__ import annotations

import pytest

from chyme.answers.conversation import Turn
from chyme.answers.search_questions import MOST_SEARCHES, plain_question, search_questions


@pytest.mark.parametrize(
    ("question", "searches"),
    [
        ("What is the rent?", ["What is the rent?"]),
        (
            "What is the rent and who signed the lease?",
            ["What is the rent and who signed the lease?", "What is the rent", "who signed the lease"],
        ),
        (
            "When was it signed? Where is the boiler?",
            ["When was it signed? Where is the boiler?", "When was it signed", "Where is the boiler"],
        ),
        (
            "Wie hoch ist die Miete und wer hat unterschrieben?",
            [
                "Wie hoch ist die Miete und wer hat unterschrieben?",
                "Wie hoch ist die Miete",
                "wer hat unterschrieben",
            ],
        ),
        ("bread and butter", ["bread and butter"]),
        (
            'What is the rent? kind:document folder:"my house"',
            ['What is the rent? kind:document folder:"my house"'],
        ),
    ],
)
def test_a_question_is_searched_whole_and_in_its_parts(question: str, searches: list[str]) -> None:
    assert search_questions(question) == searches


def test_a_follow_up_is_searched_together_with_the_question_before() -> None:
    turns = (Turn("Who owns the boat? kind:image"), Turn("Who signed the lease? kind:document"))
    assert search_questions("And when?", turns) == ["Who signed the lease? And when?", "And when?"]


def test_filters_hold_for_each_part_and_no_question_leads_to_many_searches() -> None:
    searches = search_questions("Who is it? What is it? When is it? Where is it? Why is it? tag:tax")
    assert len(searches) == MOST_SEARCHES
    assert all(search.endswith("tag:tax") for search in searches)


def test_a_model_reads_the_question_without_its_filters() -> None:
    assert plain_question('What is due -tag:paid folder:"a b" at 12:30?') == "What is due at 12:30?"
    assert plain_question("kind:image") == ""
