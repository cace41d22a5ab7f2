"""Find comments and speaker notes in an office document, which the converters leave out."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from xml.etree.ElementTree import Element

from chyme.documents.conversion.zip_packages import Package

_RELATIONSHIPS = "{http://schemas.openxmlformats.org/package/2006/relationships}"
_R_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_SHEET_COMMENTS = re.compile(r"xl/(?:comments\d*|comments/comment\d+)\.xml")
_THREADS = re.compile(r"xl/threadedComments/[^/]+\.xml")
_THREAD_PLACEHOLDER = "[Threaded comment]"


def word_comments(package: Package) -> list[str]:
    """Comments in a word-processing document, as quoted lines."""
    tree = package.tree("word/comments.xml")
    if tree is None:
        return []
    return _quote_lines((_attribute(comment, "author"), _text(comment)) for comment in tree)


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
            tree = package.tree(part)
            if tree is None:
                continue
            authors = [_text(author) for author in tree.iter() if _tag(author) == "author"]
            for comment in tree.iter():
                if _tag(comment) == "comment" and not _text(comment).startswith(_THREAD_PLACEHOLDER):
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
    presentation = package.tree("ppt/presentation.xml")
    if presentation is None:
        return []
    related = _related_parts(package, "ppt/presentation.xml")
    shown = [entry.get(_R_ID, "") for entry in presentation.iter() if _tag(entry) == "sldId"]
    return [related[identity] for identity in shown if identity in related]


def _related_parts(package: Package, part: str) -> dict[str, str]:
    folder, _, file = part.rpartition("/")
    tree = package.tree(f"{folder}/_rels/{file}.rels")
    if tree is None:
        return {}
    return {
        relation.get("Id", ""): posixpath.normpath(posixpath.join(folder, relation.get("Target", ""))).lstrip("/")
        for relation in tree.iter(_RELATIONSHIPS + "Relationship")
        if relation.get("TargetMode") != "External"
    }


def _notes(package: Package, part: str) -> list[str]:
    tree = package.tree(part)
    if tree is None:
        return []
    notes: list[str] = []
    for shape in tree.iter():
        if _tag(shape) != "sp":
            continue
        role = next((_attribute(mark, "type") for mark in shape.iter() if _tag(mark) == "ph"), "")
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
    tree = package.tree(part)
    if tree is None:
        return []
    comments: list[tuple[str, str]] = []
    for comment in tree.iter():
        if _tag(comment) in ("cm", "reply"):
            text = "".join(_text(child) for child in comment if _tag(child) in ("text", "txBody"))
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


def _tag(element: Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _attribute(element: Element, name: str) -> str:
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return value
    return ""


def _text(element: Element) -> str:
    """All words inside, with a blank between paragraphs and line breaks."""
    parts: list[str] = []
    for inner in element.iter():
        if _tag(inner) in ("p", "br", "tab"):
            parts.append(" ")
        if inner.text and _tag(inner) in ("t", "text", "author"):
            parts.append(inner.text)
    return "".join(parts).strip()
