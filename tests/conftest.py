"""Fixtures and precautions for all tests."""

from __future__ import annotations

import gc
import ipaddress
import os
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from coordinating import bench, clock  # noqa: F401  (fixtures)

from chyme.core.store.sqlite import database

# Collecting makes hundreds of thousands of objects that stay until the end. Looking through them again and again for
# garbage takes more than a tenth of the time of collecting, in each worker.
gc.disable()

# Links in the samples lead to other machines, and no test may contact them. Tests of crawling turn it on themselves.
os.environ["CHYME_CRAWL"] = "false"

# Missing weights are no reason to contact a package index; tests that need them are skipped.
os.environ["CHYME_WEIGHTS_FETCH"] = "false"

# No test reads the accounts of the user who runs it.
os.environ["CHYME_SERVER_DIR"] = tempfile.mkdtemp(prefix="chyme-tests-server-")

# A shell starts jobs in the background with SIGINT ignored, and children inherit that; tests of Ctrl-C need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def stay_here(event: str, arguments: tuple[object, ...]) -> None:
    """Prevent this process from looking up names and from connecting to other machines."""
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

# A power failure need not be survived in a test, so no database in this process waits for the disk.
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
    """The folder of real files beside the project; the test is skipped if it is missing."""
    if not CORPUS.is_dir():
        pytest.skip(f"needs the corpus of real files, and {CORPUS} is not there")
    return CORPUS.resolve()


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """An empty vault's database."""
    database.Database(tmp_path).close()
    db = database.connect(tmp_path / "vault.db")
    yield db
    db.close()


# Files that take long come first, the longest at the very beginning, so that no worker begins such a file when all
# others are done.
LONGEST = (
    *("end_to_end/test_workers_elsewhere", "end_to_end/test_crash", "end_to_end/test_understanding"),
    *("browser/test_vault_visited", "browser/test_file_page"),
    *(
        "webpages/test_browser",
        "webpages/test_snapshot",
        "end_to_end/test_real_model",
        "end_to_end/test_larger_engines",
    ),
    *("end_to_end/test_recordings", "end_to_end/test_web_pages", "browser/test_activity", "models/test_providers"),
    *("speech/", "end_to_end/", "browser/", "core/children/", "vault/test_watching_events", "search/engines/"),
    *("documents/test_html_reading", "documents/test_doc_to_markdown", "documents/test_libreoffice"),
    *("imaging/test_ocr", "doors/http/test_authentication", "core/test_without_model"),
)

SLOW = re.compile(r"^pytestmark = (\[\s*)?pytest\.mark\.slow\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import files of slow tests if slow tests are deselected."""
    if config.option.markexpr != "not slow" or collection_path.suffix != ".py":
        return None
    return True if SLOW.search(collection_path.read_text(encoding="utf-8")) else None


def pytest_unconfigure() -> None:
    shutil.rmtree(os.environ["CHYME_SERVER_DIR"], ignore_errors=True)  # workers end without calling atexit


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _position(item.path.as_posix()))


def _position(path: str) -> int:
    """Where a file of tests comes: by the first part of `LONGEST` that it matches, or after all of them."""
    return next((at for at, part in enumerate(LONGEST) if f"tests/{part}" in path), len(LONGEST))
