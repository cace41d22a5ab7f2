"""Write small documents of every sort by hand, the same bytes every time."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Sequence
from xml.sax.saxutils import escape

_DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_P = "http://schemas.openxmlformats.org/presentationml/2006/main"
_A = "http://schemas.openxmlformats.org/drawingml/2006/main"
_APPLICATION = "application/vnd.openxmlformats-officedocument"


def zipped(parts: Sequence[tuple[str, str | bytes]], *, stored: Sequence[str] = ()) -> bytes:
    """A zip file with the given parts in order, dated alike so that its bytes never change."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts:
            entry = zipfile.ZipInfo(name, (2024, 5, 1, 12, 0, 0))
            entry.compress_type = zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return buffer.getvalue()


def _types(overrides: Sequence[tuple[str, str]]) -> tuple[str, str]:
    rows = "".join(
        f'<Override PartName="/{part}" ContentType="{_APPLICATION}.{kind}+xml"/>' for part, kind in overrides
    )
    return (
        "[Content_Types].xml",
        f'{_DECLARATION}<Types xmlns="{_TYPES}">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{rows}</Types>',
    )


def _relations(part: str, targets: Sequence[tuple[str, str]]) -> tuple[str, str]:
    rows = "".join(
        f'<Relationship Id="rId{number}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets, start=1)
    )
    return part, f'{_DECLARATION}<Relationships xmlns="{_RELATIONS}">{rows}</Relationships>'


def docx(blocks: Sequence[str], comments: Sequence[tuple[str, str]] = ()) -> bytes:
    """A Word document; blocks that begin with `# ` become headings, comments are (author, text)."""
    body = ""
    for block in blocks:
        style = '<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>' if block.startswith("# ") else ""
        body += f'<w:p>{style}<w:r><w:t xml:space="preserve">{escape(block.removeprefix("# "))}</w:t></w:r></w:p>'
    remarks = "".join(
        f'<w:comment w:id="{number}" w:author="{escape(who)}">'
        f"<w:p><w:r><w:t>{escape(text)}</w:t></w:r></w:p></w:comment>"
        for number, (who, text) in enumerate(comments)
    )
    styles = '<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style>'
    parts = [
        _types(
            [
                ("word/document.xml", "wordprocessingml.document.main"),
                ("word/styles.xml", "wordprocessingml.styles"),
                *([("word/comments.xml", "wordprocessingml.comments")] if comments else []),
            ]
        ),
        _relations("_rels/.rels", [("officeDocument", "word/document.xml")]),
        _relations(
            "word/_rels/document.xml.rels",
            [("styles", "styles.xml"), ("comments", "comments.xml")][: 1 + bool(comments)],
        ),
        ("word/document.xml", f'{_DECLARATION}<w:document xmlns:w="{_W}"><w:body>{body}</w:body></w:document>'),
        ("word/styles.xml", f'{_DECLARATION}<w:styles xmlns:w="{_W}">{styles}</w:styles>'),
    ]
    if comments:
        parts.append(("word/comments.xml", f'{_DECLARATION}<w:comments xmlns:w="{_W}">{remarks}</w:comments>'))
    return zipped(parts)


