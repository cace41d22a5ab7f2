"""Give files friendly names when somebody accepts them, and take them back. Nothing is ever written over."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from sqlite3 import Connection

from chyme.core.clock import now
from chyme.core.store import digests, documents, file_requests, files
from chyme.errors import UsageError
from chyme.files.machine_names import is_machine_made
from chyme.model import Again, File, Mode, iso
from chyme.understanding.classification.result import CLASSIFIERS, from_json
from chyme.understanding.edit_rules import DATE, TITLE
from chyme.understanding.slug import Slug, propose_name, sure_date
from chyme.understanding.tables import edits, renames
from chyme.vault.file_renaming import FreeNames, RenameError, name_on_disk, path_beside, rename_on_disk, sync_folders
from chyme.vault.moved_files import Move
from chyme.vault.open_vault import OpenVault

_AT_ONCE = 100  # files renamed between two transactions
PERSON, TEXT = "a person", "its text"  # who says what the file is, where no digester does


@dataclass(frozen=True, slots=True)
class Proposal:
    """A file whose name says nothing, and one that does."""

    path: str
    becomes: str
    title: str
    said_by: str  # the digester whose title it is; else PERSON or TEXT


@dataclass(frozen=True, slots=True)
class RenameResult:
    """A file that has another name now; or has not, and why."""

    path: str  # before
    becomes: str
    problem: str | None = None  # goes behind the path


@dataclass(frozen=True, slots=True)
class _Step:
    """One file, the name it should have, and the one it can have; `note` is its row in the table of renames."""

    file: File
    wanted: str
    name: str
    note: int


class FileRenamer:
    """Disk first, then database: a crash in between is a move like any other to the next scan, which keeps everything.

    What is about to be done is noted before, so that it can be taken back even then.
    """

    def __init__(self, vault: OpenVault) -> None:
        self._vault = vault

    def proposals(self, paths: Sequence[str] = ()) -> list[Proposal]:
        """What these files and those in these folders could be called; no path means all files."""
        names = FreeNames(self._vault)
        return [
            Proposal(file.path, path_beside(file, names.take(file, wanted)), title, said_by)
            for file, wanted, title, said_by in self._find_proposals(paths)
        ]

    def accept(self, paths: Sequence[str] = ()) -> list[RenameResult]:
        """Rename the files for which there is a proposal; everything known about them goes along."""
        at = iso(now())
        wanted = [(file, name) for file, name, _, _ in self._find_proposals(paths)]
        names = FreeNames(self._vault)
        done: list[RenameResult] = []
        for first in range(0, len(wanted), _AT_ONCE):
            steps = self._record_steps(wanted[first : first + _AT_ONCE], names, at)
            renamed, kept = self._rename(steps, names, self._correct)
            self._forget([step.note for step, _ in kept])
            done += renamed + _problems(kept)
        return done

    def undo(self, paths: Sequence[str] = ()) -> list[RenameResult]:
        """Give files the name back that they had: those of the last acceptance, or the last name of each of these."""
        db = self._vault.database.read()
        if paths:
            noted = [rename for file in self._vault.files_below(paths) for rename in renames.of_file(db, file.id)[:1]]
        else:
            noted = renames.last_batch(db)
        if not noted:
            raise UsageError("no name was accepted that could be taken back")
        names = FreeNames(self._vault)
        return [
            done
            for first in range(0, len(noted), _AT_ONCE)
            for done in self._take_back(noted[first : first + _AT_ONCE], names)
        ]

    def _take_back(self, noted: Sequence[renames.Rename], names: FreeNames) -> list[RenameResult]:
        steps: list[_Step] = []
        obsolete: list[int] = []  # nothing can be done about these any more
        lost: list[RenameResult] = []
        for rename in noted:
            file, wanted = files.by_id(self._vault.database.read(), rename.file_id), name_on_disk(rename.was)
            here = name_on_disk(file.path) if file is not None and file.vanished_at is None else None
            if file is not None and here == name_on_disk(rename.becomes):
                steps.append(_Step(file, wanted, names.take(file, wanted), rename.id))
                continue
            obsolete.append(rename.id)
            if file is None or here is None:
                lost.append(RenameResult(rename.becomes, rename.was, "is not there any more"))
            elif here != wanted:  # else it never came to it: whoever noted it was stopped
                problem = f"is called {file.name} by now; rename it by hand, and 'chyme digest' follows"
                lost.append(RenameResult(rename.becomes, rename.was, problem))
        renamed, kept = self._rename(steps, names, lambda _step, _name: None)
        still = {step.note for step, _ in kept}
        self._forget([*obsolete, *(step.note for step in steps if step.note not in still)])
        self._propose_again([step.file.id for step in steps if step.note not in still])
        return renamed + _problems(kept) + lost

    def _find_proposals(self, paths: Sequence[str]) -> Iterator[tuple[File, str, str, str]]:
        """File, the name it should have, the title behind that, and who said so."""
        db = self._vault.database.read()
        if paths:
            self._vault.files_below(paths)  # says so when there is no such file
        found = {found.file_id: found for path in paths or ("",) for found in renames.candidates(db, path)}
        for candidate in found.values():
            file = files.by_id(db, candidate.file_id)
            if file is None or not is_machine_made(file.name):
                continue  # a proposal for a name that was changed since
            proposal = _proposal_of_person(db, file) if candidate.edited else _proposal_of_digester(candidate.slug)
            if proposal is not None:
                yield file, *proposal

    def _record_steps(self, wanted: Sequence[tuple[File, str]], names: FreeNames, at: str) -> list[_Step]:
        chosen = [(file, name, names.take(file, name)) for file, name in wanted]

        def record(db: Connection) -> list[_Step]:
            renames.prune(db)
            return [
                _Step(file, name, free, renames.add(db, at, file.id, file.path, path_beside(file, free)))
                for file, name, free in chosen
            ]

        return self._vault.database.write(record)

    def _rename(
        self, steps: Sequence[_Step], names: FreeNames, on_other: Callable[[_Step, str], None]
    ) -> tuple[list[RenameResult], list[tuple[_Step, str]]]:
        """On disk one after the other, then in the database all at once. Returns those that kept their name apart."""
        moves: list[Move] = []
        done: list[RenameResult] = []
        kept: list[tuple[_Step, str]] = []
        try:
            for step in steps:

                def another(step: _Step = step) -> str:
                    name = names.take(step.file, step.wanted)
                    on_other(step, name)
                    return name

                try:
                    move = rename_on_disk(self._vault, step.file, step.name, another)
                except RenameError as error:
                    kept.append((step, str(error)))
                    continue
                moves.append(move)
                done.append(RenameResult(step.file.path, move.seen.path))
        finally:  # somebody may press Ctrl-C; what is done is done
            if moves:
                sync_folders(self._vault, moves)
                self._vault.registry.record(moves)
        return done, kept

    def _correct(self, step: _Step, name: str) -> None:
        """The note must tell the name that the file will have."""
        becomes = path_beside(step.file, name)
        self._vault.database.write(lambda db: renames.correct(db, step.note, becomes))

    def _forget(self, notes: Sequence[int]) -> None:
        if notes:
            self._vault.database.write(lambda db: renames.forget(db, notes))

    def _propose_again(self, file_ids: Sequence[int]) -> None:
        """A file whose proposal was given up meanwhile, because its name was a good one, shall have one again."""
        at = iso(now())

        def wish(db: Connection) -> None:
            for file_id in file_ids:
                if Slug.name in digests.of_file(db, file_id) and digests.content(db, file_id, Slug.name) is None:
                    file_requests.add(db, file_id, Again(Mode.RESET, (Slug.name,)), at)

        if file_ids:
            self._vault.database.write(wish)


def _problems(kept: Sequence[tuple[_Step, str]]) -> list[RenameResult]:
    return [RenameResult(step.file.path, path_beside(step.file, step.wanted), problem) for step, problem in kept]


def _proposal_of_digester(content: str | None) -> tuple[str, str, str] | None:
    proposal = json.loads(content) if content else {}
    return (proposal["slug"], proposal["title"], proposal["from"]) if proposal else None


def _proposal_of_person(db: Connection, file: File) -> tuple[str, str, str] | None:
    """The proposal by what a person set, which wins over what a digester proposes."""
    document = documents.of_file(db, file.id)
    if document is None or document.title is None:
        return None
    edited = edits.of_file(db, file.id)
    contents = {name: content for name in CLASSIFIERS if (content := digests.content(db, file.id, name))}
    found = {name: from_json(content) for name, content in contents.items()}
    date = document.date if DATE in edited else next(map(sure_date, found.values()), None)
    name = propose_name(file.name, document.title, date)
    if name is None:
        return None
    if TITLE in edited:
        return name, document.title, PERSON
    said_by = (classifier for classifier, known in found.items() if known.title == document.title)
    return name, document.title, next(said_by, TEXT)
