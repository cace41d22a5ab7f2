"""Scripts without spaces are cut into pairs; everything else stays as it is."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chyme.text.unspaced_scripts import segment, segment_query


@pytest.mark.parametrize(
    ("text", "indexed"),
    [
        ("東京都", "東京 京都 都"),
        ("東", "東"),
        ("iPhone用ケース", "iPhone 用ケ ケー ース ス"),
        ("서울시", "서울 울시 시"),
        ("ｶﾒﾗ", "カメ メラ ラ"),
        ("ＡＢＣ", "ABC"),
        ("กิน", "กน น"),
        ("東京、大阪", "東京 京 、 大阪 阪"),
    ],
)
def test_indexed(text: str, indexed: str) -> None:
    assert (segment(text) or "").split() == indexed.split()


@pytest.mark.parametrize("text", ["", "plain words", "naïve Straße", "Привет, мир", "שלום", "12:30 😀", "हिन्दी"])
def test_other_scripts_are_left_alone(text: str) -> None:
    assert segment(text) is None
    assert segment_query(text) == text


def test_decomposed_hangul_is_indexed_like_composed() -> None:
    assert segment(unicodedata.normalize("NFD", "서울시")) == segment("서울시")


def test_a_question_may_end_inside_a_run() -> None:
    assert segment_query("東京都").split() == ["東京", "京都"]
    assert segment_query("東京 大阪").split() == ["東京", "京", "大阪"]
    assert segment_query("東").split() == ["東"]


@given(st.text(alphabet="東京都大阪カナ한글 ab、", min_size=1, max_size=30), st.data())
def test_every_part_of_a_run_is_a_row_of_its_tokens(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    part = text[start : data.draw(st.integers(start + 1, len(text)))]
    runs = [run for run in part.replace("、", " ").split() if not set(run) & set("ab")]
    tokens = (segment(text) or text).replace("、", " ").split()

    for run in runs:
        if len(run) > 1:
            wanted = segment_query(run).split()
            assert any(tokens[at : at + len(wanted)] == wanted for at in range(len(tokens)))
        else:
            assert any(token.startswith(run) for token in tokens)
