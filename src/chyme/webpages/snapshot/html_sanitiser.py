"""Removes elements and attributes that a snapshot must not contain, with a parser that reads as browsers do.

Nothing that is serialised without escaping (script, style, noscript, iframe, title of an SVG …) passes. So whatever
tree a browser builds from the result, it has no element and no attribute that is not allowed here.
"""

from __future__ import annotations

import re
from collections.abc import Set
from functools import partial

from chyme.webpages.snapshot.data_urls import DATA_URL
from chyme.webpages.snapshot.parser_process import parser_process

SECONDS = 8.0
_PLACEHOLDER_ELEMENTS = frozenset({"x-html", "x-body", "x-noscript", "x-frameset", "x-frame", "x-template"})
_REMOVED_WITH_TEXT = frozenset({"script", "template", "noembed", "noframes", "canvas", "annotation", "annotation-xml"})
_PREFIXES = {"data-", "aria-", "_ngcontent-", "_nghost-"}
_SCHEMES = {"http", "https", "mailto", "tel", "data"}
_RENAMED_TAG = re.compile(r"<(/?)(html|body|noscript|frameset|frame)(?=[\s/>])", re.IGNORECASE)
_SHADOW_TEMPLATE = re.compile(
    r"<template(?=\s[^<>]{0,300}\bshadowrootmode\s?=\s?[\"']?(?:open|closed)\b)", re.IGNORECASE
)
_TEMPLATE_END = re.compile(r"(?=</template[\s>])", re.IGNORECASE)
_XML = re.compile(r"\s{0,100}<\?xml\s")
_SELF_CLOSED = re.compile(
    r"<(script|style|title|textarea|iframe|noscript)(?=[\s/])((?:[^<>\"'/]|\"[^\"<]*\"|'[^'<]*'|/(?!>))*)/>"
)
_CUSTOM_NAME = re.compile(r"<([a-z][a-z0-9]{0,30}(?:-[a-z0-9]{1,30}){1,6})(?=[\s/>])", re.IGNORECASE)
_RESERVED = frozenset({"annotation-xml", "color-profile", "font-face", "missing-glyph"})
MAX_CUSTOM_NAMES = 500
MAX_DATA_CHARS = 512  # characters of a data-… attribute
_LINK = re.compile(r"(?:https?|mailto|tel):", re.IGNORECASE)
_FRAGMENT = re.compile(r"\s*#[^\s]*")
_SRCSET = re.compile(r"(\S+) \d{1,5}(?:\.\d{1,3})?[wx]")


def custom_element_names(page: str) -> frozenset[str]:
    """Return the names of the page's custom elements, on which its styles often depend."""
    found: set[str] = set()
    for match in _CUSTOM_NAME.finditer(page):
        name = match[1].lower()
        if name not in _RESERVED and name not in _PLACEHOLDER_ELEMENTS and not name.startswith("font-face"):
            found.add(name)
            if len(found) >= MAX_CUSTOM_NAMES:
                break
    return frozenset(found)


def load_html_parser() -> None:
    """Load the parser here, so that the processes that are copied from this one have it."""
    _sanitise("", frozenset(), frozenset())


def normalise_html(page: str, custom_names: Set[str], max_bytes: int) -> str | None:
    """Return the page in regular form, as browsers understand it, for further inspection; None on failure.

    <html>, <body>, <noscript> and frames, which have parsing rules of their own, come out as x-html, x-body and so on;
    so do templates that browsers show at once.
    """
    html = parser_process().run(partial(_normalise, page, custom_names), SECONDS, max_bytes)
    return None if html is None else html.decode("utf-8", "replace")


def sanitise_body(body: str, custom_names: Set[str], styles: Set[str], max_bytes: int) -> str | None:
    """Return the allowed part of the contents of <body>; None on failure. `styles`: values of style="" that are
    already sanitised.
    """
    html = parser_process().run(partial(_sanitise, body, custom_names, styles), SECONDS, max_bytes)
    return None if html is None else html.decode("utf-8", "replace")


def _normalise(page: str, custom_names: Set[str]) -> bytes:
    import nh3

    if _XML.match(page):  # XML may self-close any element; HTML would swallow what follows
        page = _SELF_CLOSED.sub(r"<\1\2></\1>", page)
    page, shadow_templates = _SHADOW_TEMPLATE.subn("<x-template", page)
    if shadow_templates:  # parsers ignore end tags of elements that are not open
        page = _TEMPLATE_END.sub("</x-template>", page)
    return nh3.clean(
        _RENAMED_TAG.sub(r"<\1x-\2", page),
        tags=HTML_ELEMENTS | SVG_ELEMENTS | MATHML_ELEMENTS | INSPECTED_ELEMENTS | _PLACEHOLDER_ELEMENTS | custom_names,
        clean_content_tags=_REMOVED_WITH_TEXT,
        attributes={
            "*": GLOBAL_ATTRIBUTES | SVG_ATTRIBUTES | INSPECTED_ATTRIBUTES,
            "link": {"onload"},
        },  # no <link> is ever written
        generic_attribute_prefixes=_PREFIXES,
        url_schemes=_SCHEMES | {"javascript"},
        link_rel=None,
    ).encode("utf-8", "replace")


