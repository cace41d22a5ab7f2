"""Read the structured data of a page: JSON-LD and microdata, as plain dictionaries of limited size."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement  # type: ignore[import-untyped]

Thing = Mapping[str, object]

MAX_SCRIPTS = 50
SCRIPT_CHARS = 1_000_000  # of one JSON-LD script
MAX_THINGS = 200
MAX_DEPTH = 6  # of nested lists and graphs
MAX_PROPERTIES = 2_000
_WRAPPER = re.compile(r"<!--|/\*\s*<!\[CDATA\[\s*\*/|//\s*<!\[CDATA\[|<!\[CDATA\[")
_TRAILING_COMMA = re.compile(r",(\s{0,100}[}\]])")
_NESTING_KEYS = ("@graph", "mainEntity", "mainEntityOfPage")

_KINDS = (  # the subject of a page, from the most specific to the least
    ("article", re.compile(r"Article$|^BlogPosting$|^LiveBlogPosting$|^Report$|^Review$|^CriticReview$")),
    ("video", re.compile(r"^VideoObject$|^Movie$|^TVEpisode$|^Clip$")),
    ("recipe", re.compile(r"^Recipe$|^HowTo$")),
    ("product", re.compile(r"^Product$|^ProductGroup$|^IndividualProduct$")),
    ("event", re.compile(r"Event$")),
    ("book", re.compile(r"^Book$|^Audiobook$")),
    ("audio", re.compile(r"^PodcastEpisode$|^AudioObject$|^Music")),
    ("discussion", re.compile(r"^QAPage$|^Question$|^DiscussionForumPosting$|^SocialMediaPosting$")),
    ("software", re.compile(r"^Software|^MobileApplication$|^WebApplication$")),
    ("job", re.compile(r"^JobPosting$")),
    ("course", re.compile(r"^Course$")),
    ("dataset", re.compile(r"^Dataset$")),
    ("place", re.compile(r"^LocalBusiness$|^Restaurant$|^Hotel$|^Place$")),
    ("profile", re.compile(r"^ProfilePage$")),
    ("website", re.compile(r"Page$|^WebSite$")),
)


def things_in(root: HtmlElement) -> list[Thing]:
    """Everything the page describes at its top level, JSON-LD before microdata. Broken scripts are skipped."""
    things: list[Thing] = []
    scripts = (element for element in root.iter("script") if _is_json_ld(element))
    for script in islice(scripts, MAX_SCRIPTS):
        text = script.text or ""
        if len(text) <= SCRIPT_CHARS:
            for value in _parse_values(text):
                things.extend(_flatten(value, MAX_DEPTH))
        if len(things) >= MAX_THINGS:
            break
    return [*things[:MAX_THINGS], *_microdata(root)]


def types_of(thing: Thing) -> tuple[str, ...]:
    """Its types in the vocabulary's words without its address: `NewsArticle`."""
    declared = thing.get("@type")
    names = declared if isinstance(declared, list) else [declared]
    return tuple(re.split(r"[/#:]", name)[-1] for name in names[:10] if isinstance(name, str) and name)


def main_subjects(things: list[Thing], addresses: set[str]) -> list[Thing]:
    """What the page is about, best first. Several articles of which none is this page's are a list, not an article."""
    bare_addresses = {_bare_address(address) for address in addresses}
    subjects: list[Thing] = []
    for kind, _ in _KINDS:
        same_kind = [thing for thing in things if kind_of(thing) == kind]
        own = [thing for thing in same_kind if bare_addresses & set(_addresses(thing))]
        if own or len(same_kind) == 1 or kind == "website":
            subjects += own or same_kind[:1]
    return subjects


def kind_of(thing: Thing) -> str | None:
    """The kind of page such a thing makes: `article` of a `NewsArticle`."""
    names = types_of(thing)
    return next((kind for kind, pattern in _KINDS if any(pattern.search(name) for name in names)), None)


def _addresses(thing: Thing) -> Iterator[str]:
    for key in ("url", "@id", "mainEntityOfPage"):
        for address in texts(thing.get(key), "@id", "url"):
            yield _bare_address(address)


def _bare_address(address: str) -> str:
    """An address without what does not distinguish pages: scheme, fragment, last slash."""
    return re.sub(r"^https?://(?:www\.)?", "", address.partition("#")[0].strip()).rstrip("/")


def texts(value: object, *keys: str) -> Iterator[str]:
    """The strings of a value: itself, each of a list, or the first of `keys` that an object has."""
    for item in value[:50] if isinstance(value, list) else (value,):
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            for key in keys:
                inner = item.get(key)
                if isinstance(inner, list):
                    inner = inner[0] if inner else None
                if isinstance(inner, str) and inner.strip():
                    yield inner
                    break


def _is_json_ld(script: HtmlElement) -> bool:
    return (script.get("type") or "").partition(";")[0].strip().lower() == "application/ld+json"


def _parse_values(text: str) -> Iterator[object]:
    """The JSON values in a script, tolerating comments around it, extra commas and line ends."""
    text = text.strip()
    if opening := _WRAPPER.match(text):  # its end comes after the value, which is not parsed
        text = text[opening.end() :]
    decoder = json.JSONDecoder(strict=False)
    for attempt in (text, _TRAILING_COMMA.sub(r"\1", text)):
        try:
            value, end = decoder.raw_decode(attempt.lstrip())
        except (ValueError, RecursionError):
            continue
        yield value
        rest = attempt.lstrip()[end:].lstrip(" \t\r\n,;")
        if rest.startswith(("{", "[")):
            with suppress(ValueError, RecursionError):
                yield decoder.raw_decode(rest)[0]
        return


def _flatten(value: object, depth: int) -> Iterator[Thing]:
    if depth == 0:
        return
    if isinstance(value, list):
        for item in value[:MAX_THINGS]:
            yield from _flatten(item, depth - 1)
    elif isinstance(value, dict):
        yield value
        for key in _NESTING_KEYS:
            if isinstance(value.get(key), dict | list):
                yield from _flatten(value[key], depth - 1)


def _microdata(root: HtmlElement) -> list[Thing]:
    """The outermost items and their properties; an inner item counts as the text of its name."""
    items: list[dict[str, object]] = []
    owners: dict[HtmlElement, dict[str, object]] = {}
    for count, element in enumerate(root.xpath("//*[@itemscope or @itemprop]")):
        if count >= MAX_PROPERTIES or len(items) >= MAX_THINGS:
            break
        outer_item = next((owners[above] for above in element.iterancestors() if above in owners), None)
        item: dict[str, object] | None = None
        if element.get("itemscope") is not None:
            item = {"@type": (element.get("itemtype") or "").split("/")[-1].strip()}
            owners[element] = item
            if outer_item is None:
                items.append(item)
        names = (element.get("itemprop") or "").split()
        if outer_item is not None:
            value: object = item if item is not None else _property(element)
            for name in names[:5]:
                if value:
                    outer_item.setdefault(name, value)
    return [*items]


def _property(element: HtmlElement) -> str:
    for name in ("content", "datetime", "href", "src"):
        value = element.get(name)
        if value:
            return str(value)[:5000]
    return " ".join(element.text_content()[:5000].split())
