"""Prepare a workbook for its converter, and find what stands beside the cells: text boxes, pictures and comments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape

from chyme.documents.conversion.comments_and_charts import attribute_of, related_parts, sheet_comments
from chyme.documents.conversion.embedded_pictures import PictureReader
from chyme.documents.conversion.picture_marks import is_picture
from chyme.documents.conversion.raised_letters import lower_letters, raise_letters
from chyme.documents.conversion.sheet_dates import date_styles, show_dates
from chyme.documents.conversion.zip_packages import Package, tag_of
from chyme.text.word_lists import WordList

WORKBOOK, STYLES, STRINGS = "xl/workbook.xml", "xl/styles.xml", "xl/sharedStrings.xml"
MAX_SHEETS = 500
_HIDDEN = re.compile(rb"(<(?:\w+:)?(?:row|col)\s[^<>]*?)\shidden=\"(?:1|true)\"")
_HIDDEN_SHEET = re.compile(r"(<(?:\w+:)?sheet\s[^<>]*?name=\")([^\"]*)(\"[^<>]*?)\sstate=\"(?:hidden|veryHidden)\"")
_HIDDEN_SHEET_STATE_FIRST = re.compile(
    r"(<(?:\w+:)?sheet\s[^<>]*?)\sstate=\"(?:hidden|veryHidden)\"([^<>]*?name=\")([^\"]*)(\")"
)
_RAISED_RUN = re.compile(
    r"(<vertAlign\s+val=\"(super|sub)script\"\s*/>(?:(?!</?rPr|<vertAlign).)*</rPr>\s*<t(?:\s[^<>]*)?>)([^<]*)(</t>)",
    re.DOTALL,
)
_TEXT = re.compile(r"<t(?:\s[^<>]*)?>([^<]*)</t>")
_FORMAT_USED = re.compile(r"<(?:\w+:)?xf\s[^<>]*?numFmtId=\"(\d+)\"")
_FORMAT_DEFINED = re.compile(r"<(?:\w+:)?numFmt\s[^<>]*?numFmtId=\"(\d+)\"")
# Formats that every program knows by number. The currency depends on the reader's country, so it is not shown.
_BUILT_IN = {
    **dict.fromkeys((5, 6, 37, 38, 41, 42), "#,##0"),
    **dict.fromkeys((7, 8, 39, 40, 43, 44), "#,##0.00"),
}
_DEFAULT_NAMES = WordList(__package__, "sheet_names")
_HEADING = re.compile(r"^## (.*)$", re.MULTILINE)
_ESCAPED_SIGN = re.compile(r"_x(00[0-9A-Fa-f]{2})_")
_FROM_1904 = re.compile(rb"\bdate1904=\"(?:1|true)\"")
_EMPTY_ROWS = re.compile(r"(?:^\|[ |]*\|\n){2,}(?=\|)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Sheet:
    """One sheet: its name, as shown in the text, and the part that holds it."""

    name: str
    part: str


def sheets_of(package: Package) -> list[Sheet]:
    """The sheets in their order; hidden ones are called so."""
    related = related_parts(package, WORKBOOK)
    sheets: list[Sheet] = []
    for entry in package.elements(WORKBOOK):
        if tag_of(entry) == "sheet" and len(sheets) < MAX_SHEETS:
            hidden = entry.get("state", "visible") in ("hidden", "veryHidden")
            name = entry.get("name", "") + (" (hidden)" if hidden else "")
            sheets.append(Sheet(name, related.get(attribute_of(entry, "id"), "")))
    return sheets


def rewritten_parts(package: Package, sheets: Sequence[Sheet]) -> dict[str, bytes]:
    """The parts to change: hidden sheets, rows and columns are kept, numbers and dates formatted as shown."""
    parts: dict[str, bytes] = {}
    styles = date_styles(package.tree(STYLES))
    from_1904 = _FROM_1904.search(package.read(WORKBOOK) or b"") is not None
    for sheet in sheets:
        data = package.read(sheet.part) or b""
        changed = _HIDDEN.sub(rb"\1", data) if b"hidden=" in data else data
        if styles:
            text = changed.decode("utf-8", "surrogateescape")
            changed = show_dates(text, styles, from_1904).encode("utf-8", "surrogateescape")
        if changed != data:
            parts[sheet.part] = changed
    for part, change in ((WORKBOOK, _show_sheets), (STYLES, _define_formats), (STRINGS, _rewrite_strings)):
        source = (package.read(part) or b"").decode("utf-8", "surrogateescape")
        changed_text = change(source)
        if changed_text != source:
            parts[part] = changed_text.encode("utf-8", "surrogateescape")
    return parts


def _show_sheets(source: str) -> str:
    source = _HIDDEN_SHEET.sub(r"\1\2 (hidden)\3", source)
    return _HIDDEN_SHEET_STATE_FIRST.sub(r"\1\2\3 (hidden)\4", source)


def _define_formats(source: str) -> str:
    defined = {int(number) for number in _FORMAT_DEFINED.findall(source)}
    used = {int(number) for number in _FORMAT_USED.findall(source)}
    missing = sorted((used & set(_BUILT_IN)) - defined)
    entries = "".join(f'<numFmt numFmtId="{number}" formatCode="{_BUILT_IN[number]}"/>' for number in missing)
    if not entries:
        return source
    if "</numFmts>" in source:
        return source.replace("</numFmts>", f"{entries}</numFmts>", 1)
    return re.sub(r"(<styleSheet\b[^>]*>)", rf'\1<numFmts count="{len(missing)}">{entries}</numFmts>', source, count=1)


def _rewrite_strings(source: str) -> str:
    source = _ESCAPED_SIGN.sub(_unescape_sign, source)
    if "<vertAlign" not in source:
        return source

    def change(run: re.Match[str]) -> str:
        before = _TEXT.findall(run.string, max(0, run.start() - 300), run.start())
        text = unescape(run[3])
        changed = (
            raise_letters(text, unescape(before[-1]) if before else "") if run[2] == "super" else lower_letters(text)
        )
        return run[1] + escape(changed) + run[4]

    return _RAISED_RUN.sub(change, source)


def _unescape_sign(sign: re.Match[str]) -> str:
    """Programs write signs that XML does not allow, and some others, as `_x000D_`."""
    letter = chr(int(sign[1], 16))
    return escape(letter) if letter.isprintable() else " "


def beside_the_cells(package: Package, sheet: Sheet, pictures: PictureReader | None) -> list[str]:
    """Text boxes, writing in pictures and comments of a sheet, a block each."""
    related = list(related_parts(package, sheet.part).values())
    blocks: list[str] = []
    for part in related:
        if part.startswith("xl/drawings/") and part.endswith(".xml"):
            tree = package.tree(part)
            if tree is not None:
                blocks += _drawn(package, part, tree, pictures)
    return [*blocks, *sheet_comments(package, related)]


def _drawn(package: Package, part: str, tree: Element, pictures: PictureReader | None) -> Iterator[str]:
    targets = related_parts(package, part)
    for element in tree.iter():
        tag = tag_of(element)
        if tag == "sp":
            lines = (_paragraph_text(inner) for inner in element.iter() if tag_of(inner) == "p")
            text = "\n".join(filter(None, lines))
            if text:
                yield text
        elif tag == "blip" and pictures is not None:
            target = targets.get(attribute_of(element, "embed"), "")
            data = package.read(target) if is_picture(target) else None
            found = pictures.read_first(data) if data else None
            if found is not None:
                yield found.markdown


def _paragraph_text(paragraph: Element) -> str:
    return " ".join("".join(run.text or "" for run in paragraph.iter() if tag_of(run) == "t").split())


def place_in_sheets(markdown: str, sheets: Sequence[Sheet], blocks: Sequence[Sequence[str]]) -> str:
    """The text of all sheets, each with its name as heading and followed by its own blocks.

    A single sheet with the name its program gave it gets no heading.
    """
    headings = [(heading.start(), heading[1].replace("\\", "").strip()) for heading in _HEADING.finditer(markdown)]
    starts: list[int | None] = []
    next_heading = 0
    for sheet in sheets:
        found = next((i for i in range(next_heading, len(headings)) if headings[i][1] == sheet.name.strip()), None)
        starts.append(headings[found][0] if found is not None else None)
        next_heading = found + 1 if found is not None else next_heading
    if len(sheets) == 1 and starts == [None]:
        title = (
            []
            if sheets[0].name.rstrip(" 0123456789").casefold() in _DEFAULT_NAMES.words()
            else [f"## {sheets[0].name}"]
        )
        return "\n\n".join([*title, markdown.strip(), *blocks[0]]).strip()
    known = [start for start in starts if start is not None]
    if not known:
        return "\n\n".join(filter(None, [markdown.strip(), *(block for group in blocks for block in group)]))
    parts: list[str] = [markdown[: known[0]].strip()]
    ends = [*known[1:], len(markdown)]
    for sheet, start, group in zip(sheets, starts, blocks, strict=True):
        if start is not None:
            parts.append(markdown[start : ends[known.index(start)]].strip())
        elif group:
            parts.append(f"## {sheet.name}")  # it has no cells
        parts += group
    return "\n\n".join(filter(None, parts))


def drop_empty_rows(markdown: str) -> str:
    """Tables without long runs of empty rows; one stays where there were several."""
    return _EMPTY_ROWS.sub(lambda rows: rows[0].partition("\n")[0] + "\n", markdown)
