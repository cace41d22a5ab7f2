"""One folder of a mailbox: its messages are listed, fetched, marked and moved."""

from __future__ import annotations

import binascii
import contextlib
import imaplib
import re
import ssl
from collections.abc import Iterator, Sequence
from pathlib import Path

from chyme.core.outbound.guard import Guard
from chyme.errors import ChymeError, DigestError
from chyme.mailbox.imap_connection import SILENCE_SECONDS, ImapConnection
from chyme.mailbox.mailbox_errors import LoginRefused, MailboxFailed, MessageFailed
from chyme.mailbox.mailbox_settings import MOVE, SEEN, STARTTLS, TLS, MailboxSettings
from chyme.mailbox.open_connections import OpenConnections
from chyme.text.markdown_lines import clean_line, shorten_text

_SIZE = re.compile(rb"RFC822\.SIZE (\d{1,12})\b")
_SHOWN = 200  # characters of what a server says


@contextlib.contextmanager
def open_imap_folder(settings: MailboxSettings, connections: OpenConnections) -> Iterator[ImapFolder]:
    """Connect to exactly the host and port of the settings, sign in, and select the folder."""
    connection: ImapConnection | None = None
    with explain_imap_errors(settings):
        context = _tls_context(settings)
        connection = ImapConnection(settings.host, settings.real_port, lambda: _connect(settings, context))
    try:
        with connections.hold(connection):
            with explain_imap_errors(settings):
                if settings.tls == STARTTLS:
                    connection.allow()
                    connection.start_tls(context)
                _sign_in(connection, settings)
                connection.refresh_capabilities()
                folder = ImapFolder(connection, settings)
            yield folder
            with contextlib.suppress(imaplib.IMAP4.error, OSError, ValueError):
                connection.allow()
                connection.logout()
    finally:
        with contextlib.suppress(OSError):
            connection.shutdown()


@contextlib.contextmanager
def explain_imap_errors(settings: MailboxSettings) -> Iterator[None]:
    """Turn what goes wrong with a connection into MailboxFailed, without the password."""
    where = f"{settings.host}:{settings.real_port}"
    try:
        yield
    except ChymeError as error:
        if isinstance(error, DigestError):  # of the guard
            raise MailboxFailed(str(error)) from error
        raise
    except ssl.SSLCertVerificationError as error:
        raise MailboxFailed(
            f"{where}: its certificate is not trusted ({error.verify_message}); imap_ca may name another authority"
        ) from error
    except (imaplib.IMAP4.error, OSError, ValueError, UnicodeError, KeyError, IndexError) as error:
        raise MailboxFailed(f"{where}: {_say(str(error), settings)}") from error


def _say(text: str, settings: MailboxSettings) -> str:
    text = shorten_text(clean_line(text.replace(settings.password, "…")), _SHOWN)
    return text.removeprefix("b'").rstrip("'") or "the connection failed"


def _tls_context(settings: MailboxSettings) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(Path(settings.ca).expanduser()) if settings.ca else None)


def _connect(settings: MailboxSettings, context: ssl.SSLContext) -> ssl.SSLSocket:
    sock = Guard(settings.policy, delay=0.0).connect(settings.host, settings.real_port)
    try:
        sock.settimeout(SILENCE_SECONDS)
        if settings.tls == TLS:
            return context.wrap_socket(sock, server_hostname=settings.host.strip("[]"))
    except BaseException:
        sock.close()
        raise
    return sock  # type: ignore[return-value]  # without encryption, or before STARTTLS


def _sign_in(connection: ImapConnection, settings: MailboxSettings) -> None:
    connection.allow()
    try:
        if "AUTH=PLAIN" in connection.capabilities:
            connection.authenticate("PLAIN", lambda _: f"\0{settings.user}\0{settings.password}".encode())
        else:
            connection.login(settings.user, settings.password)
    except imaplib.IMAP4.abort:
        raise
    except imaplib.IMAP4.error as error:
        raise LoginRefused(
            f"{settings.host} refuses imap_user and imap_password: {_say(str(error), settings)}"
        ) from None


class ImapFolder:
    """A selected folder."""

    def __init__(self, connection: ImapConnection, settings: MailboxSettings) -> None:
        self._connection = connection
        self._settings = settings
        connection.allow()
        status, data = connection.select(quote_folder(settings.folder))
        if status != "OK":
            raise MailboxFailed(
                f"{settings.host} has no folder {settings.folder!r} ({self._text(data)}); see imap_folder"
            )
        _, validity = connection.response("UIDVALIDITY")
        self.uidvalidity = int(validity[0]) if validity and validity[0] else 0

    def uids_after(self, uid: int) -> list[int]:
        """Return the uids above this one, in ascending order."""
        data = self._run("SEARCH", "UID", f"{uid + 1}:*")
        found = {int(word) for line in data if isinstance(line, bytes) for word in line.split()}
        return sorted(found_uid for found_uid in found if found_uid > uid)  # * always means the last message

    def size_of(self, uid: int) -> int | None:
        """Return the size that the server names for a message; None if there is none."""
        for line in self._run("FETCH", str(uid), "(RFC822.SIZE)"):
            match = _SIZE.search(line if isinstance(line, bytes) else b"")
            if match is not None:
                return int(match[1])
        return None

    def fetch(self, uid: int, max_bytes: int) -> bytes:
        """Return a whole message, without marking it as seen."""
        for part in self._run("FETCH", str(uid), "(BODY.PEEK[])", message_bytes=max_bytes):
            if isinstance(part, tuple) and len(part) > 1 and isinstance(part[1], bytes):
                return part[1]
        raise MessageFailed("the server lists this message, and does not send it")

    def finish(self, uid: int) -> None:
        """Do with a message that was taken what the setting imap_after says."""
        if self._settings.after == SEEN:
            self._run("STORE", str(uid), "+FLAGS.SILENT", "(\\Seen)")
        elif self._settings.after == MOVE:
            self._move(uid)

    def _move(self, uid: int) -> None:
        target = quote_folder(self._settings.move_to)
        can_move = "MOVE" in self._connection.capabilities
        command = "MOVE" if can_move else "COPY"
        try:
            self._run(command, str(uid), target)
        except MessageFailed:
            self._connection.allow()
            self._connection.create(target)  # it may exist, and something else be wrong: then the next line says so
            self._run(command, str(uid), target)
        if not can_move:
            self._run("STORE", str(uid), "+FLAGS.SILENT", "(\\Deleted)")
            if "UIDPLUS" in self._connection.capabilities:
                self._run("EXPUNGE", str(uid))

    def _run(self, command: str, *arguments: str, message_bytes: int = 0) -> Sequence[object]:
        self._connection.allow(message_bytes)
        with explain_imap_errors(self._settings):
            status, data = self._connection.uid(command, *arguments)
        if status != "OK":
            raise MessageFailed(f"the server refuses {command.lower()}: {self._text(data)}")
        return data

    def _text(self, data: Sequence[object]) -> str:
        said = b" ".join(part for part in data if isinstance(part, bytes)).decode("utf-8", "replace")
        return _say(said, self._settings)


def quote_folder(name: str) -> str:
    """Return the name of a folder as IMAP wants it: quoted, and in its own kind of UTF-7."""
    encoded = re.sub(r"&|[^\x20-\x7e]+", lambda found: _encode_utf7(found[0]), name)
    return '"' + encoded.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _encode_utf7(text: str) -> str:
    if text == "&":
        return "&-"
    encoded = binascii.b2a_base64(text.encode("utf-16-be"), newline=False).decode().rstrip("=")
    return f"&{encoded.replace('/', ',')}-"
