"""Read a recording's own metadata, such as title and artist, as clean text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from chyme.text.legacy_encodings import detect_legacy

# The spellings of each tag found in files, by its common name, in the order of the output.
_SPELLINGS = {
    "title": ("title",),
    "artist": ("artist", "author"),
    "album": ("album",),
    "album_artist": ("album_artist", "albumartist"),
    "composer": ("composer",),
    "performer": ("performer",),
    "conductor": ("conductor",),
    "date": ("date", "year", "wm/year"),
    "created": ("com.apple.quicktime.creationdate", "creation_time"),
    "genre": ("genre",),
    "track": ("track", "tracknumber"),
    "disc": ("disc", "discnumber"),
    "show": ("show",),
    "episode": ("episode_id",),
    "season": ("season_number",),
    "comment": ("comment", "id3v1 comment"),
    "description": ("description",),
    "synopsis": ("synopsis",),
    "publisher": ("publisher", "label"),
    "copyright": ("copyright",),
    "keywords": ("keywords",),
}
_NAMES = {spelling: name for name, spellings in _SPELLINGS.items() for spelling in spellings}
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff\ufffe\uffff]+")
_SPACES = re.compile(r"[ \t\r\f\v]+")
_EPOCHS = ("1904-01-01", "1970-01-01")  # written by cameras whose clock is not set
_PLACE = re.compile(r"([+-]\d{1,2}(?:\.\d+)?)([+-]\d{1,3}(?:\.\d+)?)(?:[+-][\d.]+)?(?:CRS.*)?/?")
_PLACES = ("com.apple.quicktime.location.iso6709", "location", "location-eng", "xyz")


def tags_in(sources: Iterable[Mapping[str, str]], max_chars: int) -> dict[str, str]:
    """Return the useful tags under their common names; earlier sources win. No value is longer than `max_chars`."""
    found: dict[str, str] = {}
    for source in sources:
        for key, value in source.items():
            name = _NAMES.get(key.lower())
            if name is None or name in found:
                continue
            text = clean(value, max_chars)
            if not text or (name == "created" and text.startswith(_EPOCHS)):
                continue
            found[name] = text
    return {name: found[name] for name in _SPELLINGS if name in found}


def place_in(sources: Iterable[Mapping[str, str]]) -> dict[str, float] | None:
    """The place of the recording, as phones write it (ISO 6709)."""
    for source in sources:
        for key, value in source.items():
            match = _PLACE.fullmatch(value.strip()) if key.lower() in _PLACES else None
            if match:
                latitude, longitude = float(match[1]), float(match[2])
                if abs(latitude) <= 90 and abs(longitude) <= 180 and (latitude or longitude):
                    return {"latitude": latitude, "longitude": longitude}
    return None


def clean(value: str, max_chars: int) -> str:
    """Return readable text: encoding repaired where that is certain, without control characters, cut at a word."""
    text = _CONTROLS.sub(" ", _repair_encoding(value))
    text = "\n".join(_SPACES.sub(" ", line).strip() for line in text.split("\n")).strip()
    if len(text) <= max_chars:
        return text
    cut = text[: max_chars - 1]
    space = cut.rfind(" ", max_chars * 4 // 5)
    return (cut[:space] if space > 0 else cut).rstrip() + "…"


def _repair_encoding(value: str) -> str:
    if any("\ud800" <= char <= "\udfff" for char in value):
        # The bytes are not UTF-8: an old tag that does not state its encoding.
        raw = value.encode("utf-8", "surrogateescape" if _is_surrogateescaped(value) else "replace")
        return raw.decode(detect_legacy(raw), "replace")
    if value.isascii():
        return value
    for encoding in ("latin-1", "cp1252"):
        # UTF-8 that was decoded as a Latin encoding: hardly any other text survives this round trip.
        try:
            return value.encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
    return value


def _is_surrogateescaped(value: str) -> bool:
    return not any("\ud800" <= char < "\udc80" or "\udcff" < char <= "\udfff" for char in value)
