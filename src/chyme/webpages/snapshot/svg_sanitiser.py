"""Drawings (SVG) from elsewhere, made harmless before they are kept."""

from __future__ import annotations

from typing import Any

from chyme.webpages.snapshot.css_sanitiser import strip_css_urls, strip_declaration_urls
from chyme.webpages.snapshot.data_urls import DATA_URL, HEAD

LARGEST = 2 << 20  # markup of one drawing
_GONE = frozenset(
    {"script", "foreignobject", "handler", "listener", "iframe", "object", "embed", "audio", "video", "set", "animate"}
    | {"animatemotion", "animatetransform", "discard"}
)


def sanitise_svg(data: bytes) -> bytes | None:
    """The drawing without scripts, entities and anything that reaches outside; None when it is none."""
    from lxml import etree  # type: ignore[import-untyped]

    if len(data) > LARGEST or b"<" not in data[:HEAD]:
        return None
    parser = etree.XMLParser(
        resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(data, parser)
        return _harmless(root) if _local(root) == "svg" else None
    except (etree.XMLSyntaxError, ValueError):
        return None


def _harmless(root: Any) -> bytes:
    from lxml import etree

    for element in list(root.iter()):
        if not isinstance(element.tag, str) or _local(element) in _GONE:  # entities too: nobody expands them
            if element.getparent() is not None:
                element.getparent().remove(element)
        else:
            if _local(element) == "style":
                element.text = strip_css_urls("".join(element.itertext()))
                del element[:]
            _quieten(element)
    written: bytes = etree.tostring(root, encoding="utf-8", with_tail=False)
    return written


def _quieten(element: object) -> None:
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


def _local(element: object) -> str:
    from lxml import etree

    return str(etree.QName(element).localname).lower()
