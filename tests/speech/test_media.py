"""Looking and listening into audio and video."""

from __future__ import annotations

import http.server
import io
import json
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy
import pytest
from PIL import Image

from chyme.errors import DigestError, UnreadableFile, UnsupportedFile
from chyme.files.kind_detection import identify
from chyme.model import Kind
from chyme.speech.media.container import MediaLimits, Recording
from chyme.speech.media.preview import Preview, build_preview
from chyme.speech.media.tags import clean, place_in, tags_in
from chyme.speech.media.waveform import Waveform

SAMPLES = Path(__file__).resolve().parents[1] / "samples" / "media"


def look(data: bytes, name: str = "file.bin", mime: str = "", limits: MediaLimits | None = None) -> Preview:
    recording = Recording(name, mime, len(data), lambda: io.BytesIO(data))
    return build_preview(recording, limits or MediaLimits(), lambda fraction: None)


def sample(name: str, limits: MediaLimits | None = None) -> Preview:
    return look((SAMPLES / name).read_bytes(), name, limits=limits)


def picture(found: Preview, name: str) -> Image.Image:
    return Image.open(io.BytesIO(next(artifact.data for artifact in found.artifacts if artifact.filename == name)))


@pytest.mark.parametrize(("name", "kind"), [("a.weba", Kind.AUDIO), ("a.mka", Kind.AUDIO), ("a.webm", Kind.VIDEO)])
def test_matroska_is_sound_or_film_by_its_extension(name: str, kind: Kind) -> None:
    head = b"\x1a\x45\xdf\xa3" + bytes(60)
    assert identify(name, head, len(head), lambda at, length: head[at : at + length])[0] is kind


@pytest.mark.parametrize("name", ["a.ape", "a.wv", "a.ac3", "a.vob", "a.f4v", "a.3g2", "a.asf"])
def test_a_broken_recording_is_still_known_by_its_extension(name: str) -> None:
    assert identify(name, b"\x01\x02\x00\x7f" * 9, 36, lambda at, length: b"")[0] in (Kind.AUDIO, Kind.VIDEO)


# Waveform


def test_a_waveform_keeps_its_room_and_the_loud_places_stay_where_they_were() -> None:
    wave = Waveform(100)
    wave.add(numpy.full(1_000_000, 0.25, numpy.float32))
    wave.add(numpy.full(1_000_000, 0.5, numpy.float32))
    peaks = wave.peaks()
    assert len(peaks) == 100
    assert set(peaks[:49]) == {50}
    assert set(peaks[51:]) == {100}


def test_a_waveform_is_the_same_however_the_samples_arrive() -> None:
    sound = numpy.abs(numpy.sin(numpy.arange(300_000) / 7000)).astype(numpy.float32)
    whole, parts = Waveform(50), Waveform(50)
    whole.add(sound)
    for start in range(0, len(sound), 777):
        parts.add(sound[start : start + 777])
    assert whole.peaks() == parts.peaks()


def test_a_short_sound_has_fewer_values_and_silence_has_zeros() -> None:
    wave = Waveform(100)
    wave.add(numpy.zeros(640, numpy.float32))
    assert wave.peaks() == [0] * 10
    assert wave.silent


def test_a_pause_is_silent_in_the_waveform() -> None:
    wave = Waveform(10)
    wave.add(numpy.ones(640, numpy.float32))
    wave.skip(640)
    assert wave.peaks() == [100] * 5 + [0] * 5


# Sound


