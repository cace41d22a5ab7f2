"""Where the mailbox is, and what happens to its messages; checked before anything is asked."""

from __future__ import annotations

from dataclasses import dataclass, field

from chyme.core.outbound.addresses import NoHost, host_of
from chyme.core.outbound.policy import GuardPolicy, policy_of
from chyme.errors import UsageError

TLS, STARTTLS, NO_TLS = "tls", "starttls", "off"
SEEN, MOVE, LEAVE = "seen", "move", "leave"
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1", "[::1]")


@dataclass(frozen=True, slots=True)
class MailboxSettings:
    """The settings that begin with imap_."""

    host: str
    port: int  # 0: the usual one
    tls: str
    ca: str
    user: str
    password: str = field(repr=False)
    folder: str
    after: str
    move_to: str
    into: str
    seconds: float
    message_mb: int

    @property
    def enabled(self) -> bool:
        return bool(self.host)

    @property
    def name(self) -> str:
        """User, host and folder: what stays the same of a mailbox."""
        return f"{self.user}@{self.host}/{self.folder}"

    @property
    def real_port(self) -> int:
        return self.port or (993 if self.tls == TLS else 143)

    @property
    def policy(self) -> GuardPolicy:
        """Lets connections out to exactly this host and port."""
        host = f"[{self.host}]" if ":" in self.host and not self.host.startswith("[") else self.host
        return GuardPolicy(policy_of(f"{host}:{self.real_port}").allow, ports=())

    def check(self) -> None:
        """Raise UsageError that names the setting which is wrong."""
        try:
            host_of(self.host)
        except NoHost as error:
            raise UsageError(f"imap_host: {self.host[:100]!r} is no name of a host and no address") from error
        if not 0 <= self.port <= 65535:
            raise UsageError(f"imap_port: {self.port} is no port; 0 means the usual one")
        if self.tls not in (TLS, STARTTLS, NO_TLS):
            raise UsageError(f"imap_tls must be {TLS}, {STARTTLS} or {NO_TLS}, not {self.tls!r}")
        if self.tls == NO_TLS and self.host.lower() not in _LOOPBACK_NAMES:
            raise UsageError(f"imap_tls: {NO_TLS} would send the password in the clear; it is for this machine alone")
        if self.after not in (SEEN, MOVE, LEAVE):
            raise UsageError(f"imap_after must be {SEEN}, {MOVE} or {LEAVE}, not {self.after!r}")
        if self.after == MOVE and (not self.move_to or self.move_to == self.folder):
            raise UsageError("imap_move_to: name another folder of the mailbox, because imap_after is move")
        for name, value in (("imap_user", self.user), ("imap_password", self.password), ("imap_folder", self.folder)):
            if not value:
                raise UsageError(f"{name} is empty; the mailbox at {self.host} needs it")
            if any(ord(letter) < 32 or ord(letter) == 127 for letter in value):
                raise UsageError(f"{name} has unprintable characters in it")
        if any(ord(letter) < 32 for letter in self.move_to):
            raise UsageError("imap_move_to has unprintable characters in it")
        if self.seconds < 10:
            raise UsageError("imap_seconds must be at least 10: the server is not asked more often")
        if not 1 <= self.message_mb <= 500:
            raise UsageError("imap_message_mb must be from 1 to 500, because a message is read in memory")
