"""The digester that transcribes recordings and videos: who says what, and when."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chyme.digester import Digester, Inputs, Makes, Runs, Source
from chyme.errors import EngineUnavailable
from chyme.model import Artifact, File, Form, Kind, Lane, Output, Transcript, Turn, Voice, Word
from chyme.models.weights.catalog import VOICES
from chyme.models.weights.folder import path_of
from chyme.speech.media.container import MediaLimits, Recording
from chyme.speech.recognition.settings import SpeechEndpoint, SpeechSettings
from chyme.speech.transcripts import json_format as transcripts
from chyme.speech.transcripts.subtitles import subtitle_artifacts
from chyme.speech.transcripts.utterances import SpokenWord, utterances
from chyme.speech.voices import json_format as sounds
from chyme.speech.voices.speaker_labels import label_segments

if TYPE_CHECKING:
    from chyme.speech.voices.diarization import Window

PREVIEW = "media-preview"
SPEAKERS, SPEAKERS_BYTES = "speakers.json", 64 << 20  # who spoke; passed from the preparation to the attempt
SLACK_SECONDS = 60.0  # time to prepare the sound
BYTES_A_SECOND = 4_000  # assumed for a recording of unknown length: few have a lower bit rate
NO_VOICES = (
    "speakers are not told apart: {cause}; run 'chyme weights voices', then 'chyme reset --digester speech-recognition'"
)


class SpeechRecognition(Digester):
    """The transcript as JSON, subtitles, and the voices of the speakers. No content where there is no speech.

    The JSON's `note` says what could not be done.
    """

    name = "speech-recognition"
    label = "Transcript"
    description = "What is said in it, by whom and when."
    makes = Makes(Form.TRANSCRIPT)
    reads = (PREVIEW,)
    inputs = Inputs(artifacts=False)
    runs = Runs(family="speech", lane=Lane.LONG, keeps_scratch=True, prepares=True)

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
        engine = self.settings.fingerprint
        if self.endpoint is not None:
            engine = f"{self.endpoint.fingerprint} language {self.settings.language or 'detected'}"
        presence = "with" if path_of(VOICES, self.settings.weights_dir) else "without"
        return f"{engine}, {self.media.sound_hours} hours, voices by {VOICES.engine} {presence} weights"

    @property
    def portable_fingerprint(self) -> str:
        engine = self.settings.portable_fingerprint
        presence = "with" if path_of(VOICES, self.settings.weights_dir) else "without"
        voices = f"voices by {VOICES.engine} {VOICES.identity} {presence} weights"
        return f"{engine}, {self.media.sound_hours} hours, {voices}" if engine and self.endpoint is None else ""

    def waits_for(self, file: File) -> bool:
        return self.endpoint is not None

    def asks(self, file: File) -> str | None:
        return "speech" if self.endpoint else None

    def can_digest(self, file: File) -> bool:
        return file.kind in (Kind.AUDIO, Kind.VIDEO)

    def time_limit(self, source: Source) -> float:
        """Grows with the playing time or, while that is unknown, with the file size."""
        duration = _read_preview(source).get("duration")
        longest = self.media.sound_hours * 3600.0
        seconds = duration if isinstance(duration, int | float) else source.file.size / BYTES_A_SECOND
        duration = min(longest, max(0.0, seconds))
        local_limit = self.settings.seconds + self.settings.pace * duration
        return max(local_limit, self.endpoint.seconds_for(duration) + SLACK_SECONDS) if self.endpoint else local_limit

    def digest(self, source: Source) -> list[Output]:
        if self.endpoint is None or _is_silent(source):
            return self.without_model(source)
        return [self._transcribe_remotely(source, self.endpoint)]

    def without_model(self, source: Source) -> list[Output]:
        """Use the local engine, for files that must not leave this machine."""
        return [Output(self.name, None) if _is_silent(source) else self._transcribe_locally(source)]

    def prepare(self, source: Source) -> None:
        """Cut the sound into pieces to send, and find out who speaks in them."""
        from chyme.core.files.untrusted_files import write_atomically
        from chyme.speech.recognition.pieces import prepare
        from chyme.speech.voices.diarization import separate_speakers, voices_of

        if _is_silent(source):
            return
        embedder, note = _load_embedder(self.settings.weights_dir)

        def keep(windows: Sequence[Window]) -> None:
            turns = separate_speakers(windows)
            voices = voices_of(windows, turns, embedder.model) if embedder else ()
            write_atomically(source.scratch / SPEAKERS, sounds.speakers_as_json(turns, voices, note))

        prepare(_recording_of(source), self.media, source.scratch, embedder.embed if embedder else None, keep)

    def _transcribe_remotely(self, source: Source, endpoint: SpeechEndpoint) -> Output:
        from chyme.speech.recognition.remote_recogniser import transcribe

        transcript = transcribe(
            source.calls, source.file.name, source.scratch, endpoint, self.settings.language, source.progress
        )
        turns, voices, note = _read_speakers(source.scratch)
        notes = [text for text in (transcript.note, note) if text]
        return build_output(replace(transcript, note="; ".join(notes) or None), turns, voices)

    def _transcribe_locally(self, source: Source) -> Output:
        from chyme.speech.recognition.local_recogniser import recognise
        from chyme.speech.voices.diarization import separate_speakers, voices_of

        embedder, note = _load_embedder(self.settings.weights_dir)
        duration = _read_preview(source).get("duration") or 0.0
        try:
            result = recognise(
                _recording_of(source),
                self.media,
                self.settings,
                source.scratch,
                embedder,
                lambda seconds: source.progress(min(1.0, seconds / duration)) if duration else None,
            )
        except EngineUnavailable as error:
            raise EngineUnavailable(f"{source.file.name}: {error}") from error
        words = [
            SpokenWord(Word(word.text.strip(), word.start, word.end, word.probability), word.text[:1].isspace())
            for word in result.words
            if word.text.strip()
        ]
        turns = separate_speakers(result.windows) if embedder and words else []
        notes = [note, _limit_note(result.seconds, self.media)]
        transcript = Transcript(
            result.language,
            self.settings.model,
            max(result.seconds, duration),
            tuple(utterances(words)),
            "; ".join(text for text in notes if text) or None,
        )
        return build_output(transcript, turns, voices_of(result.windows, turns, embedder.model) if embedder else ())


def build_output(transcript: Transcript, turns: Sequence[Turn], voices: Sequence[Voice]) -> Output:
    """Build the digest of a transcript, local or remote: label speakers, write subtitles, and attach voices."""
    if not transcript.segments:
        return Output(SpeechRecognition.name, None)
    segments = label_segments(transcript.segments, turns)
    speakers = {segment.speaker for segment in segments}
    present_voices = [voice for voice in voices if voice.speaker in speakers]
    voice_artifacts = [Artifact(sounds.VOICES, sounds.as_json(present_voices))] if present_voices else []
    content = transcripts.as_json(replace(transcript, segments=segments))
    return Output(SpeechRecognition.name, content, (*voice_artifacts, *subtitle_artifacts(segments)))


def _load_embedder(weights_dir: str) -> tuple[Any, str | None]:
    """Load the voice embedder; without it, return the reason."""
    from chyme.speech.recognition.local_recogniser import VoiceEmbedder
    from chyme.speech.voices.encoder import load

    try:
        encoder = load(weights_dir)
    except EngineUnavailable as error:
        return None, NO_VOICES.format(cause=str(error).split(";", maxsplit=1)[0])
    return VoiceEmbedder(encoder.model, encoder.windows), None


def _recording_of(source: Source) -> Recording:
    return Recording(source.file.name, source.file.mime, source.file.size, source.open)


def _read_speakers(scratch: Path) -> tuple[tuple[Turn, ...], tuple[Voice, ...], str | None]:
    """Read who was heard during preparation. The folder is written by a child process, so nothing in it is trusted."""
    from chyme.core.files.untrusted_files import open_untrusted

    try:
        with open_untrusted(scratch / SPEAKERS, SPEAKERS_BYTES) as stream:
            return sounds.speakers_from_json(stream.read())
    except (OSError, ValueError, TypeError, KeyError):
        return (), (), "speakers are not told apart: what was heard of them cannot be read"


def _limit_note(seconds: float, media: MediaLimits) -> str | None:
    if seconds < media.sound_hours * 3600:
        return None
    return f"only the first {media.sound_hours} hours were heard; cut the recording to hear the rest"


def _is_silent(source: Source) -> bool:
    preview = _read_preview(source)
    return bool(preview) and "audio" not in preview


def _read_preview(source: Source) -> dict[str, Any]:
    """The content of the media preview; empty when there is none."""
    preview = source.output(PREVIEW)
    try:
        content = json.loads(preview.content) if preview and preview.content else {}
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}
