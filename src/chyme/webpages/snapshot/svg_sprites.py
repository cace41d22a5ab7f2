"""Inlines icons that a page takes from another SVG file (<use href="icons.svg#leaf">)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from xml.etree.ElementTree import Element

from chyme.webpages.snapshot.allowlist import GLOBAL_ATTRIBUTES, SVG_ATTRIBUTES, SVG_ELEMENTS
from chyme.webpages.snapshot.html_sanitiser import may_contain_url

_KEPT_ATTRIBUTES = ("class", "id", "x", "y", "width", "height", "transform", "fill")
_NOT_COPIED = frozenset({"id", "class", "style", "href", "src"})


def extract_icons(svg: bytes, wanted: Iterable[str]) -> Mapping[str, Element]:
    """Return the elements of a sanitised SVG with these ids, as elements of a page."""
    from lxml import etree  # type: ignore[import-untyped]

    names = set(wanted)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    icons: dict[str, Element] = {}
    for element in etree.fromstring(svg, parser).iter():
        name = element.get("id") if isinstance(element.tag, str) else None
        if name in names and name not in icons:
            icons[name] = _copy_element(element)
    return icons


def insert_icon(use: Element, icon: Element) -> None:
    """Put the icon in place of the <use>."""
    use.attrib = {name: use.attrib[name] for name in _KEPT_ATTRIBUTES if name in use.attrib}
    use.tag = "g"
    if icon.tag in ("symbol", "svg"):
        use.tag = "svg"
        use.attrib |= {name: icon.attrib[name] for name in ("viewBox", "preserveAspectRatio") if name in icon.attrib}
        use[:] = list(icon)
    else:
        use[:] = [icon]


def _copy_element(element: Any) -> Element:
    local = element.tag.rpartition("}")[2]
    copy = Element(local)
    for name, value in element.attrib.items():
        if name in (GLOBAL_ATTRIBUTES | SVG_ATTRIBUTES) - _NOT_COPIED and not may_contain_url(value):
            copy.set(name, value)
    copy.text = element.text
    for child in element:
        if isinstance(child.tag, str) and child.tag.rpartition("}")[2] in SVG_ELEMENTS - {"use", "image"}:
            inner = _copy_element(child)
            inner.tail = child.tail
            copy.append(inner)
    return copy
