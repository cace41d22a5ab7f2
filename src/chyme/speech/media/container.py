"""Open one audio or video file without letting it open any other file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from chyme.errors import UnreadableFile, UnsupportedFile
from chyme.speech.media.limits import MediaLimits

if TYPE_CHECKING:
    from av.container import InputContainer

BUFFER = 256 << 10

# Formats that keep everything in one file: no playlists, image sequences, devices or subtitles.
_FORMATS = (
    *("mov", "matroska", "avi", "asf", "mpegts", "mpeg", "mpegvideo", "m4v", "flv", "ogg", "rm", "mxf", "gxf", "dv"),
    *("wtv", "nut", "ivf", "h264", "hevc", "vvc", "obu", "av1", "mjpeg", "vc1", "h263"),
    *("mp3", "aac", "loas", "flac", "wav", "w64", "aiff", "caf", "au", "ac3", "eac3", "dts", "dtshd", "truehd", "mlp"),
    *("amr", "amrnb", "amrwb", "ape", "wv", "tta", "mpc", "mpc8", "tak", "shn", "dsf", "iff", "voc", "oma", "xwma"),
    *("qcp", "aa", "aax", "gsm", "dss", "codec2", "lc3", "qoa"),
)
_NOTE_FORMATS = frozenset({"audio/midi"})  # notes to play, not recorded sound
_ADVICE = "play it elsewhere to see whether it is whole, and copy it again from where it came from"


class _NamelessFile:
    """A file object without a name: FFmpeg can neither interpret the name nor look for files next to it."""

    def __init__(self, stream: BinaryIO) -> None:
        self.read = stream.read
        self.seek = stream.seek
        self.tell = stream.tell


def _refuse_to_open(url: str, flags: int, options: dict[str, str]) -> NoReturn:
    raise PermissionError("a media file may not open another file or address")


@contextmanager
def open_container(name: str, mime: str, stream: BinaryIO, limits: MediaLimits) -> Iterator[InputContainer]:
    """Open the file's container and read its streams. Raises UnreadableFile or UnsupportedFile."""
    import av
    import av.error

    av.logging.set_libav_level(av.logging.PANIC)
    options = {
        "format_whitelist": ",".join(_FORMATS),
        "protocol_whitelist": "none",
        "max_pixels": str(max(limits.video_pixels, limits.cover_pixels)),  # streams are probed while opening
    }
    try:
        container = av.open(
            _NamelessFile(stream),
            "r",
            options=options,
            metadata_errors="surrogateescape",
            buffer_size=BUFFER,
            io_open=_refuse_to_open,
        )
    except (av.error.ArgumentError, av.error.DemuxerNotFoundError) as error:
        raise UnsupportedFile(f"{name}: its audio or video format cannot be read here") from error
    except (av.error.FFmpegError, PermissionError) as error:
        if mime in _NOTE_FORMATS:
            raise UnsupportedFile(f"{name}: it holds notes, not sound; save a recording of it") from error
        raise UnreadableFile(f"{name}: the file is broken or incomplete; {_ADVICE}") from error
    with container:
        yield container
