"""Go through a page once: make it inert, and note every part that it shows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from urllib.parse import urldefrag, urljoin
from xml.etree.ElementTree import Element

from chyme.webpages.snapshot.allowlist import SVG_ELEMENTS
from chyme.webpages.snapshot.html_sanitiser import may_contain_url
from chyme.webpages.snapshot.html_tree import DROP, UNWRAP, iterate_elements, replace_element, text_of
from chyme.webpages.snapshot.image_sources import LONGEST, MOST, ImageSource, absolute_url, rank_sources

_FRAMES = frozenset({"iframe", "x-frame", "embed", "applet"})
_AMP_PICTURES = frozenset({"amp-img", "amp-anim"})
_CONTROLS = frozenset({"input", "button", "select", "textarea"})
_LINKS = ("http://", "https://", "mailto:", "tel:")
_BACKGROUNDS = ("data-bg", "data-background", "data-background-image", "data-lazy-background")
_LAZY_BACKGROUND = re.compile(r"(?:url\(\s*['\"]?)?([^\s'\"(){}<>]{4,2000})(?:['\"]?\s*\))?")
_ABOUT_SCRIPTS = re.compile(r"java\s?script|\bJS\b", re.IGNORECASE)
_TINY = frozenset({"0", "1", "0px", "1px"})
EXCUSE = 600  # characters: a text in <noscript> that is longer is no mere request to switch scripts on
MAX_VIDEOS = 200


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for a picture: the attribute that will hold it."""

    element: Element
    attribute: str
    choices: tuple[ImageSource, ...]


@dataclass(frozen=True, slots=True)
class SvgUse:
    """A <use> of something in another drawing."""

    element: Element
    url: str
    name: str


@dataclass(frozen=True, slots=True)
class StyleAttribute:
    """An attribute that is written in the language of styles."""

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
    """What a page shows and says of itself, in its order."""

    url: str
    base: str
    title: str = ""
    viewport: str = ""
    canonical: str = ""
    icon: str = ""
    html: dict[str, str] = field(default_factory=dict)  # attributes
    body: dict[str, str] = field(default_factory=dict)
    sheets: list[StyleSource] = field(default_factory=list)
    linked: set[tuple[str, str]] = field(default_factory=set)  # addresses of sheets, and the media they are for
    slots: list[Slot] = field(default_factory=list)
    used: list[SvgUse] = field(default_factory=list)
    styled: list[StyleAttribute] = field(default_factory=list)
    names: set[str] = field(default_factory=set)  # classes and ids
    films: int = 0


def extract_outline(root: Element, url: str) -> Outline:
    """Changes the tree: afterwards it holds no frame, sheet or source, and all its links are absolute."""
    page = Outline(url, _base(root, url))
    _unscripted_pictures(root)
    shown = _shown(root, page.base)
    for element, parent in iterate_elements(root):
        tag = element.tag
        if tag in (UNWRAP, DROP):
            continue
        page.names.update(element.get("class", "").split())
        page.names.add(element.get("id", ""))
        _note_styles(element, page)
        if tag in ("x-html", "x-body"):
            kept = page.html if tag == "x-html" else page.body
            if element.attrib and not kept:
                kept.update(element.attrib)
                page.styled = [one for one in page.styled if one.element is not element]
            element.tag = UNWRAP
        elif tag == "x-template":
            element.tag = UNWRAP
        elif tag == "x-noscript":
            _without_scripts(element, page, shown)
        elif tag in ("link", "meta", "base", "title", "style", "desc", "track", "source"):
            _from_head(element, parent, page)
            element.tag = DROP
        else:
            _in_body(element, parent, page)
    return page


def _base(root: Element, url: str) -> str:
    for element in root.iter("base"):
        if href := element.get("href"):
            return absolute_url(url, href) or url
    return url


def _unscripted_pictures(root: Element) -> None:
    """Make pictures of elements that a script would put a picture into."""
    for element in root.iter():
        if element.tag in _AMP_PICTURES:
            element.tag = "img"
            element.attrib.setdefault("style", "max-width:100%;height:auto")
            for inner in element:
                if inner.tag in _AMP_PICTURES:
                    inner.tag = DROP  # shown until the other has come, or where it does not


