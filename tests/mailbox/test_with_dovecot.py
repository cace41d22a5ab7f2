"""The watched mailbox with Debian's dovecot: encryption, folders, moving, a serving chyme that is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from mails import files_in, mail, mailbox_at
from running_chyme import RunningChyme, wait_until
from running_dovecot import PASSWORD, USER, Dovecot, dovecot_program, running_dovecot

from chyme.mailbox.mailbox_errors import LoginRefused, MailboxFailed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        dovecot_program() is None, reason="dovecot is not installed (Debian: apt-get install dovecot-imapd)"
    ),
]

BILL = [("bill.txt", b"you owe 12 pelicans")]
MANY = 30


@pytest.fixture(scope="module")
def started() -> Iterator[Dovecot]:
    with running_dovecot() as server:
        yield server


@pytest.fixture
def dovecot(started: Dovecot) -> Dovecot:
    started.empty("INBOX")
    return started


@pytest.mark.parametrize("tls", ["tls", "starttls", "off"])
def test_messages_and_attachments_become_files_and_are_marked(tmp_path: Path, dovecot: Dovecot, tls: str) -> None:
    dovecot.deliver(mail("Bill", files=BILL))
    port = dovecot.tls_port if tls == "tls" else dovecot.port
    known = {"user": USER, "password": PASSWORD, "tls": tls, "ca": os.fspath(dovecot.authority)}
    with mailbox_at(tmp_path, port, **known) as (_, mailbox):
        assert mailbox.fetch().files == 2
        assert mailbox.fetch().files == 0
    assert files_in(tmp_path) == ["mail/2026-03-02 Bill - bill.txt", "mail/2026-03-02 Bill.eml"]
    assert dovecot.messages(which="SEEN") == 1


@pytest.mark.parametrize("tls", ["tls", "starttls"])
def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path, dovecot: Dovecot, tls: str) -> None:
    port = dovecot.tls_port if tls == "tls" else dovecot.port
    known = {"user": USER, "password": PASSWORD, "tls": tls}
    with mailbox_at(tmp_path, port, **known) as (_, mailbox), pytest.raises(MailboxFailed, match="is not trusted"):
        mailbox.fetch()


def test_a_wrong_password_and_a_missing_folder_are_told(tmp_path: Path, dovecot: Dovecot) -> None:
    with mailbox_at(tmp_path, dovecot.port, user=USER, password="wrong password") as (_, mailbox):
        with pytest.raises(LoginRefused, match="imap_password") as refused:
            mailbox.fetch()
        assert "wrong password" not in str(refused.value)
    known = {"user": USER, "password": PASSWORD, "folder": "Nowhere"}
    with mailbox_at(tmp_path, dovecot.port, **known) as (_, mailbox), pytest.raises(MailboxFailed, match="imap_folder"):
        mailbox.fetch()


def test_messages_are_left_alone_or_moved_into_a_folder_that_is_made(tmp_path: Path, dovecot: Dovecot) -> None:
    dovecot.deliver(mail("one"))
    dovecot.deliver(mail("two"))
    known = {"user": USER, "password": PASSWORD}
    with mailbox_at(tmp_path / "left", dovecot.port, after="leave", **known) as (_, mailbox):
        assert mailbox.fetch().messages == 2
    assert (dovecot.messages(), dovecot.messages(which="SEEN")) == (2, 0)
    with mailbox_at(tmp_path / "moved", dovecot.port, after="move", move_to="Filed & Büro", **known) as (_, mailbox):
        assert mailbox.fetch().messages == 2
        assert mailbox.fetch().messages == 0
    assert dovecot.messages() == 0
    assert dovecot.messages('"Filed &- B&APw-ro"') == 2


def test_a_serving_chyme_that_is_killed_takes_each_message_once(tmp_path: Path, dovecot: Dovecot) -> None:
    for number in range(MANY):
        dovecot.deliver(mail(f"letter {number}", f"pelican number {number}", files=[("note.txt", b"%d" % number)]))
    chyme = RunningChyme(tmp_path)
    chyme.settings |= {
        "CHYME_IMAP_HOST": "127.0.0.1",
        "CHYME_IMAP_PORT": str(dovecot.port),
        "CHYME_IMAP_TLS": "off",
        "CHYME_IMAP_USER": USER,
        "CHYME_IMAP_PASSWORD": PASSWORD,
        "CHYME_IMAP_SECONDS": "10",
    }
    wanted = sorted(
        f"mail/2026-03-02 letter {number}{end}" for number in range(MANY) for end in (" - note.txt", ".eml")
    )
    try:
        server = chyme.serve()
        wait_until(lambda: len(files_in(chyme.vault)) > 4)
        server.end(signal.SIGKILL)
        interrupted = len(files_in(chyme.vault))
        server = chyme.serve()
        wait_until(lambda: server.http.get("/api/mail").json()["messages"] == MANY)
        assert files_in(chyme.vault) == wanted
        assert interrupted <= len(wanted)
        state = server.http.get("/api/mail").json()
        assert (state["problem"], state["skipped"], state["waiting"]) == (None, 0, 0)
        assert dovecot.messages(which="UNSEEN") == 0

        dovecot.deliver(mail("one more"))
        assert server.http.post("/api/mail/fetch", json={}).status_code == 202
        wait_until((chyme.vault / "mail/2026-03-02 one more.eml").exists)
        assert "pelican" not in server.http.get("/activity").text
        assert "Fetch now" in server.http.get("/activity").text
        assert PASSWORD not in server.http.get("/settings").text + server.http.get("/api/settings").text

        status = chyme.run("status", "--json").json["mailbox"]
        assert status["messages"] == MANY + 1
        assert f"mailbox: {MANY + 1} messages taken" in chyme.run("status").out
        doctor = {engine["capability"]: engine for engine in chyme.run("doctor", "--json").json["engines"]}
        assert doctor["mailbox"]["ok"]
        assert server.end(signal.SIGTERM) == 0
        assert chyme.run("mail", "--fetch", "--json").json["fetched"]["messages"] == 0
        assert "31 messages taken" in chyme.run("mail").out
    finally:
        chyme.close()
