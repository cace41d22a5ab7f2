"""Say in a sentence what a picture shows."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from chyme.digester import Calls, Digester, Source
from chyme.model import File, Kind, Lane, Output
from chyme.models.providers.endpoints import VisionSettings
from chyme.pictures.captions import as_json, compose_caption, count_text_words, sort_of_picture, words_in
from chyme.pictures.image_objects import SLACK_SECONDS, not_sent_note
from chyme.pictures.objects import clean_line
from chyme.pictures.preview_output import preview_of
from chyme.pictures.scene import PNG_HEAD, analyse_scene
from chyme.pictures.vision_model import PROMPTS, ask_for_caption
from chyme.text.model_output import plain_line, remove_invisible

COMPOSED = "composed"
SURE = 0.8  # a detector less confident than this is quoted with doubt: it took a rose for an apple at 0.74
CAPTION_LENGTH, VISIBLE_LENGTH = 1000, 20_000


class ImageCaptioning(Digester):
    """Asks the vision model if there is one, else composes a plain sentence from what the others found."""

    name = "image-captioning"
    label = "Caption"
    description = "A sentence about what the picture shows."
    reads = ("image-preview", "image-ocr", "image-objects")
    family = "pictures"
    falls_back = True

    def __init__(self, vision: VisionSettings | None = None, seconds: float = 600.0) -> None:
        self.vision = vision
        self.lane = Lane.MODEL if vision else Lane.ORDINARY
        self.seconds = seconds

    @property
    def fingerprint(self) -> str:
        return f"{self.vision.fingerprint}, prompts {PROMPTS}" if self.vision else COMPOSED

    def can_digest(self, file: File) -> bool:
        return file.kind is Kind.IMAGE

    def waits_for(self, file: File) -> bool:
        return self.vision is not None and self.vision.may_send(file.mime, file.size)

    def asks(self, file: File) -> str | None:
        return "vision" if self.waits_for(file) else None

    def time_limit(self, source: Source) -> float:
        """With a model: its time, and then that of composing, which serves when it cannot."""
        asked = self.vision.seconds + SLACK_SECONDS if self.vision and self.waits_for(source.file) else 0.0
        return self.seconds + asked

    def digest(self, source: Source) -> list[Output]:
        if self.vision is None or not self.waits_for(source.file):
            return self.without_model(source)
        return [Output(self.name, _described(source.calls, source.file.name, preview_of(source), self.vision))]

    def without_model(self, source: Source) -> list[Output]:
        note = not_sent_note(source.file, self.vision) if self.vision else None
        return [Output(self.name, _composed(source, preview_of(source), note))]


def _described(calls: Calls, name: str, jpeg: bytes, vision: VisionSettings) -> str | None:
    seen = ask_for_caption(calls, name, jpeg, vision)
    text = clean_line(plain_line(seen.caption), CAPTION_LENGTH)
    read = clean_line(
        remove_invisible(seen.visible_text), VISIBLE_LENGTH
    )  # as it stands there: it may be a picture of markup
    text = text or clean_line(plain_line(read), CAPTION_LENGTH)
    return as_json(text, vision.model, composed=False, words=read) if text or read else None


def _composed(source: Source, jpeg: bytes, note: str | None) -> str:
    ocr = source.output("image-ocr")
    recognised = (ocr.content if ocr else None) or ""
    words = words_in(recognised)
    with source.open() as stream:
        head = stream.read(PNG_HEAD)
    scene = analyse_scene(source.file.name, jpeg, head)
    sort = sort_of_picture(
        count_text_words(recognised), **asdict(scene), camera=bool(_told(source, "image-preview").get("camera"))
    )
    things = _told(source, "image-objects").get("objects", ())
    sure = [thing["name"] for thing in things if (thing.get("confidence") or 1.0) >= SURE]
    likely = [thing["name"] for thing in things if (thing.get("confidence") or 1.0) < SURE]
    text = compose_caption(sort, sure, words, scene.colour, likely)
    return as_json(text, COMPOSED, composed=True, words=words, note=note)


def _told(source: Source, name: str) -> dict[str, Any]:
    """An upstream's JSON; empty when it has none."""
    output = source.output(name)
    told = json.loads(output.content) if output and output.content else {}
    return told if isinstance(told, dict) else {}
