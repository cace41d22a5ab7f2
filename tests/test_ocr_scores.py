"""The benchmark of OCR counts wrong letters and found words as it says."""

from __future__ import annotations

import pytest

from bench.ocr import cer, word_f1


def test_wrong_missing_and_additional_letters_count_by_the_length_of_the_truth() -> None:
    assert cer("total  12.50", "total 12.50") == 0
    assert cer("tota1 1250x", "total 12.50") == pytest.approx(3 / 11)
    assert cer("", "abcd") == 1


def test_words_count_as_often_as_they_stand_in_both_texts() -> None:
    assert word_f1("tea 2 tea 3", "tea 2 tea 3") == 1
    assert word_f1("tea tea", "tea cup") == pytest.approx(0.5)
    assert word_f1("", "") == 0
