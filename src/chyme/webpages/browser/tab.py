"""One page in Chromium, from address to screenshot, in a context that forgets everything afterwards."""

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
from chyme.webpages.settings import BrowserSettings

LOADING_SHARE = 0.8  # of a page's time; the rest is for its screenshot
IDLE_SECONDS = 0.5  # without any change
NETWORK_IDLE_SECONDS = 2.5  # without network traffic; a page that is only animated counts as idle then
POLL_SECONDS = 0.1
ERROR_PAGE_SECONDS = 1.0  # until the error page reports its address
MIN_HEIGHT = 800
SLICE_CHARS = 4 << 20  # of HTML read at a time
MAX_NAVIGATIONS = 20  # documents in a row, before the page is given up
MAX_RETRIES = 10
UNCOUNTED = ("EventSource", "Ping", "Prefetch", "WebSocket")  # requests that stay open, or that change nothing visible
T = TypeVar("T")


class TabCrashed(Exception):
    """The process of the page died."""


class TooManyRedirects(Exception):
    """The page keeps going to other addresses."""


class Tab:
    """A window with the state that its events report; `deadline` is the end of its time."""

    def __init__(self, chromium: Chromium, proxy: Proxy, settings: BrowserSettings, deadline: float) -> None:
        self.url = ""
        self.status = 0
        self.headers: Mapping[str, str] = {}  # of the response for the page itself, names in lower case
        self.unreachable: str | None = None  # the address for which an error page is shown
        self.notes: list[str] = []
        self._pipe: Pipe = chromium.pipe
        self._allow_host = proxy.allow_host
        self._settings = settings
        self._deadline = deadline
        self._loading_deadline = time.monotonic() + (deadline - time.monotonic()) * LOADING_SHARE
        self._loader = ""
        self._loaded_at: float | None = None
        self._open_requests: set[str] = set()
        self._changed_at = time.monotonic()
        self._request_count = 0
        self._navigations = 0
        self._responses: dict[str, tuple[int, Mapping[str, str]]] = {}
        self._target, self._session = "", ""
        self._pipe.on_event = self._handle_event
        self._context = str(
            self._call(
                "Target.createBrowserContext",
                disposeOnDetach=True,
                proxyServer=proxy.address,
                proxyBypassList="<-loopback>",
            )["browserContextId"]
        )
        self._set_up(f"{chromium.agent} {settings.agent}".strip())

    def close(self, deadline: float) -> None:
        """Forget the page, its cookies and everything it stored."""
        self._pipe.on_event = lambda *_: None
        self._pipe.call("Target.disposeBrowserContext", deadline, browserContextId=self._context)

    def navigate(self, url: str) -> str | None:
        """Open the address; return Chromium's error text, or None if a response has come."""
        result = self._call_page("Page.navigate", self._loading_deadline, url=url)
        if result.get("isDownload"):
            return "download"
        if not result.get("errorText"):
            return None
        until = time.monotonic() + ERROR_PAGE_SECONDS
        while self.unreachable is None and time.monotonic() < until:
            self._process_events()
        return str(result["errorText"])

    def wait_until_idle(self) -> None:
        """Wait until the page is idle; give up in time with a note if it never is."""
        while time.monotonic() < self._loading_deadline:
            self._process_events()
            if self._is_idle():
                return
            if self._loaded_at and time.monotonic() - self._loaded_at > self._settings.settle:
                self.notes.append("the page had not come to rest when it was taken")
                return
        self.notes.append("the page was still loading when it was taken")

    def measure(self) -> tuple[str, int]:
        """Return the title and the height of the page."""
        measured = self._retry(lambda: self._evaluate(MEASURE_JS))
        height = measured.get("height") if isinstance(measured, dict) else 0
        title = measured.get("title") if isinstance(measured, dict) else ""
        return str(title), int(height or 0)

    def take_screenshot(self, height: int) -> tuple[bytes, int]:
        """Return the first screens as JPEG, and the height of the picture."""
        settings = self._settings
        height = max(MIN_HEIGHT, min(height, settings.longest))
        clip = {"x": 0, "y": 0, "width": settings.width, "height": height, "scale": 1}
        result = self._retry(
            lambda: self._call_page(
                "Page.captureScreenshot",
                format="jpeg",
                quality=settings.quality,
                clip=clip,
                captureBeyondViewport=True,
            )
        )
        return b64decode(result["data"]), height

    def read_html(self) -> str:
        """Return the page as HTML."""
        max_chars = self._settings.page_bytes

        def read() -> str:
            length = int(self._evaluate(SERIALISE_JS % max_chars) or 0)
            end = min(length, max_chars)
            parts = [str(self._evaluate(READ_SLICE_JS % (i, i + SLICE_CHARS))) for i in range(0, end, SLICE_CHARS)]
            if end < length:
                self.notes.append(f"only the first {max_chars >> 20:,} MB of the page's HTML are kept")
            # Characters beyond 16 bits may have been cut in two.
            return "".join(parts).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

        return self._retry(read)

    def _set_up(self, agent: str) -> None:
        settings = self._settings
        self._call("Browser.setDownloadBehavior", behavior="deny", browserContextId=self._context)
        self._call("Target.setDiscoverTargets", discover=True)
        size = {"width": settings.width, "height": settings.height}
        target = self._call("Target.createTarget", url="about:blank", browserContextId=self._context, **size)
        self._target = str(target["targetId"])
        self._session = str(self._call("Target.attachToTarget", targetId=self._target, flatten=True)["sessionId"])
        self._call_page("Inspector.enable")
        self._call_page("Page.enable")
        self._call_page("Network.enable", maxTotalBufferSize=0, maxResourceBufferSize=0)
        self._call_page("Network.setBypassServiceWorker", bypass=True)
        self._call_page("Emulation.setUserAgentOverride", userAgent=agent)
        self._call_page("Emulation.setDeviceMetricsOverride", deviceScaleFactor=1, mobile=False, **size)
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        light = {"name": "prefers-color-scheme", "value": "light"}
        self._call_page("Emulation.setEmulatedMedia", features=[still, light])
        self._call_page("Page.addScriptToEvaluateOnNewDocument", source=WATCH_CHANGES_JS, worldName=WORLD)

    def _call(self, method: str, **parameters: Any) -> Message:
        return self._pipe.call(method, self._deadline, **parameters)

    def _call_page(self, method: str, deadline: float | None = None, **parameters: Any) -> Message:
        """Like `_call`, for the page itself."""
        return self._pipe.call(method, deadline or self._deadline, self._session, **parameters)

    def _evaluate(self, expression: str) -> Any:
        """Return the value of an expression in our isolated world of the page."""
        world = self._call_page("Page.createIsolatedWorld", frameId=self._target, worldName=WORLD)["executionContextId"]
        result = self._call_page("Runtime.evaluate", expression=expression, contextId=world, returnByValue=True)
        if "exceptionDetails" in result:
            raise CommandFailed("a script failed in the page")
        return result.get("result", {}).get("value")

    def _retry(self, call: Callable[[], T]) -> T:
        """Try again if the page went to another address meanwhile."""
        for _ in range(MAX_RETRIES):
            with suppress(CommandFailed):
                return call()
            self._process_events()
        return call()

    def _process_events(self) -> None:
        until = time.monotonic() + POLL_SECONDS
        with suppress(DeadlineExceeded):
            while True:
                self._pipe.process_events(min(until, self._deadline))

    def _is_idle(self) -> bool:
        if self._loaded_at is None or self._open_requests:
            return False
        idle_seconds = time.monotonic() - max(self._changed_at, self._loaded_at)
        if idle_seconds < IDLE_SECONDS:
            return False
        if idle_seconds >= NETWORK_IDLE_SECONDS:
            return True
        try:
            return float(self._evaluate(QUIET_TIME_JS) or 0) >= IDLE_SECONDS * 1000
        except CommandFailed:
            return False  # the page is going elsewhere

    def _handle_event(self, session: str, event: str, params: Message) -> None:
        if session == self._session and self._session:
            handler = _HANDLERS.get(event)
            if handler is not None:
                handler(self, params)
        elif event == "Target.targetCreated":
            self._close_other(params.get("targetInfo", {}))
        elif event == "Target.targetCrashed" and params.get("targetId") == self._target:
            self._on_crash(params)

    def _close_other(self, target: Message) -> None:
        ours = target.get("browserContextId") == self._context and target.get("type") == "page"
        if ours and self._target and target.get("targetId") != self._target:
            self._pipe.send("Target.closeTarget", targetId=target.get("targetId"))

    def _on_crash(self, _params: Message) -> None:
        raise TabCrashed

    def _on_dialog(self, _params: Message) -> None:
        self._pipe.send("Page.handleJavaScriptDialog", self._session, accept=False)

    def _on_navigated(self, params: Message) -> None:
        frame = params.get("frame", {})
        if frame.get("parentId"):
            return
        self._navigations += 1
        if self._navigations > MAX_NAVIGATIONS:
            raise TooManyRedirects
        self.url = str(frame.get("url", "")) + str(frame.get("urlFragment", ""))
        self.unreachable = frame.get("unreachableUrl")
        self._loader = str(frame.get("loaderId", ""))
        self.status, self.headers = self._responses.get(self._loader, (0, {}))
        self._open_requests = {request for request in self._open_requests if request == self._loader}
        self._loaded_at = None
        self._changed_at = time.monotonic()

    def _on_navigated_within(self, params: Message) -> None:
        if params.get("frameId") == self._target:
            self.url = str(params.get("url", self.url))

    def _on_loaded(self, _params: Message) -> None:
        self._loaded_at = time.monotonic()

    def _on_request(self, params: Message) -> None:
        url = str(params.get("request", {}).get("url", ""))
        if not url.startswith(("http://", "https://")):
            return
        self._allow_host(url)
        if params.get("type") in UNCOUNTED:
            return
        self._request_count += 1
        self._changed_at = time.monotonic()
        self._open_requests.add(str(params.get("requestId")))
        if self._request_count == self._settings.requests:
            self._pipe.send("Network.setBlockedURLs", self._session, urls=["*"])
            self.notes.append(f"only the first {self._request_count:,} parts were loaded")

    def _on_web_socket(self, params: Message) -> None:
        self._allow_host(str(params.get("url", "")))

    def _on_response(self, params: Message) -> None:
        if params.get("type") != "Document" or params.get("frameId") != self._target:
            return
        response = params.get("response", {})
        headers = {str(name).lower(): str(value) for name, value in response.get("headers", {}).items()}
        loader = str(params.get("loaderId"))
        self._responses[loader] = int(response.get("status", 0)), headers
        if loader == self._loader:
            self.status, self.headers = self._responses[loader]

    def _on_request_ended(self, params: Message) -> None:
        self._open_requests.discard(str(params.get("requestId")))
        self._changed_at = time.monotonic()


_HANDLERS: dict[str, Callable[[Tab, Message], None]] = {
    "Inspector.targetCrashed": Tab._on_crash,
    "Page.javascriptDialogOpening": Tab._on_dialog,
    "Page.frameNavigated": Tab._on_navigated,
    "Page.navigatedWithinDocument": Tab._on_navigated_within,
    "Page.loadEventFired": Tab._on_loaded,
    "Network.requestWillBeSent": Tab._on_request,
    "Network.webSocketCreated": Tab._on_web_socket,
    "Network.responseReceived": Tab._on_response,
    "Network.loadingFinished": Tab._on_request_ended,
    "Network.loadingFailed": Tab._on_request_ended,
}
