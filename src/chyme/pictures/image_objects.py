"""The digester that finds the objects in a picture."""

from __future__ import annotations

from dataclasses import replace

from chyme.digester import Calls, Makes, Promises, Runs, Source
from chyme.model import File, Form, Kind, Lane, Output
from chyme.models.model_digesters import VisionModelDigester, fingerprint_with_model
from chyme.models.providers.endpoints import VisionSettings
from chyme.models.weights.catalog import OBJECTS
from chyme.pictures.image_preview import preview_of
from chyme.pictures.object_detector import DetectorSettings, detect, fingerprint
from chyme.pictures.objects import (
    MAX_OBJECTS,
    PictureObject,
    as_json,
    normalise_boxes,
    object_from_detector,
    object_from_model,
    select_objects,
)
from chyme.pictures.vision_model import PROMPTS, ask_for_objects, size_of


class ImageObjects(VisionModelDigester):
    """Asks the vision model if one is configured, else the detector whose weights `chyme weights` fetches."""

    name = "image-objects"
    label = "Objects"
    description = "The things in the picture, with their boxes."
    makes = Makes(Form.OBJECTS)
    reads = ("image-preview",)
    runs = Runs(family="pictures")
    promises = Promises(falls_back=True)

    def __init__(
        self,
        detector: DetectorSettings | None = None,
        vision: VisionSettings | None = None,
        seconds: float = 600.0,
    ) -> None:
        self.detector = detector or DetectorSettings()
        self.vision = vision
        self.runs = replace(self.runs, lane=Lane.MODEL if vision else Lane.ORDINARY)
        self.seconds = seconds

    @property
    def fingerprint(self) -> str:
        return fingerprint_with_model(self.vision, PROMPTS, fingerprint(self.detector))

    @property
    def portable_fingerprint(self) -> str:
        return f"{self.fingerprint} {OBJECTS.identity}"

    def can_digest(self, file: File) -> bool:
        return file.kind is Kind.IMAGE

    def digest(self, source: Source) -> list[Output]:
        if self.vision is None or not self.waits_for(source.file):
            return self.without_model(source)
        objects = _describe_with_model(source.calls, source.file.name, preview_of(source), self.vision)
        return [Output(self.name, as_json(objects, self.vision.model))]

    def without_model(self, source: Source) -> list[Output]:
        file = source.file
        objects = [
            object_from_detector(detection.name, detection.category, detection.confidence, detection.edges)
            for detection in detect(file.name, preview_of(source), self.detector)
        ]
        note = not_sent_note(file, self.vision) if self.vision else None
        return [Output(self.name, as_json(select_objects(item for item in objects if item), OBJECTS.engine, note))]


def not_sent_note(file: File, vision: VisionSettings) -> str | None:
    """The note for a picture that was not sent to the vision model because of its size."""
    if vision.may_send(file.mime, file.size):
        return None
    return (
        f"a HEIC file of {file.size:,} bytes is not sent to the vision model; heic_bytes allows {vision.heic_bytes:,}"
    )


def _describe_with_model(calls: Calls, name: str, jpeg: bytes, vision: VisionSettings) -> list[PictureObject]:
    answered = ask_for_objects(calls, name, jpeg, vision).objects[:MAX_OBJECTS]
    boxes = normalise_boxes([described.box or () for described in answered], size_of(jpeg))
    objects = (
        object_from_model(described.name, described.description, described.category, described.tags, box)
        for described, box in zip(answered, boxes, strict=True)
    )
    return select_objects(item for item in objects if item)
