"""The part of a vault's configuration that goes to workers: numbers and words that change what a digester makes.

Everything else is the worker's own: programs, paths, users, threads, keys, memory. What is not listed here stays at
home.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from chyme.core.children.frames import BadFrame

# Section → what of it travels; None for values outside sections.
TRAVELS: Mapping[str, tuple[str, ...]] = {
    "conversion": (
        *("document_bytes", "archive_ratio", "archive_entries", "archive_bytes", "archive_seconds"),
        *("nesting", "pdf_pages", "html_bytes"),
        *("text_chars", "ocr_pages", "embedded_pictures", "embedded_pixels", "embedded_seconds"),
    ),
    "ocr": ("ocr_engine", "ocr_side", "ocr_doubt", "ocr_pages", "ocr_seconds", "ocr_languages", "ocr_scripts"),
    "pictures": ("image_bytes", "image_pixels", "preview", "thumbnail"),
    "pages": ("page_pixels", "image_pixels", "office_seconds", "thumbnail"),
    "detector": ("object_confidence",),
    "speech": ("language", "seconds", "pace"),
    "passages": ("engine",),
    "media": ("video_pixels",),
}
TRAVELS_BESIDE = (
    *("index_text_bytes", "tell_place", "meaning_passages", "voice_seconds"),
    *("image_seconds", "media_seconds", "document_seconds"),
)
AT_HOME = ("vision", "language", "speech_endpoint")  # models are asked by the coordinator alone

_WORD = re.compile(r"[A-Za-z0-9_+-]{0,100}")


def travelling_part(config: Mapping[str, Any]) -> dict[str, Any]:
    """What of this configuration is sent to workers."""
    sections = {
        name: {key: config[name][key] for key in keys if key in config.get(name, {})} for name, keys in TRAVELS.items()
    }
    return {**sections, **{key: config[key] for key in TRAVELS_BESIDE if key in config}}


def identity_of(travelled: Mapping[str, Any]) -> str:
    """A short name for this configuration: equal if and only if the configuration is."""
    return hashlib.sha256(json.dumps(travelled, sort_keys=True).encode()).hexdigest()[:16]


def merge(own: Mapping[str, Any], travelled: object) -> dict[str, Any]:
    """A worker's own configuration with what came from a coordinator. BadFrame for anything that is not on the list, or
    is neither a number nor a word."""
    if not isinstance(travelled, dict):
        raise BadFrame("a configuration that is not a mapping")
    merged: dict[str, Any] = {**own, **dict.fromkeys(AT_HOME), "crawl": False}
    for name, value in travelled.items():
        if name in TRAVELS_BESIDE:
            merged[name] = _check_value(name, value)
        elif name in TRAVELS and isinstance(value, dict):
            unknown = sorted(set(value) - set(TRAVELS[name]))
            if unknown:
                raise BadFrame(f"a configuration with {name}.{str(unknown[0])[:60]}, which does not travel")
            checked = {key: _check_value(key, single) for key, single in value.items()}
            merged[name] = {**own.get(name, {}), **checked}
        else:
            raise BadFrame(f"a configuration with {str(name)[:60]}, which does not travel")
    return merged


def _check_value(name: str, value: object) -> object:
    if type(value) is str and _WORD.fullmatch(value):
        return value
    if type(value) in (bool, int) or (type(value) is float and math.isfinite(value)):
        return value
    raise BadFrame(f"a configuration whose {name} is neither a number nor a word")
