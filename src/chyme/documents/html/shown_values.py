"""Write as text what a page shows without text: values of form fields, formulas, raised digits, descriptions."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement  # type: ignore[import-untyped]

VALUE_LENGTH = 2_000
FORMULA_LENGTH = 2_000
MAX_SCRIPTS = 2_000  # of one page; each joins the texts around it, which takes time with long ones
ALT_LENGTH = 300
ALT_LETTERS = 8  # a shorter description says nothing
LONG_WORD = 3  # letters; digits above a longer word are the mark of a note
_NO_VALUE = frozenset(("hidden", "password", "submit", "button", "reset", "image", "file", "search", "range", "color"))
_SEARCH_NAMES = frozenset(("q", "s", "query", "search", "keyword", "keywords", "term"))
_HIGH = str.maketrans("0123456789+-−=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ")
_LOW = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_HIGH_SIGNS, _LOW_SIGNS = re.compile(r"[0-9+\-−=()ni]{1,12}"), re.compile(r"[0-9+\-−=()]{1,12}")
_NOTE = re.compile(r"[0-9]{1,3}")
_ORDINAL = re.compile(r"[^\W\d_]{1,3}")  # as in 3rd, 1er
_LAST_WORD = re.compile(r"[^\W\d_]*\Z")
_FILE_NAME = re.compile(r"\.(?:jpe?g|png|gif|webp|svg|avif|bmp|tiff?)\Z|^(?:IMG|DSC|https?)", re.IGNORECASE)
_LETTERS = re.compile(r"[^\W\d_]")
_BRACKETS = str.maketrans({"[": "(", "]": ")", "\n": " ", "\\": " "})
_LOOSE = frozenset("=≠≈≡<>≤≥→⇒⇔∈∉⊂⊆∪∩+−±×÷·∧∨")
_WRAPPERS = frozenset(("span", "mjx-assistive-mml", "mjx-container"))


def write_values(root: HtmlElement) -> None:
    """Replace form fields by the values they show: in place. Empty fields and those of searches stay as they are."""
    for field in list(root.iter("input", "select", "textarea")):
        value = _value_of(field)
        if not value:
            continue
        tail = field.tail
        field.clear()
        field.tag, field.text, field.tail = "span", f" {value} ", tail


def write_formulas(root: HtmlElement) -> None:
    """Replace formulas by one line of text, and digits above or below the line by such digits: in place."""
    for formula in list(root.iter("math")):
        text = " ".join(_formula_text(formula).split()) or (formula.get("alttext") or "").strip()
        tail = formula.tail
        formula.clear()
        formula.tag, formula.text, formula.tail = "span", text[:FORMULA_LENGTH], tail
        _show(formula)
    for element in list(islice(root.iter("sup", "sub"), MAX_SCRIPTS)):
        _write_script(element)


def clean_descriptions(root: HtmlElement) -> None:
    """Keep the pictures that have a telling description the page does not repeat beside it, without their address."""
    for picture in list(root.iter("img")):
        alt = " ".join((picture.get("alt") or "").translate(_BRACKETS).split())[:ALT_LENGTH]
        tail = picture.tail
        picture.clear()
        picture.tail = tail
        if is_telling(alt) and not _is_repeated(picture, alt):
            picture.set("alt", alt)


def is_telling(alt: str) -> bool:
    """Whether a description says more than a word or a file's name."""
    return len(_LETTERS.findall(alt)) >= ALT_LETTERS and " " in alt and not _FILE_NAME.search(alt)


def _is_repeated(picture: HtmlElement, alt: str) -> bool:
    around = picture
    for _ in range(2):
        parent = around.getparent()
        if parent is None or parent.tag in ("body", "article", "main"):
            break
        around = parent
    return alt.casefold() in " ".join(around.text_content()[:10_000].split()).casefold()


