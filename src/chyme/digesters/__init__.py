"""The registered digesters, in order. To add one: its file, and its line here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any

from chyme.digester import Digester
from chyme.digesters.doc_to_markdown import DocToMarkdown
from chyme.digesters.doc_to_screenshot import DocToScreenshot
from chyme.digesters.image_captioning import ImageCaptioning
from chyme.digesters.image_objects import ImageObjects
from chyme.digesters.image_ocr import ImageOcr
from chyme.digesters.image_preview import ImagePreview
from chyme.digesters.media_preview import MediaPreview
from chyme.digesters.search_keyword import SearchKeyword
from chyme.engines.converted import ConversionLimits
from chyme.engines.llm.settings import VisionSettings
from chyme.engines.media.limits import MediaLimits
from chyme.engines.objects.detector import DetectorSettings
from chyme.engines.ocr.lines import OcrSettings
from chyme.engines.pages.limits import PageLimits
from chyme.engines.pictures.limits import PictureLimits

PLUGINS = "chyme.digesters"


@dataclass(frozen=True)
class Loaded:
    """The digesters at work, and what could not be loaded."""

    registry: tuple[Digester, ...]
    problems: tuple[str, ...] = ()


def built_in(config: Mapping[str, Any] = MappingProxyType({})) -> tuple[Digester, ...]:
    """Our own digesters, in order. `config` is plain values, as they travel to the children."""
    conversion = ConversionLimits(**config.get("conversion", {}))
    pictures = PictureLimits(**config.get("pictures", {}))
    ocr = OcrSettings(**config.get("ocr", {}))
    vision = VisionSettings(**config["vision"]) if config.get("vision") else None
    tell_place = config.get("tell_place", True)
    document_seconds, image_seconds = config.get("document_seconds", 600.0), config.get("image_seconds", 600.0)
    return (
        DocToMarkdown(conversion, document_seconds, ocr),
        DocToScreenshot(PageLimits(**config.get("pages", {})), conversion, document_seconds),
        ImagePreview(pictures, tell_place, image_seconds),
        MediaPreview(MediaLimits(**config.get("media", {})), config.get("media_seconds", 600.0), tell_place),
        ImageOcr(ocr, image_seconds, pictures),
        ImageObjects(DetectorSettings(**config.get("detector", {})), vision, image_seconds),
        ImageCaptioning(vision, image_seconds),
        SearchKeyword(config.get("index_text_bytes", 5_000_000)),
    )


def load(config: Mapping[str, Any]) -> Loaded:
    """Our own and the installed plug-ins. A plug-in that fails to load is reported, not fatal."""
    registry = list(built_in(config))
    problems: list[str] = []
    for point in sorted(entry_points(group=PLUGINS), key=lambda point: point.name):
        try:
            registry = _with(registry, point.load()())
        except Exception as error:  # whatever a stranger's module does while it is imported
            problems.append(f"plug-in {point.name} ({point.value}) was not loaded: {type(error).__name__}: {error}")
    return Loaded(tuple(registry), tuple(problems))


def _with(registry: list[Digester], plugin: Digester) -> list[Digester]:
    """The plug-in joins behind everything it reads and before whoever reads it."""
    if not isinstance(plugin, Digester):
        raise TypeError("is not a Digester")
    taken = {name for digester in registry for name in digester.outputs}
    if taken.intersection(plugin.outputs):
        raise ValueError(f"makes {', '.join(sorted(taken.intersection(plugin.outputs)))}, which is made already")
    readers = [at for at, digester in enumerate(registry) if set(digester.reads).intersection(plugin.outputs)]
    makers = [at for at, digester in enumerate(registry) if set(plugin.reads).intersection(digester.outputs)]
    place = readers[0] if readers else len(registry)
    if makers and makers[-1] >= place:
        raise ValueError("reads what is made after it")
    return [*registry[:place], plugin, *registry[place:]]


def in_child(config: dict[str, Any]) -> dict[str, Digester]:
    """What a child process loads: the same registry, by name."""
    return {digester.name: digester for digester in load(config).registry}
