"""Takes new messages of the mailbox into the vault, each once, and says how that goes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from chyme.core.files.untrusted_files import open_lock, try_lock
from chyme.core.store import vault_properties
from chyme.errors import ChymeError, UsageError, VaultError
from chyme.mailbox.mailbox_errors import LoginRefused, MailboxFailed, MessageFailed
from chyme.mailbox.mailbox_settings import LEAVE, MailboxSettings
from chyme.mailbox.open_connections import OpenConnections
from chyme.mailbox.tables import messages
from chyme.model import iso
from chyme.vault.intake.stored_files import store_files
from chyme.vault.open_vault import OpenVault

if TYPE_CHECKING:
    from chyme.mailbox.imap_folder import ImapFolder

log = logging.getLogger(__name__)

MB = 1024 * 1024
PROPERTY = "mailbox"  # the name of the vault's property
LOCK = "mailbox.lock"
MAX_ATTEMPTS = 5  # after which a message is skipped: it may be what ends the connection
AT_ONCE = 1000  # messages of one round that wait for another attempt
SHOWN = 20  # problems
FIRST_WAIT, LONGEST_WAIT, LOGIN_WAIT = 30.0, 3600.0, 300.0  # seconds
BROKE_OFF = "the connection ended while it was fetched"


@dataclass(frozen=True, slots=True)
class FetchReport:
    """What one round has brought."""

    messages: int = 0
    files: int = 0
    skipped: int = 0
    waiting: int = 0  # for another attempt


@dataclass(frozen=True, slots=True)
class MessageProblem:
    """A message that was not taken, or not completely."""

    uid: int
    state: str
    problem: str | None
    path: str | None
    at: str


@dataclass(frozen=True, slots=True)
class MailboxStatus:
    """How the mailbox does."""

    enabled: bool
    mailbox: str = ""
    problem: str | None = None
    failures: int = 0  # rounds that failed, one after the other
    last_success: str | None = None
    next_attempt: str | None = None
    messages: int = 0
    files: int = 0
    waiting: int = 0
    skipped: int = 0
    problems: tuple[MessageProblem, ...] = field(default=())

    @property
    def summary(self) -> str:
        """One line for people."""
        if not self.enabled:
            return "no mailbox is watched (the setting imap_host changes that)"
        taken = f"{self.messages:,} message{'' if self.messages == 1 else 's'} taken from {self.mailbox}"
        if self.skipped:
            taken += f", {self.skipped:,} skipped"
        return f"{taken}; {self.problem}" if self.problem else taken

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "problems": [asdict(problem) for problem in self.problems], "summary": self.summary}


def wait_after(failures: int, interval: float, login_refused: bool = False) -> float:
    """Return the seconds until the next round: longer with each failure, at most an hour or the interval."""
    if not failures:
        return interval
    first = LOGIN_WAIT if login_refused else FIRST_WAIT
    return min(first * 2.0 ** min(failures - 1, 20), max(LONGEST_WAIT, interval))


class Mailbox:
    """The mailbox of a vault. `fetch` may be called in any thread and process; only one fetches at a time."""

    def __init__(self, vault: OpenVault, settings: MailboxSettings, now: Callable[[], datetime]) -> None:
        self.settings = settings
        self._vault = vault
        self._database = vault.database
        self._now = now
        self._connections = OpenConnections()

    def status(self) -> MailboxStatus:
        if not self.settings.enabled:
            return MailboxStatus(enabled=False)
        db, name = self._database.read(), self.settings.name
        stored = json.loads(vault_properties.value_of(db, PROPERTY) or "{}")
        state = stored if stored.get("mailbox") == name else {}
        found = [entry for state_name in ("skipped", "failed", "stored") for entry in self._open_messages(state_name)]
        try:
            self.settings.check()
            problem = state.get("problem")
        except UsageError as error:
            problem = str(error)
        return MailboxStatus(
            True,
            name,
            problem,
            int(state.get("failures", 0)),
            state.get("last_success"),
            state.get("next_attempt"),
            **messages.count(db, name),
            problems=tuple(found[:SHOWN]),
        )

    def _open_messages(self, state: str) -> Iterator[MessageProblem]:
        for message in messages.in_state(self._database.read(), self.settings.name, state, SHOWN):
            if message.problem is not None:
                yield MessageProblem(message.uid, state, message.problem, message.path, message.at)

    def retry_skipped(self) -> int:
        """Let the next round try skipped messages again. Return how many."""
        return self._database.write(lambda db: messages.retry_skipped(db, self.settings.name))

    def close(self) -> None:
        """End a running round at once; the next one goes on from there."""
        self._connections.close()

    def fetch(self) -> FetchReport:
        """Take all new messages. Raises what is wrong with the settings or the mailbox, and remembers it."""
        if not self.settings.enabled:
            raise UsageError("no mailbox is set up; set imap_host, imap_user and imap_password (docs/settings.md)")
        from chyme.mailbox.imap_folder import open_imap_folder  # most vaults have no mailbox, and loading it takes long

        with self._locked():
            try:
                self.settings.check()
                with open_imap_folder(self.settings, self._connections) as folder:
                    report = self._take_all(folder)
            except ChymeError as error:
                if not self._connections.closed:
                    self._remember(error)
                raise
            self._remember(None)
            return report

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        with open_lock(self._vault.state / LOCK) as lock:
            if not try_lock(lock.fileno()):
                raise UsageError("the mailbox is being fetched at this moment")
            yield

    def _remember(self, error: ChymeError | None) -> None:
        """Keep how the round ended, for every process that shows it."""
        previous = self.status()
        failures = previous.failures + 1 if error is not None else 0
        moment = self._now()
        wait = wait_after(failures, self.settings.seconds, isinstance(error, LoginRefused))
        state = {
            "mailbox": self.settings.name,
            "problem": str(error) if error is not None else None,
            "failures": failures,
            "last_success": previous.last_success if error is not None else iso(moment),
            "next_attempt": iso(moment + timedelta(seconds=wait)),
        }
        text = json.dumps(state)
        self._database.write(lambda db: vault_properties.put(db, PROPERTY, text))

    def _take_all(self, folder: ImapFolder) -> FetchReport:
        name, validity = self.settings.name, folder.uidvalidity
        self._database.write(lambda db: messages.finish_older(db, name, validity))
        for message in messages.in_state(self._database.read(), name, "stored", AT_ONCE):
            self._finish(folder, message.uid)
        db = self._database.read()
        waiting = [message.uid for message in messages.in_state(db, name, "failed", AT_ONCE)]
        new = folder.uids_after(messages.highest_uid(db, name, validity))
        counts = FetchReport()
        for uid in (*new, *waiting):  # those that failed come last: one of them may end the connection
            taken = self._take(folder, uid)
            counts = FetchReport(*(sum(pair) for pair in zip(_figures(counts), _figures(taken), strict=True)))
        return counts

    def _take(self, folder: ImapFolder, uid: int) -> FetchReport:
        """Take one message. What has begun is written down first, so that a message cannot stop everything for ever."""
        where = (self.settings.name, folder.uidvalidity, uid)
        attempts = self._database.write(lambda db: messages.begin_attempt(db, *where, BROKE_OFF, iso(self._now())))
        if attempts > MAX_ATTEMPTS:
            return self._leave_out(where, f"it failed {MAX_ATTEMPTS} times; {BROKE_OFF}")
        try:
            size = folder.size_of(uid)
            if size is None:
                return self._leave_out(where, "the message is no longer there")
            if size > self.settings.message_mb * MB:
                return self._leave_out(where, f"{size / MB:,.0f} MB are more than imap_message_mb allows")
            data = folder.fetch(uid, self.settings.message_mb * MB)
        except MailboxFailed:
            if self._connections.closed:  # chyme ends
                self._give_back(where)
            raise
        except MessageFailed as error:
            if attempts >= MAX_ATTEMPTS:
                return self._leave_out(where, str(error))
            self._database.write(partial(_record_failure, where, str(error), iso(self._now())))
            return FetchReport(waiting=1)
        if not data.strip():
            return self._leave_out(where, "the message is empty")
        try:
            return self._store(folder, where, data)
        except VaultError:  # a full disk, a vault that was moved away
            self._give_back(where)
            raise

    def _give_back(self, where: tuple[str, int, int]) -> None:
        with contextlib.suppress(ChymeError):
            self._database.write(lambda db: messages.give_back_attempt(db, *where))

    def _store(self, folder: ImapFolder, where: tuple[str, int, int], data: bytes) -> FetchReport:
        name, _, uid = where
        content_hash = hashlib.sha256(data).hexdigest()
        known_path = messages.path_of_same(self._database.read(), name, content_hash)
        if known_path is not None:  # the server has given it another uid
            self._record(where, content_hash, known_path or None, 0, None)
            self._finish(folder, uid)
            return FetchReport()
        from chyme.mailbox.message_files import split_message

        parts = split_message(data)
        stored = store_files(self._vault, parts.files, self.settings.into)
        message_file, *attachments = stored
        disk_problem = next((file.problem for file in stored if file.disk_problem), None)
        if disk_problem is not None:
            raise VaultError(disk_problem)
        if message_file.path is None:
            return self._leave_out(where, message_file.problem or "the message cannot be stored")
        problems = [parts.problem, *(file.problem for file in attachments)]
        problem = "; ".join(text for text in problems if text) or None
        count = sum(file.path is not None for file in stored)
        self._record(where, content_hash, message_file.path, count, problem)
        self._finish(folder, uid)
        return FetchReport(messages=1, files=count)

    def _record(
        self, where: tuple[str, int, int], content_hash: str, path: str | None, files: int, problem: str | None
    ) -> None:
        moment = iso(self._now())
        self._database.write(lambda db: messages.record_stored(db, *where, content_hash, path, files, problem, moment))

    def _leave_out(self, where: tuple[str, int, int], problem: str) -> FetchReport:
        log.warning("a message of the mailbox was skipped (uid %d): %s", where[2], problem)
        moment = iso(self._now())
        self._database.write(lambda db: messages.record_problem(db, *where, "skipped", problem, moment))
        return FetchReport(skipped=1)

    def _finish(self, folder: ImapFolder, uid: int) -> None:
        """Tell the server that a message was taken. If it refuses, that is repeated in the next round."""
        try:
            if self.settings.after != LEAVE:
                folder.finish(uid)
        except MessageFailed as error:
            log.warning("a message of the mailbox was taken, but not marked or moved (uid %d): %s", uid, error)
            return
        self._database.write(lambda db: messages.finish(db, self.settings.name, folder.uidvalidity, uid))


def _record_failure(where: tuple[str, int, int], problem: str, moment: str, db: Any) -> None:
    messages.record_problem(db, *where, "failed", problem, moment)


def _figures(report: FetchReport) -> tuple[int, int, int, int]:
    return report.messages, report.files, report.skipped, report.waiting
