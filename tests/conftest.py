"""What every test may ask for."""

from __future__ import annotations

import atexit
import ipaddress
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from coordinating import bench, clock  # noqa: F401  (fixtures)

from chyme.core.store.sqlite import database

# Links among the samples lead to other machines, and no test talks to any. Tests of crawling say so themselves.
os.environ["CHYME_CRAWL"] = "false"

# Nor does any test look at the accounts of whoever runs it.
os.environ["CHYME_SERVER_DIR"] = tempfile.mkdtemp(prefix="chyme-tests-server-")
atexit.register(shutil.rmtree, os.environ["CHYME_SERVER_DIR"], ignore_errors=True)


# A shell starts jobs in the background with SIGINT ignored, and children inherit that; tests of Ctrl-C need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def stay_here(event: str, arguments: tuple[object, ...]) -> None:
    """Nobody in this process looks up a name or connects to another machine."""
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event in ("socket.connect", "socket.sendto") and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    else:
        return
    name = host.decode() if isinstance(host, bytes) else str(host or "localhost")
    try:
        here = ipaddress.ip_address(name.partition("%")[0]).is_loopback or event == "socket.getaddrinfo"
    except ValueError:
        here = name == "localhost" or name.endswith(".invalid")
    if not here:
        raise AssertionError(f"a test wants to talk to {name}")


sys.addaudithook(stay_here)

# No power fails during a test, so no database in this process waits until the disk has everything.
connect = database.connect


@wraps(connect)
def connect_in_haste(*where: Any, **how: Any) -> sqlite3.Connection:
    db = connect(*where, **how)
    db.execute("PRAGMA synchronous = OFF")
    return db


vars(database)["connect"] = connect_in_haste

PROJECT = Path(__file__).parents[1]
CORPUS = PROJECT / "../shared/corpus"


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real files that lies beside the project; the test is skipped where it is missing."""
    if not CORPUS.is_dir():
        pytest.skip(f"needs the corpus of real files, and {CORPUS} is not there")
    return CORPUS.resolve()


# They start real processes, load models or wait for real time, a second or so each, and there are many: `make check`
# skips them.
UNHURRIED = (
    *(
        "end_to_end/",
        "browser/",
        "core/children/",
        "search/engines/",
        "doors/mcp/",
        "accounts/test_accounts",
    ),
    *(
        "documents/test_conversion",
        "documents/test_doc_to_markdown",
        "documents/test_doc_to_screenshot",
    ),
    *(
        "documents/test_libreoffice",
        "documents/test_pages",
        "doors/cli/test_edit_command",
        "doors/cli/test_people_command",
    ),
    *(
        "doors/cli/test_rename_command",
        "doors/cli/test_show_subtitles",
        "doors/http/test_authentication",
    ),
    *(
        "doors/http/test_login",
        "doors/http/test_pages_by_http",
        "imaging/test_ocr",
        "imaging/test_picture_decoding",
    ),
    *(
        "models/test_embedding",
        "models/test_embedding_endpoint",
        "models/test_embedding_multilingual",
        "models/test_embedding_passages",
    ),
    *(
        "models/test_embedding_rounding",
        "models/test_language_model",
        "models/test_local_model",
        "models/test_local_model_parts",
    ),
    *(
        "models/test_weights",
        "pictures/test_image_captioning",
        "pictures/test_image_ocr",
        "pictures/test_image_preview",
    ),
    *(
        "pictures/test_object_detector",
        "pictures/test_vision_answers",
        "search/test_query_embedding",
        "search/test_search_semantic",
    ),
    *(
        "speech/test_media_preview",
        "speech/test_recognition",
        "speech/test_recognition_pieces",
        "speech/test_recognition_remote",
    ),
    *(
        "speech/test_recognition_sound",
        "speech/test_speech_recognition",
        "speech/test_speech_recognition_cleanup",
    ),
    *(
        "speech/test_speech_recognition_summary",
        "speech/test_voices",
        "understanding/test_classify_document",
    ),
    *(
        "understanding/test_classify_image",
        "understanding/test_tag_embeddings",
        "vault/test_unchanging_files",
    ),
    *(
        "vault/test_watching_events",
        "webpages/test_browser",
        "webpages/test_browser_isolation",
        "webpages/test_browser_parts",
    ),
    *(
        "webpages/test_fetch",
        "webpages/test_fetch_parts",
        "webpages/test_fetch_text",
        "webpages/test_fetch_tls",
    ),
    *(
        "webpages/test_snapshot",
        "webpages/test_snapshot_attacks",
        "webpages/test_url_crawl",
        "webpages/test_url_crawl_screenshot",
    ),
    *("webpages/test_url_crawl_summary",),
)


# Files that take minutes each. They come first, so that no worker begins one when all the others are done.
LONGEST = (
    *(
        "end_to_end/",
        "browser/",
        "core/children/",
        "search/engines/",
        "documents/test_libreoffice",
        "imaging/test_ocr",
    ),
    *(
        "speech/test_recognition",
        "speech/test_recognition_pieces",
        "speech/test_recognition_remote",
        "speech/test_recognition_sound",
    ),
    *(
        "webpages/test_browser",
        "webpages/test_browser_isolation",
        "webpages/test_browser_parts",
        "webpages/test_snapshot",
    ),
    *("webpages/test_snapshot_attacks",),
)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where slow tests are left out, files with no others need not even be imported."""
    place = collection_path.as_posix() + "/" * collection_path.is_dir()
    left_out = config.option.markexpr == "not slow" and any(f"tests/{part}" in place for part in UNHURRIED)
    return True if left_out else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(part in item.nodeid for part in UNHURRIED):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: not any(f"tests/{part}" in item.path.as_posix() for part in LONGEST))
