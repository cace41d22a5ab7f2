"""Reading credentials, and what is said about files that cannot be used."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from chyme.application.doctor import doctor
from chyme.application.settings import Settings
from chyme.core import clock
from chyme.errors import UsageError
from chyme.workers.cluster import Role
from chyme.workers.cluster_folder import ClusterFolder
from chyme.workers.credentials import Credentials, describe_expiry
from chyme.workers.names import is_inbox_of
from chyme.workers.urls import check_url


def make(folder: Path, days: int = 365) -> ClusterFolder:
    return ClusterFolder.create(folder, ["127.0.0.1"], 4222, ["*"], days, clock.now())


@pytest.fixture
def worker(tmp_path: Path) -> Path:
    return make(tmp_path / "cluster").credentials_of("worker-1")


def private(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    path.chmod(0o600)
    return path


def test_credentials_have_name_role_and_expiry(worker: Path) -> None:
    credentials = Credentials.read(worker)
    assert (credentials.name, credentials.role) == ("worker-1", Role.WORKER)
    assert timedelta(days=364) < credentials.expires - clock.now() < timedelta(days=366)


def test_no_secret_is_in_the_text_form_of_credentials(worker: Path) -> None:
    assert "PRIVATE" not in repr(Credentials.read(worker))


def test_the_context_trusts_one_authority_and_checks_the_name_of_the_server(worker: Path) -> None:
    context = Credentials.read(worker).ssl_context()
    assert len(context.get_ca_certs()) == 1
    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2


def test_certificates_pass_the_strict_checks_of_later_versions_of_python(tmp_path: Path) -> None:
    cluster = make(tmp_path / "cluster")
    client = Credentials.read(cluster.credentials_of("worker-1")).ssl_context()
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(cluster.folder / "server.pem", cluster.folder / "server.key")
    server.load_verify_locations(cluster.folder / "ca.pem")
    server.verify_mode, server.verify_flags = ssl.CERT_REQUIRED, server.verify_flags | ssl.VERIFY_X509_STRICT
    assert shake_hands(client, server, "127.0.0.1")
    with pytest.raises(ssl.SSLCertVerificationError, match="IP address mismatch"):
        shake_hands(client, server, "127.0.0.2")


def test_a_worker_cannot_pretend_to_be_the_server(tmp_path: Path) -> None:
    cluster = make(tmp_path / "cluster")
    client = Credentials.read(cluster.credentials_of("worker-1")).ssl_context()
    client.check_hostname = False
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(cluster.credentials_of("coordinator"))
    with pytest.raises(ssl.SSLCertVerificationError, match="certificate purpose"):
        shake_hands(client, server, "127.0.0.1")


def shake_hands(client: ssl.SSLContext, server: ssl.SSLContext, host: str) -> bool:
    """Connect two contexts in memory."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname=host),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(10):
        for end in list(ends):
            try:
                end.do_handshake()
                ends.remove(end)
            except ssl.SSLWantReadError:
                pass
    return not ends


def test_files_that_other_users_may_read_are_refused(worker: Path) -> None:
    for mode in (0o640, 0o604, 0o644, 0o620):
        worker.chmod(mode)
        with pytest.raises(UsageError, match=r"worker-1\.pem: other users .* 'chmod 600'"):
            Credentials.read(worker)
    worker.chmod(0o400)
    Credentials.read(worker)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.pem: there is no such file; .*chyme cluster"):
        Credentials.read(tmp_path / "none.pem")
    with pytest.raises(UsageError, match="is no file"):
        Credentials.read(tmp_path)


def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.pem", 0o600)
    with pytest.raises(UsageError, match="is no file"):
        Credentials.read(tmp_path / "pipe.pem")


def test_files_that_lack_a_part_or_mix_two_people_are_refused(tmp_path: Path, worker: Path) -> None:
    key, own, authority = (part + b"-----\n" for part in split(worker.read_bytes()))
    _, other, _ = (part + b"-----\n" for part in split(worker.with_name("coordinator.pem").read_bytes()))
    stranger = make(tmp_path / "strangers").folder / "ca.pem"
    broken = {
        "empty": b"",
        "text": b"hello",
        "bytes": bytes(range(256)),
        "no key": own + authority,
        "no authority": key + own,
        "no certificate": key,
        "another's key": key + other + authority,
        "another authority": key + own + stranger.read_bytes(),
        "too many": key + own + authority + authority,
        "server": worker.with_name("server.key").read_bytes() + worker.with_name("server.pem").read_bytes() + authority,
        "cut": worker.read_bytes()[:-100],
    }
    Credentials.read(private(tmp_path / "whole.pem", key + own + authority))
    for case, content in broken.items():
        with pytest.raises(UsageError, match="is no file of a private key"):
            Credentials.read(private(tmp_path / "broken.pem", content))
            pytest.fail(case)


def split(pem: bytes) -> list[bytes]:
    """Split before the dashes that end each part."""
    parts = pem.split(b"-----\n")
    return [b"-----\n".join(parts[at : at + 2]) for at in range(0, len(parts) - 1, 2)]


