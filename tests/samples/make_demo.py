"""Write the demo vault that we ship: `python tests/samples/make_demo.py`.

It lives outside the vault, whose words it would repeat:
`periwinkle` stands only in the PDF, `marzipan` only in the DOCX, `oakum` only on the painted sign, `sextant` only on
the third page of the scan, `carillon` only in the tags of the recording; `umbrella` is said only in the memo and
`newspaper` only in the interview, by the same voice. Needs espeak-ng.
"""

from __future__ import annotations

import io
import math
from pathlib import Path

import av
import make_media
import make_pages
import make_speech
import numpy
import pillow_heif
import writers
from PIL import Image, ImageDraw, ImageFilter

DEMO = Path(__file__).resolve().parents[2] / "demo"

CONTRACT = [
    [
        "# Lease of the workshop, Gull Lane 4",
        "between Marten & Daughter, bookbinders, and the Wickersea Harbour Trust.",
        "",
        "1. The Trust lets the ground floor of Gull Lane 4 as a workshop for binding and repairing books.",
        "2. The lease begins on 1 June 2024 and runs for five years.",
        "3. The rent is 640 crowns a month, due on the first working day.",
    ],
    [
        "# Care of the building",
        "4. The front door and the shutters are painted periwinkle every third year, at the tenant's cost.",
        "5. The chimney is swept each autumn. The Trust pays the sweep.",
        "6. Heavy machines stand on the stone floor only, never above the cellar vault.",
    ],
    [
        "# End of the lease",
        "7. Either side may give notice six months before the end of a year.",
        "8. The deposit of 1,920 crowns is returned within thirty days.",
        "Wickersea, 14 May 2024. Signed: Ida Marten; for the Trust: Olof Hale.",
    ],
]

MINUTES = [
    "# Meeting of 3 June 2024",
    "Present: Ida, Noor, Tomas. The new press arrives on the twelfth; Tomas borrows a pallet truck.",
    "# Open day",
    "We show marbling in the yard. Noor bakes: plum cake, and marzipan apples for the children.",
    "# To do",
    "Ida asks the Trust about the gutter. Noor orders linen thread. Tomas writes to the school.",
]

BUDGET: list[tuple[str, list[list[str | float]]]] = [
    (
        "Income",
        [
            ["Month", "Binding", "Repairs", "Courses"],
            ["April", 2140, 860, 300],
            ["May", 1985, 1120, 450],
            ["June", 2410, 940, 600],
        ],
    ),
    (
        "Costs",
        [
            ["Item", "Supplier", "Crowns"],
            ["Linen thread", "Haverkamp", 84.5],
            ["Goatskin", "Ruiz Hides", 412],
            ["Rent", "Harbour Trust", 640],
        ],
    ),
]

SLIDES = [
    (
        "A bindery by the harbour",
        ["Three people, one press from 1911", "Two hundred books a year"],
        "Pass the sample book round.",
    ),
    ("What we repair", ["Broken spines", "Loose sections", "Water damage"], "Show the flooded parish register."),
    ("Courses in autumn", ["Paste paper in September", "Coptic stitch in October"], ""),
]

NEWSLETTER = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Wickersea Harbour Letter, summer</title></head>
<body><h1>Wickersea Harbour Letter</h1>
<p>The ferry to Skarholm runs twice a day from midsummer. Bicycles travel free.</p>
<h2>Lantern evening</h2>
<p>On the last Saturday in August the boats carry lanterns. Bring a blanket and something hot to drink.</p>
<ul><li>Quay closed to cars from five</li><li>Brass band at seven</li><li>Lanterns lit at nine</li></ul>
</body></html>
"""

MAIL = """\
From: Lena Osei <lena.osei@example.org>
To: Marten & Daughter <bindery@example.org>
Date: Tue, 11 Jun 2024 08:12:00 +0200
Subject: My grandmother's cookbook
Message-ID: <cookbook@example.org>
MIME-Version: 1.0
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: 8bit

Dear Ida,

the cookbook has lost its spine and half of the chapter on pickles. Could you
sew it again before my sister's wedding in September? The stains may stay,
they are part of the recipes.

Warm regards
Lena
"""

STORY = [
    (
        "The keeper's clock",
        [
            "Every evening the keeper wound the clock, although nobody on the island needed the hour.",
            "The tide told them when to row and the gulls told them when to rest.",
        ],
    ),
    (
        "A visitor",
        [
            "In the third winter a clockmaker was washed ashore with a brass key around her neck.",
            "She listened to the ticking for a long while and said: it is four minutes homesick.",
        ],
    ),
]

RECIPE = """\
# Rhubarb and ginger jam

For six jars.

- 1.5 kg rhubarb
- 1 kg sugar
- 60 g fresh ginger, grated
- the juice of two lemons

Leave the rhubarb in the sugar overnight. Boil for twenty minutes, stir in the ginger,
and test a spoonful on a cold saucer: it is ready when it wrinkles.
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
    "Harbour Trust, Wickersea",
    "Dear Mr Hale,",
    "the gutter above our door drips on every customer. Would you send Mr Brandt with his long ladder?",
    "With kind regards, Ida Marten",
]

CUSTOMERS = """\
name,town,books,last visit
Lena Osei,Skarholm,1,2024-06-11
Parish of St Bride,Wickersea,14,2024-05-29
Agnieszka Wójcik,Gdańsk,3,2024-04-02
Library of Norvik,Norvik,52,2024-03-18
"""

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

