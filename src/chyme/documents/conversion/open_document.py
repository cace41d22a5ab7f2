"""Rewrite an OpenDocument's XML: raised letters and pictures reach the text, and remarks stay out of sentences."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from html import unescape
from itertools import islice
from urllib.parse import unquote
from xml.sax.saxutils import escape

from chyme.documents.conversion.comments_and_charts import as_remark, quote_lines, tell_deletions
from chyme.documents.conversion.picture_marks import PictureMarks
from chyme.documents.conversion.raised_letters import lower_letters, raise_letters
from chyme.documents.conversion.workbooks import MAX_SHEETS, Sheet
from chyme.documents.conversion.zip_packages import Package

CONTENT, STYLES = "content.xml", "styles.xml"
MAX_REMARKS = 500
# Each repetition ends where its tag is closed or opened again, so that no text is looked through twice.
_ANNOTATION = re.compile(
    r"<(office|officeooo):annotation(?:\s[^<>]*)?>((?:(?!</?\1:annotation[\s>]).)*)</\1:annotation>", re.DOTALL
)
_CREATOR = re.compile(r"<dc:creator>([^<]*)</dc:creator>")
_NOT_SAID = re.compile(r"<(dc:creator|dc:date|meta:creator-initials|meta:date-string)>[^<]*</\1>")
_DELETION = re.compile(r"<text:deletion>((?:(?!</?text:deletion>).)*)</text:deletion>", re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_BREAK = re.compile(r"<text:(?:p|h|s|tab|line-break)\b[^<>]*>|</text:[ph]>")
_SCRIPT_STYLE = re.compile(
    r"<style:style\s[^<>]*?style:name=\"([^\"]+)\"[^<>]*>(?:(?!</?style:style).)*?style:text-position=\"([^\"]+)\"",
    re.DOTALL,
)
_SPAN = re.compile(r"(<text:span\s[^<>]*?text:style-name=\"([^\"]+)\"[^<>]*>)([^<]+)(</text:span>)")
_FRAME_END = re.compile(r"</draw:frame>")
_IMAGE = re.compile(r"<draw:image\s[^<>]*?xlink:href=\"([^\"]+)\"")
_RUNNING = re.compile(
    r"<style:(header|footer)(?:-first|-left)?(?:\s[^<>]*)?>((?:(?!</?style:\1).)*)</style:\1", re.DOTALL
)
_PAGE_NUMBER = re.compile(r"<text:(page-number|page-count)\b[^<>]*>[^<]*</text:\1>")
_TABLE = re.compile(r"<table:table\s[^<>]*?table:name=\"([^\"]*)\"([^<>]*)>")
_TABLE_TAG = re.compile(r"<table:table\s[^<>]*>|</table:table>")
_STYLE_NAME = re.compile(r"table:style-name=\"([^\"]*)\"")
_HIDDEN_STYLE = re.compile(
    r"<style:style\s[^<>]*?style:name=\"([^\"]+)\"[^<>]*>\s*<style:table-properties\s[^<>]*?table:display=\"false\""
)
_SHAPES = re.compile(r"<table:shapes>((?:(?!</?table:shapes>).)*)</table:shapes>", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]{2,}")


def content_of(package: Package) -> str:
    """The text of the part that holds the content."""
    return (package.read(CONTENT) or b"").decode("utf-8", "surrogateescape")


def rewrite_content(source: str, marks: PictureMarks | None) -> str:
    """The content with raised letters in Unicode, without annotations, and with marks beside pictures with writing."""
    if ":annotation" in source:
        source = _ANNOTATION.sub("", source)
    if "style:text-position" in source:
        source = _write_scripts(source)
    if marks is not None and "<draw:image" in source:
        source = _mark_pictures(source, marks)
    return source


def _write_scripts(source: str) -> str:
    positions = {name: position for name, position in _SCRIPT_STYLE.findall(source) if not position.startswith("0%")}

    def change(span: re.Match[str]) -> str:
        position = positions.get(span[2])
        if position is None:
            return span[0]
        text = unescape(span[3])
        before = unescape(_TAG.sub("", source[max(0, span.start() - 30) : span.start()].rpartition(">")[2]))
        is_lowered = position.startswith(("sub", "-"))
        return span[1] + escape(lower_letters(text) if is_lowered else raise_letters(text, before)) + span[4]

    return _SPAN.sub(change, source) if positions else source


def _mark_pictures(source: str, marks: PictureMarks) -> str:
    pieces: list[str] = []
    position = 0
    for end in _FRAME_END.finditer(source):
        frame = source[position : end.end()]
        start = max(0, frame.rfind("<draw:frame"))
        found = [marks.mark(posixpath.normpath(unquote(image[1]))) for image in _IMAGE.finditer(frame, start)]
        pieces += [frame, *(f" {mark}" for mark in found if mark)]
        position = end.end()
    return "".join([*pieces, source[position:]])


def comments_in(source: str) -> list[str]:
    """The comments, as quoted lines with their authors."""
    if ":annotation" not in source:
        return []
    found = ((_creator(comment[2]), _plain(comment[2])) for comment in _ANNOTATION.finditer(source))
    return quote_lines(list(found)[:MAX_REMARKS])


def deletions(source: str) -> list[str]:
    """Text that tracked changes removed, with who removed it."""
    if "<text:deletion>" not in source:
        return []
    found = ((_creator(gone[1]), _plain(gone[1])) for gone in _DELETION.finditer(source))
    return tell_deletions(list(found)[:MAX_REMARKS])


def headers_and_footers(package: Package, known: str) -> list[str]:
    """Headers and footers with words that the text (`known`) does not have, each once; page numbers are left out."""
    source = (package.read(STYLES) or b"").decode("utf-8", "replace")
    if "<style:header" not in source and "<style:footer" not in source:
        return []
    known_words = set(_WORD.findall(known.lower()))
    lines: dict[str, None] = {}
    for running in _RUNNING.finditer(source):
        text = _plain(_PAGE_NUMBER.sub("", running[2]))
        if any(word not in known_words for word in _WORD.findall(text.lower())):
            lines[f"{running[1]}: {text}"] = None
    return [as_remark(line) for line in lines]


def sheets_of(source: str) -> tuple[list[Sheet], list[list[str]]]:
    """The sheets of a spreadsheet, and beside the cells of each: text boxes, shapes and comments."""
    hidden = set(_HIDDEN_STYLE.findall(source))
    tables = list(islice(_outer_tables(source), MAX_SHEETS))
    sheets: list[Sheet] = []
    blocks: list[list[str]] = []
    for i, table in enumerate(tables):
        end = tables[i + 1].start() if i + 1 < len(tables) else len(source)
        style = _STYLE_NAME.search(table[0])
        name = unescape(table[1]) + (" (hidden)" if style and style[1] in hidden else "")
        inside = source[table.start() : end]
        sheets.append(Sheet(name, CONTENT))
        blocks.append([*_shape_texts(inside), *comments_in(inside)])
    return sheets, blocks


def name_hidden_sheets(source: str) -> str:
    """The content with hidden sheets called so."""
    hidden = set(_HIDDEN_STYLE.findall(source))

    def rename(table: re.Match[str]) -> str:
        style = _STYLE_NAME.search(table[0])
        is_hidden = style is not None and style[1] in hidden
        return (
            table[0].replace(f'table:name="{table[1]}"', f'table:name="{table[1]} (hidden)"') if is_hidden else table[0]
        )

    return _TABLE.sub(rename, source) if hidden else source


def _outer_tables(source: str) -> Iterator[re.Match[str]]:
    """The tables that are not inside a cell of another one."""
    depth = 0
    for tag in _TABLE_TAG.finditer(source):
        if tag[0].startswith("</"):
            depth = max(0, depth - 1)
        elif not tag[0].endswith("/>"):
            table = _TABLE.match(source, tag.start()) if not depth else None
            depth += 1
            if table is not None:
                yield table


def _shape_texts(source: str) -> Iterator[str]:
    for shapes in _SHAPES.finditer(source):
        for shape in re.split(r"</draw:(?:frame|custom-shape|rect|ellipse|line|path)>", shapes[1]):
            text = _plain(_ANNOTATION.sub("", shape))
            if text:
                yield text


def _creator(source: str) -> str:
    found = _CREATOR.search(source)
    return unescape(found[1]).strip() if found else ""


def _plain(source: str) -> str:
    return " ".join(unescape(_TAG.sub("", _BREAK.sub(" ", _NOT_SAID.sub("", source)))).split())
