"""What capabilities write beside a digest, in the transaction that records it.

The pipeline records outputs without knowing what they mean. A capability with tables of its own (the search index,
voices and people, tags) registers a `Recorder`, whose hooks are called while files and digests are written. `db` is the
writer's connection inside that transaction, except where a hook says that it is a reader's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from sqlite3 import Connection

from chyme.core.pipeline.attempt import Attempt
from chyme.core.pipeline.digest_state import Outcome, Verdict
from chyme.core.store.sqlite.database import Database
from chyme.digester import Digester
from chyme.model import Digest, File, Output, Upstream

RefreshNames = Callable[[Connection, int], None]  # `Recorder.refresh_names`, for code that changes names


@dataclass(frozen=True, slots=True)
class Completion:
    """A completed output on its way into the database."""

    file: File
    output: Output
    attempt: Attempt
    replaces: bool  # whether the digest had content before
    prepared: object  # what the recorder's own `prepare` returned
    now: str


class Recorder:
    """One capability's part in recording. Each hook does nothing unless it is overridden."""

    def extra_inputs(self, db: Connection, attempt: Attempt) -> tuple[Upstream, ...]:
        """Inputs for an attempt besides the outputs that its digester declared. `db` only reads."""
        return ()

    def check_outcome(self, db: Connection, attempt: Attempt, outcome: Outcome) -> Outcome:
        """The outcome to judge: this one, or a failure if it cannot be stored. `db` only reads."""
        return outcome

    def prepare(self, db: Connection, file: File, output: Output) -> object:
        """Work for `complete` that needs no transaction. `db` only reads."""
        return None

    def complete(self, db: Connection, completion: Completion, content: str | None) -> str | None:
        """Write beside a digest before it is completed. Returns the content to store for it."""
        return content

    def completed(self, db: Connection, completion: Completion) -> None:
        """A digest was completed; its row is already updated."""

    def copy(self, db: Connection, file: File, donor: Digest, digester: Digester) -> None:
        """Another file's digest is about to be reused for this one."""

    def copied(self, db: Connection, file: File, donor: Digest, digester: Digester, now: str) -> None:
        """Another file's digest was reused for this one."""

    def not_completed(self, db: Connection, file: File, name: str, verdict: Verdict) -> None:
        """An attempt ended, or was not made, without content."""

    def settled(self, db: Connection, attempt: Attempt) -> None:
        """An output of an attempt has its final status."""

    def reset(self, db: Connection, file: File, outputs: Collection[str], now: str) -> None:
        """The content of these outputs was deleted, and they will be made again."""

    def added(self, db: Connection, file: File) -> None:
        """A file is new in the vault."""

    def forget_content(self, db: Connection, file: File) -> None:
        """A file has new content: delete everything made from the old content."""

    def content_replaced(self, db: Connection, file: File, now: str) -> None:
        """A file has new content, and everything made from the old content is deleted."""

    def requeued(self, db: Connection, file: File, rows: Mapping[str, Digest]) -> None:
        """The digests of the new content have their rows: todo or skipped."""

    def renamed(self, db: Connection, file: File) -> None:
        """A file has a new path."""

    def refresh_names(self, db: Connection, file_id: int) -> None:
        """What describes a file to people has changed: title, tags, summary, or the people heard in it."""

    def passage_counts(self, db: Connection, file_ids: Collection[int]) -> Mapping[int, int]:
        """The length of these files' texts in passages, where it is known. `db` only reads."""
        return {}

    def prepare_purge(self, db: Connection, file: File) -> object:
        """Work for `purge` that needs no transaction. `db` only reads."""
        return None

    def purge(self, db: Connection, file: File, prepared: object) -> None:
        """Delete every trace of a file, before its own row is deleted."""

    def sweep(self, database: Database) -> None:
        """Free what purged files left behind. Called outside a transaction, after the last of them."""
