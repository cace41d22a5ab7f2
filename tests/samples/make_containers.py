"""Write the samples of containers and structured texts into `kinds`: `python tests/samples/make_containers.py`."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path

KINDS = Path(__file__).resolve().parent / "kinds"
WHEN = (2024, 5, 6, 9, 30, 0)

MBOX = """\
From ada@example.org Mon May  6 09:30:00 2024
From: Ada Winter <ada@example.org>
To: Bruno Vogel <bruno@example.org>
Date: Mon, 6 May 2024 09:30:00 +0200
Subject: The ladder is back
Message-ID: <ladder-1@example.org>

The ladder stands behind the greenhouse again.
>From there it is easy to carry.

From - Tue May  7 10:00:00 2024
From: =?utf-8?q?J=C3=BCrgen_Brandt?= <juergen@example.org>
To: Ada Winter <ada@example.org>
Date: Tue, 7 May 2024 10:00:00 +0200
Subject: =?utf-8?q?Schl=C3=BCssel_f=C3=BCr_die_Werkstatt?=
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="seam"

--seam
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

Der Schl=FCssel h=E4ngt neben dem Barometer.
--seam
Content-Type: image/png; name="hook.png"
Content-Disposition: attachment; filename="hook.png"
Content-Transfer-Encoding: base64

iVBORw0KGgo=
--seam--

From MAILER-DAEMON Wed May  8 11:00:00 2024
From: Mina Okafor <mina@example.org>
To: Ada Winter <ada@example.org>
Date: Wed, 8 May 2024 11:00:00 +0200
Subject: Quinces

Three baskets of quinces wait in the cellar.
"""

VTT = """\
WEBVTT - Evening talk

NOTE This remark is for editors only.

STYLE
::cue { color: yellow }

intro
00:00:01.000 --> 00:00:04.000 align:start position:10%
<v Ada Winter>Good evening, and welcome to the <i>tannery</i>.

00:00:04.200 --> 00:00:07.500
<v Ada Winter>Tonight we hear about oak bark.

00:01:05.000 --> 00:01:09.000
<v Bruno Vogel>The bark is peeled when the cuckoo calls &amp; dried.
"""

SRT = """\
1
00:00:02,000 --> 00:00:05,000
<i>The ferry leaves at six,</i>

2
00:00:05,100 --> 00:00:08,400
and nobody has seen the pilot.

3
00:02:10,000 --> 00:02:14,000
{\\an8}He sleeps among the herring barrels.
"""

ASS = """\
[Script Info]
Title: The glassblower
ScriptType: v4.00+

[V4+ Styles]
Format: Name, Fontname, Fontsize
Style: Default,Arial,20

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Dialogue: 0,0:00:03.50,0:00:06.00,Default,Greta,0,0,0,,{\\i1}Turn the pipe slowly,{\\i0} or the vase leans.
Dialogue: 0,0:01:40.00,0:01:44.00,Default,Otto,0,0,0,,The furnace\\Nneeds beech wood.
Comment: 0,0:01:50.00,0:01:51.00,Default,,0,0,0,,Never shown.
"""

LRC = """\
[ti:Song of the mill]
[ar:The Quay Choir]
[offset:0]
[00:10.00]The millstone hums below the floor
[00:15.50]and flour falls like early snow
[00:40.00][01:20.00]Grind, miller, grind the barley low
"""

SBV = """\
0:00:01.000,0:00:04.000
The compass needle trembles.

