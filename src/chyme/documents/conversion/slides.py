"""Read the slides of a presentation: text, tables, diagrams, charts, pictures and notes, each on its slide."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from chyme.documents.conversion.comments_and_charts import (
    as_remark,
    attribute_of,
    chart_in,
    related_parts,
    slide_comments,
    slides_of,
    table_of,
)
from chyme.documents.conversion.embedded_pictures import PictureReader
from chyme.documents.conversion.equations import office_math
from chyme.documents.conversion.picture_marks import authored, is_picture
from chyme.documents.conversion.raised_letters import lower_letters, raise_letters
from chyme.documents.conversion.zip_packages import Package, tag_of
from chyme.text.decoding import clean

MAX_DEPTH = 30  # groups within groups
MAX_COLUMNS = 200
_MARKUP = re.compile(r"#{1,6}(?:\s|$)|>|```|~~~")
_FILE_NAME = re.compile(r"\S+\.(?:png|jpe?g|gif|bmp|tiff?|emf|wmf|svg)", re.IGNORECASE)


@dataclass(slots=True)
class _Slide:
    """What is collected while one slide is read."""

    package: Package
    related: dict[str, str]
    pictures: PictureReader | None
    titles: list[str] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    footers: list[str] = field(default_factory=list)


def read_slides(package: Package, pictures: PictureReader | None) -> list[tuple[int, str]]:
    """The number of each slide and its text; nothing if the package has no slides."""
    remarks = slide_comments(package)
    pages: list[tuple[int, str]] = []
    footers: dict[str, None] = {}
    for number, part in enumerate(slides_of(package), start=1):
        tree = package.tree(part)
        if tree is None:
            continue
        slide = _Slide(package, related_parts(package, part), pictures)
        for shape in _shapes(tree):
            _read_shape(shape, slide, MAX_DEPTH)
        lines = [f"## {' '.join(title.split())}" for title in slide.titles if title.strip()]
        hidden = [as_remark("hidden slide")] if tree.get("show") in ("0", "false") else []
        new = [footer for footer in slide.footers if footer not in footers]
        footers.update(dict.fromkeys(new))
        notes = "\n".join(remarks.get(number, ()))
        blocks = [*lines, *hidden, *slide.blocks, notes, *new]
        pages.append((number, clean("\n\n".join(filter(None, blocks)))))
    return pages


def _shapes(tree: Element) -> Iterator[Element]:
    for element in tree.iter():
        if tag_of(element) == "spTree":
            yield from element
            return


def _read_shape(shape: Element, slide: _Slide, depth: int) -> None:
    tag = tag_of(shape)
    if not depth:
        return
    if tag == "grpSp":
        for inner in shape:
            _read_shape(inner, slide, depth - 1)
    elif tag == "AlternateContent":
        for version in shape:
            before = len(slide.blocks)
            for inner in version:
                _read_shape(inner, slide, depth - 1)
            if len(slide.blocks) > before:
                return  # the second is a picture of the first
    elif tag in ("sp", "cxnSp"):
        _read_text_shape(shape, slide)
    elif tag == "pic":
        slide.blocks += _picture(shape, slide)
    elif tag == "graphicFrame":
        slide.blocks += _graphic(shape, slide, depth)


def _read_text_shape(shape: Element, slide: _Slide) -> None:
    role = next((mark.get("type", "obj") for mark in shape.iter() if tag_of(mark) == "ph"), "")
    body = next((child for child in shape if tag_of(child) == "txBody"), None)
    if role == "sldNum" or body is None:
        slide.blocks += _description(shape) if body is None else []
    elif role in ("title", "ctrTitle"):
        slide.titles.append(" ".join(text for _, text in _paragraphs(body)))
    elif role in ("ftr", "hdr", "dt"):
        slide.footers += [text for _, text in _paragraphs(body) if text.strip()]
    else:
        text = _list_text(_paragraphs(body))
        slide.blocks += [text] if text.strip() else []


def _paragraphs(body: Element) -> Iterator[tuple[Element | None, str]]:
    """Each paragraph's properties and text."""
    for paragraph in body:
        if tag_of(paragraph) != "p":
            continue
        properties = next((child for child in paragraph if tag_of(child) == "pPr"), None)
        text = ""
        for child in paragraph:
            text += _run_text(child, text)
        yield properties, text


