"""The digester that describes in a sentence what a picture shows."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from chyme.digester import Calls, Makes, Promises, Runs, Source
from chyme.model import File, Form, Kind, Lane, Output
from chyme.models.model_digesters import VisionModelDigester
from chyme.models.providers.endpoints import VisionSettings
from chyme.pictures.captions_without_model import compose_caption, count_text_words, sort_of_picture, words_in
from chyme.pictures.image_objects import not_sent_note
from chyme.pictures.image_preview import preview_of
from chyme.pictures.objects import clean_line
from chyme.pictures.scene import PNG_HEAD, analyse_scene
from chyme.pictures.vision_model import PROMPTS, ask_for_caption
from chyme.text.model_output import plain_line, remove_invisible

COMPOSED = "composed"
SURE = 0.8  # below this confidence a name is hedged: the detector took a rose for an apple at 0.74
CAPTION_LENGTH, VISIBLE_LENGTH = 1000, 20_000


class ImageCaptioning(VisionModelDigester):
    """Asks the vision model if one is configured, else composes a plain sentence from what other digesters found."""

    name = "image-captioning"
    label = "Caption"
    description = "A sentence about what the picture shows."
    makes = Makes(Form.CAPTION)
    reads = ("image-preview", "image-ocr", "image-objects")
    runs = Runs(family="pictures")
    promises = Promises(falls_back=True)

    def __init__(self, vision: VisionSettings | None = None, seconds: float = 600.0) -> None:
        self.vision = vision
        self.runs = replace(self.runs, lane=Lane.MODEL if vision else Lane.ORDINARY)
        self.seconds = seconds

    @property
    def fingerprint(self) -> str:
        return f"{self.vision.fingerprint}, prompts {PROMPTS}" if self.vision else COMPOSED

    def can_digest(self, file: File) -> bool:
        return file.kind is Kind.IMAGE

    def digest(self, source: Source) -> list[Output]:
        if self.vision is None or not self.waits_for(source.file):
            return self.without_model(source)
        return [
            Output(self.name, _describe_with_model(source.calls, source.file.name, preview_of(source), self.vision))
        ]

    def without_model(self, source: Source) -> list[Output]:
        note = not_sent_note(source.file, self.vision) if self.vision else None
        return [Output(self.name, _compose_without_model(source, preview_of(source), note))]


def _describe_with_model(calls: Calls, name: str, jpeg: bytes, vision: VisionSettings) -> str | None:
    answer = ask_for_caption(calls, name, jpeg, vision)
    text = clean_line(plain_line(answer.caption), CAPTION_LENGTH)
    visible_text = clean_line(remove_invisible(answer.visible_text), VISIBLE_LENGTH)  # may be a picture of markup
    text = text or clean_line(plain_line(visible_text), CAPTION_LENGTH)
    return as_json(text, vision.model, composed=False, words=visible_text) if text or visible_text else None


def _compose_without_model(source: Source, jpeg: bytes, note: str | None) -> str:
    ocr = source.output("image-ocr")
    recognised_text = (ocr.content if ocr else None) or ""
    words = words_in(recognised_text)
    with source.open() as stream:
        head = stream.read(PNG_HEAD)
    scene = analyse_scene(source.file.name, jpeg, head)
    camera = bool(_json_output(source, "image-preview").get("camera"))
    sort = sort_of_picture(count_text_words(recognised_text), scene, camera)
    things = _json_output(source, "image-objects").get("objects", ())
    sure = [thing["name"] for thing in things if (thing.get("confidence") or 1.0) >= SURE]
    likely = [thing["name"] for thing in things if (thing.get("confidence") or 1.0) < SURE]
    text = compose_caption(sort, sure, words, scene.colour, likely)
    return as_json(text, COMPOSED, composed=True, words=words, note=note)


def as_json(text: str, engine: str, composed: bool, words: str = "", note: str | None = None) -> str:
    """The content of image-captioning; the text found is `words` if composed, `visible_text` if a model read it."""
    fields: dict[str, object] = {"text": text}
    if not composed:
        fields["visible_text"] = words
    fields |= {"engine": engine, "composed": composed}
    if composed and words:
        fields["words"] = words
    if note:
        fields["note"] = note
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def _json_output(source: Source, name: str) -> dict[str, Any]:
    """The JSON object another digester wrote; empty if it has none."""
    output = source.output(name)
    fields = json.loads(output.content) if output and output.content else {}
    return fields if isinstance(fields, dict) else {}
