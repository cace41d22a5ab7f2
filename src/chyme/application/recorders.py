"""The recorders of all capabilities."""

from __future__ import annotations

from chyme.core.pipeline.recorders import Recorder
from chyme.search.index_recorder import IndexRecorder
from chyme.speech.people.speaker_identification import SAME_VOICE
from chyme.speech.people.voice_recorder import VoiceRecorder
from chyme.understanding.description import DescriptionRecorder


def recorders_of(same_voice: float = SAME_VOICE) -> tuple[Recorder, ...]:
    """Return the recorders in calling order: the index is last, because the others change what a file is called."""
    index = IndexRecorder()
    return VoiceRecorder(index.refresh_names, same_voice), DescriptionRecorder(index.refresh_names), index
