"""The sentence that is composed about a picture when no model describes it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from upstreams import upstream

from chyme.pictures.captions_without_model import (
    Thing,
    compose_caption,
    count_text_words,
    list_things,
    plural,
    quote_words,
    words_in,
)
from chyme.pictures.image_captioning import as_json
from chyme.pictures.picture_types import PAGE_WORDS, Scene, exposure_value, type_of_picture
from chyme.text.digest_text import extract_text

RECEIPT = "Corner Shop\nmilk 1.20\nbread 2.35\ntotal 3.55\ncash 5.00\nchange 1.45"
INVOICE = (
    "Northlight Trading\nInvoice 2024-118\nBill to: the harbour office, 12 Beach Lane\nDue date: 2 June\n"
    "Rope | 40 | 12.50 | 500.00\nBuoys, orange | 6 | 95.00 | 570.00\nDelivery | 1 | 60.00 | 60.00\n"
    "Subtotal | 1130.00\nVAT 25 % | 282.50\nTotal due | 1412.50\nPlease pay within thirty days."
)
MENU = "The Blue Oar\nFish soup 8.50\nCod with leeks 17.00\nApple cake 6.50\nCard payments welcome\nTotal joy"
ACCOUNTS = (
    "Statement of cash flows | 2024 | 2023\nProfit before tax | 118.20 | 102.75\nChange in stock | -6.80 | 3.25\n"
    "Net cash from operations | 134.10 | 127.45\nNet of cash | -8.00 | 0.00\nTotal change | 22.35 | 31.85\n"
    "Cash balance at the end of the year, in millions of crowns | 210.60 | 188.25"
)
LETTER = "Dear Ada,\n" + "the glazier comes on Thursday and brings the panes. " * 4 + "\nKind regards,\nJürgen"
DRAWN = {"drawn": True, "bright": True}
PAPER = {"paper": True, "pale": True, "drawn": True}


def named(*names: str) -> list[Thing]:
    return [Thing(name) for name in names]


def test_things_words_and_the_sort_of_picture_make_one_sentence() -> None:
    text = compose_caption("photograph", named("person", "dog", "person"), "Harbour Street")
    assert text == "A photograph of two people and a dog; it says “Harbour Street”."


@pytest.mark.parametrize(
    ("sort", "names", "words", "colour", "text"),
    [
        ("picture", [], "", "blue", "A picture, mostly blue."),
        ("picture", [], "", None, "A picture."),
        ("plain red picture", [], "", "red", "A plain red picture."),
        ("photograph", ["apple"], "", "red", "A photograph of an apple."),
        ("page of text", ["person"], "Hello Ada", None, "A page of text with a person; it says “Hello Ada”."),
        ("screenshot", ["cat"], "", None, "A screenshot with a cat."),
        ("piece of text", [], "It works.", "white", "A piece of text; it says “It works.”"),
    ],
)
def test_the_caption_contains_only_what_is_known(
    sort: str, names: list[str], words: str, colour: str | None, text: str
) -> None:
    assert compose_caption(sort, named(*names), words, (colour,) if colour else ()) == text


def test_a_number_is_a_lower_bound_where_there_may_be_more() -> None:
    people = [Thing("person", counted=False), Thing("person", counted=False)]
    assert list_things([*people, Thing("dog", counted=False)]) == "at least two people and a dog"


def test_things_that_are_not_sure_are_named_with_doubt() -> None:
    assert compose_caption("picture", named("apple"), sure=False) == "A picture of what looks like an apple."
    assert compose_caption("picture", named("dog")) == "A picture of a dog."


def test_the_colour_and_the_position_are_told_where_they_are_shared() -> None:
    car = Thing("car", "red", "lower left")
    assert compose_caption("outdoor photograph", [car]) == "An outdoor photograph of a red car at the lower left."
    assert list_things([car, Thing("car", "red", "right")]) == "two red cars"
    assert list_things([car, Thing("car", "blue", "lower left")]) == "two cars at the lower left"
    assert list_things([Thing("person", "", "in the middle")]) == "a person"


def test_positions_are_left_out_of_a_long_list() -> None:
    things = [Thing(name, position="left") for name in ("cup", "fork", "knife", "bowl")]
    assert list_things(things) == "a cup, a fork, a knife and a bowl"
    assert list_things(things[:1]) == "a cup on the left"


def test_two_colours_are_told_where_nothing_else_is_known() -> None:
    assert compose_caption("picture", [], colours=("green", "blue")) == "A picture, mostly green and blue."


def test_things_are_counted_and_the_many_are_summed_up() -> None:
    assert list_things(named("dog")) == "a dog"
    assert list_things(named("dog") * 3) == "three dogs"
    assert list_things(named("bird") * 13) == "13 birds"
    assert list_things(named("cat", "dog", "cat", "bus")) == "two cats, a dog and a bus"
    assert list_things(named(*"abcdefg")) == "an a, a b, a c, a d, an e and other things"


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
        (0, {"photograph": True, "grey": True, "pale": True}, "photograph"),
        (0, {"photograph": True, "grey": True, "colourless": True}, "black-and-white photograph"),
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
    details = {"camera": {"make": "Acme"}} if flags.pop("camera", False) else {}
    assert type_of_picture("", words, Scene(**flags), details=details).name == sort


@pytest.mark.parametrize(
    ("text", "flags", "sort", "evidence"),
    [
        (RECEIPT, {"tall": True}, "receipt", ["words of a receipt: total, cash, change", "amounts: 1.20, 2.35, 3.55"]),
        (RECEIPT.replace("total", "").replace("cash", ""), {"tall": True}, "picture", []),
        (RECEIPT, {"photograph": True}, "photograph", []),
        (LETTER, PAPER, "letter", ["greeting: Dear Ada,", "closing: kind regards,"]),
        (LETTER.replace("Dear", "From"), PAPER, "page of text", []),
        (
            "oven valve pump tank",
            DRAWN | {"ruled": True, "boxes": True},
            "diagram",
            ["straight lines across and down", "4 words on it"],
        ),
        ("oven valve pump tank", DRAWN, "drawing or diagram", []),
        ("oven valve pump tank", DRAWN | {"ruled": True}, "drawing or diagram", []),
        ("oven valve pump tank", DRAWN | {"ruled": True, "boxes": True, "grid": True}, "drawing or diagram", []),
        (
            "rain 10 20 30 40 50 2020 2021",
            PAPER | {"ruled": True},
            "chart",
            ["straight lines across and down", "7 of 8 words on it are numbers", "a scale"],
        ),
        (
            "rain 10 20 30 40 50 2020 2021",
            PAPER | {"ruled": True, "grid": True},
            "table or chart",
            ["straight lines across and down", "7 of 8 words on it are numbers"],
        ),
        ("Marta Olsen\nQuay 7, 5003 Bergen\n+47 55 01 22 33", DRAWN | {"ruled": True}, "drawing or diagram", []),
        (INVOICE, {"tall": True, **PAPER}, "page of text", []),
        (MENU, {"tall": True}, "picture", []),
        (ACCOUNTS, {"tall": True, **PAPER}, "page of text", []),
        ("one 10 20 30 40 50 " * 20, {"paper": True, "drawn": True, "ruled": True}, "drawing or diagram", []),
        ("Our harbour in spring", {"drawn": True, "slide": True}, "drawing or diagram", []),
        ("Settings\nCancel", {"slide": True}, "screenshot", ["labels of a program: settings, cancel"]),
        ("File Edit View Help", DRAWN, "screenshot", ["labels of a program: file, edit, view, help"]),
        ("File Edit View Help", {"photograph": True}, "photograph", []),
    ],
)
def test_writing_and_drawings_are_told_apart_by_signs(
    text: str, flags: dict[str, Any], sort: str, evidence: list[str]
) -> None:
    found = type_of_picture(text, count_text_words(text), Scene(**flags))
    assert (found.name, list(found.evidence)) == (sort, evidence)


def test_the_name_tells_a_screenshot_only_of_a_picture_that_is_drawn() -> None:
    name = "Bildschirmfoto 2026-04-03 um 10.12.01.png"
    assert type_of_picture("", 0, Scene(drawn=True), file_name=name).name == "screenshot"
    assert type_of_picture("", 0, Scene(photograph=True), file_name=name).name == "photograph"


@pytest.mark.parametrize(
    ("flags", "exposure", "things", "sort"),
    [
        ({}, {"seconds": 0.002, "aperture": 8.0, "iso": 100}, [], "photograph"),  # with a flash, perhaps
        ({"sky": True}, {"seconds": 0.002, "aperture": 8.0, "iso": 100}, [], "outdoor photograph"),
        ({}, {}, ["laptop"], "photograph"),
        ({}, {"seconds": 0.04, "aperture": 2.0, "iso": 800}, [], "photograph"),
        ({}, {"seconds": 0.04, "aperture": 2.0, "iso": 800}, ["couch"], "indoor photograph"),
        ({}, {}, ["couch", "cat"], "indoor photograph"),
        ({}, {}, ["car"], "outdoor photograph"),
        ({}, {}, ["car", "couch"], "photograph"),
        ({"sky": True, "greenery": True}, {}, [], "outdoor photograph"),
        ({"sky": True}, {}, [], "photograph"),
        ({"sky": True}, {}, ["laptop"], "photograph"),
        ({"dark": True}, {}, ["bus"], "dark outdoor photograph"),
    ],
)
def test_indoors_or_outdoors_is_told_where_the_signs_agree(
    flags: dict[str, Any], exposure: dict[str, float], things: list[str], sort: str
) -> None:
    scene = Scene(photograph=True, **flags)
    assert type_of_picture("", 0, scene, details={"exposure": exposure}, things=things).name == sort


@pytest.mark.parametrize("exposure", [None, {}, {"seconds": 0, "aperture": 2, "iso": 100}, {"seconds": "1", "iso": 1}])
def test_an_incomplete_exposure_tells_nothing(exposure: object) -> None:
    assert exposure_value(exposure) is None


def test_a_composed_caption_says_so() -> None:
    content = json.loads(as_json("A picture.", "composed", composed=True))
    assert content == {"text": "A picture.", "engine": "composed", "composed": True}


def test_a_models_caption_keeps_the_text_it_read() -> None:
    content = json.loads(as_json("A dog.", "seer", composed=False, words="Rex"))
    assert content == {"text": "A dog.", "visible_text": "Rex", "engine": "seer", "composed": False}


def test_the_sentence_is_what_search_reads() -> None:
    content = as_json("A “dog”.", "composed", composed=True, words="Rex", note="small")
    assert extract_text(upstream("image-captioning", content)).text == "A “dog”."
