"""Ranks the addresses that a page gives for a picture."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urldefrag, urljoin
from xml.etree.ElementTree import Element

WIDTH = 1280  # of the window for which the copy is made
MAX_URL_CHARS = 4096  # of an address
MAX_CANDIDATES = 50  # of one picture that are considered
_SUPPORTED_TYPES = frozenset(
    {"image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp", "image/avif", "image/svg+xml"}
)
_LAZY = ("data-src", "data-lazy-src", "data-original", "data-lazy", "data-actualsrc", "data-img-src", "data-hi-res-src")
_LAZY_SETS = ("data-srcset", "data-lazy-srcset")
_CONDITION = re.compile(r"\(\s*(min|max)-width\s*:\s*(\d{1,5}(?:\.\d{1,4})?)(px|em|rem)\s*\)")
_SIZE = re.compile(r"(\d{1,5}(?:\.\d{1,4})?)px\s*$")


@dataclass(frozen=True, slots=True)
class ImageSource:
    """An address and, if it comes from a srcset, its descriptor: "640w", "2x"."""

    url: str
    size: str = ""


def absolute_url(base: str, address: str) -> str | None:
    """Return the absolute http(s) or data: address; None if it is neither, or broken."""
    address = address.strip()
    if address[:5].lower() == "data:":
        return address
    if not address or len(address) > MAX_URL_CHARS:
        return None
    return _join(base, address)


@lru_cache(4096)
def _join(base: str, address: str) -> str | None:
    try:
        joined = urldefrag(urljoin(base, address.replace("\n", "").replace("\t", ""))).url
    except ValueError:
        return None
    return joined if joined[:7].lower() == "http://" or joined[:8].lower() == "https://" else None


def rank_sources(image: Element, sources: Iterable[Element], base: str) -> tuple[ImageSource, ...]:
    """Return the best first: what scripts would insert, then what fits the window, then the plain address."""
    ranked: list[ImageSource] = []
    for source in sources:
        if _is_usable(source):
            ranked += _pick_from_srcset(
                _first_attribute(source, (*_LAZY_SETS, "srcset")), source.get("sizes", ""), base
            )
            if ranked:
                break
    ranked += _pick_from_srcset(_first_attribute(image, _LAZY_SETS), image.get("sizes", ""), base)
    ranked += [ImageSource(url) for name in _LAZY if (url := _lazy_url(image, name, base))]
    ranked += _pick_from_srcset(image.get("srcset", ""), image.get("sizes", ""), base)
    if plain := absolute_url(base, image.get("src", "")):
        ranked.append(ImageSource(plain))
    return tuple(dict.fromkeys(ranked))


def _first_attribute(element: Element, names: Iterable[str]) -> str:
    return next((value for name in names if (value := element.get(name))), "")


def _lazy_url(image: Element, name: str, base: str) -> str | None:
    value = image.get(name, "")
    # Some of these attributes hold JSON or a template instead.
    return None if any(sign in value for sign in " {}<>") else absolute_url(base, value)


def _is_usable(source: Element) -> bool:
    mime = source.get("type", "").partition(";")[0].strip().lower()
    return (not mime or mime in _SUPPORTED_TYPES) and _matches_media(source.get("media", "").lower())


def _matches_media(media: str) -> bool:
    """Whether our window, in light colours, meets the conditions; unknown conditions are not met."""
    for kind, number, unit in _CONDITION.findall(media):
        width = float(number) * (1 if unit == "px" else 16)
        if (kind == "min" and width > WIDTH) or (kind == "max" and width < WIDTH):
            return False
    rest = _CONDITION.sub("", media)
    return "(" not in rest and "print" not in rest and "not" not in rest.split()


def _pick_from_srcset(text: str, sizes: str, base: str) -> list[ImageSource]:
    widths: list[tuple[float, str]] = []
    densities: list[tuple[float, str]] = []
    for address, descriptor in _split_srcset(text):
        url = absolute_url(base, address)
        try:
            number = float(descriptor[:-1] or 1)
        except ValueError:
            continue
        if url and number > 0:
            (widths if descriptor.endswith("w") else densities).append((number, url))
    if widths:
        size = _SIZE.search(sizes)
        wanted = min(WIDTH, float(size[1])) if size else WIDTH
        enough = [candidate for candidate in widths if wanted <= candidate[0] <= WIDTH]
        small = [candidate for candidate in widths if candidate[0] <= WIDTH]
        width, url = min(enough) if enough else max(small) if small else min(widths)
        return [ImageSource(url, f"{round(min(99_999.0, width))}w")]
    if densities:
        density, url = min(densities)
        return [ImageSource(url, "" if density == 1 else f"{min(999.0, density):.3g}x")]
    return []


def _split_srcset(text: str) -> Iterable[tuple[str, str]]:
    """Yield the addresses of a srcset with their descriptors. Addresses may contain commas, and end at white space."""
    words = text.split()
    i = 0
    for _ in range(MAX_CANDIDATES):
        if i >= len(words):
            return
        address = words[i]
        i += 1
        if address.endswith(",") or i >= len(words):
            yield address.strip(","), "1x"
            continue
        word = words[i]
        i += 1
        descriptor, comma, rest = word.partition(",")
        yield address.strip(","), descriptor or "1x"
        if comma and rest:
            i -= 1
            words[i] = rest