0:00:30.500,0:00:34.000
North is behind the chandlery.
"""

TTML = """\
<?xml version="1.0" encoding="UTF-8"?>
<tt xmlns="http://www.w3.org/ns/ttml" xml:lang="en"><body><div>
<p begin="00:00:01.000" end="00:00:03.000">Fold the sail<br/>before the squall.</p>
<p begin="75.5s" end="79s">The gaff is <span>lashed</span> to the boom.</p>
</div></body></tt>
"""

NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Rainfall in the valley\n", "\n", "Daily gauges."]},
        {
            "cell_type": "code",
            "execution_count": 1,
            "metadata": {},
            "source": ["gauges = read_gauges('weir')\n", "gauges.mean()"],
            "outputs": [
                {"output_type": "execute_result", "data": {"text/plain": ["4.25 millimetres at the weir"]}},
                {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo" * 400, "text/plain": ["<Figure>"]}},
            ],
        },
        {"cell_type": "markdown", "metadata": {}, "source": ["## Drought years\n", "1921 was the driest."]},
        {"cell_type": "code", "metadata": {}, "source": "plot_drought(gauges)", "outputs": []},
    ],
    "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}

ICS = """\
BEGIN:VCALENDAR
VERSION:2.0
X-WR-CALNAME:Allotment club
BEGIN:VTIMEZONE
TZID:Europe/Berlin
END:VTIMEZONE
BEGIN:VEVENT
SUMMARY:Compost turning
DTSTART;TZID=Europe/Berlin:20240511T090000
DTEND;TZID=Europe/Berlin:20240511T113000
RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=SA;UNTIL=20241026T070000Z
LOCATION:Plot 14\\, by the pump
ATTENDEE;CN="Ada Winter";PARTSTAT=ACCEPTED:mailto:ada@example.org
ORGANIZER;CN=Bruno Vogel:mailto:bruno@example.org
DESCRIPTION:Bring forks and gloves.\\nThe wheelbarrow is in the shed near th
 e rhubarb.
END:VEVENT
BEGIN:VEVENT
SUMMARY:Seed exchange
DTSTART;VALUE=DATE:20240615
DTEND;VALUE=DATE:20240617
LOCATION:Old chapel
DESCRIPTION:Heirloom pumpkins and broad beans.
END:VEVENT
END:VCALENDAR
"""

VCF = """\
BEGIN:VCARD
VERSION:3.0
N:Winter;Ada;;Dr.;
FN:Dr. Ada Winter
ORG:Harbour Observatory;Tides
TITLE:Hydrographer
TEL;TYPE=WORK,VOICE:+49 40 5550 123
EMAIL;TYPE=INTERNET:ada@example.org
ADR;TYPE=WORK:;;Quay 7;Lobsterhaven;;20457;Germany
BDAY:1979-02-14
NOTE:Collects tide tables\\, brass instruments and
  old charts.
