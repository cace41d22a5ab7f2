"""The user's own account in a real browser: a token is displayed once, copied, and not made twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from running_chyme import RunningChyme
from visiting import check_a11y, served

pytestmark = pytest.mark.slow

PASSWORD = "correct horse battery"


def furnish(chyme: RunningChyme) -> None:
    added = chyme.run("users", "add", "ada", "--password-stdin", typed=f"{PASSWORD}\n")
    assert added.code == 0, added.err


def test_a_token_is_copied_and_a_reload_makes_no_second_token(tmp_path: Path, page: Page) -> None:
    page.expected_errors = ["404"]  # type: ignore[attr-defined]
    streams: list[str] = []
    page.on("request", lambda request: streams.append(request.url) if "/api/events" in request.url else None)
    with served(tmp_path, furnish) as house:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=house.base)
        page.goto(f"{house.base}/account")
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        page.get_by_label("Name").fill("ada")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_label("What it is for").fill("my script")
        page.get_by_role("button", name="Make a token").click()
        secret = page.get_by_label("The token").input_value()
        check_a11y(page)
        page.get_by_role("button", name="Copy").click()
        expect(page.get_by_text("Copied")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == secret
        page.reload()
        expect(page.get_by_label("The token")).to_have_count(0)
        expect(page.get_by_role("button", name="Revoke my script")).to_have_count(1)
        assert not streams  # these pages display nothing from a vault
        page.goto(f"{house.base}/v/nowhere/")
        expect(page.get_by_role("heading", name="There is nothing here")).to_be_visible()
        check_a11y(page)
        page.get_by_role("link", name="To the vault").click()
        expect(page.get_by_role("heading", level=1)).to_be_visible()
