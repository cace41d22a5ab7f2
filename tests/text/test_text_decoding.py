"""Text is decoded correctly from any encoding."""

from __future__ import annotations

from pathlib import Path

import pytest
from growth import NOISE_SECONDS, cpu_seconds

from chyme.text.decoding import decode

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
HOSTILE = Path(__file__).resolve().parents[2] / "../shared/corpus/hostile"


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        ("cities.cp1251.csv", "Иван;Москва"),
        ("note.shiftjis.txt", "日本語のメモ"),
        ("note.utf16.txt", "Grüße aus dem Hafen, 你好"),
        ("note.gb18030.txt", "今天的会议记录"),
        ("note.big5.txt", "今天的會議記錄"),
        ("note.cp1252.txt", "Schöne Grüße aus Köln – bis"),
        ("japanese.md", "味噌汁には"),
    ],
)
def test_samples_keep_their_letters(sample: str, words: str) -> None:
    assert words in decode((SAMPLES / sample).read_bytes()).text


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("euc_jp", "東京都庁舎"),
        ("cp932", "買い物リスト：牛乳、卵、パン"),
        ("iso2022_jp", "これは日本語です"),
        ("gb18030", "你好，世界"),
        ("big5", "你好，世界"),
        ("cp949", "안녕하세요 세계"),
        ("cp1252", "café"),
        ("cp1252", "El niño comió mañana"),
        ("cp1251", "Привет"),
        ("koi8_r", "Протокол совещания"),
        ("cp866", "Протокол совещания о бюджете"),
        ("cp1250", "Zażółć gęślą jaźń"),
        ("cp1250", "Köszönöm szépen a gyűlés jegyzőkönyvét."),
        ("cp1250", "Účet č. 12 za měsíc říjen"),
        ("cp1250", "Şedinţa are loc în Bucureşti"),
        ("cp1252", "A 3.ª sessão do 1.º ano, às três"),
        ("cp1252", "Le goût d’une pêche mûre, à côté"),
        ("cp1252", "Põhja-Eesti jõed ja külad üle öö"),
        ("cp1252", "Ørsted købte øl på Færøerne"),
        ("cp1253", "Καλημέρα κόσμε"),
        ("cp1255", "שלום עולם, מה שלומך"),
        ("cp1256", "مرحبا بالعالم كيف حالك"),
        ("utf-16-le", "without a mark"),
        ("utf-16-be", "without a mark"),
        ("utf-32", "with a mark"),
        ("utf-8-sig", "mit Zeichen – vorne"),
    ],
)
def test_short_texts_in_legacy_encodings_are_recognised(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding)).text == text


def test_lines_end_alike_and_control_characters_go() -> None:
    raw = b"one\r\ntwo\rthree\x00\x07 \x1b[31mred\x1b[0m\x0cfour\ttab"
    assert decode(raw).text == "one\ntwo\nthree red\nfour\ttab"


def test_a_broken_byte_in_utf8_does_not_garble_the_rest() -> None:
    assert "schöne Grüße, überall" in decode("schöne Grüße, überall ".encode() * 9 + b"\xff").text


def test_text_beyond_the_limit_is_left_out_and_noted() -> None:
    found = decode("ü".encode() * 100, limit=101)
    assert found.text == "ü" * 50
    assert found.truncated
    assert found.note(5 * 1024 * 1024) == "first 5 MB of text read"
    assert not decode(b"short", limit=5).truncated


def test_a_large_legacy_file_is_decided_from_a_part_of_it() -> None:
    def decoded(lines: int) -> None:
        data = ("plain line\n" * lines + "Grüße aus Köln\n" * lines).encode("cp1252")
        found = decode(data)
        assert found.encoding == "cp1252"
        assert found.text.endswith("Grüße aus Köln\n")

    # Looking at all of it would cost twenty times as much.
    assert cpu_seconds(lambda: decoded(200_000)) < 8 * max(cpu_seconds(lambda: decoded(10_000)), NOISE_SECONDS)


@pytest.mark.skipif(not HOSTILE.is_dir(), reason=f"the shared corpus is not at {HOSTILE}")
def test_the_corpus_keeps_its_letters() -> None:
    assert decode((HOSTILE / "shiftjis.txt").read_bytes()).text.startswith("これは日本語のテキストです。")
    assert decode((HOSTILE / "cp1251.csv").read_bytes()).text.startswith("имя;город")
    assert decode((HOSTILE / "utf16.txt").read_bytes()).text == "Grüße 你好 שלום مرحبا"
