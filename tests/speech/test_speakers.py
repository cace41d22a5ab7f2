"""Which speaker said which words."""

from __future__ import annotations

from chyme.model import Segment, Turn, Word
from chyme.speech.voices.speaker_labels import label_segments

ONE, TWO = "speaker-1", "speaker-2"


def segment(text: str, start: float = 0.0, step: float = 0.5, pieces: list[str] | None = None) -> Segment:
    """A segment whose words take `step` seconds each."""
    words = tuple(
        Word(word, start + step * at, start + step * (at + 1), 0.9)
        for at, word in enumerate(text.split() if pieces is None else pieces)
    )
    return Segment(start, start + step * len(words), text, None, words)


def speakers_and_texts(segments: tuple[Segment, ...]) -> list[tuple[str | None, str]]:
    return [(part.speaker, part.text) for part in segments]


def test_without_turns_nothing_changes() -> None:
    spoken = [segment("Good morning.")]
    assert label_segments(spoken, []) == tuple(spoken)


def test_a_segment_of_one_speaker_stays_whole() -> None:
    spoken = segment("Good morning to you.")
    (only,) = label_segments([spoken], [Turn(0.0, 5.0, ONE)])
    assert (only.speaker, only.text, only.words) == (ONE, spoken.text, spoken.words)
    assert (only.start, only.end) == (spoken.start, spoken.end)


def test_a_segment_is_split_where_the_speaker_changes() -> None:
    spoken = segment('Did you  find it? "Yes," I did (at last).')
    first, second = label_segments([spoken], [Turn(0.0, 2.0, ONE), Turn(2.0, 9.0, TWO)])
    assert speakers_and_texts((first, second)) == [(ONE, "Did you  find it?"), (TWO, '"Yes," I did (at last).')]
    assert first.words + second.words == spoken.words
    assert (first.start, first.end, second.start, second.end) == (0.0, 2.0, 2.0, spoken.end)


def test_text_without_blanks_is_split_between_the_right_letters() -> None:
    spoken = segment("今日はいい天気。「そうですね」", pieces=["今日", "は", "いい", "天気。", "そう", "です", "ね"])
    parts = label_segments([spoken], [Turn(0.0, 2.0, ONE), Turn(2.0, 4.0, TWO)])
    assert speakers_and_texts(parts) == [(ONE, "今日はいい天気。"), (TWO, "「そうですね」")]


def test_a_word_that_occurs_twice_is_found_where_it_stands() -> None:
    spoken = segment("no yes no yes no no")
    parts = label_segments([spoken], [Turn(0.0, 1.5, ONE), Turn(1.5, 3.0, TWO)])
    assert speakers_and_texts(parts) == [(ONE, "no yes no"), (TWO, "yes no no")]


def test_quotation_marks_that_are_in_no_word_go_with_the_word_next_to_them() -> None:
    pieces = ["He", "asked", "why", "No", "idea", "really"]
    spoken = segment('He asked "why?" "No idea, really."', pieces=pieces)
    parts = label_segments([spoken], [Turn(0.0, 1.5, ONE), Turn(1.5, 3.0, TWO)])
    assert speakers_and_texts(parts) == [(ONE, 'He asked "why?"'), (TWO, '"No idea, really."')]


def test_a_word_belongs_to_the_turn_that_covers_most_of_it() -> None:
    spoken = segment("a b c d e f", step=1.0)
    parts = label_segments([spoken], [Turn(0.0, 3.4, ONE), Turn(3.4, 6.0, TWO)])
    assert speakers_and_texts(parts) == [(ONE, "a b c"), (TWO, "d e f")]


def test_one_short_word_amid_another_speakers_words_is_given_to_that_speaker() -> None:
    spoken = segment("we went to the old harbour again")
    (only,) = label_segments([spoken], [Turn(0.0, 1.5, ONE), Turn(1.5, 2.0, TWO), Turn(2.0, 9.0, ONE)])
    assert speakers_and_texts((only,)) == [(ONE, spoken.text)]


def test_two_words_amid_another_speakers_words_stay() -> None:
    spoken = segment("we went there of course not because I had to")
    parts = label_segments([spoken], [Turn(0.0, 1.5, ONE), Turn(1.5, 3.0, TWO), Turn(3.0, 9.0, ONE)])
    assert speakers_and_texts(parts) == [(ONE, "we went there"), (TWO, "of course not"), (ONE, "because I had to")]


