"""What a picture tells about itself: camera, moment, place, words. Nothing in it is trusted, nothing in it raises."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from PIL import Image

T = TypeVar("T")

LONGEST_TEXT = 500
MOST_KEYWORDS = 100
METADATA_BYTES = 4 << 20  # XMP with an edit history is large; more is not read
_MAKE, _MODEL, _ORIENTATION, _DESCRIPTION, _CHANGED = 0x010F, 0x0110, 0x0112, 0x010E, 0x0132
_XP_TITLE, _XP_KEYWORDS = 0x9C9B, 0x9C9E
_DETAILS, _PLACE = 0x8769, 0x8825  # the IFDs for exposure and for GPS
_LENS, _TAKEN, _OFFSET, _OFFSET_CHANGED = 0xA434, 0x9003, 0x9011, 0x9010
_EXPOSURE, _APERTURE, _ISO, _FOCAL = 0x829A, 0x829D, 0x8827, 0x920A
_MOMENT = re.compile(r"(\d{4})[:-](\d\d)[:-](\d\d)[ T](\d\d):(\d\d):(\d\d)")
_ZONE = re.compile(r"[+-](?:0\d|1[0-4]):[0-5]\d|Z")
_SPACE = re.compile(r"\s+")
_DC = "{http://purl.org/dc/elements/1.1/}"
_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"

# What cameras and programs write when nobody wrote anything.
_EMPTY_WORDS = frozenset({"olympus digital camera", "sony dsc", "default", "untitled", "unknown title", "screenshot"})


def facts_of(exif: Mapping[int, Any], info: Mapping[Any, Any]) -> dict[str, object]:
    """Camera, taken, exposure, place and words, each only where it is known and makes sense."""
    details, place = _directory(exif, _DETAILS), _directory(exif, _PLACE)
    words = _words(exif, info)
    found = {
        "title": words.get("title"),
        "description": words.get("description"),
        "keywords": words.get("keywords"),
        "taken": _tried(lambda: _taken(exif, details)),
        "camera": _present(
            make=_text(_value(exif, _MAKE)), model=_text(_value(exif, _MODEL)), lens=_text(_value(details, _LENS))
        ),
        "exposure": _present(
            seconds=_number(_value(details, _EXPOSURE), 1e-7, 1e6, 6),
            aperture=_number(_value(details, _APERTURE), 0.1, 1000, 1),
            iso=_whole(_value(details, _ISO), 1, 100_000_000),
            focal_length=_number(_value(details, _FOCAL), 0.1, 100_000, 1),
        ),
        "place": _tried(lambda: _position(place)),
    }
    return {name: value for name, value in found.items() if value}


def orientation_of(exif: Mapping[int, Any]) -> int:
    """1 to 8; 1 when nothing sensible is stored."""
    value = _whole(_value(exif, _ORIENTATION), 1, 8)
    return value or 1


def exif_of(image: Image.Image) -> Mapping[int, Any]:
    """The image's EXIF as far as it can be read."""
    found = _tried(image.getexif)
    return {} if found is None else found


def exif_in(data: object) -> Mapping[int, Any]:
    """EXIF from bytes, as HEIC keeps it."""
    from PIL import Image

    exif = Image.Exif()
    if isinstance(data, bytes):
        _tried(lambda: exif.load(data))
    return exif


def _tried(read: Callable[[], T]) -> T | None:
    """What was read, or None: metadata is written by anybody, and readers of it fail in every way there is."""
    try:
        return read()
    except MemoryError:
        raise
    except Exception:
        return None


def _directory(exif: Mapping[int, Any], tag: int) -> Mapping[int, Any]:
    reader = getattr(exif, "get_ifd", None)
    found = _tried(lambda: reader(tag)) if reader else None
    return found if isinstance(found, Mapping) else {}


def _value(exif: Mapping[int, Any], tag: int) -> Any:
    return _tried(lambda: exif.get(tag))


def _present(**values: object) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}


def _text(value: object) -> str | None:
    """Clean words of bearable length, or None."""
    if isinstance(value, tuple | list) and value:
        value = value[0]
    if isinstance(value, bytes):
        value = _decoded(value[: LONGEST_TEXT * 8])
    if not isinstance(value, str):
        return None
    value = value[: LONGEST_TEXT * 8].partition("\x00")[0]
    printable = "".join(letter if letter.isprintable() else " " for letter in value)
    text = _SPACE.sub(" ", printable).strip()
    if len(text) > LONGEST_TEXT:
        text = text[: LONGEST_TEXT - 1].rstrip() + "…"
    return text or None


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _real(value: object) -> float | None:
    """A number, perhaps none of this world: whoever asks compares it with what makes sense."""
    if isinstance(value, tuple | list) and value:
        value = value[0]
    return _tried(lambda: float(value))  # type: ignore[arg-type]


def _number(value: object, least: float, most: float, digits: int) -> float | None:
    number = _real(value)
    if number is None or not least <= number <= most:
        return None
    return round(number, digits) or None


