"""Propose tags for a file. Tags of the vault replace similar new ones when the result is stored."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from chyme.digester import Digester, Inputs, Makes, Promises, Runs, Source
from chyme.errors import DigestError, EngineUnavailable
from chyme.model import File, Form, Kind, Output
from chyme.models.embedding.minilm import EmbeddingSettings, load_minilm
from chyme.text.decoding import read_text
from chyme.understanding.classification.result import CLASSIFIERS, read_classification
from chyme.understanding.classification.source_text import content_of
from chyme.understanding.tags.digest import TagDigest, as_json
from chyme.understanding.tags.names import TAGS
from chyme.understanding.tags.proposals import RULES_VERSION, propose_tags
from chyme.understanding.tags.vectors import vectors_of

SECONDS = 120.0
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
    runs = Runs(family="embedding", gathers=True)
    promises = Promises(reusable=False)

    def __init__(self, embedding: EmbeddingSettings | None = None) -> None:
        self.embedding = embedding or EmbeddingSettings()

    @property
    def fingerprint(self) -> str:
        return f"rules {RULES_VERSION}"

    @property
    def max_text(self) -> int:
        return MAX_INPUT_CHARS

    def preload(self) -> None:
        load_minilm(self.embedding)

    def can_digest(self, file: File) -> bool:
        return file.kind is not Kind.OTHER

    def time_limit(self, source: Source) -> float:
        return SECONDS

    def digest(self, source: Source) -> list[Output]:
        return self._add_vectors([_propose(source)])[0]

    def digest_many(self, sources: Sequence[Source]) -> list[list[Output] | DigestError]:
        """Embed the tags of all files together: short texts of the same length share a run."""
        proposals = [_propose_or_error(source) for source in sources]
        outputs = iter(self._add_vectors([found for found in proposals if not isinstance(found, DigestError)]))
        return [found if isinstance(found, DigestError) else next(outputs) for found in proposals]

    def _add_vectors(self, proposals: Sequence[TagDigest | None]) -> list[list[Output]]:
        """The output for each proposal, with the vectors of its tags; without them where there is no embedder."""
        found = [proposal.proposed if proposal else () for proposal in proposals]
        try:
            vectors = {vector.tag: vector for vector in vectors_of(chain.from_iterable(found), self.embedding)}
        except EngineUnavailable:
            vectors = {}
        return [
            [
                Output(
                    self.name,
                    as_json(proposal) if proposal else None,
                    tag_vectors=tuple(vectors[tag] for tag in dict.fromkeys(tags) if tag in vectors),
                )
            ]
            for proposal, tags in zip(proposals, found, strict=True)
        ]


def _propose(source: Source) -> TagDigest | None:
    classification = read_classification(content_of(source, name) for name in CLASSIFIERS)
    return propose_tags(classification, _read_texts(source))


def _propose_or_error(source: Source) -> TagDigest | DigestError | None:
    try:
        return _propose(source)
    except DigestError as error:
        return error


def _read_texts(source: Source) -> dict[str, str]:
    texts = {"file": read_text(source, MAX_INPUT_CHARS).text} if source.file.kind is Kind.TEXT else {}
    return texts | {name: content for name in _TEXTS if (content := content_of(source, name))}
