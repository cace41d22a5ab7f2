"""Pages are fetched through the guard and always end in time, however their server behaves."""

from __future__ import annotations

import base64
import gzip
import socket
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass, field

import local_faults as faults
import local_sites as sites
import pytest
from local_web import Asked, Listener, LocalWeb, Page, Wire
from waiting import AMPLE

from chyme.core.outbound.guard import Guard
from chyme.core.outbound.policy import policy_of
from chyme.errors import AddressRefused, LimitReached, NetworkFailed, RateLimited, TimedOut, UnreadableFile
from chyme.webpages.http_client.fetch_result import FetchResult
from chyme.webpages.http_client.fetcher import Fetcher
from chyme.webpages.http_client.responses import ServerError
from chyme.webpages.http_client.text_decoding import decode_page
from chyme.webpages.settings import CrawlLimits

pytestmark = pytest.mark.slow

MB = 1024 * 1024
BRIEFLY = CrawlLimits(seconds=0.6, page_bytes=MB)
PATIENTLY = CrawlLimits(seconds=AMPLE, page_bytes=MB)


@dataclass
class RecordingGuard:
    """The guard, with a record of its calls."""

    guard: Guard
    opened: list[tuple[str, bool]] = field(default_factory=list)  # host, polite
    pauses: list[tuple[str, float]] = field(default_factory=list)
    socks: list[socket.socket] = field(default_factory=list)

    def connect(self, host: str, port: int, polite: bool = False) -> socket.socket:
        self.opened.append((host, polite))
        sock = self.guard.connect(host, port, polite)
        self.socks.append(sock)
        return sock

    def hold(self, host: str, seconds: float) -> None:
        self.pauses.append((host, seconds))


def names_of(port: int) -> Guard:
    """A guard for which every name under .test is this machine, at the only allowed port."""
    allowed = f"127.0.0.1:{port}, *.test:{port}"
    return Guard(policy_of(allowed), delay=0, resolve=lambda _host: ["127.0.0.1"])


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    with LocalWeb() as web:
        yield web


@pytest.fixture
def gate(web: LocalWeb) -> Iterator[RecordingGuard]:
    gate = RecordingGuard(names_of(web.port))
    yield gate
    assert [sock for sock in gate.socks if sock.fileno() != -1] == [], "a connection was left open"


@pytest.fixture
def forbidden() -> Iterator[Listener]:
    with Listener() as listener:
        yield listener
        assert listener.connections == 0


def fetch(gate: RecordingGuard, url: str, limits: CrawlLimits = PATIENTLY) -> FetchResult:
    with Fetcher(gate, limits, "link.url") as fetcher:
        return fetcher.fetch_page(url)


def test_a_page_comes_with_its_status_and_headers(web: LocalWeb, gate: RecordingGuard) -> None:
    url = web.page("/article", sites.PARAGRAPHS[0], {"X-Told": ("first", "second"), "Set-Cookie": "a=1"})
    page = fetch(gate, url + "#part", CrawlLimits(agent="chyme/1 (tester)\r\nX-Sneaky: ü"))

    assert (page.url, page.status, page.mime, page.charset, page.hops) == (url, 200, "text/html", "utf-8", ())
    assert decode_page(page) == sites.PARAGRAPHS[0]
    assert page.headers["x-told"] == "first"
    assert "set-cookie" not in page.headers
    headers = web.asked[0].headers
    assert headers["user-agent"] == "chyme/1 (tester)X-Sneaky:"
    assert headers["accept-encoding"] == "gzip, deflate"
    assert headers["host"] == web.host
    assert not {"referer", "cookie", "authorization"} & set(headers)


def test_redirects_of_every_kind_are_followed_each_over_its_own_connection(web: LocalWeb, gate: RecordingGuard) -> None:
    page = fetch(gate, sites.redirect_chain(web))

    assert page.url == web.url("/chain/end")
    assert [hop.removeprefix(web.url("")) for hop in page.hops] == [
        *("/chain", "/chain/2", "/chain/deep/3", "/chain/4?of=caf%C3%A9", "/chain/5"),
    ]
    assert web.connections == len(gate.opened) == 6


