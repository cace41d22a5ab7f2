"""A page as a tree: parsed from the regular form that the sanitiser writes, changed in place, and serialised."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from xml.etree.ElementTree import Element

DROP = "!drop"  # as a tag: neither the element nor its contents are written
UNWRAP = "!unwrap"  # as a tag: only the contents of the element are written
VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
)
MAX_ELEMENTS = 200_000
MAX_DEPTH = 500  # deeper elements become siblings, as in browsers
_RAW = frozenset({"style", "iframe"})  # their text is not escaped, outside SVG
_TAG = re.compile(r'<(/?)([^\s<>/"]+)((?:\s[^\s=>]+="[^"]*")*)\s*>')
_ATTRIBUTE = re.compile(r'\s([^\s=>]+)="([^"]*)"')


def tree_of(html: str) -> tuple[Element, bool]:
    """Return the tree below a dummy root, and whether it is complete: it ends after MAX_ELEMENTS."""
    root = Element(UNWRAP)
    stack, names = [root], [UNWRAP]
    position, count = 0, 0
    while (start := html.find("<", position)) >= 0:
        _append_text(stack[-1], unescape(html[position:start]))
        found = _TAG.match(html, start)
        if not found:
            _append_text(stack[-1], "<")
            position = start + 1
            continue
        position = found.end()
        is_end_tag, name, attributes = found.groups()
        if is_end_tag:
            if len(names) > 1 and names[-1] == name:
                names.pop()
                stack.pop()
            continue
        count += 1
        if count > MAX_ELEMENTS:
            return root, False
        element = Element(name, {key: unescape(value) for key, value in _ATTRIBUTE.findall(attributes)})
        stack[-1].append(element)
        if name in _RAW and "svg" not in names:
            end = html.find(f"</{name}", position)
            end = len(html) if end < 0 else end
            element.text = html[position:end]
            position = end
        if name not in VOID:
            names.append(name)
            stack.append(element if len(stack) < MAX_DEPTH else stack[-1])
    _append_text(stack[-1], unescape(html[position:]))
    return root, True


def _append_text(element: Element, text: str) -> None:
    if not text:
        return
    if len(element):
        last = element[-1]
        last.tail = (last.tail or "") + text
    else:
        element.text = (element.text or "") + text


def to_html(root: Element) -> str:
    """Return the tree as HTML, with everything escaped at any depth."""
    out: list[str] = []
    pending: list[Element | str] = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            out.append(node)
            continue
        pending.append(escape_html(node.tail or ""))
        if node.tag == DROP:
            continue
        if node.tag != UNWRAP:
            out.append(start_tag(node))
            if node.tag not in VOID:
                pending.append(f"</{node.tag}>")
        out.append(escape_html(node.text or ""))
        pending.extend(reversed(node))
    return "".join(out)


def start_tag(element: Element) -> str:
    """Return the start tag of the element."""
    attributes = "".join(f' {name}="{escape_html(value)}"' for name, value in element.attrib.items())
    return f"<{element.tag}{attributes}>"


def escape_html(text: str) -> str:
    """Escape text for elements and quoted attributes."""
    if text.isalnum():
        return text
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")  # many times quicker than translate()
    return text.replace('"', "&quot;").replace("\u00a0", "&nbsp;")


def text_of(element: Element) -> str:
    return "".join(element.itertext())


def iterate_elements(root: Element) -> Iterator[tuple[Element, Element | None]]:
    """Yield every element with its parent, in page order; skips the contents of elements dropped meanwhile."""
    pending: list[tuple[Element, Element | None]] = [(root, None)]
    while pending:
        element, parent = pending.pop()
        yield element, parent
        if element.tag != DROP:
            pending.extend((child, element) for child in reversed(element))


def replace_element(element: Element, tag: str, text: str | None = None, **attributes: str) -> None:
    """Turn it into another, empty element; the text after it stays."""
    identity = {name: element.attrib[name] for name in ("class", "id") if name in element.attrib}
    element.attrib.clear()
    element.attrib.update(identity | attributes)
    element[:] = []
    element.text = text
    element.tag = tag
