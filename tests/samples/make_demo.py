"""Write the demo vault that we ship: `python tests/samples/make_demo.py [PART…]`, all files or those with PART in the path.

One household by the sea, over some years. The script lives outside the vault, whose words it would repeat:
`periwinkle` stands only in the lease, `marzipan` only in the minutes, `sextant` only on the third page of the scan,
`carillon` only in the tags of the recording; `umbrella` is said only in the memo and `newspaper` only in the
interview, by the same voice. Needs `sh .ci/demo`, LibreOffice and Chromium.
"""

from __future__ import annotations

import base64
import io
import sys
import zipfile
from collections.abc import Callable
from email.message import EmailMessage
from functools import partial
from pathlib import Path

import av
import demo_office
import demo_pictures
import make_media
import make_pages
import make_speech
import numpy
import writers
from PIL import Image

DEMO = Path(__file__).resolve().parents[2] / "demo"

MINUTES = """
<h1>Meeting of 3 June 2024</h1>
<p>Present: Ida, Noor, Tomas, and Biscuit under the table. Ida takes the minutes.</p>
<h2>The new press</h2>
<p>The press arrives on the twelfth. Tomas borrows a pallet truck from the chandler. It stands on the stone floor, as the lease of the workshop demands.</p>
<h2>Open day</h2>
<p>The bindery opens its doors to the neighbours on Saturday 6 July. We show marbling in the yard. Noor bakes: plum cake, and marzipan apples for the children.</p>
<h2>To do</h2>
<ul><li>Ida asks the Trust about the gutter.</li><li>Noor orders linen thread.</li><li>Tomas writes to the school and rings the bells at noon.</li></ul>
"""

INSURANCE = """
<h1>Insurance of the press</h1>
<p>Dear Ms Marten,</p>
<p>The printing press of 1911 in your workshop at Gull Lane 4 is insured for 4,000 crowns against fire and flood from 12 June 2024. Theft is not covered, because the press weighs 1.3 tonnes.</p>
<p>Please tell us before you move it, and keep paint and oil in the iron cupboard. The yearly premium is 52 crowns and is due on the first of July.</p>
<p>Yours sincerely,</p><p>Pieter Sand, Harbour Mutual Insurance</p><p>Wickersea, 10 June 2024</p>
"""

BUDGET = [
    ("Income 2024", ["Month", "Binding", "Repairs", "Courses", "Sum"], [["April", 2140, 860, 300, 3300], ["May", 1985, 1120, 450, 3555], ["June", 2410, 940, 600, 3950], ["July", 1760, 1310, 900, 3970], ["August", 1530, 1245, 750, 3525], ["September", 2260, 985, 450, 3695]]),
    ("Costs 2024", ["Item", "Supplier", "Month", "Crowns"], [["Linen thread", "Haverkamp", "May", 84.5], ["Goatskin", "Ruiz Hides", "May", 412], ["Rent", "Harbour Trust", "June", 640], ["Insurance of the press", "Harbour Mutual", "July", 52], ["Rent", "Harbour Trust", "July", 640], ["Marbling colours", "Sato Papers", "August", 118]]),
]  # fmt: skip

SLIDES = [
    ("A bindery by the harbour", ["Three people, one press from 1911", "Two hundred books a year", "Talk for the Harbour Trust, 9 October 2024"], "Pass a finished book round.", "sign"),
    ("What we repair", ["Broken spines", "Loose sections", "Water damage"], "Show the flooded parish register.", ""),
    ("Courses in autumn", ["Paste paper in September", "Coptic stitch in October", "A notebook in one evening"], "Lists lie beside the door.", ""),
]  # fmt: skip

NEWSLETTER = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Wickersea Harbour Letter, summer 2024</title></head>
<body><h1>Wickersea Harbour Letter</h1>
<p>Summer 2024. The ferry to Skarholm runs twice a day from midsummer. Bicycles travel free.</p>
<h2>Lantern evening</h2>
<p>On the last Saturday in August the boats carry lanterns, and whoever has no boat may sit on the pier. Bring a blanket and something hot to drink.</p>
<ul><li>Quay closed to cars from five</li><li>Brass band at seven</li><li>Lanterns lit at nine</li></ul>
<h2>New in Gull Lane</h2>
<p>Ida Marten has opened a bindery in the old boat store, where her great-grandfather bound ledgers until 1939.</p>
</body></html>
"""

MAIL = """\
Dear Ida,

