"""A real serving chyme and a real browser that visits it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, ConsoleMessage, Page
from running_chyme import RunningChyme, Server, wait_until
from waiting import AMPLE

AXE = files("axe_playwright_python").joinpath("axe.min.js")
SERIOUS = ("serious", "critical")
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}


@dataclass
class House:
    """A serving chyme with its own vault."""

    chyme: RunningChyme
    server: Server
    base: str
    problems: list[str] = field(default_factory=list)
    dropped: set[str] = field(default_factory=set)

    @property
    def vault(self) -> Path:
        return self.chyme.vault

    @property
    def http(self) -> httpx.Client:
        return self.server.http

    def drop(self, name: str, content: str | bytes) -> Path:
        """Put a file into the folder, as a user would."""
        self.dropped.add(name)
        return self.chyme.drop(name, content)

    def settled(self, seconds: float = 120.0) -> None:
        """Wait until all dropped files are noticed and nothing is left to do."""
        still = 0

        def done() -> bool:
            nonlocal still
            status = self.http.get("/api/status").json()
            counts = status["digests"]
            idle = counts["todo"] == 0 and counts["in-progress"] == 0 and not status.get("moving")
            still = still + 1 if idle else 0
            return still >= 3

        wait_until(lambda: all(map(self._is_noticed, self.dropped)))
        wait_until(done, seconds)

    def _is_noticed(self, name: str) -> bool:
        """True also for a file that was moved or deleted since."""
        try:
            found = (self.vault / name).stat()
        except FileNotFoundError:
            return True
        rows = self.chyme.rows("SELECT size, mtime_ns FROM files WHERE path = ?", name)
        return rows == [(found.st_size, found.st_mtime_ns)]

    def document(self, path: str) -> dict[str, Any]:
        """The fields of a document."""
        document_fields: dict[str, Any] = self.http.get(f"/api/digest/{path}").json()["document"]
        return document_fields


@contextmanager
def served(folder: Path, drop: Callable[[RunningChyme], object] = lambda _: None, *arguments: str) -> Iterator[House]:
    """A serving chyme whose vault is filled by `drop` first."""
    folder.mkdir(parents=True, exist_ok=True)
    chyme = RunningChyme(folder)
    try:
        drop(chyme)
        server = chyme.serve(*arguments)
        try:
            yield House(chyme, server, str(server.http.base_url).rstrip("/"))
        finally:
            server.http.close()
    finally:
        chyme.close()


@contextmanager
def visit(browser: Browser, **how: Any) -> Iterator[Page]:
    """A page that fails at its end for every error on its console and every request to another host."""
    context = browser.new_context(**how)
    page = context.new_page()
    page.set_default_timeout(AMPLE * 1000)  # milliseconds
    wrong: list[str] = []

    def listen(message: ConsoleMessage) -> None:
        if message.type == "error":
            wrong.append(f"{message.text} ({message.location.get('url', '')})")

    page.on("console", listen)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "request", lambda request: None if request.url.startswith(LOCAL) else wrong.append(f"asked for {request.url}")
    )
    page.expected_errors = []  # type: ignore[attr-defined]  # parts of the texts of errors that a test provokes on purpose
    try:
        yield page
        expected = page.expected_errors  # type: ignore[attr-defined]
        assert not [problem for problem in wrong if not any(part in problem for part in expected)], wrong
    finally:
        context.close()


LOCAL = ("http://127.0.0.1", "http://localhost", "data:", "blob:")


def script(page: Page, name: str) -> str:
    """The address from which the page loaded this script: importing it again returns the same module."""
    address = page.locator('script[src$="/frame.js"]').get_attribute("src")
    assert address is not None
    return address.replace("frame.js", f"{name}.js")


def check_a11y(page: Page) -> None:
    """Check that there is no serious violation of accessibility rules."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    problems = [
        f"{violation['id']}: {violation['help']} – {[node['html'][:160] for node in violation['nodes'][:3]]}"
        for violation in found["violations"]
        if violation["impact"] in SERIOUS
    ]
    assert not problems, "\n".join(problems)


def layout_shift(page: Page) -> float:
    """How much the layout has shifted since the page was opened (Chromium's own measure; 0 is not at all)."""
    return float(
        page.evaluate(
            """() => new Promise(done => {
                let sum = 0;
                new PerformanceObserver(list => {
                    for (const one of list.getEntries()) { if (!one.hadRecentInput) { sum += one.value; } }
                }).observe({type: 'layout-shift', buffered: true});
                setTimeout(() => done(sum), 300);
            })"""
        )
    )


eventually = wait_until  # for what Playwright cannot wait for
