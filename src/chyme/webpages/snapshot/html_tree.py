"""A page as a tree: read from the regular form that the sanitiser writes, changed in place, and written again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from xml.etree.ElementTree import Element

DROP = "!drop"  # as a tag: neither the element nor what is in it is written
UNWRAP = "!unwrap"  # as a tag: only what is in the element is written
VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
)
MOST_ELEMENTS = 200_000
DEEPEST = 500  # what is nested deeper comes out beside each other, as in browsers
_RAW = frozenset({"style", "iframe"})  # their text is written as it is, outside drawings
_TAG = re.compile(r'<(/?)([^\s<>/"]+)((?:\s[^\s=>]+="[^"]*")*)\s*>')
_ATTRIBUTE = re.compile(r'\s([^\s=>]+)="([^"]*)"')
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\u00a0": "&nbsp;"})


def tree_of(html: str) -> tuple[Element, bool]:
    """The tree below a root without meaning, and whether it is whole: it ends after MOST_ELEMENTS."""
    root = Element(UNWRAP)
    stack, names = [root], [UNWRAP]
    position, count = 0, 0
    while (start := html.find("<", position)) >= 0:
        _say(stack[-1], unescape(html[position:start]))
        found = _TAG.match(html, start)
        if not found:
            _say(stack[-1], "<")
            position = start + 1
            continue
        position = found.end()
        ending, name, attributes = found.groups()
        if ending:
            if len(names) > 1 and names[-1] == name:
                names.pop()
                stack.pop()
            continue
        count += 1
        if count > MOST_ELEMENTS:
            return root, False
        element = Element(name, {one: unescape(value) for one, value in _ATTRIBUTE.findall(attributes)})
        stack[-1].append(element)
        if name in _RAW and "svg" not in names:
            end = html.find(f"</{name}", position)
            end = len(html) if end < 0 else end
            element.text = html[position:end]
            position = end
        if name not in VOID:
            names.append(name)
            stack.append(element if len(stack) < DEEPEST else stack[-1])
    _say(stack[-1], unescape(html[position:]))
    return root, True


def _say(element: Element, text: str) -> None:
    if not text:
        return
    if len(element):
        last = element[-1]
        last.tail = (last.tail or "") + text
    else:
        element.text = (element.text or "") + text


def to_html(root: Element) -> str:
    """The tree as HTML: everything escaped, however deep it is."""
    out: list[str] = []
    waiting: list[Element | str] = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            out.append(node)
            continue
        waiting.append(escape_html(node.tail or ""))
        if node.tag == DROP:
            continue
        if node.tag != UNWRAP:
            out.append(start_tag(node))
            if node.tag not in VOID:
                waiting.append(f"</{node.tag}>")
        out.append(escape_html(node.text or ""))
        waiting.extend(reversed(node))
    return "".join(out)


def start_tag(element: Element) -> str:
    """Its start tag."""
    attributes = "".join(f' {name}="{escape_html(value)}"' for name, value in element.attrib.items())
    return f"<{element.tag}{attributes}>"


def escape_html(text: str) -> str:
    """Text that is text in an element and in a quoted attribute."""
    return text.translate(_ESCAPED) if not text.isalnum() else text


def text_of(element: Element) -> str:
    return "".join(element.itertext())


def iterate_elements(root: Element) -> Iterator[tuple[Element, Element | None]]:
    """Every element with its parent, in the order of the page; what is dropped meanwhile is passed over."""
    waiting: list[tuple[Element, Element | None]] = [(root, None)]
    while waiting:
        element, parent = waiting.pop()
        yield element, parent
        if element.tag != DROP:
            waiting.extend((child, element) for child in reversed(element))


def replace_element(element: Element, tag: str, text: str | None = None, **attributes: str) -> None:
    """Turn it into another element with nothing in it; what comes after it stays."""
    kept = {name: element.attrib[name] for name in ("class", "id") if name in element.attrib}
    element.attrib.clear()
    element.attrib.update(kept | attributes)
    element[:] = []
    element.text = text
    element.tag = tag
