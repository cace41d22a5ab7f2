"""The digester that selects the voices of a recording that can be recognised in other files."""

from __future__ import annotations

import json
import math

from chyme.digester import Digester, Makes, Promises, Source
from chyme.errors import EngineUnavailable, UpstreamMissing
from chyme.model import File, Form, Kind, Output, Upstream, Voice
from chyme.speech.people.names import SPEAKERS
from chyme.speech.voices.json_format import VOICES, from_json

LEAST_SECONDS = 2.0
SECONDS = 60.0  # it only reads some kilobytes


class SpeakerEmbedding(Digester):
    """Passes the voices that speech-recognition found on to the vault's people.

    Who they are is decided when the digest is stored, because only then all other voices heard so far are known.
    """

    name = SPEAKERS
    label = "Speakers"
    description = "Whose voices these are, recognised across all files."
    makes = Makes(Form.SPEAKERS)
    reads = ("speech-recognition",)
    promises = Promises(reusable=False)

    def __init__(self, least_seconds: float = LEAST_SECONDS) -> None:
        self.least_seconds = least_seconds

    @property
    def fingerprint(self) -> str:
        return f"voices of {self.least_seconds:g} s"

    def can_digest(self, file: File) -> bool:
        return file.kind in (Kind.AUDIO, Kind.VIDEO)

    def time_limit(self, source: Source) -> float:
        return SECONDS

    def digest(self, source: Source) -> list[Output]:
        transcript = source.output("speech-recognition")
        if transcript is None:
            raise UpstreamMissing(f"{source.file.name}: it has no transcript; see what became of speech-recognition")
        if transcript.content is None:
            return [Output(self.name, None)]  # there is no speech
        voices_by_label = _load_voices(source.file.name, transcript)
        labels = dict.fromkeys([*_speaker_labels(transcript.content), *voices_by_label])
        skipped = {label: reason for label in labels if (reason := self._reason_unusable(voices_by_label.get(label)))}
        voices = tuple(voices_by_label[label] for label in labels if label not in skipped)
        if not labels:
            return [Output(self.name, None)]
        fields = {
            "speakers": [{"speaker": voice.speaker, "seconds": round(voice.seconds, 2)} for voice in voices],
            "skipped": [{"speaker": label, "reason": reason} for label, reason in skipped.items()],
        }
        content = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
        return [Output(self.name, content, voices=voices)]

    def _reason_unusable(self, voice: Voice | None) -> str | None:
        """Why a speaker cannot be recognised by this voice; None if it is usable."""
        if voice is None:
            return "spoke too little to be recognised"
        if voice.seconds < self.least_seconds:
            return f"spoke {voice.seconds:.1f} s; {self.least_seconds:g} s are needed to be recognised"
        length = math.hypot(*voice.vector)
        return None if math.isfinite(length) and length > 0 else "has no voice that could be compared"


def _load_voices(name: str, transcript: Upstream) -> dict[str, Voice]:
    data = transcript.artifacts.get(VOICES)
    problem = "its voices were not listened to"
    if data is not None:
        try:
            return {voice.speaker: voice for voice in from_json(data) if voice.speaker}
        except (ValueError, KeyError, TypeError):
            problem = "what was heard of its voices cannot be read"
    raise EngineUnavailable(
        f"{name}: {problem}; run 'chyme weights voices', then 'chyme reset --digester speech-recognition'"
    )


def _speaker_labels(content: str) -> list[str]:
    """The labels of all speakers in the transcript, in order."""
    fields = json.loads(content)
    rows = fields.get("speakers") if isinstance(fields, dict) else None
    return [row["speaker"] for row in rows or () if isinstance(row, dict) and row.get("speaker")]
