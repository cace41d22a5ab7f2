"""Mailboxes, subtitles, notebooks, calendars and contacts become readable text with places."""

from __future__ import annotations

import json

import pytest
from container_files import sample_maker

from chyme.documents.conversion.calendar_times import describe_recurrence
from chyme.documents.conversion.converter import convert
from chyme.documents.conversion.mailboxes import mail_spans
from chyme.documents.conversion.results import MB, ConversionLimits, ConversionResult
from chyme.errors import LimitReached, UnreadableFile
from chyme.files.extensions import ASS, CALENDAR, LRC, MBOX, NOTEBOOK, SBV, SRT, TTML, VCARD, VTT
from chyme.text.titles import heading_title

made = sample_maker()
FROM = "From ada@example.org Mon May  6 09:30:00 2024\n"


def read(text: str | bytes, mime: str, name: str = "a", limits: ConversionLimits | None = None) -> ConversionResult:
    data = text.encode() if isinstance(text, str) else text
    return convert(name, data, mime, limits or ConversionLimits())


def place_of(result: ConversionResult, words: str) -> tuple[int | None, str | None]:
    position = result.markdown.index(words)
    place = next(place for place in result.places if place.start <= position < place.end)
    return place.page, place.heading


def test_each_mail_of_a_mailbox_has_its_place_headers_and_attachments() -> None:
    result = read(made.MBOX, MBOX, "letters.mbox")
    assert result.markdown.startswith(
        "# letters\n\nA mailbox with 3 e-mails.\n\n## The ladder is back\n\n**From:** Ada"
    )
    assert place_of(result, "greenhouse") == (1, "The ladder is back")
    assert place_of(result, "hängt neben dem Barometer") == (2, "Schlüssel für die Werkstatt")
    assert place_of(result, "- hook.png") == (2, "Schlüssel für die Werkstatt")
    assert place_of(result, "quinces") == (3, "Quinces")
    assert "\nFrom there it is easy" in result.markdown
    assert "iVBOR" not in result.markdown
    assert heading_title(result.markdown) == "letters"


def test_a_line_that_begins_with_from_does_not_begin_a_mail() -> None:
    box = f"{FROM}Subject: one\n\nFrom here on we walk.\nFrom 10:30 to 2024\n\n{FROM}Subject: two\n\nend\n"
    assert len(list(mail_spans(box.encode()))) == 2


def test_a_mail_with_its_length_may_hold_a_separator() -> None:
    body = f"quoted:\n\n{FROM}Subject: inner\n\nstill the first\n"
    box = f"{FROM}Subject: outer\nContent-Length: {len(body)}\n\n{body}\n{FROM}Subject: second\n\nend\n"
    result = read(box, MBOX)
    assert place_of(result, "still the first") == (1, "outer")
    assert place_of(result, "end") == (2, "second")
    wrong = box.replace(f"Content-Length: {len(body)}", "Content-Length: 999999")
    assert len(list(mail_spans(wrong.encode()))) == 3


def test_a_mailbox_beyond_the_limits_is_read_in_part_with_a_note() -> None:
    mail = f"{FROM}Subject: again\n\n" + "words of a mail " * 50 + "\n\n"
    result = read(mail * 100, MBOX, limits=ConversionLimits(text_chars=10_000))
    assert len(result.markdown) <= 10_000
    assert result.notes == ("the first 12 of 100 e-mails are kept; raise text_chars to keep more",)
    cut = read(mail * 100, MBOX, limits=ConversionLimits(document_bytes=5_000))
    assert "document_bytes" in cut.notes[-1]


def test_a_huge_mail_costs_no_more_than_its_first_part() -> None:
    attachment = "\n".join(["A" * 76] * 1_000)
    head = 'Subject: big\nContent-Type: multipart/mixed; boundary="x"\n\n--x\n\nshort text\n--x\n'
    part = 'Content-Disposition: attachment; filename="big.bin"\n\n'
    result = read(f"{FROM}{head}{part}{attachment}\n\n{FROM}Subject: next\n\nafter it\n", MBOX)
    assert "short text" in result.markdown
    assert "- big.bin" in result.markdown
    assert place_of(result, "after it") == (2, "next")


