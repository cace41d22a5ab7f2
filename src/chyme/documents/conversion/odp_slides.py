"""Read the slides of an OpenDocument presentation, each with its number, pictures and notes."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from urllib.parse import unquote
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from chyme.documents.conversion.comments_and_charts import attribute_of, quote_lines, table_of
from chyme.documents.conversion.embedded_pictures import PictureReader
from chyme.documents.conversion.picture_marks import is_picture
from chyme.documents.conversion.zip_packages import Package, tag_of
from chyme.text.decoding import clean

MAX_DEPTH = 60
MAX_COLUMNS = 200
MAX_SPACES = 20


def read_odp_slides(package: Package, content: str, pictures: PictureReader | None) -> list[tuple[int, str]]:
    """The number of each slide and its text; `content` is the presentation's rewritten XML."""
    try:
        tree = ElementTree.fromstring(content.encode("utf-8", "surrogateescape"))
    except (ElementTree.ParseError, ValueError, LookupError):
        return []
    slides = (element for element in tree.iter() if tag_of(element) == "page")
    pages: list[tuple[int, str]] = []
    for number, slide in enumerate(slides, start=1):
        titles: list[str] = []
        blocks = list(_blocks(slide, package, pictures, titles, MAX_DEPTH))
        notes = [text for part in slide if tag_of(part) == "notes" for text in _note_texts(part)]
        text = [*(f"## {title}" for title in titles if title), *blocks, *quote_lines(("", note) for note in notes)]
        pages.append((number, clean("\n\n".join(text))))
    return pages


def _blocks(
    parent: Element, package: Package, pictures: PictureReader | None, titles: list[str], depth: int
) -> Iterator[str]:
    for shape in parent if depth else ():
        tag = tag_of(shape)
        if tag in ("notes", "annotation", "forms"):
            continue
        if attribute_of(shape, "class") == "title":
            titles.append(" ".join(" ".join(_paragraphs(shape, MAX_DEPTH)).split()))
        elif tag == "table":
            yield table_of(_rows(shape), MAX_COLUMNS)
        elif tag in ("text-box", "custom-shape", "rect", "ellipse", "line", "path", "polygon", "connector"):
            text = "\n\n".join(_paragraphs(shape, MAX_DEPTH))
            if text:
                yield text
        elif tag == "image":
            part = posixpath.normpath(unquote(attribute_of(shape, "href")))
            data = package.read(part) if pictures is not None and is_picture(part) else None
            found = pictures.read_first(data) if pictures is not None and data else None
            if found is not None:
                yield found.markdown
        elif tag in ("title", "desc"):
            if shape.text and shape.text.strip():
                yield f"![{' '.join(shape.text.translate(str.maketrans('[]', '()')).split())}]()"
        else:
            yield from _blocks(shape, package, pictures, titles, depth - 1)


def _paragraphs(parent: Element, depth: int, level: int = -1) -> Iterator[str]:
    """Paragraphs as they are, items of lists with a bullet."""
    for child in parent if depth else ():
        tag = tag_of(child)
        if tag in ("p", "h"):
            text = _text(child, MAX_DEPTH).strip()
            if text:
                yield f"{'   ' * level}- {text}" if level >= 0 else text
        elif tag == "list":
            items = [text for item in child for text in _paragraphs(item, depth - 1, level + 1)]
            if items:
                yield "\n".join(items)
        elif tag not in ("title", "desc", "image", "annotation"):
            yield from _paragraphs(child, depth - 1, level)


def _text(element: Element, depth: int) -> str:
    tag = tag_of(element)
    if tag == "s":
        count = attribute_of(element, "c")
        return " " * min(int(count) if count.isdigit() else 1, MAX_SPACES)
    if tag in ("tab", "line-break"):
        return " "
    if tag in ("page-number", "annotation", "note") or not depth:
        return ""
    inner = "".join(_text(child, depth - 1) + (child.tail or "") for child in element)
    return (element.text or "") + inner


def _rows(table: Element) -> list[list[str]]:
    return [
        [" ".join(_paragraphs(cell, MAX_DEPTH)) for cell in row if tag_of(cell) in ("table-cell", "covered-table-cell")]
        for row in table.iter()
        if tag_of(row) == "table-row"
    ]


def _note_texts(notes: Element) -> Iterator[str]:
    for box in notes.iter():
        if tag_of(box) == "text-box":
            yield from _paragraphs(box, MAX_DEPTH)
