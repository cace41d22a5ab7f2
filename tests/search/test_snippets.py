"""A snippet contains the most relevant part and marks what the index matched."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chyme.search.query.parser import Term, parse
from chyme.search.snippets import Snippet, cut_snippet, find, to_plain


def marked(text: str, question: str, *, typing: bool = False) -> list[str]:
    snippet = cut_snippet(text, parse(question, typing=typing).terms)
    return [words for words, is_marked in snippet.parts() if is_marked]


@pytest.mark.parametrize(
    ("text", "question", "marks"),
    [
        ("He digested it while digesting.", "digestion", ["digested", "digesting"]),
        ("A naïve idea", "naive", ["naïve"]),
        ("A nai\u0308ve idea", "naïve", ["nai\u0308ve"]),
        ("東京タワーへ行く", "タワー", ["タワー"]),
        ("東京タワーへ行く", "塔", []),
        ("한국의 수도", "수도", ["수도"]),
        (unicodedata.normalize("NFD", "한국의 수도"), "수도", [unicodedata.normalize("NFD", "수도")]),
        ("ｶﾒﾗを買う", "カメラ", ["ｶﾒﾗ"]),
        ("iPhone用ケース", "iphone", ["iPhone"]),
        ("big red apple, red apple pie, apple", '"red apple"', ["red apple", "red apple"]),
        ("call foo-bar now, foo", "foo-bar", ["foo-bar"]),
        ("weather whether", "weat*", ["weather"]),
        ("nothing here", "absent", []),
    ],
)
def test_marks(text: str, question: str, marks: list[str]) -> None:
    assert marked(text, question) == marks


def test_unfinished_words_are_marked_whole() -> None:
    assert marked("The gardeners came", "gard", typing=True) == ["gardeners"]


def test_a_snippet_is_the_part_with_most_different_words() -> None:
    text = "apple apple apple " + "filler " * 100 + "an apple and a pear " + "filler " * 100

    snippet = cut_snippet(text, parse("apple pear").terms, length=80)

    assert "apple and a pear" in snippet.text
    assert snippet.cut_before and snippet.cut_after
    assert len(snippet.text) <= 90
    assert to_plain(snippet).startswith("… filler")


def test_words_are_not_cut_apart() -> None:
    snippet = cut_snippet("alphabet " * 50 + "target " + "alphabet " * 50, parse("target").terms, length=60)

    assert set(snippet.text.split()) == {"alphabet", "target"}


def test_whitespace_is_single_and_marks_move_along() -> None:
    snippet = cut_snippet("one\n\n  two\t three\n", parse("three").terms)

    assert snippet.parts() == [("one two ", False), ("three", True)]


@given(
    st.text(alphabet="ab \n東京é<", max_size=200),
    st.sampled_from(["a", "ab b", "東京", '"a b"', "é", "b*"]),
    st.integers(1, 60),
)
def test_marks_are_in_order_and_inside(text: str, question: str, length: int) -> None:
    snippet: Snippet = cut_snippet(text, parse(question).terms, length)

    assert "".join(words for words, _ in snippet.parts()) == snippet.text
    assert all(0 <= start < end <= len(snippet.text) for start, end in snippet.marks)
    assert list(snippet.marks) == sorted(snippet.marks)


WORDS = (
    "happy",
    "happily",
    "eying",
    "dyed",
    "Yes",
    "agreed",
    "é",
    "Éclairs",
    "naïve",
    "foo_bar",
    "a\u0301b",
    "²nd",
    "ﬁx",
)


@given(
    st.lists(st.sampled_from(WORDS) | st.text(alphabet="aeéiyÀsdng _.\u0301東²ﬁK", max_size=8), max_size=12),
    st.sampled_from(WORDS) | st.text(alphabet="aeiysdng", min_size=1, max_size=6),
    st.booleans(),
)
def test_words_that_are_passed_over_by_their_first_letter_would_not_have_matched(
    words: list[str], wanted: str, prefix: bool
) -> None:
    text = " ".join(words)
    terms = (Term(wanted, prefix=prefix),)
    never = Term("qqqq wwww", phrase=True)  # with a phrase, every word is folded and stemmed

    assert find(text, terms) == find(text, (*terms, never))


def test_a_word_in_a_page_without_spaces_is_found_in_time_that_grows_with_the_page() -> None:
    def seconds(text: str) -> float:
        start = time.process_time()
        assert find(text, (Term("アイ"),)) == [(1000, 1002)]
        return time.process_time() - start

    around = "日" * 1000
    assert seconds(around + "ｱｲ" + around * 4) < 50 * max(seconds(around + "アイ" + around * 4), 0.001)
