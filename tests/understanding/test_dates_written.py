"""Every form in which people write dates, and texts that only look like a date."""

from __future__ import annotations

import unicodedata
from datetime import date, timedelta

import pytest
from growth import grows_linearly
from hypothesis import example, given
from hypothesis import strategies as st

from chyme.understanding.dates.candidates import find_dates
from chyme.understanding.dates.vocabulary import MONTHS, SHORT_MONTHS, month_of

TODAY = date(2026, 11, 16)
APRIL = "2026-04-03"


def read(text: str, language: str | None) -> list[str]:
    return sorted(candidate.date for candidate in find_dates(text, language, "doc-to-markdown", TODAY))


WRITTEN = [
    ("en", "2026-04-03"),
    ("en", "2026/04/03"),
    ("en", "2026.04.03"),
    ("en", "2026-04-03T10:11:12Z"),
    ("en", "2026-04-03 10:11:12,345"),
    ("en", "2026-04-03T10:11:12+02:00"),
    ("en", "Fri, 03 Apr 2026 10:11:12 +0200"),
    ("en", "Fri Apr  3 10:11:12 2026"),
    ("en", "Fri Apr  3 10:11:12 CEST 2026"),
    ("en", "3 April 2026"),
    ("en", "3rd April 2026"),
    ("en", "the 3rd of April 2026"),
    ("en", "the 3rd of April, 2026"),
    ("en", "this 3rd day of April, 2026"),
    ("en", "April 3, 2026"),
    ("en", "April 3rd, 2026"),
    ("en", "April 3 2026"),
    ("en", "April the 3rd, 2026"),
    ("en", "APRIL 3, 2026"),
    ("en", "Apr. 3, 2026"),
    ("en", "Apr 3, 2026"),
    ("en", "3 Apr 2026"),
    ("en", "3-Apr-2026"),
    ("en", "03-APR-26"),
    ("en", "03Apr2026"),
    ("en", "Friday, 3 April 2026"),
    ("en", "(3 April 2026)"),
    ("en", "**3 April 2026**"),
    ("en", "Date:3 April 2026"),
    ("en", "2026 April 3"),
    ("en", "2026-Apr-03"),
    ("en", "3\u00a0April\u00a02026"),
    ("en", "3 April\n2026"),
    ("en-US", "04/03/2026"),
    ("en-GB", "03/04/2026"),
    ("en-GB", "03-04-2026"),
    ("en-GB", "03.04.2026"),
    ("en-GB", "3/4/26"),
    ("de", "3. April 2026"),
    ("de", "3.April 2026"),
    ("de", "03.04.2026"),
    ("de", "3.4.2026"),
    ("de", "3. 4. 2026"),
    ("de", "03.04.26"),
    ("de", "Freitag, den 3. April 2026"),
    ("de", "03. Apr. 2026"),
    ("de", "Stand:03.04.2026"),
    ("fr", "3 avril 2026"),
    ("fr", "le 3 avril 2026"),
    ("fr", "03/04/2026"),
    ("fr", "3 avr. 2026"),
    ("es", "3 de abril de 2026"),
    ("es", "3 de abril del 2026"),
    ("es", "03/04/2026"),
    ("es", "3 abr 2026"),
    ("es", "3-abr-2026"),
    ("it", "3 aprile 2026"),
    ("it", "03/04/2026"),
    ("it", "3° aprile 2026"),
    ("pt", "3 de abril de 2026"),
    ("pt", "03/04/2026"),
    ("pt", "3 de Abril de 2026"),
    ("nl", "3 april 2026"),
    ("nl", "03-04-2026"),
    ("nl", "3 apr. 2026"),
    ("pl", "3 kwietnia 2026 r."),
    ("pl", "03.04.2026 r."),
    ("pl", "dnia 3 kwietnia 2026"),
    ("sv", "3 april 2026"),
    ("sv", "den 3 april 2026"),
    ("sv", "26-04-03"),
    ("da", "3. april 2026"),
    ("da", "d. 3. april 2026"),
    ("da", "03-04-2026"),
    ("no", "3. april 2026"),
    ("nb", "3. april 2026"),
    ("nb", "03.04.2026"),
    ("fi", "3. huhtikuuta 2026"),
    ("fi", "3.4.2026"),
    ("cs", "3. dubna 2026"),
    ("cs", "3. 4. 2026"),
    ("sk", "3. apríla 2026"),
    ("ru", "3 апреля 2026"),
    ("ru", "3 апреля 2026 г."),
    ("ru", "3 апреля 2026 года"),
    ("ru", "03.04.2026"),
    ("ru", "3 АПРЕЛЯ 2026"),
    ("uk", "3 квітня 2026 р."),
    ("uk", "3 квітня 2026 року"),
    ("uk", "03.04.2026"),
    ("tr", "3 Nisan 2026"),
    ("tr", "03.04.2026"),
    ("tr", "3 NİSAN 2026"),
    ("ro", "3 aprilie 2026"),
    ("hu", "2026. április 3."),
    ("hu", "2026. 04. 03."),
    ("el", "3 Απριλίου 2026"),
    ("ca", "3 d'abril de 2026"),
    ("hr", "3. travnja 2026."),
    ("id", "3 April 2026"),
    ("vi", "ngày 3 tháng 4 năm 2026"),
    ("ar", "3 أبريل 2026"),
    ("ar", "٣ أبريل ٢٠٢٦"),
    ("th", "03/04/2569"),
    ("zh", "2026年4月3日"),
    ("zh", "2026 年 4 月 3 日"),
    ("zh", "２０２６年４月３日"),
    ("zh", "二〇二六年四月三日"),
    ("zh", "2026年4月3号"),
    ("zh", "民國115年4月3日"),
    ("zh", "日期2026-04-03"),
    ("ja", "2026年4月3日"),
    ("ja", "令和8年4月3日"),
    ("ja", "令和八年四月三日"),
    ("ja", "R8.4.3"),
    ("ja", "26/04/03"),
    ("ja", "2026/4/3"),
    ("ko", "2026년 4월 3일"),
    ("ko", "2026. 4. 3."),
    ("ko", "2026.04.03"),
    (None, "3 April 2026"),
    (None, "3 апреля 2026"),
    (None, "3 de abril de 2026"),
    (None, "2026年4月3日"),
    (None, "03.04.2026"),
    (None, "3 Apr 2026"),
]
OTHERS = [
    ("ja", "平成31年4月30日", ["2019-04-30"]),
    ("ja", "令和元年5月1日", ["2019-05-01"]),
    ("ja", "昭和64年1月7日", ["1989-01-07"]),
    ("zh", "二〇二五年十二月二十三日", ["2025-12-23"]),
    ("zh", "2026年4月", ["2026-04"]),
    ("en", "April 2026", ["2026-04"]),
    ("en", "Sept. 2025", ["2025-09"]),
    ("de", "März 2026", ["2026-03"]),
    ("de", "Maerz 2026", ["2026-03"]),
    ("de", "0. Auflage, 31. Dezember 2016", ["2016-12-31"]),
    ("fr", "décembre 2025", ["2025-12"]),
    ("fr", "3 FEVRIER 2026", ["2026-02-03"]),
    ("es", "abril de 2026", ["2026-04"]),
    ("en", "December 31, 1999", ["1999-12-31"]),
    ("en", "1st January 1066", ["1066-01-01"]),
    ("en", "31 Dec '98", ["1998-12-31"]),
    ("de", "31.12.98", ["1998-12-31"]),
    ("hr", "3. listopada 2025", ["2025-10-03"]),
    ("pl", "3 listopada 2025", ["2025-11-03"]),
    ("en", "29 February 2024", ["2024-02-29"]),
    ("en", "January 3, 2026 and 25 December 2025", ["2025-12-25", "2026-01-03"]),
    ("en", "from 12/25/2025 to 01/03/2026", ["2025-12-25", "2026-01-03"]),
    ("de", "2. Mai 2026, 5. Mai 2026", ["2026-05-02", "2026-05-05"]),
]
TRAPS = [
    (None, "3 listopada 2025"),  # October in one language, November in another
    ("en", "#12/03/2024"),
    ("en", "3.4.2020 Scope\n\n3.4 Terms\n\n3.5 More\n"),
    ("en", "31 February 2026"),
    ("en", "30/02/2026"),
    ("en", "29 February 2026"),
    ("en", "2026-13-01"),
    ("en", "2026-02-31T10:00:00"),
    ("de", "32.01.2026"),
    ("zh", "2026年13月3日"),
    ("en", "3 April 2031"),
    ("en", "2077-01-01"),
    ("en", "Version 1.2.2020"),
    ("en", "v1.12.20"),
    ("en", "release 3.4.2020"),
    ("en", "1.2.3"),
    ("en", "python 3.11.12"),
    ("en", "numpy 1.26.04 and 2.1.10"),
    ("en", "192.168.10.20"),
    ("en", "10.11.12.13"),
    ("en", "10.1.1.2020"),
    ("en", "ISBN 978-3-16-148410-0"),
    ("en", "ISBN 3-16-1484-10"),
    ("en", "Tel. 03-04-2026"),
    ("en", "(030) 12-10-20"),
    ("en", "+49 30 12-10-20-11"),
    ("en", "555-12-2026"),
    ("en", "Page 3/4/2026"),
    ("en", "Section 3.4.2020"),
    ("de", "Abschnitt 3.4.2020"),
    ("de", "§ 3.4.2020"),
    ("de", "Nr. 12.03.2024"),
    ("en", "$1.10.2020"),
    ("en", "12.10.20 %"),
    ("en", "1,234.56 and 12.345,67 €"),
    ("en", "10:11:12"),
    ("en", "1/2 cup and 3/4 inch"),
    ("en", "24/7/365"),
    ("en", "pages 10-12-2020-3"),
    ("en", "https://example.org/2026/04/03/story"),
    ("en", "report-2026-04-03.pdf"),
    ("en", "order 20260403"),
    ("en", "1234567890"),
    ("en", "Mars 2020 landed"),
    ("en", "you may 2026 times"),
    ("en", "3 lip 2026"),
    ("en", "12 out 2026"),
    ("en", "set 2020"),
    ("en", "a set of 3 out of 2026"),
    ("en", "3 apples 2026"),
    ("en", "April 3"),
    ("en", "the year 2026"),
    ("en", "© 2019-2026 Example Inc."),
    ("en", "May 10:30"),
    ("en", "0/0/0000"),
    ("fa", "1403/01/15"),
    ("en", "3 Apr 10:30"),
    ("en", "# 3.4.2020 Scope\n\n## 3.4 Terms\n\n## 3.5 More\n"),
    ("en", ""),
    ("zh", "一二三四五六七八九十"),
    ("ja", "第12年度"),
    ("en", "room 12-10-20b"),
    ("en", "EN 03/04/2026/A1"),
]


