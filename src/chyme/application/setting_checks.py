"""Ranges and forms of settings, checked whenever settings are read: at the start, and before they are stored."""

from __future__ import annotations

import math
import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from chyme.errors import UsageError

if TYPE_CHECKING:
    from chyme.application.settings import Settings

_AT_LEAST_ONE = (
    *("concurrency", "max_attempts", "scratch_mb", "pdf_pages", "ocr_threads", "ocr_side", "office_documents"),
    *("parser_memory_mb", "text_memory_mb", "picture_memory_mb", "page_memory_mb", "media_memory_mb"),
    *(
        "speech_memory_mb",
        "embedding_memory_mb",
        "embedding_window",
        "meaning_passages",
        "model_calls",
        "llm_characters",
        "web_memory_mb",
        "browser_memory_mb",
        "browser_pages",
    ),
    *("upload_bytes", "upload_files"),
    *("image_pixels", "preview_pixels", "thumbnail_pixels", "page_pixels", "video_pixels"),
)
_MAY_BE_NEGATIVE = frozenset({"home_places"})
_LARGEST = 10**15
_OCR_LANGUAGES = re.compile(r"[A-Za-z0-9_]+(?:/[A-Za-z0-9_]+)?(?:\+[A-Za-z0-9_]+(?:/[A-Za-z0-9_]+)?)*")
_SPOKEN = re.compile(r"(?:[a-z]{2,3})?")


def check_settings(settings: Settings) -> None:
    """Raise UsageError for the first value that makes no sense; the message names its setting."""
    for name in _AT_LEAST_ONE:
        _require(name, getattr(settings, name) >= 1, "at least 1", settings)
    for name in ("connections", "connections_per_address", "children_memory_mb"):
        _require(name, getattr(settings, name) >= 0, "0 or more", settings)
    for name in ("head_seconds", "stall_seconds"):
        _require(name, getattr(settings, name) > 0, "more than 0", settings)
    for entry in fields(settings):
        value = getattr(settings, entry.name)
        if isinstance(value, int | float):
            _require(entry.name, math.isfinite(value), "a finite number", settings)
            least = -1 if entry.name in _MAY_BE_NEGATIVE else 0
            _require(entry.name, least <= value <= _LARGEST, f"between {least} and {_LARGEST:,}", settings)
    _require("ocr_languages", bool(_OCR_LANGUAGES.fullmatch(settings.ocr_languages)), "like 'deu+rus'", settings)
    _require("speech_language", bool(_SPOKEN.fullmatch(settings.speech_language)), "empty or like 'de'", settings)
    agent = settings.web_agent
    _require("web_agent", agent.isascii() and (agent.isprintable() or not agent), "one line of ASCII", settings)
    _require("log_format", settings.log_format in ("text", "json"), "text or json", settings)


def _require(name: str, holds: bool, expected: str, settings: Settings) -> None:
    if not holds:
        value: Any = getattr(settings, name)
        raise UsageError(f"setting {name} must be {expected}, not {value!r}")
