"""Write page images and what stands on them into `pages/`: `python tests/samples/make_pages.py`.

Each picture has its words in a .txt beside it, in reading order. A picture whose font is not installed is left as it is.
"""

from __future__ import annotations

import io
import math
import random
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFilter, ImageFont

HERE = Path(__file__).resolve().parent / "pages"
FONTS = Path("/usr/share/fonts/truetype")
SERIF, SANS = FONTS / "dejavu/DejaVuSerif.ttf", FONTS / "dejavu/DejaVuSans.ttf"
BOLD = FONTS / "dejavu/DejaVuSans-Bold.ttf"
CHINESE_FONT = FONTS / "wqy/wqy-zenhei.ttc"
FREE_SERIF = FONTS / "freefont/FreeSerif.ttf"
ARABIC_FONT, HINDI_FONT = FONTS / "noto/NotoNaskhArabic-Regular.ttf", FONTS / "noto/NotoSansDevanagari-Regular.ttf"
KOREAN_FONT = FONTS.parent / "opentype/noto/NotoSansCJK-Regular.ttc"
PAGE = (1166, 1654)  # A5 at 200 dots per inch

LETTER = [
    "# Keeping the lighthouse",
    "The lamp is lit one hour before sunset and burns until the morning mist has lifted from the harbour mouth. Whoever "
    "keeps the watch writes the time, the wind and the height of the water into the log before going to bed.",
    "Oil is delivered on the first Tuesday of each month. In 1987 the keeper counted 214 barrels, of which 36 leaked; "
    "the bill came to 1,249.50 crowns and was paid in full by the pilots' guild.",
    "Gulls may be fed, cormorants may not. A quokka was once seen near the boathouse, but nobody believed the cook.",
    "Visitors climb the 168 steps at their own risk; children under seven are carried. The brass is polished with "
    "vinegar, the lens with nothing but a dry cloth of linen.",
    "Signed at the harbour office, 6 May 1988, by Ada Winter (keeper) and J. Brandt (treasurer).",
]
COLUMNS = [
    [
        "The ferry leaves at a quarter past seven from the northern jetty and takes forty minutes to the island when "
        "the tide is with her. Bicycles travel below, dogs above, and the post goes with the captain in a leather bag "
        "that was made by his grandfather.",
        "In winter the crossing is a matter of luck. Ice drifts down the river in plates as large as tables, and twice "
        "in living memory the harbour was closed for nine weeks. Bread was then brought over by sledge.",
        "The islanders keep sheep, mend nets and quarrel about the height of the new sea wall. They agree that it ought "
        "to be higher than the old one.",
    ],
    [
        "A museum was opened in the former rope works. It shows a whale's jaw, three hundred kinds of knots and the "
        "complete wheelhouse of the steamer Zephyrine, which ran aground in 1911 with a cargo of oranges.",
        "For weeks the children ate nothing else. The rind was boiled to marmalade, and the village won a prize for it "
        "at the exhibition in the capital the year after.",
        "Guided walks begin at the church on Sundays. Sturdy boots are advised, for the path along the cliff is steep "
        "and slippery after rain, and there is no railing beyond the second bench.",
    ],
]  # fmt: skip
ACCENTS = [
    "# Größe und Maß",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich; müde Bären dösen im Gänseblümchenfeld. "
    "Die Straße nach Köln ist gesperrt, Fußgänger gehen über die Brücke.",
    "Dès Noël, où un zéphyr haï me vêt de glaçons würmiens, je dîne d'exquis rôtis de bœuf à l'aÿ d'âge mûr. "
    "L'élève a reçu un gâteau à la crème brûlée près de la forêt.",
    "El niño pingüino comió jalapeños mañana por la mañana. Žluťoučký kůň pěl ďábelské ódy. "
    "Smørrebrød på Ærø, ål och kräftor från Åbo.",
]
CHINESE = [
    "春天来了，花园里的花都开了。",
    "今天的会议记录：预算和时间表。",
    "请在星期五之前把报告寄给办公室。",
    "港口的灯塔建于一九八七年。",
    "船长每天早上七点出发去岛上。",
]
CYRILLIC = [
    "Съешь же ещё этих мягких французских булок,",
    "да выпей чаю. Маяк зажигают за час до заката,",
    "и он горит, пока над гаванью не поднимется туман.",
    "Смотритель пишет время и ветер в журнал.",
]
MIXED = [
    "Invoice 2024-117 of the harbour office",
    "Поставщик: кооператив «Северный маяк», Архангельск",
    "Delivery of lamp oil and cotton wicks in April",
    "Оплатить до пятнадцатого мая на счёт кооператива",
    "Total amount due: 1,249.50 crowns",
]
GREEK = [
    "Πρακτικά της συνεδρίασης στο λιμάνι",
    "Ο φάρος ανάβει μία ώρα πριν από τη δύση του ήλιου.",
    "Το λάδι κοστίζει 4860 δραχμές τον χρόνο.",
]
ARABIC = [
    "محضر اجتماع لجنة الميناء",
    "يضاء المصباح قبل غروب الشمس بساعة واحدة.",
    "تبلغ تكلفة الزيت 4860 دينارا في السنة.",
]
HEBREW = ["פרוטוקול ישיבת ועד הנמל", "המגדלור נדלק שעה אחת לפני שקיעת השמש.", "השמן עולה 4860 שקלים בשנה."]
HINDI = ["बंदरगाह समिति की बैठक", "दीपक सूर्यास्त से एक घंटा पहले जलाया जाता है।", "तेल का खर्च साल में 4860 रुपये है।"]
KOREAN = ["항구 위원회 회의록", "등대의 불은 해가 지기 한 시간 전에 켠다.", "기름값은 일 년에 4860원이다."]
THAI = ["รายงานการประชุมท่าเรือ", "ไฟประภาคารจุดก่อนพระอาทิตย์ตกหนึ่งชั่วโมง", "ค่าน้ำมันปีละ 4860 บาท"]
SIGN = ["HOTEL", "Quetzalpension", "3 km"]
SCANS = [
    ["# Minutes of the first evening", "We met in the boathouse and elected a treasurer.", "Nobody wanted the post."],
    ["# Second sheet", "The roof leaks above the slipway.", "Tar and felt cost ninety crowns."],
    ["# Third sheet", "The guest of honour brought a narwhal tooth.", "It was weighed and returned."],
]


