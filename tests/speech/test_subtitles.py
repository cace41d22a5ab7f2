"""A transcript as subtitles that people can read and players accept."""

from __future__ import annotations

import random
import re
import unicodedata
from dataclasses import dataclass
from itertools import pairwise

import pytest

from chyme.model import Segment, Word
from chyme.speech.transcripts.subtitles import LINE, LONGEST, srt, vtt

SENTENCE = (
    "As he lay in the open grave he thought, for the first time in a great many years, of the old harbour at home; "
    "nobody there would have known him. Neither would he have known them."
)


@dataclass(frozen=True)
class Cue:
    start: float
    end: float
    lines: list[str]


def spoken(text: str, start: float, end: float, speaker: str | None = None) -> Segment:
    """A segment whose words are spoken at an even pace."""
    words = text.split()
    each = (end - start) / len(words)
    return Segment(
        start,
        end,
        text,
        speaker,
        tuple(Word(word, start + at * each, start + (at + 1) * each, 0.9) for at, word in enumerate(words)),
    )


def seconds(stamp: str) -> float:
    hours, minutes, rest = stamp.replace(",", ".").split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(rest)


def cues_of(text: str) -> list[Cue]:
    """The cues of either format, read as a strict player reads them."""
    blocks = [block for block in text.removeprefix("WEBVTT\n").strip("\n").split("\n\n") if block]
    cues = []
    for number, block in enumerate(blocks, 1):
        lines = block.split("\n")
        if not text.startswith("WEBVTT"):
            assert lines.pop(0) == str(number)
        found = re.fullmatch(r"(\d\d+:\d\d:\d\d[,.]\d{3}) --> (\d\d+:\d\d:\d\d[,.]\d{3})", lines.pop(0))
        assert found
        assert lines
        assert all(lines)
        cues.append(Cue(seconds(found[1]), seconds(found[2]), lines))
    return cues


def columns(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in line)


def text_of(cues: list[Cue]) -> str:
    return " ".join(line for cue in cues for line in cue.lines)


def test_a_short_sentence_is_one_cue_in_both_formats() -> None:
    segments = [Segment(1.5, 3.25, "Hello there.")]
    assert srt(segments) == "1\n00:00:01,500 --> 00:00:03,250\nHello there.\n"
    assert vtt(segments) == "WEBVTT\n\n00:00:01.500 --> 00:00:03.250\nHello there.\n"


def test_no_speech_is_an_empty_file_that_players_accept() -> None:
    assert srt([]) == ""
    assert vtt([]) == "WEBVTT\n"
    assert srt([Segment(0, 1, " \n ")]) == ""


def test_long_speech_becomes_short_cues_of_two_lines_cut_where_clauses_end() -> None:
    cues = cues_of(vtt([spoken(SENTENCE, 0, 12)]))

    assert text_of(cues) == SENTENCE
    assert all(len(cue.lines) <= 2 and all(columns(line) <= LINE for line in cue.lines) for cue in cues)
    assert all(cue.end - cue.start <= LONGEST for cue in cues)
    assert all(cue.lines[-1][-1] in ",;." for cue in cues)


def test_cues_begin_with_the_word_that_is_said_then() -> None:
    segment = spoken(SENTENCE, 10, 22)
    for cue in cues_of(srt([segment])):
        first = cue.lines[0].split()[0]
        assert any(word.word == first and word.start == pytest.approx(cue.start, abs=0.001) for word in segment.words)


def test_a_corrected_text_is_spread_over_the_time_of_the_words_it_came_from() -> None:
    timed = spoken(SENTENCE, 0, 12)
    corrected = SENTENCE.replace("grave", "boat").replace("a great many years", "very many years")
    cues = cues_of(srt([Segment(0, 12, corrected, None, timed.words)]))

    assert text_of(cues) == corrected
    known = {word.word: word.start for word in timed.words if SENTENCE.split().count(word.word) == 1}
    begun = [(cue.start, cue.lines[0].split()[0]) for cue in cues]
    compared = [(start, known[first]) for start, first in begun if first in known]
    assert len(compared) >= 2
    assert all(start == pytest.approx(real, abs=0.5) for start, real in compared)


def test_without_words_the_time_is_shared_by_length() -> None:
    cues = cues_of(srt([Segment(0, 12, SENTENCE)]))
    assert text_of(cues) == SENTENCE
    assert len(cues) >= 3
    assert all(0 < cue.start < 12 for cue in cues[1:])


