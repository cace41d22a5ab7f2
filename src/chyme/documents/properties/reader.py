"""Read a document's own metadata: title, author, dates and language as its program or its author wrote them.

None of it is required: whatever cannot be read is left out, and broken input has no properties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import BinaryIO

from chyme.digester import Source
from chyme.files.extensions import ARCHIVES, DOCUMENTS, EML, EPUB, HTML, ODP, ODS, ODT, PDF, RTF, STRUCTURED_TEXTS
from chyme.model import Kind
from chyme.text.sized_lines import SizedLine

PROPERTIES = 4  # raise it when other things are read, or read in another way
LINE, TEXT, KEYWORD, MOST_KEYWORDS = 500, 2_000, 100, 30  # characters, and how many
HEAD_BYTES = 256 * 1024  # of documents that have all metadata at their beginning


@dataclass(frozen=True, slots=True)
class Properties:
    """Empty where the document has no such metadata."""

    title: str = ""
    author: str = ""
    subject: str = ""
    description: str = ""
    generator: str = ""  # the program that made it
    keywords: tuple[str, ...] = ()
    created: str | None = None  # ISO 8601, as precise as given
    modified: str | None = None
    language: str | None = None  # as in `en`
    front: tuple[SizedLine, ...] = ()  # the lines of a PDF's first page, with their sizes
    dateline: str = ""  # the line with a date beside the headline of a page
    fields: int = 0  # to fill in, on the first pages of a PDF
    wide_pages: int = 0  # pages of a PDF whose first ones are all wider than high
    pages: int = 0  # of a PDF
    pictures: int = 0  # inside an office document
    files: int = 0  # embedded in an office document


Reader = Callable[[BinaryIO, int], Properties]  # the file, its size


def properties_of(source: Source) -> Properties:
    """The properties of a document or a text; other kinds have them in their previews."""
    read = _reader(source.file.kind, source.file.mime)
    if read is None:
        return Properties()
    try:
        with source.open() as stream:
            return read(stream, source.file.size)
    except MemoryError:
        raise
    except Exception:  # foreign data can fail in any way; the file's content is read elsewhere
        return Properties()


def clean_properties(
    *,
    title: str = "",
    authors: Iterable[str] = (),
    subject: str = "",
    description: str = "",
    generator: str = "",
    keywords: Iterable[str] = (),
    created: str = "",
    modified: str = "",
    language: str = "",
) -> Properties:
    """Properties from raw values of a file: cleaned and shortened, with normalised dates and language."""
    from chyme.documents.html.metadata_values import clean_line, date_of, language_of

    words = (clean_line(word, KEYWORD) for word in keywords)
    people = (clean_line(author, LINE) for author in authors)
    return Properties(
        clean_line(title, LINE) or "",
        ", ".join(dict.fromkeys(person for person in people if person))[:LINE],
        clean_line(subject, LINE) or "",
        clean_line(description, TEXT) or "",
        clean_line(generator, LINE) or "",
        tuple(dict.fromkeys(word for word in words if word))[:MOST_KEYWORDS],
        date_of(created) if created else None,
        date_of(modified) if modified else None,
        language_of(language) if language else None,
    )


def _reader(kind: Kind, mime: str) -> Reader | None:
    from chyme.documents.properties import office, pdf, text_formats

    if kind is Kind.TEXT:
        return text_formats.front_matter
    if kind is not Kind.DOCUMENT or mime in ARCHIVES or mime in STRUCTURED_TEXTS:
        return None  # containers say little about themselves, and the first thing in them is not the whole
    if mime.startswith((ODT, ODS, ODP)):
        return office.opendocument_properties
    readers = {
        PDF: pdf.pdf_properties,
        HTML: text_formats.page_properties,
        DOCUMENTS["xhtml"]: text_formats.page_properties,
        EML: text_formats.mail_properties,
        RTF: text_formats.rtf_properties,
        EPUB: office.book_properties,
    }
    return readers.get(mime, office.office_properties)
