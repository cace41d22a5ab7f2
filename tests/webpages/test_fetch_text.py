"""Responses are unpacked and decoded even if their headers are wrong; cookies only go back to where they came from."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator

import httpx2
import local_sites as sites
import pytest
from local_web import LocalWeb

from chyme.core.outbound.guard import Guard
from chyme.core.outbound.policy import policy_of
from chyme.errors import UnreadableFile
from chyme.webpages.http_client.cookies import MAX_COOKIES, Cookies
from chyme.webpages.http_client.decompression import (
    MAX_BYTES_BETWEEN,
    MAX_MEMBERS,
    PIECE,
    DecompressionError,
    decompress,
)
from chyme.webpages.http_client.fetch_result import FetchResult
from chyme.webpages.http_client.fetcher import Fetcher
from chyme.webpages.http_client.text_decoding import decode_page
from chyme.webpages.settings import CrawlLimits

pytestmark = pytest.mark.slow

WORDS = b"".join(b"line %d of many\n" % number for number in range(20_000))


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKED = {
    "gzip": ("gzip", gzip.compress(WORDS)),
    "gzip by its old name": ("X-GZip", gzip.compress(WORDS)),
    "gzip in two members": ("gzip", gzip.compress(WORDS[:1000]) + gzip.compress(WORDS[1000:])),
    "gzip with rubbish behind it": ("gzip", gzip.compress(WORDS) + b"\0\0rubbish"),
    "gzip cut short in its checksum": ("gzip", gzip.compress(WORDS)[:-6]),
    "plain, said to be gzip": ("gzip", WORDS),
    "deflate as the standard says": ("deflate", zlib.compress(WORDS)),
    "deflate as some send it": ("deflate", raw_deflate(WORDS)),
    "twice": ("deflate, gzip", gzip.compress(zlib.compress(WORDS))),
    "not at all": ("identity", WORDS),
    "not at all, by another word": ("utf-8", WORDS),
    "with a word that is no packing": ("none, gzip", gzip.compress(WORDS)),
    "no word of it": ("", WORDS),
}


@pytest.mark.parametrize("size", [1, 7, 65_536])
@pytest.mark.parametrize("how", PACKED)
def test_every_kind_of_packing_is_undone_however_the_bytes_arrive(how: str, size: int) -> None:
    encoding, data = PACKED[how]
    pieces = (data[at : at + size] for at in range(0, len(data), size))
    assert b"".join(decompress(pieces, encoding)) == WORDS


def test_bytes_buffered_at_the_end_of_the_input_are_not_lost() -> None:
    for length in range(PIECE, PIECE + 300):
        assert len(b"".join(decompress([raw_deflate(bytes(length))], "deflate"))) == length


def test_no_piece_is_larger_than_a_buffer() -> None:
    bomb = gzip.compress(bytes(50_000_000))
    sizes = [len(piece) for piece in decompress([bomb], "gzip")]
    assert sum(sizes) == 50_000_000
    assert max(sizes) <= PIECE


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "deflate, gzip"])
def test_nothing_at_all_unpacks_to_nothing(encoding: str) -> None:
    assert b"".join(decompress([], encoding)) == b""


def test_data_that_cannot_be_unpacked_raises_an_error() -> None:
    broken = bytearray(gzip.compress(WORDS))
    broken[500:600] = bytes(100)
    for encoding, data in (("gzip", bytes(broken)), ("deflate", b"\xff\xff no"), ("br", b"x"), ("gzip," * 4, b"x")):
        with pytest.raises(DecompressionError):
            b"".join(decompress([data], encoding))


def test_nested_packings_that_contain_nothing_are_bounded() -> None:
    nothing = gzip.compress(b"")
    with pytest.raises(DecompressionError, match="more pieces"):
        b"".join(decompress([nothing * 1000] * (MAX_MEMBERS // 1000 + 1), "gzip"))
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    empty = packer.flush(zlib.Z_FULL_FLUSH)  # an empty block
    inner = empty * (MAX_BYTES_BETWEEN // len(empty) + 1)
    with pytest.raises(DecompressionError, match="endless in between"):
        b"".join(decompress([gzip.compress(inner, 1)], "deflate, gzip"))
    assert b"".join(decompress([inner[: 5 * MAX_MEMBERS]], "deflate")) == b""


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    with LocalWeb() as web:
        yield web


def page_of(web: LocalWeb, url: str) -> FetchResult:
    with Fetcher(Guard(policy_of(web.host), delay=0), CrawlLimits(), "link.url") as fetcher:
        return fetcher.fetch_page(url)


def test_a_packed_page_comes_unpacked(web: LocalWeb) -> None:
    assert page_of(web, web.page("/z", gzip.compress(WORDS), {"Content-Encoding": "gzip"})).body == WORDS
    with pytest.raises(
        UnreadableFile, match=r"link\.url: what 127\.0\.0\.1 sends is compressed as 'br', which was not"
    ):
        page_of(web, web.page("/br", b"x", {"Content-Encoding": "br"}))


LIES = {
    "says latin-1, is UTF-8",
    "says UTF-8, is Shift-JIS",
    "header right, meta wrong",
    "header wrong, meta right",
    "no header, meta right",
    "no word of it",
    "says UTF-8, is UTF-16 with a mark",
    "says nonsense",
}


@pytest.mark.parametrize("lie", sorted(LIES))
def test_a_page_that_lies_about_its_letters_is_read_right(web: LocalWeb, lie: str) -> None:
    url, line = sites.charset_lies(web)[lie]
    assert f"<p>{line}</p>" in decode_page(page_of(web, url))


def decode(data: bytes, header: str | None = None) -> str:
    content_type = f"text/html; charset={header}" if header else "text/html"
    return decode_page(FetchResult("http://x/", 200, {"content-type": content_type}, data))


@pytest.mark.parametrize(
    ("text", "encoding", "header"),
    [
        ("“Smart” quotes – and a euro: €", "cp1252", "iso-8859-1"),
        ("Größe und Straße", "iso-8859-1", '"ISO-8859-1"'),
        ("Привет, как дела? Это обычный русский текст.", "cp1251", "windows-1251"),
        ("Привет, как дела? Это обычный русский текст.", "cp1251", "iso-8859-1"),
        ("Привет, как дела? Это обычный русский текст.", "koi8-r", "KOI8-R"),
        ("Příliš žluťoučký kůň", "cp1250", "windows-1250"),
        ("①髙 日本語のページです", "cp932", "x-sjis"),
        ("日本語のページです", "iso2022_jp", "iso-2022-jp"),
        ("简体中文网页", "gb18030", "gb2312"),
        ("繁體中文網頁", "big5", "big5"),
        ("한국어 페이지", "cp949", "euc-kr"),
        ("Ünïcödé", "utf-8", "us-ascii"),
        ("Ünïcödé", "utf-8", "utf-16"),
        ("Ünïcödé", "utf-8", "rot13"),
        ("Ünïcödé", "utf-8", "utf-7"),
        ("Größe und Straße", "cp1252", "idna"),
        (r"Größe und \x41", "cp1252", "unicode_escape"),
        ("plain", "ascii", "utf-16"),
        ("Wide words here", "utf-16-le", "utf-16"),
        ("", "utf-8", None),
    ],
)
def test_encodings_are_taken_as_browsers_take_them(text: str, encoding: str, header: str | None) -> None:
    page = f"<html><body><p>{text}</p></body></html>"
    assert decode(page.encode(encoding), header) == page


def test_a_few_broken_bytes_do_not_change_the_encoding() -> None:
    page = ("日本語のページです。" * 50).encode("cp932")
    assert decode(page[:501] + b"\xfd" + page[501:], "shift_jis").count("日本語") >= 48


def test_a_page_with_a_wrong_encoding_still_has_text() -> None:
    assert "words" in decode(bytes(range(128, 256)) * 20 + b"words", "utf-8")


def cookie_header(jar: Cookies, url: str) -> str:
    return jar.header(httpx2.URL(url))


@pytest.mark.parametrize(
    ("line", "goes_to", "stays_away_from"),
    [
        ("a=1", "http://www.news.test/deep/y", "http://news.test/deep/y"),
        ("a=1", "http://www.news.test/deep", "http://www.news.test/deeper"),
        ("a=1; Path=/", "http://www.news.test/", "http://x.www.news.test/"),
        ("a=1; Domain=news.test; Path=/", "http://other.news.test/", "http://badnews.test/"),
        ("a=1; Domain=.NEWS.test; Path=/", "http://news.test/", "http://news.test.evil.test/"),
        ("a=1; Path=/x", "http://www.news.test/x/y", "http://www.news.test/xy"),
        ("a=1; Path=odd", "http://www.news.test/deep/z", "http://www.news.test/"),
        ("a=1; Max-Age=60; Path=/", "http://www.news.test/", "http://news.test/"),
    ],
)
def test_a_cookie_goes_back_where_it_came_from(line: str, goes_to: str, stays_away_from: str) -> None:
    jar = Cookies()
    jar.keep(httpx2.URL("http://www.news.test/deep/x"), [line])
    assert (cookie_header(jar, goes_to), cookie_header(jar, stays_away_from)) == ("a=1", "")


@pytest.mark.parametrize(
    "line",
    [
        *("a=1; Domain=evil.test", "a=1; Domain=test", "a=1; Domain=x.www.news.test", "a=1; Secure"),
        *("a=1; Max-Age=0", "a=1; Max-Age=-5", "a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "=1", "", ";"),
        *("__Host-a=1; Path=/", "__Secure-a=1", "a=\x01", "a=ü", "a=" + "x" * 5000),
    ],
)
def test_a_cookie_with_excessive_claims_is_not_stored(line: str) -> None:
    jar = Cookies()
    jar.keep(httpx2.URL("http://www.news.test/"), [line])
    for host in ("www.news.test", "news.test", "evil.test", "x.www.news.test"):
        assert cookie_header(jar, f"http://{host}/") == cookie_header(jar, f"https://{host}/") == ""


def test_a_secure_cookie_goes_over_secure_connections_only() -> None:
    jar = Cookies()
    jar.keep(httpx2.URL("https://news.test/"), ["a=1; Secure", "__Host-b=2; Secure; Path=/"])
    assert (cookie_header(jar, "https://news.test/"), cookie_header(jar, "http://news.test/")) == (
        "a=1; __Host-b=2",
        "",
    )


def test_an_address_is_no_part_of_another() -> None:
    jar = Cookies()
    jar.keep(httpx2.URL("http://10.1.2.3/"), ["a=1; Domain=2.3", "b=2; Domain=10.1.2.3"])
    assert cookie_header(jar, "http://10.1.2.3/") == "b=2"


def test_a_cookie_is_replaced_taken_back_and_their_number_is_bounded() -> None:
    jar, url = Cookies(), httpx2.URL("http://news.test/")
    jar.keep(url, ["a=1", "a=2"])
    assert jar.header(url) == "a=2"
    jar.keep(url, ["a=; Max-Age=0"])
    assert jar.header(url) == ""
    jar.keep(url, [f"c{number}=x" for number in range(1000)])
    assert jar.header(url).count("=") == MAX_COOKIES