def _value_of(field: HtmlElement) -> str:
    if field.tag == "textarea":
        value = field.text_content()
    elif field.tag == "select":
        chosen = (option for option in field.iter("option") if option.get("selected") is not None)
        value = ", ".join(" ".join(option.text_content().split()) for option in chosen)
    else:
        kind, name = (field.get("type") or "text").lower(), (field.get("name") or "").lower()
        if kind in ("checkbox", "radio"):
            return "☑" if field.get("checked") is not None else ""
        if kind in _NO_VALUE or name in _SEARCH_NAMES:
            return ""
        value = field.get("value") or ""
    return " ".join(value[:VALUE_LENGTH].split())


def _write_script(element: HtmlElement) -> None:
    """Digits and signs become raised or lowered ones, if they belong to the letter or number before them."""
    text = element.text_content().strip()
    before = _text_before(element)
    signs, table = (_HIGH_SIGNS, _HIGH) if element.tag == "sup" else (_LOW_SIGNS, _LOW)
    if not text or not signs.fullmatch(text) or not before or not (before[-1].isalnum() or before[-1] in ")]"):
        if _NOTE.fullmatch(text) and element.tag == "sup" and before:
            _replace_text(element, f"[^{text}]")
        elif _ORDINAL.fullmatch(text) and before[-1:].isdigit():
            _replace_text(element, text)
        return
    word = _LAST_WORD.search(before)
    is_note = element.tag == "sup" and _NOTE.fullmatch(text) and word is not None and len(word[0]) > LONG_WORD
    if is_note or (next(element.iter("a"), None) is not None and _NOTE.fullmatch(text)):
        _replace_text(element, f"[^{text}]")
    else:
        _replace_text(element, text.translate(table))


def _replace_text(element: HtmlElement, text: str) -> None:
    """Make it a part of the text around: an element in between would tear the word apart."""
    tail = element.tail
    element.clear()
    element.text, element.tail = text, tail
    element.drop_tag()


def _text_before(element: HtmlElement) -> str:
    """The text directly before an element, with no blank between; empty if there is none."""
    previous = element.getprevious()
    if previous is not None:
        return str(previous.tail or (previous.text_content() if previous.tag != "br" else ""))[-40:]
    parent = element.getparent()
    return str(parent.text or "")[-40:] if parent is not None else ""


def _show(formula: HtmlElement) -> None:
    """Show the hidden element that contains nothing but the formula: pages show a picture of it instead."""
    inner, above = formula, formula.getparent()
    while above is not None and above.tag in _WRAPPERS and len(above) == 1 and not (above.text or "").strip():
        above.attrib.pop("style", None)
        above.attrib.pop("aria-hidden", None)
        inner, above = above, above.getparent()
    if inner.getnext() is not None and inner.getnext().tag == "img":
        inner.getnext().attrib.pop("alt", None)


def _formula_text(element: HtmlElement) -> str:
    """A formula on one line: powers raised, fractions with a slash, no markup of any sort."""
    name = str(element.tag).rpartition(":")[2].rpartition("}")[2]
    if name in ("annotation", "annotation-xml"):
        return ""
    parts = [_formula_text(child) for child in element]
    if name == "mfrac" and len(parts) == 2:
        return f"{_grouped(parts[0])}/{_grouped(parts[1])}"
    if name in ("msup", "msub") and len(parts) == 2:
        return f"{parts[0]}{_script(parts[1], name == 'msup')}"
    if name == "msubsup" and len(parts) == 3:
        return f"{parts[0]}{_script(parts[1], high=False)}{_script(parts[2], high=True)}"
    if name == "msqrt":
        return f"√{_grouped(''.join(parts))}"
    if name == "mtr":
        return " ".join(parts) + " ; "
    if parts:
        return "".join(parts)
    text = " ".join((element.text or "").split())
    return f" {text} " if text in _LOOSE or name == "mtext" else text.strip("\u2061\u2062\u2063\u2064")


def _grouped(text: str) -> str:
    text = text.strip()
    return text if len(text) <= 1 or text.isalnum() else f"({text})"


def _script(text: str, high: bool) -> str:
    text = text.strip()
    if (_HIGH_SIGNS if high else _LOW_SIGNS).fullmatch(text):
        return text.translate(_HIGH if high else _LOW)
    return f"^{_grouped(text)}" if high else f"_{_grouped(text)}"
