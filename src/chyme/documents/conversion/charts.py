"""Read the text and numbers of charts in office documents, which the converters leave out."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

from chyme.documents.conversion.zip_packages import Package

MAX_ROWS, MAX_COLUMNS, MAX_CHARTS = 200, 20, 50  # a chart with more shows a shape, not numbers
_OOXML_CHART = re.compile(r"(?:word|ppt|xl)/charts/chart\d*\.xml")
_ODF_CHART = re.compile(r"Object [^/]+/content\.xml")
_ROUNDING_ERROR = re.compile(r"(?<![\w.])(?=[\d.]{17,24}(?![\w.]))\d+\.\d*?(?:0{6,}|9{6,})\d{1,2}(?![\w.])")
_WORD = re.compile(r"\w+")


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
            rows = _odf_rows(tree) if tree is not None and any(_tag(e) == "chart" for e in tree.iter()) else []
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
    for series in (element for element in tree.iter() if _tag(element) == "ser"):
        parts = {_tag(child): child for child in series}
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
    return [format_numbers(node.text.strip()) for node in element.iter() if _tag(node) == "v" and node.text][:MAX_ROWS]


def _odf_rows(tree: Element) -> list[list[str]]:
    """The rows of an ODF chart, which contains its own table."""
    rows = [element for element in tree.iter() if _tag(element) == "table-row"][: MAX_ROWS + 1]
    return [[_text(cell) for cell in row if _tag(cell) == "table-cell"] for row in rows]


def _title(tree: Element) -> str:
    title = next((element for element in tree.iter() if _tag(element) == "title"), None)
    return _text(title) if title is not None else ""


def _text(element: Element) -> str:
    return " ".join(" ".join(element.itertext()).split())


def _table(rows: list[list[str]]) -> str:
    if not rows:
        return ""
    width = min(MAX_COLUMNS, max(map(len, rows)))
    lines = ["| " + " | ".join([*row, *[""] * width][:width]) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


def _tag(element: Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
