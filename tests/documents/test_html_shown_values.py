"""What a page shows without text of its own: values of fields, formulas, raised digits, descriptions, menus."""

from __future__ import annotations

import pytest

from chyme.documents.conversion.results import ConversionLimits
from chyme.documents.html.reader import page_text, read_page
from chyme.documents.html.shown_values import is_telling
from chyme.documents.html.tree import Page

PROSE = "".join(
    f"<p>Paragraph {n} tells at some length how the boats of the club are painted, and why the cook who has seen it "
    "done many times still holds the ladder every single spring.</p>"
    for n in range(6)
)
MENU = "<ul>" + "".join(f"<li><a href='/{n}'>Entry {n}</a></li>" for n in range(12)) + "</ul>"


def read(body: str, head: str = "<title>Boats</title>") -> str:
    page = Page(f"<!doctype html><html><head>{head}</head><body>{body}</body></html>")
    return read_page(page, "", ConversionLimits()).markdown


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("4 m<sup>2</sup> of it", "4 m² of it"),
        ("H<sub>2</sub>O", "H₂O"),
        ("x<sup>n+1</sup>", "xⁿ⁺¹"),
        ("10<sup>-6</sup>", "10⁻⁶"),
        ("the 3<sup>rd</sup> boat", "the 3rd boat"),
        ("varnish<sup>2</sup> and oil", "varnish[^2] and oil"),
        ("it.<sup>1</sup> Then", "it.[^1] Then"),
        ("oars<sup><a href='#n1'>1</a></sup>", "oars[^1]"),
        ("oars<sup>[1]</sup>", "oars[1]"),
    ],
)
def test_raised_and_lowered_digits_are_written_as_such(source: str, text: str) -> None:
    assert read(f"<p>{source}</p>").replace("\\", "") == text


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("<mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup>", "E = mc²"),
        ("<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mi>c</mi></mfrac>", "(a + b)/c"),
        ("<msqrt><mi>x</mi></msqrt>", "√x"),
        ("<msubsup><mi>x</mi><mn>1</mn><mn>2</mn></msubsup>", "x₁²"),
        (
            "<semantics><mi>y</mi><annotation encoding='application/x-tex'>\\displaystyle y</annotation></semantics>",
            "y",
        ),
    ],
)
def test_formulas_are_one_line_without_markup(formula: str, text: str) -> None:
    assert read(f"<p><math>{formula}</math></p>").replace("\\", "") == text


def test_a_formula_that_is_hidden_behind_its_picture_is_read_once() -> None:
    formula = "<math alttext='{\\displaystyle p}'><mi>p</mi><mo>=</mo><mn>2</mn></math>"
    picture = "<img src=p.png alt='{\\displaystyle p = two of them}' aria-hidden=true>"
    text = read(f"<p>Here <span class=m><span style='display:none'>{formula}</span>{picture}</span> holds.</p>")
    assert text == "Here p = 2 holds."


def test_form_fields_are_read_with_their_labels_and_values() -> None:
    text = read(
        "<h1>Order</h1><form><p><label>To <input name=to value='Hof 7'></label></p>"
        "<p><label>Kind <select><option>peas<option selected>beans</select></label></p>"
        "<p><label><input type=checkbox checked> untreated</label></p>"
        "<p><label>Remarks <textarea>under the pear tree</textarea></label></p>"
        "<input type=hidden value=token><input type=submit value=Send><input type=password value=secret>"
        "<input name=q value=needle></form>"
    )
    assert text == "# Order\n\nTo Hof 7\n\nKind beans\n\n☑ untreated\n\nRemarks under the pear tree"


def test_telling_descriptions_of_pictures_are_read_once() -> None:
    assert read("<p>See <img src=m.png alt='A map of the [old] canal'> here.</p>") == (
        "See ![A map of the (old) canal]() here."
    )
    assert read("<p><a href=/m><img src=m.png alt='A map of the canal'></a></p>") == "![A map of the canal]()"
    captioned = "<figure><img alt='The slipway in May'><figcaption>The slipway in May, by Ada</figcaption></figure>"
    assert read(captioned).count("slipway") == 1
    assert not is_telling("logo")
    assert not is_telling("IMG 20240501 123 of many.jpg")


def test_descriptions_of_pictures_inside_an_article_are_kept_with_it() -> None:
    halves = PROSE.partition("<p>Paragraph 3")
    body = f"{halves[0]}<figure><img alt='Engraving of the long shed'></figure>{halves[1]}{halves[2]}"
    text = read(f"<nav>{MENU}</nav><article>{body}</article>")
    assert "![Engraving of the long shed]()" in text
    assert "Entry 3" not in text


def test_a_page_that_is_only_a_menu_is_a_nested_list() -> None:
    menu = (
        "<ul><li><a href=/a>Registers of this parish</a><ul><li><a href=/b>Burials before 1820</a>"
        "<ul><li><a href=/c>Graves of the cholera</a></ul></ul></ul>"
    )
    assert read(f"<nav>{menu}</nav><p>Parish office</p>") == (
        "- [Registers of this parish](/a)\n  * [Burials before 1820](/b)\n    + [Graves of the cholera](/c)"
        "\n\nParish office"
    )


def test_the_menu_of_a_page_with_text_is_left_out() -> None:
    assert "Entry 3" not in read(f"<nav>{MENU}</nav>{PROSE}")


def test_headers_and_parts_inside_a_form_are_text() -> None:
    text = read(f"<form id=aspnetForm><header><h2>Season</h2></header>{PROSE}</form>")
    assert text.startswith("## Season\n\nParagraph 0")
    assert "Paragraph 5" in text


def test_a_page_with_more_prose_than_its_longest_part_is_read_whole() -> None:
    notices = "".join(
        f"<div class='widget sidebar'><h3>Item {n}</h3><p>Meeting {n} is in hall {n}.</p><p>Bring chair {n}.</p></div>"
        for n in range(80)
    )
    links = "".join(f"<a href='/{n}'>more {n}</a> " for n in range(5))
    text = read(f"<div class=story>{PROSE}</div>{notices}{links}")
    assert "Paragraph 5" in text
    assert "Meeting 77" in text


def test_pages_are_decoded_as_browsers_do() -> None:
    assert "“oars”" in page_text('<meta charset="iso-8859-1"><p>“oars”</p>'.encode("cp1252"))
    assert "①" in page_text('<meta charset="x-sjis"><p>①</p>'.encode("cp932"))
    assert "boats" in page_text(b'<meta charset="utf-16"><p>boats</p>')
