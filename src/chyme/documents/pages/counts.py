"""How many pages a document says it has, where it says so itself."""

from __future__ import annotations

from chyme.documents.conversion.comments import slides_of
from chyme.documents.conversion.zip_packages import Package

MOST = 1_000_000  # beyond it the number is nonsense


def declared_page_count(package: Package) -> int | None:
    """Slides that are there, else the number of pages that the program which saved the document wrote into it."""
    slides = slides_of(package)
    if slides:
        return len(slides)
    return _of_openxml(package) or _of_opendocument(package)


def _of_openxml(package: Package) -> int | None:
    properties = package.tree("docProps/app.xml")
    if properties is None or not any(name.startswith("word/") for name in package.names):
        return None
    told = {element.tag.rpartition("}")[2]: element.text for element in properties if isinstance(element.tag, str)}
    if told.get("Words") == "0":
        return None  # left from the template with which a program began that counts nothing
    return _number(told.get("Pages"))


def _of_opendocument(package: Package) -> int | None:
    meta = package.tree("meta.xml")
    if meta is None:
        return None
    for element in meta.iter():
        if isinstance(element.tag, str) and element.tag.endswith("}document-statistic"):
            told = next((value for name, value in element.items() if name.endswith("}page-count")), None)
            return _number(told)
    return None


def _number(told: str | None) -> int | None:
    try:
        number = int(told or "")
    except ValueError:
        return None
    return number if 0 < number <= MOST else None
