"""Builds a sanitised, self-contained copy of a page that looks like the page offline and runs no script."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape

from chyme.webpages.http_client.fetch_result import PartFetcher
from chyme.webpages.settings import CrawlLimits
from chyme.webpages.snapshot.css_sanitiser import PageUsage, strip_css_urls
from chyme.webpages.snapshot.html_sanitiser import custom_element_names, load_html_parser, normalise_html, sanitise_body
from chyme.webpages.snapshot.html_tree import escape_html, text_of, to_html, tree_of
from chyme.webpages.snapshot.inlining import Parts
from chyme.webpages.snapshot.outline import Outline, Slot, SvgUse, extract_outline
from chyme.webpages.snapshot.stylesheets import Sheets
from chyme.webpages.snapshot.svg_files import extract_icons, insert_icon, sanitise_svg

POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; form-action 'none'; base-uri 'none'"
)
TEXT_ONLY = "the page could not be parsed in time; the copy contains only its text"
CUT = "the page is larger than the copy may be (web_snapshot_bytes); it ends there"
_DOCTYPE = re.compile(r"\s{0,100}<!doctype\s([^<>]{0,500})>", re.IGNORECASE)
_TRANSITIONAL = re.compile(
    r'public\s+"-//w3c//dtd (?:xhtml 1\.0|html 4\.01) (?:transitional|frameset)//', re.IGNORECASE
)
_OLD_DOCTYPE = re.compile(r'public\s+"(?:-//w3c//dtd html (?:3|4\.0 )|-//ietf//|-//netscape)', re.IGNORECASE)
_TRANSITIONAL_DOCTYPE = (
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" '
    '"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">'
)
_VIEWPORT = re.compile(r"[A-Za-z0-9=,.;\s-]{1,200}")
_TOP_ATTRIBUTES = re.compile(r"class|id|lang|dir|style|bgcolor|text|link|vlink|alink|data-[a-z0-9_.-]{1,60}")
_MARKUP = re.compile(r"<[^<>]*>")
_INVISIBLE = re.compile(r"<(script|style|noscript|template|svg)(?=[\s/>])")
_CONTROL = dict.fromkeys([*range(9), 11, *range(14, 32), 127, *range(0xD800, 0xE000)])


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The copy, and what is missing from it."""

    html: bytes  # UTF-8
    parts: int  # pictures, styles and fonts that were fetched and are in the copy
    left_out: int  # pictures, styles and fonts that are not
    notes: tuple[str, ...] = ()


def build_snapshot(page: str, url: str, fetcher: PartFetcher, limits: CrawlLimits) -> Snapshot:
    """Return a copy of the page with this source. Bad input makes a plainer copy, never an error."""
    page = page.translate(_CONTROL)
    try:
        snapshot = _build_full(page, url, fetcher, limits)
    except (MemoryError, RecursionError, ValueError, ArithmeticError):
        snapshot = None
    return snapshot or _build_text_only(page, url, limits)


def load_libraries() -> None:
    """Load what building a copy needs."""
    load_html_parser()
    strip_css_urls("p { color: red }")
    sanitise_svg(b"<svg/>")


def _build_full(page: str, url: str, fetcher: PartFetcher, limits: CrawlLimits) -> Snapshot | None:
    custom_names = custom_element_names(page)
    source = normalise_html(page, custom_names, 2 * limits.page_bytes)
    if source is None:
        return None
    root, complete = tree_of(source)
    del source
    outline = extract_outline(root, url)
    parts = Parts(fetcher, limits)
    if not parts.reserve(len(to_html(root)) + 4096):
        return None
    usage = PageUsage(frozenset(outline.names), frozenset(map(ord, set(text_of(root)))))
    sheets = Sheets(parts, outline.base, usage)
    sheets.read(outline.sheets)
    sheets.read_attributes(outline)
    _fetch_parts(outline, sheets, parts)
    _insert_icons(outline, parts)
    for slot in outline.slots:
        _fill_slot(slot, parts)
    sheets.fill()
    approved = sheets.write_attributes(outline)
    body = sanitise_body(to_html(root), custom_names, approved, 2 * limits.snapshot_bytes)
    if body is None:
        return None
    html = _render_document(page, outline, sheets.to_html(), body, parts.data_url_of(outline.icon))
    notes = _make_notes(parts, sheets, complete)
    return Snapshot(html.encode("utf-8", "replace"), parts.fetched, parts.missing + parts.too_many, notes)


def _fetch_parts(outline: Outline, sheets: Sheets, parts: Parts) -> None:
    """Fetch the pictures in page order, those of the styles, the icon; second choices for failed ones; then fonts."""
    uses = Counter(slot.choices[0].url for slot in outline.slots if slot.choices)
    uses.update(sheets.pictures)
    if outline.icon:
        uses[outline.icon] += 1
    parts.inline_pictures(uses)
    second_choices: Counter[str] = Counter()
    for slot in outline.slots:
        if slot.choices and not parts.data_url_of(slot.choices[0].url):
            second_choices.update(choice.url for choice in slot.choices[1:2])
    parts.inline_pictures(second_choices)
    parts.inline_fonts(sheets.fonts)


