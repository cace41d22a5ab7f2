"""Propose tags for a file. Tags of the vault replace similar new ones when the result is stored."""

from __future__ import annotations

from chyme.digester import Digester, Inputs, Makes, Promises, Runs, Source
from chyme.model import File, Form, Kind, Output
from chyme.models.embedding.minilm import EmbeddingSettings
from chyme.text.decoding import read_text
from chyme.understanding.classification.outputs import CLASSIFIERS
from chyme.understanding.classification.result import Classification, from_json
from chyme.understanding.tags.digest import as_json
from chyme.understanding.tags.names import TAGS
from chyme.understanding.tags.proposals import RULES_VERSION, propose_tags
from chyme.understanding.tags.vectors import embed_tags

MAX_INPUT_CHARS = 500_000  # characters of a text: a book's worth
_TEXTS = (
    "url-crawl-content",
    "doc-to-markdown",
    "image-ocr",
    "image-captioning",
    "image-objects",
    "speech-recognition",
    "speech-recognition-summary",
    "url-crawl-summary",
)


class Tags(Digester):
    """Proposes up to ten tags with their vectors. Without the embedder only equally spelt tags are reused."""

    name = TAGS
    label = "Tags"
    description = "What the file is about, in a few words that other files share."
    makes = Makes(Form.TAGS)
    reads = (*_TEXTS, *CLASSIFIERS)
    inputs = Inputs(artifacts=False)
    runs = Runs(family="embedding")
    promises = Promises(reusable=False)

    def __init__(self, embedding: EmbeddingSettings | None = None, seconds: float = 120.0) -> None:
        self.embedding = embedding or EmbeddingSettings()
        self.seconds = seconds

    @property
    def fingerprint(self) -> str:
        return f"rules {RULES_VERSION}"

    @property
    def max_text(self) -> int:
        return MAX_INPUT_CHARS

    def can_digest(self, file: File) -> bool:
        return file.kind is not Kind.OTHER

    def time_limit(self, source: Source) -> float:
        return self.seconds

    def digest(self, source: Source) -> list[Output]:
        proposal = propose_tags(_read_classification(source), _read_texts(source))
        if proposal is None:
            return [Output(self.name, None)]
        embedded = embed_tags(proposal.proposed, self.embedding)
        return [Output(self.name, as_json(proposal), tag_vectors=embedded.vectors)]


def _read_classification(source: Source) -> Classification | None:
    for name in CLASSIFIERS:
        output = source.output(name)
        if output is not None and output.content:
            try:
                return from_json(output.content)
            except (ValueError, TypeError, RecursionError):
                continue
    return None


def _read_texts(source: Source) -> dict[str, str]:
    texts = {"file": read_text(source, MAX_INPUT_CHARS).text} if source.file.kind is Kind.TEXT else {}
    for name in _TEXTS:
        output = source.output(name)
        if output is not None and output.content:
            texts[name] = output.content
    return texts
