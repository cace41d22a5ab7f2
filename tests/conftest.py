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
    *("end_to_end/", "engines/children/", "watcher/test_watching_events", "watcher/test_still_files"),
    *("engines/test_ocr", "engines/test_libreoffice", "engines/test_vision", "engines/test_weights"),
    *("engines/test_speech", "engines/test_voices", "engines/test_language_model", "cli/test_people_command"),
    *("digesters/test_speech_recognition", "cli/test_show_subtitles"),
    *("digesters/test_url_crawl", "engines/test_browser", "engines/test_crawl_snapshot", "engines/test_crawl_fetch"),
    *("engines/test_pictures", "engines/test_pages", "engines/test_objects", "engines/test_conversion"),
    *("digesters/test_media_preview", "digesters/test_image_preview", "digesters/test_image_captioning"),
    *("digesters/test_image_ocr", "digesters/test_doc_to_markdown", "digesters/test_doc_to_screenshot"),
    *("engines/test_embedding", "digesters/test_tag_embeddings", "engines/test_local_model", "engines/test_model"),
    *("digesters/test_classify", "app/test_rename", "cli/test_rename", "cli/test_edit"),
    *("browser/", "mcp/", "web/test_pages_by_http"),
    *("app/test_questions", "contract/", "digesters/test_search_semantic"),
    *("web/test_door", "web/test_entrance", "doors/test_accounts"),
)


# Files that take minutes each. They come first, so that no worker begins one when all the others are done.
LONGEST = (
    *("engines/test_browser", "end_to_end/", "browser/", "engines/test_speech", "engines/test_libreoffice"),
    *("engines/test_ocr", "engines/test_crawl_snapshot", "engines/children/", "contract/"),
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