def test_a_cue_does_not_bridge_a_pause() -> None:
    words = (Word("Wait", 0, 0.5, 0.9), Word("now.", 5, 5.5, 0.9))
    cues = cues_of(srt([Segment(0, 5.5, "Wait now.", None, words)]))
    assert [(cue.start, cue.lines) for cue in cues] == [(0, ["Wait"]), (5, ["now."])]
    assert cues[0].end < 3


def test_short_pieces_of_one_speaker_are_shown_together() -> None:
    segments = [Segment(0, 0.4, "Yes."), Segment(0.5, 1.0, "I know."), Segment(1.1, 2.0, "So do you.")]
    assert [cue.lines for cue in cues_of(srt(segments))] == [["Yes. I know. So do you."]]


def test_a_short_word_stays_a_second_where_nothing_follows() -> None:
    first, last = cues_of(srt([Segment(2, 2.2, "No."), Segment(9, 9.1, "Yes.")]))
    assert first.end - first.start == pytest.approx(1)
    assert last.end - last.start == pytest.approx(1)


def test_cues_that_nearly_touch_do_not_flicker() -> None:
    segments = [spoken("One two three four five.", 0, 3, "speaker-1"), spoken("Six seven.", 3.2, 6, "speaker-2")]
    first, second = cues_of(srt(segments))
    assert first.end == second.start


def test_the_speaker_is_named_where_they_begin_to_speak() -> None:
    segments = [
        spoken("Good morning.", 0, 2, "speaker-1"),
        spoken("Did you sleep well?", 4, 6, "speaker-1"),
        spoken("I did.", 7, 8, "speaker-2"),
        spoken("Fine.", 10, 11, "speaker-1"),
    ]
    assert [cue.lines[0] for cue in cues_of(srt(segments, {"speaker-2": "Ada"}))] == [
        "Speaker 1: Good morning.",
        "Did you sleep well?",
        "Ada: I did.",
        "Speaker 1: Fine.",
    ]
    assert [cue.lines[0] for cue in cues_of(vtt(segments, {"speaker-2": "Ada"}))] == [
        "<v Speaker 1>Good morning.",
        "<v Speaker 1>Did you sleep well?",
        "<v Ada>I did.",
        "<v Speaker 1>Fine.",
    ]


def test_a_single_speaker_is_named_only_if_they_have_a_name() -> None:
    segments = [spoken("Good morning.", 0, 2, "speaker-1")]
    assert "Speaker" not in srt(segments) + vtt(segments)
    assert "Ada: Good morning." in srt(segments, {"speaker-1": "Ada"})
    assert "<v Ada>Good morning." in vtt(segments, {"speaker-1": "Ada"})
    assert "Bob" not in srt(segments, {"speaker-2": "Bob"})


def test_the_name_leaves_room_in_its_line() -> None:
    segments = [spoken(SENTENCE, 0, 12, "speaker-1")]
    name = "Professor Emeritus Bartholomew Featherstonehaugh-Cholmondeley"
    cues = cues_of(srt(segments, {"speaker-1": name}))
    assert cues[0].lines[0].startswith("Professor Emeritus Barth")
    assert all(columns(line) <= LINE for cue in cues for line in cue.lines)


def test_markup_and_arrows_in_the_text_cannot_break_the_file() -> None:
    segments = [Segment(0, 3, "a --> b & <b>bold</b>\n\n2\n00:00 x", "speaker-1")]
    names = {"speaker-1": "R&D <i>\n\nx"}
    assert vtt(segments, names) == (
        "WEBVTT\n\n00:00:00.000 --> 00:00:03.000\n"
        "<v R&amp;D &lt;i&gt; x>a --&gt; b &amp; &lt;b&gt;bold&lt;/b&gt; 2 00:00 x\n"
    )
    (cue,) = cues_of(srt(segments, names))
    assert text_of([cue]) == "R&D <i> x: a → b & <b>bold</b> 2 00:00 x"


def test_characters_that_are_not_text_are_left_out() -> None:
    segments = [Segment(0, 2, "be\x07ll\x00 \u202etext\ud800 line\u2028sep\ufeff")]
    text = srt(segments)
    assert text.encode()
    assert "be ll text line sep" in text


