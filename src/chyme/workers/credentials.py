"""The credentials of a coordinator or worker: one PEM file with a private key, its certificate, and the authority's."""

from __future__ import annotations

import os
import ssl
import stat
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509.oid import NameOID

from chyme.core import clock
from chyme.errors import UsageError
from chyme.workers.cluster import Role
from chyme.workers.names import check_person

_LARGEST = 100_000
_SOON = timedelta(days=30)
_RENEW = "'chyme cluster renew' makes a new one"
_OTHER = "use a file that 'chyme cluster init', 'add-worker' or 'add-coordinator' made"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who a process is for the NATS server.

    Connect with `tls=credentials.ssl_context()`, `tls_handshake_first=True` and
    `inbox_prefix=inbox_of(credentials.name)`. Without the second, a machine between client and server can turn TLS off.
    """

    path: Path
    name: str
    role: Role
    expires: datetime
    _content: bytes = field(repr=False)
    _authority: str = field(repr=False)

    @classmethod
    def read(cls, path: Path, now: datetime | None = None) -> Credentials:
        """Read and check a file. UsageError says what is wrong with it, and what to do."""
        return _parse(path, _read_private(path), now or clock.now())

    def ssl_context(self) -> ssl.SSLContext:
        """Make a client context that trusts only the cluster's authority, and checks the server's name."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_verify_locations(cadata=self._authority)
        self._load_into(context)
        return context

    def reload_into(self, context: ssl.SSLContext) -> Credentials:
        """Read the file again, for later connections with this context. Returns what it has now.

        UsageError if it cannot be used or is another's by now; then the context keeps the certificate it has.
        """
        now = Credentials.read(self.path)
        if (now.name, now.role) != (self.name, self.role):
            raise UsageError(
                f"{self.path}: belongs to the {now.role} {now.name!r} now, not to the {self.role} {self.name!r}; start "
                "again to use it"
            )
        now._load_into(context)
        return now

    def _load_into(self, context: ssl.SSLContext) -> None:
        """Load from a file in memory what was checked: the file on disk may be replaced at any time."""
        handle = os.memfd_create("credentials", os.MFD_CLOEXEC)
        with open(handle, "wb") as stream:
            stream.write(self._content)
            stream.flush()
            try:
                context.load_cert_chain(f"/proc/self/fd/{handle}")
            except ssl.SSLError as error:
                raise UsageError(f"{self.path}: cannot be used for TLS: {error.reason}; {_OTHER}") from error


def describe_expiry(path: Path, now: datetime) -> str | None:
    """Say when a certificate expires, if that is within 30 days. UsageError if it cannot be used, or is expired."""
    credentials = Credentials.read(path, now)
    left = credentials.expires - now
    if left > _SOON:
        return None
    days = "less than a day" if left.days < 1 else "1 day" if left.days == 1 else f"{left.days} days"
    return f"the certificate expires on {credentials.expires:%Y-%m-%d}, in {days}; {_RENEW}"


def _read_private(path: Path) -> bytes:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise UsageError(f"{path}: is no file; {_OTHER}")
            # The file of another user (root) may be shared by group, as secrets of services are.
            mode, forbidden = stat.S_IMODE(status.st_mode), 0o077 if status.st_uid == os.geteuid() else 0o037
            if mode & forbidden:
                raise UsageError(
                    f"{path}: other users of this machine may use this file (mode {mode:04o}), and it has a private "
                    "key; run 'chmod 600' on it"
                )
            return stream.read(_LARGEST)
    except FileNotFoundError as error:
        raise UsageError(f"{path}: there is no such file; {_OTHER}") from error
    except IsADirectoryError as error:
        raise UsageError(f"{path}: is no file; {_OTHER}") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}; run as the user it belongs to") from error


def _parse(path: Path, content: bytes, now: datetime) -> Credentials:
    try:
        key = load_pem_private_key(content, None)
        own, authority = x509.load_pem_x509_certificates(content)
        names = own.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        roles = own.subject.get_attributes_for_oid(NameOID.ORGANIZATIONAL_UNIT_NAME)
        name, role = check_person(str(names[0].value)), Role(str(roles[0].value))
        own.verify_directly_issued_by(authority)
        if own.public_key() != key.public_key():
            raise ValueError("key and certificate do not belong together")
    except (ValueError, TypeError, IndexError, InvalidSignature, UsageError) as error:
        raise UsageError(
            f"{path}: is no file of a private key, its certificate and the authority's; {_OTHER}"
        ) from error
    if now >= own.not_valid_after_utc:
        raise UsageError(f"{path}: the certificate expired on {own.not_valid_after_utc:%Y-%m-%d}; {_RENEW}")
    if now < own.not_valid_before_utc:
        raise UsageError(
            f"{path}: the certificate is valid from {own.not_valid_before_utc:%Y-%m-%d}, and this machine says it is "
            f"{now:%Y-%m-%d}; set its clock"
        )
    return Credentials(
        path, name, role, own.not_valid_after_utc, content, authority.public_bytes(Encoding.PEM).decode()
    )
