"""A sanitised, self-contained copy of a page: it looks like the page without a network, and runs no script."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from chyme.webpages.crawl_limits import CrawlLimits
from chyme.webpages.http_client.fetch_result import PartFetcher
from chyme.webpages.snapshot.fonts import PageUsage
from chyme.webpages.snapshot.html_sanitiser import custom_element_names, normalise_html, sanitise_body
from chyme.webpages.snapshot.html_tree import escape_html, text_of, to_html, tree_of
from chyme.webpages.snapshot.inlining import Parts
from chyme.webpages.snapshot.outline import Outline, Slot, SvgUse, extract_outline
from chyme.webpages.snapshot.stylesheets import Sheets
from chyme.webpages.snapshot.svg_sprites import extract_icons, insert_icon

POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; form-action 'none'; base-uri 'none'"
)
TEXT_ONLY = "the page could not be taken apart in time; the copy holds its text alone"
CUT = "the page is larger than the copy may be (web_snapshot_bytes); it ends there"
_DOCTYPE = re.compile(r"\s{0,100}<!doctype\s([^<>]{0,500})>", re.IGNORECASE)
_UNTOLD = re.compile(r'public\s+"-//w3c//dtd (?:xhtml 1\.0|html 4\.01) (?:transitional|frameset)//', re.IGNORECASE)
_OLD = re.compile(r'public\s+"(?:-//w3c//dtd html (?:3|4\.0 )|-//ietf//|-//netscape)', re.IGNORECASE)
_NEARLY = (
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" '
    '"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">'
)
_VIEWPORT = re.compile(r"[A-Za-z0-9=,.;\s-]{1,200}")
_KEPT_ON_TOP = re.compile(r"class|id|lang|dir|style|bgcolor|text|link|vlink|alink|data-[a-z0-9_.-]{1,60}")
_MARKUP = re.compile(r"<[^<>]*>")
_UNSEEN = ("script", "style", "noscript", "template", "svg")
_CONTROL = dict.fromkeys([*range(9), 11, *range(14, 32), 127, *range(0xD800, 0xE000)])


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The copy, and what it lacks."""

    html: bytes  # UTF-8
    parts: int  # pictures, styles and fonts that were fetched and are in it
    left_out: int  # those that are not
    notes: tuple[str, ...] = ()


def build_snapshot(page: str, url: str, fetches: PartFetcher, limits: CrawlLimits) -> Snapshot:
    """A copy of the page whose source this is. Bad input makes a plainer copy, never an error."""
    page = page.translate(_CONTROL)
    try:
        made = _whole(page, url, fetches, limits)
    except (MemoryError, RecursionError, ValueError, ArithmeticError):
        made = None
    return made or _text_alone(page, url, limits)


def _whole(page: str, url: str, fetches: PartFetcher, limits: CrawlLimits) -> Snapshot | None:
    own = custom_element_names(page)
    source = normalise_html(page, own, 2 * limits.page_bytes)
    if source is None:
        return None
    root, complete = tree_of(source)
    del source
    found = extract_outline(root, url)
    parts = Parts(fetches, limits)
    if not parts.reserve(len(to_html(root)) + 4096):
        return None
    seen = PageUsage(frozenset(found.names), frozenset(map(ord, set(text_of(root)))))
    sheets = Sheets(parts, found.base, seen)
    sheets.read(found.sheets)
    sheets.read_attributes(found)
    _fetch(found, sheets, parts)
    _draw(found, parts)
    for slot in found.slots:
        _fill(slot, parts)
    sheets.fill()
    approved = sheets.write_attributes(found)
    body = sanitise_body(to_html(root), own, approved, 2 * limits.snapshot_bytes)
    if body is None:
        return None
    html = _document(page, found, sheets.to_html(), body, parts.data_url_of(found.icon))
    notes = list(_notes(parts, sheets))
    if not complete:
        notes.append("the page has more elements than a copy keeps; it ends early")
    return Snapshot(html.encode("utf-8", "replace"), parts.fetched, parts.missing + parts.too_many, tuple(notes))


def _fetch(found: Outline, sheets: Sheets, parts: Parts) -> None:
    """Pictures in their order, those of the styles, the icon; a second choice where the first failed; then fonts."""
    uses = Counter(slot.choices[0].url for slot in found.slots if slot.choices)
    uses.update(sheets.pictures)
    if found.icon:
        uses[found.icon] += 1
    parts.inline_pictures(uses)
    again: Counter[str] = Counter()
    for slot in found.slots:
        if slot.choices and not parts.data_url_of(slot.choices[0].url):
            again.update(choice.url for choice in slot.choices[1:2])
    parts.inline_pictures(again)
    parts.inline_fonts(sheets.fonts)


