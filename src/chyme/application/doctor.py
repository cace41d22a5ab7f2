"""What is installed, what is missing, and how to get it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from chyme import digesters
from chyme.application.digester_config import ENGINES, LOCAL, OPENAI, embedding_config, providers_of
from chyme.application.settings import Settings, read_settings
from chyme.core.children.runner import isolation
from chyme.core.files.vault_folder import STATE
from chyme.core.outbound.policy import policy_of
from chyme.core.store.sqlite.database import refuse_network_file_system
from chyme.documents.libreoffice.installation import office_program
from chyme.errors import UsageError, VaultError
from chyme.models.local.settings import LocalSettings
from chyme.models.weights.catalog import EMBEDDING, MULTILINGUAL, OBJECTS, SPEECH, VOICES, Weights
from chyme.models.weights.folder import path_of
from chyme.search.engines.http_client import ServerFailed
from chyme.search.engines.meilisearch import Meilisearch
from chyme.search.engines.qdrant import Qdrant
from chyme.webpages.browser.executable import browser_program

MB = 1024 * 1024


@dataclass(frozen=True)
class Engine:
    """One line of `chyme doctor`."""

    capability: str
    engine: str
    ok: bool
    how: str = ""


_ENGINES = (
    ("PDF", "liteparse"),
    ("PDF, second", "pypdfium2"),
    ("office, ODF, RTF, EPUB", "firecrawl-anydoc"),
    ("PPTX, MSG", "xberg"),
    ("articles in HTML", "trafilatura"),
    ("web pages", "html-to-markdown"),
    ("kept copies of pages", "nh3"),
    ("kinds of file", "puremagic"),
    ("pictures", "pillow"),
    ("HEIC, AVIF", "pillow-heif"),
    ("SVG", "resvg_py"),
    ("audio, video", "av"),
    ("language of texts", "py3langid"),
)


def doctor(root: Path, settings: Settings | None = None) -> list[Engine]:
    """What is installed, what is missing and how to get it; needs no vault."""
    settings = settings or read_settings(root / STATE, os.environ)
    found = [_installed(capability, package) for capability, package in _ENGINES]
    found += [_jpeg_xl(), _words(settings), _objects(settings), _captions(settings), _office(settings)]
    found += [_browser(settings), _links(settings)]
    found += [_speech(settings), _weighed("who speaks", VOICES, settings), _language(settings)]
    found += [_weighed("what tags mean", EMBEDDING, settings), _meaning(settings), _engine(settings)]
    sqlite = sqlite3.sqlite_version
    good = sqlite3.sqlite_version_info >= (3, 37, 0)
    found.append(Engine("database", f"SQLite {sqlite}", good, "" if good else "SQLite 3.37 or newer is needed"))
    apart = isolation()
    found.append(
        Engine("children without network", apart.how, apart.network_off, "" if apart.network_off else _NO_NAMESPACE)
    )
    found.append(Engine("children's user", apart.user, bool(apart.user)))
    try:
        refuse_network_file_system(root)
        found.append(Engine("disk", f"{shutil.disk_usage(root).free // MB:,} MB free at {root}", True))
    except (VaultError, OSError) as error:
        found.append(Engine("disk", str(root), False, str(error)))
    found += [Engine("plug-in", "not loaded", False, problem) for problem in digesters.load({}).problems]
    return found


_NO_NAMESPACE = "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1), or run as root"


def _jpeg_xl() -> Engine:
    """Not among our dependencies, because its licence (GPL-3.0) would become that of the whole."""
    found = _installed("JPEG XL", "pillow-jxl-plugin")
    return found if found.ok else Engine("JPEG XL", "none; such pictures are found by their name", True, found.how)


def _words(settings: Settings) -> Engine:
    if settings.ocr_engine == "tesseract":
        there = shutil.which("tesseract") is not None
        how = "" if there else "install it (Debian: apt-get install tesseract-ocr), or set ocr_engine to rapidocr"
        return Engine("words in pictures", "tesseract", there, how)
    return _installed("words in pictures", "rapidocr")


def _objects(settings: Settings) -> Engine:
    if settings.vision_model:
        return Engine("objects", providers_of(settings)["vision"], True)
    return _weighed("objects", OBJECTS, settings)


def _speech(settings: Settings) -> Engine:
    if settings.speech_url:
        return Engine("speech", providers_of(settings)["speech"], True)
    if not settings.speech_dir:
        return _weighed("speech", SPEECH, settings)
    folder = Path(settings.speech_dir).expanduser()
    there = (folder / "model.bin").is_file()
    how = "" if there else "speech_dir is no Whisper model for CTranslate2: model.bin is not there"
    return Engine("speech", str(folder), there, how)


def _language(settings: Settings) -> Engine:
    what = "titles, tags, summaries"
    if settings.llm_provider == LOCAL:
        here = LocalSettings(settings.weights_dir, settings.local_model)
        return Engine(what, f"{here.weights.engine}, in a child of chyme", not here.missing, here.missing)
    found = providers_of(settings).get("llm")
    if found:
        return Engine(what, found, True)
    how = (
        "a language model makes better ones: set llm_url and llm_model, or run 'make llm' and set llm_provider to local"
    )
    return Engine(what, "rules and statistics", True, how)


def _meaning(settings: Settings) -> Engine:
    what = "search by meaning"
    try:
        chosen = embedding_config(settings)["engine"]
    except UsageError as error:
        return Engine(what, settings.embedding_provider, False, str(error))
    if chosen == OPENAI:
        return Engine(what, providers_of(settings)["embedding"], True)
    return _weighed(what, MULTILINGUAL if chosen == MULTILINGUAL.capability else EMBEDDING, settings)


def _engine(settings: Settings) -> Engine:
    if settings.search_engine == ENGINES[0]:
        return Engine("search", "SQLite, in the vault's own database", True)
    servers = (
        Meilisearch(settings.meilisearch_url, settings.meilisearch_key),
        Qdrant(settings.qdrant_url, settings.qdrant_key),
    )
    told = f"Meilisearch at {settings.meilisearch_url}, Qdrant at {settings.qdrant_url}"
    try:
        for server in servers:
            server.check()
    except ServerFailed as error:
        return Engine("search", told, False, f"{error}; until then the vault's own index answers")
    finally:
        for server in servers:
            server.close()
    return Engine("search", told, True)


def _weighed(capability: str, weights: Weights, settings: Settings) -> Engine:
    there = path_of(weights, settings.weights_dir) is not None
    return Engine(capability, weights.engine, there, "" if there else f"chyme weights {weights.capability}")


def _captions(settings: Settings) -> Engine:
    if settings.vision_model:
        return Engine("captions", providers_of(settings)["vision"], True)
    how = "a model that sees makes richer ones: set vision_url and vision_model"
    return Engine("captions", "composed from objects and words", True, how)


def _office(settings: Settings) -> Engine:
    program = office_program(settings.office)
    if program is not None:
        return Engine("pages of office files", f"LibreOffice, {program}", True)
    how = "LibreOffice draws their real pages (Debian: apt-get install libreoffice-nogui)"
    return Engine("pages of office files", "their text, drawn as a page", True, how)


def _browser(settings: Settings) -> Engine:
    program = browser_program(str(Path(settings.browser).expanduser()))
    if program is not None:
        return Engine("pictures of web pages", f"Chromium, {program}", True)
    how = "Chromium draws web pages, and reads those that need JavaScript (Debian: apt-get install chromium)"
    return Engine("pictures of web pages", "none; pages are read, but not pictured", True, how)


def _links(settings: Settings) -> Engine:
    if not settings.crawl:
        return Engine("web pages behind links", "not fetched", True, "set crawl to true to have them fetched")
    try:
        policy_of(settings.web_allow)
    except UsageError as error:
        return Engine("web pages behind links", "not fetched", False, str(error))
    also = f", and {settings.web_allow}" if settings.web_allow else ""
    return Engine("web pages behind links", f"fetched from public addresses{also}", True)


def _installed(capability: str, package: str) -> Engine:
    try:
        return Engine(capability, f"{package} {version(package)}", True)
    except PackageNotFoundError:
        return Engine(capability, package, False, f"pip install {package}")
