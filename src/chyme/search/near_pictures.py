"""Find pictures by what they show, with a model that compares pictures with words (CLIP)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from sqlite3 import Connection

from chyme.search.index import SemanticIndex
from chyme.search.query_embedding.query_vectors import QueryEmbedder
from chyme.search.ranking import relevance_feedback as feedback
from chyme.search.ranking.word_and_meaning_fusion import DEPTH, NearFile
from chyme.search.tables import embedders, vectors
from chyme.search.tables.keyword_queries import Condition

ANY_PICTURE = "a picture"  # words that fit every picture: a question must fit better
MIN_GAIN = 0.02  # by how much, as a cosine: with CLIP what is shown gains .05 to .12, anything else loses
_SCALE = 4.0  # from a gain to a cosine of passages: models of this sort have all their cosines between .1 and .4


@dataclass(frozen=True, slots=True)
class NearPicture:
    """A picture that shows what the question asks for: its passage, and by how much the question fits it better than
    words that fit every picture."""

    passage_id: int
    gain: float


def pictures_near(
    db: Connection, index: SemanticIndex, embedder: QueryEmbedder, model: str, question: str, where: Condition
) -> dict[int, NearPicture]:
    """By file, the pictures that meet the condition and show what the question asks for. Empty if nothing is known."""
    known = embedders.by_model(db, model)
    if known is None:
        return {}
    asked, any_picture = (embedder.embed(text, model).vector for text in (question, ANY_PICTURE))
    if asked is None or any_picture is None or len(asked) != known.dimension:
        return {}
    found = index.find_by_meaning(asked, known, where, DEPTH)
    usual = feedback.cosines(any_picture, vectors.vectors_by_id(db, [match.passage_id for match in found]))
    gains = {
        match.file_id: NearPicture(match.passage_id, match.score - usual[match.passage_id])
        for match in reversed(found)
        if match.passage_id in usual
    }
    return {file_id: near for file_id, near in gains.items() if near.gain >= MIN_GAIN}


def add_pictures(near: Sequence[NearFile], pictures: Mapping[int, NearPicture], floor: float) -> list[NearFile]:
    """The near files together with near pictures, best first; a picture counts by how well the question fits it."""
    if not pictures:
        return list(near)
    scores = {file_id: min(1.0, floor + _SCALE * picture.gain) for file_id, picture in pictures.items()}
    known = {file.file_id: file for file in near}
    for file_id, picture in pictures.items():
        file = known.get(file_id, NearFile(file_id, 0.0, ()))
        known[file_id] = replace(
            file,
            score=max(file.score, scores[file_id]),
            passages=(*file.passages, picture.passage_id),
            pictured=True,
        )
    return sorted(known.values(), key=lambda file: (-file.score, file.file_id))
