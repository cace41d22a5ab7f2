"""Names that cameras and programs give, and names that people give."""

from __future__ import annotations

import pytest
from growth import grows_linearly

from chyme.files.machine_names import is_machine_made, without_extension

MACHINE = """
550e8400-e29b-41d4-a716-446655440000.pdf
550E8400E29B41D4A716446655440000.pdf
IMG-550e8400-e29b-41d4-a716-446655440000.jpg
{3F2504E0-4F89-11D3-9A0C-0305E82C3301}.docx
d41d8cd98f00b204e9800998ecf8427e
da39a3ee5e6b4b0d3255bfef95601890afd80709.bin
e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855.png
4f3a9c21.pdf
a1b2c3d4e5f6.webp
IMG_1234.JPG
IMG_1234 (2).jpg
IMG_1234 copy 2.jpg
IMG_1234-edited.jpg
IMG_E1234.HEIC
IMG_20260403_101233.jpg
IMG_20260403_101233_HDR.jpg
IMG-20260403-WA0001.jpg
DSC00012.JPG
DSC_0012.NEF
DSCN1234.jpg
DSCF0001.RAF
_DSC0012.jpg
PXL_20260403_101233456.jpg
PXL_20260403_101233456.PORTRAIT.jpg
PXL_20260403_101233456.MP.jpg
MVI_0012.MOV
VID_20260403_101233.mp4
GOPR0012.MP4
GH010123.MP4
DJI_0001.JPG
P1010012.JPG
R0010123.DNG
L1000123.DNG
HPIM0012.JPG
100_1234.jpg
FUJI0001.jpg
PICT0012.JPG
20260403_101233.jpg
2026-04-03 10.12.33.jpg
2026-04-03.pdf
20260403101233.pdf
1712138400.json
12.04.2026
0001.pdf
7.txt
scan0001.pdf
Scan_20260403.pdf
scan 3.pdf
Scan.pdf
Scans-2026-04-03.pdf
SCN_0001.pdf
Adobe Scan 03 Apr 2026.pdf
Adobe Scan Apr 3, 2026 (2).pdf
CamScanner 04-03-2026 10.11.pdf
Scanned Document.pdf
Scanned_20260403-1011.pdf
New Doc 2026-04-03 10.12.33.pdf
New Doc 1.pdf
Office Lens 20260403-101233.jpg
doc20260403101233.pdf
fax0001.tif
Numérisation_20260403.pdf
Escaneado 12.pdf
Screenshot 2026-04-03 at 10.12.33.png
Screenshot 2026-04-03 at 10.12.33 PM.png
Screenshot 2026-04-03 at 10.12.33\u202fAM.png
Screen Shot 2026-04-03 at 10.12.33.png
Screenshot from 2026-04-03 10-12-33.png
Screenshot (12).png
Screenshot_20260403-101233.png
Screenshot_20260403-101233_Chrome.jpg
Screenshot_2026-04-03-10-12-33-123_com.android.chrome.jpg
Screen Recording 2026-04-03 at 10.12.33.mov
Screencast from 2026-04-03 10-12-33.webm
Bildschirmfoto 2026-04-03 um 10.12.33.png
Bildschirmaufnahme 2026-04-03 um 10.12.33.mov
Capture d’écran 2026-04-03 à 10.12.33.png
Capture d'écran (12).png
Capture d’écran du 2026-04-03 10-12-33.png
Captura de pantalla 2026-04-03 a las 10.12.33.png
Captura de tela 2026-04-03 101233.png
Schermata 2026-04-03 alle 10.12.33.png
Schermafbeelding 2026-04-03 om 10.12.33.png
Skärmavbild 2026-04-03 kl. 10.12.33.png
Zrzut ekranu 2026-04-03 o 10.12.33.png
Snímek obrazovky 2026-04-03.png
Ekran Resmi 2026-04-03 10.12.33.png
Снимок экрана 2026-04-03 в 10.12.33.png
スクリーンショット 2026-04-03 10.12.33.png
屏幕截图 2026-04-03 101233.png
截屏2026-04-03 上午10.12.33.png
스크린샷 2026-04-03 오전 10.12.33.png
لقطة الشاشة 2026-04-03.png
WhatsApp Image 2026-04-03 at 10.12.33.jpeg
WhatsApp Image 2026-04-03 at 10.12.33 (1).jpeg
WhatsApp Video 2026-04-03 at 10.12.33.mp4
WhatsApp Audio 2026-04-03.opus
PTT-20260403-WA0012.opus
AUD-20260403-WA0001.m4a
signal-2026-04-03-101233.jpg
signal-2026-04-03-10-12-33-123.mp4
telegram-cloud-photo-size-2-5215467-y.jpg
photo_2026-04-03_10-12-33.jpg
photo_5215467_y.jpg
FB_IMG_1712138400123.jpg
received_1029384756102938.jpeg
Snapchat-1029384756.jpg
inbound1029384756.pdf
mmexport1712138400123.jpg
微信图片_20260403101233.jpg
KakaoTalk_20260403_101233456.jpg
viber_image_2026-04-03_10-12-33-123.jpg
GMT20260403-101233_Recording_1920x1080.mp4
video1029384756.mp4
document(3).pdf
document.pdf
Document1.docx
Dokument 2.docx
Book1.xlsx
Mappe1.xlsx
Presentation2.pptx
untitled.txt
Untitled document.docx
untitled folder 2
Unbenannt.pdf
Unbenanntes Dokument.docx
Unbenannt-1.psd
Neues Dokument.docx
Neues Textdokument 2026-04-03
Sans titre.odt
Sans titre 1.odt
Document sans titre.docx
Nouveau document.docx
Documento sin título.docx
Sem título.odt
Senza titolo.odt
Naamloos document.docx
Bez tytułu.docx
Без имени.odt
Новый документ.docx
新規 テキスト ドキュメント.txt
新規ドキュメント.docx
無題.txt
無題ドキュメント.docx
名称未設定.rtf
新建文本文档.txt
新建 文本文档 (2).txt
未命名.docx
제목 없음.txt
download.pdf
download (2).pdf
Download-1.jpg
downloads.zip
unnamed.jpg
unnamed (1).png
file.pdf
File_001.pdf
datei.pdf
fichier (1).pdf
image.png
image001.png
image0.jpeg
Bild 12.jpg
Foto 3.jpg
photo.jpg
attachment.pdf
ATT00001.txt
20260403_101112
20260403_101112.txt
2026-04-03 10.12.33.txt
1712138400.txt
0012.txt
1234.jpg
WA0001.jpg
Anhang 1.pdf
noname.eml
temp.pdf
tmp8f3k2x1q.pdf
output.pdf
export_20260403.csv
Track 07.mp3
01 Track 01.mp3
Slide12.png
page_001.jpg
Recording.m4a
New Recording 12.m4a
Neue Aufnahme 3.m4a
Voice 001.m4a
REC0012.WAV
Aufnahme 2026-04-03.wav
Copy of document.docx
Kopie von IMG_1234.jpg
Copy of 550e8400-e29b-41d4-a716-446655440000.pdf
Microsoft Word - Document1.pdf
2103.00020v2.pdf
1706.03762.pdf
INV-00123.pdf
RE202400017.pdf
dQw4w9WgXcQ.mp4
1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms.pdf
aGVsbG8gd29ybGQ2.bin
kjx3uaq9zp2m.jpg
xkqzwrtp.pdf
XRk9Q2LmT7vB.pdf
3 - 4.pdf
---.pdf
""".strip().splitlines()

