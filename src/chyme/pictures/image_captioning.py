"""The digester that describes in a sentence what a picture shows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from chyme.digester import Calls, Inputs, Makes, Promises, Runs, Source
from chyme.errors import EngineUnavailable
from chyme.model import File, Form, Kind, Lane, Output
from chyme.models.model_digesters import VisionModelDigester
from chyme.models.picture_models.captioner import load_captioner
from chyme.models.picture_models.folder import PictureModelSettings, identity_of
from chyme.models.providers.endpoints import VisionSettings
from chyme.pictures.captions_without_model import Thing, compose_caption, count_text_words, words_in
from chyme.pictures.image_objects import not_sent_note
from chyme.pictures.image_preview import preview_of
from chyme.pictures.objects import clean_line, describe_position
from chyme.pictures.picture_types import type_of_picture
from chyme.pictures.scene import PNG_HEAD, colour_in, read_pixels, scene_of_pixels
from chyme.pictures.vision_model import PROMPTS, ask_for_caption
from chyme.text.model_output import plain_line, remove_invisible

COMPOSED = "composed"
RULES_VERSION = 3  # raise it when a composed sentence changes
# Categories of the detector whose colour is told: a colour in the box of a person says nothing about the person.
_COLOURED = frozenset({"vehicle", "animal", "accessory", "furniture", "electronic", "appliance"})
SURE = 0.8  # below this confidence a name is hedged: the detector took a rose for an apple at 0.74
CAPTION_LENGTH, VISIBLE_LENGTH = 1000, 20_000


class ImageCaptioning(VisionModelDigester):
    """Asks the vision model if one is configured, else the captioner in the user's folder; without both it composes a
    plain sentence from what other digesters found."""

    name = "image-captioning"
    label = "Caption"
    description = "A sentence about what the picture shows."
    makes = Makes(Form.CAPTION)
    reads = ("image-preview", "image-ocr", "image-objects")
    inputs = Inputs(file_name=True)
    runs = Runs(family="pictures")
    promises = Promises(falls_back=True)

    def __init__(
        self,
        vision: VisionSettings | None = None,
        seconds: float = 600.0,
        model: PictureModelSettings | None = None,
    ) -> None:
        self.vision = vision
        self.model = model or PictureModelSettings()
        self.runs = replace(self.runs, lane=Lane.MODEL if vision else Lane.ORDINARY)
        self.seconds = seconds

    @property
    def fingerprint(self) -> str:
        if self.vision:
            return f"{self.vision.fingerprint}, prompts {PROMPTS}"
        captioner = self.model.captioner
        return identity_of(captioner) if captioner else f"{COMPOSED} {RULES_VERSION}"

    @property
    def portable_fingerprint(self) -> str:
        return "" if self.model.captioner else self.fingerprint

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
        jpeg = preview_of(source)
        if self.model.captioner is not None:
            try:
                return [Output(self.name, _describe_with_captioner(source.file.name, jpeg, self.model, note))]
            except EngineUnavailable as error:
                note = "; ".join(part for part in (note, str(error)) if part)
        return [Output(self.name, _compose_without_model(source, jpeg, note))]


def _describe_with_model(calls: Calls, name: str, jpeg: bytes, vision: VisionSettings) -> str | None:
    answer = ask_for_caption(calls, name, jpeg, vision)
    text = clean_line(plain_line(answer.caption), CAPTION_LENGTH)
    visible_text = clean_line(remove_invisible(answer.visible_text), VISIBLE_LENGTH)  # may be a picture of markup
    text = text or clean_line(plain_line(visible_text), CAPTION_LENGTH)
    return as_json(text, vision.model, composed=False, words=visible_text) if text or visible_text else None


def _describe_with_captioner(name: str, jpeg: bytes, model: PictureModelSettings, note: str | None) -> str:
    """The sentence of the captioner in the user's folder; EngineUnavailable if it has none."""
    captioner = load_captioner(model)
    text = clean_line(plain_line(captioner.describe(name, jpeg)), CAPTION_LENGTH)
    if not text:
        raise EngineUnavailable(f"{captioner.name} found no words for this picture")
    return as_json(text, captioner.name, composed=False, note=note)


def _compose_without_model(source: Source, jpeg: bytes, note: str | None) -> str:
    ocr = source.output("image-ocr")
    recognised_text = (ocr.content if ocr else None) or ""
    words = words_in(recognised_text)
    with source.open() as stream:
        head = stream.read(PNG_HEAD)
    pixels = read_pixels(source.file.name, jpeg)
    scene = scene_of_pixels(pixels, head)
    objects = _json_output(source, "image-objects").get("objects", ())
    sure = [item for item in objects if (item.get("confidence") or 1.0) >= SURE]
    picture = type_of_picture(
        recognised_text,
        count_text_words(recognised_text),
        scene,
        file_name=source.file.name,
        details=_json_output(source, "image-preview"),
        things=[item["name"] for item in sure],
    )
    named = sure or (objects if picture.name.endswith("photograph") else ())  # the detector knows only photographs
    doubtful = {item["name"] for item in objects if item not in sure}
    dark = scene.dark or scene.grey
    things = [
        replace(_describe_thing(item, pixels, dark), counted=not sure or item["name"] not in doubtful) for item in named
    ]
    text = compose_caption(picture.name, things, words, scene.colours, sure=bool(sure))
    return as_json(text, COMPOSED, composed=True, words=words, note=note, evidence=picture.evidence)


def _describe_thing(item: dict[str, Any], pixels: Any, dark: bool) -> Thing:
    """An object with its colour and its position, as far as its box tells them."""
    box = item.get("box")
    if not box:
        return Thing(item["name"])
    coloured = not dark and item.get("category") in _COLOURED
    return Thing(item["name"], (colour_in(pixels, tuple(box)) if coloured else None) or "", describe_position(box))


def as_json(
    text: str,
    engine: str,
    composed: bool,
    words: str = "",
    note: str | None = None,
    evidence: Sequence[str] = (),
) -> str:
    """The content of image-captioning; the text found is `words` if composed, `visible_text` if a model read it.

    `evidence`: the signs by which a composed sentence says what the picture is.
    """
    fields: dict[str, object] = {"text": text}
    if not composed:
        fields["visible_text"] = words
    fields |= {"engine": engine, "composed": composed}
    if composed and words:
        fields["words"] = words
    if evidence:
        fields["evidence"] = list(evidence)
    if note:
        fields["note"] = note
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def _json_output(source: Source, name: str) -> dict[str, Any]:
    """The JSON object another digester wrote; empty if it has none."""
    output = source.output(name)
    fields = json.loads(output.content) if output and output.content else {}
    return fields if isinstance(fields, dict) else {}