@pytest.mark.parametrize(("language", "text"), WRITTEN)
def test_a_date_is_read_in_every_form(language: str | None, text: str) -> None:
    assert read(text, language) == [APRIL]
    assert read(f"Some words before, {text} and some after", language) == [APRIL]


@pytest.mark.parametrize(("language", "text", "dates"), OTHERS)
def test_eras_months_and_several_dates_are_read(language: str | None, text: str, dates: list[str]) -> None:
    assert read(text, language) == dates


@pytest.mark.parametrize(("language", "text"), TRAPS)
def test_a_text_that_is_no_date_is_not_read_as_a_date(language: str | None, text: str) -> None:
    assert read(text, language) == []


def test_a_candidate_carries_the_very_characters_it_was_read_from() -> None:
    text = "Your letter of April 3rd, 2026 has arrived."
    (found,) = find_dates(text, "en", "image-ocr", TODAY)

    assert (found.text, found.where) == ("April 3rd, 2026", "image-ocr")


def test_spaces_around_a_date_are_not_its_characters() -> None:
    (found,) = find_dates("발행일 2020년 4월 2일 서울", "ko", "x", TODAY)

    assert found.text == "2020년 4월 2일"


@pytest.mark.parametrize(
    ("language", "text", "dates", "ambiguous"),
    [
        ("en", "03/04/2026 and 25/12/2025", ["2025-12-25", "2026-04-03"], False),
        ("en", "03/04/2026 and 12/25/2025", ["2025-12-25", "2026-03-04"], False),
        ("en", "03/04/2026, that is, 3 April 2026", ["2026-04-03"], False),
        ("en", "03/04/2026 or 05/06/2026, that is, 2026-06-05", ["2026-04-03", "2026-06-05"], False),
        (None, "03/04/2026, as told on May 5, 2026", ["2026-03-04", "2026-05-05"], True),
        ("en", "03/04/2026, total £20 incl. VAT", ["2026-04-03"], True),
        ("en", "03/04/2026, the colour of www.example.co.uk", ["2026-04-03"], True),
        ("en", "03/04/2026, total $20.00, Springfield, IL 62704", ["2026-03-04"], True),
        (None, "03/04/2026, it costs 20 dollars", ["2026-03-04"], True),
        (None, "03/04/2026, it costs 50 cents", ["2026-03-04"], True),
        ("en", "03/04/2026, it costs 20 euros; you pay in pence, never in dollars", ["2026-04-03"], True),
        ("en", "03/04/2026, as told on 5 May 2026", ["2026-04-03", "2026-05-05"], True),
        ("en", "03/04/2026, as told on May 5, 2026", ["2026-03-04", "2026-05-05"], True),
        ("en", "03/04/2026", ["2026-03-04"], True),
        (None, "03/04/2026", ["2026-04-03"], True),
        ("en", "12/11/2026", ["2026-11-12"], True),  # the twelfth of November is past, the eleventh of December is not
        ("de", "03/04/2026", ["2026-04-03"], False),
        ("fr", "03/04/2026", ["2026-04-03"], False),
        ("en", "04/04/2026", ["2026-04-04"], False),
        ("de", "03.04.2026", ["2026-04-03"], False),
    ],
)
def test_the_document_decides_the_order_of_day_and_month(
    language: str | None, text: str, dates: list[str], ambiguous: bool
) -> None:
    found = find_dates(text, language, "doc-to-markdown", TODAY)

    assert sorted(candidate.date for candidate in found) == dates
    assert any(candidate.ambiguous for candidate in found) is ambiguous


