"""The registered digesters, in order. To add one, put its file into its room and a line here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any, ClassVar

from chyme.core.pipeline.plan import connect_form_readers
from chyme.digester import FAMILIES, PREPARING, WITHOUT, Digester, Source
from chyme.documents.conversion.results import ConversionLimits
from chyme.documents.doc_to_markdown import DocToMarkdown
from chyme.documents.doc_to_screenshot import DocToScreenshot
from chyme.documents.pages.limits import PageLimits
from chyme.errors import ChymeError
from chyme.imaging.decoding.decoder_interface import PictureLimits
from chyme.imaging.ocr.engines import OcrSettings
from chyme.model import File, Output
from chyme.models.embedding.minilm import EmbeddingSettings
from chyme.models.embedding.passage_embedder import PassageEmbedding
from chyme.models.local.model import LocalSettings
from chyme.models.picture_models.folder import PictureModelSettings
from chyme.models.providers.endpoints import LanguageSettings, VisionSettings
from chyme.pictures.image_captioning import ImageCaptioning
from chyme.pictures.image_embedding import ImageEmbedding
from chyme.pictures.image_objects import ImageObjects
from chyme.pictures.image_ocr import ImageOcr
from chyme.pictures.image_preview import ImagePreview
from chyme.pictures.object_detector import DetectorSettings
from chyme.search.search_keyword import SearchKeyword
from chyme.search.search_semantic import MOST_PASSAGES, SearchSemantic
from chyme.speech.media.container import MediaLimits
from chyme.speech.media_preview import MediaPreview
from chyme.speech.recognition.settings import SpeechEndpoint, SpeechSettings
from chyme.speech.speaker_embedding import SpeakerEmbedding
from chyme.speech.speech_recognition import SpeechRecognition
from chyme.speech.speech_recognition_cleanup import SpeechRecognitionCleanup
from chyme.speech.speech_recognition_summary import SpeechRecognitionSummary
from chyme.understanding.classify_document import ClassifyDocument
from chyme.understanding.classify_image import ClassifyImage
from chyme.understanding.slug import Slug
from chyme.understanding.tags.tag_embeddings import TagEmbeddings
from chyme.understanding.tags.tags import Tags
from chyme.webpages.linked_file import FileReaders
from chyme.webpages.settings import BrowserSettings, CrawlLimits
from chyme.webpages.url_crawl import UrlCrawl
from chyme.webpages.url_crawl_screenshot import UrlCrawlScreenshot
from chyme.webpages.url_crawl_summary import UrlCrawlSummary

PLUGINS = "chyme.digesters"


@dataclass(frozen=True)
class Loaded:
    """The loaded digesters, and which plug-ins could not be loaded."""

    registry: tuple[Digester, ...]
    problems: tuple[str, ...] = ()


def built_in(config: Mapping[str, Any] = MappingProxyType({})) -> tuple[Digester, ...]:
    """Our own digesters, in order. `config` holds plain values, because it is sent to the children."""
    conversion = ConversionLimits(**config.get("conversion", {}))
    pictures = PictureLimits(**config.get("pictures", {}))
    ocr = OcrSettings(**config.get("ocr", {}))
    vision = VisionSettings(**config["vision"]) if config.get("vision") else None
    language = language_settings(config["language"]) if config.get("language") else None
    embedding = EmbeddingSettings(**config.get("embedding", {}))
    media = MediaLimits(**config.get("media", {}))
    endpoint = SpeechEndpoint(**config["speech_endpoint"]) if config.get("speech_endpoint") else None
    tell_place = config.get("tell_place", True)
    document_seconds, image_seconds = config.get("document_seconds", 600.0), config.get("image_seconds", 600.0)
    browser = BrowserSettings(**config.get("browser", {}))
    text = DocToMarkdown(conversion, document_seconds, ocr)
    preview = ImagePreview(pictures, tell_place, image_seconds)
    words = ImageOcr(ocr, image_seconds, pictures)
    crawl = config.get("crawl", True)
    limits = CrawlLimits(**config.get("crawl_limits", {}))
    picture_model = PictureModelSettings(**config.get("picture_model", {}))
    passages, indexed = PassageEmbedding(**config.get("passages", {})), config.get("index_text_bytes", 5_000_000)
    return (
        UrlCrawl(limits, browser, FileReaders(text, preview, words), conversion, crawl),
        text,
        preview,
        MediaPreview(media, config.get("media_seconds", 600.0), tell_place),
        SpeechRecognition(SpeechSettings(**config.get("speech", {})), media, endpoint),
        SpeakerEmbedding(config.get("voice_seconds", 2.0)),
        SpeechRecognitionCleanup(language),
        SpeechRecognitionSummary(language),
        words,
        ImageObjects(DetectorSettings(**config.get("detector", {})), vision, image_seconds),
        ImageCaptioning(vision, image_seconds, picture_model),
        *([ImageEmbedding(picture_model, image_seconds)] if picture_model.clip else []),
        UrlCrawlSummary(language),
        SearchKeyword(indexed),
        SearchSemantic(passages, config.get("meaning_passages", MOST_PASSAGES), indexed),
        UrlCrawlScreenshot(browser, PageLimits(**config.get("pages", {})), pictures, conversion, crawl=crawl),
        DocToScreenshot(PageLimits(**config.get("pages", {})), conversion, document_seconds),
        ClassifyDocument(language),
        ClassifyImage(vision),
        Tags(embedding),
        Slug(),
        TagEmbeddings(embedding),
    )


def language_settings(values: Mapping[str, Any]) -> LanguageSettings:
    """From plain values: tuples have become lists on their way to a child."""
    local = values.get("local")
    settings = LocalSettings(**{**local, "run_as": tuple(local["run_as"])}) if local else None
    return LanguageSettings(**{**values, "local": settings})


def load(config: Mapping[str, Any]) -> Loaded:
    """Load our own digesters and the installed plug-ins. A plug-in that fails to load is reported, not fatal."""
    registry = list(built_in(config))
    problems: list[str] = []
    for point in plugin_entry_points():
        try:
            registry = _insert_plugin(registry, point.load()())
        except Exception as error:  # a plug-in may raise anything while it is imported
            problems.append(f"plug-in {point.name} ({point.value}) was not loaded: {type(error).__name__}: {error}")
    connect_form_readers(registry)
    return Loaded(tuple(registry), tuple(problems))


@cache
def plugin_entry_points() -> list[EntryPoint]:
    """The entry points of installed plug-ins; finding them takes longer than starting a child."""
    return sorted(entry_points(group=PLUGINS), key=lambda point: point.name)


def _insert_plugin(registry: list[Digester], plugin: Digester) -> list[Digester]:
    """Insert the plug-in before the first digester that reads its outputs; everything it reads must come earlier."""
    if not isinstance(plugin, Digester):
        raise TypeError("is not a Digester")
    taken = {name for digester in registry for name in digester.outputs}
    if taken.intersection(plugin.outputs):
        raise ValueError(f"makes {', '.join(sorted(taken.intersection(plugin.outputs)))}, which is made already")
    if plugin.runs.family not in FAMILIES:
        raise ValueError(f"names the family {plugin.runs.family!r}; there are {', '.join(sorted(FAMILIES))}")
    forms = {makes.form for makes in plugin.traits.values()}
    readers = [
        position
        for position, digester in enumerate(registry)
        if set(digester.reads).intersection(plugin.outputs) or forms.intersection(digester.inputs.forms)
    ]
    makers = [i for i, digester in enumerate(registry) if set(plugin.reads).intersection(digester.outputs)]
    place = readers[0] if readers else len(registry)
    if makers and makers[-1] >= place:
        raise ValueError("reads what is made after it")
    return [*registry[:place], plugin, *registry[place:]]


class Preparation(Digester):
    """The part of a digester that runs in a child before its attempt waits on HTTP; it makes no output."""

    name = "preparation"
    label = "Preparation"
    description = "The part of a digester that needs a parser, where the rest of it only waits."
    makes: ClassVar = {}

    def __init__(self, digester: Digester) -> None:
        self._digester = digester

    def can_digest(self, file: File) -> bool:
        return self._digester.can_digest(file)

    def digest(self, source: Source) -> list[Output]:
        self._digester.prepare(source)
        return []


class WithoutModel(Digester):
    """The part of a digester that runs in a child when its model fails or must not see the file."""

    name = "without-model"
    label = "Without a model"
    description = "What a digester does here when its model cannot."

    def __init__(self, digester: Digester) -> None:
        self._digester = digester
        self.outputs, self.traits = digester.outputs, digester.traits

    def can_digest(self, file: File) -> bool:
        return self._digester.can_digest(file)

    def digest(self, source: Source) -> list[Output]:
        return self._digester.without_model(source)


def preload(config: dict[str, Any], families: Sequence[str]) -> None:
    """Load what children of these families share. What cannot be loaded now is loaded, or reported, in the child."""
    plugin_entry_points()
    for digester in built_in(config):
        if digester.runs.family in families:
            with suppress(ChymeError):
                digester.preload()


def in_child(config: dict[str, Any]) -> dict[str, Digester]:
    """What a child process loads: all digesters by name, their preparations and their fallbacks without a model."""
    registry = load(config).registry
    loaded = {digester.name: digester for digester in registry}
    preparations = {digester.name + PREPARING: Preparation(digester) for digester in registry if digester.runs.prepares}
    fallbacks = {digester.name + WITHOUT: WithoutModel(digester) for digester in registry}
    return {**loaded, **preparations, **fallbacks}
