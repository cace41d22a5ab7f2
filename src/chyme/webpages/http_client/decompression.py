"""Unpack what a server sent packed, piece by piece, so that a small answer cannot fill the memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

ACCEPTED = "gzip, deflate"
PIECE = 64 * 1024
MOST_LAYERS = 2
MOST_BETWEEN = 64 * 1024 * 1024  # bytes from one layer to the next
MOST_MEMBERS = 100_000  # of one gzip: each may hold nothing
_OTHERWISE = frozenset({"br", "zstd", "compress", "x-compress", "dcb", "dcz"})
_UNDONE = frozenset({"gzip", "x-gzip", "deflate"})
_GZIP = b"\x1f\x8b"


class DecompressionError(Exception):
    """Packed in a way that nobody asked for, or broken on the way; the message says which."""


def decompress(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """The plain bytes, in pieces of bounded size, of an answer with this Content-Encoding."""
    # Other words that servers put there ("utf-8", "none") are no packing.
    layers = [layer for layer in (one.strip().lower() for one in encoding.split(",")) if layer in _UNDONE | _OTHERWISE]
    if len(layers) > MOST_LAYERS:
        raise DecompressionError(f"packed {len(layers)} times over")
    plain = iter(pieces)
    for number, layer in enumerate(reversed(layers)):
        if layer in _OTHERWISE:
            raise DecompressionError(f"packed as {layer!r}, which was not asked for")
        packed = _few(plain) if number else plain
        plain = _inflated(packed) if layer == "deflate" else _gunzipped(packed)
    return plain


def _few(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Packed bytes are not many; those that unpack to nothing would keep us busy unseen."""
    total = 0
    for piece in pieces:
        total += len(piece)
        if total > MOST_BETWEEN:
            raise DecompressionError("packed several times over, and endless in between")
        yield piece


def _gunzipped(pieces: Iterator[bytes]) -> Iterator[bytes]:
    head = _at_least(pieces, len(_GZIP))
    if not head.startswith(_GZIP):  # some servers say so and send plain bytes
        yield head
        yield from pieces
        return
    member = zlib.decompressobj(zlib.MAX_WBITS | 16)
    rest, members = b"", 1
    for piece in _with(head, pieces):
        data = rest + piece
        rest = b""
        while data:
            if member.eof:
                if len(data) < len(_GZIP):
                    rest = data
                    break
                if not data.startswith(_GZIP):
                    return  # rubbish behind the end
                members += 1
                if members > MOST_MEMBERS:
                    raise DecompressionError("packed in more pieces than anybody would make")
                member = zlib.decompressobj(zlib.MAX_WBITS | 16)
            yield from _all_of(member, data)
            data = member.unused_data if member.eof else b""


def _inflated(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Deflate is sent with the two bytes of zlib in front, as the standard says, or without, as some do."""
    head = _at_least(pieces, 2)
    standard = len(head) >= 2 and head[0] & 0x0F == 8 and int.from_bytes(head[:2], "big") % 31 == 0
    stream = zlib.decompressobj(zlib.MAX_WBITS if standard else -zlib.MAX_WBITS)
    for piece in _with(head, pieces):
        if stream.eof:
            return
        yield from _all_of(stream, piece)


def _all_of(stream: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    try:
        while True:
            plain = stream.decompress(data, PIECE)
            if plain:
                yield plain
            data = stream.unconsumed_tail
            # A full piece may have left some bytes inside even where all of the data was taken in.
            if stream.eof or (not data and len(plain) < PIECE):
                return
    except zlib.error as error:
        raise DecompressionError("packed, and broken on the way") from error


def _at_least(pieces: Iterator[bytes], length: int) -> bytes:
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= length:
            break
    return head


def _with(head: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    if head:
        yield head
    yield from pieces
