"""What every test may ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

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
    *("digesters/test_url_crawl", "engines/test_browser", "engines/test_crawl_snapshot"),
    *("digesters/test_image_ocr", "digesters/test_doc_to_markdown", "digesters/test_doc_to_screenshot"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(part in item.nodeid for part in UNHURRIED):
            item.add_marker(pytest.mark.slow)
