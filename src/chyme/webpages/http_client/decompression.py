"""Decompresses responses piece by piece, so that a small one cannot fill the memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

ACCEPTED = "gzip, deflate"
PIECE = 64 * 1024
MAX_LAYERS = 2
MAX_BYTES_BETWEEN = 64 * 1024 * 1024  # from one layer to the next
MAX_MEMBERS = 100_000  # of one gzip stream: each may be empty
_UNSUPPORTED = frozenset({"br", "zstd", "compress", "x-compress", "dcb", "dcz"})
_SUPPORTED = frozenset({"gzip", "x-gzip", "deflate"})
_GZIP = b"\x1f\x8b"


class DecompressionError(Exception):
    """Compressed in a way that was not requested, or damaged; the message says which."""


def decompress(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Yield the plain bytes of a response with this Content-Encoding, in pieces of bounded size."""
    # Other words that servers put there ("utf-8", "none") are no compression.
    layers = [
        layer for layer in (name.strip().lower() for name in encoding.split(",")) if layer in _SUPPORTED | _UNSUPPORTED
    ]
    if len(layers) > MAX_LAYERS:
        raise DecompressionError(f"compressed {len(layers)} times over")
    plain = iter(pieces)
    for number, layer in enumerate(reversed(layers)):
        if layer in _UNSUPPORTED:
            raise DecompressionError(f"compressed as {layer!r}, which was not asked for")
        compressed = _limit_size(plain) if number else plain
        plain = _inflate(compressed) if layer == "deflate" else _gunzip(compressed)
    return plain


def _limit_size(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Limit the bytes between two layers: those that decompress to nothing would keep us busy unnoticed."""
    total = 0
    for piece in pieces:
        total += len(piece)
        if total > MAX_BYTES_BETWEEN:
            raise DecompressionError("compressed several times over, and endless in between")
        yield piece


def _gunzip(pieces: Iterator[bytes]) -> Iterator[bytes]:
    head = _read_at_least(pieces, len(_GZIP))
    if not head.startswith(_GZIP):  # some servers say gzip and send plain bytes
        yield head
        yield from pieces
        return
    member = zlib.decompressobj(zlib.MAX_WBITS | 16)
    rest, members = b"", 1
    for piece in _prepend(head, pieces):
        data = rest + piece
        rest = b""
        while data:
            if member.eof:
                if len(data) < len(_GZIP):
                    rest = data
                    break
                if not data.startswith(_GZIP):
                    return  # rubbish after the end
                members += 1
                if members > MAX_MEMBERS:
                    raise DecompressionError("compressed in more pieces than is plausible")
                member = zlib.decompressobj(zlib.MAX_WBITS | 16)
            yield from _decompress_all(member, data)
            data = member.unused_data if member.eof else b""


def _inflate(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress deflate with the two bytes of zlib in front, as the standard says, or without, as some servers do."""
    head = _read_at_least(pieces, 2)
    has_header = len(head) >= 2 and head[0] & 0x0F == 8 and int.from_bytes(head[:2], "big") % 31 == 0
    stream = zlib.decompressobj(zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS)
    for piece in _prepend(head, pieces):
        if stream.eof:
            return
        yield from _decompress_all(stream, piece)


def _decompress_all(stream: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    try:
        while True:
            plain = stream.decompress(data, PIECE)
            if plain:
                yield plain
            data = stream.unconsumed_tail
            # After a full piece, bytes may be left inside even if all of the data was consumed.
            if stream.eof or (not data and len(plain) < PIECE):
                return
    except zlib.error as error:
        raise DecompressionError("compressed, and damaged on the way") from error


def _read_at_least(pieces: Iterator[bytes], length: int) -> bytes:
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= length:
            break
    return head


def _prepend(head: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    if head:
        yield head
    yield from pieces
