"""Reads a picture's metadata: camera, time, place, words. Trusts nothing in it; malformed metadata never raises."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from PIL import Image

T = TypeVar("T")

MAX_TEXT = 500
MAX_KEYWORDS = 100
METADATA_BYTES = 4 << 20  # XMP with an edit history is large; more is not read
_MAKE, _MODEL, _ORIENTATION, _DESCRIPTION, _CHANGED = 0x010F, 0x0110, 0x0112, 0x010E, 0x0132
_XP_TITLE, _XP_KEYWORDS = 0x9C9B, 0x9C9E
_EXPOSURE_IFD, _GPS_IFD = 0x8769, 0x8825  # the IFDs for exposure and for GPS
_LENS, _TAKEN, _OFFSET, _OFFSET_CHANGED = 0xA434, 0x9003, 0x9011, 0x9010
_EXPOSURE, _APERTURE, _ISO, _FOCAL_LENGTH = 0x829A, 0x829D, 0x8827, 0x920A
_TIMESTAMP = re.compile(r"(\d{4})[:-](\d\d)[:-](\d\d)[ T](\d\d):(\d\d):(\d\d)")
_ZONE = re.compile(r"[+-](?:0\d|1[0-4]):[0-5]\d|Z")
_SPACE = re.compile(r"\s+")
_DC = "{http://purl.org/dc/elements/1.1/}"
_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"

# Placeholders that cameras and programs write.
_PLACEHOLDERS = frozenset({"olympus digital camera", "sony dsc", "default", "untitled", "unknown title", "screenshot"})


def facts_of(exif: Mapping[int, Any], info: Mapping[Any, Any]) -> dict[str, object]:
    """Camera, taken, exposure, place and words, each only where it is known and plausible."""
    details, place = _read_directory(exif, _EXPOSURE_IFD), _read_directory(exif, _GPS_IFD)
    words = _read_words(exif, info)
    facts = {
        "title": words.get("title"),
        "description": words.get("description"),
        "keywords": words.get("keywords"),
        "taken": _try_read(lambda: _read_taken(exif, details)),
        "camera": _drop_missing(
            make=_clean_text(_read_tag(exif, _MAKE)),
            model=_clean_text(_read_tag(exif, _MODEL)),
            lens=_clean_text(_read_tag(details, _LENS)),
        ),
        "exposure": _drop_missing(
            seconds=_as_number(_read_tag(details, _EXPOSURE), 1e-7, 1e6, 6),
            aperture=_as_number(_read_tag(details, _APERTURE), 0.1, 1000, 1),
            iso=_as_integer(_read_tag(details, _ISO), 1, 100_000_000),
            focal_length=_as_number(_read_tag(details, _FOCAL_LENGTH), 0.1, 100_000, 1),
        ),
        "place": _try_read(lambda: _read_position(place)),
    }
    return {name: value for name, value in facts.items() if value}


def orientation_of(exif: Mapping[int, Any]) -> int:
    """1 to 8; 1 when nothing valid is stored."""
    value = _as_integer(_read_tag(exif, _ORIENTATION), 1, 8)
    return value or 1


def exif_of(image: Image.Image) -> Mapping[int, Any]:
    """The image's EXIF as far as it can be read."""
    exif = _try_read(image.getexif)
    return {} if exif is None else exif


def exif_in(data: object) -> Mapping[int, Any]:
    """EXIF from bytes, as HEIC stores it."""
    from PIL import Image

    exif = Image.Exif()
    if isinstance(data, bytes):
        _try_read(lambda: exif.load(data))
    return exif


def _try_read(read: Callable[[], T]) -> T | None:
    """The result, or None: metadata may be malformed, and its readers fail in every possible way."""
    try:
        return read()
    except MemoryError:
        raise
    except Exception:
        return None


def _read_directory(exif: Mapping[int, Any], tag: int) -> Mapping[int, Any]:
    reader = getattr(exif, "get_ifd", None)
    directory = _try_read(lambda: reader(tag)) if reader else None
    return directory if isinstance(directory, Mapping) else {}


def _read_tag(exif: Mapping[int, Any], tag: int) -> Any:
    return _try_read(lambda: exif.get(tag))


def _drop_missing(**values: object) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}


def _clean_text(value: object) -> str | None:
    """Clean words of limited length, or None."""
    if isinstance(value, tuple | list) and value:
        value = value[0]
    if isinstance(value, bytes):
        value = _decode(value[: MAX_TEXT * 8])
    if not isinstance(value, str):
        return None
    value = value[: MAX_TEXT * 8].partition("\x00")[0]
    printable = "".join(letter if letter.isprintable() else " " for letter in value)
    text = _SPACE.sub(" ", printable).strip()
    if len(text) > MAX_TEXT:
        text = text[: MAX_TEXT - 1].rstrip() + "…"
    return text or None


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _as_float(value: object) -> float | None:
    """A number, possibly not finite or absurd: callers check its range."""
    if isinstance(value, tuple | list) and value:
        value = value[0]
    return _try_read(lambda: float(value))  # type: ignore[arg-type]


