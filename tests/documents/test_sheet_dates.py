"""Dates and times in sheets are told as the sheet shows them."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from chyme.documents.conversion.converter import convert
from chyme.documents.conversion.results import ConversionLimits
from chyme.documents.conversion.sheet_dates import shown_date
from chyme.files.extensions import DOCUMENTS

SHEET = Path(__file__).resolve().parents[1] / "samples" / "kinds" / "office_sheet.xlsx"
AFTERNOON = "45426.60625"  # 14 May 2024, 14:33


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("d mmmm yyyy", "14 May 2024"),
        ("dd.mm.yyyy;@", "14.05.2024"),
        ("d-mmm-yy", "14-May-24"),
        ("dddd, mmm d", "Tuesday, May 14"),
        ("[$-407]d. mmmm yyyy", "14. Mai 2024"),
        ('"Stand: "dd\\/mm\\/yy', "Stand: 14/05/24"),
        ('yyyy"年"m"月"d"日"', "2024年5月14日"),
        ("m/d/yyyy h:mm AM/PM", "5/14/2024 2:33 PM"),
        ("hh:mm:ss", "14:33:00"),
        ("mm:ss.0", "33:00.0"),
        ("[h]:mm", "1090238:33"),
        ("mmmmm", "M"),
    ],
)
def test_a_date_is_told_in_the_form_of_its_format(code: str, shown: str) -> None:
    assert shown_date(AFTERNOON, code) == shown


@pytest.mark.parametrize(
    ("stored", "code"),
    [
        (AFTERNOON, "General"),
        (AFTERNOON, "0.00"),
        (AFTERNOON, "#,##0.0 [$€-407]"),
        (AFTERNOON, "0.00E+00"),
        (AFTERNOON, "[$-F800]dddd, mmmm dd, yyyy"),  # each computer shows it in its own way
        (AFTERNOON, "[$-419]d mmmm yyyy"),  # in a language without names here
        ("59", "d mmmm yyyy"),  # the calendar of sheets has a day too many before
        ("-3", "d mmmm yyyy"),
        ("1e12", "d mmmm yyyy"),
        ("nan", "d mmmm yyyy"),
        ("soon", "d mmmm yyyy"),
        (AFTERNOON, "d" * 5000),
    ],
)
def test_what_is_no_date_or_not_known_for_sure_is_left_as_it_is(stored: str, code: str) -> None:
    assert shown_date(stored, code) is None


def test_stored_iso_dates_and_the_calendar_of_1904_are_understood() -> None:
    assert shown_date("2024-05-14T14:33:00Z", "d mmm yyyy") == "14 May 2024"
    assert shown_date("43964", "d mmm yyyy", from_1904=True) == "14 May 2024"


def sheet_with(format_code: str, cell: str, workbook: tuple[str, str] = ("", "")) -> str:
    """The text of the sample whose deposit has another format and value."""
    changes = {
        "xl/styles.xml": ("&quot;€&quot; #,##0.00", format_code),
        "xl/worksheets/sheet1.xml": ('<c r="B3" s="2"><v>1834.5</v></c>', cell),
        "xl/workbook.xml": workbook,
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(SHEET) as before, zipfile.ZipFile(buffer, "w") as after:
        for entry in before.infolist():
            content = before.read(entry).decode("utf-8", "surrogateescape")
            old, new = changes.get(entry.filename, ("", ""))
            assert old in content
            content = content.replace(old, new) if old else content
            after.writestr(entry, content.encode("utf-8", "surrogateescape"))
    return convert("due.xlsx", buffer.getvalue(), DOCUMENTS["xlsx"], ConversionLimits()).markdown


def test_a_sheet_tells_its_dates_as_it_shows_them() -> None:
    cell = f'<c r="B3" s="2"><v>{AFTERNOON}</v></c>'
    assert "| Deposit | 14 May 2024 |" in sheet_with("d\\ mmmm\\ yyyy", cell)
    computed = f'<c r="B3" s="2"><f>TODAY()</f><v>{AFTERNOON}</v></c>'
    assert "| Deposit | 2:33 PM |" in sheet_with("h:mm AM/PM", computed)
    note = '<c r="B3" s="2" t="inlineStr"><is><t>45426</t></is></c>'
    assert "| Deposit | 45426 |" in sheet_with("d mmm", note)


def test_a_workbook_of_1904_tells_its_own_days() -> None:
    later = ("<sheets>", '<workbookPr date1904="1"/><sheets>')
    assert "| Deposit | 14 May 2024 |" in sheet_with("d mmm yyyy", '<c r="B3" s="2"><v>43964</v></c>', later)