def _sanitise(body: str, custom_names: Set[str], styles: Set[str]) -> bytes:
    import nh3

    def approved(tag: str, attribute: str, value: str) -> str | None:
        return value if _is_allowed(tag, attribute, value, styles) else None

    return nh3.clean(
        body,
        tags=HTML_ELEMENTS | SVG_ELEMENTS | MATHML_ELEMENTS | custom_names,
        clean_content_tags=_REMOVED_WITH_TEXT | {"style", "iframe", "noscript", "title", "xmp", "object"},
        attributes={"*": (GLOBAL_ATTRIBUTES | SVG_ATTRIBUTES) - {"rel"}},
        attribute_filter=approved,
        generic_attribute_prefixes=_PREFIXES,
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer",
    ).encode("utf-8", "replace")


def may_contain_url(value: str) -> bool:
    """Whether an SVG attribute may contain an address: then it is treated as style."""
    return "\\" in value or "url" in value.lower()


def _is_allowed(tag: str, attribute: str, value: str, styles: Set[str]) -> bool:
    if attribute == "style":
        return value in styles
    if attribute in ("href", "xlink:href"):
        if tag in ("a", "area"):
            return attribute == "href" and (value.startswith("#") or _LINK.match(value) is not None)
        if tag == "image":
            return DATA_URL.fullmatch(value) is not None
        return tag in SVG_ELEMENTS and _FRAGMENT.fullmatch(value) is not None
    if attribute in ("src", "poster"):
        return tag in ("img", "video", "input") and DATA_URL.fullmatch(value) is not None
    if attribute == "srcset":
        found = _SRCSET.fullmatch(value)
        return tag == "img" and found is not None and DATA_URL.fullmatch(found[1]) is not None
    if attribute == "method":
        return value == "dialog"
    if attribute == "target":
        return value == "_blank"
    if attribute in SVG_ATTRIBUTES and may_contain_url(value):
        return value in styles
    return not attribute.startswith("data-") or len(value) <= MAX_DATA_CHARS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


HTML_ELEMENTS = _words(
    """a abbr acronym address area article aside b bdi bdo big blink blockquote br button caption center cite code col
    colgroup data dd del details dfn dialog dir div dl dt em fieldset figcaption figure font footer form h1 h2 h3 h4 h5
    h6 header hgroup hr i img input ins kbd label legend li main map mark marquee menu meter nav nobr ol optgroup option
    output p picture pre progress q rb rp rt rtc ruby s samp search section select small span strike strong sub summary
    sup table tbody td textarea tfoot th thead time tr tt u ul var video wbr"""
)
SVG_ELEMENTS = _words(
    """svg g path circle ellipse line polyline polygon rect text tspan textPath defs symbol use image linearGradient
    radialGradient stop clipPath mask pattern marker filter feBlend feColorMatrix feComponentTransfer feComposite
    feDropShadow feFlood feFuncA feFuncB feFuncG feFuncR feGaussianBlur feMerge feMergeNode feMorphology feOffset
    feTile feTurbulence switch"""
)
MATHML_ELEMENTS = _words(
    """math mrow mi mn mo ms mtext mspace msup msub msubsup mfrac msqrt mroot mtable mtr mtd mover munder munderover
    mstyle mpadded mphantom menclose mmultiscripts mprescripts merror semantics"""
)
SVG_ATTRIBUTES = _words(
    """viewBox preserveAspectRatio d points x y x1 y1 x2 y2 cx cy r rx ry fx fy dx dy fill fill-rule fill-opacity
    stroke stroke-width stroke-linecap stroke-linejoin stroke-dasharray stroke-dashoffset stroke-opacity
    stroke-miterlimit opacity transform gradientUnits gradientTransform spreadMethod offset stop-color stop-opacity
    clip-path clip-rule clipPathUnits mask maskUnits maskContentUnits patternUnits patternContentUnits patternTransform
    filter filterUnits primitiveUnits markerWidth markerHeight markerUnits refX refY orient marker-start marker-mid
    marker-end text-anchor dominant-baseline alignment-baseline font-size font-family font-weight font-style
    letter-spacing textLength lengthAdjust startOffset rotate stdDeviation in in2 result mode operator values type
    flood-color flood-opacity k1 k2 k3 k4 radius baseFrequency numOctaves seed stitchTiles tableValues slope intercept
    amplitude exponent color color-interpolation-filters display visibility overflow vector-effect paint-order
    shape-rendering text-rendering pathLength focusable"""
)
GLOBAL_ATTRIBUTES = _words(
    """class id style dir lang title role hidden width height align valign bgcolor border color size face cellpadding
    cellspacing colspan rowspan headers scope abbr span start reversed value name alt type checked disabled selected
    multiple placeholder readonly open datetime cite rows cols wrap label min max low high optimum shape coords usemap
    ismap for hspace vspace clear compact noshade nowrap frame rules char charoff popover inert slot part rel target
    href xlink:href src srcset sizes poster method tabindex accesskey loading decoding summary text link vlink alink
    mathvariant displaystyle scriptlevel stretchy fence separator linethickness columnalign rowalign columnspacing
    rowspacing notation depth lspace rspace accent accentunder"""
)
INSPECTED_ATTRIBUTES = _words("content property http-equiv media data code background as sizes itemprop srcdoc")
INSPECTED_ELEMENTS = _words("link meta base title style iframe object embed applet audio source track desc")
