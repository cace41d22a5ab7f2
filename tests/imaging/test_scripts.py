"""Which script a text is written in, what tesseract reads it with, and what its table says."""

from __future__ import annotations

import pytest

from chyme.imaging.ocr.other_scripts import describe_letters
from chyme.imaging.ocr.scripts import (
    SCRIPTS,
    find_languages,
    install_command,
    is_right_to_left,
    is_written_in,
    split_by_installed,
)
from chyme.imaging.ocr.tesseract_program import parse_words

BY_NAME = {script.name: script for script in SCRIPTS}
ALL = {script.languages[0] for script in SCRIPTS}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Cyrillic", "Протокол собрания"),
        ("Cyrillic", "Телефон Galaxy S24 Ultra"),
        ("Greek", "Πρακτικά της συνεδρίασης"),
        ("Arabic", "محضر اجتماع 2024"),
        ("Hebrew", "פרוטוקול"),
        ("Devanagari", "बैठक में"),
        ("Korean", "회의록"),
        ("Thai", "รายงาน"),
        ("Arabic", "٠١٢ ٣٤٥"),
        ("Thai", "๒๕๖๗"),
    ],
)
def test_a_line_is_written_in_the_script_of_its_letters(name: str, text: str) -> None:
    assert [script.name for script in SCRIPTS if is_written_in(text, script)] == [name]


@pytest.mark.parametrize(
    "text",
    [
        "Total amount due",
        "ТОТАL 1,249.50",  # only letters that look like Latin ones
        "the letter ж alone among many Latin ones",
        "12.05.2024",
        "",
    ],
)
def test_letters_that_prove_nothing_are_no_script(text: str) -> None:
    assert not any(is_written_in(text, script) for script in SCRIPTS)


def test_a_model_of_the_whole_script_comes_before_those_of_languages() -> None:
    cyrillic = BY_NAME["Cyrillic"]
    assert find_languages(cyrillic, {"eng", "osd"}) == ""
    assert find_languages(cyrillic, {"rus"}) == "rus"
    assert find_languages(cyrillic, {"ukr", "rus", "eng"}) == "rus+ukr+eng"
    assert find_languages(cyrillic, set(cyrillic.languages)) == "rus+ukr+bul"
    assert find_languages(cyrillic, {"rus", "script/Cyrillic", "eng"}) == "script/Cyrillic"


def test_what_is_missing_is_one_command() -> None:
    readable, missing = split_by_installed(ALL - {"heb", "tha"})
    assert "Korean" in [script.name for script in readable]
    assert install_command(missing) == "apt-get install tesseract-ocr tesseract-ocr-heb tesseract-ocr-tha"


def test_the_letters_that_are_known_are_told_with_the_way_to_more() -> None:
    assert describe_letters(ALL) == (
        "Latin, Chinese and Japanese letters and, by tesseract, "
        "Cyrillic, Greek, Arabic, Hebrew, Devanagari, Korean and Thai ones"
    )
    assert describe_letters(ALL - {"heb"}).endswith("; for Hebrew: apt-get install tesseract-ocr tesseract-ocr-heb")
    assert describe_letters({"eng"}).startswith("Latin, Chinese and Japanese letters; for Cyrillic, Greek")


def test_the_direction_of_a_page_is_that_of_most_letters() -> None:
    assert is_right_to_left("דוח שנתי 2024 IBM")
    assert is_right_to_left("محضر اجتماع")
    assert not is_right_to_left("Annual report דוח")
    assert not is_right_to_left("2024")


def row(line: int, left: int, confidence: float, text: str) -> str:
    return f"5\t1\t1\t1\t{line}\t1\t{left}\t0\t10\t20\t{confidence}\t{text}"


def test_syllables_without_a_space_between_them_are_one_word() -> None:
    table = ["level\tpage_num", row(1, 0, 90, "위"), row(1, 12, 80, "원"), row(1, 40, 96, "책"), row(2, 0, 96, "을")]
    first, second, third = parse_words("\n".join([*table, "위원 책", "을", ""]))
    assert (first.text, first.box) == ("위원", (0.0, 0.0, 22.0, 20.0))
    assert first.confidence == pytest.approx(0.85)
    assert (second.text, third.text) == ("책", "을")


def test_marks_of_direction_are_no_text_and_a_word_the_text_lacks_stands_alone() -> None:
    words = parse_words("\n".join([row(1, 30, 90, "\u200f4860\u200e"), row(1, 0, 90, "שקלים"), "nothing of it"]))
    assert [word.text for word in words] == ["4860", "שקלים"]
