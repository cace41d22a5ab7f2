"""Misbehaving servers on the local web: each function adds a server and returns its address."""

from __future__ import annotations

import gzip
import zlib

from local_web import Asked, LocalWeb, Page, Wire

MB = 1024 * 1024
BLOCK = 16 * MB
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
_CHUNKED = _HEAD + b"Transfer-Encoding: chunked\r\n"
_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"


def gzip_bomb(web: LocalWeb, at: str = "/bomb", gigabytes: int = 8) -> str:
    """Some megabytes on the wire that unpack to many gigabytes."""
    block = _packed_block()

    def answer(_request: Asked, wire: Wire) -> None:
        wire.send(_CHUNKED + b"Content-Encoding: gzip\r\n\r\n")
        wire.chunk(_GZIP_HEADER)
        for _ in range(gigabytes * 1024 * MB // BLOCK):
            wire.chunk(block)

    return web.handler(at, answer)


def nested_bomb(web: LocalWeb, at: str = "/nested") -> str:
    """Packed twice: a few kilobytes that unpack to gigabytes."""
    once = _GZIP_HEADER + _packed_block() * 256
    return web.page(at, gzip.compress(once), {"Content-Encoding": "gzip, gzip"})


def _packed_block() -> bytes:
    """Blanks, packed so that any number of these blocks form a single stream."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(b"<p>".ljust(BLOCK, b" ")) + packer.flush(zlib.Z_FULL_FLUSH)


def endless_stream(web: LocalWeb, at: str = "/endless") -> str:
    """Sends as fast as the connection allows, for ever."""

    def answer(_request: Asked, wire: Wire) -> None:
        wire.send(_CHUNKED + b"\r\n")
        while not wire.pause(0):
            wire.chunk(b"<p>again and again</p>\n" * 2000)

    return web.handler(at, answer)


def slow_drip(web: LocalWeb, at: str = "/drip", seconds: float = 1.0) -> str:
    """Sends a byte of the page now and then, so that no single wait is long."""

    def answer(_request: Asked, wire: Wire) -> None:
        wire.send(_CHUNKED + b"\r\n")
        while not wire.pause(seconds):
            wire.chunk(b"x")

    return web.handler(at, answer)


def header_drip(web: LocalWeb, at: str = "/header-drip", seconds: float = 1.0) -> str:
    """Sends a byte of the headers now and then."""

    def answer(_request: Asked, wire: Wire) -> None:
        wire.send(_HEAD + b"X-Long: ")
        while not wire.pause(seconds):
            wire.send(b"x")

    return web.handler(at, answer)


def silence(web: LocalWeb, at: str = "/silence") -> str:
    """Accepts the request and sends nothing."""

    def answer(_request: Asked, wire: Wire) -> None:
        wire.pause(60)

    return web.handler(at, answer)


def huge_headers(web: LocalWeb, at: str = "/headers") -> str:
    """Sends header after header, without end."""

    def answer(_request: Asked, wire: Wire) -> None:
        wire.send(_HEAD)
        while not wire.pause(0):
            wire.send(b"X-More: " + b"y" * 4000 + b"\r\n")

    return web.handler(at, answer)


def cut_short(web: LocalWeb, at: str = "/cut") -> str:
    """Promises more than it sends."""

    def answer(_request: Asked, wire: Wire) -> None:
        wire.send(_HEAD + b"Content-Length: 1000\r\n\r\n<p>half a")

    return web.handler(at, answer)


def broken_gzip(web: LocalWeb, at: str = "/broken-gzip") -> str:
    """Claims to be packed and is not."""
    return web.page(at, "<p>plain words", {"Content-Encoding": "gzip"})


def no_http(web: LocalWeb, at: str = "/no-http") -> str:
    """Answers in another protocol."""

    def answer(_request: Asked, wire: Wire) -> None:
        wire.send(b"220 mail.example ESMTP\r\n\r\n")

    return web.handler(at, answer)


def huge_page(web: LocalWeb, at: str = "/huge", megabytes: int = 30) -> str:
    """Many megabytes of valid HTML."""
    line = b"<p>The same sentence, over and over, in one very long page.</p>\n"
    body = b"<!DOCTYPE html><title>Huge</title>" + line * (megabytes * MB // len(line) + 1)
    return web.handler(at, lambda _request, _wire: Page(body))
