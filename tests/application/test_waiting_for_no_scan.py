"""A request for a file, or its deletion, does not wait until a scan has ended."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from described_vault import listed, put
from waiting import AMPLE, wait_until

from chyme.application.app import App, open_app


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with open_app(tmp_path) as opened:
        yield opened


@pytest.fixture
def scanning(app: App) -> Iterator[threading.Event]:
    """Start a scan that does not end until the event is set."""
    put(app, "known.txt")
    app.start(follow=True, only_files=frozenset())
    under_way, go_on = threading.Event(), threading.Event()

    def wait_in_scan(_count: int) -> None:
        under_way.set()
        go_on.wait()

    scan = threading.Thread(target=lambda: app.scan(progress=wait_in_scan))
    scan.start()
    assert under_way.wait(AMPLE)
    yield go_on
    go_on.set()
    scan.join()


def answer_of(question: Callable[[], object]) -> object:
    """Return the answer to the question while the scan is under way."""
    results: list[object] = []
    asking = threading.Thread(target=lambda: results.append(question()), daemon=True)
    asking.start()
    asking.join(AMPLE)
    assert results, "it waits for the scan"
    return results[0]


def test_a_file_that_is_not_taken_in_yet_is_unknown(app: App, scanning: threading.Event) -> None:
    new = app.vault.root / "new.txt"
    new.write_text("new")
    os.utime(new, (1, 1))
    assert answer_of(lambda: app.open_vault.has_file("new.txt")) is False
    assert answer_of(lambda: app.open_vault.has_file("known.txt")) is True


def test_a_restored_file_is_there_before_it_is_taken_in(app: App, scanning: threading.Event) -> None:
    (trashed,) = app.trash.put(["known.txt"])
    answer_of(lambda: app.trash.restore([trashed.id]))
    assert (app.vault.root / "known.txt").exists()
    scanning.set()
    wait_until(lambda: listed(app) == ["known.txt"])