def _shown(root: Element, base: str) -> set[str]:
    """Addresses of all pictures outside <noscript>, where there is any."""
    found: set[str] = set()
    if root.find(".//x-noscript") is None:
        return found
    waiting = [root]
    while waiting:
        element = waiting.pop()
        if element.tag == "img":
            found.update(choice.url for choice in rank_sources(element, (), base) if choice.url[:5].lower() != "data:")
        if element.tag != "x-noscript":
            waiting.extend(element)
    return found


def _note_styles(element: Element, page: Outline) -> None:
    told = [element.get("background", "")] if element.tag != "svg" else []
    told += [element.get(name, "") for name in _BACKGROUNDS] if element.tag != "img" else []
    for value in told:
        found = _LAZY_BACKGROUND.fullmatch(value.strip()) if value else None
        if found and (told_of := absolute_url(page.base, found[1])) and ("/" in found[1] or "." in found[1]):
            element.set(
                "style", f'{element.get("style", "").rstrip("; ")};background-image:url("{told_of}")'.lstrip(";")
            )
            break
    for name, value in element.attrib.items():
        if name == "style" or (
            element.tag in SVG_ELEMENTS and name not in ("href", "xlink:href") and may_contain_url(value)
        ):
            page.styled.append(StyleAttribute(element, name))


def _from_head(element: Element, parent: Element | None, page: Outline) -> None:
    if element.tag == "title":
        if not page.title and (parent is None or parent.tag not in SVG_ELEMENTS):
            page.title = " ".join(text_of(element).split())[:500].replace("<x-", "<")
    elif element.tag == "style":
        page.sheets.append(StyleSource(element.get("media", ""), text=text_of(element)))
    elif element.tag == "meta" and element.get("name", "").lower() == "viewport":
        page.viewport = element.get("content", "")
    elif element.tag == "link":
        _linked(element, page)


def _linked(element: Element, page: Outline) -> None:
    rel = set(element.get("rel", "").lower().split())
    url = absolute_url(page.base, element.get("href", ""))
    if url is None:
        return
    as_style = "preload" in rel and element.get("as", "").lower() == "style"
    if ("stylesheet" in rel and "alternate" not in rel) or as_style:
        media = element.get("media", "")
        late = "media" in element.get("onload", "") or (media == "print" and "data-media" in element.attrib)
        media = "" if late else media  # told to be for paper until it has come
        if not {(url, ""), (url, media)} & page.linked:
            page.linked.add((url, media))
            page.sheets.append(StyleSource(media, url=url))
    elif "icon" in rel and not page.icon:
        page.icon = url
    elif "canonical" in rel:
        page.canonical = url if url[:5].lower() != "data:" else ""


def _in_body(element: Element, parent: Element | None, page: Outline) -> None:
    tag = element.tag
    if tag in ("a", "area"):
        _link(element, page)
    elif tag == "img":
        # By now its sources, which come before it, are dropped.
        before = islice(parent, MOST) if parent is not None and parent.tag == "picture" else ()
        sources = [one for one in before if one.tag == DROP]
        _picture(element, rank_sources(element, sources, page.base), page)
    elif tag == "image":
        url = absolute_url(page.base, element.get("href", element.get("xlink:href", "")))
        element.attrib.pop("xlink:href", None)
        element.attrib.pop("href", None)
        page.slots.append(Slot(element, "href", (ImageSource(url),) if url else ()))
    elif tag == "use":
        _use(element, page)
    elif tag in _FRAMES:
        _frame(element, element.get("src", ""), page)
    elif tag == "object":
        _object(element, page)
    elif tag == "audio":
        _frame(element, _source(element), page)
    elif tag == "video":
        _film(element, parent, page)
    elif tag == "form":
        element.set("method", "dialog")  # sent nowhere, in no browser
    elif tag in _CONTROLS:
        _control(element, page)


def _use(element: Element, page: Outline) -> None:
    href = element.get("href", element.get("xlink:href", "")).strip()
    address, _, name = href.partition("#")
    url = absolute_url(page.base, address)
    if name and url and url[:5].lower() != "data:" and url != urldefrag(page.url).url:
        page.used.append(SvgUse(element, url, name))
    elif name and address:
        element.set("href", f"#{name}")


def _link(element: Element, page: Outline) -> None:
    href = element.attrib.pop("href", None)
    element.attrib.pop("xlink:href", None)
    element.attrib.pop("target", None)
    element.attrib.pop("rel", None)
    if href is None or len(href) > LONGEST:
        return
    try:
        joined = urljoin(page.base, href.strip())
        where, fragment = urldefrag(joined)
    except ValueError:
        return
    if fragment and (href.startswith("#") or where == urldefrag(page.url).url):
        element.set("href", f"#{fragment}")
    elif href.strip().lower().startswith("javascript:"):
        element.set("href", "#")  # it looks like a link
    elif joined.lower().startswith(_LINKS):
        element.set("href", joined)
        element.set("target", "_blank")


