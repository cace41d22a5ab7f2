"""The digester that gives a picture a vector by which it is found with words that describe it."""

from __future__ import annotations

import json

from chyme.digester import Digester, Promises, Runs, Source
from chyme.errors import EngineUnavailable
from chyme.model import Embedded, File, Kind, Output, Passage, Place
from chyme.models.picture_models.clip import load_clip
from chyme.models.picture_models.folder import PictureModelSettings, identity_of, vector_space_of
from chyme.pictures.image_preview import preview_of

NUMBER_BYTES = 4  # float32
CAPTION = "image-captioning"


class ImageEmbedding(Digester):
    """Only registered where `picture_model_dir` holds a model that compares pictures with words.

    The passage of a picture is its caption: a hit has to show something.
    """

    name = "image-embedding"
    label = "Picture by meaning"
    description = "What the picture looks like, so that words that describe it find it."
    reads = ("image-preview", CAPTION)
    runs = Runs(family="pictures")
    promises = Promises(counts=False)

    def __init__(self, model: PictureModelSettings, seconds: float = 600.0) -> None:
        self.model = model
        self.seconds = seconds

    @property
    def fingerprint(self) -> str:
        found = self.model.clip
        return identity_of(found) if found else "without its model"

    @property
    def embedder(self) -> str | None:
        found = self.model.clip
        return vector_space_of(found) if found else None

    def can_digest(self, file: File) -> bool:
        return file.kind is Kind.IMAGE

    def time_limit(self, source: Source) -> float:
        return self.seconds

    def digest(self, source: Source) -> list[Output]:
        name, jpeg = source.file.name, preview_of(source)
        try:
            clip = load_clip(self.model)
            vector = clip.embed_picture(name, jpeg)
        except EngineUnavailable as error:
            raise EngineUnavailable(f"{name}: {error}") from error
        text = _caption_of(source) or name
        dimension = len(vector) // NUMBER_BYTES
        content = json.dumps({"indexed": True, "model": clip.model, "dimension": dimension}, ensure_ascii=False)
        passage = Passage(CAPTION, 0, text, Place(0, len(text)))
        return [Output(self.name, content, passages=(passage,), embedded=Embedded(clip.model, dimension, vector))]


def _caption_of(source: Source) -> str:
    caption = source.output(CAPTION)
    fields = json.loads(caption.content) if caption and caption.content else {}
    return str(fields.get("text", ""))
