"""Words become segments that people can read."""

from __future__ import annotations

from itertools import pairwise

from chyme.model import Segment, Word
from chyme.speech.transcripts.utterances import LETTERS, LONGEST, SpokenWord, utterances


def words_of(text: str, pace: float = 0.3, start: float = 0.0) -> list[SpokenWord]:
    """The words of a text at an even pace; `|` is a pause of two seconds."""
    words, now = [], start
    for word in text.split():
        if word == "|":
            now += 2.0
            continue
        words.append(SpokenWord(Word(word, now, now + pace, 0.9)))
        now += pace
    return words


def texts(words: list[SpokenWord]) -> list[str]:
    return [segment.text for segment in utterances(words)]


def check_times(segments: list[Segment]) -> None:
    assert all(segment.start < segment.end for segment in segments)
    assert all(before.end <= after.start for before, after in pairwise(segments))


def test_each_sentence_is_a_segment() -> None:
    assert texts(words_of("Good morning. Did you find it? Yes! “It was there.” So we went on")) == [
        "Good morning.",
        "Did you find it?",
        "Yes!",
        "“It was there.”",
        "So we went on",
    ]


def test_abbreviations_initials_and_lower_case_end_no_sentence() -> None:
    for text in (
        "And Mr. Dashwood met Dr. Weber there.",
        "It was J. F. Kennedy who said so.",
        "We use tools, e.g. Hammers.",
        "He waited ... and waited.",
    ):
        assert texts(words_of(text)) == [text]


def test_a_pause_ends_a_segment_and_times_are_those_of_the_words() -> None:
    first, second = utterances(words_of("so this is | what we heard", start=5.0))
    assert (first.text, second.text) == ("so this is", "what we heard")
    assert (first.start, first.end) == (5.0, first.words[-1].end)
    assert second.start == second.words[0].start > first.end + 1.9
    assert [word.word for word in second.words] == ["what", "we", "heard"]


def test_long_segments_are_cut_at_commas_and_pauses() -> None:
    clauses = [" ".join(["walking"] * count) for count in (5, 9, 3, 8, 13, 4, 7, 11, 6)]
    parts = utterances(words_of(", ".join(clauses)))
    assert all(len(part.text) <= LETTERS and part.end - part.start <= LONGEST for part in parts)
    assert [part.text.endswith(",") for part in parts] == [True] * (len(parts) - 1) + [False]
    slow = utterances(words_of("one two three four five six seven eight nine ten", pace=4.0))
    assert all(part.end - part.start <= LONGEST for part in slow)
    check_times(parts)
    check_times(slow)


def test_nothing_is_lost_and_nothing_changed() -> None:
    text = "Well, I mean. It is, as they say, so long that nobody, and I mean nobody, " * 10
    parts = utterances(words_of(text))
    assert " ".join(part.text for part in parts) == text.strip()
    assert [word for part in parts for word in part.words] == [spoken.word for spoken in words_of(text)]


def test_languages_without_blanks_stay_without_them() -> None:
    letters = "今天天气很好。我们去公园吧。"
    words = [
        SpokenWord(Word(letter, at / 5, at / 5 + 0.2, 1.0), space_before=False) for at, letter in enumerate(letters)
    ]
    assert texts(words) == ["今天天气很好。", "我们去公园吧。"]


def test_a_long_text_without_any_mark_is_still_cut() -> None:
    words = [SpokenWord(Word("了", at / 4, at / 4 + 0.25, 1.0), space_before=False) for at in range(400)]
    parts = utterances(words)
    check_times(parts)
    assert all(part.end - part.start <= LONGEST for part in parts)


def test_words_that_take_no_time_go_with_their_neighbours() -> None:
    words = [
        *words_of("Hello there."),
        SpokenWord(Word("Yes.", 0.6, 0.6, 0.1)),
        SpokenWord(Word("No.", 0.6, 0.6, 0.1)),
        *words_of("Well, good night.", start=0.6),
    ]
    parts = utterances(words)
    check_times(parts)
    assert sum(len(part.words) for part in parts) == len(words)
    (alone,) = utterances([SpokenWord(Word("Hm.", 0.0, 0.0, 0.1))])
    assert alone.start < alone.end


def test_without_words_there_is_no_segment() -> None:
    assert utterances([]) == []
