"""The visible states of a document: amber and red, their buttons, and how they become completed."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from local_web import LocalWeb
from model_server import ModelServer, blocks, says
from playwright.sync_api import Locator, Page, expect
from running_chyme import RunningChyme
from scripted_letter import GOOD, LETTER
from visiting import House, check_a11y, served
from waiting import AMPLE

from chyme.core.pipeline.document_state import STALE_SECONDS
from chyme.model import iso

pytestmark = pytest.mark.slow

ARTICLE = "<html><head><title>The mill</title></head><body><article><h1>The mill</h1>{}</article></body></html>".format(
    "<p>The old mill by the river grinds flour again, after forty years in which its wheel stood still.</p>" * 4
)
LONG = AMPLE * 1000  # milliseconds until something is digested on a busy machine


def card(page: Page, path: str) -> Locator:
    return page.locator(f'#results [data-path="{path}"]')


def test_a_link_that_failed_is_red_and_completed_after_retry(tmp_path: Path, page: Page) -> None:
    with LocalWeb() as web:
        web.page("/mill", "gone", status=404)

        def furnish(chyme: RunningChyme) -> None:
            chyme.settings |= {"CHYME_CRAWL": "true", "CHYME_WEB_ALLOW": web.host, "CHYME_BROWSER": "off"}
            chyme.drop("mill.url", f"[InternetShortcut]\nURL={web.url('/mill')}\n")

        with served(tmp_path / "links", furnish) as house:
            house.settled()
            page.goto(house.base)
            red = card(page, "mill.url")
            expect(red).to_have_attribute("data-state", "failed")
            expect(red.locator(".tile-why")).to_contain_text("404")
            check_a11y(page)
            web.page("/mill", ARTICLE)
            red.get_by_role("button", name="Retry processing").click()
            expect(red).to_have_attribute("data-state", "completed", timeout=LONG)
            expect(red.locator(".tile-title")).to_have_text("The mill")
            assert house.document("mill.url")["state"] == "completed"


def test_a_document_that_needs_classification_is_amber_and_completed_after_retry(tmp_path: Path, page: Page) -> None:
    with ModelServer([blocks()]) as model:

        def furnish(chyme: RunningChyme) -> None:
            chyme.settings |= {"CHYME_LLM_URL": model.url, "CHYME_LLM_MODEL": "scripted"}
            chyme.drop("letter.txt", LETTER)

        with served(tmp_path / "letters", furnish) as house:
            house.settled()
            page.goto(house.base)
            amber = card(page, "letter.txt")
            expect(amber).to_have_attribute("data-state", "needs-classification")
            check_a11y(page)
            model.script([says(GOOD)])
            amber.get_by_role("button", name="Retry classification").click()
            expect(amber).to_have_attribute("data-state", "completed", timeout=LONG)
            expect(amber.locator(".tile-title")).to_have_text(str(GOOD["title"]))


def test_a_stale_document_is_amber_and_completed_after_retry(tmp_path: Path, page: Page) -> None:
    with served(tmp_path / "still", lambda chyme: chyme.drop("letter.txt", LETTER)) as house:
        house.settled()
        page.goto(house.base)
        amber = card(page, "letter.txt")
        expect(amber).to_have_attribute("data-state", "completed")
        stop(house, "letter.txt", STALE_SECONDS - 3)
        expect(amber).to_have_attribute("data-state", "stale", timeout=LONG)  # no reload: an event announces it
        expect(amber).to_contain_text(re.compile("standing still", re.IGNORECASE))
        check_a11y(page)
        amber.get_by_role("button", name=re.compile("^Retry")).click()
        expect(amber).to_have_attribute("data-state", "completed", timeout=LONG)


def stop(house: House, path: str, seconds: float) -> None:
    """Make it look as if it waited for a digest that never came, without progress for so many seconds."""
    moved_at = iso(datetime.now(UTC) - timedelta(seconds=seconds))
    with closing(sqlite3.connect(house.vault / ".chyme/vault.db", timeout=30)) as db, db:
        (file,) = db.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
        db.execute(
            """
            UPDATE digests SET status = 'failed', settled = 0, retry_at = NULL, error = 'waiting for nobody',
                   error_category = 'dependency' WHERE file_id = ? AND digester = 'tags'
            """,
            (file,),
        )
        db.execute("UPDATE documents SET state = 'processing', moved_at = ? WHERE file_id = ?", (moved_at, file))
