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
from chyme.imaging.decoding.decoder_interface import PictureLimits

if TYPE_CHECKING:
    from PIL import Image

CONTAINER = "META-INF/container.xml"
PAGE_BYTES = 1 << 20  # of a book's page that are searched for its first picture
MIN_SIDE = 100  # pixels on each side; a smaller picture is an ornament, not a cover
MAX_CANDIDATES = 6
_PICTURE_ENDINGS = (".jpg", ".jpeg", ".png", ".gif", ".webp", ".svg", ".bmp", ".tif", ".tiff", ".avif")


def find_cover(name: str, package: Package, limits: PageLimits) -> Image.Image | None:
    """The first candidate that is a picture of some size; None if the book has no cover."""
    from chyme.imaging.decoding.reader import open_picture

    picture_limits = PictureLimits(image_pixels=limits.image_pixels)
    tried: list[str] = []
    for part in _candidates(package):
        if part in tried:
            continue
        tried.append(part)
        if len(tried) > MAX_CANDIDATES:
            return None
        data = package.read(part)
        if not data:
            continue
        try:
            picture = open_picture(name, io.BytesIO(data), picture_limits, limits.page_pixels)
        except DigestError:
            continue  # after a damaged or oversized cover, try the next one
        if min(picture.width, picture.height) >= MIN_SIDE or part.lower().endswith(".svg"):
            return picture.image
    return None


def _candidates(package: Package) -> Iterator[str]:
    """Parts that may be the cover, the most explicit declaration first; only names of parts in the package."""
    opf = _package_document(package)
    if opf is None:
        return
    root, folder = opf
    items = {item.get("id", ""): item for item in _elements(root, "item")}

    def pictures_at(href: str | None) -> Iterator[str]:
        part = _resolve_part(package, folder, href)
        if part and part.lower().endswith(_PICTURE_ENDINGS):
            yield part
        elif part:
            yield from _pictures_of(package, part)

    for item in items.values():
        if "cover-image" in item.get("properties", "").split():
            yield from pictures_at(item.get("href"))
    for meta in _elements(root, "meta"):
        if meta.get("name", "").lower() == "cover":
            cover_item = items.get(meta.get("content", ""))
            yield from pictures_at(cover_item.get("href") if cover_item is not None else meta.get("content"))
    for reference in _elements(root, "reference"):
        if reference.get("type", "").lower() in ("cover", "other.ms-coverimage-standard"):
            yield from pictures_at(reference.get("href"))
    for identifier, item in items.items():
        if "cover" in identifier.lower() and item.get("media-type", "").startswith("image/"):
            yield from pictures_at(item.get("href"))
    first = next((items[ref] for entry in _elements(root, "itemref") if (ref := entry.get("idref", "")) in items), None)
    if first is not None:
        yield from pictures_at(first.get("href"))


def _package_document(package: Package) -> tuple[Element, str] | None:
    """The book's list of parts and the folder to which its names are relative."""
    container = package.tree(CONTAINER)
    declared = (
        [entry.get("full-path", "") for entry in _elements(container, "rootfile")] if container is not None else []
    )
    for path in [*declared, *(part for part in package.names if part.lower().endswith(".opf"))]:
        root = package.tree(path) if path in package.names else None
        if root is not None:
            return root, posixpath.dirname(path)
    return None


def _elements(root: Element, name: str) -> Iterator[Element]:
    """Elements by local name only, because books disagree about namespaces."""
    return (element for element in root.iter() if isinstance(element.tag, str) and element.tag.endswith(f"}}{name}"))


def _resolve_part(package: Package, folder: str, href: str | None) -> str | None:
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


class _PictureParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        href = {"img": attributes.get("src"), "image": attributes.get("xlink:href") or attributes.get("href")}.get(tag)
        if href:
            self.found.append(href)


def _pictures_of(package: Package, part: str) -> Iterator[str]:
    """The first picture that a page of the book shows."""
    parser = _PictureParser()
    with suppress(AssertionError):  # the parser's way to give up on `<![`
        parser.feed((package.read(part) or b"")[:PAGE_BYTES].decode("utf-8", "replace"))
    for href in parser.found[:1]:
        picture = _resolve_part(package, posixpath.dirname(part), href)
        if picture:
            yield picture
