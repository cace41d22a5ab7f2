"""Write the books and PDFs whose first page is hard to come by: `python tests/samples/make_covers.py`."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import writers

HERE = Path(__file__).resolve().parent / "covers"
RED, GREEN = (200, 30, 40), (30, 160, 60)
CONTAINER = (
    '<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
XHTML = '<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head>'
CHAPTER = f"{XHTML}<body><h1>The lamp room</h1><p>Nobody had trimmed the wick since Tuesday.</p></body></html>"
ITEM = '<item id="c1" href="c1.xhtml" media-type="application/xhtml+xml"/>'


def book(
    items: str = "", metas: str = "", guide: str = "", spine: str = "", parts: Sequence[tuple[str, str | bytes]] = ()
) -> bytes:
    """An EPUB of one chapter, with whatever a cover needs."""
    opf = (
        '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">'
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">lamp</dc:identifier>'
        f"<dc:title>The lamp room</dc:title><dc:language>en</dc:language>{metas}</metadata>"
        f'<manifest>{items}{ITEM}</manifest><spine>{spine}<itemref idref="c1"/></spine>{guide}</package>'
    )
    told = [("mimetype", "application/epub+zip"), ("META-INF/container.xml", CONTAINER), ("OPS/book.opf", opf)]
    return writers.zipped([*told, ("OPS/c1.xhtml", CHAPTER), *parts], stored=["mimetype"])


def image(href: str = "art/front%20page.png", more: str = "") -> str:
    return f'<item id="front" href="{href}" media-type="image/png" {more}/>'


def pdf(pages: Sequence[tuple[str, bytes]], more: Sequence[bytes] = (), root: str = "") -> bytes:
    """A PDF of (entries of the page's dictionary, drawing); objects 3 + 2 × pages and on are `more`."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R %s >>" % root.encode(),
        b"<< /Type /Pages /Count %d /Kids [%s] >>"
        % (len(pages), b" ".join(b"%d 0 R" % (3 + 2 * number) for number in range(len(pages)))),
    ]
    for number, (entries, drawing) in enumerate(pages):
        objects.append(b"<< /Type /Page /Parent 2 0 R /Contents %d 0 R %s >>" % (4 + 2 * number, entries.encode()))
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawing), drawing))
    objects += more
    out = bytearray(b"%PDF-1.7\n")
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


def bar(width: float, height: float) -> bytes:
    """A green field over the left half of the page."""
    return f"0.1 0.6 0.2 rg 0 0 {width / 2:g} {height:g} re f".encode()


def claimed_png(width: int, height: int) -> bytes:
    """A picture whose header claims a size that its data does not have."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(b"\x00" * 1000, 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def samples() -> dict[str, bytes]:
    """Every sample by its file name."""
    front = ("OPS/art/front page.png", writers.png(300, 400, RED))
    page = ("OPS/cover.xhtml", f'{XHTML}<body><img alt="" src="art/front%20page.png"/></body></html>')
    drawn = (
        f'{XHTML}<body><svg xmlns="http://www.w3.org/2000/svg"><image xlink:href="../OPS/art/front%20page.png"/></svg>'
    )
    cover_page = '<item id="cp" href="cover.xhtml" media-type="application/xhtml+xml"/>'
    huge = b"<< /Type /XObject /Subtype /Image /Width 60000 /Height 60000 /BitsPerComponent 8 /ColorSpace /DeviceRGB "
    widget = (
        b"<< /Type /Annot /Subtype /Widget /FT /Tx /T (who) /V (Ada) /Rect [20 20 180 60] /P 3 0 R /F 4 "
        b"/MK << /BG [0.8 0.1 0.1] >> /DA (/Helv 12 Tf 0 g) >>"
    )
    return {
        "by_property.epub": book(image(more='properties="cover-image"'), parts=[front]),
        "by_meta.epub": book(image(), '<meta name="cover" content="front"/>', parts=[front]),
        "by_guide.epub": book(
            cover_page, guide='<guide><reference type="cover" href="cover.xhtml#top"/></guide>', parts=[page, front]
        ),
        "by_spine.epub": book(
            cover_page, spine='<itemref idref="cp"/>', parts=[("OPS/cover.xhtml", f"{drawn}</body></html>"), front]
        ),
        "no_cover.epub": book(),
        "small_picture.epub": book(
            cover_page, spine='<itemref idref="cp"/>', parts=[page, (front[0], writers.png(40, 40, RED))]
        ),
        "cover_outside.epub": book(
            image("../../../../etc/hostname.png", 'properties="cover-image"')
            + '<item id="far" href="http://127.0.0.1:9/front.png" media-type="image/png" properties="cover-image"/>'
        ),
        "cover_bomb.epub": book(
            image(more='properties="cover-image"'), parts=[(front[0], claimed_png(60_000, 60_000))]
        ),
        "wide.pdf": pdf([("/MediaBox [0 0 28346 300]", bar(28346, 300))]),
        "vast.pdf": pdf([("/MediaBox [0 0 3e9 3e9]", bar(3e9, 3e9))]),
        "no_box.pdf": pdf([("/MediaBox [0 0 0 0]", bar(612, 792))]),
        "backwards.pdf": pdf([("/MediaBox [400 600 0 0]", bar(400, 600))]),
        "nan_box.pdf": pdf([("/MediaBox [0 0 nan inf]", bar(612, 792))]),
        "rotated.pdf": pdf([("/MediaBox [0 0 400 600] /Rotate 90", bar(400, 600))]),
        "stamp.pdf": pdf([("/MediaBox [0 0 30 20]", bar(30, 20))]),
        "huge_picture.pdf": pdf(
            [
                ("/MediaBox [0 0 400 600] /Resources << /XObject << /Im 7 0 R >> >>", b"q 400 0 0 600 0 0 cm /Im Do Q"),
                ("/MediaBox [0 0 400 600]", bar(400, 600)),
            ],
            [huge + b"/Length 3 >>\nstream\n\xff\x00\x00\nendstream"],
        ),
        "form.pdf": pdf(
            [("/MediaBox [0 0 200 80] /Annots [5 0 R]", b"")],
            [widget, b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"],
            "/AcroForm << /Fields [5 0 R] /NeedAppearances true /DR << /Font << /Helv 6 0 R >> >> >>",
        ),
        "first_broken.pdf": pdf([("/MediaBox [0 0 400 600]", b""), ("/MediaBox [0 0 400 600]", bar(400, 600))]).replace(
            b"/Kids [3 0 R", b"/Kids [9 0 R"
        ),
        "all_broken.pdf": pdf([("/MediaBox [0 0 400 600]", b"")] * 2).replace(b"[3 0 R 5 0 R]", b"[8 0 R 9 0 R]"),
    }


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for name, content in samples().items():
        (HERE / name).write_bytes(content)
