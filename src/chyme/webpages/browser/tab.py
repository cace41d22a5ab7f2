"""One page in Chromium, from its address to its picture, in a context that forgets everything afterwards."""

from __future__ import annotations

import time
from base64 import b64decode
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from chyme.webpages.browser.chromium_process import Chromium
from chyme.webpages.browser.devtools_pipe import CommandFailed, DeadlineExceeded, Message, Pipe
from chyme.webpages.browser.page_scripts import (
    MEASURE_JS,
    QUIET_TIME_JS,
    READ_SLICE_JS,
    SERIALISE_JS,
    WATCH_CHANGES_JS,
    WORLD,
)
from chyme.webpages.browser.proxy import Proxy
from chyme.webpages.browser.settings import BrowserSettings

WAITING = 0.8  # of a page's time; the rest is for its picture
STILL_SECONDS = 0.5  # without anything new
LIVELY_SECONDS = 2.5  # without anything from the network; a page that only moves is still enough
LOOK_SECONDS = 0.1
ERROR_PAGE_SECONDS = 1.0  # until the page that tells of a failure names its address
LEAST_HEIGHT = 800
STRETCH = 4 << 20  # characters of HTML read at a time
MOST_MOVES = 20  # documents one after the other, before the page is given up
MOST_TRIES = 10
UNCOUNTED = ("EventSource", "Ping", "Prefetch", "WebSocket")  # requests that stay open, or that nobody sees
T = TypeVar("T")


class TabCrashed(Exception):
    """The page's own process died."""


class TooManyRedirects(Exception):
    """The page leads on and on."""


