"""What every test may ask for."""

from __future__ import annotations

import atexit
import ipaddress
import os
import re
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


# Files that take minutes each. They come first, so that no worker begins one when all the others are done.
LONGEST = (
    *("end_to_end/", "browser/", "core/children/", "search/engines/", "documents/test_libreoffice", "imaging/test_ocr"),
    *("speech/test_recognition", "webpages/test_browser", "webpages/test_snapshot"),
)

SLOW = re.compile(r"^pytestmark = (\[\s*)?pytest\.mark\.slow\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import files of slow tests where these are left out."""
    if config.option.markexpr != "not slow" or collection_path.suffix != ".py":
        return None
    return True if SLOW.search(collection_path.read_text(encoding="utf-8")) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not any(f"tests/{part}" in item.path.as_posix() for part in LONGEST))