def _picture(element: Element, found: tuple[ImageSource, ...], page: Outline) -> None:
    for name in ("src", "srcset", "loading", "decoding"):
        element.attrib.pop(name, None)
    for name in [name for name in element.attrib if name.startswith("data-") and ("src" in name or "lazy" in name)]:
        del element.attrib[name]
    page.slots.append(Slot(element, "src", found))


def _frame(element: Element, address: str, page: Outline) -> None:
    url = absolute_url(page.base, address)
    tiny = {element.get("width", ""), element.get("height", "")} & _TINY
    if url is None or url[:5].lower() == "data:" or tiny:
        element.tag = DROP
    else:
        replace_element(element, "a", url, href=url, target="_blank")


def _object(element: Element, page: Outline) -> None:
    address = element.get("data", "")
    drawn = element.get("type", "").lower().startswith("image/") or address.partition("?")[0].lower().endswith(".svg")
    url = absolute_url(page.base, address)
    if url and drawn:
        sizes = {name: element.attrib[name] for name in ("width", "height", "style") if name in element.attrib}
        replace_element(element, "img", None, **sizes)
        page.slots.append(Slot(element, "src", (ImageSource(url),)))
    elif len(element) and (text_of(element).strip() or element.find(".//img") is not None):
        element.tag = UNWRAP  # what it holds for browsers that cannot show it
    else:
        _frame(element, address, page)


def _source(element: Element) -> str:
    return element.get("src", "") or next((one.get("src", "") for one in element.iter("source") if one.get("src")), "")


def _film(element: Element, parent: Element | None, page: Outline) -> None:
    url = absolute_url(page.base, _source(element))
    poster = absolute_url(page.base, element.attrib.pop("poster", ""))
    element.attrib.pop("src", None)
    page.films += 1
    if not poster or parent is None or page.films > MAX_VIDEOS:
        _frame(element, url or "", page)
        return
    element[:] = []
    element.text = None
    page.slots.append(Slot(element, "poster", (ImageSource(poster),)))
    if url and url[:5].lower() != "data:":
        link = Element("a", {"href": url, "target": "_blank"})
        link.text, link.tail, element.tail = url, element.tail, None
        parent.insert(list(parent).index(element) + 1, link)


def _control(element: Element, page: Outline) -> None:
    kind = element.get("type", "").lower() if element.tag == "input" else ""
    source = element.attrib.pop("src", "")
    if kind == "hidden":
        element.tag = DROP
        return
    if kind in ("password", "file"):
        element.attrib.pop("value", None)
    if kind == "image" and (url := absolute_url(page.base, source)):
        page.slots.append(Slot(element, "src", (ImageSource(url),)))
    if kind not in ("checkbox", "radio"):  # pages open menus with these, by styles alone
        element.set("inert", "")


def _without_scripts(element: Element, page: Outline, shown: set[str]) -> None:
    """Show what <noscript> holds, unless the page shows it already, or it only begs for scripts, or counts visits."""
    element.tag = UNWRAP
    for inner in list(element.iter("x-noscript")):
        inner.tag = UNWRAP  # looked at here and now, so that nested ones take no longer
    for inner in list(element.iter("img")):
        found = rank_sources(inner, (), page.base)
        tiny = {inner.get("width", ""), inner.get("height", "")} & _TINY or "none" in inner.get("style", "")
        if tiny or any(choice.url in shown for choice in found):
            inner.tag = DROP
        elif page.slots and _stands_in(page.slots[-1]):
            before = page.slots[-1]
            page.slots[-1] = Slot(before.element, before.attribute, found)
            inner.tag = DROP
    for inner in list(element.iter("iframe")):
        inner.tag = DROP
    text = text_of(element)
    pictured = any(inner.tag == "img" for inner in element.iter())
    if not pictured and len(text) < EXCUSE and _ABOUT_SCRIPTS.search(text):
        element.tag = DROP


def _stands_in(slot: Slot) -> bool:
    """A picture that waits for a script to be given its address."""
    return slot.element.tag == "img" and all(choice.url[:5].lower() == "data:" for choice in slot.choices)