def test_only_the_first_connection_to_a_host_waits_for_its_turn(web: LocalWeb, gate: RecordingGuard) -> None:
    web.page("/a", headers={"Location": "/b"}, status=301)
    web.page("/b", headers={"Location": f"http://other.test:{web.port}/c"}, status=302)
    web.page("/c", "here")

    assert fetch(gate, web.url("/a")).body == b"here"
    assert gate.opened == [("127.0.0.1", True), ("127.0.0.1", False), ("other.test", True)]


def test_waiting_for_a_turn_does_not_count_as_time_of_the_page(web: LocalWeb) -> None:
    patient = RecordingGuard(Guard(policy_of(web.host), delay=3.0))
    url = web.page("/", "here")
    begun = time.monotonic()
    for _ in range(2):
        assert fetch(patient, url, CrawlLimits(seconds=2.5)).body == b"here"
    assert time.monotonic() - begun >= 3.0


def test_a_page_that_moves_on_at_once_is_followed(web: LocalWeb, gate: RecordingGuard) -> None:
    page = fetch(gate, sites.meta_refresh(web))
    assert (page.url, page.hops) == (web.url("/moved/to"), (web.url("/moved"),))


@pytest.mark.parametrize(
    "body",
    [
        "<noscript><meta http-equiv=refresh content='0; url=/elsewhere'></noscript>for browsers without scripts",
        "<meta http-equiv=refresh content='30; url=/elsewhere'>read me first",
        "<meta http-equiv=refresh content='0; url=/stays'>reloads itself",
        "<meta http-equiv=refresh content='0; url=app://open/me'>opens an app",
        "<!-- <meta http-equiv=refresh content='0; url=/elsewhere'> -->a remark",
        "<meta http-equiv=refresh content='0'>nowhere to go",
    ],
)
def test_a_page_that_stays_is_not_left(web: LocalWeb, gate: RecordingGuard, body: str) -> None:
    web.page("/elsewhere", "not wanted")
    assert fetch(gate, web.page("/stays", body)).url == web.url("/stays")


def test_circular_and_endless_redirects_are_given_up(web: LocalWeb, gate: RecordingGuard) -> None:
    with pytest.raises(UnreadableFile, match=r"link\.url: the redirects of 127\.0\.0\.1 go round in a circle"):
        fetch(gate, sites.redirect_loop(web))
    with pytest.raises(LimitReached, match="more than 3 times; raise web_hops"):
        fetch(gate, sites.endless_redirects(web), CrawlLimits(hops=3))
    assert web.paths[2:] == [f"/further/{step}" for step in (1, 2, 3, 4)]


def test_a_redirect_to_the_same_page_with_a_cookie_is_no_circle(web: LocalWeb, gate: RecordingGuard) -> None:
    def answer(request: Asked, _wire: Wire) -> Page:
        if request.headers.get("cookie") == "seen=1":
            return Page(b"welcome")
        return Page(status=302, headers=(("Location", "/gate"), ("Set-Cookie", "seen=1; Path=/")))

    assert fetch(gate, web.handler("/gate", answer)).body == b"welcome"


def test_a_redirect_reaches_only_addresses_that_a_link_may_reach(
    web: LocalWeb, gate: RecordingGuard, forbidden: Listener
) -> None:
    for target in (forbidden.url("/"), "//" + forbidden.host, f"http://[::ffff:127.0.0.2]:{forbidden.port}/"):
        with pytest.raises(AddressRefused, match=r"^link\.url: .*web_allow"):
            fetch(gate, web.page("/out", headers={"Location": target}, status=302))
    for target in ("ftp://127.0.0.1/x", "file:///etc/passwd", "javascript:alert(1)", "data:text/html,x"):
        with pytest.raises(AddressRefused, match="only http and https are followed"):
            fetch(gate, web.page("/out", headers={"Location": target}, status=302))
    with pytest.raises(AddressRefused):
        fetch(gate, forbidden.url())


