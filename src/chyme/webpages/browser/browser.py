"""Opens web pages in a Chromium of our own, which is reused for later pages."""

from __future__ import annotations

import atexit
import functools
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from chyme.core.files.temporary_folder import TemporaryFolder
from chyme.digester import Outside
from chyme.errors import (
    AddressRefused,
    ChildCrashed,
    DigestError,
    EngineUnavailable,
    LimitReached,
    NetworkFailed,
    TimedOut,
    UnreadableFile,
)
from chyme.webpages.browser.chromium_process import PREFIX, BrowserStartError, Chromium, MemoryLimitExceeded
from chyme.webpages.browser.devtools_pipe import BrowserDisconnected, CommandFailed, DeadlineExceeded
from chyme.webpages.browser.executable import INSTALL_HINT, browser_program
from chyme.webpages.browser.proxy import REFUSED_HEADER, Proxy, Traffic
from chyme.webpages.browser.tab import Tab, TabCrashed, TooManyRedirects
from chyme.webpages.settings import BrowserSettings

FORGET_SECONDS = 5.0
MIN_SHARE_LEFT = 0.5  # of a page's time, for a second start to be worthwhile
PORTS = {"http": 80, "https": 443}


@functools.cache
def browser(settings: BrowserSettings) -> Browser:
    """Return the Chromium of this process; it starts with its first page and ends with this process."""
    instance = Browser(settings)
    atexit.register(instance.close)
    return instance


class Browser:
    """One Chromium at a time, replaced when it dies, hangs, grows or has served enough pages."""

    def __init__(self, settings: BrowserSettings) -> None:
        self._settings = settings
        self._folder: TemporaryFolder | None = None
        self._chromium: Chromium | None = None

    @property
    def pid(self) -> int | None:
        return self._chromium.pid if self._chromium else None

    @property
    def folder(self) -> Path | None:
        return self._folder.path if self._folder else None

    def visit(self, url: str, outside: Outside, name: str, *, shot: bool = True) -> RenderedPage:
        """Return the page at an address after its scripts have run; `name`: of the file, for messages."""
        if _split(name, url).scheme not in PORTS:
            raise AddressRefused(f"{name}: only http and https addresses are opened")
        try:
            chromium, fresh = self._get_chromium(name)
            deadline = time.monotonic() + self._settings.seconds
            try:
                return self._visit(chromium, url, outside, name, deadline, shot)
            except BrowserDisconnected:
                if fresh or deadline - time.monotonic() < self._settings.seconds * MIN_SHARE_LEFT:
                    raise
            # Perhaps an earlier page had broken it.
            self._stop()
            return self._visit(self._get_chromium(name)[0], url, outside, name, deadline, shot)
        except (BrowserDisconnected, TabCrashed):
            self._stop()
            raise ChildCrashed(f"{name}: Chromium crashed on the page") from None
        except MemoryLimitExceeded:
            self._stop()
            raise LimitReached(
                f"{name}: the page takes more than {self._settings.memory_mb:,} MB in Chromium; "
                "raise browser_memory_mb to see it"
            ) from None
        except DeadlineExceeded:
            self._stop()
            raise TimedOut(
                f"{name}: Chromium had no answer or no picture of the page within {self._settings.seconds:g} seconds"
            ) from None
        except CommandFailed as error:
            self._stop()
            raise ChildCrashed(f"{name}: Chromium could not take the page ({error})") from None
        except BaseException:
            self._stop_if_worn_out()
            raise

    def close(self) -> None:
        """End Chromium and remove its folder."""
        self._stop()
        if self._folder:
            self._folder.remove()
            self._folder = None

    def _get_chromium(self, name: str) -> tuple[Chromium, bool]:
        """Return our Chromium, and whether it was started just now."""
        self._stop_if_worn_out()
        if self._chromium:
            return self._chromium, False
        program = browser_program(self._settings.program)
        if program is None:
            raise EngineUnavailable(f"{name}: no Chromium found; {INSTALL_HINT} and the page is opened")
        try:
            self._folder = self._folder or TemporaryFolder(PREFIX)
            self._chromium = Chromium(program, self._settings, self._folder)
        except BrowserStartError as error:
            raise EngineUnavailable(f"{name}: {error}") from error
        except OSError as error:
            raise EngineUnavailable(f"{name}: Chromium cannot be used ({error.strerror or error})") from error
        return self._chromium, True

    def _stop_if_worn_out(self) -> None:
        """Stop a Chromium that is dead, has served enough pages, or has grown too large."""
        chromium = self._chromium
        if chromium is None:
            return
        max_bytes = self._settings.memory_mb << 19
        if chromium.pid is None or chromium.served >= self._settings.pages or chromium.memory > max_bytes:
            self._stop()

    def _stop(self) -> None:
        chromium, self._chromium = self._chromium, None
        if chromium is not None:
            chromium.stop()

    def _visit(
        self, chromium: Chromium, url: str, outside: Outside, name: str, deadline: float, shot: bool
    ) -> RenderedPage:
        chromium.served += 1
        with _open_proxy(outside, self._settings, name) as proxy:
            tab = Tab(chromium, proxy, self._settings, deadline)
            try:
                page = self._render(tab, proxy, url, name, shot, chromium.version)
            except DigestError:
                self._close_tab(tab)
                raise
            except TooManyRedirects:
                self._close_tab(tab)
                raise UnreadableFile(f"{name}: the page keeps redirecting to other addresses") from None
            self._close_tab(tab)
            return page

    def _close_tab(self, tab: Tab) -> None:
        try:
            tab.close(time.monotonic() + FORGET_SECONDS)
        except (BrowserDisconnected, CommandFailed, DeadlineExceeded, MemoryLimitExceeded):
            self._stop()  # the result is known already

    def _render(self, tab: Tab, proxy: Proxy, url: str, name: str, shot: bool, version: str) -> RenderedPage:
        failed, traffic = tab.navigate(url), proxy.traffic
        if failed:
            raise _make_error(name, tab.unreachable or url, failed, traffic)
        tab.wait_until_idle()
        _check_page(tab, name, proxy)
        title, height = tab.measure()
        screenshot, height = tab.take_screenshot(height) if shot else (None, 0)
        html = tab.read_html()
        _check_page(tab, name, proxy)
        notes = [*tab.notes, *([traffic.full] if traffic.full else [])]
        return RenderedPage(
            url=tab.url,
            status=tab.status,
            title=title,
            html=html,
            screenshot=screenshot,
            width=self._settings.width if screenshot else 0,
            height=height,
            engine=f"Chromium {version}",
            refused=tuple(traffic.refused),
            notes=tuple(notes),
            retry_after=tab.headers.get("retry-after"),
        )


