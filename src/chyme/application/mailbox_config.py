"""The settings of the mailbox, and what `chyme doctor` says about it."""

from __future__ import annotations

from chyme.application.settings import Settings
from chyme.errors import ChymeError
from chyme.mailbox.mailbox_settings import MailboxSettings
from chyme.mailbox.open_connections import OpenConnections


def mailbox_settings(settings: Settings) -> MailboxSettings:
    """Return the settings that begin with imap_."""
    return MailboxSettings(
        host=settings.imap_host.strip(),
        port=settings.imap_port,
        tls=settings.imap_tls,
        ca=settings.imap_ca,
        user=settings.imap_user,
        password=settings.imap_password,
        folder=settings.imap_folder,
        after=settings.imap_after,
        move_to=settings.imap_move_to,
        into=settings.imap_into,
        seconds=settings.imap_seconds,
        message_mb=settings.imap_message_mb,
    )


def try_mailbox(settings: Settings) -> tuple[str, str | None] | None:
    """Sign in and select the folder, and take nothing. Return which mailbox, and what is wrong; None without one."""
    mailbox = mailbox_settings(settings)
    if not mailbox.enabled:
        return None
    from chyme.mailbox.imap_folder import open_imap_folder  # most vaults have no mailbox

    try:
        mailbox.check()
        with open_imap_folder(mailbox, OpenConnections()):
            return mailbox.name, None
    except ChymeError as error:
        return mailbox.name, str(error)