def test_a_name_that_changes_its_address_between_two_hops_is_caught_at_the_second(web: LocalWeb) -> None:
    answers = iter(["127.0.0.1", "127.0.0.2"])
    guard = Guard(policy_of(web.host), delay=0, resolve=lambda _host: [next(answers)])
    web.page("/a", headers={"Location": "/b"}, status=302)
    with Listener(port=web.port) as forbidden:
        with pytest.raises(AddressRefused):
            fetch(RecordingGuard(guard), f"http://fickle.test:{web.port}/a")
        assert forbidden.connections == 0
    assert web.paths == ["/a"]


@pytest.mark.parametrize("link", ["http://", "http://[::1", "http:///path", "http://a\tb/", "http://" + "a" * 70_000])
def test_a_link_that_is_no_address_is_unreadable(gate: RecordingGuard, link: str) -> None:
    with pytest.raises(UnreadableFile, match=r"^link\.url: the link"):
        fetch(gate, link)


def test_a_password_in_the_address_is_sent_only_to_its_origin(web: LocalWeb, gate: RecordingGuard) -> None:
    web.page("/a", headers={"Location": "/b"}, status=302)
    web.page("/b", headers={"Location": f"http://other.test:{web.port}/c"}, status=302)
    web.page("/c", headers={"Location": web.url("/d")}, status=302)
    web.page("/d", "done")
    page = fetch(gate, f"http://us%40r:s3cret@{web.host}/a")

    sent = {request.path: request.headers.get("authorization") for request in web.asked}
    right = "Basic " + base64.b64encode(b"us@r:s3cret").decode()
    assert sent == {"/a": right, "/b": right, "/c": None, "/d": right}
    assert "s3cret" not in page.url + "".join(page.hops)


def test_a_password_is_never_in_a_message(web: LocalWeb, gate: RecordingGuard) -> None:
    sites.status(web, 500, "/broken")
    for address in (f"http://me:s3cret@{web.host}/broken", "http://me:s3cret@127.0.0.2:81/", "ftp://me:s3cret@x/"):
        with pytest.raises((NetworkFailed, AddressRefused)) as caught:
            fetch(gate, address)
        assert "s3cret" not in str(caught.value)


def test_cookies_travel_along_the_redirects_and_no_further(web: LocalWeb, gate: RecordingGuard) -> None:
    cookies = ("a=1; Path=/", "b=2; Path=/deep", "c=3; Domain=other.test", "d=4; Secure", "e=5; Max-Age=0")
    web.page("/start", headers={"Set-Cookie": cookies, "Location": "/deep/x"}, status=302)
    web.page("/deep/x", headers={"Location": f"http://other.test:{web.port}/y"}, status=302)
    web.page("/y", "end")
    with Fetcher(gate, PATIENTLY, "link.url") as fetcher:
        fetcher.fetch_page(web.url("/start"))
        assert [request.headers.get("cookie") for request in web.asked] == [None, "b=2; a=1", None]
        fetcher.fetch_page(web.url("/start"))
    assert web.asked[3].headers.get("cookie") is None


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_the_page_of_a_refusal_is_returned(web: LocalWeb, gate: RecordingGuard, status: int) -> None:
    page = fetch(gate, sites.status(web, status, text="why"))
    assert (page.status, b"<p>why</p>" in page.body) == (status, True)


def test_a_huge_page_that_comes_with_a_refusal_is_cut(web: LocalWeb, gate: RecordingGuard) -> None:
    url = web.page("/gone", b"x" * 3 * MB, status=404)
    page = fetch(gate, url, CrawlLimits())
    assert page.status == 404
    assert MB // 2 < len(page.body) <= MB