def font(path: Path, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(path), size)


def wrapped(draw: ImageDraw.ImageDraw, text: str, face: ImageFont.FreeTypeFont, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if draw.textlength(longer, face) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def set_text(draw: ImageDraw.ImageDraw, texts: Sequence[str], at: tuple[int, int], width: int, size: int) -> list[str]:
    """Print paragraphs from here downwards; the lines as they were broken, a blank one after each paragraph."""
    left, top = at
    printed: list[str] = []
    for text in texts:
        heading = text.startswith("# ")
        face = font(BOLD, round(size * 1.5)) if heading else font(SERIF, size)
        for line in wrapped(draw, text.removeprefix("# "), face, width):
            draw.text((left, top), line, 0, face)
            printed.append(line)
            top += round(face.size * 1.45)
        printed.append("")
        top += round(size * 0.9)
    return printed


def paper(size: tuple[int, int] = PAGE) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    image = Image.new("L", size, 255)
    return image, ImageDraw.Draw(image)


def letter() -> tuple[Image.Image, list[str]]:
    image, draw = paper()
    return image, set_text(draw, LETTER, (100, 120), 960, 28)


def columns() -> tuple[Image.Image, list[str]]:
    image, draw = paper()
    printed = set_text(draw, ["# Notes from the island of Farhaven"], (85, 110), 1000, 30)
    for number, texts in enumerate(COLUMNS):
        printed += set_text(draw, texts, (85 + number * 520, 230), 470, 24)
    return image, printed


def accents() -> tuple[Image.Image, list[str]]:
    image, draw = paper((1240, 900))
    return image, set_text(draw, ACCENTS, (100, 90), 1040, 30)


def chinese() -> tuple[Image.Image, list[str]]:
    image, draw = paper((1000, 620))
    face = font(CHINESE_FONT, 44)
    for number, line in enumerate(CHINESE):
        draw.text((90, 80 + number * 92), line, 0, face)
    return image, CHINESE


def cyrillic() -> tuple[Image.Image, list[str]]:
    image, draw = paper((1000, 420))
    for number, line in enumerate(CYRILLIC):
        draw.text((60, 60 + number * 76), line, 0, font(SANS, 32))
    return image, CYRILLIC


def script(lines: list[str], path: Path, language: str | None = None, index: int = 0) -> tuple[Image.Image, list[str]]:
    """Lines in one script; those that run from right to left end at the left."""
    image, draw = paper((1160, 60 + 84 * len(lines)))
    face = ImageFont.truetype(str(path), 34, index=index)
    leftward = language in ("ar", "he")
    for number, line in enumerate(lines):
        draw.text(
            (1100 if leftward else 60, 40 + number * 84),
            line,
            0,
            face,
            anchor="ra" if leftward else "la",
            direction="rtl" if leftward else "ltr",
            language=language,
        )
    return image, lines


def table() -> tuple[Image.Image, list[str]]:
    image, draw = paper((1240, 760))
    rows = [
        ("Item", "Unit", "Count", "Price"),
        ("Lamp oil, refined", "barrel", "36", "1,249.50"),
        ("Rope, tarred hemp", "fathom", "420", "96.20"),
        ("Brass polish", "tin", "7", "12.05"),
        ("Window putty", "pound", "15", "8.75"),
        ("Marmalade", "jar", "112", "67.40"),
    ]
    for number, row in enumerate(rows):
        for left, cell in zip((110, 560, 800, 980), row, strict=True):
            draw.text((left, 100 + number * 92), cell, 0, font(SANS, 32))
    return image, [" | ".join(row) for row in rows]


def noisy() -> tuple[Image.Image, list[str]]:
    image, printed = letter()
    small = image.resize((744, 1052), Image.Resampling.LANCZOS).filter(ImageFilter.GaussianBlur(0.7))
    dice = random.Random(7)
    dirt = Image.frombytes(
        "L", small.size, bytes(min(255, max(0, round(dice.gauss(128, 30)))) for _ in range(small.width * small.height))
    )
    shade = Image.linear_gradient("L").resize(small.size).point(lambda grey: 255 - grey // 4)
    mixed = Image.composite(small, Image.new("L", small.size, 60), shade)
    return Image.blend(mixed, dirt, 0.35), printed


def rotated(degrees: float) -> tuple[Image.Image, list[str]]:
    image, printed = letter()
    return image.rotate(degrees, Image.Resampling.BICUBIC, fillcolor=255), printed


def quarter(turn: Image.Transpose) -> tuple[Image.Image, list[str]]:
    image, printed = letter()
    return image.transpose(turn), printed


def scene() -> tuple[Image.Image, list[str]]:
    """A road sign before sky, hills and a road, seen a little from the side."""
    width, height = 1200, 900
    image = Image.new("RGB", (width, height))
    draw = ImageDraw.Draw(image)
    for y in range(height):
        draw.line((0, y, width, y), (110 + y // 12, 150 + y // 15, 215 - y // 20))
    for hill in range(3):
        top = [(x, 520 + hill * 60 + 40 * math.sin(x / 140 + hill * 2)) for x in range(0, width + 1, 10)]
        draw.polygon([*top, (width, height), (0, height)], (60 + hill * 22, 105 + hill * 12, 60))
    draw.polygon([(520, 900), (780, 900), (640, 640), (620, 640)], (90, 90, 95))
    draw.rectangle((380, 560, 400, 880), (70, 70, 72))
    draw.rectangle((820, 560, 840, 880), (70, 70, 72))
    sign = Image.new("RGB", (640, 330), (12, 92, 52))
    on_sign = ImageDraw.Draw(sign)
    on_sign.rectangle((10, 10, 629, 319), outline=(240, 240, 235), width=6)
    for line, size, y in ((SIGN[0], 64, 34), (SIGN[1], 66, 122), (SIGN[2], 60, 218)):
        on_sign.text((320, y), line, (240, 240, 235), font(BOLD, size), anchor="ma")
    tilted = sign.convert("RGBA").rotate(4, Image.Resampling.BICUBIC, expand=True)
    image.paste(tilted, (290, 250), tilted)
    return image.filter(ImageFilter.GaussianBlur(1.0)), SIGN


def scan() -> tuple[bytes, list[str]]:
    """Three pages of pictures in a PDF, as a scanner with a feeder writes them."""
    pages: list[Image.Image] = []
    printed: list[str] = []
    for texts in SCANS:
        image, draw = paper((827, 1169))
        printed += set_text(draw, texts, (80, 100), 660, 24)
        pages.append(image)
    return pdf_of(pages), printed


def pdf_of(pages: Sequence[Image.Image]) -> bytes:
    """A PDF with one picture on each A4 page and no letter of text."""
    count = len(pages)
    kids = " ".join(f"{3 + 3 * number} 0 R" for number in range(count))
    bodies = [b"<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Count {count} /Kids [{kids}] >>".encode()]
    for number, image in enumerate(pages):
        at = 3 + 3 * number
        drawn = b"q 595 0 0 842 0 0 cm /Scan Do Q"
        bodies.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {at + 1} 0 R "
            f"/Resources << /XObject << /Scan {at + 2} 0 R >> >> >>".encode()
        )
        bodies.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn))
        pixels = zlib.compress(image.convert("L").tobytes(), 9)
        head = (
            f"<< /Type /XObject /Subtype /Image /Width {image.width} /Height {image.height} /BitsPerComponent 8 "
            f"/ColorSpace /DeviceGray /Filter /FlateDecode /Length {len(pixels)} >>\nstream\n"
        )
        bodies.append(head.encode() + pixels + b"\nendstream")
    out = bytearray(b"%PDF-1.4\n")
    starts = []
    for number, body in enumerate(bodies, 1):
        starts.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    xref = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1)
    out += b"".join(b"%010d 00000 n \n" % start for start in starts)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(bodies) + 1, xref)
    return bytes(out)


