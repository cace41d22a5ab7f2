"""Which elements and attributes a kept page may have, held by a parser that reads as browsers do.

Nothing that is written without escaping (script, style, noscript, iframe, title of a drawing …) is let through. So
whatever tree a browser builds of the result, it has no element and no attribute that is not named here.
"""

from __future__ import annotations

import re
from collections.abc import Set
from functools import partial

from chyme.webpages.snapshot.allowlist import (
    GLOBAL_ATTRIBUTES,
    HTML_ELEMENTS,
    INSPECTED_ATTRIBUTES,
    INSPECTED_ELEMENTS,
    MATHML_ELEMENTS,
    SVG_ATTRIBUTES,
    SVG_ELEMENTS,
)
from chyme.webpages.snapshot.data_urls import DATA_URL
from chyme.webpages.snapshot.parser_process import run_in_fork

SECONDS = 8.0
_STANDING_IN = frozenset({"x-html", "x-body", "x-noscript", "x-frameset", "x-frame", "x-template"})
_GONE_WITH_TEXT = frozenset({"script", "template", "noembed", "noframes", "canvas", "annotation", "annotation-xml"})
_PREFIXES = {"data-", "aria-", "_ngcontent-", "_nghost-"}
_SCHEMES = {"http", "https", "mailto", "tel", "data"}
_RENAMED = re.compile(r"<(/?)(html|body|noscript|frameset|frame)(?=[\s/>])", re.IGNORECASE)
_SHOWN_TEMPLATE = re.compile(
    r"<template(?=\s[^<>]{0,300}\bshadowrootmode\s?=\s?[\"']?(?:open|closed)\b)", re.IGNORECASE
)
_TEMPLATE_END = re.compile(r"(?=</template[\s>])", re.IGNORECASE)
_XML = re.compile(r"\s{0,100}<\?xml\s")
_CLOSED_AT_ONCE = re.compile(
    r"<(script|style|title|textarea|iframe|noscript)(?=[\s/])((?:[^<>\"'/]|\"[^\"<]*\"|'[^'<]*'|/(?!>))*)/>"
)
_OWN_NAME = re.compile(r"<([a-z][a-z0-9]{0,30}(?:-[a-z0-9]{1,30}){1,6})(?=[\s/>])", re.IGNORECASE)
_RESERVED = frozenset({"annotation-xml", "color-profile", "font-face", "missing-glyph"})
MOST_OWN_NAMES = 500
LONGEST_OWN_DATA = 512  # characters of a data-… attribute
_LINK = re.compile(r"(?:https?|mailto|tel):", re.IGNORECASE)
_DRAWN_REFERENCE = re.compile(r"\s*#[^\s]*")
_SET = re.compile(r"(\S+) \d{1,5}(?:\.\d{1,3})?[wx]")


def custom_element_names(page: str) -> frozenset[str]:
    """Names of the page's custom elements, on which its styles often hang."""
    found: set[str] = set()
    for match in _OWN_NAME.finditer(page):
        name = match[1].lower()
        if name not in _RESERVED and name not in _STANDING_IN and not name.startswith("font-face"):
            found.add(name)
            if len(found) >= MOST_OWN_NAMES:
                break
    return frozenset(found)


def normalise_html(page: str, own: Set[str], most: int) -> str | None:
    """The page in regular form, as browsers understand it, for us to look into; None when that cannot be had.

    <html>, <body>, <noscript> and frames, which are read in ways of their own, come out as x-html, x-body and so on;
    so do templates that browsers show at once.
    """
    made = run_in_fork(partial(_regular, page, own), SECONDS, most)
    return None if made is None else made.decode("utf-8", "replace")


def sanitise_body(body: str, own: Set[str], styles: Set[str], most: int) -> str | None:
    """What may go out of what is to be inside <body>; None when that cannot be had. `styles` are values of style=""
    that hold nothing but what was let into them.
    """
    made = run_in_fork(partial(_sanitised, body, own, styles), SECONDS, most)
    return None if made is None else made.decode("utf-8", "replace")


def _regular(page: str, own: Set[str]) -> bytes:
    import nh3

    if _XML.match(page):  # where everything may be closed at once; else it would swallow what follows
        page = _CLOSED_AT_ONCE.sub(r"<\1\2></\1>", page)
    page, shown = _SHOWN_TEMPLATE.subn("<x-template", page)
    if shown:  # an end of what is not open is passed over
        page = _TEMPLATE_END.sub("</x-template>", page)
    return nh3.clean(
        _RENAMED.sub(r"<\1x-\2", page),
        tags=HTML_ELEMENTS | SVG_ELEMENTS | MATHML_ELEMENTS | INSPECTED_ELEMENTS | _STANDING_IN | own,
        clean_content_tags=_GONE_WITH_TEXT,
        attributes={
            "*": GLOBAL_ATTRIBUTES | SVG_ATTRIBUTES | INSPECTED_ATTRIBUTES,
            "link": {"onload"},
        },  # no <link> ever goes out
        generic_attribute_prefixes=_PREFIXES,
        url_schemes=_SCHEMES | {"javascript"},
        link_rel=None,
    ).encode("utf-8", "replace")


def _sanitised(body: str, own: Set[str], styles: Set[str]) -> bytes:
    import nh3

    def approved(tag: str, attribute: str, value: str) -> str | None:
        return value if _may_stay(tag, attribute, value, styles) else None

    return nh3.clean(
        body,
        tags=HTML_ELEMENTS | SVG_ELEMENTS | MATHML_ELEMENTS | own,
        clean_content_tags=_GONE_WITH_TEXT | {"style", "iframe", "noscript", "title", "xmp", "object"},
        attributes={"*": (GLOBAL_ATTRIBUTES | SVG_ATTRIBUTES) - {"rel"}},
        attribute_filter=approved,
        generic_attribute_prefixes=_PREFIXES,
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer",
    ).encode("utf-8", "replace")


def may_contain_url(value: str) -> bool:
    """Whether a value of a drawing's attribute may name an address: then it is treated as style."""
    return "\\" in value or "url" in value.lower()


def _may_stay(tag: str, attribute: str, value: str, styles: Set[str]) -> bool:
    if attribute == "style":
        return value in styles
    if attribute in ("href", "xlink:href"):
        if tag in ("a", "area"):
            return attribute == "href" and (value.startswith("#") or _LINK.match(value) is not None)
        if tag == "image":
            return DATA_URL.fullmatch(value) is not None
        return tag in SVG_ELEMENTS and _DRAWN_REFERENCE.fullmatch(value) is not None
    if attribute in ("src", "poster"):
        return tag in ("img", "video", "input") and DATA_URL.fullmatch(value) is not None
    if attribute == "srcset":
        found = _SET.fullmatch(value)
        return tag == "img" and found is not None and DATA_URL.fullmatch(found[1]) is not None
    if attribute == "method":
        return value == "dialog"
    if attribute == "target":
        return value == "_blank"
    if attribute in SVG_ATTRIBUTES and may_contain_url(value):
        return value in styles
    return not attribute.startswith("data-") or len(value) <= LONGEST_OWN_DATA
