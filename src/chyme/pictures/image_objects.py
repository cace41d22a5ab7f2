"""Find the things in a picture."""

from __future__ import annotations

from chyme.digester import Calls, Digester, Source
from chyme.model import File, Kind, Lane, Output
from chyme.models.providers.endpoints import VisionSettings
from chyme.models.weights.catalog import OBJECTS
from chyme.pictures.object_detector import DetectorSettings, detect, fingerprint
from chyme.pictures.objects import (
    MOST,
    PictureObject,
    as_json,
    normalise_boxes,
    object_from_detector,
    object_from_model,
    select_objects,
)
from chyme.pictures.preview_output import preview_of
from chyme.pictures.vision_model import PROMPTS, ask_for_objects, size_of

SLACK_SECONDS = 10.0  # whoever waits for an answer waits longer than the answer may take


class ImageObjects(Digester):
    """Asks the vision model if there is one, else the detector whose weights `chyme weights` fetches."""

    name = "image-objects"
    label = "Objects"
    description = "The things in the picture, with their boxes."
    reads = ("image-preview",)
    family = "pictures"
    falls_back = True

    def __init__(
        self,
        detector: DetectorSettings | None = None,
        vision: VisionSettings | None = None,
        seconds: float = 600.0,
    ) -> None:
        self.detector = detector or DetectorSettings()
        self.vision = vision
        self.lane = Lane.MODEL if vision else Lane.ORDINARY
        self.seconds = seconds

    @property
    def fingerprint(self) -> str:
        asked = f"{self.vision.fingerprint}, prompts {PROMPTS}, " if self.vision else ""
        return asked + fingerprint(self.detector)

    def can_digest(self, file: File) -> bool:
        return file.kind is Kind.IMAGE

    def waits_for(self, file: File) -> bool:
        return self.vision is not None and self.vision.may_send(file.mime, file.size)

    def asks(self, file: File) -> str | None:
        return "vision" if self.waits_for(file) else None

    def time_limit(self, source: Source) -> float:
        """With a model: its time, and then that of the detector, which serves when it cannot."""
        asked = self.vision.seconds + SLACK_SECONDS if self.vision and self.waits_for(source.file) else 0.0
        return self.seconds + asked

    def digest(self, source: Source) -> list[Output]:
        if self.vision is None or not self.waits_for(source.file):
            return self.without_model(source)
        things = _described(source.calls, source.file.name, preview_of(source), self.vision)
        return [Output(self.name, as_json(things, self.vision.model))]

    def without_model(self, source: Source) -> list[Output]:
        file = source.file
        found = [
            object_from_detector(one.name, one.category, one.confidence, one.edges)
            for one in detect(file.name, preview_of(source), self.detector)
        ]
        note = not_sent_note(file, self.vision) if self.vision else None
        return [Output(self.name, as_json(select_objects(thing for thing in found if thing), OBJECTS.engine, note))]


def not_sent_note(file: File, vision: VisionSettings) -> str | None:
    """The note for a picture that stayed here for its size although there is a vision model."""
    if vision.may_send(file.mime, file.size):
        return None
    return (
        f"a HEIC file of {file.size:,} bytes is not sent to the vision model; heic_bytes allows {vision.heic_bytes:,}"
    )


def _described(calls: Calls, name: str, jpeg: bytes, vision: VisionSettings) -> list[PictureObject]:
    seen = ask_for_objects(calls, name, jpeg, vision).objects[:MOST]
    boxes = normalise_boxes([one.box or () for one in seen], size_of(jpeg))
    things = (
        object_from_model(one.name, one.description, one.category, one.tags, box)
        for one, box in zip(seen, boxes, strict=True)
    )
    return select_objects(thing for thing in things if thing)