def test_a_change_moves_to_the_end_of_the_sentence_that_is_close() -> None:
    spoken = segment("Is it far from here? Not at all my friend.", step=0.3)
    late, early = 1.5 + 0.35, 1.5 - 0.35
    for change in (late, early):
        parts = label_segments([spoken], [Turn(0.0, change, ONE), Turn(change, 9.0, TWO)])
        assert speakers_and_texts(parts) == [(ONE, "Is it far from here?"), (TWO, "Not at all my friend.")]


def test_a_change_far_from_the_end_of_a_sentence_stays() -> None:
    spoken = segment("Is it far from here to there? I do not know at all.", step=0.3)
    parts = label_segments([spoken], [Turn(0.0, 1.2, ONE), Turn(1.2, 9.0, TWO)])
    assert speakers_and_texts(parts) == [(ONE, "Is it far from"), (TWO, "here to there? I do not know at all.")]


def test_a_change_moves_by_two_words_and_less_than_a_second_at_most() -> None:
    fast = segment("Is it far from here to there? I do not know at all.", step=0.1)
    slow = segment("Is it far from here to there? I do not know at all.", step=0.6)
    for spoken, change in ((fast, 0.4), (slow, 3.0)):
        parts = label_segments([spoken], [Turn(0.0, change, ONE), Turn(change, 9.0, TWO)])
        assert parts[0].text == ("Is it far from" if spoken is fast else "Is it far from here")


def test_an_answer_of_one_word_that_is_a_sentence_is_kept() -> None:
    spoken = segment("Yes. And then we went home together")
    parts = label_segments([spoken], [Turn(0.0, 0.5, TWO), Turn(0.5, 9.0, ONE)])
    assert speakers_and_texts(parts) == [(TWO, "Yes."), (ONE, "And then we went home together")]


def test_words_in_no_turn_go_to_the_nearest_speaker_and_distant_words_to_none() -> None:
    near, far = segment("hello there", start=3.0), segment("hello there", start=60.0)
    assert [part.speaker for part in label_segments([near, far], [Turn(0.0, 2.5, ONE)])] == [ONE, None]


def test_words_far_from_any_turn_follow_their_neighbours() -> None:
    spoken = segment("one two three four five six seven eight", step=1.0)
    (only,) = label_segments([spoken], [Turn(0.0, 2.0, ONE)])
    assert only.speaker == ONE


def test_segments_without_words_are_given_to_the_speaker_of_most_of_their_time() -> None:
    spoken = Segment(0.0, 10.0, "We have no words for this.")
    (only,) = label_segments([spoken], [Turn(0.0, 4.0, ONE), Turn(4.0, 10.0, TWO)])
    assert (only.speaker, only.text) == (TWO, spoken.text)


def test_text_that_does_not_contain_its_words_is_not_cut() -> None:
    spoken = Segment(0.0, 4.0, "Something else.", None, segment("a b c d e f g h").words)
    (only,) = label_segments([spoken], [Turn(0.0, 1.0, ONE), Turn(1.0, 4.0, TWO)])
    assert (only.speaker, only.text, only.words) == (TWO, spoken.text, spoken.words)


def test_order_and_times_stay_valid_when_times_are_muddled() -> None:
    words = (
        *(Word("a", 0.0, 1.0, 1.0), Word("b", 0.9, 0.9, 1.0), Word("c", 1.0, 2.6, 1.0)),
        *(Word("d", 2.2, 3.0, 1.0), Word("e", 3.0, 9.0, 1.0), Word("f", 9.0, 9.5, 1.0), Word("g", 9.5, 9.9, 1.0)),
    )
    spoken = Segment(0.5, 4.0, "a b c d e f g", None, words)
    parts = label_segments([spoken], [Turn(0.0, 2.0, ONE), Turn(2.0, 8.0, TWO), Turn(8.0, 12.0, ONE)])
    assert speakers_and_texts(parts) == [(ONE, "a b c"), (TWO, "d e"), (ONE, "f g")]
    times = [time for part in parts for time in (part.start, part.end)]
    assert times == sorted(times)
    assert (times[0], times[-1]) == (0.5, 4.0)


def test_many_turns_and_words_are_laid_over_each_other_quickly() -> None:
    turns = [Turn(float(at), at + 1.0, f"speaker-{at % 2 + 1}") for at in range(20_000)]
    spoken = [segment("a b", start=float(at), step=0.5) for at in range(20_000)]
    assert [part.speaker for part in label_segments(spoken, turns)] == [turn.speaker for turn in turns]
