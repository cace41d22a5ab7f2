"""Visit web pages by a Chromium of our own, kept for the pages that follow."""

from __future__ import annotations

import atexit
import functools
import time
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
from chyme.webpages.browser.rendered_page import RenderedPage
from chyme.webpages.browser.settings import BrowserSettings
from chyme.webpages.browser.tab import Tab, TabCrashed, TooManyRedirects

FORGET_SECONDS = 5.0
LEAST_LEFT = 0.5  # of a page's time, that a second start is worth its while
PORTS = {"http": 80, "https": 443}


@functools.cache
def browser(settings: BrowserSettings) -> Browser:
    """This process's Chromium; it starts with its first page and ends with this process."""
    made = Browser(settings)
    atexit.register(made.close)
    return made


class Browser:
    """One Chromium at a time, replaced when it dies, hangs, grows or has served long enough."""

    def __init__(self, settings: BrowserSettings) -> None:
        self._settings = settings
        self._home: TemporaryFolder | None = None
        self._chromium: Chromium | None = None

    @property
    def pid(self) -> int | None:
        return self._chromium.pid if self._chromium else None

    @property
    def folder(self) -> Path | None:
        return self._home.path if self._home else None

    def visit(self, url: str, outside: Outside, name: str, *, shot: bool = True) -> RenderedPage:
        """The page behind an address, after its scripts have run; `name` is the file's, for messages."""
        if _split(name, url).scheme not in PORTS:
            raise AddressRefused(f"{name}: only http and https addresses are opened")
        try:
            chromium, fresh = self._running(name)
            deadline = time.monotonic() + self._settings.seconds
            try:
                return self._visited(chromium, url, outside, name, deadline, shot)
            except BrowserDisconnected:
                if fresh or deadline - time.monotonic() < self._settings.seconds * LEAST_LEFT:
                    raise
            # Perhaps an earlier page had made it ill.
            self._stop()
            return self._visited(self._running(name)[0], url, outside, name, deadline, shot)
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
            self._retire()
            raise

    def close(self) -> None:
        """End Chromium and remove its folder."""
        self._stop()
        if self._home:
            self._home.remove()
            self._home = None

    def _running(self, name: str) -> tuple[Chromium, bool]:
        """Our Chromium, and whether it was started just now."""
        self._retire()
        if self._chromium:
            return self._chromium, False
        program = browser_program(self._settings.program)
        if program is None:
            raise EngineUnavailable(f"{name}: no Chromium found; {INSTALL_HINT} and the page is opened")
        try:
            self._home = self._home or TemporaryFolder(PREFIX)
            self._chromium = Chromium(program, self._settings, self._home)
        except BrowserStartError as error:
            raise EngineUnavailable(f"{name}: {error}") from error
        except OSError as error:
            raise EngineUnavailable(f"{name}: Chromium cannot be used ({error.strerror or error})") from error
        return self._chromium, True

    def _retire(self) -> None:
        """Do without a Chromium that is dead, has served long enough, or has grown."""
        found = self._chromium
        if found is None:
            return
        grown = self._settings.memory_mb << 19
        if found.pid is None or found.served >= self._settings.pages or found.memory > grown:
            self._stop()

    def _stop(self) -> None:
        chromium, self._chromium = self._chromium, None
        if chromium is not None:
            chromium.stop()

    def _visited(
        self, chromium: Chromium, url: str, outside: Outside, name: str, deadline: float, shot: bool
    ) -> RenderedPage:
        chromium.served += 1
        with _proxy(outside, self._settings, name) as proxy:
            tab = Tab(chromium, proxy, self._settings, deadline)
            try:
                visited = self._seen(tab, proxy, url, name, shot, chromium.version)
            except DigestError:
                self._forget(tab)
                raise
            except TooManyRedirects:
                self._forget(tab)
                raise UnreadableFile(f"{name}: the page leads on and on to other addresses") from None
            self._forget(tab)
            return visited

    def _forget(self, tab: Tab) -> None:
        try:
            tab.close(time.monotonic() + FORGET_SECONDS)
        except (BrowserDisconnected, CommandFailed, DeadlineExceeded, MemoryLimitExceeded):
            self._stop()  # what there was to know is known

    def _seen(self, tab: Tab, proxy: Proxy, url: str, name: str, shot: bool, version: str) -> RenderedPage:
        failed, traffic = tab.navigate(url), proxy.traffic
        if failed:
            raise _failure(name, tab.unreachable or url, failed, traffic)
        tab.wait_until_idle()
        _check(tab, name, proxy)
        title, height = tab.measure()
        screenshot, height = tab.take_screenshot(height) if shot else (None, 0)
        html = tab.read_html()
        _check(tab, name, proxy)
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


def _proxy(outside: Outside, settings: BrowserSettings, name: str) -> Proxy:
    try:
        return Proxy(outside, settings)
    except OSError as error:
        raise EngineUnavailable(f"{name}: Chromium has no way out ({error.strerror or error})") from error


def _check(tab: Tab, name: str, proxy: Proxy) -> None:
    """Raise unless the tab shows a web page that came from the web."""
    if tab.unreachable:
        raise _failure(name, tab.unreachable, "no answer", proxy.traffic)
    if tab.headers.get(REFUSED_HEADER.lower()) == proxy.mark:
        raise _failure(name, tab.url, "refused", proxy.traffic)
    scheme = _split(name, tab.url).scheme
    if scheme not in PORTS:
        raise UnreadableFile(f"{name}: the page sends its visitors to {scheme or 'nowhere'}:, which is no page")


def _failure(name: str, url: str, words: str, traffic: Traffic) -> DigestError:
    """Why an address could not be opened: in the guard's words, where it was the guard."""
    kept = _kept(url, traffic)
    if kept is not None:
        return _named(name, kept)
    if words == "download":
        return UnreadableFile(f"{name}: there is a file to download behind the link, and no page")
    if words in ("net::ERR_UNSAFE_REDIRECT", "net::ERR_DISALLOWED_URL_SCHEME", "net::ERR_UNKNOWN_URL_SCHEME"):
        return AddressRefused(f"{name}: the link leads to an address that is neither http nor https")
    if words == "net::ERR_TOO_MANY_REDIRECTS":
        return UnreadableFile(f"{name}: the link leads on and on to other addresses")
    if words == "net::ERR_INVALID_AUTH_CREDENTIALS":
        return UnreadableFile(f"{name}: the page asks for a password")
    return NetworkFailed(f"{name}: Chromium could not open the page ({words.removeprefix('net::')})")


def _split(name: str, url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        raise UnreadableFile(f"{name}: the link is not an address that can be read") from None


def _kept(url: str, traffic: Traffic) -> DigestError | None:
    """What the guard said when it was asked for the host of this address."""
    try:
        parts = urlsplit(url)
        where = f"{parts.hostname}:{parts.port or PORTS.get(parts.scheme, 0)}"
    except ValueError:
        return None
    return traffic.refused.get(where) or traffic.failed.get(where)


def _named(name: str, error: DigestError) -> DigestError:
    return type(error)(f"{name}: {error}", retry_after=error.retry_after, tried=error.tried)
