"""Goes through a page once: makes it inert, and collects every part that it shows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from urllib.parse import urldefrag, urljoin
from xml.etree.ElementTree import Element

from chyme.webpages.snapshot.html_sanitiser import SVG_ELEMENTS, may_contain_url
from chyme.webpages.snapshot.html_tree import DROP, UNWRAP, iterate_elements, replace_element, text_of
from chyme.webpages.snapshot.image_sources import MAX_CANDIDATES, MAX_URL_CHARS, ImageSource, absolute_url, rank_sources

_FRAMES = frozenset({"iframe", "x-frame", "embed", "applet"})
_AMP_PICTURES = frozenset({"amp-img", "amp-anim"})
_CONTROLS = frozenset({"input", "button", "select", "textarea"})
_LINK_SCHEMES = ("http://", "https://", "mailto:", "tel:")
_BACKGROUNDS = ("data-bg", "data-background", "data-background-image", "data-lazy-background")
_LAZY_BACKGROUND = re.compile(r"(?:url\(\s*['\"]?)?([^\s'\"(){}<>]{4,2000})(?:['\"]?\s*\))?")
_ABOUT_SCRIPTS = re.compile(r"java\s?script|\bJS\b", re.IGNORECASE)
_TINY = frozenset({"0", "1", "0px", "1px"})
MAX_EXCUSE_CHARS = 600  # a longer text in <noscript> is more than a request to switch scripts on
MAX_VIDEOS = 200


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for a picture: the attribute that will contain it."""

    element: Element
    attribute: str
    choices: tuple[ImageSource, ...]


@dataclass(frozen=True, slots=True)
class SvgUse:
    """A <use> of an element in another SVG file."""

    element: Element
    url: str
    name: str


@dataclass(frozen=True, slots=True)
class StyleAttribute:
    """An attribute whose value is CSS."""

    element: Element
    attribute: str


@dataclass(frozen=True, slots=True)
class StyleSource:
    """A style sheet of the page: by its text, or by its address."""

    media: str
    text: str = ""
    url: str = ""


@dataclass(slots=True)
class Outline:
    """What a page shows and says about itself, in page order."""

    url: str
    base: str
    title: str = ""
    viewport: str = ""
    canonical: str = ""
    icon: str = ""
    html: dict[str, str] = field(default_factory=dict)  # attributes
    body: dict[str, str] = field(default_factory=dict)
    sheets: list[StyleSource] = field(default_factory=list)
    sheet_urls: set[tuple[str, str]] = field(default_factory=set)  # with the media they are for
    slots: list[Slot] = field(default_factory=list)
    svg_uses: list[SvgUse] = field(default_factory=list)
    style_attributes: list[StyleAttribute] = field(default_factory=list)
    names: set[str] = field(default_factory=set)  # classes and ids
    videos: int = 0


def extract_outline(root: Element, url: str) -> Outline:
    """Change the tree so that it has no frame, sheet or source, and only absolute links; return what was found."""
    page = Outline(url, _find_base(root, url))
    _convert_amp_pictures(root)
    shown_urls = _picture_urls(root, page.base)
    for element, parent in iterate_elements(root):
        tag = element.tag
        if tag in (UNWRAP, DROP):
            continue
        page.names.update(element.get("class", "").split())
        page.names.add(element.get("id", ""))
        _collect_styles(element, page)
        if tag in ("x-html", "x-body"):
            attributes = page.html if tag == "x-html" else page.body
            if element.attrib and not attributes:
                attributes.update(element.attrib)
                page.style_attributes = [item for item in page.style_attributes if item.element is not element]
            element.tag = UNWRAP
        elif tag == "x-template":
            element.tag = UNWRAP
        elif tag == "x-noscript":
            _handle_noscript(element, page, shown_urls)
        elif tag in ("link", "meta", "base", "title", "style", "desc", "track", "source"):
            _handle_head_element(element, parent, page)
            element.tag = DROP
        else:
            _handle_body_element(element, parent, page)
    return page


def _find_base(root: Element, url: str) -> str:
    for element in root.iter("base"):
        if href := element.get("href"):
            return absolute_url(url, href) or url
    return url


def _convert_amp_pictures(root: Element) -> None:
    """Turn elements into which a script would put a picture into pictures."""
    for element in root.iter():
        if element.tag in _AMP_PICTURES:
            element.tag = "img"
            element.attrib.setdefault("style", "max-width:100%;height:auto")
            for inner in element:
                if inner.tag in _AMP_PICTURES:
                    inner.tag = DROP  # shown only until the other one is loaded, or if it fails