class Tab:
    """A window of its own. What the events tell of it is kept here; `deadline` is the end of its time."""

    def __init__(self, chromium: Chromium, proxy: Proxy, settings: BrowserSettings, deadline: float) -> None:
        self.url = ""
        self.status = 0
        self.headers: Mapping[str, str] = {}  # of the page's own answer, names in lower case
        self.unreachable: str | None = None  # the address that an error page stands for
        self.notes: list[str] = []
        self._pipe: Pipe = chromium.pipe
        self._expect = proxy.allow_host
        self._settings = settings
        self._deadline = deadline
        self._patience = time.monotonic() + (deadline - time.monotonic()) * WAITING
        self._loader = ""
        self._loaded_at: float | None = None
        self._open: set[str] = set()
        self._changed = time.monotonic()
        self._requests = 0
        self._moves = 0
        self._answers: dict[str, tuple[int, Mapping[str, str]]] = {}
        self._target, self._session = "", ""
        self._pipe.hears = self._hear
        self._context = str(
            self._call(
                "Target.createBrowserContext",
                disposeOnDetach=True,
                proxyServer=proxy.address,
                proxyBypassList="<-loopback>",
            )["browserContextId"]
        )
        self._furnish(f"{chromium.agent} {settings.agent}".strip())

    def close(self, deadline: float) -> None:
        """Forget the page, its cookies and all it stored."""
        self._pipe.hears = lambda *_: None
        self._pipe.call("Target.disposeBrowserContext", deadline, browserContextId=self._context)

    def navigate(self, url: str) -> str | None:
        """Open the address; returns what went wrong, in Chromium's words, or None when an answer has come."""
        told = self._in_page("Page.navigate", self._patience, url=url)
        if told.get("isDownload"):
            return "download"
        if not told.get("errorText"):
            return None
        until = time.monotonic() + ERROR_PAGE_SECONDS
        while self.unreachable is None and time.monotonic() < until:
            self._attend(LOOK_SECONDS)
        return str(told["errorText"])

    def wait_until_idle(self) -> None:
        """Wait until the page is still; one that does not come to rest is taken as it is, and a note says so."""
        while time.monotonic() < self._patience:
            self._attend(LOOK_SECONDS)
            if self._is_still():
                return
            if self._loaded_at and time.monotonic() - self._loaded_at > self._settings.settle:
                self.notes.append("the page had not come to rest when it was taken")
                return
        self.notes.append("the page was still loading when it was taken")

    def measure(self) -> tuple[str, int]:
        """Title, and how high the page is."""
        told = self._firmly(lambda: self._said(MEASURE_JS))
        height = told.get("height") if isinstance(told, dict) else 0
        title = told.get("title") if isinstance(told, dict) else ""
        return str(title), int(height or 0)

    def take_screenshot(self, height: int) -> tuple[bytes, int]:
        """The first screens as JPEG, and how high the picture is."""
        settings = self._settings
        height = max(LEAST_HEIGHT, min(height, settings.longest))
        clip = {"x": 0, "y": 0, "width": settings.width, "height": height, "scale": 1}
        told = self._firmly(
            lambda: self._in_page(
                "Page.captureScreenshot",
                format="jpeg",
                quality=settings.quality,
                clip=clip,
                captureBeyondViewport=True,
            )
        )
        return b64decode(told["data"]), height

    def read_html(self) -> str:
        """The page as HTML."""
        most = self._settings.page_bytes

        def write() -> str:
            length = int(self._said(SERIALISE_JS % most) or 0)
            kept = min(length, most)
            parts = [str(self._said(READ_SLICE_JS % (at, at + STRETCH))) for at in range(0, kept, STRETCH)]
            if kept < length:
                self.notes.append(f"only the first {most >> 20:,} MB of the page's HTML are kept")
            # Characters beyond 16 bits may have been cut in two.
            return "".join(parts).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

        return self._firmly(write)

    def _furnish(self, agent: str) -> None:
        settings = self._settings
        self._call("Browser.setDownloadBehavior", behavior="deny", browserContextId=self._context)
        self._call("Target.setDiscoverTargets", discover=True)
        size = {"width": settings.width, "height": settings.height}
        told = self._call("Target.createTarget", url="about:blank", browserContextId=self._context, **size)
        self._target = str(told["targetId"])
        self._session = str(self._call("Target.attachToTarget", targetId=self._target, flatten=True)["sessionId"])
        self._in_page("Inspector.enable")
        self._in_page("Page.enable")
        self._in_page("Network.enable", maxTotalBufferSize=0, maxResourceBufferSize=0)
        self._in_page("Network.setBypassServiceWorker", bypass=True)
        self._in_page("Emulation.setUserAgentOverride", userAgent=agent)
        self._in_page("Emulation.setDeviceMetricsOverride", deviceScaleFactor=1, mobile=False, **size)
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        light = {"name": "prefers-color-scheme", "value": "light"}
        self._in_page("Emulation.setEmulatedMedia", features=[still, light])
        self._in_page("Page.addScriptToEvaluateOnNewDocument", source=WATCH_CHANGES_JS, worldName=WORLD)

    def _call(self, method: str, **parameters: Any) -> Message:
        return self._pipe.call(method, self._deadline, **parameters)

    def _in_page(self, method: str, deadline: float | None = None, **parameters: Any) -> Message:
        """As `_call`, to the page itself."""
        return self._pipe.call(method, deadline or self._deadline, self._session, **parameters)

    def _said(self, expression: str) -> Any:
        """The value of an expression in our world of the page."""
        world = self._in_page("Page.createIsolatedWorld", frameId=self._target, worldName=WORLD)["executionContextId"]
        told = self._in_page("Runtime.evaluate", expression=expression, contextId=world, returnByValue=True)
        if "exceptionDetails" in told:
            raise CommandFailed("a script failed in the page")
        return told.get("result", {}).get("value")

    def _firmly(self, ask: Callable[[], T]) -> T:
        """Ask again when the page went on to another address in the middle."""
        for _ in range(MOST_TRIES):
            with suppress(CommandFailed):
                return ask()
            self._attend(LOOK_SECONDS)
        return ask()

    def _attend(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        with suppress(DeadlineExceeded):
            while True:
                self._pipe.process_events(min(until, self._deadline))

    def _is_still(self) -> bool:
        if self._loaded_at is None or self._open:
            return False
        silent = time.monotonic() - max(self._changed, self._loaded_at)
        if silent < STILL_SECONDS:
            return False
        if silent >= LIVELY_SECONDS:
            return True
        try:
            return float(self._said(QUIET_TIME_JS) or 0) >= STILL_SECONDS * 1000
        except CommandFailed:
            return False  # it is going elsewhere

    def _hear(self, session: str, event: str, told: Message) -> None:
        if session == self._session and self._session:
            heard = _EVENTS.get(event)
            if heard is not None:
                heard(self, told)
        elif event == "Target.targetCreated":
            self._close_other(told.get("targetInfo", {}))
        elif event == "Target.targetCrashed" and told.get("targetId") == self._target:
            self._crash(told)

    def _close_other(self, target: Message) -> None:
        ours = target.get("browserContextId") == self._context and target.get("type") == "page"
        if ours and self._target and target.get("targetId") != self._target:
            self._pipe.send("Target.closeTarget", targetId=target.get("targetId"))

    def _crash(self, _told: Message) -> None:
        raise TabCrashed

    def _dismiss(self, _told: Message) -> None:
        self._pipe.send("Page.handleJavaScriptDialog", self._session, accept=False)

    def _moved(self, told: Message) -> None:
        frame = told.get("frame", {})
        if frame.get("parentId"):
            return
        self._moves += 1
        if self._moves > MOST_MOVES:
            raise TooManyRedirects
        self.url = str(frame.get("url", "")) + str(frame.get("urlFragment", ""))
        self.unreachable = frame.get("unreachableUrl")
        self._loader = str(frame.get("loaderId", ""))
        self.status, self.headers = self._answers.get(self._loader, (0, {}))
        self._open = {request for request in self._open if request == self._loader}
        self._loaded_at = None
        self._changed = time.monotonic()

    def _moved_within(self, told: Message) -> None:
        if told.get("frameId") == self._target:
            self.url = str(told.get("url", self.url))

    def _loaded(self, _told: Message) -> None:
        self._loaded_at = time.monotonic()

    def _begun(self, told: Message) -> None:
        url = str(told.get("request", {}).get("url", ""))
        if not url.startswith(("http://", "https://")):
            return
        self._expect(url)
        if told.get("type") in UNCOUNTED:
            return
        self._requests += 1
        self._changed = time.monotonic()
        self._open.add(str(told.get("requestId")))
        if self._requests == self._settings.requests:
            self._pipe.send("Network.setBlockedURLs", self._session, urls=["*"])
            self.notes.append(f"only the first {self._requests:,} parts were loaded")

    def _socket(self, told: Message) -> None:
        self._expect(str(told.get("url", "")))

    def _answered(self, told: Message) -> None:
        if told.get("type") != "Document" or told.get("frameId") != self._target:
            return
        response = told.get("response", {})
        headers = {str(name).lower(): str(value) for name, value in response.get("headers", {}).items()}
        loader = str(told.get("loaderId"))
        self._answers[loader] = int(response.get("status", 0)), headers
        if loader == self._loader:
            self.status, self.headers = self._answers[loader]

    def _ended(self, told: Message) -> None:
        self._open.discard(str(told.get("requestId")))
        self._changed = time.monotonic()


_EVENTS: dict[str, Callable[[Tab, Message], None]] = {
    "Inspector.targetCrashed": Tab._crash,
    "Page.javascriptDialogOpening": Tab._dismiss,
    "Page.frameNavigated": Tab._moved,
    "Page.navigatedWithinDocument": Tab._moved_within,
    "Page.loadEventFired": Tab._loaded,
    "Network.requestWillBeSent": Tab._begun,
    "Network.webSocketCreated": Tab._socket,
    "Network.responseReceived": Tab._answered,
    "Network.loadingFinished": Tab._ended,
    "Network.loadingFailed": Tab._ended,
}