def test_a_mail_of_endless_parts_does_not_keep_others_from_being_read() -> None:
    deep = "".join(f'Content-Type: multipart/mixed; boundary="b{n}"\n\n--b{n}\n' for n in range(300))
    result = read(f"{FROM}Subject: deep\n{deep}\n\n{FROM}Subject: next\n\nafter it\n", MBOX)
    assert place_of(result, "after it") == (2, "next")


@pytest.mark.parametrize(
    ("text", "mime", "words", "seconds", "until", "speaker"),
    [
        (made.VTT, VTT, "tannery", 1.0, 4.0, "Ada Winter"),
        (made.VTT, VTT, "cuckoo calls & dried", 65.0, 69.0, "Bruno Vogel"),
        (made.SRT, SRT, "nobody has seen", 5.1, 8.4, None),
        (made.SRT, SRT, "herring", 130.0, 134.0, None),
        (made.ASS, ASS, "Turn the pipe slowly, or", 3.5, 6.0, "Greta"),
        (made.ASS, ASS, "furnace needs", 100.0, 104.0, "Otto"),
        (made.LRC, LRC, "flour falls", 15.5, 40.0, None),
        (made.SBV, SBV, "North is", 30.5, 34.0, None),
        (made.TTML, TTML, "lashed", 75.5, 79.0, None),
    ],
)
def test_subtitles_become_text_with_seconds(
    text: str, mime: str, words: str, seconds: float, until: float, speaker: str | None
) -> None:
    result = read(text, mime)
    position = result.markdown.index(words)
    (place,) = (place for place in result.places if place.start <= position < place.end)
    assert (place.seconds, place.until, place.speaker) == (seconds, until, speaker)
    for noise in ("-->", "00:", "{", "<", "\\N", "editors only", "Never shown", "yellow", "intro"):
        assert noise not in result.markdown


def test_cues_are_joined_into_paragraphs_by_speaker_and_pause() -> None:
    assert read(made.SRT, SRT).markdown == (
        "The ferry leaves at six, and nobody has seen the pilot.\n\nHe sleeps among the herring barrels."
    )
    assert read(made.VTT, VTT).markdown.startswith("# Evening talk\n\n**Ada Winter:** Good evening, and welcome to")


def test_captions_that_roll_up_say_each_line_once() -> None:
    lines = ["first line", "first line\nsecond line", "second line\nthird line"]
    cues = [f"00:00:0{n}.000 --> 00:00:0{n + 1}.000\n{line}\n" for n, line in enumerate(lines)]
    assert read("WEBVTT\n\n" + "\n".join(cues), VTT).markdown == "first line second line third line"


def test_absurd_times_are_no_places_and_the_text_stays() -> None:
    text = "1\n9999:99:99,999 --> 00:00:01,000\nfar away\n\n2\n00:00:09,000 --> 00:00:01,000\nbackwards\n"
    result = read(text, SRT)
    assert "far away" in result.markdown
    assert [(place.seconds, place.until) for place in result.places] == [(9.0, None)]


@pytest.mark.parametrize(
    ("rates", "begin", "seconds"),
    [
        ('ttp:tickRate="10000000"', "125000000t", 12.5),
        ('ttp:frameRate="25"', "50f", 2.0),
        ("", "999999999999h", None),
        ("", "1.5m", 90.0),
    ],
)
def test_times_in_ticks_and_frames_become_seconds(rates: str, begin: str, seconds: float | None) -> None:
    text = f'<tt xmlns="http://www.w3.org/ns/ttml" {rates}><body><div><p begin="{begin}">Ahoy</p></div></body></tt>'
    result = read(text, TTML)
    assert result.markdown == "Ahoy"
    assert [place.seconds for place in result.places] == ([seconds] if seconds is not None else [])