def _open_proxy(outside: Outside, settings: BrowserSettings, name: str) -> Proxy:
    try:
        return Proxy(outside, settings)
    except OSError as error:
        raise EngineUnavailable(f"{name}: Chromium's proxy cannot be started ({error.strerror or error})") from error


def _check_page(tab: Tab, name: str, proxy: Proxy) -> None:
    """Raise unless the tab shows a page that came from the web."""
    if tab.unreachable:
        raise _make_error(name, tab.unreachable, "no answer", proxy.traffic)
    if tab.headers.get(REFUSED_HEADER.lower()) == proxy.mark:
        raise _make_error(name, tab.url, "refused", proxy.traffic)
    if not tab.url:
        raise DeadlineExceeded  # the answer has begun, but no page of it was shown in time
    scheme = _split(name, tab.url).scheme
    if scheme not in PORTS:
        raise UnreadableFile(f"{name}: the page sends its visitors to {scheme}:, which is no page")


def _make_error(name: str, url: str, reason: str, traffic: Traffic) -> DigestError:
    """Return why an address could not be opened: the guard's own error if it was the guard."""
    guard_error = _guard_error_for(url, traffic)
    if guard_error is not None:
        return type(guard_error)(f"{name}: {guard_error}", retry_after=guard_error.retry_after, tried=guard_error.tried)
    if reason == "download":
        return UnreadableFile(f"{name}: there is a file to download behind the link, and no page")
    if reason in ("net::ERR_UNSAFE_REDIRECT", "net::ERR_DISALLOWED_URL_SCHEME", "net::ERR_UNKNOWN_URL_SCHEME"):
        return AddressRefused(f"{name}: the link leads to an address that is neither http nor https")
    if reason == "net::ERR_TOO_MANY_REDIRECTS":
        return UnreadableFile(f"{name}: the link keeps redirecting to other addresses")
    if reason == "net::ERR_INVALID_AUTH_CREDENTIALS":
        return UnreadableFile(f"{name}: the page asks for a password")
    return NetworkFailed(f"{name}: Chromium could not open the page ({reason.removeprefix('net::')})")


def _split(name: str, url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        raise UnreadableFile(f"{name}: the link is not an address that can be read") from None


def _guard_error_for(url: str, traffic: Traffic) -> DigestError | None:
    """Return the guard's error for the host of this address."""
    try:
        parts = urlsplit(url)
        host = f"{parts.hostname}:{parts.port or PORTS.get(parts.scheme, 0)}"
    except ValueError:
        return None
    return traffic.refused.get(host) or traffic.failed.get(host)


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A page after its scripts have run."""

    url: str  # after all redirects
    status: int  # of its HTTP response
    title: str
    html: str  # the finished page, with shadow trees inserted
    screenshot: bytes | None  # JPEG of the first screens
    width: int  # of the screenshot, in pixels; 0 without one
    height: int
    engine: str  # as in `Chromium 150.0.7871.100`
    refused: tuple[str, ...] = ()  # hosts that the page asked for and the guard refused
    notes: tuple[str, ...] = ()  # what is missing or wrong, each as part of a sentence
    retry_after: str | None = None  # the header of that name, if the server asks for a pause
