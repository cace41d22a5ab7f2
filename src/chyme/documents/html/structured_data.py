"""What a page tells machines about itself: JSON-LD and microdata, as plain dictionaries with bounds."""

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

MOST_SCRIPTS = 50
SCRIPT_CHARS = 1_000_000  # of one JSON-LD script
MOST_THINGS = 200
MOST_DEPTH = 6  # of lists and graphs within each other
MOST_PROPERTIES = 2_000
_WRAPPING = re.compile(r"<!--|/\*\s*<!\[CDATA\[\s*\*/|//\s*<!\[CDATA\[|<!\[CDATA\[")
_TRAILING = re.compile(r",(\s{0,100}[}\]])")
_SPREADS = ("@graph", "mainEntity", "mainEntityOfPage")

_KINDS = (  # what a page is about, from the most telling to the least
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
    """Everything the page describes at its top level, JSON-LD before microdata. Broken scripts are passed over."""
    found: list[Thing] = []
    scripts = (one for one in root.iter("script") if _is_json_ld(one))
    for script in islice(scripts, MOST_SCRIPTS):
        text = script.text or ""
        if len(text) <= SCRIPT_CHARS:
            for value in _values(text):
                found.extend(_spread(value, MOST_DEPTH))
        if len(found) >= MOST_THINGS:
            break
    return [*found[:MOST_THINGS], *_microdata(root)]


def types_of(thing: Thing) -> tuple[str, ...]:
    """What it is, in the vocabulary's words without its address: `NewsArticle`."""
    told = thing.get("@type")
    names = told if isinstance(told, list) else [told]
    return tuple(re.split(r"[/#:]", name)[-1] for name in names[:10] if isinstance(name, str) and name)


def main_subjects(things: list[Thing], addresses: set[str]) -> list[Thing]:
    """What the page is about, best first. Several articles of which none is this page's make a list, not an article."""
    known = {_bare_address(one) for one in addresses}
    best: list[Thing] = []
    for kind, _ in _KINDS:
        alike = [thing for thing in things if kind_of(thing) == kind]
        own = [thing for thing in alike if known & set(_addresses(thing))]
        if own or len(alike) == 1 or kind == "website":
            best += own or alike[:1]
    return best


def kind_of(thing: Thing) -> str | None:
    """What sort of page such a thing makes: `article` of a `NewsArticle`."""
    names = types_of(thing)
    return next((kind for kind, pattern in _KINDS if any(pattern.search(name) for name in names)), None)


def _addresses(thing: Thing) -> Iterator[str]:
    for key in ("url", "@id", "mainEntityOfPage"):
        for one in texts(thing.get(key), "@id", "url"):
            yield _bare_address(one)


def _bare_address(address: str) -> str:
    """An address without what does not tell pages apart: scheme, fragment, the last slash."""
    return re.sub(r"^https?://(?:www\.)?", "", address.partition("#")[0].strip()).rstrip("/")


def texts(value: object, *keys: str) -> Iterator[str]:
    """The strings a value holds: itself, each of a list, or under the first of `keys` that an object has."""
    for one in value[:50] if isinstance(value, list) else (value,):
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            for key in keys:
                inner = one.get(key)
                if isinstance(inner, list):
                    inner = inner[0] if inner else None
                if isinstance(inner, str) and inner.strip():
                    yield inner
                    break


def _is_json_ld(script: HtmlElement) -> bool:
    return (script.get("type") or "").partition(";")[0].strip().lower() == "application/ld+json"


def _values(text: str) -> Iterator[object]:
    """The JSON values in a script, forgiving what people forgive: comments around it, commas too many, line ends."""
    text = text.strip()
    if opening := _WRAPPING.match(text):  # what closes it stands behind the value, where nobody looks
        text = text[opening.end() :]
    decoder = json.JSONDecoder(strict=False)
    for attempt in (text, _TRAILING.sub(r"\1", text)):
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


def _spread(value: object, depth: int) -> Iterator[Thing]:
    if depth == 0:
        return
    if isinstance(value, list):
        for one in value[:MOST_THINGS]:
            yield from _spread(one, depth - 1)
    elif isinstance(value, dict):
        yield value
        for key in _SPREADS:
            if isinstance(value.get(key), dict | list):
                yield from _spread(value[key], depth - 1)


def _microdata(root: HtmlElement) -> list[Thing]:
    """The outermost items and their properties; an inner item counts as the text of its name."""
    found: list[dict[str, object]] = []
    owners: dict[HtmlElement, dict[str, object]] = {}
    for count, element in enumerate(root.xpath("//*[@itemscope or @itemprop]")):
        if count >= MOST_PROPERTIES or len(found) >= MOST_THINGS:
            break
        around = next((owners[above] for above in element.iterancestors() if above in owners), None)
        item: dict[str, object] | None = None
        if element.get("itemscope") is not None:
            item = {"@type": (element.get("itemtype") or "").split("/")[-1].strip()}
            owners[element] = item
            if around is None:
                found.append(item)
        names = (element.get("itemprop") or "").split()
        if around is not None:
            value: object = item if item is not None else _property(element)
            for name in names[:5]:
                if value:
                    around.setdefault(name, value)
    return [*found]


def _property(element: HtmlElement) -> str:
    for name in ("content", "datetime", "href", "src"):
        told = element.get(name)
        if told:
            return str(told)[:5000]
    return " ".join(element.text_content()[:5000].split())
