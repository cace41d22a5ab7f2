"""Finds out what is installed, what is missing, and how to get it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from chyme import digesters
from chyme.application.digester_config import (
    ENGINES,
    LOCAL,
    OPENAI,
    embedding_config,
    picture_model_config,
    providers_of,
)
from chyme.application.mailbox_config import try_mailbox
from chyme.application.settings import Settings, read_settings
from chyme.application.vault_languages import count_languages, suggest_multilingual
from chyme.core import clock
from chyme.core.children.runner import isolation
from chyme.core.files.vault_folder import STATE
from chyme.core.outbound.policy import policy_of
from chyme.core.store.sqlite.database import refuse_network_file_system
from chyme.documents.libreoffice.installation import office_program
from chyme.errors import UsageError, VaultError
from chyme.imaging.ocr.script_reader import ScriptReader
from chyme.imaging.ocr.scripts import install_command, list_names, split_by_installed
from chyme.models.local.model import LocalSettings
from chyme.models.picture_models.folder import PictureModelSettings
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
    """List the engines that are installed or missing, and how to get them; needs no vault."""
    settings = settings or read_settings(root / STATE, os.environ)
    found = [_check_package(capability, package) for capability, package in _ENGINES]
    found += [
        _check_jpeg_xl(),
        _check_ocr(settings),
        *_check_scripts(settings),
        _check_objects(settings),
        _check_captions(settings),
        _check_picture_search(settings),
        _check_office(settings),
    ]
    found += [_check_browser(settings), _check_links(settings)]
    found += [_check_speech(settings), _check_weights("who speaks", VOICES, settings), _check_language_model(settings)]
    found += [
        _check_weights("what tags mean", EMBEDDING, settings),
        _check_embedder(settings, root),
        _check_search_engine(settings),
    ]
    sqlite = sqlite3.sqlite_version
    good = sqlite3.sqlite_version_info >= (3, 37, 0)
    found.append(Engine("database", f"SQLite {sqlite}", good, "" if good else "SQLite 3.37 or newer is needed"))
    isolated = isolation()
    found.append(
        Engine(
            "children without network",
            isolated.how,
            isolated.network_off,
            "" if isolated.network_off else _NO_NAMESPACE,
        )
    )
    found.append(Engine("children's user", isolated.user, bool(isolated.user)))
    found += _check_worker_client(settings.workers_url)
    found += _check_mailbox(settings)
    found += _check_worker_credentials(getattr(settings, "workers_credentials", ""))
    try:
        refuse_network_file_system(root)
        found.append(Engine("disk", f"{shutil.disk_usage(root).free // MB:,} MB free at {root}", True))
    except (VaultError, OSError) as error:
        found.append(Engine("disk", str(root), False, str(error)))
    found += [Engine("plug-in", "not loaded", False, problem) for problem in digesters.load({}).problems]
    return found


_NO_NAMESPACE = "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1), or run as root"


def _check_jpeg_xl() -> Engine:
    """Check for JPEG XL, which is no dependency because its licence (GPL-3.0) would then apply to all of chyme."""
    found = _check_package("JPEG XL", "pillow-jxl-plugin")
    return found if found.ok else Engine("JPEG XL", "none; such pictures are found by their name", True, found.how)


def _check_ocr(settings: Settings) -> Engine:
    if settings.ocr_engine == "tesseract":
        installed = shutil.which("tesseract") is not None
        how = "" if installed else "install it (Debian: apt-get install tesseract-ocr), or set ocr_engine to rapidocr"
        return Engine("words in pictures", "tesseract", installed, how)
    return _check_package("words in pictures", "rapidocr")


def _check_scripts(settings: Settings) -> list[Engine]:
    """Check which scripts tesseract adds to those that the embedded engine knows."""
    if settings.ocr_engine == "tesseract" or not settings.ocr_scripts:
        return []
    readable, missing = split_by_installed(ScriptReader(seconds=10.0).installed())
    engine = f"tesseract: {list_names(readable)}" if readable else "none; such writing is noted, not read"
    how = f"for {list_names(missing)} (Debian): {install_command(missing)}" if missing else ""
    return [Engine("other scripts in pictures", engine, True, how)]


def _check_objects(settings: Settings) -> Engine:
    if settings.vision_model:
        return Engine("objects", providers_of(settings)["vision"], True)
    return _check_weights("objects", OBJECTS, settings)


def _check_speech(settings: Settings) -> Engine:
    if settings.speech_url:
        return Engine("speech", providers_of(settings)["speech"], True)
    if not settings.speech_dir:
        return _check_weights("speech", SPEECH, settings)
    folder = Path(settings.speech_dir).expanduser()
    exists = (folder / "model.bin").is_file()
    how = "" if exists else "speech_dir is no Whisper model for CTranslate2: model.bin is not there"
    return Engine("speech", str(folder), exists, how)


def _check_language_model(settings: Settings) -> Engine:
    capability = "titles, tags, summaries"
    if settings.llm_provider == LOCAL:
        local = LocalSettings(settings.weights_dir, settings.local_model)
        return Engine(capability, f"{local.weights.engine}, in a child of chyme", not local.missing, local.missing)
    found = providers_of(settings).get("llm")
    if found:
        return _check_model_clients(capability, found)
    how = (
        "a language model makes better ones: set llm_url and llm_model, or run 'make llm' (outside a checkout: "
        "pip install 'chyme[llm]', then chyme weights llm) and set llm_provider to local"
    )
    return Engine(capability, "rules and statistics", True, how)


def _check_model_clients(capability: str, provider: str) -> Engine:
    """Check that what speaks to models behind HTTP is installed; it comes with the extra "llm"."""
    exists = find_spec("pydantic_ai") is not None
    return Engine(capability, provider, exists, "" if exists else "pip install 'chyme[llm]'")


def _check_embedder(settings: Settings, root: Path) -> Engine:
    capability = "search by meaning"
    try:
        chosen = embedding_config(settings)["engine"]
    except UsageError as error:
        return Engine(capability, settings.embedding_provider, False, str(error))
    if chosen == OPENAI:
        return Engine(capability, providers_of(settings)["embedding"], True)
    if chosen == MULTILINGUAL.capability:
        return _check_weights(capability, MULTILINGUAL, settings)
    found = _check_weights(capability, EMBEDDING, settings)
    if not found.ok:
        return found
    state = Path(settings.state_dir).expanduser() if settings.state_dir else root / STATE
    is_fetched = path_of(MULTILINGUAL, settings.weights_dir) is not None
    return replace(found, how=suggest_multilingual(count_languages(state), is_fetched))


def _check_search_engine(settings: Settings) -> Engine:
    if settings.search_engine == ENGINES[0]:
        return Engine("search", "SQLite, in the vault's own database", True)
    servers = (
        Meilisearch(settings.meilisearch_url, settings.meilisearch_key),
        Qdrant(settings.qdrant_url, settings.qdrant_key),
    )
    description = f"Meilisearch at {settings.meilisearch_url}, Qdrant at {settings.qdrant_url}"
    try:
        for server in servers:
            server.check()
    except ServerFailed as error:
        return Engine("search", description, False, f"{error}; until then the vault's own index answers")
    finally:
        for server in servers:
            server.close()
    return Engine("search", description, True)


def _check_weights(capability: str, weights: Weights, settings: Settings) -> Engine:
    exists = path_of(weights, settings.weights_dir) is not None
    return Engine(capability, weights.engine, exists, "" if exists else f"chyme weights {weights.capability}")


def _check_worker_client(url: str) -> list[Engine]:
    """Report that the client of NATS is missing where workers are set up; it comes with the extra "workers"."""
    if not url or find_spec("nats") is not None:
        return []
    return [Engine("workers elsewhere", "nats-py", False, "pip install 'chyme[workers]'")]


def _check_worker_credentials(path: str) -> list[Engine]:
    """Check the certificate for the NATS server, which only vaults with workers elsewhere have."""
    if not path:
        return []
    from chyme.workers.credentials import describe_expiry

    try:
        how = describe_expiry(Path(path).expanduser(), clock.now()) or ""
    except UsageError as error:
        return [Engine("workers elsewhere", path, False, str(error))]
    return [Engine("workers elsewhere", path, True, how)]


def _check_captions(settings: Settings) -> Engine:
    if settings.vision_model:
        return _check_model_clients("captions", providers_of(settings)["vision"])
    captioner = PictureModelSettings(**picture_model_config(settings)).captioner
    if captioner is not None:
        return Engine("captions", f"{captioner.name}, {captioner.folder}", True)
    how = "a model that sees makes richer ones: set vision_url and vision_model, or picture_model_dir"
    return Engine("captions", "composed from objects and words", True, how)


def _check_picture_search(settings: Settings) -> Engine:
    capability, models = "pictures by meaning", PictureModelSettings(**picture_model_config(settings))
    if models.clip is not None:
        return Engine(capability, f"{models.clip.name}, {models.clip.folder}", True)
    if models.model_dir and models.captioner is None:
        how = "picture_model_dir has no ONNX model: it wants encoder_model.onnx and decoder_model.onnx, or "
        return Engine(capability, models.model_dir, False, how + "vision_model.onnx and text_model.onnx")
    how = "a CLIP-like ONNX model finds pictures by what they show: set picture_model_dir to its folder"
    return Engine(capability, "by their captions", True, how)


def _check_office(settings: Settings) -> Engine:
    program = office_program(settings.office)
    if program is not None:
        return Engine("pages of office files", f"LibreOffice, {program}", True)
    how = "LibreOffice draws their real pages (Debian: apt-get install libreoffice-nogui)"
    return Engine("pages of office files", "their text, drawn as a page", True, how)


def _check_browser(settings: Settings) -> Engine:
    program = browser_program(str(Path(settings.browser).expanduser()))
    if program is not None:
        return Engine("pictures of web pages", f"Chromium, {program}", True)
    how = "Chromium draws web pages, and reads those that need JavaScript (Debian: apt-get install chromium)"
    return Engine("pictures of web pages", "none; pages are read, but not pictured", True, how)


def _check_links(settings: Settings) -> Engine:
    if not settings.crawl:
        return Engine("web pages behind links", "not fetched", True, "set crawl to true to have them fetched")
    try:
        policy_of(settings.web_allow)
    except UsageError as error:
        return Engine("web pages behind links", "not fetched", False, str(error))
    also = f", and {settings.web_allow}" if settings.web_allow else ""
    return Engine("web pages behind links", f"fetched from public addresses{also}", True)


def _check_mailbox(settings: Settings) -> list[Engine]:
    """Sign in to the mailbox, which few vaults have."""
    tried = try_mailbox(settings)
    return [] if tried is None else [Engine("mailbox", tried[0], tried[1] is None, tried[1] or "")]


def _check_package(capability: str, package: str) -> Engine:
    try:
        return Engine(capability, f"{package} {version(package)}", True)
    except PackageNotFoundError:
        return Engine(capability, package, False, f"pip install {package}")
