"""Write down what is said in recordings and videos: who, what and when."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chyme.digester import Digester, Source
from chyme.errors import EngineUnavailable
from chyme.model import Artifact, File, Kind, Lane, Output, Transcript, Turn, Voice, Word
from chyme.models.weights.catalog import VOICES
from chyme.models.weights.folder import path_of
from chyme.speech.media.limits import MediaLimits
from chyme.speech.recognition.endpoint import SpeechEndpoint
from chyme.speech.recognition.whisper_settings import SpeechSettings
from chyme.speech.transcripts import json_format as transcripts
from chyme.speech.transcripts.subtitles import srt, vtt
from chyme.speech.transcripts.utterances import SpokenWord, utterances
from chyme.speech.voices import json_format as sounds
from chyme.speech.voices.speaker_labels import label_segments

if TYPE_CHECKING:
    from chyme.speech.voices.window import Window

PREVIEW = "media-preview"
SUBTITLES = ("subtitles.srt", "subtitles.vtt")
SPEAKERS, SPEAKERS_BYTES = "speakers.json", 64 << 20  # who spoke, from the preparation to the attempt
SLACK_SECONDS = 60.0  # for the sound to be made ready
BYTES_A_SECOND = 4_000  # of a recording whose length nobody knows: few are smaller
NO_VOICES = (
    "speakers are not told apart: {cause}; run 'chyme weights voices', then 'chyme reset --digester speech-recognition'"
)


class SpeechRecognition(Digester):
    """The transcript as JSON, subtitles, and how each speaker sounds. Where nobody speaks there is no content.

    What could not be done is told in the JSON's `note`.
    """

    name = "speech-recognition"
    label = "Transcript"
    description = "What is said in it, by whom and when."
    reads = (PREVIEW,)
    reads_artifacts = False
    family = "speech"
    lane = Lane.LONG
    keeps = True
    prepares = True

    def __init__(
        self,
        settings: SpeechSettings | None = None,
        media: MediaLimits | None = None,
        endpoint: SpeechEndpoint | None = None,
    ) -> None:
        self.settings = settings or SpeechSettings()
        self.media = media or MediaLimits()
        self.endpoint = endpoint

    @property
    def fingerprint(self) -> str:
        heard = self.settings.fingerprint
        if self.endpoint is not None:
            heard = f"{self.endpoint.fingerprint} language {self.settings.language or 'detected'}"
        there = "with" if path_of(VOICES, self.settings.weights_dir) else "without"
        return f"{heard}, {self.media.sound_hours} hours, voices by {VOICES.engine} {there} weights"

    def waits_for(self, file: File) -> bool:
        return self.endpoint is not None

    def asks(self, file: File) -> str | None:
        return "speech" if self.endpoint else None

    def can_digest(self, file: File) -> bool:
        return file.kind in (Kind.AUDIO, Kind.VIDEO)

    def time_limit(self, source: Source) -> float:
        """Grows with how long it plays; as long as nobody knows that, with its size."""
        plays = _told(source).get("duration")
        longest = self.media.sound_hours * 3600.0
        seconds = plays if isinstance(plays, int | float) else source.file.size / BYTES_A_SECOND
        plays = min(longest, max(0.0, seconds))
        here = self.settings.seconds + self.settings.pace * plays
        return max(here, self.endpoint.seconds_for(plays) + SLACK_SECONDS) if self.endpoint else here

    def digest(self, source: Source) -> list[Output]:
        told = _told(source)
        if told and "audio" not in told:
            return [Output(self.name, None)]
        return [self._sent(source, self.endpoint) if self.endpoint else self._recognised(source, told)]

    def without_model(self, source: Source) -> list[Output]:
        """By the engine here, for files that must not leave this machine."""
        told = _told(source)
        return [Output(self.name, None) if told and "audio" not in told else self._recognised(source, told)]

    def prepare(self, source: Source) -> None:
        """Cut the sound into pieces to be sent, and hear who speaks in them."""
        from chyme.speech.media.preview import Recording
        from chyme.speech.recognition.piece_index import write_atomically
        from chyme.speech.recognition.pieces import prepare
        from chyme.speech.voices.diarization import separate_speakers, voices_of

        file, told = source.file, _told(source)
        if told and "audio" not in told:
            return
        voices, note = _voices(self.settings.weights_dir)

        def keep(windows: Sequence[Window]) -> None:
            turns = separate_speakers(windows)
            heard = voices_of(windows, turns, voices.model) if voices else ()
            write_atomically(source.scratch / SPEAKERS, sounds.speakers_as_json(turns, heard, note))

        recording = Recording(file.name, file.mime, file.size, source.open)
        prepare(recording, self.media, source.scratch, voices.embed if voices else None, keep)

    def _sent(self, source: Source, endpoint: SpeechEndpoint) -> Output:
        from chyme.speech.recognition.remote_recogniser import transcribe

        heard = transcribe(
            source.calls, source.file.name, source.scratch, endpoint, self.settings.language, source.progress
        )
        turns, voices, note = _speakers(source.scratch)
        notes = [one for one in (heard.note, note) if one]
        return build_output(replace(heard, note="; ".join(notes) or None), turns, voices)

    def _recognised(self, source: Source, told: dict[str, Any]) -> Output:
        from chyme.speech.media.preview import Recording
        from chyme.speech.recognition.local_recogniser import recognise
        from chyme.speech.voices.diarization import separate_speakers, voices_of

        file = source.file
        voices, note = _voices(self.settings.weights_dir)
        plays = told.get("duration") or 0.0
        try:
            found = recognise(
                Recording(file.name, file.mime, file.size, source.open),
                self.media,
                self.settings,
                source.scratch,
                voices,
                lambda seconds: source.progress(min(1.0, seconds / plays)) if plays else None,
            )
        except EngineUnavailable as error:
            raise EngineUnavailable(f"{file.name}: {error}") from error
        said = [
            SpokenWord(Word(word.text.strip(), word.start, word.end, word.probability), word.text[:1].isspace())
            for word in found.words
            if word.text.strip()
        ]
        turns = separate_speakers(found.windows) if voices and said else []
        notes = [note, _cut(found.seconds, self.media)]
        heard = Transcript(
            found.language,
            self.settings.model,
            max(found.seconds, plays),
            tuple(utterances(said)),
            "; ".join(one for one in notes if one) or None,
        )
        return build_output(heard, turns, voices_of(found.windows, turns, voices.model) if voices else ())


def build_output(heard: Transcript, turns: Sequence[Turn], voices: Sequence[Voice]) -> Output:
    """The digest of what was heard, whoever heard it: speakers put to the segments, subtitles, and voices."""
    if not heard.segments:
        return Output(SpeechRecognition.name, None)
    segments = label_segments(heard.segments, turns)
    spoke = {segment.speaker for segment in segments}
    artifacts = [Artifact(name, write(segments).encode()) for name, write in zip(SUBTITLES, (srt, vtt), strict=True)]
    present = [voice for voice in voices if voice.speaker in spoke]
    if present:
        artifacts.insert(0, Artifact(sounds.VOICES, sounds.as_json(present)))
    content = transcripts.as_json(replace(heard, segments=segments))
    return Output(SpeechRecognition.name, content, tuple(artifacts))


def _voices(weights_dir: str) -> tuple[Any, str | None]:
    """What tells voices apart; without it, why not."""
    from chyme.speech.recognition.local_recogniser import VoiceEmbedder
    from chyme.speech.voices.encoder import load

    try:
        encoder = load(weights_dir)
    except EngineUnavailable as error:
        return None, NO_VOICES.format(cause=str(error).split(";", maxsplit=1)[0])
    return VoiceEmbedder(
        encoder.model,
        lambda samples, start, spans: encoder.windows(samples, start, [(span.start, span.end) for span in spans]),
    ), None


def _speakers(scratch: Path) -> tuple[tuple[Turn, ...], tuple[Voice, ...], str | None]:
    """Who was heard while the sound was prepared. The folder is written by a child, so nothing in it is trusted."""
    from chyme.speech.recognition.piece_index import open_untrusted

    try:
        with open_untrusted(scratch / SPEAKERS, SPEAKERS_BYTES) as stream:
            return sounds.speakers_from_json(stream.read())
    except (OSError, ValueError, TypeError, KeyError):
        return (), (), "speakers are not told apart: what was heard of them cannot be read"


def _cut(seconds: float, media: MediaLimits) -> str | None:
    if seconds < media.sound_hours * 3600:
        return None
    return f"only the first {media.sound_hours} hours were heard; cut the recording to hear the rest"


def _told(source: Source) -> dict[str, Any]:
    """What the preview knows of it; empty when there is none."""
    preview = source.output(PREVIEW)
    try:
        told = json.loads(preview.content) if preview and preview.content else {}
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
