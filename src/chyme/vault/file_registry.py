"""Registers files that appear, change, move and vanish, each change in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from sqlite3 import Connection

from chyme.core.pipeline import output_updates, transitions
from chyme.core.pipeline.again import reset
from chyme.core.pipeline.document_state import captured_address
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import artifacts, digest_queue, digests, documents, events, files, leases, text_places
from chyme.core.store.files import TRASHED
from chyme.core.store.sqlite.database import Database
from chyme.model import File, Form, Seen, iso
from chyme.text.titles import title_from_json
from chyme.vault.moved_files import DISPLACED, TRASH_REASON, Move, displaced_path, trashed_path


class FileRegistry:
    """Writes what a scan found into the database."""

    def __init__(self, database: Database, rules: Rules, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._rules = rules
        self._clock = clock
        self.on_change: Callable[[], None] = lambda: None  # called after new files were recorded, to start digesting

    def record(self, found: Sequence[Seen | Move]) -> None:
        """Record new files, new content or stamps at known paths, and moved files, in the given order."""
        now = iso(self._clock())

        def record_all(db: Connection) -> None:
            for item in found:
                if isinstance(item, Move):
                    self._move(db, item, now)
                else:
                    self._record_file(db, item, now)

        self._database.write(record_all)
        self.on_change()

    def _record_file(self, db: Connection, seen: Seen, now: str) -> None:
        known = files.by_path(db, seen.path)
        if known is None:
            file = _file_from(files.insert(db, seen, now), seen)
            documents.register(db, file.id, now)
            for recorder in self._rules.recorders:
                recorder.added(db, file)
        elif (known.hash, known.kind, known.mime) == (seen.hash, seen.kind, seen.mime):
            files.update_stamp(db, known.id, seen.stamp, now)
            if known.vanished_at is not None:
                digest_queue.hold(db, known.id, False)
                output_updates.update_document(db, self._rules, known, digests.of_file(db, known.id), now)
                events.record(db, now, "file", known.id, known.path, None, "returned")
            return
        elif self._is_same_page(db, known, seen):
            file = self._rewrite_link(db, known, seen, now)
        else:
            files.update_content(db, known.id, seen, now)
            file = _file_from(known.id, seen, known.generation + 1)
            self._forget_digests(db, known)
            documents.clear_findings(db, file.id, now)
            for recorder in self._rules.recorders:
                recorder.content_replaced(db, file, now)
        transitions.register(db, self._rules, file, now)
        rows = digests.of_file(db, file.id)
        if known is not None:
            for recorder in self._rules.recorders:
                recorder.requeued(db, file, rows)
        output_updates.update_document(db, self._rules, file, rows, now)
        events.record(db, now, "file", file.id, file.path, None, "new" if known is None else "changed")

    def _is_same_page(self, db: Connection, known: File, seen: Seen) -> bool:
        """Whether a link still leads to the page that was captured for it; the note beside it may have changed."""
        if seen.link is None or (known.kind, known.mime) != (seen.kind, seen.mime):
            return False
        rows = digests.of_file(db, known.id)
        return any(
            self._rules.has_capture(name, rows) and captured_address(digests.content(db, known.id, name)) == seen.link
            for name in self._rules.of_form(Form.PAGE_FACTS)
        )

    def _rewrite_link(self, db: Connection, known: File, seen: Seen, now: str) -> File:
        """Keep the captured page, which may be gone from the web; other outputs are made again, and stay until then."""
        files.update_content(db, known.id, seen, now)
        file = _file_from(known.id, seen, known.generation + 1)
        captured = self._rules.captured_whole(digests.of_file(db, file.id))
        digest_queue.hold(db, file.id, False)
        reset(db, self._rules, file, [n for n in self._rules.outputs if n not in captured], digests.NEW, now)
        for name in self._rules.of_form(Form.PAGE_FACTS):
            documents.set_found_title(db, file.id, title_from_json(digests.content(db, file.id, name)))
        for recorder in self._rules.recorders:
            recorder.content_replaced(db, file, now)
        return file

    def _forget_digests(self, db: Connection, file: File) -> None:
        for name in digests.of_file(db, file.id):
            artifacts.remove(db, file.path, name)
            text_places.remove(db, file.id, name)
        for recorder in self._rules.recorders:
            recorder.forget_content(db, file)
        digests.delete_all(db, file.id)

    def _move(self, db: Connection, move: Move, now: str) -> None:
        """Give a file its new path; it keeps all its digests."""
        file, seen = files.by_id(db, move.file_id), move.seen
        if file is None:
            return
        occupant = files.by_path(db, seen.path)
        if occupant is not None and occupant.id != file.id:
            self._rename(db, occupant, displaced_path(occupant), occupant.escaped, now)
            self._hide(db, occupant, now)  # until it is found elsewhere: two files may have swapped names
        self._rename(db, file, seen.path, seen.escaped, now)
        files.update_stamp(db, file.id, seen.stamp, now)
        digest_queue.hold(db, file.id, False)
        moved, document = files.by_id(db, file.id), documents.of_file(db, file.id)
        if moved is not None and document is not None:
            for recorder in self._rules.recorders:
                recorder.renamed(db, moved)
            if file.vanished_at is not None:  # its digests may have finished while it was hidden
                output_updates.update_document(db, self._rules, moved, digests.of_file(db, moved.id), now)
        old_path = None if file.path.startswith((DISPLACED, TRASHED)) else file.path
        events.record(db, now, "file", file.id, seen.path, None, "moved", old_path)

    def _rename(self, db: Connection, file: File, path: str, escaped: bool, now: str) -> None:
        files.move(db, file.id, path, escaped, now)
        artifacts.move(db, file.path, path)
        digests.move(db, file.id, artifacts.path_hash(file.path), artifacts.path_hash(path))

    def _hide(self, db: Connection, file: File, now: str, reason: str | None = None) -> bool:
        hidden = files.mark_vanished(db, file.id, now)
        if hidden:
            digest_queue.hold(db, file.id, True)
            events.record(db, now, "file", file.id, file.path, None, "vanished", reason)
        return hidden

    def hide_missing(self, missing: Sequence[File]) -> int:
        """Hide files that no longer exist. Return how many were hidden.

        A file that another process has found elsewhere in the meantime is left alone.
        """
        now = iso(self._clock())

        def hide_all(db: Connection) -> int:
            count = 0
            for file in missing:
                present = files.by_id(db, file.id)
                if present is not None and (present.path, present.stamp) == (file.path, file.stamp):
                    count += self._hide(db, present, now)
            return count

        return self._database.write(hide_all)

    def hide_trashed(self, file: File) -> bool:
        """Hide a file that a user deletes, and free its path for other files.

        It is recognised wherever it reappears, and not purged while it is in the trash. Return False if it has moved
        in the meantime.
        """
        now = iso(self._clock())

        def hide(db: Connection) -> bool:
            present = files.by_id(db, file.id)
            if present is None or present.path != file.path:
                return False
            self._rename(db, present, trashed_path(present), present.escaped, now)
            self._hide(db, present, now, TRASH_REASON)
            return True

        return self._database.write(hide)

    def purge(self, file: File) -> bool:
        """Forget a vanished file completely. Return False if it has come back or is being digested."""
        reader = self._database.read()
        prepared = [(recorder, recorder.prepare_purge(reader, file)) for recorder in self._rules.recorders]
        now = iso(self._clock())

        def purge_one(db: Connection) -> bool:
            present = files.by_id(db, file.id)
            if present is None or present.vanished_at is None or leases.owner_of(db, file.id) is not None:
                return False
            for recorder, data in prepared:
                recorder.purge(db, present, data)
            artifacts.remove(db, present.path)
            events.forget_file(db, present.id)
            files.delete(db, present.id)
            events.record(db, now, "vault", detail="purged a vanished file")
            return True

        return self._database.write(purge_one)

    def sweep(self) -> None:
        """Free what purged files left behind; called after the last of them."""
        for recorder in self._rules.recorders:
            recorder.sweep(self._database)

    def add_missing_digests(self) -> int:
        """Add rows for digesters that are new since a file was registered. Return the number of files."""
        total = last = 0
        while missing := digests.find_files_missing(self._database.read(), self._rules.outputs, last):
            now = iso(self._clock())

            def add_rows(db: Connection, ids: Sequence[int] = tuple(missing), now: str = now) -> None:
                for file_id in ids:
                    file = files.by_id(db, file_id)
                    if file is not None:
                        transitions.register(db, self._rules, file, now)
                        digest_queue.hold(db, file.id, file.vanished_at is not None)
                        output_updates.update_document(db, self._rules, file, digests.of_file(db, file.id), now)

            self._database.write(add_rows)
            total += len(missing)
            last = missing[-1]
        return total


def _file_from(file_id: int, seen: Seen, generation: int = 1) -> File:
    return File(file_id, seen.path, seen.name, seen.kind, seen.mime, seen.stamp, seen.hash, generation, seen.escaped)