def _insert_icons(outline: Outline, parts: Parts) -> None:
    """Insert icons from other SVG files. Elements whose icon is missing stay as they are and show nothing."""
    uses_by_url: dict[str, list[SvgUse]] = {}
    for use in outline.svg_uses:
        uses_by_url.setdefault(use.url, []).append(use)
    for url, svg in parts.fetch_svgs(uses_by_url).items():
        icons = extract_icons(svg, (use.name for use in uses_by_url[url]))
        sizes = {name: len(to_html(icon)) for name, icon in icons.items()}
        for use in uses_by_url[url]:
            if use.name in icons and parts.reserve(sizes[use.name]):
                insert_icon(use.element, icons[use.name])


def _fill_slot(slot: Slot, parts: Parts) -> None:
    for choice in slot.choices[:2]:
        if data_url := parts.data_url_of(choice.url):
            if choice.size and slot.attribute == "src":
                slot.element.set("srcset", f"{data_url} {choice.size}")
            else:
                slot.element.attrib.pop("sizes", None)
                slot.element.set(slot.attribute, data_url)
            return
    slot.element.attrib.pop("sizes", None)


def _make_notes(parts: Parts, sheets: Sheets, complete: bool) -> tuple[str, ...]:
    notes = []
    if parts.missing:
        notes.append(f"pictures, styles and fonts that could not be fetched: {parts.missing}")
    if parts.too_many:
        notes.append(
            f"pictures, styles and fonts beyond the limits of a copy (web_parts, web_snapshot_bytes): {parts.too_many}"
        )
    if sheets.unread:
        notes.append(f"style sheets too large or too complex to be kept: {sheets.unread}")
    if not complete:
        notes.append("the page has more elements than a copy keeps; it ends early")
    return tuple(notes)


def _render_document(page: str, outline: Outline, styles: str, body: str, icon: str | None) -> str:
    head = [
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="referrer" content="no-referrer">',
        '<meta name="generator" content="chyme">',
        f'<meta name="source" content="{escape_html(outline.url)}">',
        f"<title>{escape_html(outline.title or outline.url)}</title>",
        f'<link rel="icon" href="{icon or "data:,"}">',  # without one, browsers ask the server for its favicon
    ]
    if outline.canonical:
        head.append(f'<meta name="canonical" content="{escape_html(outline.canonical)}">')
    if _VIEWPORT.fullmatch(outline.viewport):
        head.append(f'<meta name="viewport" content="{escape_html(outline.viewport)}">')
    top, inner = _render_tag("html", outline.html), _render_tag("body", outline.body)
    return f"{_choose_doctype(page)}{top}<head>{''.join(head)}{styles}</head>{inner}{body.lstrip()}</body></html>"


def _render_tag(name: str, attributes: Mapping[str, str]) -> str:
    rendered = "".join(
        f' {attribute}="{escape_html(value)}"'
        for attribute, value in attributes.items()
        if _TOP_ATTRIBUTES.fullmatch(attribute) and len(value) < 4096
    )
    return f"<{name}{rendered}>"


def _choose_doctype(page: str) -> str:
    """Return a doctype for the same layout: browsers have three layout modes, chosen by the first line of a page."""
    start = page[:4096].lstrip("\ufeff \t\r\n")
    while start.startswith("<!--") and "-->" in start:
        start = start.partition("-->")[2].lstrip()
    doctype = _DOCTYPE.match(start)
    if not doctype or _OLD_DOCTYPE.search(doctype[1]):
        return ""
    if _TRANSITIONAL.search(doctype[1]):
        return _TRANSITIONAL_DOCTYPE if "http://" in doctype[1].lower() else ""
    return "<!DOCTYPE html>"


def _build_text_only(page: str, url: str, limits: CrawlLimits) -> Snapshot:
    text = _plain_text(page)
    max_bytes = max(0, limits.snapshot_bytes - 4096)
    data = escape_html(text).encode("utf-8", "replace")
    notes = (TEXT_ONLY,) if len(data) <= max_bytes else (TEXT_ONLY, CUT)
    body = data[:max_bytes].decode("utf-8", "ignore")
    body = body[: body.rfind("&")] if body.rfind("&") > body.rfind(";") else body
    outline = Outline(url, url)
    html = _render_document(
        "<!doctype html>", outline, "<style>pre{white-space:pre-wrap}</style>", f"<pre>{body}</pre>", None
    )
    return Snapshot(html.encode("utf-8", "replace"), 0, 0, notes)


def _plain_text(page: str) -> str:
    """Return the words of a page that cannot be parsed, in time proportional to its length."""
    lower = page.lower()
    if len(lower) != len(page):  # a few letters change their length
        lower = page
    visible, position = [], 0
    while found := _INVISIBLE.search(lower, position):
        visible.append(page[position : found.start()])
        end = lower.find(f"</{found[1]}", found.end())
        if end < 0:
            position = found.end()
            break
        position = end
    visible.append(page[position:])
    text = unescape(_MARKUP.sub(" ", "".join(visible)))
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)