def _whole(value: object, least: int, most: int) -> int | None:
    number = _real(value)
    return int(number) if number is not None and least <= number <= most else None


def _taken(exif: Mapping[int, Any], details: Mapping[int, Any]) -> str | None:
    for directory, tag, offset in ((details, _TAKEN, _OFFSET), (exif, _CHANGED, _OFFSET_CHANGED)):
        found = _MOMENT.match(_text(_value(directory, tag)) or "")
        moment = _tried(lambda found=found: _moment(found)) if found else None  # type: ignore[misc]
        if moment and 1826 <= moment.year <= 2200:
            zone = _ZONE.fullmatch(_text(_value(details, offset)) or "")
            return moment.isoformat() + (zone[0] if zone else "")
    return None


def _moment(found: re.Match[str]) -> datetime:
    year, month, day, hour, minute, second = map(int, found.groups())
    return datetime(year, month, day, hour, minute, second)


def _position(gps: Mapping[int, Any]) -> dict[str, object] | None:
    latitude, longitude = _degrees(gps.get(2), gps.get(1), "S", 90), _degrees(gps.get(4), gps.get(3), "W", 180)
    if latitude is None or longitude is None or latitude == longitude == 0:  # zeros are written where there is no fix
        return None
    altitude = _real(gps.get(6))
    if altitude is not None and gps.get(5) in (1, b"\x01"):
        altitude = -altitude
    sensible = altitude is not None and -12_000 <= altitude <= 100_000
    return _present(
        latitude=latitude,
        longitude=longitude,
        altitude=round(altitude, 1) if sensible and altitude is not None else None,
    )


def _degrees(parts: Any, side: object, negative: str, most: int) -> float | None:
    if not isinstance(parts, tuple | list) or not 1 <= len(parts) <= 3:
        return None
    numbers = [_real(part) for part in parts]
    if numbers[0] is None or not 0 <= numbers[0] <= most:
        return None
    minutes, seconds = ([number or 0.0 for number in numbers[1:]] + [0.0, 0.0])[:2]
    if not (0 <= minutes < 60.0001 and 0 <= seconds < 60.0001):
        return None
    degrees = numbers[0] + minutes / 60 + seconds / 3600
    if degrees > most:
        return None
    return round(-degrees if (_text(side) or "").upper().startswith(negative) else degrees, 6)


def _words(exif: Mapping[int, Any], info: Mapping[Any, Any]) -> dict[str, object]:
    """Title, description and keywords: XMP knows best, then IPTC, then EXIF, then the text of a PNG."""
    xmp = _tried(lambda: _xmp_words(info.get("xmp") or info.get("XML:com.adobe.xmp"))) or {}
    iptc = _tried(lambda: _iptc_words(info)) or {}
    plain = {
        "title": _wide(_value(exif, _XP_TITLE)) or _text(info.get("Title")),
        "description": _text(_value(exif, _DESCRIPTION)) or _text(info.get("Description")),
        "keywords": [word for word in re.split(r"\s*;\s*", _wide(_value(exif, _XP_KEYWORDS)) or "") if word],
    }
    found = {name: xmp.get(name) or iptc.get(name) or plain[name] for name in plain}
    for name in ("title", "description"):
        if str(found[name]).lower() in _EMPTY_WORDS:
            found[name] = None
    return found


def _wide(value: object) -> str | None:
    """Text as Windows writes it into EXIF."""
    if isinstance(value, tuple | list):
        numbers: Any = value
        value = _tried(lambda: bytes(numbers))
    return _text(value[: LONGEST_TEXT * 8].decode("utf-16-le", "ignore")) if isinstance(value, bytes) else None


def _xmp_words(xmp: object) -> dict[str, object]:
    from lxml import etree  # type: ignore[import-untyped]

    data = xmp.encode() if isinstance(xmp, str) else xmp
    if not isinstance(data, bytes) or not 0 < len(data) <= METADATA_BYTES:
        return {}
    parser = etree.XMLParser(resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False, recover=True)
    root = etree.fromstring(data.strip(b"\x00 \r\n\t"), parser)
    if root is None:
        return {}

    def texts(name: str) -> list[str]:
        found = (_text(item.text) for element in root.iter(_DC + name) for item in element.iter(_RDF + "li"))
        return [text for text in found if text]

    title, description = texts("title"), texts("description")
    return {
        "title": title[0] if title else None,
        "description": description[0] if description else None,
        "keywords": list(dict.fromkeys(texts("subject")))[:MOST_KEYWORDS],
    }


def _iptc_words(info: Mapping[Any, Any]) -> dict[str, object]:
    """`info["iptc"]` holds what Pillow found: a value or a list of values by record and number."""
    iptc = info.get("iptc")
    if not isinstance(iptc, Mapping):
        return {}
    keywords = iptc.get((2, 25))
    each = [_text(word) for word in (keywords if isinstance(keywords, list) else [keywords])]
    return {
        "title": _text(iptc.get((2, 5))),
        "description": _text(iptc.get((2, 120))),
        "keywords": list(dict.fromkeys(word for word in each if word))[:MOST_KEYWORDS],
    }
