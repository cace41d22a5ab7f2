"""Read the metadata of a PDF: its information dictionary, its XMP packet and its language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

from chyme.documents.conversion.arabic_ligatures import mend_arabic_codes
from chyme.documents.properties.reader import Properties, clean_properties
from chyme.text.sized_lines import LINE_LENGTH, MAX_LINES, SizedLine

if TYPE_CHECKING:
    import pypdfium2  # type: ignore[import-untyped]

WINDOW = 4 << 20  # bytes at either end in which an XMP packet is searched
PACKET = 256 * 1024
SUBJECTS = 20_000  # bytes in which the subjects of a packet must end
FRONT_CHARS = 3_000  # characters of the first page whose size is measured
FRONT_PAGES, FRONT_LETTERS = 2, 12  # pages looked at, and letters from which on a page counts as the first one
FIRST_PAGES, MAX_ANNOTATIONS = 3, 300  # pages on which the fields of a form are counted, and annotations of each
_SAMPLES = 4  # letters of a line that are measured
_DATE = re.compile(r"(?:D:)?(\d{4})(\d{2})?(\d{2})?(?:(\d{2})(\d{2})(\d{2})?)?(Z|[+-]\d{2}'?(?:\d{2})?)?")
_XMP_TITLE = re.compile(rb"<dc:title>\s{0,200}<rdf:Alt>\s{0,200}<rdf:li[^>]{0,200}>([^<]{1,2000})</rdf:li>")
_XMP_CREATED = re.compile(rb"<xmp:CreateDate>([^<]{4,40})<|xmp:CreateDate=\"([^\"]{4,40})\"")
_ITEM = re.compile(rb"<rdf:li[^>]{0,200}>([^<]{1,500})</rdf:li>")


def pdf_properties(stream: BinaryIO, size: int) -> Properties:
    """The properties of a PDF; the dictionary takes precedence over the packet, because programs show it."""
    import pypdfium2

    document = pypdfium2.PdfDocument(stream)
    try:
        info = {name: document.get_metadata_value(name)[:10_000] for name in document.METADATA_KEYS}
        language = _language(document)
        front, pages = _front_lines(document), len(document)
        fields, wide_pages = _count_fields(document), _count_wide_pages(document)
    finally:
        document.close()
    xmp = b"" if info["Title"].strip() and info["CreationDate"] else _find_xmp_packet(stream, size)
    title, created = _XMP_TITLE.search(xmp), _XMP_CREATED.search(xmp)
    words = re.split(r"[,;]", info["Keywords"]) if info["Keywords"] else []
    words += [_decode(word) for word in _ITEM.findall(_between(xmp, b"<dc:subject>", b"</dc:subject>", SUBJECTS))]
    properties = clean_properties(
        title=info["Title"].strip() or (_decode(title[1]) if title else ""),
        authors=[info["Author"]],
        subject=info["Subject"],
        generator=info["Creator"] or info["Producer"],
        keywords=words,
        created=_to_iso_date(info["CreationDate"]) or (_decode(created[1] or created[2]) if created else ""),
        modified=_to_iso_date(info["ModDate"]),
        language=language,
    )
    return replace(properties, front=front, pages=pages, fields=fields, wide_pages=wide_pages)


def _front_lines(document: pypdfium2.PdfDocument) -> tuple[SizedLine, ...]:
    """The upright lines of the first page that has any text, with their sizes."""
    from pypdfium2 import PdfiumError, raw

    for number in range(min(FRONT_PAGES, len(document))):
        try:
            page = document[number]
            height = page.get_height() or 1.0
            textpage = page.get_textpage()
            count = min(raw.FPDFText_CountChars(textpage), FRONT_CHARS)
            codes = [raw.FPDFText_GetUnicode(textpage, index) for index in range(count)]
            if sum(chr(code).isalpha() for code in codes if code < 0x110000) >= FRONT_LETTERS:
                return tuple(_measure_lines(textpage, mend_arabic_codes(textpage, codes), height))[:MAX_LINES]
        except PdfiumError:
            return ()
    return ()


def _count_fields(document: pypdfium2.PdfDocument) -> int:
    """How many fields of a form are on the first pages."""
    from pypdfium2 import PdfiumError, raw

    if raw.FPDF_GetFormType(document) == raw.FORMTYPE_NONE:
        return 0
    count = 0
    for number in range(min(FIRST_PAGES, len(document))):
        try:
            page = document[number]
        except PdfiumError:
            continue
        for index in range(min(raw.FPDFPage_GetAnnotCount(page), MAX_ANNOTATIONS)):
            annotation = raw.FPDFPage_GetAnnot(page, index)
            count += raw.FPDFAnnot_GetSubtype(annotation) == raw.FPDF_ANNOT_WIDGET
            raw.FPDFPage_CloseAnnot(annotation)
    return count


def _count_wide_pages(document: pypdfium2.PdfDocument) -> int:
    """The number of pages if the first ones are wider than high, as slides are; else 0."""
    from pypdfium2 import PdfiumError

    try:
        sizes = [document.get_page_size(number) for number in range(min(FIRST_PAGES, len(document)))]
    except PdfiumError:
        return 0
    return len(document) if sizes and all(width > height for width, height in sizes) else 0


def _measure_lines(textpage: pypdfium2.PdfTextPage, codes: Sequence[int], height: float) -> Iterator[SizedLine]:
    import ctypes

    from pypdfium2 import raw

    box = raw.FS_RECTF()
    start = 0
    for end, code in enumerate([*codes, ord("\n")]):
        if code not in (10, 13):
            continue
        text = "".join(chr(code) for code in codes[start:end] if 32 <= code < 0xFFFE and not 0xD800 <= code < 0xE000)
        letters = [index for index in range(start, end) if chr(min(codes[index], 0xFFFF)).isalnum()]
        sampled = letters[:: max(1, len(letters) // _SAMPLES)]
        start = end + 1
        if not letters or abs(raw.FPDFText_GetCharAngle(textpage, letters[0])) > 0.1:
            continue  # printed along the margin
        boxes = []
        for index in sampled:
            if raw.FPDFText_GetLooseCharBox(textpage, index, ctypes.byref(box)):
                boxes.append((abs(box.top - box.bottom), 1 - max(box.top, box.bottom) / height))
        if boxes:
            size, top = sorted(boxes)[len(boxes) // 2]
            yield SizedLine(" ".join(text.split())[:LINE_LENGTH], size / height, top)


def _language(document: object) -> str:
    import ctypes

    from pypdfium2 import raw

    length = raw.FPDFCatalog_GetLanguage(document, None, 0)
    if not 2 < length <= 200:
        return ""
    buffer = ctypes.create_string_buffer(length)
    raw.FPDFCatalog_GetLanguage(document, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), length)
    return buffer.raw[: length - 2].decode("utf-16-le", "replace")


def _find_xmp_packet(stream: BinaryIO, size: int) -> bytes:
    """The last XMP packet near the end of the file, or the first near its beginning."""
    for start in dict.fromkeys((max(0, size - WINDOW), 0)):
        stream.seek(start)
        part = stream.read(WINDOW)
        position = part.rfind(b"<x:xmpmeta") if start else part.find(b"<x:xmpmeta")
        if position >= 0:
            packet = part[position : position + PACKET]
            return packet[: packet.find(b"</x:xmpmeta>")] if b"</x:xmpmeta>" in packet else packet
    return b""


def _between(data: bytes, opening: bytes, closing: bytes, max_bytes: int) -> bytes:
    """The data between the first two of these; empty if it is longer than `max_bytes`."""
    start = data.find(opening) + len(opening)
    end = data.find(closing, start, start + max_bytes) if opening in data else -1
    return data[start:end] if end >= 0 else b""


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\x00", "")


def _to_iso_date(text: str) -> str:
    """D:20240503101112+02'00' as 2024-05-03T10:11:12+02:00; empty if it is not a date."""
    match = _DATE.match(text.strip()[:40])
    if match is None:
        return ""
    year, month, day, hour, minute, second, zone = match.groups()
    date = "-".join(part for part in (year, month, day) if part)
    if not (day and hour):
        return date
    digits = re.sub(r"\D", "", zone or "")
    offset = "" if not zone else "+00:00" if zone == "Z" else f"{zone[0]}{digits[:2]}:{digits[2:] or '00'}"
    return f"{date}T{hour}:{minute}:{second or '00'}{offset}"