def test_an_undecided_order_has_less_confidence() -> None:
    unclear = find_dates("Date: 03/04/2026", "en", "x", TODAY)[0]
    by_signs = find_dates("Date: 03/04/2026\nTotal: £20, VAT 20 %", "en", "x", TODAY)[0]
    clear = find_dates("Date: 03/04/2026\nDelivered: 25/03/2026", "en", "x", TODAY)[0]

    assert unclear.confidence < by_signs.confidence < clear.confidence


DAYS = st.dates(date(1900, 1, 1), TODAY)
NAMES = {
    language: [forms.split("|") for forms in " ".join(lines).split()] for language, lines in MONTHS.sections.items()
}


def test_every_language_has_twelve_months() -> None:
    tables = (MONTHS, SHORT_MONTHS)
    assert {
        language: len(" ".join(lines).split()) for table in tables for language, lines in table.sections.items()
    } == dict.fromkeys(NAMES, 12)


@given(DAYS, st.sampled_from(sorted(NAMES)), st.data())
@example(date(2016, 12, 31), "de", None)
@example(date(2026, 5, 1), "el", None)
def test_a_day_written_in_words_is_found_again(day: date, language: str, data: st.DataObject | None) -> None:
    forms = NAMES[language][day.month - 1]
    month = data.draw(st.sampled_from(forms)) if data else forms[0]
    for word in (month, month.upper(), unicodedata.normalize("NFD", month)):
        assert read(f"x {day.day}. {word} {day.year} y", language) == [day.isoformat()]
    assert month_of(month, language) == day.month


