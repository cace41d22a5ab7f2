"""Encodings that are rare today are recognised, and ordinary texts are never taken for one of them."""

from __future__ import annotations

import random

import pytest

from chyme.text.decoding import decode
from chyme.text.legacy_encodings import detect_legacy
from chyme.text.rare_encodings import detect_ebcdic, detect_escaped, detect_utf32

GERMAN = "Die Fähre fährt früh, doch der Lotse schläft über den Fässern; Grüße, Maß und schöne Wünsche zur Nacht."
FRENCH = "Le pêcheur a réparé ses filets près de la forêt; après le déjeuner, il a nagé jusqu'à l'île où ça sèche."
ENGLISH = "The ferry leaves at six, and nobody has seen the pilot. He sleeps among the herring barrels."
SPANISH = "¿Dónde está el piloto? Mañana volverá más tarde a su patrón, según la niña del muelle."
POLISH = "Wczoraj kupiliśmy świeżą rybę na targu, później wróciliśmy łódką; było już późno i wiał wiatr."
CZECH = "Dnes jsme koupili čerstvé ryby u řeky, potom jsme šli domů; světla už svítila, šedý kůň stál."
RUSSIAN = "Сегодня мы купили свежую рыбу на рынке у реки, а потом долго шли домой. Было уже темно."
UKRAINIAN = "Сьогодні ми їздили на ринок біля річки і купили свіжу рибу; її ще ніхто не їв."
TURKISH = "Bugün eski çarşıda balık aldık, sonra ağır ağır eve döndük; ışıklar yanıyordu."
ARABIC = "ذهبنا اليوم إلى السوق القديم واشترينا السمك والخبز ثم عدنا إلى البيت"
THAI = "วันนี้เราไปซื้อปลาที่ตลาดใกล้แม่น้ำ แล้วกลับบ้านตอนเย็น"
CHINESE = "今天我们去河边的市场买鱼，后来慢慢走回家。"
KOREAN = "오늘 우리는 강가 시장에서 생선을 사고 천천히 집으로 돌아왔다."
JAPANESE = "今日は川の近くの市場で魚を買って、ゆっくり家に帰りました。"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        *((page, ENGLISH) for page in ("cp037", "cp500", "cp1140")),
        *((page, GERMAN) for page in ("cp273", "cp500")),
        *((wide, text) for wide in ("utf-32-le", "utf-32-be", "utf-32") for text in (ENGLISH, GERMAN, RUSSIAN)),
        *(("mac_roman", text) for text in (GERMAN, FRENCH)),
        *(("cp850", text) for text in (GERMAN, FRENCH)),
        *((page, POLISH) for page in ("iso8859_2", "cp852")),
        *((page, CZECH) for page in ("iso8859_2", "cp852")),
        *((page, RUSSIAN) for page in ("iso8859_5", "mac_cyrillic", "koi8_r", "cp866")),
        *((page, UKRAINIAN) for page in ("koi8_u", "mac_cyrillic", "cp1251")),
        ("cp1254", TURKISH),
        ("iso8859_6", ARABIC),
        ("cp874", THAI),
        ("hz", CHINESE),
        ("iso2022_kr", KOREAN),
        ("iso2022_jp", JAPANESE),
    ],
)
def test_rare_encodings_keep_their_letters(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding)).text == text


@pytest.mark.parametrize(
    "text",
    [
        GERMAN,
        FRENCH,
        SPANISH,
        "“Don’t,” she said – it’s the café’s £5 coffee… that’s naïve.",
        "It’s a dog’s life, they’re sure we’ll see.",
        "« L’été », dit-il, « est passé. »",
        "5 × 3 m² at 20 °C ± 2 µm, ½ of it ÷ 3",
        "Der Preis beträgt 5 €; §§ 3 und 4 gelten.",
        "„Grüße“, sagte er – und ging…",
        "Perché la città è già così? Più tardi, però, ci sarà.",
        "Copyright © 2024, all rights reserved ®",
    ],
)
def test_a_western_text_is_never_taken_for_something_rare(text: str) -> None:
    for part in (text, text[:30], text[-30:]):
        if not part.isascii():
            assert detect_legacy(part.encode("cp1252")) == "cp1252"


def test_ebcdic_lines_end_where_mainframes_end_them() -> None:
    text = f"{ENGLISH}\n{ENGLISH}\n"
    data = text.encode("cp037")
    assert decode(data.replace(b"\x25", b"\x15")).text == text
    assert decode(data.replace(b"\x25", b"\x0d\x25")).text == text


def test_noise_and_program_code_are_no_rare_encoding() -> None:
    noise = random.Random(4)
    for _ in range(200):
        data = noise.randbytes(noise.randrange(16, 3000))
        assert detect_ebcdic(data) is None
        assert detect_utf32(data) is None
    assert detect_escaped(b"void f() { return ~{1, 2}; } // ~{ and ~} ") is None
    assert detect_escaped(b"\x1b$ prompt in a terminal") is None
    assert detect_ebcdic(b"@@@@@@@@@@@@@@@@@@@@@@@@") is None