def _as_number(value: object, minimum: float, maximum: float, digits: int) -> float | None:
    number = _as_float(value)
    if number is None or not minimum <= number <= maximum:
        return None
    return round(number, digits) or None


def _as_integer(value: object, minimum: int, maximum: int) -> int | None:
    number = _as_float(value)
    return int(number) if number is not None and minimum <= number <= maximum else None


def _read_taken(exif: Mapping[int, Any], details: Mapping[int, Any]) -> str | None:
    for directory, tag, offset in ((details, _TAKEN, _OFFSET), (exif, _CHANGED, _OFFSET_CHANGED)):
        match = _TIMESTAMP.match(_clean_text(_read_tag(directory, tag)) or "")
        moment = _try_read(lambda match=match: _parse_timestamp(match)) if match else None  # type: ignore[misc]
        if moment and 1826 <= moment.year <= 2200:
            zone = _ZONE.fullmatch(_clean_text(_read_tag(details, offset)) or "")
            return moment.isoformat() + (zone[0] if zone else "")
    return None


def _parse_timestamp(match: re.Match[str]) -> datetime:
    year, month, day, hour, minute, second = map(int, match.groups())
    return datetime(year, month, day, hour, minute, second)


def _read_position(gps: Mapping[int, Any]) -> dict[str, object] | None:
    latitude, longitude = _degrees(gps.get(2), gps.get(1), "S", 90), _degrees(gps.get(4), gps.get(3), "W", 180)
    if latitude is None or longitude is None or latitude == longitude == 0:  # zeros mean that there was no GPS fix
        return None
    altitude = _as_float(gps.get(6))
    if altitude is not None and gps.get(5) in (1, b"\x01"):
        altitude = -altitude
    if altitude is not None:
        altitude = round(altitude, 1) if -12_000 <= altitude <= 100_000 else None
    return _drop_missing(latitude=latitude, longitude=longitude, altitude=altitude)


def _degrees(parts: Any, hemisphere: object, negative: str, maximum: int) -> float | None:
    if not isinstance(parts, tuple | list) or not 1 <= len(parts) <= 3:
        return None
    numbers = [_as_float(part) for part in parts]
    if numbers[0] is None or not 0 <= numbers[0] <= maximum:
        return None
    minutes, seconds = ([number or 0.0 for number in numbers[1:]] + [0.0, 0.0])[:2]
    if not (0 <= minutes < 60.0001 and 0 <= seconds < 60.0001):
        return None
    degrees = numbers[0] + minutes / 60 + seconds / 3600
    if degrees > maximum:
        return None
    return round(-degrees if (_clean_text(hemisphere) or "").upper().startswith(negative) else degrees, 6)


def _read_words(exif: Mapping[int, Any], info: Mapping[Any, Any]) -> dict[str, object]:
    """Title, description and keywords: preferably from XMP, then IPTC, then EXIF, then the text of a PNG."""
    xmp = _try_read(lambda: _xmp_words(info.get("xmp") or info.get("XML:com.adobe.xmp"))) or {}
    iptc = _try_read(lambda: _iptc_words(info)) or {}
    plain = {
        "title": _decode_utf16(_read_tag(exif, _XP_TITLE)) or _clean_text(info.get("Title")),
        "description": _clean_text(_read_tag(exif, _DESCRIPTION)) or _clean_text(info.get("Description")),
        "keywords": [word for word in re.split(r"\s*;\s*", _decode_utf16(_read_tag(exif, _XP_KEYWORDS)) or "") if word],
    }
    words = {name: xmp.get(name) or iptc.get(name) or plain[name] for name in plain}
    for name in ("title", "description"):
        if str(words[name]).lower() in _PLACEHOLDERS:
            words[name] = None
    return words


def _decode_utf16(value: object) -> str | None:
    """Text as Windows writes it into EXIF."""
    if isinstance(value, tuple | list):
        numbers: Any = value
        value = _try_read(lambda: bytes(numbers))
    return _clean_text(value[: MAX_TEXT * 8].decode("utf-16-le", "ignore")) if isinstance(value, bytes) else None


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
        items = (_clean_text(item.text) for element in root.iter(_DC + name) for item in element.iter(_RDF + "li"))
        return [text for text in items if text]

    title, description = texts("title"), texts("description")
    return {
        "title": title[0] if title else None,
        "description": description[0] if description else None,
        "keywords": list(dict.fromkeys(texts("subject")))[:MAX_KEYWORDS],
    }


def _iptc_words(info: Mapping[Any, Any]) -> dict[str, object]:
    """`info["iptc"]` is what Pillow found: a value or a list of values by record and number."""
    iptc = info.get("iptc")
    if not isinstance(iptc, Mapping):
        return {}
    keywords = iptc.get((2, 25))
    words = [_clean_text(word) for word in (keywords if isinstance(keywords, list) else [keywords])]
    return {
        "title": _clean_text(iptc.get((2, 5))),
        "description": _clean_text(iptc.get((2, 120))),
        "keywords": list(dict.fromkeys(word for word in words if word))[:MAX_KEYWORDS],
    }