def test_a_calendar_without_entries_is_empty_not_broken() -> None:
    assert "A calendar with 0 entries." in read("BEGIN:VCALENDAR\nVERSION:2.0\nEND:VCALENDAR\n", CALENDAR).markdown


def test_a_notebook_has_prose_code_and_short_outputs() -> None:
    result = read(json.dumps(made.NOTEBOOK), NOTEBOOK)
    assert "```python\ngauges = read_gauges('weir')" in result.markdown
    assert "4.25 millimetres" in result.markdown
    assert "iVBOR" not in result.markdown
    assert "<Figure>" not in result.markdown
    assert place_of(result, "plot_drought")[1] == "Drought years"
    assert heading_title(result.markdown) == "Rainfall in the valley"


def test_an_old_notebook_is_read() -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": ["Old tides"]},
        {"cell_type": "code", "language": "julia", "input": ["tide(3)"], "outputs": [{"text": ["low water"]}]},
    ]
    result = read(json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]}), NOTEBOOK)
    assert result.markdown == "## Old tides\n\n```julia\ntide(3)\n```\n\n```text\nlow water\n```"


def test_underlined_headings_of_a_notebook_are_headings() -> None:
    cells = [
        {"cell_type": "markdown", "source": "River levels\n============\nweekly\n\nSources\n-------\n\na\nb\n---"},
        {"cell_type": "code", "source": "level = 3"},
    ]
    result = read(json.dumps({"cells": cells, "nbformat": 4}), NOTEBOOK)
    assert result.markdown.startswith("# River levels\nweekly\n\n## Sources\n\na\nb\n---")
    assert place_of(result, "level = 3")[1] == "Sources"


def test_outputs_of_a_notebook_are_cut() -> None:
    cell = {"cell_type": "code", "source": "x", "outputs": [{"text": "line\n" * 10_000}]}
    result = read(json.dumps({"cells": [cell], "nbformat": 4}), NOTEBOOK)
    assert len(result.markdown) < 500
    assert "…" in result.markdown


def test_appointments_say_when_where_and_with_whom() -> None:
    result = read(made.ICS, CALENDAR)
    for words in (
        "**When:** Saturday, 11 May 2024, 09:00 to 11:30 (Europe/Berlin)",
        "**Repeats:** every 2 weeks on Saturday until 26 October 2024",
        "**Where:** Plot 14, by the pump",
        "**Attendees:** Ada Winter <ada@example.org> (accepted)",
        "in the shed near the rhubarb.",
        "**When:** Saturday, 15 June 2024 to Sunday, 16 June 2024 (all day)",
    ):
        assert words in result.markdown
    assert place_of(result, "pumpkins") == (2, "Seed exchange")
    assert heading_title(result.markdown) == "Allotment club"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("DTSTART:20240511T090000Z\nDURATION:PT1H30M", "Saturday, 11 May 2024, 09:00 to 10:30 (UTC)"),
        ("DTSTART;VALUE=DATE:20240615", "Saturday, 15 June 2024 (all day)"),
        ("DTSTART:20240511T220000\nDTEND:20240512T010000", "22:00 to Sunday, 12 May 2024, 01:00"),
        ("STATUS:CANCELLED", "**Status:** cancelled"),
        ("DTSTART:20249911T090000", "## Fair"),
        ("DUE;VALUE=DATE:20240701", "**Due:** Monday, 1 July 2024 (all day)"),
    ],
)
def test_times_of_calendars_are_told_in_words(lines: str, words: str) -> None:
    text = f"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Fair\n{lines}\nEND:VEVENT\nEND:VCALENDAR\n"
    assert words in read(text, CALENDAR).markdown


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("FREQ=DAILY;COUNT=10", "every day 10 times"),
        ("FREQ=MONTHLY;BYDAY=2TU", "every month on the second Tuesday"),
        ("FREQ=MONTHLY;BYDAY=-1FR", "every month on the last Friday"),
        ("FREQ=MONTHLY;BYMONTHDAY=15", "every month on day 15"),
        ("FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=1", "every year on day 1 in March"),
        (
            "FREQ=WEEKLY;BYDAY=MO,WE,FR;UNTIL=20251231",
            "every week on Monday, Wednesday and Friday until 31 December 2025",
        ),
        ("FREQ=NEVER", ""),
    ],
)
def test_recurrence_is_told_in_words(rule: str, words: str) -> None:
    assert describe_recurrence(rule) == words


