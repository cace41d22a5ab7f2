"""Dates in file names, and dates that programs recorded."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chyme.understanding.dates.candidates import from_dateline, from_name, from_stamp
from chyme.understanding.dates.choice import MIN_CONFIDENCE

TODAY = date(2026, 11, 16)


@pytest.mark.parametrize(
    ("name", "expected", "characters"),
    [
        ("2026-04-03_report.pdf", "2026-04-03", "2026-04-03"),
        ("report_2026-04-03.pdf", "2026-04-03", "2026-04-03"),
        ("2026.04.03 report.pdf", "2026-04-03", "2026.04.03"),
        ("2026_04_03 report.pdf", "2026-04-03", "2026_04_03"),
        ("IMG_20260403_101112.jpg", "2026-04-03", "20260403"),
        ("PXL_20260403_101112345.jpg", "2026-04-03", "20260403"),
        ("IMG-20260403-WA0001.jpg", "2026-04-03", "20260403"),
        ("20260403101112.mp4", "2026-04-03", "20260403"),
        ("VID20260403.mp4", "2026-04-03", "20260403"),
        ("Screenshot 2026-04-03 at 10.11.12.png", "2026-04-03", "2026-04-03"),
        ("scan 3.4.26", "2026-04-03", "3.4.26"),
        ("scan 3.4.26.pdf", "2026-04-03", "3.4.26"),
        ("Rechnung 03.04.2026.pdf", "2026-04-03", "03.04.2026"),
        ("Brief vom 3. April 2026.docx", "2026-04-03", "3. April 2026"),
        ("Letter April 3, 2026.docx", "2026-04-03", "April 3, 2026"),
        ("03Apr2026.pdf", "2026-04-03", "03Apr2026"),
        ("25-04-2026 minutes.pdf", "2026-04-25", "25-04-2026"),
        ("Invoice April 2026.docx", "2026-04", "April 2026"),
        ("Invoice_April_2026.docx", "2026-04", "April_2026"),
        ("statement 2026-04.pdf", "2026-04", "2026-04"),
        ("請求書2026年4月3日.pdf", "2026-04-03", "2026年4月3日"),
        ("annual report 2024.pdf", "2024", "2024"),
    ],
)
def test_a_date_in_the_name_of_a_file_is_read(name: str, expected: str, characters: str) -> None:
    found = from_name(name, TODAY)

    assert found is not None
    assert (found.date, found.text, found.where) == (expected, characters, "name")


@pytest.mark.parametrize(
    "name",
    [
        *("1234567890.pdf", "12345678.pdf", "20261399.pdf", "20280403.pdf", "DSC01234.JPG"),
        *(
            "app-1.12.20.zip",
            "v2.3.2020.tar.gz",
            "1.2.3.tar.gz",
            "2019-2020 plan.pdf",
            "0000-00-00.txt",
            "",
            "IMG_2034",
        ),
        *("2026-02-31.pdf", "192.168.10.20.log", "1612137600.json", "2026-01-05 to 2026-03-05.pdf", "a" * 5_000),
        *("20260403 20260507.pdf"),
    ],
)
def test_a_number_in_the_name_of_a_file_is_no_date(name: str) -> None:
    assert from_name(name, TODAY) is None


def test_a_name_that_may_be_read_in_two_ways_is_not_enough() -> None:
    found = from_name("03-04-2026.pdf", TODAY)

    assert found is not None
    assert found.ambiguous
    assert found.confidence < MIN_CONFIDENCE


def test_a_year_alone_is_not_enough() -> None:
    found = from_name("report 2024.pdf", TODAY)
    assert found is not None
    assert found.confidence < MIN_CONFIDENCE


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-04-03", "2026-04-03"),
        ("2026-04-03T10:11:12Z", "2026-04-03"),
        ("2026-04-03T10:11:12.123456+02:00", "2026-04-03"),
        ("2026-04-03 10:11:12", "2026-04-03"),
        ("20260403", "2026-04-03"),
        ("20260403T101112Z", "2026-04-03"),
        ("D:20260403101112+02'00'", "2026-04-03"),
        ("D:20260403101112Z00'00'", "2026-04-03"),
        ("D:20260403", "2026-04-03"),
        ("D:202604031011", "2026-04-03"),
        ("20260403101112", "2026-04-03"),
        ("2026:04:03 10:11:12", "2026-04-03"),
        ("Fri, 03 Apr 2026 10:11:12 +0200", "2026-04-03"),
        ("Fri, 3 Apr 2026 10:11:12 GMT", "2026-04-03"),
        ("Fri Apr  3 10:11:12 2026", "2026-04-03"),
        ("April 3, 2026", "2026-04-03"),
        ("2026-04", "2026-04"),
        ("2026", "2026"),
        (" 2026-04-03 ", "2026-04-03"),
    ],
)
def test_a_stamp_is_read_in_the_forms_of_programs(value: str, expected: str) -> None:
    found = from_stamp(value, "properties", TODAY)

    assert found is not None
    assert (found.date, found.text, found.where) == (expected, value.strip(), "properties")


@pytest.mark.parametrize(
    "value",
    [
        *(
            "",
            "x",
            "D:",
            "0000:00:00 00:00:00",
            "1970-01-01T00:00:00Z",
            "1980-01-01",
            "1601-01-01",
            "2013-12-23T23:15:00Z",
        ),
        *("2027-01-01", "2026-13-01", "2026-02-31", "03/04/2026", "1234567890", "12", "99999999", "now", "1000-01-01"),
    ],
)
def test_a_placeholder_of_a_program_is_no_date(value: str) -> None:
    assert from_stamp(value, "properties", TODAY) is None


def test_a_stamp_of_a_month_is_less_sure_than_that_of_a_day() -> None:
    day, month = from_stamp("2026-04-03", "published", TODAY), from_stamp("2026-04", "published", TODAY)
    assert day is not None
    assert month is not None
    assert day.confidence > month.confidence


@given(
    st.dates(date(2001, 1, 2), TODAY - timedelta(days=1)),
    st.sampled_from(["%Y-%m-%d", "%Y%m%d", "%d.%m.%Y", "%d %B %Y"]),
)
def test_a_day_in_a_name_is_found_again(day: date, form: str) -> None:
    found = from_name(f"letter {day.strftime(form)}.pdf", TODAY)
    assert found is not None
    assert found.date == day.isoformat()


@given(st.text(max_size=60))
def test_any_name_and_any_stamp_can_be_read(text: str) -> None:
    from_name(text, TODAY)
    from_stamp(text, "properties", TODAY)


@pytest.mark.parametrize(
    ("line", "language", "day"),
    [
        ("Sunday, May 8, 2016", "en", "2016-05-08"),
        ("By Ada | 3 Mar 2020", "en", "2020-03-03"),
        ("Published: 2020-03-03 14:05", "en", "2020-03-03"),
        ("Veröffentlicht am 3. März 2020", "de", "2020-03-03"),
        ("Publié le 3 mars 2020 à 14h05", "fr", "2020-03-03"),
        ("Publicado el 3 de marzo de 2020", "es", "2020-03-03"),
        ("Pubblicato il 3 marzo 2020", "it", "2020-03-03"),
        ("Updated 5 March 2020, published 3 March 2020", "en", "2020-03-03"),
        ("Updated on 5 March 2020", "en", "2020-03-05"),
        ("March 2020", "en", "2020-03"),
        ("03/04/2020", "en", None),  # which is the day?
        ("3 May 2027", "en", None),  # to come
        ("1 May 2020, 2 May 2020, 3 May 2020, 4 May 2020", "en", None),
        ("Ada, 2020", "en", None),
    ],
)
def test_the_line_gives_the_day_of_publication(line: str, language: str, day: str | None) -> None:
    found = from_dateline(line, language, TODAY)
    assert (found.date if found else None) == day
