"""Write one office document for each thing that is easily lost: `python tests/samples/make_office_kinds.py`."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path

import writers
from PIL import Image, ImageDraw, ImageFont

HERE = Path(__file__).resolve().parent / "kinds"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
APPLICATION = "application/vnd.openxmlformats-officedocument"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
ODF = "urn:oasis:names:tc:opendocument:xmlns:"
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
RAISED, LOWERED = '<w:vertAlign w:val="superscript"/>', '<w:vertAlign w:val="subscript"/>'

# Long enough that the next section begins a passage of its own.
FILLER = " ".join(f"Line {number} of the list was checked in the morning and again at noon." for number in range(1, 12))

Parts = list[tuple[str, str | bytes]]


def drawn(*lines: str) -> bytes:
    """A picture of these lines of writing."""
    image = Image.new("L", (560, 40 + 50 * len(lines)), 255)
    for row, line in enumerate(lines):
        ImageDraw.Draw(image).text((30, 25 + 50 * row), line, fill=0, font=ImageFont.load_default(30))
    buffer = io.BytesIO()
    image.quantize(16).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def ooxml(main: str, kind: str, parts: Parts, relations: dict[str, Sequence[tuple[str, str]]]) -> bytes:
    """An Office package; `relations` holds, by part, (type, target) of what it refers to as rId1, rId2 …"""
    files: Parts = [
        (
            "[Content_Types].xml",
            f'<Types xmlns="{TYPES}"><Default Extension="xml" ContentType="application/xml"/>'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Default Extension="png" ContentType="image/png"/>'
            f'<Override PartName="/{main}" ContentType="{APPLICATION}.{kind}.main+xml"/></Types>',
        )
    ]
    for part, targets in {"": [("officeDocument", main)], **relations}.items():
        folder, _, name = part.rpartition("/")
        rows = "".join(
            f'<Relationship Id="rId{number}" Type="{OFFICE}/{type_}" Target="{target}"/>'
            for number, (type_, target) in enumerate(targets, start=1)
        )
        files.append(
            (f"{folder}/_rels/{name}.rels".lstrip("/"), f'<Relationships xmlns="{RELATIONS}">{rows}</Relationships>')
        )
    return writers.zipped([*files, *parts])


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*runs: str, style: str = "") -> str:
    return f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr>{"".join(runs)}</w:p>'


def word() -> bytes:
    names = (
        f'xmlns:w="{W}" xmlns:r="{OFFICE}" xmlns:a="{A}" xmlns:m="{OFFICE.replace("relationships", "math")}" '
        'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
        'xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"'
    )
    picture = (
        '<w:r><w:drawing><wp:inline><wp:docPr id="1" name="Picture 1"/><a:graphic><a:graphicData uri="picture"><pic:pic>'
        '<pic:blipFill><a:blip r:embed="rId1"/></pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline>'
        "</w:drawing></w:r>"
    )
    square = "<m:sSup><m:e><m:r><m:t>{0}</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup>"
    equation = (
        f"<m:oMath>{square.format('p')}<m:r><m:t>+</m:t></m:r><m:f><m:num><m:r><m:t>q</m:t></m:r></m:num>"
        "<m:den><m:r><m:t>4</m:t></m:r></m:den></m:f></m:oMath>"
    )
    box = (
        '<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:checkBox><w:default w:val="1"/></w:checkBox></w:ffData>'
        '</w:fldChar></w:r><w:r><w:instrText> FORMCHECKBOX </w:instrText></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )
    body = "".join(
        [
            paragraph(run("Garden survey"), style="Heading1"),
            paragraph(run("The pond covers 46 m"), run("2", RAISED), run(" and binds CO"), run("2", LOWERED), run(".")),
            paragraph(
                run("The hedge is "),
                f'<w:ins w:id="1" w:author="Ada Winter">{run("newly trimmed")}</w:ins>',
                '<w:del w:id="2" w:author="Ada Winter"><w:r><w:delText>badly overgrown</w:delText></w:r></w:del>',
                run(" and dry"),
                '<w:r><w:commentReference w:id="0"/></w:r>',
                run("."),
            ),
            paragraph(run(FILLER)),
            paragraph(run("Slope of the path"), style="Heading1"),
            paragraph(run(FILLER)),
            paragraph(run("It follows from "), equation, run(" alone.")),
            paragraph(box, run(" handrail is fitted")),
            paragraph('<w:r><w:sym w:font="Symbol" w:char="F061"/></w:r>', run(" is the angle.")),
            paragraph(run("Notice board"), style="Heading1"),
            paragraph(picture),
            '<w:sectPr><w:headerReference w:type="default" r:id="rId2"/></w:sectPr>',
        ]
    )
    return ooxml(
        "word/document.xml",
        "wordprocessingml.document",
        [
            ("word/document.xml", f"<w:document {names}><w:body>{body}</w:body></w:document>"),
            (
                "word/styles.xml",
                f'<w:styles xmlns:w="{W}"><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/>'
                "</w:style></w:styles>",
            ),
            ("word/header1.xml", f'<w:hdr xmlns:w="{W}">{paragraph(run("Allotment society Brookside"))}</w:hdr>'),
            (
                "word/comments.xml",
                f'<w:comments xmlns:w="{W}"><w:comment w:id="0" w:author="Bo Lind">'
                f"{paragraph(run('Please water it weekly'))}</w:comment></w:comments>",
            ),
            ("word/media/image1.png", drawn("Gate closes at dusk", "Ring twice for Hawthorn")),
        ],
        {
            "word/document.xml": [
                ("image", "media/image1.png"),
                ("header", "header1.xml"),
                ("comments", "comments.xml"),
                ("styles", "styles.xml"),
            ]
        },
    )


def shape(text: str, role: str = "") -> str:
    holder = f'<p:ph type="{role}"/>' if role else ""
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="9" name="s"/><p:cNvSpPr/><p:nvPr>{holder}</p:nvPr></p:nvSpPr><p:spPr/>'
        f"<p:txBody><a:bodyPr/><a:p>{text}</a:p></p:txBody></p:sp>"
    )


def slides() -> bytes:
    def slide(shapes: str, more: str = "") -> str:
        return (
            f'<p:sld xmlns:p="{P}" xmlns:a="{A}" xmlns:r="{OFFICE}" {more}><p:cSld><p:spTree>{shapes}</p:spTree>'
            "</p:cSld></p:sld>"
        )

    dgm = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
    picture = (
        '<p:pic><p:nvPicPr><p:cNvPr id="4" name="Picture" descr="A weather vane"/></p:nvPicPr>'
        '<p:blipFill><a:blip r:embed="rId1"/></p:blipFill></p:pic>'
    )
    diagram = (
        f'<p:graphicFrame><a:graphic><a:graphicData uri="{dgm}"><dgm:relIds xmlns:dgm="{dgm}" r:dm="rId1"/>'
        "</a:graphicData></a:graphic></p:graphicFrame>"
    )
    points = "".join(
        f"<dgm:pt><dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>"
        for text in ("Collect rainwater", "Filter through gravel")
    )
    raised = '<a:r><a:t>Wind load 12 kN/m</a:t></a:r><a:r><a:rPr baseline="30000"/><a:t>2</a:t></a:r>'
    return ooxml(
        "ppt/presentation.xml",
        "presentationml.presentation",
        [
            (
                "ppt/presentation.xml",
                f'<p:presentation xmlns:p="{P}" xmlns:r="{OFFICE}"><p:sldIdLst><p:sldId id="256" r:id="rId1"/>'
                '<p:sldId id="257" r:id="rId2"/><p:sldId id="258" r:id="rId3"/></p:sldIdLst></p:presentation>',
            ),
            (
                "ppt/slides/slide1.xml",
                slide(shape("<a:r><a:t>Roof works</a:t></a:r>", "title") + shape(raised)),
            ),
            ("ppt/slides/slide2.xml", slide(shape("<a:r><a:t>Signs</a:t></a:r>", "title") + picture)),
            (
                "ppt/slides/slide3.xml",
                slide(shape("<a:r><a:t>Water</a:t></a:r>", "title") + diagram, 'show="0"'),
            ),
            ("ppt/media/image1.png", drawn("Ladder store locked", "Key with the verger")),
            (
                "ppt/diagrams/data1.xml",
                f'<dgm:dataModel xmlns:dgm="{dgm}" xmlns:a="{A}"><dgm:ptLst>{points}</dgm:ptLst></dgm:dataModel>',
            ),
        ],
        {
            "ppt/presentation.xml": [("slide", f"slides/slide{number}.xml") for number in (1, 2, 3)],
            "ppt/slides/slide2.xml": [("image", "../media/image1.png")],
            "ppt/slides/slide3.xml": [("diagramData", "../diagrams/data1.xml")],
        },
    )


def workbook() -> bytes:
    names = f'xmlns="{S}" xmlns:r="{OFFICE}"'
    drawing = "http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing"
    threads = "http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"

    def row(number: int, *cells: str, more: str = "") -> str:
        return f'<row r="{number}"{more}>{"".join(cells)}</row>'

    def text(at: str, words: str) -> str:
        return f'<c r="{at}" t="inlineStr"><is><t>{words}</t></is></c>'

    rates = (
        row(1, text("A1", "Item"), text("B1", "Value"))
        + row(2, text("A2", "Interest"), '<c r="B2" s="1"><v>0.0725</v></c>')
        + row(3, text("A3", "Deposit"), '<c r="B3" s="2"><v>1834.5</v></c>')
        + row(4, text("A4", "Kept in the vestry"), '<c r="B4"><v>3</v></c>', more=' hidden="1"')
        + row(5, text("A5", "Cellar"), '<c r="B5" t="s"><v>0</v></c>')
        + row(6, text("A6", FILLER))
    )
    box = "<xdr:sp><xdr:txBody><a:bodyPr/><a:p><a:r><a:t>Figures audited by Quillfeather</a:t></a:r></a:p></xdr:txBody></xdr:sp>"
    return ooxml(
        "xl/workbook.xml",
        "spreadsheetml.sheet",
        [
            (
                "xl/workbook.xml",
                f'<workbook {names}><sheets><sheet name="Rates" sheetId="1" r:id="rId1"/>'
                '<sheet name="Reserve" sheetId="2" state="hidden" r:id="rId2"/></sheets></workbook>',
            ),
            (
                "xl/styles.xml",
                f'<styleSheet {names}><numFmts count="2"><numFmt numFmtId="170" formatCode="0.00 %"/>'
                '<numFmt numFmtId="171" formatCode="&quot;€&quot; #,##0.00"/></numFmts><cellXfs><xf numFmtId="0"/>'
                '<xf numFmtId="170"/><xf numFmtId="171"/></cellXfs></styleSheet>',
            ),
            (
                "xl/sharedStrings.xml",
                f'<sst {names}><si><r><t>62 m</t></r><r><rPr><vertAlign val="superscript"/></rPr><t>3</t></r></si></sst>',
            ),
            ("xl/worksheets/sheet1.xml", f"<worksheet {names}><sheetData>{rates}</sheetData></worksheet>"),
            (
                "xl/worksheets/sheet2.xml",
                f"<worksheet {names}><sheetData>{row(1, text('A1', 'Steeple fund'))}{row(2, text('A2', FILLER))}</sheetData></worksheet>",
            ),
            ("xl/drawings/drawing1.xml", f'<xdr:wsDr xmlns:xdr="{drawing}" xmlns:a="{A}">{box}</xdr:wsDr>'),
            (
                "xl/comments1.xml",
                f"<comments {names}><authors><author>Ada Winter</author></authors><commentList>"
                '<comment ref="B2" authorId="0"><text><t>Ada Winter:_x000d_ fixed until harvest</t></text></comment>'
                "</commentList></comments>",
            ),
            (
                "xl/threadedComments/threadedComment1.xml",
                f'<ThreadedComments xmlns="{threads}"><threadedComment ref="B3" personId="p1"><text>Returned by bank '
                "transfer</text></threadedComment></ThreadedComments>",
            ),
            (
                "xl/persons/person.xml",
                f'<personList xmlns="{threads}"><person id="p1" displayName="Bo Lind"/></personList>',
            ),
        ],
        {
            "xl/workbook.xml": [
                ("worksheet", "worksheets/sheet1.xml"),
                ("worksheet", "worksheets/sheet2.xml"),
                ("styles", "styles.xml"),
                ("sharedStrings", "sharedStrings.xml"),
            ],
            "xl/worksheets/sheet1.xml": [
                ("drawing", "../drawings/drawing1.xml"),
                ("comments", "../comments1.xml"),
                ("threadedComment", "../threadedComments/threadedComment1.xml"),
            ],
        },
    )


def opendocument(kind: str, body: str, parts: Parts, styles: str = "") -> bytes:
    names = " ".join(
        f'xmlns:{short}="{ODF}{long}:1.0"'
        for short, long in (
            *(("office", "office"), ("text", "text"), ("style", "style"), ("draw", "drawing"), ("table", "table")),
            *(("presentation", "presentation"), ("svg", "svg-compatible")),
        )
    )
    names += ' xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    raised = '<style:style style:name="T1" style:family="text"><style:text-properties style:text-position="super 58%"/></style:style>'
    hidden = '<style:style style:name="ta2" style:family="table"><style:table-properties table:display="false"/></style:style>'
    return writers.zipped(
        [
            ("mimetype", f"application/vnd.oasis.opendocument.{kind}"),
            (
                "content.xml",
                f"<office:document-content {names}><office:automatic-styles>{raised}{hidden}</office:automatic-styles>"
                f"<office:body>{body}</office:body></office:document-content>",
            ),
            (
                "styles.xml",
                f"<office:document-styles {names}><office:master-styles>{styles}</office:master-styles></office:document-styles>",
            ),
            *parts,
        ],
        stored=["mimetype"],
    )


COMMENT = "<office:annotation><dc:creator>Bo Lind</dc:creator><dc:date>2024-05-01</dc:date><text:p>{}</text:p></office:annotation>"
PICTURE = '<draw:frame><draw:image xlink:href="Pictures/notice.png"/></draw:frame>'


def open_text() -> bytes:
    body = (
        "<office:text><text:tracked-changes><text:changed-region><text:deletion><office:change-info><dc:creator>Ada Winter"
        "</dc:creator></office:change-info><text:p>leaking badly</text:p></text:deletion></text:changed-region>"
        '</text:tracked-changes><text:h text:outline-level="1">Boat house</text:h><text:p>The slipway has 31 '
        f'm<text:span text:style-name="T1">2</text:span> of planks{COMMENT.format("Order larch")}.</text:p>'
        f'<text:p>{FILLER}</text:p><text:h text:outline-level="1">Jetty</text:h><text:p>{PICTURE}</text:p><text:p>{FILLER}</text:p></office:text>'
    )
    header = "<style:master-page><style:header><text:p>Rowing club Millweir</text:p></style:header></style:master-page>"
    return opendocument(
        "text", body, [("Pictures/notice.png", drawn("Oars in rack seven", "Return by sunset"))], header
    )


def open_sheet() -> bytes:
    cell = '<table:table-cell office:value-type="string"><text:p>{}</text:p>{}</table:table-cell>'
    shapes = (
        "<table:shapes><draw:custom-shape><text:p>Counted by Thistlewood</text:p></draw:custom-shape></table:shapes>"
    )
    body = (
        f'<office:spreadsheet><table:table table:name="Tools"><table:table-row>{cell.format("Spades", COMMENT.format("two are rusty"))}'
        f'</table:table-row><table:table-row>{cell.format(FILLER, "")}</table:table-row>{shapes}</table:table><table:table table:name="Loans" table:style-name="ta2"><table:table-row>'
        f"{cell.format('Wheelbarrow lent to Marsh', '')}{cell.format(FILLER, '')}</table:table-row></table:table></office:spreadsheet>"
    )
    return opendocument("spreadsheet", body, [])


def open_slides() -> bytes:
    title = '<draw:frame presentation:class="title"><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>'
    notes = "<presentation:notes><draw:frame><draw:text-box><text:p>Mention the ferry strike</text:p></draw:text-box></draw:frame></presentation:notes>"
    body = (
        f"<office:presentation><draw:page>{title.format('Harbour day')}{notes}</draw:page>"
        f"<draw:page>{title.format('Stalls')}{PICTURE}</draw:page></office:presentation>"
    )
    return opendocument(
        "presentation", body, [("Pictures/notice.png", drawn("Smoked eel stall nine", "Cash only please"))]
    )


def book() -> bytes:
    page = '<html xmlns="http://www.w3.org/1999/xhtml"><body>{}</body></html>'
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="i"><metadata '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Lamp oil</dc:title><dc:identifier id="i">lamp</dc:identifier>'
        '</metadata><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="p" href="p.png" media-type="image/png"/></manifest><spine><itemref idref="a"/></spine></package>'
    )
    text = (
        f"<h1>The wick</h1><p>It burned 9 cm<sup>3</sup> of oil an hour.</p><p>{FILLER}</p>"
        f'<h1>The label</h1><p><img src="p.png" alt=""/></p><p>{FILLER}</p>'
    )
    container = (
        '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="c.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    return writers.zipped(
        [
            ("mimetype", "application/epub+zip"),
            ("META-INF/container.xml", container),
            ("c.opf", opf),
            ("a.xhtml", page.format(text)),
            ("p.png", drawn("Keep away from stoves", "Distilled in Varnholm")),
        ],
        stored=["mimetype"],
    )


def rich_text() -> bytes:
    return (
        r"{\rtf1\ansi\pard The loft has 18 m{\super 2}. {\deleted worn out}"
        r"{\*\atnauthor Bo Lind}\chatn{\*\annotation{\*\atnref 1}Ask the thatcher}\par"
        r"{\header\pard Estate of Fernhollow\par}}"
    ).encode("ascii")


FILES = {
    "office_word.docx": word,
    "office_slides.pptx": slides,
    "office_sheet.xlsx": workbook,
    "office_text.odt": open_text,
    "office_sheet.ods": open_sheet,
    "office_slides.odp": open_slides,
    "office_book.epub": book,
    "office_letter.rtf": rich_text,
}

EXPECTED: list[tuple[str, str, dict[str, object]]] = [
    ("office_word.docx", "46 m²", {"heading": "Garden survey"}),
    ("office_word.docx", "newly trimmed", {"heading": "Garden survey"}),
    ("office_word.docx", '"badly overgrown"', {}),
    ("office_word.docx", '"water it weekly"', {}),
    ("office_word.docx", "handrail fitted", {"heading": "Slope of the path"}),
    ("office_word.docx", "Hawthorn", {"heading": "Notice board"}),
    ("office_word.docx", "Brookside", {}),
    ("office_slides.pptx", "wind load kN", {"page": 1}),
    ("office_slides.pptx", "verger", {"page": 2}),
    ("office_slides.pptx", "rainwater gravel", {"page": 3}),
    ("office_sheet.xlsx", '"7.25 %"', {"heading": "Rates"}),
    ("office_sheet.xlsx", '"1,834.50"', {"heading": "Rates"}),
    ("office_sheet.xlsx", "vestry", {"heading": "Rates"}),
    ("office_sheet.xlsx", "Quillfeather", {"heading": "Rates"}),
    ("office_sheet.xlsx", "fixed until harvest", {"heading": "Rates"}),
    ("office_sheet.xlsx", "returned by bank transfer", {"heading": "Rates"}),
    ("office_sheet.xlsx", "steeple fund", {"heading": "Reserve (hidden)"}),
    ("office_text.odt", "slipway 31 m²", {"heading": "Boat house"}),
    ("office_text.odt", "oars rack seven", {"heading": "Jetty"}),
    ("office_text.odt", "order larch", {}),
    ("office_text.odt", "leaking badly", {}),
    ("office_text.odt", "Millweir", {}),
    ("office_sheet.ods", "Thistlewood", {"heading": "Tools"}),
    ("office_sheet.ods", "two are rusty", {"heading": "Tools"}),
    ("office_sheet.ods", "wheelbarrow Marsh", {"heading": "Loans (hidden)"}),
    ("office_slides.odp", "ferry strike", {"page": 1}),
    ("office_slides.odp", "smoked eel", {"page": 2}),
    ("office_book.epub", "burned 9 cm³", {"heading": "The wick"}),
    ("office_book.epub", "Varnholm", {"heading": "The label"}),
    ("office_letter.rtf", "loft 18 m²", {}),
    ("office_letter.rtf", "thatcher", {}),
    ("office_letter.rtf", "Fernhollow", {}),
]


def main() -> None:
    (HERE / "expected").mkdir(parents=True, exist_ok=True)
    for name, write in FILES.items():
        (HERE / name).write_bytes(write())
    rows = [{"file": file, "query": query, "place": place} for file, query, place in EXPECTED]
    (HERE / "expected" / "office.json").write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
