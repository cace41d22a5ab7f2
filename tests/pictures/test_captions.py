"""The sentence that is composed about a picture when no model describes it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from upstreams import upstream

from chyme.pictures.captions_without_model import (
    PAGE_WORDS,
    Scene,
    compose_caption,
    count_text_words,
    list_names,
    plural,
    quote_words,
    sort_of_picture,
    words_in,
)
from chyme.pictures.image_captioning import as_json
from chyme.text.digest_text import extract_text


def test_things_words_and_the_sort_of_picture_make_one_sentence() -> None:
    text = compose_caption("photograph", ["person", "dog", "person"], "Harbour Street")
    assert text == "A photograph of two people and a dog; it says “Harbour Street”."


@pytest.mark.parametrize(
    ("sort", "names", "words", "colour", "text"),
    [
        ("picture", [], "", "blue", "A picture, mostly blue."),
        ("picture", [], "", None, "A picture."),
        ("picture", [], "", "grey", "A picture."),
        ("plain red picture", [], "", "red", "A plain red picture."),
        ("photograph", ["apple"], "", "red", "A photograph of an apple."),
        ("page of text", ["person"], "Dear Ada", None, "A page of text with a person; it says “Dear Ada”."),
        ("screenshot", ["cat"], "", None, "A screenshot with a cat."),
        ("piece of text", [], "It works.", "white", "A piece of text; it says “It works.”"),
    ],
)
def test_the_caption_contains_only_what_is_known(
    sort: str, names: list[str], words: str, colour: str | None, text: str
) -> None:
    assert compose_caption(sort, names, words, colour) == text


def test_likely_things_are_named_with_doubt_and_only_if_nothing_is_sure() -> None:
    assert compose_caption("picture", [], likely=["apple"]) == "A picture of what looks like an apple."
    assert compose_caption("picture", ["dog"], likely=["apple"]) == "A picture of a dog."


def test_things_are_counted_and_the_many_are_summed_up() -> None:
    assert list_names(["dog"]) == "a dog"
    assert list_names(["dog"] * 3) == "three dogs"
    assert list_names(["bird"] * 13) == "13 birds"
    assert list_names(["cat", "dog", "cat", "bus"]) == "two cats, a dog and a bus"
    assert list_names(list("abcdefg")) == "an a, a b, a c, a d, an e and other things"


@pytest.mark.parametrize(
    ("singular", "many"),
    [
        ("person", "people"),
        ("mouse", "mice"),
        ("sheep", "sheep"),
        ("bus", "buses"),
        ("couch", "couches"),
        ("knife", "knives"),
        ("wine glass", "wine glasses"),
        ("teddy bear", "teddy bears"),
        ("toothbrush", "toothbrushes"),
        ("city", "cities"),
        ("donkey", "donkeys"),
        ("scissors", "scissors"),
    ],
)
def test_plurals(singular: str, many: str) -> None:
    assert plural(singular) == many


def test_long_texts_are_quoted_by_their_first_words() -> None:
    assert quote_words("one two three") == "it says “one two three”"
    assert quote_words("a b c d e f g h i") == "it begins “a b c d e f g h …”"
    assert quote_words("so it was, " + "x" * 80) == "it begins “so it was …”"
    assert len(quote_words("x" * 500)) < 100


def test_quotes_inside_the_words_do_not_end_the_quotation() -> None:
    assert quote_words('say "hello” now') == "it says “say hello now”"


def test_marks_of_doubt_notes_and_markup_are_no_words() -> None:
    assert words_in("# Har[?]bour [?]\n\n**Street**\n\n> note: the rest is blank") == "Harbour Street"


@pytest.mark.parametrize("noise", ["", " . ", "12 11 1", "| — |", "a 7"])
def test_uninformative_text_is_not_quoted(noise: str) -> None:
    assert words_in(noise) == ""


def test_words_are_counted_without_marks_of_doubt() -> None:
    assert count_text_words("It's a quiet [?] day, 21 May.\n\n> note: the rest is blank") == 6


@pytest.mark.parametrize(
    ("words", "flags", "sort"),
    [
        (0, {}, "picture"),
        (0, {"photograph": True}, "photograph"),
        (0, {"photograph": True, "grey": True, "pale": True}, "black-and-white photograph"),
        (0, {"camera": True}, "photograph"),
        (0, {"camera": True, "drawn": True}, "drawing or diagram"),
        (0, {"dark": True}, "dark picture"),
        (0, {"drawn": True}, "drawing or diagram"),
        (0, {"plain": True}, "plain picture"),
        (3, {"drawn": True, "screen": True}, "screenshot"),
        (PAGE_WORDS, {"paper": True, "pale": True, "drawn": True}, "page of text"),
        (PAGE_WORDS, {"paper": True, "drawn": True}, "page with text"),
        (PAGE_WORDS, {"bright": True, "pale": True}, "page of text"),
        (PAGE_WORDS, {"photograph": True}, "photograph"),
        (3, {"paper": True, "pale": True, "drawn": True}, "piece of text"),
        (0, {"paper": True, "pale": True, "grey": True}, "picture"),
    ],
)
def test_the_picture_is_called_only_what_is_sure(words: int, flags: dict[str, Any], sort: str) -> None:
    camera = flags.pop("camera", False)
    assert sort_of_picture(words, Scene(**flags), camera) == sort


def test_a_composed_caption_says_so() -> None:
    content = json.loads(as_json("A picture.", "composed", composed=True))
    assert content == {"text": "A picture.", "engine": "composed", "composed": True}


def test_a_models_caption_keeps_the_text_it_read() -> None:
    content = json.loads(as_json("A dog.", "seer", composed=False, words="Rex"))
    assert content == {"text": "A dog.", "visible_text": "Rex", "engine": "seer", "composed": False}


def test_the_sentence_is_what_search_reads() -> None:
    content = as_json("A “dog”.", "composed", composed=True, words="Rex", note="small")
    assert extract_text(upstream("image-captioning", content)).text == "A “dog”."
