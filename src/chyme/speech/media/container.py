"""Open a file of sound or video, and nothing but this file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from chyme.errors import UnreadableFile, UnsupportedFile
from chyme.speech.media.limits import MediaLimits

if TYPE_CHECKING:
    from av.container import InputContainer

BUFFER = 256 << 10

# Formats that are one file with everything in it. No playlists, no lists of pictures, no devices, no subtitles.
_FORMATS = (
    *("mov", "matroska", "avi", "asf", "mpegts", "mpeg", "mpegvideo", "m4v", "flv", "ogg", "rm", "mxf", "gxf", "dv"),
    *("wtv", "nut", "ivf", "h264", "hevc", "vvc", "obu", "av1", "mjpeg", "vc1", "h263"),
    *("mp3", "aac", "loas", "flac", "wav", "w64", "aiff", "caf", "au", "ac3", "eac3", "dts", "dtshd", "truehd", "mlp"),
    *("amr", "amrnb", "amrwb", "ape", "wv", "tta", "mpc", "mpc8", "tak", "shn", "dsf", "iff", "voc", "oma", "xwma"),
    *("qcp", "aa", "aax", "gsm", "dss", "codec2", "lc3", "qoa"),
)
_NOT_READ = frozenset({"audio/midi"})  # notes to be played, not sound
_WAY_OUT = "play it elsewhere to see whether it is whole, and copy it again from where it came from"


class _Bytes:
    """A file without a name, so that nothing is read into its name, and nothing beside it can be found."""

    def __init__(self, stream: BinaryIO) -> None:
        self.read = stream.read
        self.seek = stream.seek
        self.tell = stream.tell


def _refuse(url: str, flags: int, options: dict[str, str]) -> NoReturn:
    raise PermissionError("a media file may not open another file or address")


@contextmanager
def open_container(name: str, mime: str, stream: BinaryIO, limits: MediaLimits) -> Iterator[InputContainer]:
    """The file's container, its streams known. Raises UnreadableFile or UnsupportedFile."""
    import av
    import av.error

    av.logging.set_libav_level(av.logging.PANIC)
    options = {
        "format_whitelist": ",".join(_FORMATS),
        "protocol_whitelist": "none",
        "max_pixels": str(max(limits.video_pixels, limits.cover_pixels)),  # streams are looked into while opening
    }
    try:
        container = av.open(
            _Bytes(stream),
            "r",
            options=options,
            metadata_errors="surrogateescape",
            buffer_size=BUFFER,
            io_open=_refuse,
        )
    except (av.error.ArgumentError, av.error.DemuxerNotFoundError) as error:
        raise UnsupportedFile(f"{name}: its format is not one of sound or video that can be read here") from error
    except (av.error.FFmpegError, PermissionError) as error:
        if mime in _NOT_READ:
            raise UnsupportedFile(f"{name}: it holds notes, not sound; save a recording of it") from error
        raise UnreadableFile(f"{name}: the file is broken or incomplete; {_WAY_OUT}") from error
    with container:
        yield container
