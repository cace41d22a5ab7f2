"""Sentences of a model's answer are read as they arrive, however the pieces fall."""

from __future__ import annotations

import pytest

from chyme.answers.written_sentences import LONGEST, AnswerReader, WrittenSentence

READ: list[tuple[str, list[tuple[str, tuple[int, ...]]]]] = [
    ("The rent is 900 euros [2].", [("The rent is 900 euros.", (2,))]),
    (
        "The rent is 900 euros. [2]\nPets are not allowed [1][3].",
        [("The rent is 900 euros.", (2,)), ("Pets are not allowed.", (1, 3))],
    ),
    (
        "One is so [1]. Two is so. [2, 3] Three is so [1-3].",
        [("One is so.", (1,)), ("Two is so.", (2, 3)), ("Three is so.", (1, 2, 3))],
    ),
    ("It was Dr. Reed [1].", [("It was Dr. Reed.", (1,))]),
    (
        "- **Bold** claim [1]\n2. Second `claim` 【2】",
        [("Bold claim", (1,)), ("Second claim", (2,))],
    ),
    ("<think>The user wants [1].</think>The rent is 5 [1].", [("The rent is 5.", (1,))]),
    ("No number at all.", [("No number at all.", ())]),
    ("租金每月九百欧元。[1]\n", [("租金每月九百欧元。", (1,))]),
    (
        "See [this](http://evil.example) <b>now</b> [1].",
        [("See [this](http://evil.example) <b>now</b>.", (1,))],
    ),
]


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(("text", "expected"), READ)
def test_sentences_and_their_numbers_are_the_same_however_the_text_arrives(
    text: str, expected: list[tuple[str, tuple[int, ...]]], size: int
) -> None:
    reader, found = AnswerReader(), list[WrittenSentence]()
    for start in range(0, len(text), size):
        found += reader.read(text[start : start + size])
    found += reader.finish(whole=True)
    assert [(one.text, one.cited) for one in found] == expected


def test_a_sentence_is_given_as_soon_as_the_next_one_begins() -> None:
    reader = AnswerReader()
    assert not reader.read("The rent is 900 euros. [2")
    (first,) = reader.read("] Pets")
    assert first == WrittenSentence("The rent is 900 euros.", (2,))
    assert reader.unfinished == "Pets"


def test_the_end_of_an_answer_that_was_cut_off_is_dropped() -> None:
    reader = AnswerReader()
    reader.read("The rent is 900 euros [1].\nPets are not all")
    assert not reader.finish(whole=False)


@pytest.mark.parametrize("text", ["NOT FOUND", "Not found.", "**NOT FOUND**", "not_found"])
def test_saying_that_nothing_was_found_is_recognised(text: str) -> None:
    (only,) = [*(reader := AnswerReader()).read(text), *reader.finish(whole=True)]
    assert only.says_nothing_found


def test_a_sentence_without_end_is_cut() -> None:
    reader = AnswerReader()
    found = reader.read("word " * LONGEST)
    assert found
    assert all(len(one.text) <= LONGEST for one in found)
