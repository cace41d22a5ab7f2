"""The number of pages that a document declares."""

from __future__ import annotations

from chyme.documents.conversion.comments import slides_of
from chyme.documents.conversion.zip_packages import Package

MAX_PAGES = 1_000_000  # a larger number is nonsense


def declared_page_count(package: Package) -> int | None:
    """The number of slides, else the number of pages that the program wrote into the document when saving."""
    slides = slides_of(package)
    if slides:
        return len(slides)
    return _openxml_count(package) or _opendocument_count(package)


def _openxml_count(package: Package) -> int | None:
    properties = package.tree("docProps/app.xml")
    if properties is None or not any(name.startswith("word/") for name in package.names):
        return None
    fields = {element.tag.rpartition("}")[2]: element.text for element in properties if isinstance(element.tag, str)}
    if fields.get("Words") == "0":
        return None  # left from the template of a program that counts nothing
    return _parse_count(fields.get("Pages"))


def _opendocument_count(package: Package) -> int | None:
    meta = package.tree("meta.xml")
    if meta is None:
        return None
    for element in meta.iter():
        if isinstance(element.tag, str) and element.tag.endswith("}document-statistic"):
            count = next((value for name, value in element.items() if name.endswith("}page-count")), None)
            return _parse_count(count)
    return None


def _parse_count(text: str | None) -> int | None:
    try:
        number = int(text or "")
    except ValueError:
        return None
    return number if 0 < number <= MAX_PAGES else None