def xlsx(sheets: Sequence[tuple[str, Sequence[Sequence[str | float]]]], hidden: Sequence[int] = ()) -> bytes:
    """An Excel workbook of (name, rows); `hidden` counts rows from 1, in every sheet."""
    parts = [
        _types(
            [
                ("xl/workbook.xml", "spreadsheetml.sheet.main"),
                *((f"xl/worksheets/sheet{n}.xml", "spreadsheetml.worksheet") for n in range(1, len(sheets) + 1)),
            ]
        ),
        _relations("_rels/.rels", [("officeDocument", "xl/workbook.xml")]),
        _relations(
            "xl/_rels/workbook.xml.rels",
            [("worksheet", f"worksheets/sheet{n}.xml") for n in range(1, len(sheets) + 1)],
        ),
    ]
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{n}" r:id="rId{n}"/>' for n, (name, _) in enumerate(sheets, start=1)
    )
    parts.append(
        (
            "xl/workbook.xml",
            f'{_DECLARATION}<workbook xmlns="{_S}" xmlns:r="{_OFFICE}"><sheets>{listed}</sheets></workbook>',
        )
    )
    for number, (_, rows) in enumerate(sheets, start=1):
        data = ""
        for at, row in enumerate(rows, start=1):
            cells = "".join(_cell(f"{chr(65 + column)}{at}", value) for column, value in enumerate(row))
            data += f'<row r="{at}"{" hidden=" + chr(34) + "1" + chr(34) if at in hidden else ""}>{cells}</row>'
        parts.append(
            (
                f"xl/worksheets/sheet{number}.xml",
                f'{_DECLARATION}<worksheet xmlns="{_S}"><sheetData>{data}</sheetData></worksheet>',
            )
        )
    return zipped(parts)


def _cell(reference: str, value: str | float) -> str:
    if isinstance(value, str):
        return f'<c r="{reference}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f'<c r="{reference}"><v>{value}</v></c>'


def pptx(slides: Sequence[tuple[str, Sequence[str], str]]) -> bytes:
    """A presentation of (title, lines, speaker note)."""
    count = range(1, len(slides) + 1)
    parts = [
        _types(
            [
                ("ppt/presentation.xml", "presentationml.presentation.main"),
                *((f"ppt/slides/slide{n}.xml", "presentationml.slide") for n in count),
                *((f"ppt/notesSlides/notesSlide{n}.xml", "presentationml.notesSlide") for n in count),
            ]
        ),
        _relations("_rels/.rels", [("officeDocument", "ppt/presentation.xml")]),
        _relations("ppt/_rels/presentation.xml.rels", [("slide", f"slides/slide{n}.xml") for n in count]),
        (
            "ppt/presentation.xml",
            f'{_DECLARATION}<p:presentation xmlns:p="{_P}" xmlns:r="{_OFFICE}"><p:sldIdLst>'
            + "".join(f'<p:sldId id="{255 + n}" r:id="rId{n}"/>' for n in count)
            + "</p:sldIdLst></p:presentation>",
        ),
    ]
    for number, (title, lines, note) in enumerate(slides, start=1):
        shapes = _shape(2, "title", [title]) + (_shape(3, "body", lines) if lines else "")
        parts.append((f"ppt/slides/slide{number}.xml", _slide("sld", shapes)))
        parts.append(
            _relations(
                f"ppt/slides/_rels/slide{number}.xml.rels",
                [("notesSlide", f"../notesSlides/notesSlide{number}.xml")] if note else [],
            )
        )
        if note:
            parts.append((f"ppt/notesSlides/notesSlide{number}.xml", _slide("notes", _shape(2, "body", [note]))))
    return zipped(parts)


def _slide(root: str, shapes: str) -> str:
    return (
        f'{_DECLARATION}<p:{root} xmlns:p="{_P}" xmlns:a="{_A}"><p:cSld><p:spTree>'
        '<p:nvGrpSpPr><p:cNvPr id="1" name=""/>'
        f"<p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>{shapes}</p:spTree></p:cSld></p:{root}>"
    )


def _shape(identity: int, role: str, lines: Sequence[str]) -> str:
    text = "".join(f"<a:p><a:r><a:t>{escape(line)}</a:t></a:r></a:p>" for line in lines)
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="{identity}" name="{role}"/><p:cNvSpPr/><p:nvPr><p:ph type="{role}"/></p:nvPr>'
        f"</p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/>{text}</p:txBody></p:sp>"
    )


