"""Answers of models are stored as plain text."""

from __future__ import annotations

import time

import pytest

from chyme.pictures.objects import object_from_model
from chyme.text.model_output import plain_line, plain_text, remove_invisible


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("A <b>red</b> boat", "A red boat"),
        ("A <script>alert(1)</script>boat<style>p {}</style>", "A boat"),
        ("A boat <img src=x onerror=alert(1)> at sea <img src=x", "A boat at sea img src=x"),
        ("&lt;b&gt;Fish &amp; chips&lt;/b&gt;", "Fish & chips"),
        ("## A **red** _boat_ with `sails`", "A red boat with sails"),
        ("# Harbour\n\n- a *boat*\n- a [pier](javascript:alert(1))\n> calm", "Harbour a boat a pier calm"),
        ("```\na boat\n```", "a boat"),
        ("a\x00 boat\u202e at\x1b[31m sea\U000e0041\u200b", "a boat at [31m sea"),
        ("&#x202e;turned &#0;round", "turned round"),
        ("2 * 3 * 4 = 24, snake_case_name, a < b", "2 * 3 * 4 = 24, snake_case_name, a < b"),
        ("赤い**船**が港にある", "赤い船が港にある"),
        ("", ""),
    ],
)
def test_markup_and_invisible_characters_are_removed(text: str, plain: str) -> None:
    assert plain_text(text) == plain
    assert plain_text(plain) == plain


def test_a_line_is_short_and_loses_the_quotation_marks_around_it() -> None:
    assert plain_line("“The pier”") == "The pier"
    assert len(plain_line("x" * 1_000_000)) <= 4000


def test_text_that_was_read_in_a_picture_keeps_its_signs() -> None:
    assert remove_invisible("<b>**price**</b>\u00ad") == "<b>**price**</b>"


def test_an_object_of_a_model_has_no_markup_in_any_field() -> None:
    thing = object_from_model("**boat**", "a <i>red</i> boat", "`vehicle`", ("<b>sea</b>", "_sail_"), None)
    assert thing is not None
    assert (thing.name, thing.description, thing.category, thing.tags) == (
        *("boat", "a red boat", "vehicle", ("sea", "sail")),
    )


def test_long_answers_that_are_no_text_cost_little_and_break_nothing() -> None:
    def seconds(text: str) -> float:
        begun = time.process_time()
        assert plain_text(text) == ""
        return time.process_time() - begun

    assert plain_text(f"a &#{'1' * 5000}; b &#65; c") == "a b A c"
    assert plain_text("a <script>x<script>y</script> b") == "a x b"
    assert seconds("<script>" * 20_000) < 50 * seconds("<strong>" * 20_000)
