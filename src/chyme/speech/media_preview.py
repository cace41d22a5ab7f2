"""The digester that previews audio and video files."""

from __future__ import annotations

import json

from chyme.core.package_versions import describe_versions
from chyme.digester import Digester, Makes, Runs, Source
from chyme.model import File, Form, Kind, Output
from chyme.speech.media.container import MediaLimits

BYTES_A_SECOND = 1 << 20  # the slowest pace that still counts as progress


class MediaPreview(Digester):
    """Length, streams, tags, chapters and waveform as JSON; a poster or a cover as pictures.

    The JSON's `note` says what could not be read.
    """

    name = "media-preview"
    label = "Media preview"
    description = "How long it is, what it says about itself, its waveform, and a picture of it."
    makes = Makes(Form.MEDIA_FACTS, essential_for=frozenset({Kind.AUDIO, Kind.VIDEO}))
    runs = Runs(family="media")

    def __init__(self, limits: MediaLimits | None = None, seconds: float = 600.0, tell_place: bool = True) -> None:
        self.limits = limits or MediaLimits()
        self.tell_place = tell_place
        self.seconds = seconds

    @property
    def fingerprint(self) -> str:
        return f"{describe_versions('av', 'pillow')} {self.limits} {self.tell_place}"

    def can_digest(self, file: File) -> bool:
        return file.kind in (Kind.AUDIO, Kind.VIDEO)

    def time_limit(self, source: Source) -> float:
        """`seconds` for any file, and one more per megabyte, because the playing time is not known yet."""
        return self.seconds + source.file.size / BYTES_A_SECOND

    def digest(self, source: Source) -> list[Output]:
        from chyme.speech.media.container import Recording
        from chyme.speech.media.preview import build_preview

        file = source.file
        preview = build_preview(Recording(file.name, file.mime, file.size, source.open), self.limits, source.progress)
        fields = {name: value for name, value in preview.content.items() if self.tell_place or name != "place"}
        content = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
        return [Output(self.name, content, artifacts=preview.artifacts)]
