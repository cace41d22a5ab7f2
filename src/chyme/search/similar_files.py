"""Find files similar to another one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from sqlite3 import Connection
from typing import TYPE_CHECKING

from chyme.core.store import digests, files
from chyme.errors import UsageError
from chyme.model import File, Passage
from chyme.search.hits import FormOf, hits_of
from chyme.search.index import Index
from chyme.search.passage_hashes import SEMANTIC, embedded_passages
from chyme.search.query.parser import Query, Term, parse
from chyme.search.ranking.keyword_ranking import Match
from chyme.search.ranking.nearest_passages import SimilarityThresholds, nearest_passages
from chyme.search.ranking.word_and_meaning_fusion import FusedFile, near_files
from chyme.search.results import SearchResult
from chyme.search.tables import embedders, keyword_queries, vectors
from chyme.search.tables.embedders import Embedder

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]

_PROBE_PASSAGES = 4  # single passages of the file that are compared in addition to the whole
_ANY = keyword_queries.all_of(())
_UNKNOWN = "what this file means is not known (yet)"
_NO_TEXT = "this file has no text that could be compared"
_BY_WORDS = "compared by its title and tags"
_FileVectors = Sequence[tuple[int, Passage, bytes]]


def similar_files(
    db: Connection, index: Index, floors: SimilarityThresholds, path: str, page: slice, form_of: FormOf
) -> SearchResult:
    """The files most like the one at this path, best first; of identical ones only the first."""
    file = files.by_path(db, path)
    if file is None or file.vanished_at is not None:
        raise UsageError(_not_a_file_message(db, path))
    embedder = embedders.get_serving(db)
    file_vectors = vectors.of_file(db, file.id, embedder.id) if embedder else []
    if embedder is None or not file_vectors:
        return _by_words(db, index, file, page, form_of)
    passages, complete = _find_similar_passages(db, index, floors, embedder, file, file_vectors)
    found = [FusedFile(near.file_id, near.score, near=near) for near in near_files(passages)]
    note = index.meaning_note(embedder)
    result = _result(db, file, found, page, complete and note is None, form_of)
    return replace(result, notes=(note,)) if note else result


def _not_a_file_message(db: Connection, path: str) -> str:
    folder = path.rstrip("/")
    if folder and next(files.folders(db, folder), None) is not None:
        return f"{path}: is a folder; name a file in it"
    return f"{path}: there is no such file in the vault"


def _find_similar_passages(
    db: Connection,
    index: Index,
    floors: SimilarityThresholds,
    embedder: Embedder,
    file: File,
    file_vectors: _FileVectors,
) -> tuple[list[Match], bool]:
    """Passages of other files, scored half by the whole file and half by its most similar passage."""
    rows, whole = _mean(file_vectors)
    floor = floors.threshold(db, embedder, whole)
    to_whole, complete = nearest_passages(index, whole, embedder, _ANY, floor)
    best: dict[int, float] = {}
    owners = {match.passage_id: match.file_id for match in to_whole}
    for row in rows:
        found, row_complete = nearest_passages(index, row, embedder, _ANY, floor)
        complete = complete and row_complete
        for match in found:
            owners[match.passage_id] = match.file_id
            best[match.passage_id] = max(match.score, best.get(match.passage_id, floor))
    by_whole = {match.passage_id: match.score for match in to_whole}
    scored = [
        Match(id_, owner, (by_whole.get(id_, floor) + best.get(id_, floor)) / 2 if rows else by_whole[id_])
        for id_, owner in owners.items()
        if owner != file.id
    ]
    return sorted(scored, key=lambda match: (-match.score, match.passage_id)), complete


def _mean(file_vectors: _FileVectors) -> tuple[list[list[float]], list[float]]:
    """Vectors of some passages from all over the file (none if it has only one), and the mean of all."""
    import numpy

    rows: Floats = numpy.frombuffer(b"".join(vector for _, _, vector in file_vectors), "<f4").reshape(
        len(file_vectors), -1
    )
    mean = rows.mean(axis=0)
    length = float(numpy.linalg.norm(mean))
    whole = (mean / length if length else rows[0]).tolist()
    step = max(1, -(-len(rows) // _PROBE_PASSAGES))
    return (rows[::step].tolist() if len(rows) > 1 else []), whole


def _by_words(db: Connection, index: Index, file: File, page: slice, form_of: FormOf) -> SearchResult:
    shown_file = keyword_queries.files(db, [file.id])[file.id]
    note = f"{_NO_TEXT if _has_no_text(db, file) else _UNKNOWN}; {_BY_WORDS}"
    title_query = parse(shown_file.title or file.name.rpartition(".")[0] or file.name)
    terms = (*(Term(term.text) for term in title_query.terms), *(Term(tag, phrase=True) for tag in shown_file.tags))
    if not terms:
        return SearchResult((), 0, True, 0.0, {}, (note,))
    by_words = index.find_by_words(Query(terms), _ANY, page.stop + 1)
    found = [FusedFile(match.file_id, match.score, match) for match in by_words.files if match.file_id != file.id]
    result = _result(db, file, found, page, by_words.exact, form_of, terms)
    beyond = max(0, by_words.total - len(by_words.files))
    return replace(result, total=result.total + beyond, notes=(note,))


def _has_no_text(db: Connection, file: File) -> bool:
    """Whether the file was read for its meaning and has no text."""
    digest = digests.of_file(db, file.id).get(SEMANTIC)
    if digest is None or digest.status not in ("completed", "skipped"):
        return False
    return not embedded_passages(digests.content(db, file.id, SEMANTIC))


def _result(
    db: Connection,
    file: File,
    found: Sequence[FusedFile],
    page: slice,
    exact: bool,
    form_of: FormOf,
    terms: Sequence[Term] = (),
) -> SearchResult:
    """One page of them. Files of equal content become one hit."""
    unique, copies = _merge_copies(db, found)
    same = {copy.path for copy in files.same_content(db, file.hash)} if file.hash else set()
    hits = [
        replace(hit, copies=copies.get(hit.path, ()), why=(*hit.why, "copy") if hit.path in same else hit.why)
        for hit in hits_of(db, unique[page], terms, form_of)
    ]
    return SearchResult(tuple(hits), len(unique), exact, 0.0, {})


def _merge_copies(db: Connection, found: Collection[FusedFile]) -> tuple[list[FusedFile], dict[str, tuple[str, ...]]]:
    """The first file of each content, and by its path the paths of the others."""
    first: dict[str, tuple[FusedFile, str]] = {}
    others: dict[str, list[str]] = {}
    for match in found:
        known = files.by_id(db, match.file_id)
        if known is None:
            continue
        content = known.hash or known.path
        if content in first:
            others.setdefault(first[content][1], []).append(known.path)
        else:
            first[content] = (match, known.path)
    return [match for match, _ in first.values()], {path: tuple(paths) for path, paths in others.items()}
