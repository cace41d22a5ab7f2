"""The parts of a page are fetched quickly, within their common limits, and never raise an error."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import local_faults as faults
import local_sites as sites
import pytest
from local_web import Asked, Listener, LocalWeb, Page, Wire
from waiting import AMPLE

from chyme.core.outbound.guard import Guard
from chyme.core.outbound.policy import policy_of
from chyme.webpages.http_client.fetcher import Fetcher
from chyme.webpages.settings import CrawlLimits

pytestmark = pytest.mark.slow

MOST = 100_000


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    with LocalWeb() as web:
        web.page("/dot", b"a picture", {"Content-Type": "image/png"})
        yield web


def fetcher_of(web: LocalWeb, limits: CrawlLimits | None = None) -> Fetcher:
    names = {"127.0.0.1": "127.0.0.1", "cdn.test": "127.0.0.1"}
    guard = Guard(policy_of(f"127.0.0.1:{web.port}, cdn.test:{web.port}"), delay=5, resolve=lambda host: [names[host]])
    return Fetcher(guard, limits or CrawlLimits(), "link.url")


def test_a_part_arrives_unchanged_also_over_redirects(web: LocalWeb) -> None:
    web.page("/old", headers={"Location": f"http://cdn.test:{web.port}/dot"}, status=301)
    with fetcher_of(web) as fetcher:
        part = fetcher.fetch_part(web.url("/old"), MOST)
    assert part is not None
    assert (part.body, part.mime, part.hops) == (b"a picture", "image/png", (web.url("/old"),))


def test_parts_are_requested_as_pictures_and_pages_as_pages(web: LocalWeb) -> None:
    with fetcher_of(web) as fetcher:
        fetcher.fetch_part(web.url("/dot"), MOST)
        fetcher.fetch_page(web.url("/dot"))
    part, page = (request.headers["accept"] for request in web.asked if request.path == "/dot")
    assert part == "image/webp,image/*,text/css,font/woff2,*/*;q=0.8"
    assert page.startswith("text/html,")


def test_parts_do_not_wait_for_turns_and_share_connections(web: LocalWeb) -> None:
    with fetcher_of(web) as fetcher:
        for _ in range(20):
            assert fetcher.fetch_part(web.url("/dot"), MOST) is not None
    assert web.connections == 1


def test_threads_may_ask_at_once(web: LocalWeb) -> None:
    together = threading.Barrier(4, timeout=AMPLE)

    def answer(_request: Asked, _wire: Wire) -> Page:
        together.wait()
        return Page(b"four at once")

    web.handler("/four", answer)
    with fetcher_of(web) as fetcher, ThreadPoolExecutor(8) as threads:
        assert all(threads.map(lambda _: fetcher.fetch_part(web.url("/four"), MOST), range(4)))
        parts = list(threads.map(lambda _: fetcher.fetch_part(web.url("/dot"), MOST), range(60)))
    assert all(part is not None and part.body == b"a picture" for part in parts)
    assert web.connections <= 6


def test_parts_that_cannot_be_fetched_are_none(web: LocalWeb) -> None:
    addresses = [
        *("", "no address", "data:image/png;base64,xx", "ftp://127.0.0.1/", "http://[", "javascript:1", "//x", "/dot"),
        *("http://", "http://" + "a" * 70_000, "http://a\x00b/", "http://h..b/", "https://.x/", "http://\udc80/"),
        *(web.url("/none"), sites.status(web, 500), sites.busy(web, 429, 60), sites.redirect_loop(web)),
        *(faults.cut_short(web), faults.no_http(web), faults.huge_headers(web), faults.gzip_bomb(web)),
        *(faults.endless_stream(web), faults.huge_page(web, megabytes=1), web.url("/dot").replace("http:", "https:")),
        web.page("/odd", b"x", {"Content-Encoding": "br"}),
        web.page("/lost", headers={"Location": "http://["}, status=302),
    ]
    with Listener() as forbidden, fetcher_of(web) as fetcher:
        addresses += [forbidden.url(), web.page("/out", headers={"Location": forbidden.url()}, status=302)]
        for address in addresses:
            assert fetcher.fetch_part(address, MOST) is None, address
        assert forbidden.connections == 0


def test_a_part_has_no_more_bytes_than_allowed(web: LocalWeb) -> None:
    with fetcher_of(web) as fetcher:
        assert fetcher.fetch_part(web.url("/dot"), len(b"a picture")) is not None
        assert fetcher.fetch_part(web.url("/dot"), len(b"a picture") - 1) is None


def test_the_number_of_parts_is_limited(web: LocalWeb) -> None:
    with fetcher_of(web, CrawlLimits(parts=3)) as fetcher:
        assert [fetcher.fetch_part(web.url("/dot"), MOST) is not None for _ in range(5)] == [True] * 3 + [False] * 2
    assert len(web.asked) == 3


def test_all_parts_together_end_on_time(web: LocalWeb) -> None:
    drip = faults.slow_drip(web, seconds=0.05)
    with fetcher_of(web, CrawlLimits(parts_seconds=0.5)) as fetcher, ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda _: fetcher.fetch_part(drip, MOST), range(12))) == [None] * 12
        assert fetcher.fetch_part(web.url("/dot"), MOST) is None


def test_a_connection_that_the_server_closed_is_replaced(web: LocalWeb) -> None:
    first: list[int] = []

    def once_per_connection(request: Asked, wire: Wire) -> Page | None:
        if request.connection in first:
            return None  # hangs up instead of an answer
        first.append(request.connection)
        return Page(b"fresh")

    web.handler("/moody", once_per_connection)
    with fetcher_of(web) as fetcher:
        assert [fetcher.fetch_part(web.url("/moody"), MOST) is not None for _ in range(3)] == [True] * 3


def test_a_part_gets_the_password_of_its_page_but_brings_none(web: LocalWeb) -> None:
    web.page("/page", "<p>x")
    with fetcher_of(web) as fetcher:
        fetcher.fetch_page(f"http://me:s3cret@{web.host}/page")
        fetcher.fetch_part(web.url("/dot"), MOST)
        fetcher.fetch_part(f"http://cdn.test:{web.port}/dot", MOST)
        fetcher.fetch_part(f"http://you:other@cdn.test:{web.port}/dot", MOST)
        web.page("/old", headers={"Location": f"http://you:other@cdn.test:{web.port}/dot"}, status=301)
        moved = fetcher.fetch_part(web.url("/old"), MOST)
    assert moved is not None
    assert "other" not in moved.url
    sent = [request.headers.get("authorization") for request in web.asked]
    assert sent[0] == sent[1] is not None
    assert sent[2:] == [None, None, sent[0], None]


def test_a_connection_that_came_too_late_is_closed(web: LocalWeb) -> None:
    opened: list[socket.socket] = []
    guard = Guard(policy_of(web.host), delay=0)

    class Slow:
        def connect(self, host: str, port: int, polite: bool = False) -> socket.socket:
            opened.append(guard.connect(host, port, polite))
            time.sleep(0.2)
            return opened[-1]

        def hold(self, host: str, seconds: float) -> None:
            raise AssertionError

    with Fetcher(Slow(), CrawlLimits(parts_seconds=0.1), "link.url") as fetcher:
        assert fetcher.fetch_part(web.url("/dot").replace("http:", "https:"), MOST) is None
        assert [sock.fileno() for sock in opened] == [-1]


def test_a_closed_fetcher_fetches_no_part_and_leaves_nothing_open(web: LocalWeb) -> None:
    opened: list[socket.socket] = []
    guard = Guard(policy_of(web.host), delay=0)

    class Gate:
        def connect(self, host: str, port: int, polite: bool = False) -> socket.socket:
            opened.append(guard.connect(host, port, polite))
            return opened[-1]

        def hold(self, host: str, seconds: float) -> None:
            raise AssertionError

    with Fetcher(Gate(), CrawlLimits(), "link.url") as fetcher:
        assert fetcher.fetch_part(web.url("/dot"), MOST) is not None
    assert fetcher.fetch_part(web.url("/dot"), MOST) is None
    assert [sock.fileno() for sock in opened] == [-1]