def test_contacts_of_every_version_are_readable() -> None:
    result = read(made.VCF, VCARD, "people.vcf")
    for words in (
        "**Organisation:** Harbour Observatory, Tides",
        "**Phone (work):** +49 40 5550 123",
        "**Address (work):** Quay 7, Lobsterhaven, 20457, Germany",
        "**Birthday:** 14 February 1979",
        "Collects tide tables, brass instruments and old charts.",
        "Repairs church organs\nand harmoniums.",
        "**Birthday:** 17 May",
    ):
        assert words in result.markdown
    assert "9j/4" not in result.markdown
    assert place_of(result, "harmoniums") == (2, "Jürgen Brändle")


def test_values_in_other_character_sets_keep_their_letters() -> None:
    card = (
        b"BEGIN:VCARD\nVERSION:2.1\nFN;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:J=FCrgen\n"
        b"NOTE;ENCODING=BASE64:R3LDvMOfZQ==\nEND:VCARD\n"
    )
    result = read(card, VCARD)
    assert heading_title(result.markdown) == "Jürgen"
    assert "Grüße" in result.markdown


@pytest.mark.parametrize(
    ("text", "mime"),
    [
        ("BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:" + "x, " * 400_000 + "\nEND:VEVENT\nEND:VCALENDAR", CALENDAR),
        ("BEGIN:VCARD\nFN:Ada\nNOTE:" + "long words " * 450_000 + "\nEND:VCARD", VCARD),
        ("BEGIN:VCARD\nFN:Ada\nN" + ";A=" * 400_000 + ":x\nEND:VCARD", VCARD),
        ("BEGIN:VCARD\nFN:Ada\nN;ENCODING=QUOTED-PRINTABLE:" + "=\n" * 600_000 + "\nEND:VCARD", VCARD),
        ("BEGIN:VCARD\n" * 400_000, VCARD),
        ("1\n00:00:01,000 --> 00:00:02,000\n" + "word {\\b" * 600_000, SRT),
        ("1\n00:00:01,000 --> 00:00:02,000\n" + "<v " * 400_000 + "a", SRT),
        ("<tt>" + "<p begin='1s'>" * 100_000 + "word", TTML),
        (FROM + "Subject: x\n\n" + "From " * 250_000, MBOX),
        (FROM + "Subject: x\n\n" + "\nFrom 1:11 " * 400_000, MBOX),
    ],
)  # fmt: skip
def test_hostile_texts_take_time_by_their_length_alone(text: str, mime: str) -> None:
    result = read(text, mime)
    assert result.markdown
    assert len(result.markdown) <= ConversionLimits().text_chars


@pytest.mark.parametrize(
    ("text", "mime"),
    [
        ("WEBVTT\n\nnothing", VTT),
        ("BEGIN:VCALENDAR\n", CALENDAR),
        ("END:VCARD\n", VCARD),
        ("{", NOTEBOOK),
        ("[1]", NOTEBOOK),
    ],
)
def test_what_holds_nothing_is_called_broken(text: str, mime: str) -> None:
    with pytest.raises(UnreadableFile, match=r"a: .* is broken or incomplete"):
        read(text, mime)


def test_a_notebook_nested_without_end_is_refused() -> None:
    with pytest.raises((LimitReached, UnreadableFile)):
        read('{"cells": ' + "[" * (2 * MB), NOTEBOOK)
