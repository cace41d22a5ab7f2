"""Debian's dovecot as a process of its own: with its own configuration, mail folder and ports."""

from __future__ import annotations

import grp
import imaplib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from waiting import wait_until

USER, PASSWORD = "ada", "pässword & more"
CONFIG = """
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/dovecot.log
protocols = imap
listen = 127.0.0.1
ssl = yes
ssl_cert = <{certificate}
ssl_key = <{key}
disable_plaintext_auth = no
auth_mechanisms = plain
default_internal_user = {internal}
default_internal_group = {internal_group}
default_login_user = {login}
first_valid_uid = 1
mail_location = maildir:{folder}/mail
passdb {{
  driver = passwd-file
  args = scheme=PLAIN username_format=%u {folder}/users
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={folder}/home
}}
service imap-login {{
  chroot =
  process_min_avail = 0
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = {tls_port}
    ssl = yes
  }}
}}
service anvil {{
  chroot =
}}
service stats {{
  chroot =
}}
"""


def dovecot_program() -> str | None:
    return shutil.which("dovecot") or shutil.which("dovecot", path="/usr/sbin")


@dataclass(frozen=True)
class Dovecot:
    """A running dovecot with one user."""

    port: int
    tls_port: int
    authority: Path  # its certificate, which has signed itself

    def client(self, folder: str = "INBOX") -> imaplib.IMAP4:
        client = imaplib.IMAP4("127.0.0.1", self.port)
        client.authenticate("PLAIN", lambda _: f"\0{USER}\0{PASSWORD}".encode())
        client.select(folder)
        return client

    def deliver(self, message: bytes, folder: str = "INBOX") -> None:
        with self.client() as client:
            client.create(folder)
            status, said = client.append(folder, "", "", message)
            assert status == "OK", said

    def messages(self, folder: str = "INBOX", which: str = "ALL") -> int:
        with self.client(folder) as client:
            return len(client.search(None, which)[1][0].split())

    def empty(self, *folders: str) -> None:
        """Delete the messages of these folders."""
        for folder in folders:
            with self.client(folder) as client, suppress(imaplib.IMAP4.error):
                client.store("1:*", "+FLAGS", "\\Deleted")
                client.expunge()


@contextmanager
def running_dovecot() -> Iterator[Dovecot]:
    """Start dovecot, and end it. Its sockets have short paths, so it lives directly in the temporary folder."""
    program = dovecot_program()
    assert program is not None
    folder = Path(tempfile.mkdtemp(prefix="chyme-dovecot-"))
    folder.chmod(0o755)
    own = pwd.getpwuid(os.geteuid())
    mail = pwd.getpwnam("nobody") if own.pw_uid == 0 else own  # dovecot serves no mail of root
    try:
        for name in ("mail", "home"):
            (folder / name).mkdir()
            os.chown(folder / name, mail.pw_uid, mail.pw_gid)
        (folder / "users").write_text(f"{USER}:{{PLAIN}}{PASSWORD}\n")
        certificate, key = _self_signed(folder)
        port, tls_port = _free_ports(2)
        system = own.pw_uid == 0
        config = CONFIG.format(
            folder=folder,
            certificate=certificate,
            key=key,
            port=port,
            tls_port=tls_port,
            uid=mail.pw_uid,
            gid=mail.pw_gid,
            internal="dovecot" if system else own.pw_name,
            internal_group="dovecot" if system else _group_of(own.pw_gid),
            login="dovenull" if system else own.pw_name,
        )
        (folder / "dovecot.conf").write_text(config)
        with (folder / "said.txt").open("wb") as said:
            process = subprocess.Popen(
                [program, "-F", "-c", os.fspath(folder / "dovecot.conf")],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:

            def answers() -> bool:
                assert process.poll() is None, (folder / "said.txt").read_text()
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as connection:
                    return connection.recv(4) == b"* OK"
                return False

            wait_until(answers)
            yield Dovecot(port, tls_port, certificate)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _self_signed(folder: Path) -> tuple[Path, Path]:
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
            *("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"),
            *("-keyout", os.fspath(key), "-out", os.fspath(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key


def _group_of(gid: int) -> str:
    return grp.getgrgid(gid).gr_name


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(server.getsockname()[1]) for server in sockets]
    for server in sockets:
        server.close()
    return ports
