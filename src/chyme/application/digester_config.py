"""Converts settings into the configuration of the digesters."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chyme import __version__
from chyme.application.settings import Settings
from chyme.errors import UsageError
from chyme.models.providers.daily_budget import Allowance
from chyme.models.providers.endpoints import Endpoint
from chyme.models.weights.catalog import CATALOG, LLM, SMOLLM2

OPENAI, LOCAL = "openai", "local"
LOCAL_MODELS = (LLM.capability, SMOLLM2.capability)
PROVIDERS = (OPENAI, "google", "anthropic", LOCAL)
MINILM = "minilm"
EMBEDDERS = (MINILM, "multilingual", OPENAI)
ENGINES = ("sqlite", "meilisearch")
CHOICES = {  # settings with a few possible values
    "llm_provider": PROVIDERS,
    "vision_provider": tuple(provider for provider in PROVIDERS if provider != LOCAL),
    "embedding_provider": EMBEDDERS,
    "local_model": LOCAL_MODELS,
}


def config_of(settings: Settings) -> dict[str, Any]:
    """Return the configuration of the digesters, as plain values that are sent to child processes as JSON."""
    return {
        "conversion": _pick(
            settings,
            *("document_bytes", "archive_ratio", "archive_entries", "archive_bytes", "archive_seconds"),
            *("nesting", "pdf_pages", "html_bytes"),
            *("text_chars", "ocr_pages", "embedded_pictures", "embedded_pixels", "embedded_seconds"),
        ),
        "ocr": _pick(
            settings,
            *("ocr_engine", "ocr_threads", "ocr_side", "ocr_doubt", "ocr_pages", "ocr_seconds", "ocr_languages"),
            "ocr_scripts",
        ),
        "pictures": {
            **_pick(settings, "image_bytes", "image_pixels"),
            "preview": settings.preview_pixels,
            "thumbnail": settings.thumbnail_pixels,
        },
        "pages": {
            **_pick(settings, "page_pixels", "image_pixels"),
            **_pick(settings, "office", "office_seconds", "office_documents", "office_memory_mb"),
            "thumbnail": settings.thumbnail_pixels,
        },
        "detector": _pick(settings, "weights_dir", "object_confidence"),
        "picture_model": picture_model_config(settings),
        "vision": _vision_config(settings),
        "language": _language_config(settings),
        "speech": {
            "model_dir": str(Path(settings.speech_dir).expanduser()) if settings.speech_dir else "",
            "language": settings.speech_language,
            "threads": settings.speech_threads or settings.cores,
            "weights_dir": settings.weights_dir,
            "seconds": settings.speech_seconds,
            "pace": settings.speech_pace,
        },
        "speech_endpoint": _endpoint_config("speech model", "speech", settings, settings.speech_request_seconds),
        "embedding": {"weights_dir": settings.weights_dir, "threads": settings.embedding_threads},
        "passages": embedding_config(settings),
        "media": _pick(settings, "video_pixels"),
        "crawl_limits": {
            "agent": user_agent(settings),
            "seconds": settings.web_seconds,
            "hops": settings.web_hops,
            "page_bytes": settings.web_page_bytes,
            "snapshot_bytes": settings.web_snapshot_bytes,
            "picture_bytes": settings.web_picture_bytes,
            "parts": settings.web_parts,
            "parts_seconds": settings.web_parts_seconds,
            "robots": settings.web_robots,
        },
        "browser": {
            "program": str(Path(settings.browser).expanduser()),
            "seconds": settings.browser_seconds,
            "memory_mb": settings.browser_memory_mb,
            "pages": settings.browser_pages,
            "agent": settings.web_agent or f"chyme/{__version__}",
        },
        "index_text_bytes": settings.index_text_mb * 1_000_000,
        **_pick(settings, "crawl", "tell_place", "meaning_passages", "voice_seconds"),
        **_pick(settings, "image_seconds", "media_seconds", "document_seconds"),
    }


def _pick(settings: Settings, *names: str) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in names}


def picture_model_config(settings: Settings) -> dict[str, Any]:
    """Return where the user's own models for pictures are."""
    folder = settings.picture_model_dir
    return {"model_dir": str(Path(folder).expanduser()) if folder else ""}


def embedding_config(settings: Settings) -> dict[str, Any]:
    """Return the configuration of the passage embedder."""
    provider = settings.embedding_provider
    if provider not in EMBEDDERS:
        raise UsageError(f"embedding_provider must be one of {', '.join(EMBEDDERS)}, not {provider!r}")
    options = {"engine": provider, "weights_dir": settings.weights_dir, "threads": settings.embedding_threads}
    if provider != OPENAI:
        return options
    if not (settings.embedding_url and settings.embedding_model):
        raise UsageError("an endpoint for embeddings needs both embedding_url and embedding_model")
    return {
        **options,
        "url": settings.embedding_url,
        "model": settings.embedding_model,
        "key": settings.embedding_key,
        "dimension": settings.embedding_dimension,
        "window": settings.embedding_window,
        "seconds": settings.embedding_seconds,
    }


def user_agent(settings: Settings) -> str:
    """Return the User-Agent for web servers."""
    return settings.web_agent or f"Mozilla/5.0 (compatible; chyme/{__version__})"