the cookbook has lost its spine and half of the chapter on pickles. Could you
sew it again before my sister's wedding in September? The stains may stay,
they are part of the recipes. I attach the recipe that everybody asks for.

Warm regards
Lena
"""

PICKLES = """\
Green tomato pickles, as grandmother made them

2 kg green tomatoes, 4 onions, 1 litre of vinegar, 300 g sugar,
mustard seeds, two bay leaves. Salt overnight, rinse, simmer for ten minutes.
Keeps for two winters in a cool cellar.
"""

STORY = [
    (
        "The keeper's clock",
        [
            "Every evening the keeper wound the clock, although nobody on the island needed the hour.",
            "The tide told them when to row and the gulls told them when to rest.",
            "But the clock had come with the lamp, and the lamp had come with the keeper, and so all three were kept going.",
        ],
    ),
    (
        "A visitor",
        [
            "In the third winter a clockmaker was washed ashore with a brass key around her neck.",
            "She listened to the ticking for a long while and said: it is four minutes homesick.",
            "Nothing is broken. It was made in a town further east, and it has never stopped living there.",
        ],
    ),
    (
        "Four minutes",
        [
            "They did not mend it. Each day at noon the island waited four minutes before the bell was rung.",
            "The ferry learned to wait as well, and in time even the tide was suspected of it.",
        ],
    ),
]

RECIPE = """\
# Rhubarb and ginger jam

For six jars. Lena's favourite; she gets two of them for the cookbook.

- 1.5 kg rhubarb
- 1 kg sugar
- 60 g fresh ginger, grated
- the juice of two lemons

Leave the rhubarb in the sugar overnight. Boil for twenty minutes, stir in the ginger,
and test a spoonful on a cold saucer: it is ready when it wrinkles.
"""

LOG = """\
# Log of the Pipit

## 8 June 2024
Wickersea to Skarholm, 3 hours 20 minutes. Wind south-west 3, later 4. Noor steered past the pier alone.
Biscuit was seasick once, and then asleep.

## 14 September 2024
Engine would not start in the entrance; sailed on to the mooring. Water in the diesel filter. Ask Harald Nygaard.

## 12 April 2025
Two coats of antifouling, new bronze screws in the garboard plank, seams payed with oakum and pitch. She swells for three days before we trust her.

## 21 June 2025
Midsummer on the beach of Skarholm. Stayed the night at anchor in four metres, sand. Brass lamp lit.
"""

JAPANESE = """\
# 京都の和紙工房

六月十日、友人と和紙の工房を訪ねた。楮の繊維を水に溶かし、竹の簀で漉く。
職人さんは「急ぐと紙が泣く」と言った。帰りに桜色の和紙を十枚買った。
"""

CHINESE = """\
# 搬家清单

星期六早上九点搬到港口的新工作室。压书机由托马斯负责，纸张放在干燥的箱子里。
记得带上茶壶和祖母的剪刀。
"""

GERMAN = """\
# Garten im Juni

Die Erdbeeren sind reif, die Johannisbeeren brauchen noch zwei Wochen.
Am Zaun wächst der Holunder; Noor möchte Sirup daraus kochen.
Gießkanne reparieren, Schneckenkorn besorgen.
"""

LETTER = [
    "Ida Marten, bookbinder, Gull Lane 4, Wickersea",
    "Wickersea, 4 June 2024",
    "Subject: The gutter above our door",
    "Dear Mr Hale,",
    "the gutter above our door drips on every customer. By § 8 of the lease the Trust keeps it in repair. Would you send somebody with a long ladder before the open day on 6 July?",
    "With kind regards, Ida Marten",
]

CUSTOMERS = """\
name,town,books,last visit
Lena Osei,Skarholm,1,2024-06-11
Parish of St Bride,Wickersea,14,2024-05-29
Agnieszka Wójcik,Gdańsk,3,2024-04-02
Library of Norvik,Norvik,52,2024-03-18
Harbour School,Wickersea,28,2025-01-20
Harald Nygaard,Wickersea,2,2025-03-07
"""

SUBTITLES = """\
1
00:00:01,000 --> 00:00:04,500
Welcome to our open day at the bindery.

2
00:00:05,200 --> 00:00:09,800
This is the press. It came from a printer who went to sea.

3
00:00:10,500 --> 00:00:15,000
Noor floats the colours on the water, then lays down the paper.

