"""A real serving chyme and a real browser that visits it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request
from running_chyme import RunningChyme, Server, wait_until
from waiting import AMPLE

AXE = files("axe_playwright_python").joinpath("axe.min.js")
SERIOUS = ("serious", "critical")
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
SERVERS = ("http://127.0.0.1", "http://localhost")
LOCAL = (*SERVERS, "data:", "blob:")


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


class _Visitor:
    """A page of a context of its own, with what went wrong on it since the last `begin`."""

    def __init__(self, browser: Browser, **how: Any) -> None:
        self.page = browser.new_context(**how).new_page()
        self.page.set_default_timeout(AMPLE * 1000)  # milliseconds
        self.page.on("console", self._listen)
        self.page.on("pageerror", lambda error: self._wrong.append(str(error)))
        self.page.on("request", self._watch)
        self._viewport = how.get("viewport")
        self._wrong: list[str] = []
        self._origins: set[str] = set()
        self._listeners: list[tuple[Any, Any]] = []
        self._unchanged = True
        self._watch_changes()
        self.begin()

    def begin(self) -> None:
        self._wrong.clear()
        self._origins.clear()
        self.page.expected_errors = []  # type: ignore[attr-defined]  # parts of the texts of errors that a test provokes on purpose

    def check(self) -> None:
        expected = self.page.expected_errors  # type: ignore[attr-defined]
        assert not [problem for problem in self._wrong if not any(part in problem for part in expected)], self._wrong

    def clear(self) -> bool:
        """Make the page like a new one for the next test; False if that cannot be done."""
        if not self._unchanged or len(self._origins) > 1 or self.page.is_closed() or len(self.page.context.pages) > 1:
            return False
        page, context = self.page, self.page.context
        for event, listener in self._listeners:
            page.remove_listener(event, listener)
        self._listeners.clear()
        try:
            page.unroute_all(behavior="ignoreErrors")
            if page.url.startswith(SERVERS):
                page.evaluate("localStorage.clear(); sessionStorage.clear()")
            elif self._origins:
                return False
            context.clear_cookies()
            context.clear_permissions()
            if self._viewport:
                page.set_viewport_size(self._viewport)
            page.goto("about:blank")
            session = context.new_cdp_session(page)
            session.send("Page.resetNavigationHistory")
            session.detach()
        except Error:
            return False
        return True

    def close(self) -> None:
        self.page.context.close()

    def _listen(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._wrong.append(f"{message.text} ({message.location.get('url', '')})")

    def _watch(self, request: Request) -> None:
        if not request.url.startswith(LOCAL):
            self._wrong.append(f"asked for {request.url}")
        if request.is_navigation_request():
            self._origins.add("/".join(request.url.split("/", 3)[:3]))

    def _watch_changes(self) -> None:
        """Notice what a test adds to the page: listeners are removed again, the rest cannot be."""
        page, on = self.page, self.page.on

        def add_listener(event: Any, listener: Any) -> None:
            self._listeners.append((event, listener))
            on(event, listener)

        def use_up(change: Callable[..., Any]) -> Callable[..., Any]:
            def changed(*what: Any, **how: Any) -> Any:
                self._unchanged = False
                return change(*what, **how)

            return changed

        setattr(page, "on", add_listener)  # noqa: B010  (mypy: it is overloaded)
        for name in ("add_init_script", "emulate_media", "expose_function", "expose_binding"):
            setattr(page, name, use_up(getattr(page, name)))


class Visits:
    """Pages that are kept from one test to the next: each new one is a process of Chromium's that reads and compiles
    every script again."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._kept: dict[str, _Visitor] = {}

    @contextmanager
    def visit(self, **how: Any) -> Iterator[Page]:
        """A page that fails at its end for every error on its console and every request to another host."""
        key = repr(sorted(how.items()))
        visitor = self._kept.pop(key, None) or _Visitor(self._browser, **how)
        kept = False
        try:
            visitor.begin()
            yield visitor.page
            visitor.check()
            kept = visitor.clear()
        finally:
            if kept:
                self._kept[key] = visitor
            else:
                visitor.close()

    def close(self) -> None:
        for visitor in self._kept.values():
            visitor.close()


def script(page: Page, name: str) -> str:
    """The address from which the page loaded this script: importing it again returns the same module."""
    address = page.locator('script[src$="/frame.js"]').get_attribute("src")
    assert address is not None
    return address.replace("frame.js", f"{name}.js")


def check_a11y(page: Page) -> None:
    """Check that there is no serious violation of accessibility rules."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    # Nothing is loaded beforehand: this serves one rule about sound that plays by itself, and it is not serious.
    violations = page.evaluate(
        "axe.run(document, {resultTypes: ['violations'], preload: false}).then(found => found.violations)"
    )
    problems = [
        f"{violation['id']}: {violation['help']} – {[node['html'][:160] for node in violation['nodes'][:3]]}"
        for violation in violations
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
