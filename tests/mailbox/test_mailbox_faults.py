"""The mailbox when something goes wrong: cut connections, refused and broken messages, hostile servers, full disks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mails import SETTINGS, START, Clock, files_in, mail, mailbox_at
from scripted_imap import ScriptedImap

from chyme.errors import UsageError, VaultError
from chyme.mailbox import imap_connection
from chyme.mailbox.imap_folder import quote_folder
from chyme.mailbox.mailbox import MAX_ATTEMPTS, FetchReport, wait_after
from chyme.mailbox.mailbox_errors import LoginRefused, MailboxFailed
from chyme.vault.intake.upload_limits import UploadLimits


@pytest.fixture
def imap() -> Iterator[ScriptedImap]:
    server = ScriptedImap({uid: mail(f"letter {uid}") for uid in (3, 5, 9)})
    yield server
    server.close()


pytestmark = pytest.mark.slow

LETTERS = [f"mail/2026-03-02 letter {uid}.eml" for uid in (3, 5, 9)]


def test_every_message_is_taken_once(tmp_path: Path, imap: ScriptedImap) -> None:
    with mailbox_at(tmp_path, imap.port) as (_, mailbox):
        assert mailbox.fetch() == FetchReport(messages=3, files=3)
        assert mailbox.fetch() == FetchReport()
        imap.messages[10] = mail("letter 10")
        assert mailbox.fetch() == FetchReport(messages=1, files=1)
        status = mailbox.status()
    assert imap.fetched == imap.seen == [3, 5, 9, 10]
    assert (status.messages, status.files, status.skipped, status.problem) == (4, 4, 0, None)
    assert files_in(tmp_path) == sorted([*LETTERS, "mail/2026-03-02 letter 10.eml"])
    assert (tmp_path / LETTERS[0]).read_bytes() == imap.messages[3]


def test_a_deleted_file_does_not_come_back_when_the_server_numbers_anew(tmp_path: Path, imap: ScriptedImap) -> None:
    with mailbox_at(tmp_path, imap.port) as (_, mailbox):
        mailbox.fetch()
        (tmp_path / LETTERS[0]).unlink()
        imap.uidvalidity = 8
        imap.messages = {1: imap.messages[3], 2: imap.messages[5], 4: mail("new")}
        assert mailbox.fetch() == FetchReport(messages=1, files=1)
    assert files_in(tmp_path) == sorted([*LETTERS[1:], "mail/2026-03-02 new.eml"])


def test_a_cut_in_the_middle_of_a_message_loses_nothing_and_stops_no_other(tmp_path: Path, imap: ScriptedImap) -> None:
    imap.cut = {5}
    with mailbox_at(tmp_path, imap.port) as (_, mailbox):
        with pytest.raises(MailboxFailed, match="cut"):
            mailbox.fetch()
        assert files_in(tmp_path) == LETTERS[:1]
        with pytest.raises(MailboxFailed, match="cut"):
            mailbox.fetch()
        assert files_in(tmp_path) == [LETTERS[0], LETTERS[2]]  # the one that ends connections comes last
        imap.cut = set()
        assert mailbox.fetch() == FetchReport(messages=1, files=1)
    assert files_in(tmp_path) == LETTERS


def test_a_message_that_always_ends_the_connection_is_skipped_and_can_be_tried_again(
    tmp_path: Path, imap: ScriptedImap
) -> None:
    imap.cut = {5}
    with mailbox_at(tmp_path, imap.port) as (_, mailbox):
        for _ in range(MAX_ATTEMPTS):
            with pytest.raises(MailboxFailed):
                mailbox.fetch()
        assert mailbox.fetch() == FetchReport(skipped=1)
        assert mailbox.fetch() == FetchReport()
        (problem,) = mailbox.status().problems
        assert (problem.uid, problem.state) == (5, "skipped")
        imap.cut = set()
        assert mailbox.retry_skipped() == 1
        assert mailbox.fetch() == FetchReport(messages=1, files=1)
        assert mailbox.status().problems == ()


def test_refused_empty_and_large_messages_are_reported_and_skipped(tmp_path: Path, imap: ScriptedImap) -> None:
    imap.messages |= {10: b"", 11: mail("large", "x" * 3_000_000), 12: mail("after them")}
    imap.refused = {5}
    with mailbox_at(tmp_path, imap.port) as (_, mailbox):
        assert mailbox.fetch() == FetchReport(messages=3, files=3, skipped=2, waiting=1)
        for _ in range(MAX_ATTEMPTS):
            mailbox.fetch()
        problems = {problem.uid: problem.problem or "" for problem in mailbox.status().problems}
    assert 11 not in imap.fetched
    assert "broken on disk" in problems[5]
    assert "empty" in problems[10]
    assert "imap_message_mb" in problems[11]
    assert files_in(tmp_path) == sorted([LETTERS[0], LETTERS[2], "mail/2026-03-02 after them.eml"])


@pytest.mark.parametrize("hostile", ["greeting", "line", "literal", "digits", "flood"])
def test_a_hostile_server_fills_no_memory(
    tmp_path: Path, imap: ScriptedImap, hostile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imap_connection, "COMMAND_BYTES", 1_000_000)
    imap.hostile = hostile
    with mailbox_at(tmp_path, imap.port) as (_, mailbox):
        with pytest.raises(MailboxFailed):
            mailbox.fetch()
        assert mailbox.status().failures == 1
        assert ("wanted to send" in str(mailbox.status().problem)) == (hostile == "literal")
    assert files_in(tmp_path) == []


def test_a_server_that_is_too_slow_is_given_up(
    tmp_path: Path, imap: ScriptedImap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imap_connection, "COMMAND_SECONDS", 0.0)
    with mailbox_at(tmp_path, imap.port) as (_, mailbox), pytest.raises(MailboxFailed, match="too long"):
        mailbox.fetch()


def test_faults_back_off_and_are_told_without_the_password(tmp_path: Path, imap: ScriptedImap) -> None:
    imap.password = "another"
    clock = Clock()
    with mailbox_at(tmp_path, imap.port, clock) as (_, mailbox):
        with pytest.raises(LoginRefused) as refused:
            mailbox.fetch()
        assert "secret" not in str(refused.value)
        first = mailbox.status()
        with pytest.raises(LoginRefused):
            mailbox.fetch()
        second = mailbox.status()
        assert (first.failures, second.failures) == (1, 2)
        assert first.next_attempt is not None and second.next_attempt is not None
        assert START.isoformat()[:16] < first.next_attempt[:16] < second.next_attempt[:16]
        assert "refuses imap_user" in str(second.problem)
        assert "secret" not in str(second.as_json())
        imap.password = None
        mailbox.fetch()
        assert (mailbox.status().problem, mailbox.status().failures) == (None, 0)


def test_waiting_grows_with_each_failure_up_to_an_hour() -> None:
    assert [wait_after(failures, 300.0) for failures in (0, 1, 2, 3)] == [300.0, 30.0, 60.0, 120.0]
    assert wait_after(50, 300.0) == 3600.0
    assert wait_after(1, 300.0, login_refused=True) == 300.0
    assert wait_after(50, 86400.0) == 86400.0


def test_a_full_disk_costs_no_message(tmp_path: Path, imap: ScriptedImap) -> None:
    with mailbox_at(tmp_path, imap.port) as (app, mailbox):
        limits = app.open_vault.upload_limits
        app.open_vault.upload_limits = UploadLimits(10, 10**9, free_mb=10**12)
        for _ in range(MAX_ATTEMPTS + 2):
            with pytest.raises(VaultError, match="too little room"):
                mailbox.fetch()
        app.open_vault.upload_limits = limits
        assert mailbox.fetch().messages == 3


def test_a_message_that_was_stored_but_not_written_down_is_not_stored_twice(tmp_path: Path, imap: ScriptedImap) -> None:
    """As after a kill in between: the files are there, and the database knows nothing of them."""
    with mailbox_at(tmp_path, imap.port) as (app, mailbox):
        mailbox.fetch()
        app.database.write(lambda db: db.execute("DELETE FROM mail_messages"))
        mailbox.fetch()
    assert files_in(tmp_path) == LETTERS


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"host": "mail.example.org", "tls": "off"}, "in the clear"),
        ({"host": "a b"}, "imap_host"),
        ({"tls": "ssl"}, "imap_tls"),
        ({"after": "delete"}, "imap_after"),
        ({"after": "move"}, "imap_move_to"),
        ({"password": ""}, "imap_password"),
        ({"user": "a\r\nb"}, "imap_user"),
        ({"seconds": 0.0}, "imap_seconds"),
    ],
)
def test_settings_that_cannot_work_are_refused_before_anything_is_sent(
    tmp_path: Path, imap: ScriptedImap, changes: dict[str, Any], why: str
) -> None:
    with mailbox_at(tmp_path, imap.port, **changes) as (_, mailbox):
        with pytest.raises(UsageError, match=why):
            mailbox.fetch()
        assert why in str(mailbox.status().problem)
    assert imap.logins == 0


def test_connections_lead_to_exactly_that_host_and_port() -> None:
    policy = SETTINGS.policy
    assert policy.allow[0].ports == (143,)
    assert policy.ports == ()
    assert "secret" not in repr(SETTINGS)


def test_names_of_folders_are_written_as_imap_wants_them() -> None:
    assert quote_folder("Belege & Büro") == '"Belege &- B&APw-ro"'
    assert quote_folder('a"b\\c') == '"a\\"b\\\\c"'
    assert quote_folder("台北") == '"&U,BTFw-"'
