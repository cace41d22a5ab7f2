"""Find comments, speaker notes and charts in an office document, which the converters leave out."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from xml.etree.ElementTree import Element

from chyme.documents.conversion.zip_packages import Package, tag_of

_RELATIONSHIP = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_R_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_SHEET_COMMENTS = re.compile(r"xl/(?:comments\d*|comments/comment\d+)\.xml")
_THREADS = re.compile(r"xl/threadedComments/[^/]+\.xml")
_THREAD_PLACEHOLDER = "[Threaded comment]"
MAX_ROWS, MAX_COLUMNS, MAX_CHARTS = 200, 20, 50  # a chart with more shows a shape, not numbers
_OOXML_CHART = re.compile(r"(?:word|ppt|xl)/charts/chart\d*\.xml")
_ODF_CHART = re.compile(r"Object [^/]+/content\.xml")
_ROUNDING_ERROR = re.compile(r"(?<![\w.])(?=[\d.]{17,24}(?![\w.]))\d+\.\d*?(?:0{6,}|9{6,})\d{1,2}(?![\w.])")
_WORD = re.compile(r"\w+")


def word_comments(package: Package) -> list[str]:
    """Comments in a word-processing document, as quoted lines."""
    comments = _children(package, "word/comments.xml")
    return _quote_lines((_attribute(comment, "author"), _text(comment)) for comment in comments)


def sheet_comments(package: Package) -> list[str]:
    """Comments on the cells of a workbook, as quoted lines."""
    people = {
        _attribute(person, "id"): _attribute(person, "displayName")
        for part in package.names
        if part.startswith("xl/persons/")
        for person in _children(package, part)
    }
    comments: list[tuple[str, str]] = []
    for part in package.names:
        if _SHEET_COMMENTS.fullmatch(part):
            elements = list(package.elements(part))
            authors = [_text(author) for author in elements if tag_of(author) == "author"]
            for comment in elements:
                if tag_of(comment) == "comment" and not _text(comment).startswith(_THREAD_PLACEHOLDER):
                    number = _attribute(comment, "authorId")
                    author = authors[int(number)] if number.isdigit() and int(number) < len(authors) else ""
                    comments.append((f"{_attribute(comment, 'ref')} {author}".strip(), _text(comment)))
        elif _THREADS.fullmatch(part):
            for comment in _children(package, part):
                author_name = people.get(_attribute(comment, "personId"), "")
                cell = _attribute(comment, "ref")
                comments.append((f"{cell} {author_name}".strip(), _text(comment)))
    return _quote_lines(comments)


def slide_comments(package: Package) -> dict[int, list[str]]:
    """Speaker notes and comments by slide number, as quoted lines."""
    authors = _slide_authors(package)
    by_slide: dict[int, list[str]] = {}
    for number, slide in enumerate(slides_of(package), start=1):
        lines: list[str] = []
        for part in _related_parts(package, slide).values():
            if "/notesSlides/" in part:
                lines += _quote_lines([("", note) for note in _notes(package, part)])
            elif "/comments/" in part:
                lines += _quote_lines(_slide_comments(package, part, authors))
        if lines:
            by_slide[number] = lines
    return by_slide


def slides_of(package: Package) -> list[str]:
    """The parts that hold the slides, in the order they are shown."""
    related = _related_parts(package, "ppt/presentation.xml")
    shown = [entry.get(_R_ID, "") for entry in package.elements("ppt/presentation.xml") if tag_of(entry) == "sldId"]
    return [related[identity] for identity in shown if identity in related]


def _related_parts(package: Package, part: str) -> dict[str, str]:
    folder, _, file = part.rpartition("/")
    return {
        relation.get("Id", ""): posixpath.normpath(posixpath.join(folder, relation.get("Target", ""))).lstrip("/")
        for relation in package.elements(f"{folder}/_rels/{file}.rels")
        if relation.tag == _RELATIONSHIP and relation.get("TargetMode") != "External"
    }


def _notes(package: Package, part: str) -> list[str]:
    notes: list[str] = []
    for shape in package.elements(part):
        if tag_of(shape) != "sp":
            continue
        role = next((_attribute(mark, "type") for mark in shape.iter() if tag_of(mark) == "ph"), "")
        if role == "body":
            notes.append(_text(shape))
    return notes


def _slide_authors(package: Package) -> dict[str, str]:
    return {
        _attribute(author, "id"): _attribute(author, "name")
        for part in ("ppt/commentAuthors.xml", "ppt/authors.xml")
        for author in _children(package, part)
    }


def _slide_comments(package: Package, part: str, authors: dict[str, str]) -> list[tuple[str, str]]:
    comments: list[tuple[str, str]] = []
    for comment in package.elements(part):
        if tag_of(comment) in ("cm", "reply"):
            text = "".join(_text(child) for child in comment if tag_of(child) in ("text", "txBody"))
            comments.append((authors.get(_attribute(comment, "authorId"), ""), text))
    return comments


def _children(package: Package, part: str) -> list[Element]:
    tree = package.tree(part)
    return list(tree) if tree is not None else []


def _quote_lines(comments: Iterable[tuple[str, str]]) -> list[str]:
    lines: list[str] = []
    for author, comment in comments:
        text = " ".join(comment.split())
        if text:
            lines.append(f"> {author}: {text}" if author else f"> {text}")
    return lines


def _attribute(element: Element, name: str) -> str:
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return value
    return ""


def _text(element: Element) -> str:
    """All words inside, with a blank between paragraphs and line breaks."""
    parts: list[str] = []
    for inner in element.iter():
        if tag_of(inner) in ("p", "br", "tab"):
            parts.append(" ")
        if inner.text and tag_of(inner) in ("t", "text", "author"):
            parts.append(inner.text)
    return "".join(parts).strip()


def charts_in(package: Package, known: str) -> list[str]:
    """Each chart as a small table, unless the surrounding text (`known`) already contains its words."""
    charts: list[str] = []
    known_words = set(_WORD.findall(known.lower()))
    for part in package.names:
        if len(charts) >= MAX_CHARTS:
            break
        if _OOXML_CHART.fullmatch(part):
            tree = package.tree(part)
            rows = _ooxml_rows(tree) if tree is not None else []
        elif _ODF_CHART.fullmatch(part):
            tree = package.tree(part)
            rows = _odf_rows(tree) if tree is not None and any(tag_of(e) == "chart" for e in tree.iter()) else []
        else:
            continue
        title = _title(tree) if tree is not None else ""
        labels = _WORD.findall(" ".join([title, *(cell for row in rows for cell in row)]).lower())
        if any(label not in known_words for label in labels):
            charts.append("\n\n".join(filter(None, [title, _table(rows)])))
    return charts


def format_numbers(text: str) -> str:
    """The text with numbers as their program shows them: 4.4 where the file stores 4.4000000000000004."""
    return _ROUNDING_ERROR.sub(lambda figure: f"{float(figure[0]):.15g}", text)


def _ooxml_rows(tree: Element) -> list[list[str]]:
    """The rows of an OOXML chart: one column for each series, one row for each category."""
    header, columns = [""], []
    categories: list[str] = []
    for series in (element for element in tree.iter() if tag_of(element) == "ser"):
        parts = {tag_of(child): child for child in series}
        header.append(" ".join(_points(parts["tx"])) if "tx" in parts else "")
        names = parts.get("cat", parts.get("xVal"))
        values = parts.get("val", parts.get("yVal"))
        if names is not None and not categories:
            categories = _points(names)
        columns.append(_points(values) if values is not None else [])
    if not columns:
        return []
    height = min(MAX_ROWS, max([len(categories), *map(len, columns)]))
    rows = [
        [
            categories[row] if row < len(categories) else "",
            *(column[row] if row < len(column) else "" for column in columns),
        ]
        for row in range(height)
    ]
    return [header, *rows]


def _points(element: Element) -> list[str]:
    return [format_numbers(node.text.strip()) for node in element.iter() if tag_of(node) == "v" and node.text][
        :MAX_ROWS
    ]


def _odf_rows(tree: Element) -> list[list[str]]:
    """The rows of an ODF chart, which contains its own table."""
    rows = [element for element in tree.iter() if tag_of(element) == "table-row"][: MAX_ROWS + 1]
    return [[_inner_text(cell) for cell in row if tag_of(cell) == "table-cell"] for row in rows]


def _title(tree: Element) -> str:
    title = next((element for element in tree.iter() if tag_of(element) == "title"), None)
    return _inner_text(title) if title is not None else ""


def _inner_text(element: Element) -> str:
    return " ".join(" ".join(element.itertext()).split())


def _table(rows: list[list[str]]) -> str:
    if not rows:
        return ""
    width = min(MAX_COLUMNS, max(map(len, rows)))
    lines = ["| " + " | ".join([*row, *[""] * width][:width]) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])
