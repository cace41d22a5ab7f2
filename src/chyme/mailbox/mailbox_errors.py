"""What may go wrong with a mailbox."""

from __future__ import annotations

from chyme.errors import ChymeError


class MailboxFailed(ChymeError):
    """The mailbox cannot be reached or used now. It is tried again later."""


class LoginRefused(MailboxFailed):
    """The server does not accept user and password; asking often might lock the account."""


class MessageFailed(ChymeError):
    """The server refuses something about one message; the others are not concerned."""