def _run_text(run: Element, before: str) -> str:
    tag = tag_of(run)
    if tag == "br":
        return "\n"
    if tag in ("m", "AlternateContent"):
        equation = next((part for part in run.iter() if tag_of(part) in ("oMath", "oMathPara")), None)
        return office_math(equation) if equation is not None else ""
    if tag not in ("r", "fld") or run.get("type") == "slidenum":
        return ""
    text = "".join(child.text or "" for child in run if tag_of(child) == "t")
    baseline = next((child.get("baseline", "0") for child in run if tag_of(child) == "rPr"), "0")
    if baseline.startswith("-"):
        return lower_letters(text)
    return text if baseline in ("0", "0%") else raise_letters(text, before)


def _list_text(paragraphs: Iterable[tuple[Element | None, str]]) -> str:
    """Paragraphs, and items with their bullets and numbers, with empty lines between one kind and the next."""
    out: list[str] = []
    numbers: dict[int, int] = {}
    was_item = False
    for properties, text in paragraphs:
        lines = [line.strip() for line in text.replace("\v", "\n").split("\n") if line.strip()]
        if not lines:
            continue
        level = (
            int(properties.get("lvl", "0")) if properties is not None and properties.get("lvl", "0").isdigit() else 0
        )
        numbers = {depth: number for depth, number in numbers.items() if depth <= level}
        mark = _list_mark(properties, numbers, min(level, 8))
        indent = "   " * min(level, 8) if mark else ""
        lines = [f"\\{line}" if _MARKUP.match(line) else line for line in lines]
        out += [*([] if was_item and mark else [""]), f"{indent}{mark}{lines[0]}", *lines[1:]]
        was_item = bool(mark)
    return "\n".join(out).strip("\n")


def _list_mark(properties: Element | None, numbers: dict[int, int], level: int) -> str:
    kinds = {tag_of(child): child for child in properties} if properties is not None else {}
    if "buAutoNum" in kinds:
        start = kinds["buAutoNum"].get("startAt", "1")
        first = int(start) if start.isdigit() and len(start) < 6 else 1
        numbers[level] = numbers.get(level, first - 1) + 1
        return f"{numbers[level]}. "
    numbers.pop(level, None)
    return "- " if "buChar" in kinds or "buBlip" in kinds or (level and "buNone" not in kinds) else ""


def _picture(shape: Element, slide: _Slide) -> list[str]:
    blocks = _description(shape)
    for blip in shape.iter():
        if tag_of(blip) != "blip":
            continue
        part = slide.related.get(attribute_of(blip, "embed"), "")
        data = slide.package.read(part) if slide.pictures is not None and is_picture(part) else None
        found = slide.pictures.read_first(data) if slide.pictures is not None and data else None
        if found is not None:
            blocks.append(found.markdown)
    return blocks


def _description(shape: Element) -> list[str]:
    """What its author wrote about a picture or shape without text; not a file name."""
    name = next((mark for mark in shape.iter() if tag_of(mark) == "cNvPr"), None)
    text = " ".join((name.get("descr") or "").split()) if name is not None else ""
    text = authored(text)
    return [f"![{text.translate(str.maketrans('[]', '()'))}]()"] if text and not _FILE_NAME.fullmatch(text) else []


def _graphic(frame: Element, slide: _Slide, depth: int) -> list[str]:
    blocks: list[str] = []
    for element in frame.iter():
        tag = tag_of(element)
        if tag == "tbl":
            blocks.append(_table(element))
        elif tag == "chart":
            blocks.append(chart_in(slide.package, slide.related.get(attribute_of(element, "id"), "")))
        elif tag == "relIds":
            blocks += _diagram(slide.package, slide.related.get(attribute_of(element, "dm"), ""))
        elif tag == "pic":
            blocks += _picture(element, slide)
    return blocks or _description(frame)


def _table(table: Element) -> str:
    rows: list[list[str]] = []
    for row in table:
        if tag_of(row) == "tr":
            cells = (cell for cell in row if tag_of(cell) == "tc")
            rows.append([" ".join(text for _, text in _cell_paragraphs(cell)) for cell in cells])
    return table_of(rows, MAX_COLUMNS)


def _cell_paragraphs(cell: Element) -> Iterator[tuple[Element | None, str]]:
    if cell.get("hMerge") in ("1", "true") or cell.get("vMerge") in ("1", "true"):
        return  # its text is in the cell it was merged into
    for body in cell:
        if tag_of(body) == "txBody":
            yield from _paragraphs(body)


def _diagram(package: Package, part: str) -> list[str]:
    """The texts of a SmartArt diagram, an item each."""
    items: list[str] = []
    for point in package.elements(part) if part else ():
        if tag_of(point) == "pt" and point.get("type", "node") not in ("pres", "parTrans", "sibTrans"):
            for body in point:
                if tag_of(body) == "t":
                    text = " ".join(" ".join(text for _, text in _paragraphs(body)).split())
                    items += [f"- {text}"] if text else []
    return ["\n".join(items)] if items else []