def without_secrets(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration for child processes without network, which need no keys."""
    return {
        name: {**value, "key": ""} if isinstance(value, dict) and "key" in value else value
        for name, value in config.items()
    }


def providers_of(settings: Settings) -> dict[str, str]:
    """Return the configured models: prefix of their settings → description of the model."""
    found = {}
    for prefix in ("llm", "vision", "speech", "embedding"):
        url, model = getattr(settings, f"{prefix}_url"), getattr(settings, f"{prefix}_model")
        provider = getattr(settings, f"{prefix}_provider", OPENAI)
        if prefix == "embedding" and provider != OPENAI:
            continue  # it runs locally, and costs nothing
        if provider == LOCAL:
            found[prefix] = f"{CATALOG[settings.local_model].engine}, in a child of chyme"
        elif model:
            found[prefix] = f"{model} at {Endpoint(url, model, provider=provider).host}"
    return found


def fingerprints_of(settings: Settings) -> dict[str, str]:
    """Return a hash of provider, URL, model and key for each model, which shows that it was changed."""
    found = {}
    for prefix in providers_of(settings):
        fields = ("provider", "url", "model", "key")
        identity = "\0".join(str(getattr(settings, f"{prefix}_{field}", "")) for field in fields)
        if prefix == "llm":
            identity += f"\0{settings.local_model}"
        found[prefix] = hashlib.sha256(identity.encode()).hexdigest()[:16]
    return found


def local_providers_of(settings: Settings) -> tuple[str, ...]:
    """Return the models that run on this machine."""
    return ("llm",) if settings.llm_provider == LOCAL else ()


def engine_settings_of(settings: Settings) -> dict[str, Any]:
    """Return what the engine of a digestion takes from the settings besides the configuration of the digesters."""
    return _pick(settings, "concurrency", "model_calls", "web_delay", "keep_links")


def endpoints_of(settings: Settings) -> dict[str, Endpoint]:
    """Return the endpoint of each configured model outside of chyme, by the prefix of its settings."""
    takes = {"llm": "text", "vision": "picture", "speech": "recording", "embedding": "text"}
    found = {}
    for prefix in providers_of(settings):
        provider = getattr(settings, f"{prefix}_provider", OPENAI)
        if provider != LOCAL:
            seconds = getattr(settings, "speech_request_seconds" if prefix == "speech" else f"{prefix}_seconds")
            url, model, key = (getattr(settings, f"{prefix}_{field}") for field in ("url", "model", "key"))
            found[prefix] = Endpoint(url, model, key, seconds, prefix, takes[prefix], provider)
    return found


def allowances_of(settings: Settings) -> dict[str, Allowance]:
    """Return the spending limits of each provider."""
    return {
        prefix: Allowance(
            getattr(settings, f"{prefix}_calls_per_day"),
            getattr(settings, f"{prefix}_tokens_per_day", 0),
            getattr(settings, f"{prefix}_cost_per_day", 0.0),
            getattr(settings, f"{prefix}_calls_per_second"),
        )
        for prefix in ("llm", "vision", "speech", "embedding")
    }


def _vision_config(settings: Settings) -> dict[str, Any] | None:
    if settings.vision_provider == LOCAL:
        raise UsageError("the local model does not see; vision_provider must be openai, google or anthropic")
    found = _endpoint_config("vision model", "vision", settings, settings.vision_seconds, settings.vision_provider)
    return {**found, "provider": settings.vision_provider, "heic_bytes": settings.heic_bytes} if found else None


def _language_config(settings: Settings) -> dict[str, Any] | None:
    provider = settings.llm_provider
    if provider == LOCAL:
        return _local_config(settings)
    found = _endpoint_config("language model", "llm", settings, settings.llm_seconds, provider)
    return {**found, "provider": provider, "characters": settings.llm_characters} if found else None


def _local_config(settings: Settings) -> dict[str, Any]:
    """Return the configuration of the model that runs in a child process of chyme."""
    if settings.local_model not in LOCAL_MODELS:
        raise UsageError(f"local_model must be one of {', '.join(LOCAL_MODELS)}, not {settings.local_model!r}")
    return {
        "url": "",
        "model": CATALOG[settings.local_model].engine,
        "seconds": settings.local_seconds,
        "provider": LOCAL,
        "characters": settings.local_characters,
        "local": {
            "weights_dir": settings.weights_dir,
            "capability": settings.local_model,
            "seconds": settings.local_seconds,
            "threads": settings.local_threads,
            "memory_bytes": settings.local_memory_mb << 20,
            "idle_seconds": settings.local_idle_seconds,
            "run_as": (settings.child_uid, settings.child_uid),
        },
    }


def _endpoint_config(
    label: str, prefix: str, settings: Settings, seconds: float, provider: str = OPENAI
) -> dict[str, Any] | None:
    """Return the settings of one remote model, which share a prefix; None if it is not configured."""
    url, model = getattr(settings, f"{prefix}_url"), getattr(settings, f"{prefix}_model")
    if provider not in PROVIDERS:
        raise UsageError(f"{prefix}_provider must be one of {', '.join(PROVIDERS)}, not {provider!r}")
    if bool(url) != bool(model) and (provider == OPENAI or not model):
        raise UsageError(f"a {label} needs both {prefix}_url and {prefix}_model; docs/settings.md explains them")
    if not model:
        return None
    return {"url": url, "model": model, "key": getattr(settings, f"{prefix}_key"), "seconds": seconds}