def test_a_server_error_is_reported_with_its_page(web: LocalWeb, gate: RecordingGuard) -> None:
    with pytest.raises(NetworkFailed, match=r"link\.url: 127\.0\.0\.1 is in trouble and answers 500"):
        fetch(gate, sites.status(web, 500))
    with pytest.raises(ServerError) as caught:
        fetch(gate, sites.bot_walls(web)["denied"])
    assert caught.value.fetched.status == 503
    assert b"Pardon our interruption" in caught.value.fetched.body
    assert gate.pauses == []


@pytest.mark.parametrize(("status", "date"), [(429, False), (429, True), (503, False), (503, True)])
def test_a_host_that_sends_retry_after_is_left_alone_until_then(
    web: LocalWeb, gate: RecordingGuard, status: int, date: bool
) -> None:
    with pytest.raises(RateLimited, match=r"^link\.url: ") as caught:
        fetch(gate, sites.busy(web, status, 120, date))
    assert caught.value.retry_after == pytest.approx(120, abs=3)
    assert gate.pauses == [("127.0.0.1", caught.value.retry_after)]


def test_the_pause_is_bounded_and_has_a_default(web: LocalWeb, gate: RecordingGuard) -> None:
    pauses = {"7777777777": 3600, "-5": 30, "soon": 30, "Mon, 01 Jan 1990 00:00:00 GMT": 1, "": 30, "²": 30}
    for header, seconds in pauses.items():
        with pytest.raises(RateLimited) as caught:
            fetch(gate, web.page("/busy", headers={"Retry-After": header}, status=429))
        assert caught.value.retry_after == seconds, header


@pytest.mark.parametrize("site", [faults.slow_drip, faults.header_drip])
def test_a_drip_ends_on_time(web: LocalWeb, gate: RecordingGuard, site: object) -> None:
    assert callable(site)
    url = site(web, seconds=0.05)
    with pytest.raises(TimedOut, match=r"link\.url: 127\.0\.0\.1 was not done within 0\.6 s; raise web_seconds"):
        fetch(gate, url, BRIEFLY)
    assert web.hung_up.wait(AMPLE)


def test_silence_ends_on_time_too(web: LocalWeb, gate: RecordingGuard) -> None:
    with pytest.raises(TimedOut):
        fetch(gate, faults.silence(web), BRIEFLY)


def test_the_time_is_for_all_redirects_together(web: LocalWeb, gate: RecordingGuard) -> None:
    def slowly(request: Asked, wire: Wire) -> Page:
        wire.pause(0.15)
        return Page(status=302, headers=(("Location", f"/slow/{len(web.asked)}"),))

    web.handler("/slow/*", slowly)
    with pytest.raises(TimedOut):
        fetch(gate, web.url("/slow/0"), CrawlLimits(seconds=0.6, hops=50))
    assert len(web.asked) <= 5  # a request every 0.15 seconds


@pytest.mark.parametrize(
    "site",
    [faults.gzip_bomb, faults.nested_bomb, faults.endless_stream, lambda web: faults.huge_page(web, megabytes=2)],
)
def test_oversized_pages_are_given_up_at_the_limit_and_fill_no_memory(
    web: LocalWeb, gate: RecordingGuard, site: object
) -> None:
    assert callable(site)
    url = site(web)
    with pytest.raises(LimitReached):
        fetch(gate, url, CrawlLimits(page_bytes=MB))
    tracemalloc.start()
    try:
        with pytest.raises(LimitReached, match=r"link\.url: .* larger than 1 MB; raise web_page_bytes"):
            fetch(gate, url, CrawlLimits(page_bytes=MB))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 6 * MB


def test_a_page_that_announces_too_many_bytes_is_not_waited_for(web: LocalWeb, gate: RecordingGuard) -> None:
    def promise(_request: Asked, wire: Wire) -> None:
        wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
        wire.pause(10)

    with pytest.raises(LimitReached):
        fetch(gate, web.handler("/promise", promise))


