"""Write the small recordings under `media/`. Run: python tests/samples/make_media.py"""

from __future__ import annotations

import io
import struct
import zlib
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from PIL import Image, ImageDraw

HERE = Path(__file__).parent / "media"
RATE = 16_000
TAGS = {
    "title": "Morgenlied über den Fluß",
    "artist": "Anna Ołówek",
    "album": "Lieder der Strömung",
    "date": "2021",
    "genre": "Folk",
    "track": "3/9",
    "comment": "Recorded beside the mill",
    "composer": "J. Quelle",
}


def tone(seconds: float, hertz: float = 440.0, loudness: float = 0.5, rate: int = RATE) -> np.ndarray:
    at = np.arange(int(seconds * rate)) / rate
    return (loudness * np.sin(2 * np.pi * hertz * at)).astype(np.float32)


def bar_code(index: int, width: int, height: int, black: int) -> Image.Image:
    """Black at first, then coloured blocks and lines; a red corner top left tells which way is up."""
    image = Image.new("RGB", (width, height))
    if index < black:
        return image
    draw = ImageDraw.Draw(image)
    for column in range(8):
        for row in range(6):
            shade = (column * 36, row * 50, (column * row * 9 + index) % 256)
            draw.rectangle([column * width // 8, row * height // 6, (column + 1) * width // 8, height], shade)
    draw.rectangle([0, 0, width // 4, height // 4], (250, 10, 10))
    draw.line([0, height - 1, width - 1, height // 2], (255, 255, 255), 2)
    return image


def sound(out: av.container.OutputContainer, codec: str, samples: np.ndarray, rate: int, **options: int) -> None:
    stream = out.add_stream(codec, rate=rate, layout="mono")
    if "bit_rate" in options:
        stream.bit_rate = options["bit_rate"]
    feed(out, stream, samples, rate)


def feed(out: av.container.OutputContainer, stream: av.AudioStream, samples: np.ndarray, rate: int) -> None:
    resampler = av.AudioResampler(format=stream.codec_context.format.name, layout="mono", rate=rate)
    fifo = av.AudioFifo()
    for at in range(0, len(samples), 4096):
        frame = av.AudioFrame.from_ndarray(samples[None, at : at + 4096], format="flt", layout="mono")
        frame.sample_rate = rate
        frame.pts = at
        frame.time_base = Fraction(1, rate)
        for ready in resampler.resample(frame):
            fifo.write(ready)
    size = stream.codec_context.frame_size or 4096
    while (frame := fifo.read(size, partial=True)) is not None:
        out.mux(stream.encode(frame))
    out.mux(stream.encode(None))


def film(
    name: str,
    seconds: float,
    *,
    size: tuple[int, int] = (160, 120),
    black: int = 10,
    fps: int = 10,
    turn: int = 0,
    gop: int = 10,
    with_tone: bool = True,
    chapters: bool = False,
) -> None:
    with av.open(str(HERE / name), "w", options={"movflags": "+faststart", "fflags": "+bitexact"}) as out:
        out.metadata.update({"title": "The mill", "comment": "Filmed from the bridge"})
        video = out.add_stream("mpeg4", rate=fps)
        video.width, video.height = size
        video.pix_fmt = "yuv420p"
        video.bit_rate = 120_000
        video.gop_size = gop
        video.codec_context.thread_count = 1
        if turn:
            video.set_display_rotation(turn)
        audio = None
        if with_tone:
            audio = out.add_stream("aac", rate=RATE, layout="mono")
            audio.bit_rate = 32_000
        if chapters:
            out.set_chapters(
                [
                    {"id": 1, "start": 0, "end": 1000, "time_base": Fraction(1, 1000), "metadata": {"title": "Dark"}},
                    {
                        "id": 2,
                        "start": 1000,
                        "end": 3000,
                        "time_base": Fraction(1, 1000),
                        "metadata": {"title": "Light"},
                    },
                ]
            )
        for index in range(int(seconds * fps)):
            frame = av.VideoFrame.from_image(bar_code(index, *size, black))
            frame.pts = index
            frame.time_base = Fraction(1, fps)
            out.mux(video.encode(frame))
        out.mux(video.encode(None))
        if audio is not None:
            feed(out, audio, tone(seconds), RATE)


def cover(colour: str = "teal") -> bytes:
    image = Image.new("RGB", (120, 120), colour)
    ImageDraw.Draw(image).ellipse([30, 30, 90, 90], "gold")
    data = io.BytesIO()
    image.save(data, "JPEG", quality=80)
    return data.getvalue()


def with_picture(mp3: bytes, picture: bytes, mime: bytes = b"image/jpeg") -> bytes:
    """An ID3v2.3 tag with a front cover and a title that was written as UTF-8 but declared as Latin-1."""
    apic = b"\x00" + mime + b"\x00\x03front\x00" + picture
    title = b"\x00" + "Überfahrt".encode()
    frames = b"".join(
        key + struct.pack(">I", len(body)) + b"\x00\x00" + body for key, body in ((b"TIT2", title), (b"APIC", apic))
    )
    length = len(frames)
    sized = bytes((length >> shift) & 0x7F for shift in (21, 14, 7, 0))
    return b"ID3\x03\x00\x00" + sized + frames + mp3


def audio_file(
    name: str, codec: str, samples: np.ndarray, tags: dict[str, str], rate: int = RATE, **options: int
) -> None:
    with av.open(str(HERE / name), "w", options={"fflags": "+bitexact"}) as out:
        out.metadata.update(tags)
        sound(out, codec, samples, rate, **options)


def huge_png(side: int) -> bytes:
    """A black picture of side × side that takes a few kilobytes."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = zlib.compressobj(9)
    packed = b"".join(rows.compress(bytes(1 + side // 8)) for _ in range(side)) + rows.flush()
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def main() -> None:
    HERE.mkdir(exist_ok=True)
    film("mill.mp4", 3, chapters=True)
    film("turned.mp4", 1, black=0, turn=-90, with_tone=False)
    film("one_key_frame.mp4", 3, black=15, gop=300, with_tone=False)
    whole = (HERE / "mill.mp4").read_bytes()
    (HERE / "cut.mp4").write_bytes(whole[: len(whole) * 6 // 10])
    quiet_then_loud = np.concatenate([tone(1, loudness=0.1), tone(1, loudness=0.8)])
    audio_file("song.mp3", "libmp3lame", quiet_then_loud, TAGS, bit_rate=32_000)
    audio_file("song.ogg", "libopus", quiet_then_loud, TAGS, bit_rate=16_000)
    audio_file("song.flac", "flac", quiet_then_loud, TAGS)
    audio_file("song.m4a", "aac", quiet_then_loud, TAGS, bit_rate=32_000)
    audio_file("song.wav", "pcm_s16le", np.ascontiguousarray(quiet_then_loud[::2]), TAGS, rate=RATE // 2)
    audio_file("silence.wav", "pcm_s16le", np.zeros(8_000, np.float32), {}, rate=8_000)
    plain = io.BytesIO()
    with av.open(plain, "w", format="mp3", options={"id3v2_version": "0", "write_xing": "0"}) as out:
        sound(out, "libmp3lame", tone(1), RATE, bit_rate=32_000)
    (HERE / "cover.mp3").write_bytes(with_picture(plain.getvalue(), cover()))
    (HERE / "huge_cover.mp3").write_bytes(with_picture(plain.getvalue(), huge_png(20_000), b"image/png"))
    latin = b"TAG" + "Café".encode("cp1252").ljust(30, b"\0") + "Kōan".encode("ascii", "ignore").ljust(30, b"\0")
    (HERE / "id3v1.mp3").write_bytes(plain.getvalue() + latin.ljust(127, b"\0") + b"\x11")


if __name__ == "__main__":
    main()