HUMAN = """
Rental contract Miller.pdf
IMG of the garden.png
Mietvertrag Müller.pdf
Mietvertrag_Müller_2026.pdf
HolidayPhotos2024.jpg
Top10Songs2024.m3u
Q3report2024v2.pdf
invoice 2026-04.pdf
invoice-12345.pdf
Rechnung 4711.pdf
April 2026.pdf
GDPR.pdf
BMW X5.jpg
BMW_2024.pdf
KFZ 2024.pdf
CV.pdf
cv-anna.pdf
DB Ticket.pdf
README.md
LICENSE
Makefile
index.html
data.csv
setup.py
main.rs
S01E02.mkv
The Wire S01E02.mkv
COVID19.pdf
Screenshot of the login bug.png
Screenshot login.png
Scan Reisepass Oma.pdf
scan of my passport.pdf
Recording with Alice.m4a
Aufnahme Chorprobe.m4a
WhatsApp Chat mit Jonas.txt
document about cats.pdf
download statistics.xlsx
2026-04-03 Notar.pdf
20260403 Kaufvertrag.pdf
IMG_1234 Anna am See.jpg
IMG_1234_beach.jpg
DSC00012 sunset.jpg
Dr. Smith
Untitled Goose Game.pdf
New York.pdf
Neue Küche.pdf
New Zealand 2024.jpg
Foto Oma.jpg
Photo album 1987.pdf
presentation.pptx
Book of hours.pdf
Bilder Lissabon.zip
Notes.txt
to do.txt
todo.txt
deadbeef.txt
facade.jpg
decade.pdf
Protokoll.docx
Протокол собрания.docx
Договор аренды 2026.pdf
Фото бабушки.jpg
会議議事録.docx
新しい家の図面.pdf
賃貸契約書.pdf
租房合同.pdf
张伟的简历.pdf
카메라 설명서.pdf
회의록 2026.docx
عقد الإيجار.pdf
חוזה שכירות.pdf
สัญญาเช่า.pdf
Σύμβαση.pdf
Résumé.pdf
naïve.txt
café menu.pdf
Capture the flag.md
Film noir.md
Fax an Finanzamt.pdf
Cloud migration plan.pdf
report-final-v2.docx
Kaufvertrag (2).pdf
Steuer 2023 - Kopie.pdf
1984 - Orwell.epub
3D printer manual.pdf
Windows11.txt
mtg.txt
bhkw.pdf
rhythms.mp3
ISO27001.pdf
A4 poster.pdf
MyCamelCaseName.txt
meetingNotes.txt
attention-is-all-you-need.pdf
plan_b.txt
1984.txt
1984.epub
2024-01-03.md
2024-01.md
2024-W02.md
2024-Q1.md
page1.html
W-2.pdf
I-9.pdf
1040.pdf
A380.jpg
B12.pdf
U2.mp3
Q3.xlsx
001.sql
p1.py
x.c
image001.htm
a1b2c3d4e5f6.js
""".strip().splitlines()