PHOTO;ENCODING=b;TYPE=JPEG:/9j/4AAQSkZJRgABAQAAAQABAAD
END:VCARD
BEGIN:VCARD
VERSION:2.1
N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:Br=C3=A4ndle;J=C3=BCrgen
FN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:J=C3=BCrgen Br=C3=A4ndle
TEL;CELL:+49 170 5550 987
NOTE;ENCODING=QUOTED-PRINTABLE:Repairs church organs=0D=0A=
and harmoniums.
END:VCARD
BEGIN:VCARD
VERSION:4.0
FN:Mina Okafor
BDAY:--0517
EMAIL:mina@example.org
NOTE:Keeps bees above the bakery.
END:VCARD
"""

EBCDIC = """\
MONTHLY STATEMENT OF THE WAREHOUSE
The bonded warehouse holds forty casks of molasses and nine crates of indigo.
All figures are checked by the night clerk before the ledger is closed.
"""

MEMBERS = {
    "readme.txt": b"The boathouse key hangs behind the sextant.\n",
    "notes/regatta.md": b"# Regatta\n\nThe orange buoy marks the finish of the dinghy race.\n",
    "notes/table.csv": b"boat,crew\nCormorant,4\nKittiwake,2\n",
    "picture.bin": bytes(range(256)),
}


def zip_of(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, WHEN), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def tar_of(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(data), 1_714_980_600
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def number_7z(value: int) -> bytes:
    """A number as 7z writes it: the leading one bits of the first byte say how many bytes follow."""
    for extra in range(8):
        if value < 1 << (7 * (extra + 1)):
            first = (0xFF << (8 - extra)) & 0xFF | value >> (8 * extra)
            return bytes([first]) + (value & ((1 << (8 * extra)) - 1)).to_bytes(extra, "little")
    return b"\xff" + value.to_bytes(8, "little")


def seven_zip_of(members: dict[str, bytes], packed_header: bool = True) -> bytes:
    """A solid 7z archive: one LZMA2 stream, and a header packed with LZMA."""
    n = number_7z
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}]
    plain = b"".join(members.values())
    packed = lzma.compress(plain, lzma.FORMAT_RAW, filters=filters)
    sizes = list(map(len, members.values()))
    streams = b"\x06" + n(0) + n(1) + b"\x09" + n(len(packed)) + b"\x00"
    streams += b"\x07\x0b" + n(1) + b"\x00" + n(1) + b"\x21\x21" + n(1) + b"\x10" + b"\x0c" + n(len(plain)) + b"\x00"
    streams += b"\x08\x0d" + n(len(sizes)) + b"\x09" + b"".join(map(n, sizes[:-1]))
    streams += b"\x0a\x01" + b"".join(struct.pack("<I", zlib.crc32(data)) for data in members.values()) + b"\x00"
    names = b"\x00" + b"".join(name.encode("utf-16-le") + b"\x00\x00" for name in members)
    header = b"\x01\x04" + streams + b"\x00\x05" + n(len(members)) + b"\x11" + n(len(names)) + names + b"\x00\x00"
    body = packed
    if packed_header:
        properties = bytes([93]) + struct.pack("<I", 1 << 16)
        raw = [{"id": lzma.FILTER_LZMA1, "dict_size": 1 << 16, "lc": 3, "lp": 0, "pb": 2}]
        small = lzma.compress(header, lzma.FORMAT_RAW, filters=raw)
        end = b"\x17\x06" + n(len(body)) + n(1) + b"\x09" + n(len(small)) + b"\x00"
        end += b"\x07\x0b" + n(1) + b"\x00" + n(1) + b"\x23\x03\x01\x01" + n(5) + properties
        end += b"\x0c" + n(len(header)) + b"\x0a\x01" + struct.pack("<I", zlib.crc32(header)) + b"\x00\x00"
        body, header = body + small, end
    start = struct.pack("<QQI", len(body), len(header), zlib.crc32(header))
    return b"7z\xbc\xaf\x27\x1c\x00\x04" + struct.pack("<I", zlib.crc32(start)) + start + body + header


def samples() -> dict[str, bytes]:
    """Every sample by its name."""
    return {
        "letters.mbox": MBOX.encode(),
        "Sent": MBOX.replace("quinces", "medlars").replace("Quinces", "Medlars").encode(),
        "talk.vtt": VTT.encode(),
        "ferry.srt": SRT.encode(),
        "glass.ass": ASS.encode(),
        "song.lrc": LRC.encode(),
        "compass.sbv": SBV.encode(),
        "sail.ttml": TTML.encode(),
        "rainfall.ipynb": json.dumps(NOTEBOOK, indent=1).encode(),
        "allotment.ics": ICS.replace("\n", "\r\n").encode(),
        "people.vcf": VCF.replace("\n", "\r\n").encode(),
        "boats.zip": zip_of(MEMBERS),
        "harbour.tar.gz": gzip.compress(tar_of({"logs/pilot.txt": b"The pilot cutter needs tar and oakum.\n"}), mtime=0),
        "winter.tar.bz2": bz2.compress(tar_of({"logs/ice.txt": b"Ice closed the sluice in January.\n"})),
        "spring.tar.xz": lzma.compress(tar_of({"logs/thaw.txt": b"The thaw carried off the eel traps.\n"})),
        "journal.txt.gz": gzip.compress(b"The astrolabe was pawned in Lisbon.\n", mtime=0),
        "charts.7z": seven_zip_of({"charts/reef.txt": b"The reef is marked by a leaning perch.\n", "a.bin": b"\0\1\2\3"}),
        "warehouse.txt": EBCDIC.encode("cp037").replace(b"\x25", b"\x15"),
    }


if __name__ == "__main__":
    KINDS.mkdir(exist_ok=True)
    for name, data in samples().items():
        (KINDS / name).write_bytes(data)