def _draw(found: Outline, parts: Parts) -> None:
    """Icons out of other drawings. Without theirs, elements stay as they are and show nothing."""
    places: dict[str, list[SvgUse]] = {}
    for used in found.used:
        places.setdefault(used.url, []).append(used)
    for url, drawing in parts.fetch_drawings(places).items():
        known = extract_icons(drawing, (used.name for used in places[url]))
        sizes = {name: len(to_html(icon)) for name, icon in known.items()}
        for used in places[url]:
            if used.name in known and parts.reserve(sizes[used.name]):
                insert_icon(used.element, known[used.name])


def _fill(slot: Slot, parts: Parts) -> None:
    for choice in slot.choices[:2]:
        if kept := parts.data_url_of(choice.url):
            if choice.size and slot.attribute == "src":
                slot.element.set("srcset", f"{kept} {choice.size}")
            else:
                slot.element.attrib.pop("sizes", None)
                slot.element.set(slot.attribute, kept)
            return
    slot.element.attrib.pop("sizes", None)


def _notes(parts: Parts, sheets: Sheets) -> list[str]:
    notes = []
    if parts.missing:
        notes.append(f"pictures, styles and fonts that could not be had: {parts.missing}")
    if parts.too_many:
        notes.append(
            f"pictures, styles and fonts beyond the limits of a copy (web_parts, web_snapshot_bytes): {parts.too_many}"
        )
    if sheets.unread:
        notes.append(f"style sheets too large or too tangled to be kept: {sheets.unread}")
    return notes


def _document(page: str, found: Outline, styles: str, body: str, icon: str | None) -> str:
    head = [
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="referrer" content="no-referrer">',
        '<meta name="generator" content="chyme">',
        f'<meta name="source" content="{escape_html(found.url)}">',
        f"<title>{escape_html(found.title or found.url)}</title>",
        f'<link rel="icon" href="{icon or "data:,"}">',  # without one, browsers ask the server for its own
    ]
    if found.canonical:
        head.append(f'<meta name="canonical" content="{escape_html(found.canonical)}">')
    if _VIEWPORT.fullmatch(found.viewport):
        head.append(f'<meta name="viewport" content="{escape_html(found.viewport)}">')
    top, inner = _tag("html", found.html), _tag("body", found.body)
    return f"{_doctype(page)}{top}<head>{''.join(head)}{styles}</head>{inner}{body.lstrip()}</body></html>"


def _tag(name: str, attributes: Mapping[str, str]) -> str:
    kept = "".join(
        f' {one}="{escape_html(value)}"'
        for one, value in attributes.items()
        if _KEPT_ON_TOP.fullmatch(one) and len(value) < 4096
    )
    return f"<{name}{kept}>"


def _doctype(page: str) -> str:
    """Browsers lay pages out in three ways, by what stands on their first line."""
    start = page[:4096].lstrip("\ufeff \t\r\n")
    while start.startswith("<!--") and "-->" in start:
        start = start.partition("-->")[2].lstrip()
    told = _DOCTYPE.match(start)
    if not told or _OLD.search(told[1]):
        return ""
    if _UNTOLD.search(told[1]):
        return _NEARLY if "http://" in told[1].lower() else ""
    return "<!DOCTYPE html>"


def _text_alone(page: str, url: str, limits: CrawlLimits) -> Snapshot:
    text = _plain(page)
    room = max(0, limits.snapshot_bytes - 4096)
    data = escape_html(text).encode("utf-8", "replace")
    notes = (TEXT_ONLY,) if len(data) <= room else (TEXT_ONLY, CUT)
    body = data[:room].decode("utf-8", "ignore")
    body = body[: body.rfind("&")] if body.rfind("&") > body.rfind(";") else body
    found = Outline(url, url)
    html = _document("<!doctype html>", found, "<style>pre{white-space:pre-wrap}</style>", f"<pre>{body}</pre>", None)
    return Snapshot(html.encode("utf-8", "replace"), 0, 0, notes)


def _plain(page: str) -> str:
    """The words of a page that nobody can parse. Takes time in proportion to its length."""
    from html import unescape

    lower = page.lower()
    if len(lower) != len(page):  # a few letters change their length
        lower = page
    kept, position = [], 0
    opening = re.compile("<(" + "|".join(_UNSEEN) + r")(?=[\s/>])")
    while found := opening.search(lower, position):
        kept.append(page[position : found.start()])
        end = lower.find(f"</{found[1]}", found.end())
        if end < 0:
            position = found.end()
            break
        position = end
    kept.append(page[position:])
    text = unescape(_MARKUP.sub(" ", "".join(kept)))
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)