def _picture_urls(root: Element, base: str) -> set[str]:
    """Return the addresses of all pictures outside <noscript>, if the page has any <noscript>."""
    found: set[str] = set()
    if root.find(".//x-noscript") is None:
        return found
    pending = [root]
    while pending:
        element = pending.pop()
        if element.tag == "img":
            found.update(choice.url for choice in rank_sources(element, (), base) if choice.url[:5].lower() != "data:")
        if element.tag != "x-noscript":
            pending.extend(element)
    return found


def _collect_styles(element: Element, page: Outline) -> None:
    backgrounds = [element.get("background", "")] if element.tag != "svg" else []
    backgrounds += [element.get(name, "") for name in _BACKGROUNDS] if element.tag != "img" else []
    for value in backgrounds:
        found = _LAZY_BACKGROUND.fullmatch(value.strip()) if value else None
        if found and (url := absolute_url(page.base, found[1])) and ("/" in found[1] or "." in found[1]):
            element.set("style", f'{element.get("style", "").rstrip("; ")};background-image:url("{url}")'.lstrip(";"))
            break
    for name, value in element.attrib.items():
        if name == "style" or (
            element.tag in SVG_ELEMENTS and name not in ("href", "xlink:href") and may_contain_url(value)
        ):
            page.style_attributes.append(StyleAttribute(element, name))


def _handle_head_element(element: Element, parent: Element | None, page: Outline) -> None:
    if element.tag == "title":
        if not page.title and (parent is None or parent.tag not in SVG_ELEMENTS):
            page.title = " ".join(text_of(element).split())[:500].replace("<x-", "<")
    elif element.tag == "style":
        page.sheets.append(StyleSource(element.get("media", ""), text=text_of(element)))
    elif element.tag == "meta" and element.get("name", "").lower() == "viewport":
        page.viewport = element.get("content", "")
    elif element.tag == "link":
        _handle_head_link(element, page)


def _handle_head_link(element: Element, page: Outline) -> None:
    rel = set(element.get("rel", "").lower().split())
    url = absolute_url(page.base, element.get("href", ""))
    if url is None:
        return
    as_style = "preload" in rel and element.get("as", "").lower() == "style"
    if ("stylesheet" in rel and "alternate" not in rel) or as_style:
        media = element.get("media", "")
        is_late = "media" in element.get("onload", "") or (media == "print" and "data-media" in element.attrib)
        media = "" if is_late else media  # declared for print only until it is loaded
        if not {(url, ""), (url, media)} & page.sheet_urls:
            page.sheet_urls.add((url, media))
            page.sheets.append(StyleSource(media, url=url))
    elif "icon" in rel and not page.icon:
        page.icon = url
    elif "canonical" in rel:
        page.canonical = url if url[:5].lower() != "data:" else ""


def _handle_body_element(element: Element, parent: Element | None, page: Outline) -> None:
    tag = element.tag
    if tag in ("a", "area"):
        _handle_link(element, page)
    elif tag == "img":
        # Its sources come before it and are dropped by now.
        before = islice(parent, MAX_CANDIDATES) if parent is not None and parent.tag == "picture" else ()
        sources = [sibling for sibling in before if sibling.tag == DROP]
        _handle_picture(element, rank_sources(element, sources, page.base), page)
    elif tag == "image":
        url = absolute_url(page.base, element.get("href", element.get("xlink:href", "")))
        element.attrib.pop("xlink:href", None)
        element.attrib.pop("href", None)
        page.slots.append(Slot(element, "href", (ImageSource(url),) if url else ()))
    elif tag == "use":
        _handle_use(element, page)
    elif tag in _FRAMES:
        _handle_frame(element, element.get("src", ""), page)
    elif tag == "object":
        _handle_object(element, page)
    elif tag == "audio":
        _handle_frame(element, _media_source(element), page)
    elif tag == "video":
        _handle_video(element, parent, page)
    elif tag == "form":
        element.set("method", "dialog")  # no browser sends it anywhere
    elif tag in _CONTROLS:
        _handle_control(element, page)


def _handle_use(element: Element, page: Outline) -> None:
    href = element.get("href", element.get("xlink:href", "")).strip()
    address, _, name = href.partition("#")
    url = absolute_url(page.base, address)
    if name and url and url[:5].lower() != "data:" and url != urldefrag(page.url).url:
        page.svg_uses.append(SvgUse(element, url, name))
    elif name and address:
        element.set("href", f"#{name}")


