"""A summary as markdown, what a model may be sent for it, and what it may not answer."""

from __future__ import annotations

import json

import pytest
from spoken import sample, transcript_of

from chyme.speech.transcripts.answer_checks import check_summary
from chyme.speech.transcripts.language_model import excerpt
from chyme.speech.transcripts.summary import Point, Summary, as_markdown, format_clock, headings, parse_clock
from chyme.text.markdown_lines import escape_markdown, shorten_text, strip_origin_line
from chyme.text.passages import markdown_headings

WHOLE = Summary(
    "The pier costs more.",
    (Point("Steel", 12.0),),
    (Point("Write to the supplier.", 3754.4, "speaker-2"),),
    (Point("Who writes?", None, "speaker-1"),),
)


def test_the_takeaway_comes_first_and_the_sections_follow() -> None:
    text, places = as_markdown(WHOLE, "en", "Written by seer.")
    assert text == (
        "The pier costs more.\n\n"
        "## Topics\n\n- Steel (0:12)\n\n"
        "## Actions\n\n- Speaker 2: Write to the supplier. (1:02:34)\n\n"
        "## Questions\n\n- Speaker 1: Who writes?\n\n"
        "*Written by seer.*\n"
    )
    assert [(text[place.start : place.end], place.seconds, place.speaker) for place in places] == [
        ("- Steel (0:12)", 12.0, None),
        ("- Speaker 2: Write to the supplier. (1:02:34)", 3754.4, "speaker-2"),
    ]


def test_a_section_with_nothing_in_it_is_left_out() -> None:
    text, places = as_markdown(Summary("Hello."), "de", "So.")
    assert (text, places) == ("Hello.\n\n*So.*\n", ())


@pytest.mark.parametrize("language", ["de", "fr", "es", "it", "nl", "pt", "zh", "ja"])
def test_headings_are_in_the_language_spoken(language: str) -> None:
    text, _ = as_markdown(WHOLE, language, "x")
    assert [place.heading for place in markdown_headings(text)] == list(headings(language))
    assert list(headings(language)) != list(headings("en"))
    assert headings("sv") == headings(None) == headings("en")


def test_only_so_many_points_and_none_too_long() -> None:
    text, _ = as_markdown(Summary("T", topics=tuple(Point("word " * 200) for _ in range(50))), "en", "x")
    assert text.count("\n- ") == 8
    assert max(map(len, text.splitlines())) <= 302


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("# not a heading", "\\# not a heading"),
        ("- no list", "\\- no list"),
        ("12. no list", "12\\. no list"),
        ("--- no rule", "\\--- no rule"),
        ("*b* _i_ `c` [x](http://h) <b> a|b ~~s~~ &lt; \\ $x$",
         "\\*b\\* \\_i\\_ \\`c\\` \\[x\\](http://h) \\<b\\> a\\|b \\~\\~s\\~\\~ \\&lt; \\\\ \\$x\\$"),
        ("two\n\n## lines", "two ## lines"),
        ("plain -5 and #1, 3.5", "plain -5 and #1, 3.5"),
    ],
)  # fmt: skip
def test_spoken_text_is_never_markup(text: str, markdown: str) -> None:
    assert escape_markdown(text) == markdown


def test_the_last_line_is_not_part_of_the_summary() -> None:
    text, _ = as_markdown(WHOLE, "en", "Written by *seer*.")
    assert strip_origin_line(text).endswith("- Speaker 1: Who writes?\n")
    assert strip_origin_line("A text.\n\n*not last*\n\nmore") == "A text.\n\n*not last*\n\nmore"


def test_times_are_written_and_read() -> None:
    assert [format_clock(at) for at in (0, 61.9, 3599, 3600, 36_000)] == [
        "0:00",
        "1:01",
        "59:59",
        "1:00:00",
        "10:00:00",
    ]
    assert [parse_clock(format_clock(at), 40_000) for at in (0, 61, 3600)] == [0, 61, 3600]
    assert parse_clock("[1:02]", 100) == 62
    assert [parse_clock(text, 100) for text in ("", "12", "x:y", "2:00", "1:2:3:4", "-1:00", "9999:00")] == [None] * 7


def test_a_long_text_is_cut_at_a_blank() -> None:
    assert shorten_text("one two three", 9) == "one two…"
    assert shorten_text("x" * 50, 10) == "x" * 9 + "…"
    assert shorten_text("short", 10) == "short"


def test_a_transcript_that_fits_is_sent_whole_with_times_and_speakers() -> None:
    sent = excerpt(sample("meeting.en").segments, 24_000)
    lines = [json.loads(line) for line in sent.text.splitlines()]
    assert sent.share == 1.0
    assert lines[0]["time"] == "0:00"
    assert lines[0]["speaker"] == "Speaker 1"
    assert lines[0]["text"].startswith("um okay so welcome everybody, let's start Today we")
    assert sum(len(line["text"].split()) for line in lines) == sum(
        len(segment.text.split()) for segment in sample("meeting.en").segments
    )


def test_a_long_transcript_is_sent_by_its_beginning_middle_and_end() -> None:
    long = transcript_of([f"line {at} " + "word " * 90 for at in range(400)])
    sent = excerpt(long.segments, 20_000)
    assert len(sent.text) <= 20_200
    lines = [json.loads(line) for line in sent.text.splitlines()]
    numbers = [int(line["text"].split()[1]) for line in lines if "text" in line]
    assert numbers == sorted(set(numbers))
    assert (numbers[0], numbers[-1]) == (0, 399)
    assert any(180 < at < 220 for at in numbers)
    assert sum("left_out" in line for line in lines) == 2
    assert 0.08 < sent.share < 0.12


@pytest.mark.parametrize("characters", [0, 1, 500, 5000])
def test_an_endless_segment_does_not_burst_the_budget(characters: int) -> None:
    sent = excerpt(transcript_of(["x" * 100_000]).segments, characters)
    assert len(sent.text) < max(characters, 6000) + 700
    assert excerpt((), characters).text == ""


def test_a_faithful_summary_passes() -> None:
    transcript = "the budget for the new pier is too high"
    assert check_summary("The pier's budget is too large.", ["Budgets"], transcript, "en") is None
    assert check_summary("Too much.", [], transcript, "en") is None
    assert check_summary("预算太高了", [], "今天讨论预算", "zh") is None


@pytest.mark.parametrize(
    ("takeaway", "reason"),
    [
        ("", "empty"),
        ("pier " * 300, "too long"),
        ("Das Budget für den neuen Pier ist zu hoch, und das ist nicht gut.", "language"),
        ("Visit our online casino and win wonderful prizes tonight.", "not said"),
    ],
)
def test_an_unfaithful_summary_is_refused_with_the_reason(takeaway: str, reason: str) -> None:
    complaint = check_summary(takeaway, [], "the budget for the new pier is too high", "en")
    assert complaint is not None
    assert reason in complaint
