"""Chromium, and pages in it. Without Chromium the tests are skipped with a message."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from visiting import DESKTOP, PHONE, Visits
from waiting import AMPLE

from chyme.webpages.browser.executable import browser_program

expect.set_options(timeout=AMPLE * 1000)  # milliseconds; Playwright's default is 5 seconds


@pytest.fixture(scope="module")  # Playwright keeps an event loop running, and other test files need their own
def browser() -> Iterator[Browser]:
    program = browser_program("auto")
    if program is None:
        pytest.skip("Chromium is not installed, so no page is looked at (Debian: apt-get install chromium)")
    switches = ["--disable-gpu", "--disable-software-rasterizer", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=os.fspath(program), args=switches)
        yield started
        started.close()


@pytest.fixture(scope="module")
def visits(browser: Browser) -> Iterator[Visits]:
    pages = Visits(browser)
    yield pages
    pages.close()


@pytest.fixture
def page(visits: Visits) -> Iterator[Page]:
    with visits.visit(viewport=DESKTOP) as page:
        yield page


@pytest.fixture
def phone(visits: Visits) -> Iterator[Page]:
    with visits.visit(viewport=PHONE, has_touch=True, is_mobile=True, device_scale_factor=2) as page:
        yield page


@pytest.fixture
def dark(visits: Visits) -> Iterator[Page]:
    with visits.visit(viewport=DESKTOP, color_scheme="dark") as page:
        yield page