def test_an_expired_certificate_is_refused_with_the_way_out(worker: Path) -> None:
    with pytest.raises(UsageError, match=r"expired on 2.*'chyme cluster renew'"):
        Credentials.read(worker, clock.now() + timedelta(days=366))


def test_a_clock_far_behind_is_named_as_the_cause(worker: Path) -> None:
    with pytest.raises(UsageError, match="set its clock"):
        Credentials.read(worker, clock.now() - timedelta(days=30))
    Credentials.read(worker, clock.now() - timedelta(hours=12))


def test_expiry_is_described_in_the_last_thirty_days(worker: Path) -> None:
    expires = Credentials.read(worker).expires
    assert describe_expiry(worker, expires - timedelta(days=31)) is None
    said = describe_expiry(worker, expires - timedelta(days=30))
    assert said is not None and f"{expires:%Y-%m-%d}, in 30 days; 'chyme cluster renew'" in said
    assert "in 1 day;" in str(describe_expiry(worker, expires - timedelta(days=1)))
    assert "in less than a day;" in str(describe_expiry(worker, expires - timedelta(hours=1)))
    with pytest.raises(UsageError, match="expired"):
        describe_expiry(worker, expires)


def test_reloading_refuses_credentials_of_another_name(worker: Path) -> None:
    credentials = Credentials.read(worker)
    context = credentials.ssl_context()
    os.replace(worker.with_name("coordinator.pem"), worker)
    with pytest.raises(UsageError, match="belongs to the coordinator 'coordinator' now"):
        credentials.reload_into(context)


class WithWorkers(Settings):
    workers_credentials = ""


def test_doctor_says_when_the_certificate_expires(tmp_path: Path) -> None:
    soon = make(tmp_path / "soon", days=20).credentials_of("coordinator")
    later = make(tmp_path / "later").credentials_of("coordinator")
    lines = []
    for path in (soon, later, tmp_path / "missing.pem"):
        settings = WithWorkers()
        object.__setattr__(settings, "workers_credentials", os.fspath(path))
        lines += [line for line in doctor(tmp_path, settings) if line.capability == "workers elsewhere"]
    assert [line.ok for line in lines] == [True, True, False]
    assert "the certificate expires on" in lines[0].how
    assert lines[1].how == ""
    assert "there is no such file" in lines[2].how


def test_doctor_loads_nothing_of_workers_if_there_are_none(tmp_path: Path) -> None:
    program = f"""
import sys
from pathlib import Path
from chyme.application.doctor import doctor
from chyme.application.settings import Settings
lines = doctor(Path({os.fspath(tmp_path)!r}), Settings())
assert "workers elsewhere" not in [line.capability for line in lines]
sys.exit(", ".join(name for name in sys.modules if name.startswith(("chyme.workers", "cryptography", "nats"))) or 0)
"""
    check = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert check.returncode == 0, check.stderr


def test_addresses_are_split_at_commas(worker: Path) -> None:
    credentials = Credentials.read(worker)
    assert check_url("tls://a:4222, tls://[2001:db8::1]:4222,", credentials) == [
        "tls://a:4222",
        "tls://[2001:db8::1]:4222",
    ]


@pytest.mark.parametrize("host", ["127.0.0.1:4222", "127.9.9.9", "localhost:4222", "[::1]:4222"])
def test_this_machine_is_reached_without_tls(host: str) -> None:
    assert check_url(f"nats://{host}", None) == [f"nats://{host}"]


@pytest.mark.parametrize("host", ["10.0.0.1", "example.org:4222", "localhost.example", "127.0.0.1.example", "[::]"])
def test_other_machines_are_not_reached_without_tls(worker: Path, host: str) -> None:
    for credentials in (None, Credentials.read(worker)):
        with pytest.raises(UsageError, match="chyme cluster init"):
            check_url(f"nats://127.0.0.1,nats://{host}", credentials)


def test_tls_needs_credentials() -> None:
    with pytest.raises(UsageError, match="needs credentials"):
        check_url("tls://127.0.0.1:4222", None)


@pytest.mark.parametrize(
    "url", ["", " , ", "host:4222", "host", "ws://a", "tls://", "tls://a:x", "tls://a:4222/x", "tls://[a"]
)
def test_what_is_no_address_is_refused(worker: Path, url: str) -> None:
    with pytest.raises(UsageError, match="tls://HOST:4222"):
        check_url(url, Credentials.read(worker))


@pytest.mark.parametrize("url", ["tls://ada:secret@host:4222", "nats://secret@127.0.0.1", "ws://ada:secret@host"])
def test_passwords_in_addresses_are_refused_and_not_repeated(worker: Path, url: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_url(url, Credentials.read(worker))
    assert "secret" not in str(caught.value)


def test_an_inbox_belongs_to_the_one_it_is_named_after() -> None:
    assert is_inbox_of("w1", "chyme.inbox.w1.abc")
    for subject in ("chyme.inbox.w10.abc", "chyme.inbox.w1", "chyme.v.give.w1.i", "chyme.v.want", ""):
        assert not is_inbox_of("w1", subject)
