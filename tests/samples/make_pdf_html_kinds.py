"""Write one example of each thing that PDFs and web pages have besides plain text into `kinds/`.

`python tests/samples/make_pdf_html_kinds.py`; the questions that find them are in `kinds/expected/pdf_html.json`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

KINDS = Path(__file__).resolve().parent / "kinds"
FONT = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")
LINE = 16  # points from line to line
PROSE = [
    "The rowing club keeps its boats in the long shed behind the mill, where",
    "the floor is dry and the doors face away from the wind. Members sign the",
    "book before they leave and again when they are back at the landing.",
]


def text_at(x: float, y: float, text: str, size: float = 11) -> bytes:
    """A line of text that begins at this point."""
    escaped = text.encode("cp1252")
    for special in (b"\\", b"(", b")"):
        escaped = escaped.replace(special, b"\\" + special)
    return b"BT /F1 %g Tf %g %g Td (%s) Tj ET\n" % (size, x, y, escaped)


def lines_from(top: float, lines: Sequence[str]) -> bytes:
    return b"".join(text_at(56, top - LINE * number, line) for number, line in enumerate(lines))


def pdf(
    pages: Sequence[bytes],
    annotations: Mapping[int, Sequence[bytes]] | None = None,
    images: Mapping[int, Image.Image] | None = None,
    font: bytes = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    more: Sequence[bytes] = (),
) -> bytes:
    """A PDF with these page contents. Annotations, by page, that have a `/FT` are also fields of its form.

    `more` are objects from number 4 on; `/F1` is the font, `/Im1` the picture of a page.
    """
    objects = [b"", b"", font, *more]
    kids: list[int] = []
    fields: list[int] = []
    for number, content in enumerate(pages, start=1):
        first = len(objects) + 1
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
        picture = b""
        if images and number in images:
            image = images[number].convert("L")
            packed = zlib.compress(image.tobytes(), 9)
            objects.append(
                b"<< /Type /XObject /Subtype /Image /Width %d /Height %d /BitsPerComponent 8 /ColorSpace /DeviceGray "
                b"/Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream"
                % (image.width, image.height, len(packed), packed)
            )
            picture = b"/XObject << /Im1 %d 0 R >>" % len(objects)
        marks: list[int] = []
        for annotation in (annotations or {}).get(number, ()):
            objects.append(annotation)
            marks.append(len(objects))
            if b"/FT" in annotation:
                fields.append(len(objects))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Annots [%s] "
            b"/Resources << /Font << /F1 3 0 R >> %s >> >>"
            % (first, b" ".join(b"%d 0 R" % mark for mark in marks), picture)
        )
        kids.append(len(objects))
    form = b"/AcroForm << /Fields [%s] >>" % b" ".join(b"%d 0 R" % field for field in fields) if fields else b""
    objects[0] = b"<< /Type /Catalog /Pages 2 0 R %s >>" % form
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(b"%d 0 R" % kid for kid in kids))
    out = bytearray(b"%PDF-1.4\n")
    offsets: list[int] = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


def field(name: str, kind: str, rest: str, top: int) -> bytes:
    rectangle = f"[200 {top} 400 {top + 18}]"
    return f"<< /Type /Annot /Subtype /Widget /T ({name}) /FT /{kind} {rest} /F 4 /Rect {rectangle} >>".encode(
        "latin-1"
    )


def note(subtype: str, rest: str, top: int = 600) -> bytes:
    rectangle = f"[60 {top} 260 {top + 20}]"
    return f"<< /Type /Annot /Subtype /{subtype} {rest} /F 4 /Rect {rectangle} >>".encode("latin-1")


def membership_form() -> bytes:
    """A form on the second page: two texts, a choice, a checked box and an empty one, and a value that is drawn."""
    form = b"".join(
        text_at(56, top, label)
        for top, label in ((700, "Applicant"), (670, "Boat"), (640, "Season"), (610, "Locker"), (580, "Fee"))
    )
    return pdf(
        [lines_from(780, PROSE), form + text_at(202, 584, "forty crowns")],
        {
            2: [
                field("applicant", "Tx", "/TU (Name of the applicant) /V (Marta Vogelsang)", 696),
                field("boat", "Tx", "/V (a skiff called Perkunas)", 666),
                field("season", "Ch", "/Ff 131072 /Opt [[(s) (summer only)] [(w) (winter storage)]] /V (w)", 636),
                field("locker key", "Btn", "/V /Yes /AS /Yes", 606),
                field("newsletter", "Btn", "/V /Off /AS /Off", 560),
                field("fee", "Tx", "/V (forty crowns)", 580),
                field("pin", "Tx", "/Ff 8192 /V (moonraker)", 540),
            ]
        },
    )


def reviewed_contract() -> bytes:
    """Notes of three sorts on the second page; one repeats the words that it marks."""
    return pdf(
        [lines_from(780, PROSE), lines_from(780, PROSE)],
        {
            2: [
                note("Text", "/T (Ines Falk) /Contents (Who pays for the varnish of the oars?)"),
                note(
                    "Highlight",
                    "/T (Ines Falk) /Contents (the floor is dry) /QuadPoints [56 780 200 780 56 770 200 770]",
                ),
                note("FreeText", "/Contents (Superseded by the agreement of the harbour council)", 560),
                note("Stamp", "/T (Office) /Name /Approved /Contents (Approved by the quartermaster)", 520),
                note("Popup", "/Contents (a copy in a bubble)", 480),
            ]
        },
    )


def sign() -> Image.Image:
    """A photographed sign: writing in a picture."""
    image = Image.new("L", (700, 240), 255)
    draw = ImageDraw.Draw(image)
    face = ImageFont.truetype(str(FONT), 34)
    for number, line in enumerate(
        ("Slipway closed to trailers", "from October until the thaw", "Ask at the chandlery")
    ):
        draw.text((30, 30 + 60 * number), line, fill=0, font=face)
    return image


def page_with_picture() -> bytes:
    placed = b"q 350 0 0 120 100 500 cm /Im1 Do Q\n"
    return pdf([lines_from(780, PROSE), lines_from(780, PROSE) + placed], images={2: sign()})


def survey() -> bytes:
    """Square metres with a raised digit, and a footnote: both are small digits above the line."""
    page = text_at(56, 780, "The drying hall measures 340 m") + text_at(208, 785, "2", 7)
    page += text_at(214, 780, " and is heated by a stove.") + text_at(56, 760, "The roof was renewed after the gale")
    page += text_at(231, 765, "1", 7) + text_at(237, 760, " of that year.")
    page += text_at(56, 90, "1", 6) + text_at(60, 86, "Insured by the guild of coopers.", 9)
    return pdf([lines_from(780, PROSE), page])


def chronicle() -> bytes:
    """Five pages with a running head and page numbers around sentences that go on over the page."""
    pages = []
    for number in range(1, 6):
        head = text_at(56, 810, "Chronicle of the rowing club", 9) + text_at(290, 30, f"- {number} -", 9)
        told = [f"Chapter {number} begins on a morning in spring and ends with the first frost.", *PROSE]
        pages.append(head + lines_from(760, told))
    return pdf(pages)


def arabic() -> bytes:
    """The word for peace, whose letters lam and alef are one glyph, drawn from left to right as programs do."""
    letters = {"A": "0645", "B": "06440627", "C": "0633", "D": "0644", "E": "0627"}
    rows = "\n".join(f"<{ord(code):02X}> <{letter}>" for code, letter in letters.items())
    cmap = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /L def /CMapType 2 def\n"
        f"1 begincodespacerange <00> <FF> endcodespacerange\n{len(letters)} beginbfchar\n{rows}\nendbfchar\n"
        "endcmap end end"
    ).encode()
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding /ToUnicode 4 0 R >>"
    stream = b"<< /Length %d >>\nstream\n%s\nendstream" % (len(cmap), cmap)
    return pdf([text_at(400, 780, "ABCDE", 14)], font=font, more=[stream])


MENU = """<!doctype html><title>Parish records</title><body><nav><ul>
<li><a href="/registers">Registers</a><ul><li><a href="/registers/baptisms">Baptisms before 1820</a></li>
<li><a href="/registers/burials">Burials</a><ul><li><a href="/registers/burials/cholera">Cholera graves</a></li></ul></li>
</ul></li><li><a href="/maps">Tithe maps</a></li></ul></nav>
"""
FORMULAS = """<!doctype html><title>Boiler notes</title><body><h1>Boiler notes</h1>
<p>The grate covers 4 m<sup>2</sup>, and the feed is soft H<sub>2</sub>O without lime.</p>
<p>The pressure follows <span style="display:none"><math alttext="p=\\frac{F}{A}"><semantics><mrow><mi>p</mi><mo>=</mo>
<mfrac><mi>F</mi><mi>A</mi></mfrac></mrow><annotation encoding="application/x-tex">p=\\frac{F}{A}</annotation></semantics>
</math></span><img src="p.png" alt="p=\\frac{F}{A}" aria-hidden="true"> as long as the valve holds.</p>
<details><summary>Maintenance</summary><p>Descale the injector twice a year.</p></details>
<dl><dt>Injector</dt><dd>Pushes feed water against the steam.</dd></dl>
<p><img src="g.jpg" alt="Engraving of the pumping station at Lindern"></p>
"""
ORDER = """<!doctype html><title>Order of seeds</title><body><h1>Seeds for the allotment</h1><form>
<p><label>Deliver to <input name="to" value="Gärtnerei Ahrens, Hof 7"></label></p>
<p><label>Variety <select name="v"><option>Early</option><option selected>Scarlet runner beans</option></select></label></p>
<p><label><input type="checkbox" name="organic" checked> Untreated only</label></p>
<p><label>Remarks <textarea name="r">Leave the sacks under the pear tree</textarea></label></p>
<input type="hidden" name="token" value="tok3nvalue"><input type="submit" value="Send"></form>
"""

FILES: Mapping[str, bytes] = {
    "membership.pdf": membership_form(),
    "reviewed.pdf": reviewed_contract(),
    "slipway.pdf": page_with_picture(),
    "survey.pdf": survey(),
    "chronicle.pdf": chronicle(),
    "peace.pdf": arabic(),
    "parish.html": MENU.encode(),
    "boiler.html": FORMULAS.encode(),
    "seeds.html": ORDER.encode(),
}
EXPECTED: Sequence[tuple[str, str, dict[str, object]]] = [
    ("membership.pdf", "Vogelsang applicant", {"page": 2}),
    ("membership.pdf", "Perkunas", {"page": 2}),
    ("membership.pdf", "winter storage", {"page": 2}),
    ("membership.pdf", "locker key", {"page": 2}),
    ("reviewed.pdf", "Ines Falk varnish oars", {"page": 2}),
    ("reviewed.pdf", "harbour council superseded", {"page": 2}),
    ("reviewed.pdf", "quartermaster", {"page": 2}),
    ("slipway.pdf", "trailers thaw chandlery", {"page": 2}),
    ("survey.pdf", "340 m²", {"page": 2}),
    ("survey.pdf", "renewed after the gale", {"page": 2}),
    ("survey.pdf", "guild of coopers", {"page": 2}),
    ("chronicle.pdf", "Chapter 4 begins", {"page": 4}),
    ("peace.pdf", "السلام", {"page": 1}),
    ("parish.html", "cholera graves", {}),
    ("parish.html", "parish records", {}),
    ("boiler.html", "H₂O lime", {"heading": "Boiler notes"}),
    ("boiler.html", "descale injector", {"heading": "Boiler notes"}),
    ("boiler.html", "engraving pumping station", {"heading": "Boiler notes"}),
    ("seeds.html", "Ahrens Gärtnerei", {"heading": "Seeds for the allotment"}),
    ("seeds.html", "scarlet runner", {"heading": "Seeds for the allotment"}),
    ("seeds.html", "sacks pear tree", {"heading": "Seeds for the allotment"}),
]


def main() -> None:
    (KINDS / "expected").mkdir(parents=True, exist_ok=True)
    for name, data in FILES.items():
        (KINDS / name).write_bytes(data)
    rows = [{"file": file, "query": query, "place": place} for file, query, place in EXPECTED]
    (KINDS / "expected/pdf_html.json").write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
