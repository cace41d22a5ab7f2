"""Recognises texts that have a structure of their own: mailboxes, subtitles, notebooks, calendars, contacts."""

from __future__ import annotations

import re

from chyme.files.extensions import ASS, CALENDAR, LRC, MBOX, NOTEBOOK, SBV, SRT, TEXTS, TTML, VCARD, VTT

_BEGINNING = 4_000  # characters: enough for a long first line and what must follow it
_TIME = r"(?:\d{1,3}:)?\d{1,2}:\d\d(?:[,.]\d{1,3})?"
_ANY_CUE = re.compile(rf"^[ \t]*{_TIME}[ \t]{{0,8}}-->[ \t]{{0,8}}{_TIME}", re.MULTILINE)
_LYRICS_LINE = re.compile(r"^\[\d{1,3}:\d\d(?:[.:]\d{1,3})?\]", re.MULTILINE)
_NOTEBOOK_KEY = re.compile(r'"(?:cells|worksheets|cell_type|nbformat)"\s{0,8}:')
_CELL_KEY = re.compile(r'"(?:cell_type|nbformat)"\s{0,8}:')  # a file of any name with cells may be a sheet
_STARTS = (
    # The line between mails that mail programs write, and a header below it.
    (
        MBOX,
        re.compile(
            r"From (?=\S[^\n]{0,200}?[\s,-](?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[\s,-])"
            r"[^\n]{0,200}?\d{1,2}:\d\d[^\n]{0,40}\d{4}[^\n]{0,40}\n(?:[!-9;-~]{1,80}:|>From )"
        ),
    ),
    (VTT, re.compile(r"WEBVTT(?:[ \t\n]|\Z)")),
    (SRT, re.compile(r"\d{1,7}[ \t]{0,8}\n\d{1,3}:\d\d:\d\d[,.]\d{1,3}[ \t]{0,8}-->")),
    (SBV, re.compile(r"\d{1,3}:\d\d:\d\d\.\d{3},\d{1,3}:\d\d:\d\d\.\d{3}\n")),
    (ASS, re.compile(r"\[Script Info\][ \t]*\n[^\0]{0,3000}?^(?:ScriptType:|\[V4|\[Events|Dialogue:)", re.I | re.M)),
    (CALENDAR, re.compile(r"BEGIN:VCALENDAR\s", re.IGNORECASE)),
    (VCARD, re.compile(r"BEGIN:VCARD\s", re.IGNORECASE)),
    (TTML, re.compile(r"(?:<\?xml[^>]{0,200}\?>)?\s{0,80}<(?:tt:)?tt\s[^>]{0,2000}(?:/ttml|/ttaf)")),
)


def detect_text_format(extension: str, text: str) -> str | None:
    """The MIME type of a structured text from its beginning; None for every other text.

    The extension counts only where the beginning of a damaged or unusual file leaves it open.
    """
    beginning = text[:_BEGINNING].lstrip("\ufeff \t\r\n").replace("\r\n", "\n").replace("\r", "\n")
    for mime, start in _STARTS:
        if start.match(beginning):
            return mime
    claimed = TEXTS.get(extension)
    if claimed in (SRT, VTT) and _ANY_CUE.search(text):
        return claimed
    if claimed == LRC and _LYRICS_LINE.search(text):
        return LRC
    if claimed == ASS and ("\nDialogue:" in text or beginning[:13].lower() == "[script info]"):
        return ASS
    if beginning.startswith("{") and extension in ("ipynb", ""):
        return NOTEBOOK if (_NOTEBOOK_KEY if extension else _CELL_KEY).search(beginning) else None
    return None