@given(DAYS, st.sampled_from(["%Y-%m-%d", "%d %B %Y", "%B %d, %Y", "%d %b %Y", "%a %b %d %H:%M:%S %Y", "%Y/%m/%d"]))
def test_a_day_formatted_by_a_program_is_found_again(day: date, form: str) -> None:
    assert read(f"x {day.strftime(form)} y", "en") == [day.isoformat()]


@given(DAYS, st.sampled_from(["de", "fr", "es", "it", "pt", "nl", "pl", "ru", "tr", "fi"]), st.sampled_from("./-"))
def test_figures_are_read_day_first_where_people_write_so(day: date, language: str, mark: str) -> None:
    assert read(f"x {day.strftime(f'%d{mark}%m{mark}%Y')} y", language) == [day.isoformat()]


@given(st.dates(TODAY - timedelta(days=365 * 90), TODAY))
def test_two_figures_of_a_year_are_of_the_last_hundred_years(day: date) -> None:
    assert read(day.strftime("x: %d.%m.%y"), "de") == [day.isoformat()]


@given(
    st.text(alphabet="0123456789./-: ,'年月日abAprilMay§|\n\t*", max_size=120),
    st.sampled_from(["en", "de", "ja", None]),
)
def test_dates_found_in_any_text_are_real_and_occur_in_it(text: str, language: str | None) -> None:
    for candidate in find_dates(text, language, "x", TODAY):
        assert candidate.text in text
        assert 0 < candidate.confidence <= 1
        date.fromisoformat(candidate.date if len(candidate.date) == 10 else f"{candidate.date}-01")


def test_the_beginning_the_end_and_samples_of_a_long_text_are_read() -> None:
    filling = "nothing to see here at all\n" * 200_000
    text = f"Date: 2026-04-03\n{filling}Signed on 5 May 2026"

    assert read(text, "en") == ["2026-04-03", "2026-05-05"]


def test_a_date_is_not_cut_off_where_reading_stops() -> None:
    for before in range(99_985, 100_001):
        found = read("x" * before + " 3 April 2025 " + "x" * 500_000, "en")
        assert found in ([], ["2025-04-03"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "1",
        "1/1/",
        "April ",
        "3 April 2026 ",
        "1. ",
        "1 abc ",
        "二〇二六年四月三日",
        "| 2026-04-03 | x |\n",
        " ",
        "31.12.",
        "(1)",
    ],
)
def test_five_megabytes_of_anything_cost_no_more_than_their_length(piece: str) -> None:
    assert grows_linearly(lambda size: find_dates(piece * (size // len(piece)), "en", "x", TODAY), 5_000_000)