def odt(blocks: Sequence[str]) -> bytes:
    """An OpenDocument text; blocks that begin with `# ` become headings."""
    kind = "application/vnd.oasis.opendocument.text"
    office = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
    text = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
    manifest = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
    body = "".join(
        f'<text:h text:outline-level="1">{escape(block[2:])}</text:h>'
        if block.startswith("# ")
        else f"<text:p>{escape(block)}</text:p>"
        for block in blocks
    )
    return zipped(
        [
            ("mimetype", kind),
            (
                "content.xml",
                f'{_DECLARATION}<office:document-content xmlns:office="{office}" xmlns:text="{text}"'
                ' office:version="1.2">'
                f"<office:body><office:text>{body}</office:text></office:body></office:document-content>",
            ),
            (
                "META-INF/manifest.xml",
                f'{_DECLARATION}<manifest:manifest xmlns:manifest="{manifest}">'
                f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
                '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
                "</manifest:manifest>",
            ),
        ],
        stored=["mimetype"],
    )


def epub(title: str, chapters: Sequence[tuple[str, Sequence[str]]]) -> bytes:
    """A book of (chapter title, paragraphs)."""
    numbers = range(1, len(chapters) + 1)
    items = "".join(f'<item id="c{n}" href="c{n}.xhtml" media-type="application/xhtml+xml"/>' for n in numbers)
    spine = "".join(f'<itemref idref="c{n}"/>' for n in numbers)
    parts = [
        ("mimetype", "application/epub+zip"),
        (
            "META-INF/container.xml",
            '<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
            '<rootfiles><rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles>'
            "</container>",
        ),
        (
            "book.opf",
            '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">'
            '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
            f'<dc:identifier id="id">{escape(title)}</dc:identifier>'
            f"<dc:title>{escape(title)}</dc:title><dc:language>en</dc:language></metadata>"
            f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
        ),
    ]
    for number, (heading, paragraphs) in enumerate(chapters, start=1):
        body = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs)
        parts.append(
            (
                f"c{number}.xhtml",
                f'<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head><title>{escape(heading)}'
                f"</title></head><body><h1>{escape(heading)}</h1>{body}</body></html>",
            )
        )
    return zipped(parts, stored=["mimetype"])


def pdf(pages: Sequence[Sequence[str]]) -> bytes:
    """A PDF with one line of text per string; a page without lines shows a grey picture, as a scan would."""
    objects: list[bytes] = [
        b"",
        b"",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    objects.append(
        b"<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8 "
        b"/ColorSpace /DeviceGray /Length 1 >>\n"
        b"stream\n\x80\nendstream"
    )
    kids: list[int] = []
    for lines in pages:
        content = _page_content(lines)
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> /XObject << /Im1 4 0 R >> >> >>" % len(objects)
        )
        kids.append(len(objects))
    objects[0] = b"<< /Type /Catalog /Pages 2 0 R >>"
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(b"%d 0 R" % kid for kid in kids))
    out = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    offsets: list[int] = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


def _page_content(lines: Sequence[str]) -> bytes:
    if not lines:
        return b"q 500 0 0 700 47 71 cm /Im1 Do Q"
    out = bytearray(b"BT 14 TL 56 780 Td")
    for line in lines:
        size = 18 if line.startswith("# ") else 11
        text = line.removeprefix("# ").encode("cp1252", "replace")
        for special in (b"\\", b"(", b")"):
            text = text.replace(special, b"\\" + special)
        out += b" /F1 %d Tf (%s) Tj T*%s" % (size, text, b" T*" if size > 11 else b"")
    return bytes(out + b" ET")


def rtf(paragraphs: Sequence[str]) -> bytes:
    """An RTF document in ASCII, everything else escaped."""
    body = "\\par\n".join(
        "".join(char if char.isascii() else f"\\u{ord(char)}?" for char in paragraph) for paragraph in paragraphs
    )
    return ("{\\rtf1\\ansi\\deff0{\\fonttbl{\\f0 Helvetica;}}\\f0\\fs22\n" + body + "\\par\n}").encode("ascii")


def png(width: int, height: int, colour: tuple[int, int, int]) -> bytes:
    """A picture of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    row = b"\x00" + bytes(colour) * width
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(row * height, 9))
        + chunk(b"IEND", b"")
    )
