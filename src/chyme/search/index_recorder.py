"""Keeps the search index in step with files and digests: passages, vectors, and the names a file is found by."""

from __future__ import annotations

from collections.abc import Collection
from sqlite3 import Connection

from chyme.core.pipeline.attempt import Attempt
from chyme.core.pipeline.digest_state import Outcome
from chyme.core.pipeline.recorders import Completion, Recorder
from chyme.core.store import digests
from chyme.core.store.sqlite.database import Database
from chyme.digester import Digester
from chyme.model import Digest, File, Output, Upstream
from chyme.search import embedder_migration
from chyme.search.embedder_migration import check_vectors
from chyme.search.passage_hashes import EMBEDDED_BEFORE, KEYWORD, SEMANTIC, ReusablePassages, passage_hash, same_text
from chyme.search.tables import dictionary, embedders, embedding_backlog, file_terms, passages, vectors

PICTURE_VECTORS = "image-embedding"


class IndexRecorder(Recorder):
    """Writes passages, vectors and names, in the transaction of what changed them."""

    def extra_inputs(self, db: Connection, attempt: Attempt) -> tuple[Upstream, ...]:
        """For a digester that embeds: the passages that need no new vector, because the same recipe made theirs."""
        model, before = attempt.digester.embedder, attempt.before.get(SEMANTIC)
        if (
            model is None
            or SEMANTIC not in attempt.digester.outputs
            or before is None
            or before.content_hash is None
            or digests.embedder_of(db, attempt.file.id) != model
        ):
            return ()
        embedder = embedders.by_model(db, model)
        if embedder is None:
            return ()
        hashes = frozenset(map(passage_hash, vectors.texts_of(db, attempt.file.id, embedder.id)))
        return (Upstream(EMBEDDED_BEFORE, ReusablePassages(embedder.dimension, hashes).as_json()),) if hashes else ()

    def check_outcome(self, db: Connection, attempt: Attempt, outcome: Outcome) -> Outcome:
        return check_vectors(db, attempt, outcome)

    def prepare(self, db: Connection, file: File, output: Output) -> frozenset[str]:
        """The words that only this file has, and loses now."""
        if output.name != KEYWORD or not passages.has(db, file.id, output.name):
            return frozenset()
        return frozenset(dictionary.find_unique_words(db, file.id, output.words))

    def complete(self, db: Connection, completion: Completion, content: str | None) -> str | None:
        file, output = completion.file, completion.output
        if output.name == SEMANTIC:
            _store_vectors(db, file, output, completion.attempt.digester.embedder, completion.now)
        elif output.name == PICTURE_VECTORS:
            _store_picture_vector(db, file, output, completion.now)
        elif completion.replaces or output.passages or output.words:
            lost_words = completion.prepared if isinstance(completion.prepared, frozenset) else frozenset()
            passages.replace(db, file.id, output.name, output.passages, output.words, lost_words)
        return content

    def copy(self, db: Connection, file: File, donor: Digest, digester: Digester) -> None:
        if donor.digester == SEMANTIC:
            _remove_vectors(db, file.id, digests.content(db, donor.file_id, SEMANTIC), digester.embedder)
            vectors.copy(db, donor.file_id, file.id)
        elif donor.digester == PICTURE_VECTORS:
            vectors.remove(db, file.id, "pictures")
            vectors.copy(db, donor.file_id, file.id, "pictures")
        else:
            passages.copy(db, donor.file_id, file.id, donor.digester)

    def settled(self, db: Connection, attempt: Attempt) -> None:
        if attempt.digester.embedder is not None and SEMANTIC in attempt.digester.outputs:
            embedder_migration.switch_when_complete(db, attempt.digester.embedder)

    def reset(self, db: Connection, file: File, outputs: Collection[str], now: str) -> None:
        for name in outputs:
            passages.remove(db, file.id, name)
        if SEMANTIC in outputs:
            vectors.remove(db, file.id, "texts")
        if PICTURE_VECTORS in outputs:
            vectors.remove(db, file.id, "pictures")

    def added(self, db: Connection, file: File) -> None:
        file_terms.write(db, file, None, (), None)

    def forget_content(self, db: Connection, file: File) -> None:
        passages.remove(db, file.id)
        vectors.remove(db, file.id)

    def content_replaced(self, db: Connection, file: File, now: str) -> None:
        file_terms.rewrite(db, file.id)

    def renamed(self, db: Connection, file: File) -> None:
        file_terms.rewrite(db, file.id)

    def refresh_names(self, db: Connection, file_id: int) -> None:
        file_terms.rewrite(db, file_id)

    def prepare_purge(self, db: Connection, file: File) -> list[str]:
        """The words that only this file has."""
        return list(dictionary.find_unique_words(db, file.id))

    def purge(self, db: Connection, file: File, prepared: object) -> None:
        passages.remove(db, file.id)
        passages.remove_names(db, file.id)
        dictionary.forget(db, prepared if isinstance(prepared, list) else [])

    def sweep(self, database: Database) -> None:
        unused = dictionary.find_unused_words(database.read())
        database.write(lambda db: dictionary.forget(db, unused))
        while database.write(passages.sweep):
            pass

    def passage_counts(self, db: Connection, file_ids: Collection[int]) -> dict[int, int]:
        return embedding_backlog.lengths(db, file_ids)


def _store_vectors(db: Connection, file: File, output: Output, model: str | None, now: str) -> None:
    """Replace the vectors of this model.

    Passages of other embedders stay as long as the text is the same, until the new model serves; also where the new
    model has none.
    """
    embedded = output.embedded
    if embedded is None:
        _remove_vectors(db, file.id, output.content, model)
        return
    embedder = embedders.ensure(db, embedded.model, embedded.dimension, now)
    same = same_text(digests.content(db, file.id, SEMANTIC), output.content)
    vectors.replace(db, file.id, embedder.id, output.passages, embedded.vectors, embedded.dimension, keep_others=same)


def _remove_vectors(db: Connection, file_id: int, content: str | None, model: str | None) -> None:
    """Remove the vectors of this model, and where the text has changed those of all models."""
    if model is not None and same_text(digests.content(db, file_id, SEMANTIC), content):
        vectors.remove_of_model(db, file_id, model)
    else:
        vectors.remove(db, file_id, "texts")


def _store_picture_vector(db: Connection, file: File, output: Output, now: str) -> None:
    """Replace what a picture looks like to a model that compares pictures with words."""
    embedded = output.embedded
    if embedded is None:
        vectors.remove(db, file.id, "pictures")
        return
    embedder = embedders.ensure(db, embedded.model, embedded.dimension, now, "pictures")
    vectors.replace(db, file.id, embedder.id, output.passages, embedded.vectors, embedded.dimension, keep_others=False)
