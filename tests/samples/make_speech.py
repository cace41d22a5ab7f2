"""Write the small recordings under `speech/`. Run: python tests/samples/make_speech.py (needs espeak-ng).

Three voices: Michael speaks in the memo, the film and the dialogue, Annie in the recipe and the dialogue, and a third
speaks German. `transcripts.tsv` tells what is said, `dialogue.tsv` who says it when.
"""

from __future__ import annotations

import io
import subprocess
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import make_media
import numpy as np

HERE = Path(__file__).parent / "speech"
RATE = 16_000
MICHAEL, ANNIE, GERMAN = "en-us+Michael", "en-us+Annie", "de+klatt4"
MEMO = (
    "Hello, this is a short note for the workshop. The piano will be delivered on Thursday, "
    "so please clear the long table before lunch."
)
FILM = (
    "Welcome to the museum. In this room you can see a large wooden elephant. "
    "It was built by hand a very long time ago."
)
RECIPE = (
    "For the soup you need two onions, a little milk and four large carrots. "
    "Cook everything slowly and add the parsley at the very end."
)
WEATHER = "Guten Tag, meine Damen und Herren. Heute sprechen wir über das Wetter und die Musik."
DIALOGUE = (
    (MICHAEL, "Good morning. Did you find the old telescope in the cellar?"),
    (ANNIE, "Yes, I did. It was standing behind two bicycles under a blanket."),
    (MICHAEL, "Wonderful. Then we can look at the moon tonight."),
    (ANNIE, "I hope the weather stays clear. Shall we invite the neighbors?"),
)


@dataclass(frozen=True)
class Said:
    """A turn of a dialogue, in seconds."""

    start: float
    end: float
    voice: str
    text: str


def spoken(voice: str, text: str, rate: int = RATE, speed: int = 135) -> np.ndarray:
    """What espeak-ng says, without the silence around it."""
    command = ["espeak-ng", "-v", voice, "-s", str(speed), "--stdout", text]
    wave = subprocess.run(command, check=True, capture_output=True).stdout
    resampler = av.AudioResampler(format="flt", layout="mono", rate=rate)
    with av.open(io.BytesIO(wave)) as recording:
        frames = [part for frame in recording.decode(audio=0) for part in resampler.resample(frame)]
    samples = np.concatenate([frame.to_ndarray()[0] for frame in [*frames, *resampler.resample(None)]])
    loud = np.flatnonzero(np.abs(samples) > 0.01)
    return samples[loud[0] : loud[-1]].astype(np.float32)


def silence(seconds: float, rate: int = RATE) -> np.ndarray:
    return np.zeros(int(seconds * rate), np.float32)


def around(samples: np.ndarray, rate: int = RATE) -> np.ndarray:
    """With a moment of silence before and after."""
    return np.concatenate([silence(0.5, rate), samples, silence(0.5, rate)])


def conversation(turns: tuple[tuple[str, str], ...], rate: int) -> tuple[np.ndarray, list[Said]]:
    """Left and right channel, and who speaks when; the first voice sits to the left."""
    left, right, said, now = [silence(0.5, rate)], [silence(0.5, rate)], [], 0.5
    for voice, text in turns:
        sound = spoken(voice, text, rate)
        near = voice == turns[0][0]
        left += [sound * (1.0 if near else 0.5), silence(0.5, rate)]
        right += [sound * (0.5 if near else 1.0), silence(0.5, rate)]
        said.append(Said(now, now + len(sound) / rate, voice, text))
        now += len(sound) / rate + 0.5
    return np.stack([np.concatenate(left), np.concatenate(right)]), said


