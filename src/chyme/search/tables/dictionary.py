"""The words of the vault, stored so that a mistyped word finds the one that was meant."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from sqlite3 import Connection

from chyme.search.query.parser import Term, expression, plain_word
from chyme.search.query.spelling import deletions, words_of
from chyme.text.stemmer import fold

_SHORTEST_PREFIX = 3  # many words begin with the same two letters
_MAX_SEARCHED = 20  # passages of other files that are searched before a word counts as unique to a file


def learn(db: Connection, words: Iterable[str]) -> None:
    """Remember words. A word already known writes nothing."""
    words_json = json.dumps(list(words), ensure_ascii=False)
    if words_json == "[]":
        return
    new = db.execute(
        "INSERT OR IGNORE INTO words (word) SELECT value FROM json_each(?) WHERE true RETURNING id, word", (words_json,)
    ).fetchall()
    if new:
        db.executemany(
            "INSERT INTO spelling (deletion, word_id) VALUES (?, ?)",
            [(deletion, id_) for id_, word in new for deletion in deletions(word)],
        )


def forget(db: Connection, words: Iterable[str]) -> None:
    """Delete words that are in no file any more."""
    for word in words:
        deleted = db.execute("DELETE FROM words WHERE word = ? RETURNING id", (word,)).fetchone()
        if deleted:
            db.executemany(
                "DELETE FROM spelling WHERE deletion = ? AND word_id = ?", [(d, *deleted) for d in deletions(word)]
            )


def find_similar(db: Connection, lookups: Collection[str]) -> list[str]:
    """Known words that share a spelling with one of the lookups."""
    rows = db.execute(
        """
        SELECT DISTINCT words.word
          FROM json_each(?) AS wanted
         CROSS JOIN spelling ON spelling.deletion = wanted.value
         CROSS JOIN words ON words.id = spelling.word_id
         LIMIT 200
        """,
        (json.dumps(list(lookups)),),
    )
    return [word for (word,) in rows]


def find_by_prefix(db: Connection, beginning: str, limit: int = 12) -> list[str]:
    """Known words with this beginning, shortest first."""
    rows = db.execute(
        """
        SELECT word FROM (SELECT word FROM words WHERE word >= ? AND word < ? LIMIT 200)
         ORDER BY length(word), word LIMIT ?
        """,
        (beginning, beginning + "\U0010ffff", limit),
    )
    return [word for (word,) in rows]


def expand_prefixes(
    db: Connection, terms: Sequence[Term], is_vague: Callable[[Connection, Term], bool] = lambda _db, _term: False
) -> list[Term]:
    """The terms, with the words that unfinished ones may become: a prefix may be longer than the indexed stem.

    A term that is too short, or that `is_vague`, is searched for as a word and not as a prefix.
    """
    expanded: list[Term] = []
    for term in terms:
        word = plain_word(term)
        if not term.prefix or word is None:
            expanded.append(term)
            continue
        vague = word.isascii() and (len(word) < _SHORTEST_PREFIX or is_vague(db, term))
        expanded += [Term(term.text) if vague else term, *(Term(known) for known in find_by_prefix(db, word))]
    return expanded


def find_unique_words(db: Connection, file_id: int, kept: Collection[str] | None = None) -> set[str]:
    """Words of this file that no other file has, which must be forgotten with it.

    With `kept`, the file stays and its passages are replaced: words in `kept`, and those of its names, stay too. A word
    that is in many files in other forms but hardly anywhere in this form may be returned: losing a correction is better
    than leaving a word behind.
    """
    texts = words_of(text for (text,) in db.execute("SELECT text FROM passages WHERE file_id = ?", (file_id,)))
    row = db.execute("SELECT name, title, tags, summary FROM file_terms WHERE file_id = ?", (file_id,)).fetchone()
    names = words_of(row or ())
    removed = texts | names if kept is None else texts - names - set(kept)
    return {word for word in removed if not _is_elsewhere(db, file_id, word)}


def find_unused_words(db: Connection) -> set[str]:
    """Words that are in no file any more in any form: left by renames and resets, to be forgotten at a purge."""
    rows = db.execute(
        """
        SELECT word FROM words
         WHERE NOT EXISTS (SELECT 1 FROM passage_fts WHERE passage_fts MATCH '"' || words.word || '"')
           AND NOT EXISTS (SELECT 1 FROM file_fts WHERE file_fts MATCH '"' || words.word || '"')
        """
    )
    return {word for (word,) in rows}


def _is_elsewhere(db: Connection, file_id: int, word: str) -> bool:
    parameters = {"word": expression([Term(word)]), "file": file_id, "limit": _MAX_SEARCHED}
    passages = db.execute(
        """
        SELECT passages.text
          FROM passage_fts CROSS JOIN passages ON passages.id = passage_fts.rowid
         WHERE passage_fts MATCH :word AND passages.file_id <> :file LIMIT :limit
        """,
        parameters,
    )
    if any(word in words_of(row) for row in passages if word in fold(row[0])):
        return True
    names = db.execute(
        """
        SELECT file_terms.name, file_terms.title, file_terms.tags, file_terms.summary
          FROM file_fts CROSS JOIN file_terms ON file_terms.file_id = file_fts.rowid
         WHERE file_fts MATCH :word AND file_terms.file_id <> :file LIMIT :limit
        """,
        parameters,
    )
    return any(word in words_of(row) for row in names)
