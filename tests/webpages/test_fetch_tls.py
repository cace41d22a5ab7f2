"""Over TLS, the other side has to prove who it is."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from local_web import LocalWeb

from chyme.core.outbound.guard import Guard
from chyme.core.outbound.policy import policy_of
from chyme.errors import NetworkFailed, TimedOut, UnreadableFile
from chyme.webpages.http_client.fetcher import Fetcher
from chyme.webpages.http_client.transport import load_certificates
from chyme.webpages.settings import CrawlLimits

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the openssl command for certificates"),
]


class Authority:
    """Makes certificates in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        self._new_key = new_key
        self._openssl("req", "-x509", *new_key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=ca")

    def certificate(self, host: str, days: int) -> ssl.SSLContext:
        """The certificate for a server of that name; with `days` below zero it has expired."""
        self._openssl("req", "-new", *self._new_key, "-keyout", "s.key", "-out", "s.csr", "-subj", f"/CN={host}")
        (self.folder / "s.ext").write_text(f"subjectAltName=DNS:{host}\n", encoding="ascii")
        signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "s.ext")
        self._openssl("x509", "-req", "-in", "s.csr", *signed, "-days", str(days), "-out", "s.pem")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "s.pem", self.folder / "s.key")
        return context

    @property
    def trusted(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.folder / "ca.pem"))

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True, timeout=120)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@contextmanager
def fetching(web: LocalWeb, trusted: ssl.SSLContext | None, seconds: float = 5) -> Iterator[Fetcher]:
    guard = Guard(policy_of(f"*.test:{web.port}"), delay=0, resolve=lambda _host: ["127.0.0.1"])
    with Fetcher(guard, CrawlLimits(seconds=seconds), "link.url", trusted) as fetcher:
        yield fetcher


def test_a_page_and_its_parts_come_over_tls(authority: Authority) -> None:
    with LocalWeb(tls=authority.certificate("news.test", 2)) as web, fetching(web, authority.trusted) as fetcher:
        web.page("/x", "safe and sound", {"Set-Cookie": "a=1; Secure"})
        url = f"https://news.test:{web.port}/x"
        assert fetcher.fetch_page(url).body == b"safe and sound"
        before = web.connections
        assert [fetcher.fetch_part(url, 100) is not None for _ in range(5)] == [True] * 5
        assert web.connections == before + 1
        assert fetcher.fetch_page(f"https://NEWS.test.:{web.port}/x").status == 200


def test_plain_http_may_lead_to_https(authority: Authority) -> None:
    with LocalWeb(tls=authority.certificate("news.test", 2)) as safe, LocalWeb() as plain:
        safe.page("/x", "here")
        url = plain.page("/x", headers={"Location": f"https://news.test:{safe.port}/x"}, status=301)
        guard = Guard(policy_of(f"{plain.host}, news.test:{safe.port}"), delay=0, resolve=lambda _host: ["127.0.0.1"])
        with Fetcher(guard, CrawlLimits(), "link.url", authority.trusted) as fetcher:
            assert fetcher.fetch_page(url).hops == (url,)


@pytest.mark.parametrize(
    ("host", "days", "trusted", "cause"),
    [
        ("news.test", -1, True, "certificate has expired"),
        ("other.test", 2, True, "Hostname mismatch"),
        ("news.test", 2, False, "unable to get local issuer certificate|self-signed"),
    ],
)
def test_an_invalid_certificate_is_reported_and_nothing_is_sent(
    authority: Authority, host: str, days: int, trusted: bool, cause: str
) -> None:
    context = authority.trusted if trusted else None
    with LocalWeb(tls=authority.certificate(host, days)) as web, fetching(web, context) as fetcher:
        message = rf"^link\.url: the certificate of news\.test is not to be trusted: .*({cause})"
        with pytest.raises(UnreadableFile, match=message):
            fetcher.fetch_page(f"https://me:s3cret@news.test:{web.port}/x")
        assert fetcher.fetch_part(f"https://news.test:{web.port}/x", 100) is None
        assert web.asked == []


def test_a_server_without_tls_is_a_network_error(authority: Authority) -> None:
    message = r"^link\.url: the connection to news\.test failed: no secure connection"
    with LocalWeb() as web, fetching(web, authority.trusted) as fetcher, pytest.raises(NetworkFailed, match=message):
        fetcher.fetch_page(f"https://news.test:{web.port}/x")


def test_a_handshake_that_never_ends_times_out(authority: Authority) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        guard = Guard(policy_of(f"*.test:{port}"), delay=0, resolve=lambda _host: ["127.0.0.1"])
        fetcher = Fetcher(guard, CrawlLimits(seconds=0.5), "link.url", authority.trusted)
        with fetcher, pytest.raises(TimedOut):
            fetcher.fetch_page(f"https://news.test:{port}/")


def test_the_authorities_of_the_machine_are_read_once_and_names_are_checked() -> None:
    assert load_certificates() is load_certificates()
    assert load_certificates().check_hostname
    assert load_certificates().verify_mode is ssl.CERT_REQUIRED
