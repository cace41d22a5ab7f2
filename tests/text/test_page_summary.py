"""A page in a few of its own sentences."""

from __future__ import annotations

from random import Random

import pytest

from chyme.text.markdown_blocks import blocks_of
from chyme.text.markdown_lines import LENGTH, strip_origin_line
from chyme.text.page_summary import LEAST, MOST, detect_language, find_problem, format_markdown, pick_sentences, text_of

ARTICLE = """\
# The pier

[Home](/) [News](/news) [Sport](/sport)

We use cookies to make the pier, the harbour, the council, the repair and the steel even better for you.

The old pier of Whitby closes in June because its steel is rusting away. Divers of the harbour office found holes in
eleven of the forty steel pillars last autumn. This was no surprise. Who pays for it?

The council will repair the pier in two parts, so that the lifeboat can still leave the harbour. Each part of the
repair costs about two million pounds, according to a report of Nov. 18 by the engineers of the council. However, the
price of steel has risen by a third since then.

```
the pier steel harbour council repair = 1
```

| pier | steel | harbour | council | repair |
|---|---|---|---|---|
| one | two | three | four | five |

Fishermen fear that the repair of the pier will keep visitors away from the harbour in summer. They have asked the
council to begin in autumn. The old pier of Whitby closes in June because its steel is rusting away.
"""


def points_of(markdown: str) -> list[str]:
    blocks = blocks_of(markdown)
    return list(pick_sentences(blocks, detect_language(text_of(blocks))).points)


def test_the_best_sentences_are_picked_in_their_order() -> None:
    points = points_of(ARTICLE)
    assert points[0] == "The old pier of Whitby closes in June because its steel is rusting away."
    assert LEAST <= len(points) <= MOST
    whole = " ".join(ARTICLE.split())
    assert [whole.index(point) for point in points] == sorted(whole.index(point) for point in points)


@pytest.mark.parametrize("never", ["cookies", "= 1", "three", "News", "Who pays", "# ", "no surprise"])
def test_menus_code_tables_questions_and_notices_are_not_picked(never: str) -> None:
    assert never not in " ".join(points_of(ARTICLE))


def test_no_point_repeats_another_point() -> None:
    mills = [f"The mill number{at} grinds flour for nine villages of the valley.\n\n" for at in range(9)]
    assert sum("mill" in point for point in points_of("".join(mills) + ARTICLE)) == 1


def test_three_sentences_are_picked_even_where_all_are_much_alike() -> None:
    days = [f"The weather in Whitby was fair on day number{at} of the month of {at}June." for at in range(30)]
    assert len(points_of(" ".join(days))) == LEAST


def test_a_date_does_not_end_a_sentence() -> None:
    page = "The council of the harbour met on Nov. 18 and voted for the repair of the old pier in Whitby. "
    assert points_of(page) == [page.strip()]


@pytest.mark.parametrize(("words", "least"), [(150, 3), (600, 4), (3000, 5)])
def test_longer_pages_have_more_points(words: int, least: int) -> None:
    dice = Random(5)
    syllables = [a + b + c for a in "bdgklmnprst" for b in "aeiou" for c in "lmnrs"]
    vocabulary = [dice.choice(syllables) + dice.choice(syllables) for _ in range(200)]
    text = " ".join(f"The {' '.join(dice.choices(vocabulary, k=11))}." for _ in range(words // 12))
    assert len(points_of(text)) == least


def test_a_page_of_a_few_sentences_is_its_own_summary() -> None:
    blocks = blocks_of("# Tides\n\nHigh water is at noon today.\n\n- Boats wait at the jetty until then.\n")
    found = pick_sentences(blocks, "en")
    assert found.whole
    assert found.points == ("High water is at noon today.", "Boats wait at the jetty until then.")


def test_two_sentences_below_a_large_table_are_not_the_whole_page() -> None:
    table = "".join(f"| day {day} | {day} metres | calm |\n" for day in range(30))
    found = pick_sentences(blocks_of(f"{table}\nThe tides of this month in metres.\n"), "en")
    assert not found.whole
    assert found.points == ("The tides of this month in metres.",)


def test_a_page_without_sentences_has_no_points() -> None:
    assert points_of("[Home](/)\n\n[Sport](/s)\n\n| a | b |\n|---|---|\n| c | d |\n\n...!\n") == []


def test_scripts_without_spaces_are_picked_from_too() -> None:
    page = (
        "东京的旧码头将于六月关闭，因为钢材正在生锈。港口办公室的潜水员去年秋天在四十根钢柱中发现十一根有洞。"
        "市议会将分两部分修复码头，以便救生艇仍能离开港口。根据工程师的报告，每一部分修复费用约为两百万英镑。"
        "渔民担心码头的修复会使夏天的游客远离港口。他们要求市议会在秋天开始。谁来付钱？"
        "博物馆展示了一百年前建造码头的照片，每天都有很多孩子来参观。"
    )
    points = points_of(page * 2)
    assert LEAST <= len(points) <= MOST
    assert all(point.endswith("。") and page.count(point) == 1 for point in points)


def test_points_become_lines_of_markdown_without_markup_of_their_own() -> None:
    text = format_markdown(["# <b>one</b>", "[two](javascript:x)", "three " * 100], "Made by *someone*.")
    lines = text.splitlines()
    assert lines[:2] == ["- \\# \\<b\\>one\\</b\\>", "- \\[two\\](javascript:x)"]
    assert LENGTH - 10 < len(lines[2]) <= LENGTH + 2
    assert lines[2].endswith("…")
    assert lines[3:] == ["", "*Made by \\*someone\\*.*"]
    assert "someone" not in strip_origin_line(text)


GOOD = ["The old pier closes in June.", "Divers found holes in its steel.", "The council repairs it in two parts."]


@pytest.mark.parametrize(
    ("points", "complaint"),
    [
        (GOOD, None),
        (GOOD[:2], "3 to 5"),
        ([*GOOD[:2], GOOD[0]], "3 to 5"),
        ([*GOOD, ""], "3 to 5"),
        ([*GOOD, "Buy wonderful watches from trusted dealers online."], "point 4"),
        (["Der Pier ist alt und wird von der Stadt nicht mehr geöffnet.", "Das ist so.", "Es gibt ihn."], "'en'"),
    ],
)
def test_points_written_by_others_must_be_about_the_page(points: list[str], complaint: str | None) -> None:
    found = find_problem(points, ARTICLE, "en")
    assert found is None if complaint is None else found is not None and complaint in found