4
00:00:16,000 --> 00:00:19,500
And that is Biscuit, who has just eaten the last marbled bun.
"""

CALENDAR = [
    ("20250901T081500", "20250901T120000", "First day of school", "Wickersea Harbour School"),
    ("20250916T190000", "20250916T203000", "Parents' evening", "School library"),
    ("20251006T081500", "20251010T130000", "Project week: islands", "Class 4"),
    ("20251111T173000", "20251111T190000", "Lantern walk to the pier", "Meet at the school gate, bring a lantern"),
]

ARCHIVE = {
    "passage notes/Skarholm.txt": "Skarholm, south beach\nAnchor in four metres, sand, good holding. Open to the south. Fresh water at the ferry jetty.\n",
    "passage notes/Wickersea entrance.txt": "Wickersea entrance\nKeep the lighthouse and the church in line, 312 degrees. The bar breaks in westerly gales.\n",
    "passage notes/engine.txt": "Starting the Sabb diesel\nDecompress, twenty turns, drop the lever, hope. Spare impeller in the green tin.\n",
}

MEMO = (
    "Good morning. The lady with the old umbrella is coming on Friday. "
    "Please put her family album on the big table and call me in the afternoon."
)

INTERVIEW = (
    (make_speech.MICHAEL, "Good morning. How old is the machine in your workshop?"),
    (make_speech.ANNIE, "It is more than one hundred years old. My father bought it from a newspaper."),
    (make_speech.MICHAEL, "That is wonderful. And does it still work?"),
    (make_speech.ANNIE, "Yes, of course. It is slow, but we love it."),
)

OLD_LEASE = [
    ["# Lease of 1911", "The Trust lets the boat store at Gull Lane 4 to Henrik Marten, bookbinder."],
    ["# Rent", "Forty crowns a year, and one bound ledger each Christmas."],
    ["# Things left in the store", "Two anchors, a coil of rope, and a brass sextant without its case."],
]

BILLS = {
    "2024": {
        "date": "12 September 2024", "number": "2024-40-2217", "period": "1 May 2024 to 31 August 2024", "kind": "wind and sun",
        "used": "912", "price": "0.31", "energy": "282.72", "instalment": "30.00", "paid": "360.00", "verb": "To pay", "rest": "36.72",
        "advice": "Please pay 36.72 crowns by 30 September 2024.", "more": "Your new monthly instalment is 34 crowns.", "share": "71 %",
    },
    "2025": {
        "date": "10 September 2025", "number": "2025-40-2217", "period": "1 September 2024 to 31 August 2025", "kind": "wind and sun",
        "used": "2,684", "price": "0.29", "energy": "778.36", "instalment": "78.00", "paid": "936.00", "verb": "Credit", "rest": "43.64",
        "advice": "We pay back 43.64 crowns to your account.", "more": "You used 11 % less than a household of your size.", "share": "83 %",
    },
}  # fmt: skip
USED = {"2024": (0, 0, 0, 0, 0, 0, 0, 0, 268, 214, 208, 222), "2025": (231, 254, 262, 281, 290, 262, 244, 208, 176, 158, 154, 164)}
MONTHS = "SONDJFMAMJJA"


def bars(used: tuple[int, ...]) -> str:
    return "".join(
        f'<rect x="{20 + n * 38}" y="{110 - kwh / 3:.0f}" width="24" height="{kwh / 3:.0f}" rx="2" fill="#0b7a75" opacity=".8"/>'
        f'<text x="{32 + n * 38}" y="124" font-size="10" text-anchor="middle" fill="#555">{MONTHS[n]}</text>'
        for n, kwh in enumerate(used)
    )


def mail() -> bytes:
    """An e-mail with two attachments."""
    message = EmailMessage()
    message["From"] = "Lena Osei <lena.osei@example.org>"
    message["To"] = "Marten & Daughter <bindery@example.org>"
    message["Date"] = "Tue, 11 Jun 2024 08:12:00 +0200"
    message["Subject"] = "My grandmother's cookbook"
    message["Message-ID"] = "<cookbook@example.org>"
    message.set_content(MAIL)
    message.add_attachment(PICKLES, filename="green tomato pickles.txt")
    message.set_boundary("=_cookbook")
    return message.as_bytes()


def calendar() -> bytes:
    rows = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Wickersea Harbour School//Class 4//EN", "X-WR-CALNAME:Class 4, autumn term 2025"]
    for number, (start, end, what, where) in enumerate(CALENDAR):
        rows += ["BEGIN:VEVENT", f"UID:{number}@harbour-school.example", "DTSTAMP:20250825T120000Z"]
        rows += [f"DTSTART:{start}", f"DTEND:{end}", f"SUMMARY:{what}", f"LOCATION:{where}", "END:VEVENT"]
    return "\r\n".join([*rows, "END:VCALENDAR", ""]).encode()


def workbook() -> str:
    """Sheets as tables of HTML, which LibreOffice turns into a workbook."""
    sheets = ""
    for name, heading, rows in BUDGET:
        head = "".join(f'<td bgcolor="#26345f"><b><font color="#ffffff" face="Lato">{cell}</font></b></td>' for cell in heading)
        body = "".join("<tr>" + "".join(f'<td><font face="Lato">{cell}</font></td>' for cell in row) + "</tr>" for row in rows)
        title = f'<tr><td colspan="{len(heading)}"><b><font size="5" face="Lato">Marten &amp; Daughter: {name.lower()}</font></b></td></tr>'
        widths = "".join('<col width="130">' for _ in heading)
        sheets += f"<table>{widths}{title}<tr>{head}</tr>{body}</table><br>"
    return f'<html><head><meta charset="utf-8"><title>Budget of the bindery 2024</title></head><body>{sheets}</body></html>'


def bells() -> bytes:
    """Four notes, each struck and fading."""
    rate = make_media.RATE
    notes = []
    for hertz in (659.3, 523.3, 587.3, 392.0):
        note = make_media.tone(0.9, hertz, 0.6)
        notes.append((note * numpy.exp(-3 * numpy.arange(len(note)) / rate)).astype("float32"))
    out = io.BytesIO()
    with av.open(out, "w", format="mp3", options={"fflags": "+bitexact"}) as recording:
        recording.metadata.update(
            {"title": "The carillon of St Bride", "artist": "Tomas Brandt", "album": "Sounds of Wickersea"}
        )
        make_media.sound(recording, "libmp3lame", numpy.concatenate(notes), rate, bit_rate=32_000)
    return out.getvalue()


def memo() -> bytes:
    """A note that somebody spoke into a telephone."""
    sound = make_speech.around(make_speech.spoken(make_speech.ANNIE, MEMO))
    return make_speech.recording("aac", sound, make_speech.RATE, "ipod", 32_000, {"title": "Note about Friday"})


def interview() -> bytes:
    """Two people talk about the press."""
    channels, _ = make_speech.conversation(INTERVIEW, 44_100)
    tags = {"title": "Interview about the old press", "artist": "Harbour Radio", "date": "2024-07-06"}
    return make_speech.recording("libmp3lame", channels, 44_100, "mp3", 64_000, tags)


def scanned(pages: list[list[str]]) -> bytes:
    """Pages as a scanner sees old paper."""
    pictures = []
    for number, texts in enumerate(pages):
        image, draw = make_pages.paper((827, 1169))
        make_pages.set_text(draw, texts, (90, 120), 650, 26 if number else 36)
        grey = numpy.asarray(image.convert("L"), float) / 255
        y, x = numpy.mgrid[0:1169, 0:827]
        tone = 0.94 - 0.1 * (numpy.abs(x - 413) / 413) ** 4 - 0.02 * y / 1169
        brown = numpy.stack([tone * grey, tone * grey * 0.95, tone * grey * 0.82], -1)
        pictures.append(Image.fromarray((numpy.clip(brown, 0, 1) * 255).astype("uint8")))
    return make_pages.pdf_of(pictures)


def archive() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in ARCHIVE.items():
            packed.writestr(zipfile.ZipInfo(name, (2025, 5, 30, 9, 0, 0)), text)
    return out.getvalue()


def presentation(printer: demo_office.Printer) -> bytes:
    sign = printer.picture("door_sign").resize((800, 600))
    packed = demo_pictures.saved(sign.crop((156, 0, 644, 600)), "JPEG", 72)
    pictures = {"sign": base64.b64encode(packed).decode("ascii")}
    return demo_office.converted(demo_office.slides(SLIDES, pictures), "fodp", "pptx")


def smaller(image: Image.Image, longest: int = 720) -> Image.Image:
    """The picture with fewer pixels, so that the demo vault is digested in seconds."""
    image.thumbnail((longest, longest), Image.Resampling.LANCZOS)
    return image


def photo(image: Image.Image, taken: str, said: str, place: tuple[float, float], format_: str = "JPEG") -> bytes:
    return demo_pictures.saved(smaller(image), format_, 80 if format_ == "JPEG" else 55, demo_pictures.exif(taken, "K-3", said, place))


def files(printer: demo_office.Printer) -> dict[str, Callable[[], bytes]]:
    """How every file of the demo vault is made, by its path."""

    def bill(year: str) -> bytes:
        return printer.pdf("electricity", bars=bars(USED[year]), **BILLS[year])

    def word(body: str, to: str) -> bytes:
        return demo_office.converted(demo_office.text_page(body), "html", to, "--infilter=HTML (StarWriter)")

    def drawing(name: str, format_: str, longest: int = 1170) -> bytes:
        return demo_pictures.saved(smaller(printer.picture(name), longest), format_, 74)

    return {
        "boat/bill of sale of the Pipit 2019.pdf": partial(printer.pdf, "bill_of_sale"),
        "boat/log of the Pipit.md": LOG.encode,
        "boat/Pipit under sail.jpg": lambda: photo(demo_pictures.sailing(), "2025:06:20 15:40:00", "The Pipit off Wickersea", (54.39, 10.22)),
        "boat/receipt of the chandler 2025-04-12.jpg": lambda: drawing("till_receipt", "JPEG", 900),
        "boat/passage notes.zip": archive,
        "contracts/workshop lease.pdf": partial(printer.pdf, "lease"),
        "contracts/lease of 1911 (scan).pdf": lambda: scanned(OLD_LEASE),
        "family/Biscuit at the vet 2025-02.pdf": partial(printer.pdf, "vet_invoice"),
        "family/letter from Oma.jpg": lambda: drawing("oma", "JPEG", 900),
        "family/moving quotation.pdf": partial(printer.pdf, "moving_quote"),
        "family/school autumn 2025.pdf": partial(printer.pdf, "school"),
        "family/school dates.ics": calendar,
        "meetings/2024-06-03 minutes.docx": lambda: word(MINUTES, "docx:MS Word 2007 XML"),
        "money/budget.xlsx": lambda: demo_office.converted(workbook(), "html", "xlsx:Calc MS Excel 2007 XML", "--infilter=HTML (StarCalc)"),
        "money/customers.csv": CUSTOMERS.encode,
        "money/electricity 2024.pdf": lambda: bill("2024"),
        "money/electricity 2025.pdf": lambda: bill("2025"),
        "money/income tax 2024.pdf": partial(printer.pdf, "tax"),
        "talks/bindery.pptx": lambda: presentation(printer),
        "letters/gutter.rtf": lambda: writers.rtf(LETTER),
        "letters/insurance.odt": lambda: word(INSURANCE, "odt"),
        "letters/cookbook.eml": mail,
        "reading/harbour letter.html": NEWSLETTER.encode,
        "reading/four minutes homesick.epub": lambda: writers.epub("Four Minutes Homesick", STORY),
        "notes/rhubarb jam.md": RECIPE.encode,
        "notes/garten.md": GERMAN.encode,
        "notes/washi.md": JAPANESE.encode,
        "notes/moving.md": CHINESE.encode,
        "pictures/Biscuit on the beach.jpg": lambda: photo(demo_pictures.beach(), "2025:06:21 11:05:00", "Biscuit on the beach of Skarholm", (54.42, 10.29)),
        "pictures/door sign.jpg": lambda: drawing("door_sign", "JPEG", 720),
        "pictures/IMG_0412.heic": lambda: photo(demo_pictures.harbour(), "2024:08:31 20:52:00", "Lantern evening in the harbour", (54.38, 10.2), "HEIF"),
        "pictures/moving day.jpg": lambda: photo(demo_pictures.boxes(), "2024:04:20 09:12:00", "Moving day in Mill Street", (54.31, 10.14)),
        "recordings/bells.mp3": bells,
        "recordings/memo.m4a": memo,
        "recordings/interview.mp3": interview,
        "recordings/open day film.srt": SUBTITLES.encode,
    }


def main(parts: list[str]) -> None:
    with demo_office.font_settings(), demo_office.printer() as printer:
        for path, make in files(printer).items():
            if not parts or any(part in path for part in parts):
                (DEMO / path).parent.mkdir(parents=True, exist_ok=True)
                (DEMO / path).write_bytes(make())
    bill = "money/electricity 2025.pdf"
    (DEMO / "money/electricity 2025 (1).pdf").write_bytes((DEMO / bill).read_bytes())  # downloaded twice


if __name__ == "__main__":
    main(sys.argv[1:])