def encoded(image: Image.Image, name: str) -> bytes:
    out = io.BytesIO()
    if name.endswith(".jpg"):
        image.save(out, "JPEG", quality=55)
    else:  # sixteen greys are enough for print, and a third of the bytes
        image.point(lambda grey: (grey + 8) // 17 * 17).quantize(16).save(out, "PNG", optimize=True)
    return out.getvalue()


PICTURES: dict[str, tuple[Path, Callable[[], tuple[Image.Image, list[str]]]]] = {
    "clean.png": (SERIF, letter),
    "rotated_3.png": (SERIF, lambda: rotated(3)),
    "turned_90.png": (SERIF, lambda: quarter(Image.Transpose.ROTATE_270)),
    "upside_down.png": (SERIF, lambda: quarter(Image.Transpose.ROTATE_180)),
    "noisy.jpg": (SERIF, noisy),
    "two_columns.png": (SERIF, columns),
    "accents.png": (SERIF, accents),
    "table.png": (SANS, table),
    "chinese.png": (CHINESE_FONT, chinese),
    "cyrillic.png": (SANS, cyrillic),
    "mixed_scripts.png": (SANS, lambda: script(MIXED, SANS)),
    "greek.png": (SERIF, lambda: script(GREEK, SERIF)),
    "arabic.png": (ARABIC_FONT, lambda: script(ARABIC, ARABIC_FONT, "ar")),
    "hebrew.png": (FREE_SERIF, lambda: script(HEBREW, FREE_SERIF, "he")),
    "devanagari.png": (HINDI_FONT, lambda: script(HINDI, HINDI_FONT, "hi")),
    "korean.png": (KOREAN_FONT, lambda: script(KOREAN, KOREAN_FONT, "ko", 1)),
    "thai.png": (FREE_SERIF, lambda: script(THAI, FREE_SERIF, "th")),
    "sign.jpg": (BOLD, scene),
}


def main() -> None:
    HERE.mkdir(exist_ok=True)
    for name, (face, draw) in PICTURES.items():
        if not face.is_file():
            print(f"{name}: kept, because {face.name} is not installed")
            continue
        image, printed = draw()
        (HERE / name).write_bytes(encoded(image, name))
        (HERE / name).with_suffix(".txt").write_text("\n".join(printed).strip() + "\n", encoding="utf-8")
    if SERIF.is_file():
        data, printed = scan()
        (HERE / "three_scans.pdf").write_bytes(data)
        (HERE / "three_scans.txt").write_text("\n".join(printed).strip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