SIGN = ["MARTEN & DAUGHTER", "bookbinders", "oakum, thread and paste", "at the back door"]

OLD_LEASE = [
    ["# Lease of 1911", "The Trust lets the boat store at Gull Lane 4 to Henrik Marten, bookbinder."],
    ["# Rent", "Forty crowns a year, and one bound ledger each Christmas."],
    ["# Things left in the store", "Two anchors, a coil of rope, and a brass sextant without its case."],
]


def door_sign() -> Image.Image:
    """A painted board on a brick wall, a little aslant."""
    wall = Image.new("RGB", (1600, 1200), (150, 92, 74))
    draw = ImageDraw.Draw(wall)
    for row in range(0, 1200, 60):
        for left in range(-80 if row // 60 % 2 else 0, 1600, 160):
            shade = 6 * ((row * 7 + left * 3) % 9)
            draw.rectangle((left, row, left + 152, row + 52), (158 + shade // 2, 84 + shade, 66 + shade))
    board = Image.new("RGB", (1000, 560), (38, 52, 92))
    painted = ImageDraw.Draw(board)
    painted.rectangle((16, 16, 983, 543), outline=(226, 205, 150), width=8)
    for line, size, top in zip(SIGN, (78, 54, 62, 54), (60, 190, 300, 420), strict=True):
        face = make_pages.font(make_pages.BOLD, size)
        painted.text((500, top), line, (240, 232, 210), face, anchor="ma")
    tilted = board.convert("RGBA").rotate(2.5, Image.Resampling.BICUBIC, expand=True)
    wall.paste(tilted, (280, 280), tilted)
    return wall.filter(ImageFilter.GaussianBlur(0.8))


def harbour() -> Image.Image:
    """Sea, sky, a pier and a boat at dusk."""
    image = Image.new("RGB", (1200, 900))
    draw = ImageDraw.Draw(image)
    for y in range(900):
        sky = (235 - y // 6, 170 - y // 9, 120 + y // 10) if y < 520 else (40 + y // 30, 60 + y // 20, 100 + y // 18)
        draw.line((0, y, 1200, y), sky)
    draw.ellipse((820, 380, 960, 520), (255, 225, 160))
    draw.rectangle((0, 520, 1200, 530), (30, 50, 90))
    for post in range(60, 600, 90):
        draw.rectangle((post, 500, post + 16, 760), (60, 44, 36))
    draw.rectangle((20, 490, 620, 516), (86, 62, 48))
    draw.polygon([(700, 640), (1010, 640), (960, 710), (750, 710)], (120, 40, 36))
    draw.polygon([(850, 360), (850, 630), (980, 630)], (236, 230, 214))
    waves = [(x, 780 + 8 * math.sin(x / 30)) for x in range(0, 1201, 6)]
    draw.line(waves, (150, 170, 190), 3)
    return image


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
    return make_speech.recording("aac", sound, make_speech.RATE, "ipod", 32_000)


def interview() -> bytes:
    """Two people talk about the press."""
    channels, _ = make_speech.conversation(INTERVIEW, 44_100)
    return make_speech.recording("libmp3lame", channels, 44_100, "mp3", 64_000)


def scanned(pages: list[list[str]]) -> bytes:
    pictures = []
    for texts in pages:
        image, draw = make_pages.paper((827, 1169))
        make_pages.set_text(draw, texts, (80, 100), 660, 24)
        pictures.append(image)
    return make_pages.pdf_of(pictures)


def picture(image: Image.Image, format_: str) -> bytes:
    out = io.BytesIO()
    if format_ == "HEIF":
        pillow_heif.from_pillow(image).save(out, quality=60)
    else:
        image.save(out, format_, quality=70)
    return out.getvalue()


def files() -> dict[str, bytes]:
    """Every file of the demo vault by its path."""
    return {
        "contracts/workshop lease.pdf": writers.pdf(CONTRACT),
        "meetings/2024-06-03 minutes.docx": writers.docx(
            MINUTES, comments=[("Tomas", "The school has a stage we can borrow.")]
        ),
        "money/budget.xlsx": writers.xlsx(BUDGET),
        "money/customers.csv": CUSTOMERS.encode(),
        "talks/bindery.pptx": writers.pptx(SLIDES),
        "letters/gutter.rtf": writers.rtf(LETTER),
        "letters/insurance.odt": writers.odt(
            ["# Insurance of the press", "The press of 1911 is insured for 4,000 crowns against fire and flood."]
        ),
        "letters/cookbook.eml": MAIL.encode(),
        "reading/harbour letter.html": NEWSLETTER.encode(),
        "reading/four minutes homesick.epub": writers.epub("Four Minutes Homesick", STORY),
        "notes/rhubarb jam.md": RECIPE.encode(),
        "notes/garten.md": GERMAN.encode(),
        "notes/washi.md": JAPANESE.encode(),
        "notes/moving.md": CHINESE.encode(),
        "contracts/lease of 1911 (scan).pdf": scanned(OLD_LEASE),
        "pictures/door sign.jpg": picture(door_sign(), "JPEG"),
        "pictures/IMG_0412.heic": picture(harbour(), "HEIF"),
        "recordings/bells.mp3": bells(),
        "recordings/memo.m4a": memo(),
        "recordings/interview.mp3": interview(),
        "pictures/shutter colour.png": writers.png(96, 64, (142, 130, 254)),
    }


if __name__ == "__main__":
    for path, content in files().items():
        (DEMO / path).parent.mkdir(parents=True, exist_ok=True)
        (DEMO / path).write_bytes(content)
