"""Detects binary formats by their first bytes."""

from __future__ import annotations

import re
import struct

from chyme.files.extensions import AUDIO, BZIP2, GZIP, IMAGES, PDF, RAR, SEVEN_ZIP, TAR, VIDEO, XZ
from chyme.model import Kind

KindAndMime = tuple[Kind, str]

_SIGNATURES: tuple[tuple[bytes, Kind, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", Kind.IMAGE, "image/png"),
    (b"\xff\xd8\xff", Kind.IMAGE, "image/jpeg"),
    (b"GIF87a", Kind.IMAGE, "image/gif"),
    (b"GIF89a", Kind.IMAGE, "image/gif"),
    (b"8BPS\x00", Kind.IMAGE, "image/vnd.adobe.photoshop"),
    (b"\x00\x00\x00\x0cJXL ", Kind.IMAGE, "image/jxl"),
    (b"\xff\x0a", Kind.IMAGE, "image/jxl"),
    (b"\x00\x00\x00\x0cjP  ", Kind.IMAGE, "image/jp2"),
    (b"\xff\x4f\xff\x51\x00", Kind.IMAGE, "image/jp2"),
    (b"qoif\x00", Kind.IMAGE, "image/qoi"),
    (b"icns\x00", Kind.IMAGE, "image/icns"),
    (b"ID3", Kind.AUDIO, "audio/mpeg"),
    (b"MAC ", Kind.AUDIO, "audio/x-ape"),
    (b"fLaC", Kind.AUDIO, "audio/flac"),
    (b"MThd\x00\x00\x00\x06", Kind.AUDIO, "audio/midi"),
    (b"#!AMR", Kind.AUDIO, "audio/amr"),
    (b"caff\x00", Kind.AUDIO, "audio/x-caf"),
    (b"FLV\x01", Kind.VIDEO, "video/x-flv"),
    (b"\x00\x00\x01\xba", Kind.VIDEO, "video/mpeg"),
    (b"\x00\x00\x01\xb3", Kind.VIDEO, "video/mpeg"),
    (b"\x1f\x8b\x08", Kind.DOCUMENT, GZIP),
    (b"\xfd7zXZ\x00", Kind.DOCUMENT, XZ),
    (b"7z\xbc\xaf\x27\x1c", Kind.DOCUMENT, SEVEN_ZIP),
    (b"Rar!\x1a\x07", Kind.DOCUMENT, RAR),
    (b"\x28\xb5\x2f\xfd", Kind.OTHER, "application/zstd"),
    (b"\x7fELF", Kind.OTHER, "application/x-elf"),
    (b"SQLite format 3\x00", Kind.OTHER, "application/vnd.sqlite3"),
    (b"AT&TFORM", Kind.OTHER, "image/vnd.djvu"),
    (b"%!PS", Kind.OTHER, "application/postscript"),
    (b"\x00asm", Kind.OTHER, "application/wasm"),
    (b"\xca\xfe\xba\xbe", Kind.OTHER, "application/java-vm"),
    (b"wOFF", Kind.OTHER, "font/woff"),
    (b"wOF2", Kind.OTHER, "font/woff2"),
    (b"OTTO\x00", Kind.OTHER, "font/otf"),
    (b"\x00\x01\x00\x00\x00", Kind.OTHER, "font/ttf"),
)
_FIRST_BYTES = frozenset(start[0] for start, _, _ in _SIGNATURES)

_HEIF_BRANDS = {
    **dict.fromkeys((b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis"), "image/heic"),
    **dict.fromkeys((b"mif1", b"mif2", b"mif3", b"msf1", b"j2ki"), "image/heif"),
    **dict.fromkeys((b"avif", b"avis", b"avio"), "image/avif"),
    b"crx ": "image/x-canon-cr3",
}
_RIFF_FORMS = {
    b"WAVE": (Kind.AUDIO, "audio/wav"),
    b"AVI ": (Kind.VIDEO, "video/x-msvideo"),
    b"WEBP": (Kind.IMAGE, "image/webp"),
    b"AIFF": (Kind.AUDIO, "audio/aiff"),
    b"AIFC": (Kind.AUDIO, "audio/aiff"),
}
_CAMERA_RAW = frozenset({"dng", "nef", "cr2", "arw"})
_WMA_STREAM = bytes.fromhex("409e69f84d5bcf11a8fd00805f5c442b")
_PORTABLE_ANYMAP = re.compile(rb"P[456]\s(?:\s|#[^\n]{0,200}\n)*\d{1,6}\s+\d{1,6}\s")
_BZIP2 = re.compile(rb"BZh[1-9](?:1AY&SY|\x17\x72\x45\x38\x50\x90)")
_BMP_HEADERS = frozenset({12, 16, 40, 52, 56, 64, 108, 124})


def detect_by_signature(head: bytes, extension: str) -> KindAndMime | None:
    """What the first bytes alone prove. The extension only chooses between names for the same format."""
    first = head[0]
    if first in _FIRST_BYTES:
        for start, kind, mime in _SIGNATURES:
            if head.startswith(start):
                return kind, mime
    if head.startswith(b"%PDF"):
        return Kind.DOCUMENT, PDF
    return (
        _detect_riff(head)
        or _detect_iso_media(head, extension)
        or _detect_streams(head, extension)
        or _detect_pictures(head, extension)
        or _detect_programs(head)
        or _detect_archives(head, extension)
    )


def _detect_riff(head: bytes) -> KindAndMime | None:
    return _RIFF_FORMS.get(head[8:12]) if head[:4] in (b"RIFF", b"RF64", b"FORM") else None


def _detect_iso_media(head: bytes, extension: str) -> KindAndMime | None:
    box = head[4:8]
    if box in (b"moov", b"mdat", b"wide") and extension in VIDEO:
        return Kind.VIDEO, VIDEO[extension]
    if box != b"ftyp":
        return None
    brand = head[8:12]
    if brand in _HEIF_BRANDS:
        length = min(struct.unpack_from(">I", head)[0], 256, len(head))
        brands = {head[position : position + 4] for position in range(16, length - 3, 4)} | {brand}
        if brand in (b"mif1", b"msf1", b"mif2", b"mif3"):
            for exact in (b"avif", b"heic", b"heix"):
                if exact in brands:
                    return Kind.IMAGE, _HEIF_BRANDS[exact]
        return Kind.IMAGE, _HEIF_BRANDS[brand]
    if brand in (b"M4A ", b"M4B ", b"M4P ") or extension in ("m4a", "m4b"):
        return Kind.AUDIO, "audio/mp4"
    if brand == b"qt  ":
        return Kind.VIDEO, "video/quicktime"
    if brand.startswith(b"3g"):
        return Kind.VIDEO, "video/3gpp"
    return Kind.VIDEO, "video/mp4"


def _detect_streams(head: bytes, extension: str) -> KindAndMime | None:
    if head.startswith(b"OggS"):
        if b"theora" in head[:256] or extension == "ogv":
            return Kind.VIDEO, "video/ogg"
        return Kind.AUDIO, "audio/ogg"
    if head.startswith(b"\x1a\x45\xdf\xa3"):
        if extension in ("mka", "weba"):
            return Kind.AUDIO, AUDIO[extension]
        return Kind.VIDEO, "video/webm" if b"webm" in head[:256] else "video/x-matroska"
    if head.startswith(b"\x30\x26\xb2\x75\x8e\x66\xcf\x11"):
        audio_only = extension == "wma" or (_WMA_STREAM in head and extension != "wmv")
        return (Kind.AUDIO, AUDIO["wma"]) if audio_only else (Kind.VIDEO, VIDEO["wmv"])
    if head[0] == 0x47 and len(head) > 376 and head[188] == head[376] == 0x47:
        return Kind.VIDEO, "video/mp2t"
    if head[0] == 0xFF and len(head) >= 4 and head[1] != 0xFE:  # FF FE would be the byte order mark of UTF-16
        return _detect_mpeg_audio(head)
    return None


def _detect_mpeg_audio(head: bytes) -> KindAndMime | None:
    if head[1] in (0xF0, 0xF1, 0xF8, 0xF9):
        return Kind.AUDIO, "audio/aac"
    layer, version = head[1] >> 1 & 3, head[1] >> 3 & 3
    rate, frequency = head[2] >> 4, head[2] >> 2 & 3
    if head[1] >> 5 == 7 and layer and version != 1 and rate not in (0, 15) and frequency != 3:
        return Kind.AUDIO, "audio/mpeg"
    return None


def _detect_pictures(head: bytes, extension: str) -> KindAndMime | None:
    if head[:4] in (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+"):
        return Kind.IMAGE, IMAGES[extension] if extension in _CAMERA_RAW else "image/tiff"
    if head.startswith(b"BM") and len(head) >= 26 and struct.unpack_from("<I", head, 14)[0] in _BMP_HEADERS:
        return Kind.IMAGE, "image/bmp"
    if head.startswith(b"\x00\x00\x01\x00") and len(head) >= 22 and 0 < head[4] < 64 and head[9] == 0:
        return Kind.IMAGE, "image/vnd.microsoft.icon"
    if _PORTABLE_ANYMAP.match(head) and (b"\x00" in head or not head.isascii()):
        return Kind.IMAGE, "image/x-portable-anymap"
    return None


def _detect_programs(head: bytes) -> KindAndMime | None:
    if head.startswith(b"MZ") and not head[:64].isascii():
        return Kind.OTHER, "application/vnd.microsoft.portable-executable"
    return None


def _detect_archives(head: bytes, extension: str) -> KindAndMime | None:
    if _BZIP2.match(head):
        return Kind.DOCUMENT, BZIP2
    if head[257:262] == b"ustar" or (extension == "tar" and _has_tar_checksum(head)):
        return Kind.DOCUMENT, TAR
    return None


def _has_tar_checksum(head: bytes) -> bool:
    """Whether it begins like the archives of the first tar, which have no signature."""
    block = head[:512]
    try:
        claimed = int(block[148:156].strip(b"\x00 "), 8)
    except ValueError:
        return False
    return len(block) == 512 and claimed == sum(block) - sum(block[148:156]) + 8 * 0x20
