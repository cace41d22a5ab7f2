"""Which of the addresses that a page gives for a picture is the one to keep."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urldefrag, urljoin
from xml.etree.ElementTree import Element

WIDTH = 1280  # of the window that the copy is made for
LONGEST = 4096  # characters of an address
MOST = 50  # candidates of one picture that are looked at
_SHOWN = frozenset({"image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp", "image/avif", "image/svg+xml"})
_LAZY = ("data-src", "data-lazy-src", "data-original", "data-lazy", "data-actualsrc", "data-img-src", "data-hi-res-src")
_LAZY_SETS = ("data-srcset", "data-lazy-srcset")
_CONDITION = re.compile(r"\(\s*(min|max)-width\s*:\s*(\d{1,5}(?:\.\d{1,4})?)(px|em|rem)\s*\)")
_SIZE = re.compile(r"(\d{1,5}(?:\.\d{1,4})?)px\s*$")


@dataclass(frozen=True, slots=True)
class ImageSource:
    """An address and, where it comes from a set, how large it is meant to be: "640w", "2x"."""

    url: str
    size: str = ""


def absolute_url(base: str, address: str) -> str | None:
    """The http(s) or data: address meant; None when it is neither, or broken."""
    address = address.strip()
    if address[:5].lower() == "data:":
        return address
    if not address or len(address) > LONGEST:
        return None
    return _joined(base, address)


@lru_cache(4096)
def _joined(base: str, address: str) -> str | None:
    try:
        joined = urldefrag(urljoin(base, address.replace("\n", "").replace("\t", ""))).url
    except ValueError:
        return None
    return joined if joined[:7].lower() == "http://" or joined[:8].lower() == "https://" else None


def rank_sources(image: Element, sources: Iterable[Element], base: str) -> tuple[ImageSource, ...]:
    """The best first: what scripts would have put there, then what fits the window, then the plain address."""
    found: list[ImageSource] = []
    for source in sources:
        if _fits(source):
            found += _from_set(_first(source, (*_LAZY_SETS, "srcset")), source.get("sizes", ""), base)
            if found:
                break
    found += _from_set(_first(image, _LAZY_SETS), image.get("sizes", ""), base)
    found += [ImageSource(url) for name in _LAZY if (url := _lazy(image, name, base))]
    found += _from_set(image.get("srcset", ""), image.get("sizes", ""), base)
    if plain := absolute_url(base, image.get("src", "")):
        found.append(ImageSource(plain))
    return tuple(dict.fromkeys(found))


def _first(element: Element, names: Iterable[str]) -> str:
    return next((value for name in names if (value := element.get(name))), "")


def _lazy(image: Element, name: str, base: str) -> str | None:
    value = image.get(name, "")
    # Some of these attributes hold JSON or a template instead.
    return None if any(sign in value for sign in " {}<>") else absolute_url(base, value)


def _fits(source: Element) -> bool:
    told = source.get("type", "").partition(";")[0].strip().lower()
    return (not told or told in _SHOWN) and _is_seen(source.get("media", "").lower())


def _is_seen(media: str) -> bool:
    """Whether a window of ours, in light colours, meets the conditions; those we do not know are not met."""
    left = media
    for kind, number, unit in _CONDITION.findall(media):
        width = float(number) * (1 if unit == "px" else 16)
        if (kind == "min" and width > WIDTH) or (kind == "max" and width < WIDTH):
            return False
    left = _CONDITION.sub("", left)
    return "(" not in left and "print" not in left and "not" not in left.split()


def _from_set(text: str, sizes: str, base: str) -> list[ImageSource]:
    widths: list[tuple[float, str]] = []
    densities: list[tuple[float, str]] = []
    for address, descriptor in _entries(text):
        url = absolute_url(base, address)
        try:
            number = float(descriptor[:-1] or 1)
        except ValueError:
            continue
        if url and number > 0:
            (widths if descriptor.endswith("w") else densities).append((number, url))
    if widths:
        told = _SIZE.search(sizes)
        wanted = min(WIDTH, float(told[1])) if told else WIDTH
        enough = [one for one in widths if wanted <= one[0] <= WIDTH]
        small = [one for one in widths if one[0] <= WIDTH]
        width, url = min(enough) if enough else max(small) if small else min(widths)
        return [ImageSource(url, f"{round(min(99_999.0, width))}w")]
    if densities:
        density, url = min(densities)
        return [ImageSource(url, "" if density == 1 else f"{min(999.0, density):.3g}x")]
    return []


def _entries(text: str) -> Iterable[tuple[str, str]]:
    """The addresses of a set with their descriptors. An address may hold commas, and ends at white space."""
    words = text.split()
    at = 0
    for _ in range(MOST):
        if at >= len(words):
            return
        address = words[at]
        at += 1
        if address.endswith(",") or at >= len(words):
            yield address.strip(","), "1x"
            continue
        descriptor = words[at]
        at += 1
        told, comma, rest = descriptor.partition(",")
        yield address.strip(","), told or "1x"
        if comma and rest:
            at -= 1
            words[at] = rest