def test_chinese_and_japanese_lines_are_half_as_long_and_keep_their_punctuation() -> None:
    text = (
        "東京都は日本の首都であり、世界で最も人口の多い都市圏の一つです。「私はここに住んでいます」と彼は言いました。"
    )
    cues = cues_of(srt([Segment(0, 12, text)]))

    assert "".join(line for cue in cues for line in cue.lines) == text
    lines = [line for cue in cues for line in cue.lines]
    assert all(columns(line) <= LINE for line in lines)
    assert not any(line[0] in "、。」" or line[-1] == "「" for line in lines)


def test_korean_breaks_between_words_only() -> None:
    text = "서울은 대한민국의 수도이며 세계에서 가장 인구가 많은 도시 중 하나입니다 그리고 나는 여기에 살고 있습니다"
    lines = [line for cue in cues_of(srt([Segment(0, 12, text)])) for line in cue.lines]
    assert len(lines) > 2
    assert " ".join(lines) == text


@pytest.mark.parametrize("length", range(1, 19))
def test_brackets_stay_with_what_they_open_and_close(length: int) -> None:
    text = f"「{'東' * length}」" * 20
    lines = [line for cue in cues_of(srt([Segment(0, 60, text)])) for line in cue.lines]
    assert len(lines) > 2
    assert not any(line[0] == "」" or line[-1] == "「" for line in lines)


def test_slow_speech_is_shown_as_it_goes_on() -> None:
    cues = cues_of(srt([spoken("and so it went on and on and on", 0, 18)]))
    assert len(cues) == 3
    assert [round(cue.start) for cue in cues[1:]] == [6, 12]


def test_a_word_longer_than_a_line_is_cut() -> None:
    lines = [line for cue in cues_of(srt([Segment(0, 6, "x" * 100)])) for line in cue.lines]
    assert "".join(lines) == "x" * 100
    assert all(len(line) <= LINE for line in lines)


def test_people_who_talk_at_once_take_turns_on_the_screen() -> None:
    segments = [
        spoken("I was about to tell you what I saw.", 0, 5, "speaker-1"),
        spoken("Mhm.", 0.3, 0.8, "speaker-2"),
        spoken("Really?", 1.0, 1.5, "speaker-2"),
    ]
    cues = cues_of(srt(segments))
    assert cues[0].end - cues[0].start > 1.5
    assert cues[0].end <= cues[1].start
    assert text_of(cues) == "Speaker 1: I was about to tell you what I saw. Speaker 2: Mhm. Really?"


def test_an_interruption_names_both_sides() -> None:
    segments = [spoken(SENTENCE, 0, 12, "speaker-1"), spoken("Stop there!", 7, 8, "speaker-2")]
    starts = [cue.lines[0] for cue in cues_of(srt(segments)) if ": " in cue.lines[0]]
    assert [line.split(":")[0] for line in starts] == ["Speaker 1", "Speaker 2", "Speaker 1"]


def test_hours_are_counted_on() -> None:
    assert "27:46:40,000 --> 27:46:41,000" in srt([Segment(100_000, 100_001, "Still here.")])


@pytest.mark.parametrize("seed", range(30))
def test_cues_never_overlap_and_lose_no_word(seed: int) -> None:
    chance = random.Random(seed)
    segments, now = [], 0.0
    for _ in range(40):
        many = [chance.randint(1, 12) for _ in range(chance.randint(1, 40))]
        text = " ".join("".join(chance.choices("abcdefg,.", k=length)) for length in many)
        start = max(0.0, now + chance.uniform(-2, 3))
        end = start + chance.choice([0.0, 0.2, chance.uniform(0.5, 20)])
        speaker = chance.choice([None, "speaker-1", "speaker-2"])
        with_words = chance.random() < 0.7
        segments.append(spoken(text, start, end, speaker) if with_words else Segment(start, end, text, speaker))
        now = end
    for cues in (cues_of(srt(segments)), cues_of(vtt(segments))):
        assert all(before.end <= after.start + 1e-9 for before, after in pairwise(cues))
        assert all(0 < cue.end - cue.start <= LONGEST + 0.001 and len(cue.lines) <= 2 for cue in cues)
        without_names = re.sub(r"Speaker \d: |<v [^>]*>", "", text_of(cues))
        assert sorted(without_names.split()) == sorted(" ".join(segment.text for segment in segments).split())
