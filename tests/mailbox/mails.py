"""Messages for the tests of the mailbox, and vaults that take them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from chyme.application.app import App, open_app
from chyme.application.settings import Settings
from chyme.mailbox.mailbox import Mailbox
from chyme.mailbox.mailbox_settings import MailboxSettings

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
SETTINGS = MailboxSettings(
    *("127.0.0.1", 0, "off", "", "ada", "secret words", "INBOX", "seen", "", "mail"), seconds=300.0, message_mb=2
)


def mail(subject: str, text: str = "hello", files: Sequence[tuple[str, bytes]] = ()) -> bytes:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "eve@example.org", "ada@example.org", subject
    message["Date"] = "Mon, 02 Mar 2026 10:00:00 +0100"
    message.set_content(text)
    for name, data in files:
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return message.as_bytes().replace(b"\n", b"\r\n")


@dataclass
class Clock:
    moment: datetime = START

    def __call__(self) -> datetime:
        return self.moment

    def move(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


@contextmanager
def mailbox_at(root: Path, port: int, clock: Clock | None = None, /, **changes: Any) -> Iterator[tuple[App, Mailbox]]:
    """A vault, and its mailbox at this port of this machine."""
    root.mkdir(exist_ok=True)
    with open_app(root, Settings()) as app:
        settings = replace(SETTINGS, port=port, **changes)
        yield app, Mailbox(app.open_vault, settings, clock or Clock())


def files_in(folder: Path) -> list[str]:
    """The files in the vault, without its state, which changes meanwhile."""
    found: list[str] = []
    for above, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".chyme"]
        found += [os.path.relpath(os.path.join(above, name), folder) for name in names]
    return sorted(found)