def tune(seconds: float) -> np.ndarray:
    """Plucked chords, one after the other: music in which nobody says or sings anything."""
    chords = ((261.6, 329.6, 392.0), (220.0, 261.6, 329.6), (174.6, 220.0, 261.6), (196.0, 246.9, 293.7))
    parts = []
    for number in range(int(seconds / 0.5)):
        strings = [
            make_media.tone(0.5, hertz * part, 0.2 / part, RATE) for hertz in chords[number % 4] for part in (1, 2)
        ]
        parts.append(np.sum(strings, axis=0) * np.exp(-4 * np.arange(RATE // 2) / RATE))
    return np.concatenate(parts).astype(np.float32)


def recording(
    codec: str, samples: np.ndarray, rate: int, format_: str, bit_rate: int = 0, tags: dict[str, str] | None = None
) -> bytes:
    """Samples of one channel, or of two as rows, in a file of this format."""
    rows = samples if samples.ndim == 2 else samples[None]
    layout = "stereo" if len(rows) == 2 else "mono"
    out = io.BytesIO()
    with av.open(out, "w", format=format_, options={"fflags": "+bitexact"}) as file:
        file.metadata.update(tags or {})
        stream = file.add_stream(codec, rate=rate, layout=layout)
        if bit_rate:
            stream.bit_rate = bit_rate
        resampler = av.AudioResampler(
            format=stream.codec_context.format.name, layout=layout, rate=rate, frame_size=stream.frame_size or 4096
        )
        for at in range(0, rows.shape[1], 4096):
            frame = av.AudioFrame.from_ndarray(
                np.ascontiguousarray(rows[:, at : at + 4096]), format="fltp", layout=layout
            )
            frame.sample_rate, frame.pts, frame.time_base = rate, at, Fraction(1, rate)
            for part in resampler.resample(frame):
                file.mux(stream.encode(part))
        for part in resampler.resample(None):
            file.mux(stream.encode(part))
        file.mux(stream.encode(None))
    return out.getvalue()


def film(samples: np.ndarray, fps: int = 5, size: tuple[int, int] = (160, 120)) -> bytes:
    """A moving picture with sound."""
    out = io.BytesIO()
    with av.open(out, "w", format="mp4", options={"fflags": "+bitexact"}) as file:
        video = file.add_stream("mpeg4", rate=fps)
        video.width, video.height = size
        video.pix_fmt, video.bit_rate, video.gop_size = "yuv420p", 40_000, 25
        video.codec_context.thread_count = 1
        audio = file.add_stream("aac", rate=RATE, layout="mono")
        audio.bit_rate = 32_000
        for index in range(int(len(samples) / RATE * fps)):
            frame = av.VideoFrame.from_image(make_media.bar_code(index, *size, 0))
            frame.pts, frame.time_base = index, Fraction(1, fps)
            file.mux(video.encode(frame))
        file.mux(video.encode(None))
        make_media.feed(file, audio, samples, RATE)
    return out.getvalue()


def main() -> None:
    HERE.mkdir(exist_ok=True)
    (HERE / "memo.ogg").write_bytes(recording("libopus", around(spoken(MICHAEL, MEMO)), RATE, "ogg", 24_000))
    (HERE / "film.mp4").write_bytes(film(around(spoken(MICHAEL, FILM))))
    (HERE / "recipe.m4a").write_bytes(recording("aac", around(spoken(ANNIE, RECIPE)), RATE, "ipod", 32_000))
    (HERE / "wetter.ogg").write_bytes(recording("libopus", around(spoken(GERMAN, WEATHER)), RATE, "ogg", 24_000))
    channels, said = conversation(DIALOGUE, 44_100)
    (HERE / "dialogue.mp3").write_bytes(recording("libmp3lame", channels, 44_100, "mp3", 64_000))
    (HERE / "tune.mp3").write_bytes(recording("libmp3lame", tune(8), RATE, "mp3", 32_000))
    (HERE / "silence.flac").write_bytes(recording("flac", silence(5), RATE, "flac"))
    talk = " ".join(turn.text for turn in said)
    rows = [
        ("file", "language", "text"),
        *[
            ("memo.ogg", "en", MEMO),
            ("film.mp4", "en", FILM),
            ("recipe.m4a", "en", RECIPE),
            ("wetter.ogg", "de", WEATHER),
        ],
        ("dialogue.mp3", "en", talk),
    ]
    (HERE / "transcripts.tsv").write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    turns = "".join(f"{turn.start:.2f}\t{turn.end:.2f}\t{turn.voice}\t{turn.text}\n" for turn in said)
    (HERE / "dialogue.tsv").write_text("start\tend\tvoice\ttext\n" + turns, encoding="utf-8")


if __name__ == "__main__":
    main()
