"""Texts become passages of about one window that end where a reader would pause."""

from __future__ import annotations

from itertools import pairwise

import pytest
from growth import grows_linearly
from hypothesis import given
from hypothesis import strategies as st

from chyme.model import Place
from chyme.text.passages import cut_passages, estimate_tokens, markdown_headings

SENTENCE = "The quick brown fox jumps over the lazy dog today. "  # ten words


def test_a_short_text_is_one_passage_without_its_margins() -> None:
    assert cut_passages("\n  Hello there. Bye.  \n") == [Place(3, 20)]


def test_nothing_readable_gives_no_passage() -> None:
    assert cut_passages("") == cut_passages(" \n\n ") == cut_passages("--- *** ---") == []


def test_passages_fill_the_window_end_with_sentences_and_overlap_a_little() -> None:
    text = SENTENCE * 100
    spans = cut_passages(text, window=200)

    assert all(text[span.start : span.end].endswith("today.") for span in spans)
    assert all(150 <= estimate_tokens(text[span.start : span.end]) <= 200 for span in spans[:-1])
    shared = [before.end - after.start for before, after in pairwise(spans)]
    assert all(len(SENTENCE) <= size + 1 <= 4 * len(SENTENCE) for size in shared)


def test_a_paragraph_is_a_better_end_than_a_sentence() -> None:
    text = SENTENCE * 15 + "\n\n" + SENTENCE * 15
    first, *_ = cut_passages(text, window=200)

    assert first.end == len((SENTENCE * 15).rstrip())


def test_a_heading_is_the_best_end_and_nothing_before_it_is_repeated() -> None:
    text = SENTENCE * 12 + "\n\n" + SENTENCE * 3 + "\n\n# Second\n\n" + SENTENCE * 12
    first, second = cut_passages(text, markdown_headings(text), window=200)

    assert text[second.start :].startswith("# Second")
    assert first.heading is None
    assert second.heading == "Second"


def test_no_passage_crosses_a_page() -> None:
    text = "one two three. four five six. "
    places = [Place(0, 15, page=1), Place(15, 30, page=2)]

    assert cut_passages(text, places) == [Place(0, 14, page=1), Place(15, 29, page=2)]


def test_seconds_and_speaker_are_those_of_the_first_line_and_boxes_are_joined() -> None:
    text = "hello there\ngood bye"
    places = [
        Place(0, 11, seconds=1.0, until=2.0, speaker="A", box=(0.1, 0.1, 0.2, 0.2)),
        Place(12, 20, seconds=2.0, until=4.5, speaker="B", box=(0.5, 0.0, 0.9, 0.3)),
    ]

    assert cut_passages(text, places) == [
        Place(0, 20, seconds=1.0, until=4.5, speaker="A", box=(0.1, 0.0, 0.9, 0.3)),
    ]


def test_headings_are_those_of_markdown_and_not_of_code_in_it() -> None:
    text = "# One #\ntext\n```sh\n# a comment\n```\n## Two\n#hashtag\n"

    assert [place.heading for place in markdown_headings(text)] == ["One", "Two"]


def test_tokens_are_counted_by_the_function_of_the_embedder() -> None:
    spans = cut_passages("東京都の観光案内です。" * 100, window=50, count_tokens=len)

    assert max(span.end - span.start for span in spans) <= 50


@given(st.text(alphabet="ab .\n東,#", max_size=400), st.integers(2, 30))
def test_every_word_is_in_a_passage_and_no_passage_is_too_long(text: str, window: int) -> None:
    spans = cut_passages(text, markdown_headings(text), window=window)
    covered = {at for span in spans for at in range(span.start, span.end)}

    assert all(at in covered for at, letter in enumerate(text) if letter.isalnum())
    assert all(estimate_tokens(text[span.start : span.end]) <= window for span in spans)
    assert [span.start for span in spans] == sorted({span.start for span in spans})


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "lorem ipsum " * 80_000,
        ",".join(f"c{number}" for number in range(140_000)),
        "." * 1_000_000,
        "\n" * 1_000_000,
        "a\n" * 500_000,
        "# " * 500_000,
        "東京都の観光。" * 140_000,
    ],
    ids=["one word", "one line", "columns", "full stops", "empty lines", "short lines", "hashes", "Japanese"],
)
def test_a_megabyte_takes_time_in_proportion_to_its_length(text: str) -> None:
    assert grows_linearly(lambda size: cut_passages(text[:size], markdown_headings(text[:size])), len(text))
