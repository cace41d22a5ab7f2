"""Find the cover of an EPUB book."""

from __future__ import annotations

import io
import posixpath
from collections.abc import Iterator
from contextlib import suppress
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit
from xml.etree.ElementTree import Element

from chyme.documents.conversion.zip_packages import Package
from chyme.documents.pages.limits import PageLimits
from chyme.errors import DigestError
from chyme.imaging.decoding.limits import PictureLimits

if TYPE_CHECKING:
    from PIL import Image

CONTAINER = "META-INF/container.xml"
PAGE_BYTES = 1 << 20  # of a book's page that are searched for its first picture
SMALLEST = 100  # pixels on each side; less is an ornament, not a cover
CANDIDATES = 6
_PICTURES = (".jpg", ".jpeg", ".png", ".gif", ".webp", ".svg", ".bmp", ".tif", ".tiff", ".avif")


def find_cover(name: str, package: Package, limits: PageLimits) -> Image.Image | None:
    """The first candidate that is a picture of some size; None when the book has no cover."""
    from chyme.imaging.decoding.reader import open_picture

    within = PictureLimits(image_pixels=limits.image_pixels)
    tried: list[str] = []
    for part in _candidates(package):
        if part in tried:
            continue
        tried.append(part)
        if len(tried) > CANDIDATES:
            return None
        data = package.read(part)
        if not data:
            continue
        try:
            picture = open_picture(name, io.BytesIO(data), within, limits.page_pixels)
        except DigestError:
            continue  # a damaged or oversized cover is no reason to show nothing
        if min(picture.width, picture.height) >= SMALLEST or part.lower().endswith(".svg"):
            return picture.image
    return None


def _candidates(package: Package) -> Iterator[str]:
    """Parts that may be the cover, the most explicit declaration first; only names that the package holds."""
    opf = _package_document(package)
    if opf is None:
        return
    root, folder = opf
    items = {item.get("id", ""): item for item in _all(root, "item")}

    def found(href: str | None) -> Iterator[str]:
        part = _inside(package, folder, href)
        if part and part.lower().endswith(_PICTURES):
            yield part
        elif part:
            yield from _pictures_of(package, part)

    for item in items.values():
        if "cover-image" in item.get("properties", "").split():
            yield from found(item.get("href"))
    for meta in _all(root, "meta"):
        if meta.get("name", "").lower() == "cover":
            told = items.get(meta.get("content", ""))
            yield from found(told.get("href") if told is not None else meta.get("content"))
    for reference in _all(root, "reference"):
        if reference.get("type", "").lower() in ("cover", "other.ms-coverimage-standard"):
            yield from found(reference.get("href"))
    for identifier, item in items.items():
        if "cover" in identifier.lower() and item.get("media-type", "").startswith("image/"):
            yield from found(item.get("href"))
    first = next((items[ref] for entry in _all(root, "itemref") if (ref := entry.get("idref", "")) in items), None)
    if first is not None:
        yield from found(first.get("href"))


def _package_document(package: Package) -> tuple[Element, str] | None:
    """The book's list of parts and the folder to which its names are relative."""
    container = package.tree(CONTAINER)
    told = [entry.get("full-path", "") for entry in _all(container, "rootfile")] if container is not None else []
    for path in [*told, *(part for part in package.names if part.lower().endswith(".opf"))]:
        root = package.tree(path) if path in package.names else None
        if root is not None:
            return root, posixpath.dirname(path)
    return None


def _all(root: Element, name: str) -> Iterator[Element]:
    """By the name alone: books disagree about namespaces."""
    return (element for element in root.iter() if isinstance(element.tag, str) and element.tag.endswith(f"}}{name}"))


def _inside(package: Package, folder: str, href: str | None) -> str | None:
    if not href:
        return None
    try:
        address = urlsplit(href.strip())
    except ValueError:
        return None
    if address.scheme or address.netloc:
        return None
    part = posixpath.normpath(posixpath.join(folder, unquote(address.path)))
    return part if part in package.names else None


class _Pictures(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        href = {"img": told.get("src"), "image": told.get("xlink:href") or told.get("href")}.get(tag)
        if href:
            self.found.append(href)


def _pictures_of(package: Package, part: str) -> Iterator[str]:
    """The first picture that a page of the book shows."""
    parser = _Pictures()
    with suppress(AssertionError):  # how it gives up on `<![`
        parser.feed((package.read(part) or b"")[:PAGE_BYTES].decode("utf-8", "replace"))
    for href in parser.found[:1]:
        picture = _inside(package, posixpath.dirname(part), href)
        if picture:
            yield picture
