"""Sanitises SVG files before they are stored, and takes icons from them (<use href="icons.svg#leaf">)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from xml.etree.ElementTree import Element

from chyme.webpages.snapshot.css_sanitiser import strip_css_urls, strip_declaration_urls
from chyme.webpages.snapshot.data_urls import DATA_URL, SVG_HEAD_BYTES
from chyme.webpages.snapshot.html_sanitiser import GLOBAL_ATTRIBUTES, SVG_ATTRIBUTES, SVG_ELEMENTS, may_contain_url

MAX_SVG_BYTES = 2 << 20  # of one file
_REMOVED = frozenset(
    {"script", "foreignobject", "handler", "listener", "iframe", "object", "embed", "audio", "video", "set", "animate"}
    | {"animatemotion", "animatetransform", "discard"}
)
_KEPT_ATTRIBUTES = ("class", "id", "x", "y", "width", "height", "transform", "fill")
_NOT_COPIED = frozenset({"id", "class", "style", "href", "src"})


def sanitise_svg(data: bytes) -> bytes | None:
    """Return the SVG without scripts, entities and external references; None if it is not an SVG."""
    from lxml import etree  # type: ignore[import-untyped]

    if len(data) > MAX_SVG_BYTES or b"<" not in data[:SVG_HEAD_BYTES]:
        return None
    parser = etree.XMLParser(
        resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(data, parser)
        return _sanitise_tree(root) if _local_name(root) == "svg" else None
    except (etree.XMLSyntaxError, ValueError):
        return None


def _sanitise_tree(root: Any) -> bytes:
    from lxml import etree

    for element in list(root.iter()):
        if not isinstance(element.tag, str) or _local_name(element) in _REMOVED:  # entities too: never expanded
            if element.getparent() is not None:
                element.getparent().remove(element)
        else:
            if _local_name(element) == "style":
                element.text = strip_css_urls("".join(element.itertext()))
                del element[:]
            _sanitise_attributes(element)
    serialised: bytes = etree.tostring(root, encoding="utf-8", with_tail=False)
    return serialised


def _sanitise_attributes(element: object) -> None:
    from lxml import etree

    attributes = element.attrib  # type: ignore[attr-defined]
    for name in list(attributes):
        local, value = etree.QName(name).localname.lower(), attributes[name].strip()
        if local.startswith("on") or local in ("base", "src"):
            del attributes[name]
        elif local == "href":
            if not (value.startswith("#") or DATA_URL.fullmatch(value)):
                del attributes[name]
        elif local == "style" or "url" in value.lower() or "\\" in value:
            attributes[name] = strip_declaration_urls(value)


def _local_name(element: object) -> str:
    from lxml import etree

    return str(etree.QName(element).localname).lower()


def extract_icons(svg: bytes, wanted: Iterable[str]) -> Mapping[str, Element]:
    """Return the elements of a sanitised SVG with these ids, as elements of a page."""
    from lxml import etree

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
