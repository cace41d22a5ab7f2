"""Find comments, speaker notes and charts in an office document, which the converters leave out."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from itertools import islice
from xml.etree.ElementTree import Element

from chyme.documents.conversion.zip_packages import Package, tag_of

_RELATIONSHIP = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_R_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_SHEET_COMMENTS = re.compile(r"xl/(?:comments\d*|comments/comment\d+)\.xml")
_THREADS = re.compile(r"xl/threadedComments/[^/]+\.xml")
_ESCAPED_BREAK = re.compile("_x000[dDaA]_")
_THREAD_PLACEHOLDER = "[Threaded comment]"
MAX_ROWS, MAX_COLUMNS, MAX_CHARTS = 200, 20, 50  # a chart with more shows a shape, not numbers
_OOXML_CHART = re.compile(r"(?:word|ppt|xl)/charts/chart\d*\.xml")
_ODF_CHART = re.compile(r"Object [^/]+/content\.xml")
_ROUNDING_ERROR = re.compile(r"(?<![\w.])(?=[\d.]{17,24}(?![\w.]))\d+\.\d*?(?:0{6,}|9{6,})\d{1,2}(?![\w.])")
_WORD = re.compile(r"\w+")


def word_comments(package: Package) -> list[str]:
    """Comments in a word-processing document, as quoted lines."""
    comments = _children(package, "word/comments.xml")
    return quote_lines((attribute_of(comment, "author"), _text(comment)) for comment in comments)


def sheet_comments(package: Package, parts: Iterable[str]) -> list[str]:
    """Comments on the cells of a sheet, as quoted lines; `parts` are those the sheet refers to."""
    comments: list[tuple[str, str]] = []
    for part in parts:
        if _SHEET_COMMENTS.fullmatch(part):
            elements = list(package.elements(part))
            authors = [_text(author) for author in elements if tag_of(author) == "author"]
            for comment in elements:
                if tag_of(comment) == "comment" and not _text(comment).startswith(_THREAD_PLACEHOLDER):
                    number = attribute_of(comment, "authorId")
                    author = authors[int(number)] if number.isdigit() and int(number) < len(authors) else ""
                    text = _text(comment).removeprefix(f"{author}:")  # Excel begins a comment with its author
                    comments.append((f"{attribute_of(comment, 'ref')} {author}".strip(), text))
        elif _THREADS.fullmatch(part):
            people = _people(package)
            for comment in _children(package, part):
                author_name = people.get(attribute_of(comment, "personId"), "")
                cell = attribute_of(comment, "ref")
                comments.append((f"{cell} {author_name}".strip(), _text(comment)))
    return quote_lines(comments)


def _people(package: Package) -> dict[str, str]:
    return {
        attribute_of(person, "id"): attribute_of(person, "displayName")
        for part in package.names
        if part.startswith("xl/persons/")
        for person in _children(package, part)
    }


def slide_comments(package: Package) -> dict[int, list[str]]:
    """Speaker notes and comments by slide number, as quoted lines."""
    authors = _slide_authors(package)
    by_slide: dict[int, list[str]] = {}
    for number, slide in enumerate(slides_of(package), start=1):
        lines: list[str] = []
        for part in related_parts(package, slide).values():
            if "/notesSlides/" in part:
                lines += quote_lines([("", note) for note in _notes(package, part)])
            elif "/comments/" in part:
                lines += quote_lines(_slide_comments(package, part, authors))
        if lines:
            by_slide[number] = lines
    return by_slide


def slides_of(package: Package) -> list[str]:
    """The parts that hold the slides, in the order they are shown."""
    related = related_parts(package, "ppt/presentation.xml")
    shown = [entry.get(_R_ID, "") for entry in package.elements("ppt/presentation.xml") if tag_of(entry) == "sldId"]
    return [related[identity] for identity in shown if identity in related]


def related_parts(package: Package, part: str, kind: str = "") -> dict[str, str]:
    """The parts this one refers to, by their identity; `kind` is how their type ends. The package itself is part ``."""
    folder, _, file = part.rpartition("/")
    return {
        relation.get("Id", ""): posixpath.normpath(posixpath.join(folder, relation.get("Target", ""))).lstrip("/")
        for relation in package.elements(f"{folder}/_rels/{file}.rels".lstrip("/"))
        if relation.tag == _RELATIONSHIP
        and relation.get("TargetMode") != "External"
        and relation.get("Type", "").endswith(kind)
    }


def _notes(package: Package, part: str) -> list[str]:
    notes: list[str] = []
    for shape in package.elements(part):
        if tag_of(shape) != "sp":
            continue
        role = next((attribute_of(mark, "type") for mark in shape.iter() if tag_of(mark) == "ph"), "")
        if role == "body":
            notes.append(_text(shape))
    return notes


def _slide_authors(package: Package) -> dict[str, str]:
    return {
        attribute_of(author, "id"): attribute_of(author, "name")
        for part in ("ppt/commentAuthors.xml", "ppt/authors.xml")
        for author in _children(package, part)
    }


def _slide_comments(package: Package, part: str, authors: dict[str, str]) -> list[tuple[str, str]]:
    comments: list[tuple[str, str]] = []
    for comment in package.elements(part):
        if tag_of(comment) in ("cm", "reply"):
            text = "".join(_text(child) for child in comment if tag_of(child) in ("text", "txBody"))
            comments.append((authors.get(attribute_of(comment, "authorId"), ""), text))
    return comments


def _children(package: Package, part: str) -> list[Element]:
    tree = package.tree(part)
    return list(tree) if tree is not None else []


def quote_lines(comments: Iterable[tuple[str, str]]) -> list[str]:
    """Each text as a quoted line that begins with its author; empty ones are left out."""
    lines: list[str] = []
    for author, comment in comments:
        text = " ".join(comment.split())
        if text:
            lines.append(f"> {author}: {text}" if author else f"> {text}")
    return lines


def as_remark(text: str) -> str:
    """A text that is found by search and no part of what is read, such as a running head: as a comment of markdown."""
    return f"<!-- {text.replace('<', '‹').replace('>', '›').replace('--', '–')} -->"


def tell_deletions(deletions: Iterable[tuple[str, str]]) -> list[str]:
    """What tracked changes removed, each with who removed it (empty: unknown), as remarks; empty ones are left out."""
    texts = ((name, " ".join(text.split())) for name, text in deletions)
    return [as_remark(f"deleted by {name}: {text}" if name else f"deleted: {text}") for name, text in texts if text]


def attribute_of(element: Element, name: str) -> str:
    """An attribute by its name without namespace; empty if there is none."""
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
    return _ESCAPED_BREAK.sub(" ", "".join(parts)).strip()


def charts_in(package: Package, known: str) -> list[str]:
    """Each chart as a small table, unless the surrounding text (`known`) already contains its words."""
    charts: list[str] = []
    drawn = list(islice(filter(None, (chart_in(package, part) for part in package.names)), 4 * MAX_CHARTS))
    known_words = set(_WORD.findall(known.lower())) if drawn else set()
    for chart in drawn:
        if len(charts) < MAX_CHARTS and any(
            label not in known_words for label in _WORD.findall(chart.replace("---", "").lower())
        ):
            charts.append(chart)
    return charts


def chart_in(package: Package, part: str) -> str:
    """The chart in a part: its title and a table; empty if the part is no chart."""
    is_ooxml, is_odf = _OOXML_CHART.fullmatch(part), _ODF_CHART.fullmatch(part)
    tree = package.tree(part) if is_ooxml or is_odf else None
    if tree is None:
        return ""
    if is_ooxml:
        rows = _ooxml_rows(tree)
    else:
        rows = _odf_rows(tree) if any(tag_of(element) == "chart" for element in tree.iter()) else []
    return "\n\n".join(filter(None, [_title(tree), table_of(rows)]))


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


def table_of(rows: list[list[str]], max_columns: int = MAX_COLUMNS) -> str:
    """Rows as a table of markdown; the first is its header."""
    if not any(rows):
        return ""
    width = min(max_columns, max(map(len, rows)))
    cells = ([*(" ".join(cell.split()).replace("|", "\\|") for cell in row), *[""] * width][:width] for row in rows)
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])