@pytest.mark.parametrize("name", MACHINE)
def test_a_machine_gave_this_name(name: str) -> None:
    assert is_machine_made(name)


@pytest.mark.parametrize("name", HUMAN)
def test_a_person_gave_this_name(name: str) -> None:
    assert not is_machine_made(name)


def test_the_extension_makes_no_difference() -> None:
    assert is_machine_made("IMG_1234") and is_machine_made("IMG_1234.jpg")
    assert not is_machine_made("Miller") and not is_machine_made("Miller.jpg")


def test_a_decomposed_name_is_read_like_a_composed_one() -> None:
    assert is_machine_made("Capture d’e\u0301cran (12).png")


@pytest.mark.parametrize("name", ["", ".", "..", " ", ".pdf", "a", "\udcff\udcfe.jpg", "\0", "💥"])
def test_no_name_is_too_odd_to_be_looked_at(name: str) -> None:
    assert is_machine_made(name) in (True, False)


@pytest.mark.parametrize("part", ["a", "1", "a1", "-", "A", "é", "図", "\u0301", "a\u0301", " 1", "()", "aB", "=", "."])
def test_very_long_names_cost_no_more_than_their_length(part: str) -> None:
    assert grows_linearly(lambda size: is_machine_made(part * size), 100_000)


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("notes.tar.gz", "notes"),
        ("a.PDF", "a"),
        ("song.mp3", "song"),
        ("archive.7z", "archive"),
        ("12.04.2026", "12.04.2026"),
        ("Dr. Smith", "Dr. Smith"),
        (".hidden", ".hidden"),
        ("none", "none"),
        ("a.b.c", "a.b"),
    ],
)
def test_the_stem_is_the_name_before_the_extension(name: str, stem: str) -> None:
    assert without_extension(name) == stem