def test_an_endless_stream_that_unpacks_to_nothing_is_too_large_too(web: LocalWeb, gate: RecordingGuard) -> None:
    def nothings(_request: Asked, wire: Wire) -> None:
        wire.send(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n")
        while not wire.pause(0):
            wire.send(gzip.compress(b"") * 100)

    with pytest.raises(LimitReached):
        fetch(gate, web.handler("/nothings", nothings), CrawlLimits(page_bytes=MB))


@pytest.mark.parametrize("site", [faults.huge_headers, faults.cut_short, faults.no_http])
def test_invalid_http_is_a_network_error(web: LocalWeb, gate: RecordingGuard, site: object) -> None:
    assert callable(site)
    with pytest.raises(NetworkFailed, match=r"^link\.url: 127\.0\.0\.1 does not answer in proper HTTP"):
        fetch(gate, site(web))


def test_a_page_of_exactly_the_limit_is_whole(web: LocalWeb, gate: RecordingGuard) -> None:
    assert len(fetch(gate, web.page("/full", b"x" * MB)).body) == MB


def test_a_refused_connection_is_a_network_error(gate: RecordingGuard) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    closed = RecordingGuard(Guard(policy_of(f"127.0.0.1:{port}"), delay=0))
    with pytest.raises(NetworkFailed, match=r"^link\.url: "):
        fetch(closed, f"http://127.0.0.1:{port}/")


def test_a_page_that_prowls_is_fetched_without_going_where_it_points(
    web: LocalWeb, gate: RecordingGuard, forbidden: Listener
) -> None:
    page = fetch(gate, sites.prowler(web, forbidden))
    assert page.status == 200
    assert web.paths == ["/prowler"]


@pytest.mark.parametrize("name", ["xn--exmple-cua.test", "exämple.test", "EXÄMPLE.test"])
def test_non_ascii_names_are_requested_in_their_encoded_form(web: LocalWeb, gate: RecordingGuard, name: str) -> None:
    web.page("/stra%C3%9Fe", "da")
    assert fetch(gate, f"http://{name}:{web.port}/straße").body == b"da"
    assert web.asked[0].headers["host"] == f"xn--exmple-cua.test:{web.port}"


def test_robots_txt_is_obeyed_only_where_a_setting_says_so(web: LocalWeb, gate: RecordingGuard) -> None:
    web.page("/robots.txt", "User-agent: chyme\nDisallow: /private", {"Content-Type": "text/plain"})
    web.page("/private/x", "secret")
    web.page("/public", headers={"Location": "/private/x"}, status=302)
    assert fetch(gate, web.url("/private/x")).body == b"secret"
    assert "/robots.txt" not in web.paths

    obeying = CrawlLimits(robots=True, agent="chyme/1 (x)")
    for path in ("/private/x", "/public"):
        with pytest.raises(AddressRefused, match=r"link\.url: robots.txt of 127\.0\.0\.1 asks .*web_robots=false"):
            fetch(gate, web.url(path), obeying)
    with Fetcher(gate, obeying, "link.url") as fetcher:
        assert fetcher.is_allowed_by_robots(web.url("/other"))
        assert not fetcher.is_allowed_by_robots(web.url("/private/y"))
    assert web.paths.count("/robots.txt") == 3


@pytest.mark.parametrize(
    "rules", [Page(status=404), Page(status=500), Page(b"x" * MB), Page(b"User-agent: *\nDisallow: //[")]
)
def test_without_readable_rules_everything_is_allowed(web: LocalWeb, gate: RecordingGuard, rules: Page) -> None:
    web.handler("/robots.txt", lambda _request, _wire: rules)
    assert fetch(gate, web.page("/x", "fine"), CrawlLimits(robots=True)).body == b"fine"
