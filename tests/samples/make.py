"""Write the samples that the tests read into this folder: `python tests/samples/make.py`."""

from __future__ import annotations

import plistlib
from pathlib import Path

import writers

HERE = Path(__file__).resolve().parent

MAIL = """\
From: =?utf-8?q?J=C3=BCrgen_Brandt?= <juergen@example.org>
To: Ada Winter <ada@example.org>
Date: Mon, 6 May 2024 09:30:00 +0200
Subject: =?utf-8?b?UmVjaG51bmcgZsO8ciBkaWUgRmVuc3Rlcg==?=
Message-ID: <window-7@example.org>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="seam"

--seam
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

The glazier comes on Thursday. Sch=F6ne Gr=FC=DFe, J=FCrgen
--seam
Content-Type: application/pdf; name="invoice.pdf"
Content-Disposition: attachment; filename="invoice.pdf"
Content-Transfer-Encoding: base64

JVBERi0xLjQK
--seam--
"""

PAGE = """\
<!DOCTYPE html>
<html lang="en"><head><title>Tide tables</title><style>p { color: navy }</style></head>
<body><h1>Harbour notes</h1><p>High water at the jetty is at noon.</p>
<table><tr><th>Day</th><th>Height</th></tr><tr><td>Monday</td><td>3.4 m</td></tr></table></body></html>
"""


def samples() -> dict[str, bytes]:
    """Every sample by its file name."""
    return {
        "contract.pdf": writers.pdf(
            [
                ["# Rental contract", "The tenant keeps a lighthouse in good repair.", "Rent is due on the first."],
                ["# Second page", "The deposit is three hundred crowns.", "Pets other than gulls are welcome."],
                ["# Third page", "Signed in the harbour office by both parties."],
            ]
        ),
        "half_scanned.pdf": writers.pdf([["Only this page can be read."], [], []]),
        "scanned.pdf": writers.pdf([[], []]),
        "minutes.docx": writers.docx(
            ["# Meeting minutes", "We agreed to paint the boathouse.", "# Open points", "Who buys the turpentine?"],
            comments=[("Ada Winter", "I have two cans of varnish left.")],
        ),
        "budget.xlsx": writers.xlsx(
            [
                ("Income", [["Source", "Amount"], ["Regatta", 1250], ["Membership", 480]]),
                ("Costs", [["Item", "Amount"], ["Varnish", 96.5], ["Rope", 41]]),
            ]
        ),
        "filtered.xlsx": writers.xlsx(
            [("All", [["Name", "Town"], ["Alder", "Ghent"], ["Birch", "Lyon"], ["Cedar", "Porto"]])], hidden=[3]
        ),
        "slides.pptx": writers.pptx(
            [
                ("Season review", ["Nine regattas", "No capsizing"], "Thank the pilots first."),
                ("Next season", ["A new jetty"], ""),
            ]
        ),
        "letter.odt": writers.odt(["# To the harbour master", "The buoy by the mole has drifted."]),
        "story.epub": writers.epub(
            "The Ferry", [("Dawn", ["The ferry left early."]), ("Dusk", ["It came back empty."])]
        ),
        "letter.rtf": writers.rtf(["Dear neighbour,", "the hedge grows über the wall."]),
        "page.html": PAGE.encode(),
        "mail.eml": MAIL.encode("ascii"),
        "cities.cp1251.csv": "имя;город\nИван;Москва\nОльга;Казань\n".encode("cp1251"),
        "note.shiftjis.txt": "これは日本語のメモです。明日は港へ行きます。\n".encode("cp932"),
        "note.utf16.txt": "Grüße aus dem Hafen, 你好\r\n".encode("utf-16"),
        "note.gb18030.txt": "今天的会议记录：预算和时间表。\n".encode("gb18030"),
        "note.big5.txt": "今天的會議記錄：預算和時間表。\n".encode("big5"),
        "note.cp1252.txt": "Schöne Grüße aus Köln – bis übermorgen!\r\n".encode("cp1252"),
        "german.md": "# Einkauf\n\nÄpfel, Brötchen und Käse für Sonntag.\n".encode(),
        "chinese.md": "# 读书笔记\n\n春天来了，花园里的花都开了。\n".encode(),
        "japanese.md": "# 料理メモ\n\n味噌汁には豆腐とわかめを入れる。\n".encode(),
        "dot.png": writers.png(8, 8, (200, 80, 40)),
        "link.url": b"[InternetShortcut]\r\nURL=https://example.org/tides\r\n",
        "link.webloc": plistlib.dumps({"URL": "https://example.org/tides"}, fmt=plistlib.FMT_BINARY),
        "link.txt": b"https://example.org/harbour?day=1\n",
        "drawing.svg": b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>\n',
    }


if __name__ == "__main__":
    for name, content in samples().items():
        (HERE / name).write_bytes(content)