def _handle_link(element: Element, page: Outline) -> None:
    href = element.attrib.pop("href", None)
    element.attrib.pop("xlink:href", None)
    element.attrib.pop("target", None)
    element.attrib.pop("rel", None)
    if href is None or len(href) > MAX_URL_CHARS:
        return
    try:
        joined = urljoin(page.base, href.strip())
        address, fragment = urldefrag(joined)
    except ValueError:
        return
    if fragment and (href.startswith("#") or address == urldefrag(page.url).url):
        element.set("href", f"#{fragment}")
    elif href.strip().lower().startswith("javascript:"):
        element.set("href", "#")  # so that it still looks like a link
    elif joined.lower().startswith(_LINK_SCHEMES):
        element.set("href", joined)
        element.set("target", "_blank")


def _handle_picture(element: Element, choices: tuple[ImageSource, ...], page: Outline) -> None:
    for name in ("src", "srcset", "loading", "decoding"):
        element.attrib.pop(name, None)
    for name in [name for name in element.attrib if name.startswith("data-") and ("src" in name or "lazy" in name)]:
        del element.attrib[name]
    page.slots.append(Slot(element, "src", choices))


def _handle_frame(element: Element, address: str, page: Outline) -> None:
    url = absolute_url(page.base, address)
    is_tiny = {element.get("width", ""), element.get("height", "")} & _TINY
    if url is None or url[:5].lower() == "data:" or is_tiny:
        element.tag = DROP
    else:
        replace_element(element, "a", url, href=url, target="_blank")


def _handle_object(element: Element, page: Outline) -> None:
    address = element.get("data", "")
    image = element.get("type", "").lower().startswith("image/") or address.partition("?")[0].lower().endswith(".svg")
    url = absolute_url(page.base, address)
    if url and image:
        sizes = {name: element.attrib[name] for name in ("width", "height", "style") if name in element.attrib}
        replace_element(element, "img", None, **sizes)
        page.slots.append(Slot(element, "src", (ImageSource(url),)))
    elif len(element) and (text_of(element).strip() or element.find(".//img") is not None):
        element.tag = UNWRAP  # show the fallback for browsers that cannot show the object
    else:
        _handle_frame(element, address, page)


def _media_source(element: Element) -> str:
    return element.get("src", "") or next(
        (child.get("src", "") for child in element.iter("source") if child.get("src")), ""
    )


def _handle_video(element: Element, parent: Element | None, page: Outline) -> None:
    url = absolute_url(page.base, _media_source(element))
    poster = absolute_url(page.base, element.attrib.pop("poster", ""))
    element.attrib.pop("src", None)
    page.videos += 1
    if not poster or parent is None or page.videos > MAX_VIDEOS:
        _handle_frame(element, url or "", page)
        return
    element[:] = []
    element.text = None
    page.slots.append(Slot(element, "poster", (ImageSource(poster),)))
    if url and url[:5].lower() != "data:":
        link = Element("a", {"href": url, "target": "_blank"})
        link.text, link.tail, element.tail = url, element.tail, None
        parent.insert(list(parent).index(element) + 1, link)


def _handle_control(element: Element, page: Outline) -> None:
    kind = element.get("type", "").lower() if element.tag == "input" else ""
    source = element.attrib.pop("src", "")
    if kind == "hidden":
        element.tag = DROP
        return
    if kind in ("password", "file"):
        element.attrib.pop("value", None)
    if kind == "image" and (url := absolute_url(page.base, source)):
        page.slots.append(Slot(element, "src", (ImageSource(url),)))
    if kind not in ("checkbox", "radio"):  # pages open menus with these by styles alone
        element.set("inert", "")


def _handle_noscript(element: Element, page: Outline, shown_urls: set[str]) -> None:
    """Show what is in <noscript> unless the page shows it already, or it only asks for scripts or counts visits."""
    element.tag = UNWRAP
    for inner in list(element.iter("x-noscript")):
        inner.tag = UNWRAP  # handled here, so that nested ones take no longer
    for inner in list(element.iter("img")):
        choices = rank_sources(inner, (), page.base)
        is_tiny = {inner.get("width", ""), inner.get("height", "")} & _TINY or "none" in inner.get("style", "")
        if is_tiny or any(choice.url in shown_urls for choice in choices):
            inner.tag = DROP
        elif page.slots and _is_placeholder(page.slots[-1]):
            slot = page.slots[-1]
            page.slots[-1] = Slot(slot.element, slot.attribute, choices)
            inner.tag = DROP
    for inner in list(element.iter("iframe")):
        inner.tag = DROP
    text = text_of(element)
    has_picture = any(inner.tag == "img" for inner in element.iter())
    if not has_picture and len(text) < MAX_EXCUSE_CHARS and _ABOUT_SCRIPTS.search(text):
        element.tag = DROP


def _is_placeholder(slot: Slot) -> bool:
    """Whether the picture waits for a script to set its address."""
    return slot.element.tag == "img" and all(choice.url[:5].lower() == "data:" for choice in slot.choices)