@pytest.mark.parametrize(
    ("name", "codec", "container"),
    [
        ("song.mp3", "mp3", "mp3"),
        ("song.ogg", "opus", "ogg"),
        ("song.flac", "flac", "flac"),
        ("song.m4a", "aac", "m4a"),
        ("song.wav", "pcm_s16le", "wav"),
    ],
)
def test_length_streams_tags_and_waveform_of_a_song(name: str, codec: str, container: str) -> None:
    content = sample(name).content
    assert content["duration"] == pytest.approx(2.0, abs=0.01)
    assert content["container"] == container
    assert content["audio"]["codec"] == codec
    assert content["audio"]["channels"] == 1
    assert content["tags"]["title"] == "Morgenlied über den Fluß"
    assert content["tags"]["artist"] == "Anna Ołówek"
    assert content["tags"]["comment"] == "Recorded beside the mill"
    peaks = content["peaks"]
    quiet, loud = peaks[len(peaks) // 4], peaks[len(peaks) * 3 // 4]
    assert 5 <= quiet <= 20
    assert loud >= 60
    assert content["silent"] is False
    assert "note" not in content
    assert "video" not in content


def test_a_song_without_a_cover_has_no_picture() -> None:
    assert sample("song.mp3").artifacts == ()


def test_a_silent_recording_is_called_silent() -> None:
    content = sample("silence.wav").content
    assert content["silent"] is True
    assert set(content["peaks"]) == {0}
    assert "loudest" not in content


def test_channels_that_cancel_each_other_are_still_heard() -> None:
    tone = (0.5 * numpy.sin(numpy.arange(8000) / 5)).astype(numpy.float32)
    content = look(wav(numpy.stack([tone, -tone]), 8000)).content
    assert content["silent"] is False
    assert content["loudest"] == pytest.approx(-6.0, abs=0.1)


def test_samples_that_are_not_numbers_do_no_harm() -> None:
    tone = numpy.zeros((2, 4000), numpy.float32)
    tone[1, 100] = numpy.nan
    tone[0, 200] = numpy.inf
    tone[0, 300] = 0.5
    content = look(wav(tone, 8000)).content
    assert max(content["peaks"]) == 100
    json.dumps(content, allow_nan=False)


def wav(samples: numpy.ndarray[Any, Any], rate: int) -> bytes:
    """A WAV file of 32-bit floats, one row of samples for each channel."""
    data = samples.T.astype("<f4").tobytes()
    channels = len(samples)
    head = b"fmt " + (16).to_bytes(4, "little") + (3).to_bytes(2, "little") + channels.to_bytes(2, "little")
    head += rate.to_bytes(4, "little") + (rate * 4 * channels).to_bytes(4, "little")
    head += (4 * channels).to_bytes(2, "little") + (32).to_bytes(2, "little")
    body = b"WAVE" + head + b"data" + len(data).to_bytes(4, "little") + data
    return b"RIFF" + len(body).to_bytes(4, "little") + body


def test_length_is_what_is_there_when_the_header_lies() -> None:
    data = (SAMPLES / "song.wav").read_bytes()
    at = data.index(b"data") + 4
    lying = data[:at] + (10 * len(data)).to_bytes(4, "little") + data[at + 4 :]
    assert look(lying).content["duration"] == pytest.approx(2.0, abs=0.01)


def test_sound_beyond_the_limit_is_not_decoded() -> None:
    silence = wav(numpy.zeros((1, 1000 * 3700), numpy.float32), 1000)
    content = look(silence, limits=MediaLimits(sound_hours=1)).content
    assert content["duration"] == pytest.approx(3700)
    assert "sound_hours" in content["note"]


def test_a_pause_in_the_recording_shows_in_the_waveform() -> None:
    out = io.BytesIO()
    with av.open(out, "w", format="matroska") as container:
        stream = container.add_stream("pcm_s16le", rate=8000, layout="mono")
        for second in (0, 1, 8, 9):
            frame = av.AudioFrame.from_ndarray(numpy.full((1, 8000), 9000, numpy.int16), format="s16", layout="mono")
            frame.sample_rate, frame.pts, frame.time_base = 8000, second * 8000, Fraction(1, 8000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    content = look(out.getvalue()).content
    assert content["duration"] == pytest.approx(10, abs=0.1)
    peaks = content["peaks"]
    assert peaks[len(peaks) // 10] == 100
    assert peaks[len(peaks) // 2] == 0
    assert peaks[-len(peaks) // 10] == 100


def test_sound_with_much_noise_in_the_middle_is_read_around_it() -> None:
    out = io.BytesIO()
    with av.open(out, "w", format="mp4") as container:
        stream = container.add_stream("aac", rate=16000, layout="mono")
        for number in range(400):
            tone = (0.5 * numpy.sin(numpy.arange(1024) / 5)).astype(numpy.float32)
            frame = av.AudioFrame.from_ndarray(tone[None], format="fltp", layout="mono")
            frame.sample_rate, frame.pts, frame.time_base = 16000, number * 1024, Fraction(1, 16000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    data = bytearray(out.getvalue())
    start, end = len(data) // 4, len(data) // 2
    data[start:end] = numpy.random.default_rng(1).integers(0, 256, end - start, numpy.uint8).tobytes()
    content = look(bytes(data)).content
    assert content["duration"] == pytest.approx(25.6, abs=0.2)
    assert "parts of the sound cannot be read" in content["note"]
    assert content["peaks"][-50] > 10


# Tags


def test_utf8_declared_as_latin_is_mended_and_other_text_is_left_alone() -> None:
    assert clean("Ãœberfahrt", 500) == "Überfahrt"
    assert clean("donâ€™t", 500) == "don’t"
    assert clean("Café Ærø", 500) == "Café Ærø"
    assert clean("東京", 500) == "東京"
    assert sample("cover.mp3").content["tags"]["title"] == "Überfahrt"


def test_old_tags_without_an_encoding_are_read() -> None:
    assert sample("id3v1.mp3").content["tags"]["title"] == "Café"
    assert clean("Привет".encode("cp1251").decode("utf-8", "surrogateescape"), 500) == "Привет"


def test_tags_are_cleaned_and_cut_at_a_word() -> None:
    assert clean(" a\x00b\x07  c \r\n d ", 500) == "a b c\nd"
    long = clean("word " * 200, 500)
    assert len(long) <= 500
    assert long.endswith("word…")


def test_only_useful_tags_are_listed_and_a_clock_that_was_never_set_is_not() -> None:
    found = tags_in([{"ENCODER": "Lavf", "TITLE": "T", "creation_time": "1904-01-01T00:00:00Z"}, {"title": "U"}], 500)
    assert found == {"title": "T"}


def test_the_place_a_phone_wrote_is_read() -> None:
    assert place_in([{"location": "+48.1374+011.5755+500.0/"}]) == {"latitude": 48.1374, "longitude": 11.5755}
    assert place_in([{"location": "+95.0+011.0/"}, {"title": "+1.0+1.0/"}]) is None


# Covers


def test_a_song_with_a_cover_is_sound_with_a_picture() -> None:
    found = sample("cover.mp3")
    assert "video" not in found.content
    assert found.content["cover"] == "cover.jpg"
    assert [artifact.filename for artifact in found.artifacts] == ["cover.jpg", "thumbnail.jpg"]
    assert picture(found, "cover.jpg").size == (120, 120)
    red, green, blue = picture(found, "cover.jpg").convert("RGB").getpixel((5, 5))  # type: ignore[misc]
    assert (red < 30, 100 < green < 150, 100 < blue < 150) == (True, True, True)


def test_a_huge_cover_is_not_decoded() -> None:
    found = sample("huge_cover.mp3")
    assert found.artifacts == ()
    assert "cover_pixels" in found.content["note"]
    assert found.content["audio"]["codec"] == "mp3"


def test_a_cover_beyond_the_limit_is_noted() -> None:
    found = sample("cover.mp3", MediaLimits(cover_pixels=120 * 120 - 1))
    assert found.artifacts == ()
    assert "cover_pixels" in found.content["note"]


def test_a_broken_cover_is_noted() -> None:
    data = (SAMPLES / "cover.mp3").read_bytes()
    at = data.index(b"\xff\xd8\xff")
    found = look(data[:at] + bytes(200) + data[at + 200 :])
    assert found.artifacts == ()
    assert "cover" in found.content["note"]


# Video


def test_the_poster_is_not_one_of_the_black_frames_at_the_beginning() -> None:
    found = sample("mill.mp4")
    assert found.content["duration"] == pytest.approx(3.0, abs=0.01)
    assert found.content["poster_second"] >= 1.0
    assert found.content["poster"] == "poster.jpg"
    assert [artifact.filename for artifact in found.artifacts] == ["poster.jpg", "thumbnail.jpg"]
    assert numpy.asarray(picture(found, "poster.jpg")).mean() > 50


def test_video_and_sound_of_a_film_are_described_with_its_chapters() -> None:
    content = sample("mill.mp4").content
    video = {key: content["video"][key] for key in ("codec", "width", "height", "rotation", "fps")}
    assert video == {"codec": "mpeg4", "width": 160, "height": 120, "rotation": 0, "fps": 10.0}
    assert content["audio"]["codec"] == "aac"
    assert content["chapters"] == [
        {"start": 0.0, "end": 1.0, "title": "Dark"},
        {"start": 1.0, "end": 3.0, "title": "Light"},
    ]


def test_chapters_are_counted_out() -> None:
    assert len(sample("mill.mp4", MediaLimits(chapters=1)).content["chapters"]) == 1


def test_a_film_with_one_key_frame_that_is_black_still_gets_a_poster() -> None:
    found = sample("one_key_frame.mp4")
    assert found.content["poster_second"] >= 1.5
    assert numpy.asarray(picture(found, "poster.jpg")).mean() > 50


def test_a_turned_film_stands_upright() -> None:
    found = sample("turned.mp4")
    assert (found.content["video"]["width"], found.content["video"]["height"]) == (120, 160)
    assert found.content["video"]["rotation"] == 90
    poster = picture(found, "poster.jpg").convert("RGB")
    assert poster.size == (120, 160)
    red, green, _ = poster.getpixel((112, 8))  # type: ignore[misc]
    assert red > 150 > green  # the red corner, top left before turning, is top right now


@pytest.mark.parametrize("degrees", [0, 90, 180, -90])
@pytest.mark.parametrize("mirrored", [False, True])
def test_every_orientation_stands_as_a_player_shows_it(degrees: int, mirrored: bool) -> None:
    data = film(frames=3, degrees=degrees, mirrored=mirrored)
    poster = picture(look(data), "poster.jpg").convert("L")
    stored = Image.new("L", (64, 32))
    stored.paste(255, (0, 0, 16, 8))
    expected = stored.rotate(degrees, expand=True)
    if mirrored:
        expected = expected.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    assert poster.size == expected.size
    difference = numpy.abs(numpy.asarray(poster, dtype=float) - numpy.asarray(expected, dtype=float)).mean()
    assert difference < 8


def test_a_film_that_is_black_at_every_moment_looked_at_is_gone_through() -> None:
    found = look(film(100, lit=range(32, 45), size=(64, 48)))
    assert 3.2 <= found.content["poster_second"] < 4.5


def film(
    frames: int,
    degrees: int = 0,
    mirrored: bool = False,
    size: tuple[int, int] = (64, 32),
    aspect: Fraction | None = None,
    lit: range | None = None,
) -> bytes:
    """A film of a white corner, top left, on black."""
    out = io.BytesIO()
    with av.open(out, "w", format="mp4") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        stream.bit_rate = 500_000
        if aspect:
            stream.codec_context.sample_aspect_ratio = aspect
        if degrees or mirrored:
            stream.set_display_rotation(degrees, hflip=mirrored)
        image = Image.new("RGB", size)
        image.paste((255, 255, 255), (0, 0, size[0] // 4, size[1] // 4))
        if lit:
            stream.gop_size = 1
        for number in range(frames):
            drawn = image if lit is None or number in lit else Image.new("RGB", size)
            frame = av.VideoFrame.from_ndarray(numpy.asarray(drawn))
            frame.pts, frame.time_base = number, Fraction(1, 10)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return out.getvalue()


def test_oblong_pixels_are_shown_in_their_true_shape() -> None:
    found = look(film(3, aspect=Fraction(2, 1)))
    assert (found.content["video"]["width"], found.content["video"]["height"]) == (128, 32)
    assert picture(found, "poster.jpg").size == (128, 32)


def test_frames_beyond_the_limit_are_not_decoded_and_the_rest_is_described() -> None:
    found = sample("mill.mp4", MediaLimits(video_pixels=160 * 120 - 1))
    assert found.artifacts == ()
    assert "video_pixels" in found.content["note"]
    assert found.content["duration"] == pytest.approx(3.0, abs=0.01)
    assert found.content["peaks"]


def test_a_film_all_black_still_gets_a_poster() -> None:
    data = film(5, size=(16, 16))
    assert look(data).content["poster"] == "poster.jpg"


# Broken, cut, locked, empty


def test_a_cut_film_is_described_as_far_as_it_goes() -> None:
    content = sample("cut.mp4").content
    assert 1 < content["duration"] < 2.5
    assert "cut short" in content["note"]
    assert content["poster"] == "poster.jpg"


def test_a_film_with_a_broken_middle_is_read_around_it() -> None:
    data = bytearray((SAMPLES / "mill.mp4").read_bytes())
    data[len(data) // 2 : len(data) * 3 // 4] = bytes(len(data) * 3 // 4 - len(data) // 2)
    content = look(bytes(data)).content
    assert content["duration"] == pytest.approx(3.0, abs=0.1)
    assert content["poster"] == "poster.jpg"


@pytest.mark.parametrize(
    "data", [b"", b"\x00", bytes(5000), b"ID3\x03\x00\x00\x00\x00\x00\x10", b"\x00\x00\x00\x18ftypmp42"]
)
def test_a_file_broken_from_the_start_is_unreadable_and_says_what_to_do(data: bytes) -> None:
    with pytest.raises(UnreadableFile, match=r"^film\.mp4: .*; "):
        look(data, "film.mp4")


def test_an_empty_file_is_called_empty() -> None:
    with pytest.raises(UnreadableFile, match=r"the file is empty; "):
        look(b"", "film.mp4")


def test_notes_to_be_played_are_not_sound() -> None:
    midi = b"MThd\x00\x00\x00\x06\x00\x00\x00\x01\x00\x60MTrk\x00\x00\x00\x04\x00\xff\x2f\x00"
    assert identify("tune.mid", midi, len(midi), lambda at, length: midi[at : at + length])[0] is Kind.AUDIO
    with pytest.raises(UnsupportedFile, match=r"tune\.mid"):
        look(midi, "tune.mid", "audio/midi")


def test_a_file_with_neither_sound_nor_pictures_completes_with_a_note() -> None:
    data = (SAMPLES / "mill.mp4").read_bytes()
    for kind, other in ((b"vide", b"meta"), (b"soun", b"meta"), (b"mp4v", b"mett"), (b"mp4a", b"mett")):
        data = data.replace(kind, other)
    found = look(data)
    assert "neither sound nor moving pictures" in found.content["note"]
    assert found.artifacts == ()


def test_a_protected_song_is_described_by_what_is_known() -> None:
    data = (SAMPLES / "song.m4a").read_bytes()
    locked = data.replace(b"mp4a", b"drms", 1)
    content = look(locked, "bought.m4a").content
    assert content["note"] == "the sound is protected or of an unknown codec"
    assert content["duration"] == pytest.approx(2.0, abs=0.1)
    assert content["tags"]["artist"] == "Anna Ołówek"
    assert "peaks" not in content


@pytest.mark.parametrize("name", ["mill.mp4", "song.mp3", "song.ogg", "song.flac", "cover.mp3", "song.m4a"])
def test_noise_in_a_file_never_comes_out_as_an_exception_of_a_library(name: str) -> None:
    whole = (SAMPLES / name).read_bytes()
    chance = numpy.random.default_rng(len(whole))
    for round_ in range(15):
        data = bytearray(whole)
        for at in chance.integers(0, len(data), 1 + 4 * round_):
            data[at] = chance.integers(0, 256)
        end = len(data) if round_ % 3 else int(chance.integers(1, len(data)))
        try:
            json.dumps(look(bytes(data[:end])).content, allow_nan=False)
        except DigestError as error:
            assert str(error).startswith("file.bin: ")


# Nothing but this file is opened


@pytest.fixture
def visited() -> Iterator[tuple[str, list[str]]]:
    """An address on this machine, and the paths requested there."""
    requests: list[str] = []

    class Listener(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            return

    server = http.server.HTTPServer(("127.0.0.1", 0), Listener)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", requests
    server.shutdown()
    thread.join()
    server.server_close()


PLAYLISTS = {
    "list.m3u8": "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n{}\n#EXT-X-ENDLIST\n",
    "list.m3u": "#EXTM3U\n{}\n",
    "list.ffconcat": "ffconcat version 1.0\nfile '{}'\n",
    "list.mpd": '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static">'
    "<Period><AdaptationSet><Representation><BaseURL>{}</BaseURL></Representation></AdaptationSet></Period></MPD>",
    "list.sdp": "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio 5004 RTP/AVP 0\na=x:{}\n",
    "film.mp4": "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n{}\n",
}


@pytest.mark.parametrize("name", PLAYLISTS)
def test_a_playlist_opens_nothing(name: str, visited: tuple[str, list[str]], tmp_path: Path) -> None:
    address, requests = visited
    neighbour = tmp_path / "neighbour.wav"
    neighbour.write_bytes((SAMPLES / "song.wav").read_bytes())
    for target in (f"{address}/secret.ts", str(neighbour), f"file://{neighbour}", "/etc/hostname"):
        data = PLAYLISTS[name].format(target).encode()
        path = tmp_path / name
        path.write_bytes(data)
        recording = Recording(name, "", len(data), lambda path=path: path.open("rb"))  # type: ignore[misc]
        with pytest.raises((UnsupportedFile, UnreadableFile)):
            build_preview(recording, MediaLimits(), lambda fraction: None)
        kind, _ = identify(name, data, len(data), lambda at, length, data=data: data[at : at + length])  # type: ignore[misc]
        assert kind is Kind.TEXT
    assert requests == []
