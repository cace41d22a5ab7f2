"""Sanitises SVG files before they are stored."""

from __future__ import annotations

from typing import Any

from chyme.webpages.snapshot.css_sanitiser import strip_css_urls, strip_declaration_urls
from chyme.webpages.snapshot.data_urls import DATA_URL, SVG_HEAD_BYTES

MAX_SVG_BYTES = 2 << 20  # of one file
_REMOVED = frozenset(
    {"script", "foreignobject", "handler", "listener", "iframe", "object", "embed", "audio", "video", "set", "animate"}
    | {"animatemotion", "animatetransform", "discard"}
)


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
