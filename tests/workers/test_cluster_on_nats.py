"""Clusters on a real NATS server: who gets in, what each may say and hear, and who is put out."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from nats.aio.msg import Msg
from running_nats import Connected, connect, is_refused, run_nats
from waiting import AMPLE, wait_until

from bench.remote_machines import free_port
from chyme.core import clock
from chyme.workers.cluster import Role
from chyme.workers.cluster_folder import ClusterFolder
from chyme.workers.credentials import Credentials
from chyme.workers.names import is_inbox_of
from chyme.workers.server_process import Reload

# nats-py does not close the connections of its failed attempts; Python says so whenever it finds them.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(autouse=True)
def find_unclosed_connections() -> Iterator[None]:
    """Find them during the test that made them, not during another."""
    yield
    gc.collect()


@dataclass
class Running:
    """A cluster whose server runs."""

    cluster: ClusterFolder
    port: int
    process: int

    async def connect(self, name: str, **options: Any) -> Connected:
        return await connect(self.cluster.credentials_of(name), self.port, **options)

    def log(self) -> str:
        return (self.cluster.folder / "nats.log").read_text()

    def add(self, name: str, *vaults: str, role: Role = Role.WORKER) -> None:
        """Add someone, and wait until the server knows them."""
        self.reload(lambda: self.cluster.add(name, role, vaults or None, 10, clock.now())[1])

    def remove(self, name: str) -> None:
        self.reload(lambda: self.cluster.remove(name)[1])

    def renew(self, name: str) -> None:
        self.reload(lambda: self.cluster.renew(name, 700, clock.now())[1])

    def reload(self, change: Callable[[], Reload]) -> None:
        before = self.log().count("Reloaded server configuration")
        assert change() is Reload.REQUESTED
        wait_until(lambda: self.log().count("Reloaded server configuration") > before)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    port = free_port()
    hosts = ["127.0.0.1", "localhost"]
    cluster = ClusterFolder.create(tmp_path / "my cluster", hosts, port, ["*"], 10, clock.now())
    with run_nats(cluster.folder / "nats.conf", port) as process:
        yield Running(cluster, port, process.pid)


async def soon(event: asyncio.Event) -> None:
    async with asyncio.timeout(AMPLE):
        await event.wait()


async def next_of(heard: asyncio.Queue[Msg]) -> Msg:
    async with asyncio.timeout(AMPLE):
        return await heard.get()


def test_coordinator_and_worker_talk_in_both_directions(running: Running) -> None:
    async def story() -> None:
        coordinator, worker = await running.connect("coordinator"), await running.connect("worker-1", host="localhost")

        async def answer(message: Msg) -> None:
            await message.respond(message.subject.encode())

        await coordinator.client.subscribe("chyme.photos.ask.>", cb=answer)
        await worker.client.subscribe("chyme.photos.give.worker-1.i7", cb=answer)
        hints = await worker.hear("chyme.photos.want")
        await coordinator.settle()
        await coordinator.client.publish("chyme.photos.want", b"work")
        assert (await next_of(hints)).data == b"work"
        asked = await worker.client.request("chyme.photos.ask.c1.worker-1", timeout=AMPLE)
        assert asked.data == b"chyme.photos.ask.c1.worker-1"
        given = await coordinator.client.request("chyme.photos.give.worker-1.i7", timeout=AMPLE)
        assert given.data == b"chyme.photos.give.worker-1.i7"
        assert coordinator.errors == worker.errors == []
        await coordinator.client.close()
        await worker.client.close()

    asyncio.run(story())


def test_the_server_has_no_other_doors_and_takes_a_megabyte(running: Running) -> None:
    async def story() -> None:
        worker = await running.connect("worker-1")
        assert worker.client.max_payload == 1024 * 1024
        await worker.client.close()

    asyncio.run(story())
    assert listening_ports(running.process) == {("127.0.0.1", running.port)}
    assert "JetStream" not in running.log()


def listening_ports(pid: int) -> set[tuple[str, int]]:
    """Where a process listens, by the sockets it has open."""
    own = {os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, address, _, state, *_, inode = line.split()[:10]
            if state == "0A" and f"socket:[{inode}]" in own:
                host, port = address.split(":")
                found.add((socket.inet_ntoa(bytes.fromhex(host)[::-1]) if table == "tcp" else host, int(port, 16)))
    return found


def test_thousands_of_requests_wait_for_their_answers_at_once(running: Running) -> None:
    many = 5000  # more than the 4,096 after which the server forgets old permissions to answer

    async def story() -> None:
        coordinator, worker = await running.connect("coordinator"), await running.connect("worker-1")
        waiting = await coordinator.hear("chyme.v.ask.>")
        requests = [
            asyncio.create_task(worker.client.request("chyme.v.ask.c.worker-1", b"%d" % number, timeout=AMPLE))
            for number in range(many)
        ]
        messages = [await next_of(waiting) for _ in requests]
        for message in messages:
            await message.respond(message.data)
        answers = await asyncio.gather(*requests)
        assert [answer.data for answer in answers] == [b"%d" % number for number in range(many)]
        assert coordinator.errors == []
        await coordinator.client.close()
        await worker.client.close()

    asyncio.run(story())


def test_an_answer_may_be_given_once_and_only_to_a_request(running: Running) -> None:
    async def story() -> None:
        coordinator, worker = await running.connect("coordinator"), await running.connect("worker-1")
        requests = await coordinator.hear("chyme.v.ask.>")
        answers = await worker.hear("chyme.inbox.worker-1.>")
        assert not await coordinator.may_publish("chyme.inbox.worker-1.x")
        await worker.client.publish("chyme.v.ask.c.worker-1", b"", reply="chyme.inbox.worker-1.x")
        await next_of(requests)
        assert await coordinator.may_publish("chyme.inbox.worker-1.x")
        await next_of(answers)
        assert not await coordinator.may_publish("chyme.inbox.worker-1.x")
        await coordinator.client.close()
        await worker.client.close()

    asyncio.run(story())


def test_a_worker_of_one_vault_neither_hears_nor_asks_another(running: Running) -> None:
    running.add("w", "a", "b")

    async def story() -> None:
        coordinator, worker = await running.connect("coordinator"), await running.connect("w")
        asked = await coordinator.hear("chyme.*.ask.>")
        heard = await worker.hear("chyme.a.want")
        for subject in ("chyme.b.want", "chyme.a.give.w.>", "chyme.b.give.w.i1", "chyme.inbox.w.>"):
            assert await worker.may_subscribe(subject), subject
        for subject in ("chyme.c.want", "chyme.*.want", "chyme.c.give.w.>", "chyme.*.give.w.>", "chyme.>", ">", "*.>"):
            assert not await worker.may_subscribe(subject), subject
        assert not await worker.may_publish("chyme.c.ask.c1.w")
        assert await worker.may_publish("chyme.a.ask.c1.w")
        assert (await next_of(asked)).subject == "chyme.a.ask.c1.w"
        await coordinator.client.publish("chyme.c.want")
        await coordinator.client.publish("chyme.a.want")
        assert (await next_of(heard)).subject == "chyme.a.want"
        assert asked.empty() and heard.empty()
        await coordinator.client.close()
        await worker.client.close()

    asyncio.run(story())


@pytest.mark.parametrize("vaults", [["*"], ["a"]])
def test_a_worker_is_only_itself_and_nobody_elses_ear(running: Running, vaults: list[str]) -> None:
    running.add("w", *vaults)

    async def story() -> None:
        worker = await running.connect("w")
        published = {
            subject: await worker.may_publish(subject)
            for subject in (
                *(
                    "chyme.a.ask.c1.worker-1",
                    "chyme.a.ask.c1.w.x",
                    "chyme.a.ask.w",
                    "chyme.a.want",
                    "chyme.a.give.w.i1",
                ),
                *("chyme.inbox.coordinator.x", "chyme.inbox.worker-1.x", "chyme.inbox.w.x", "other"),
                *("$SYS.REQ.SERVER.PING", "$SYS.REQ.USER.INFO", "$JS.API.INFO", "_INBOX.x"),
            )
        }
        assert not any(published.values()), published
        heard = {
            subject: await worker.may_subscribe(subject)
            for subject in (
                *("chyme.a.ask.>", "chyme.a.ask.*.w", "chyme.a.give.worker-1.>", "chyme.a.give.>", "chyme.a.give.*.i1"),
                *("chyme.inbox.>", "chyme.inbox.*.x", "chyme.inbox.worker-1.>", "chyme.inbox.coordinator.x"),
                *("$SYS.>", "_INBOX.>", "$JS.>", ">"),
            )
        }
        assert not any(heard.values()), heard
        await worker.client.close()

    asyncio.run(story())


def test_a_coordinator_has_its_vaults_and_no_other(running: Running) -> None:
    running.add("second", "a", role=Role.COORDINATOR)

    async def story() -> None:
        coordinator = await running.connect("second")
        for subject in ("chyme.a.want", "chyme.a.give.w.i1"):
            assert await coordinator.may_publish(subject), subject
        for subject in ("chyme.a.ask.>", "chyme.inbox.second.>"):
            assert await coordinator.may_subscribe(subject), subject
        for subject in (
            "chyme.b.want",
            "chyme.b.give.w.i1",
            "chyme.a.ask.c.w",
            "chyme.inbox.w.x",
            "$SYS.REQ.SERVER.PING",
        ):
            assert not await coordinator.may_publish(subject), subject
        for subject in (
            "chyme.b.ask.>",
            "chyme.*.ask.>",
            "chyme.a.give.>",
            "chyme.inbox.coordinator.>",
            "chyme.>",
            ">",
        ):
            assert not await coordinator.may_subscribe(subject), subject
        await coordinator.client.close()

    asyncio.run(story())


def test_the_server_does_not_check_where_a_request_wants_its_answer(running: Running) -> None:
    running.add("victim")

    async def story() -> None:
        coordinator, worker = await running.connect("coordinator"), await running.connect("worker-1")
        requests = await coordinator.hear("chyme.v.ask.>")
        assert await worker.may_publish("chyme.v.ask.c.worker-1", reply="chyme.v.give.victim.i1")
        request = await next_of(requests)
        assert not is_inbox_of("worker-1", request.reply)  # so the coordinator must
        await coordinator.client.close()
        await worker.client.close()

    asyncio.run(story())


def test_a_worker_added_while_the_server_runs_gets_in_and_nobody_is_disturbed(running: Running) -> None:
    async def story() -> None:
        first = await running.connect("worker-1")
        await asyncio.to_thread(running.add, "w2")
        second = await running.connect("w2")
        await first.settle()
        assert not first.disconnected.is_set()
        await first.client.close()
        await second.client.close()

    asyncio.run(story())


def test_a_removed_worker_is_disconnected_and_stays_out(running: Running, tmp_path: Path) -> None:
    copy = tmp_path / "copy.pem"
    os.link(running.cluster.credentials_of("worker-1"), copy)

    async def story() -> None:
        coordinator, worker = await running.connect("coordinator"), await running.connect("worker-1")
        await asyncio.to_thread(running.remove, "worker-1")
        await soon(worker.disconnected)
        assert await is_refused(copy, running.port)
        await asyncio.to_thread(running.add, "worker-1")
        assert await is_refused(copy, running.port)
        again = await running.connect("worker-1")
        await coordinator.settle()
        assert not coordinator.disconnected.is_set()
        await again.client.close()
        await coordinator.client.close()
        await worker.client.close()

    asyncio.run(story())


def test_someone_new_under_an_old_name_does_not_let_the_old_connection_live_on(running: Running) -> None:
    async def story() -> None:
        worker = await running.connect("worker-1")
        os.kill(running.process, signal.SIGSTOP)  # so that it reads its configuration once, after both changes
        try:
            running.cluster.remove("worker-1")
            running.cluster.add("worker-1", Role.WORKER, None, 10, clock.now())
        finally:
            os.kill(running.process, signal.SIGCONT)
        await soon(worker.disconnected)
        await worker.client.close()

    asyncio.run(story())


def test_renewing_disturbs_nobody_and_the_new_certificate_connects(running: Running) -> None:
    async def story() -> None:
        worker = await running.connect("worker-1")
        await asyncio.to_thread(running.renew, "worker-1")
        assert worker.credentials.reload_into(worker.context).expires > worker.credentials.expires
        await worker.settle()
        assert not worker.disconnected.is_set()
        again = await running.connect("worker-1")
        await again.client.close()
        await worker.client.close()

    asyncio.run(story())


def test_a_client_connects_again_with_the_file_that_was_reloaded(running: Running) -> None:
    async def story() -> None:
        options = {"allow_reconnect": True, "reconnect_time_wait": 0, "max_reconnect_attempts": -1}
        worker = await running.connect("worker-1", **options)
        await asyncio.to_thread(running.remove, "worker-1")
        await soon(worker.disconnected)
        await asyncio.to_thread(running.add, "worker-1")  # with another id: the server refuses the old certificate
        worker.credentials.reload_into(worker.context)
        await soon(worker.reconnected)
        await worker.settle()
        await worker.client.close()

    asyncio.run(story())


def test_a_certificate_from_another_authority_is_refused_by_both_ends(running: Running, tmp_path: Path) -> None:
    stranger = ClusterFolder.create(tmp_path / "other", ["127.0.0.1"], running.port, ["*"], 10, clock.now())
    assert asyncio.run(is_refused(stranger.credentials_of("worker-1"), running.port))
    assert not asyncio.run(is_refused(running.cluster.credentials_of("worker-1"), running.port))

    # Their key and certificate with our authority: our end is content, the server is not.
    context = Credentials.read(stranger.credentials_of("worker-1")).ssl_context()
    context.load_verify_locations(running.cluster.folder / "ca.pem")
    assert "INFO" not in first_words(context, running.port)


def test_without_a_certificate_the_server_says_nothing(running: Running) -> None:
    context = ssl.create_default_context(cafile=running.cluster.folder / "ca.pem")
    assert "INFO" not in first_words(context, running.port)
    context.load_cert_chain(running.cluster.credentials_of("worker-1"))
    assert "INFO" in first_words(context, running.port)


def test_the_servers_own_certificate_lets_nobody_in(running: Running) -> None:
    folder = running.cluster.folder
    context = ssl.create_default_context(cafile=folder / "ca.pem")
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    assert "INFO" not in first_words(context, running.port)


def test_an_expired_certificate_is_refused_by_the_server(running: Running) -> None:
    past = clock.now() - timedelta(days=20)
    running.reload(lambda: running.cluster.add("late", Role.WORKER, None, 10, past)[1])
    context = ssl.create_default_context(cafile=running.cluster.folder / "ca.pem")
    context.load_cert_chain(running.cluster.credentials_of("late"))
    assert "INFO" not in first_words(context, running.port)


def first_words(context: ssl.SSLContext, port: int) -> str:
    """What the server says after the handshake, before it knows more than the certificate."""
    try:
        with (
            socket.create_connection(("127.0.0.1", port), AMPLE) as bare,
            context.wrap_socket(bare, server_hostname="127.0.0.1") as wrapped,
        ):
            return wrapped.recv(4096).decode()
    except (ssl.SSLError, ConnectionError) as error:
        return str(error)


def test_a_client_without_tls_gets_no_word_of_the_protocol(running: Running) -> None:
    with socket.create_connection(("127.0.0.1", running.port), AMPLE) as bare:
        bare.sendall(b'CONNECT {"verbose":true}\r\nPING\r\n')
        heard = b""
        while piece := receive(bare):
            heard += piece
        assert b"INFO" not in heard and b"PONG" not in heard


def receive(bare: socket.socket) -> bytes:
    try:
        return bare.recv(4096)
    except ConnectionError:
        return b""


def test_clients_say_nothing_to_a_server_that_denies_tls(tmp_path: Path) -> None:
    cluster = ClusterFolder.create(tmp_path / "cluster", ["127.0.0.1"], 4222, ["*"], 10, clock.now())
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def impersonate() -> None:
            with listener.accept()[0] as bare:
                info = {"server_id": "X", "version": "2.15.1", "max_payload": 1048576, "tls_required": False}
                bare.sendall(f"INFO {json.dumps(info)}\r\n".encode())
                heard.append(receive(bare))

        thread = threading.Thread(target=impersonate)
        thread.start()
        assert asyncio.run(is_refused(cluster.credentials_of("worker-1"), port))
        thread.join(AMPLE)
    assert heard[0].startswith(b"\x16\x03")  # the beginning of a TLS handshake


def test_a_worker_cannot_choose_who_it_is_in_the_protocol(running: Running) -> None:
    people = {person.name: person for person in running.cluster.read().people}

    async def story() -> None:
        worker = await running.connect("worker-1", user=people["coordinator"].identity, password="")
        assert not await worker.may_publish("chyme.a.want")
        assert await worker.may_publish("chyme.a.ask.c1.worker-1")
        await worker.client.close()

    asyncio.run(story())


def test_a_renewed_server_certificate_is_used_for_new_connections(running: Running) -> None:
    before = certificate_of(running)
    running.renew("server")
    wait_until(lambda: certificate_of(running) != before)


def certificate_of(running: Running) -> bytes:
    context = Credentials.read(running.cluster.credentials_of("worker-1")).ssl_context()
    with (
        socket.create_connection(("127.0.0.1", running.port), AMPLE) as bare,
        context.wrap_socket(bare, server_hostname="127.0.0.1") as wrapped,
    ):
        return wrapped.getpeercert(binary_form=True) or b""


def test_a_server_started_by_a_relative_path_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = ClusterFolder.create(tmp_path / "cluster", ["127.0.0.1"], free_port(), ["*"], 10, clock.now())
    monkeypatch.chdir(cluster.folder)
    with run_nats(Path("nats.conf"), cluster.read().port):
        monkeypatch.chdir(tmp_path)
        assert cluster.add("w2", Role.WORKER, None, 10, clock.now())[1] is Reload.REQUESTED


def test_the_server_of_another_cluster_gets_no_signal(running: Running, tmp_path: Path) -> None:
    other = ClusterFolder.create(tmp_path / "other", ["127.0.0.1"], 4222, ["*"], 10, clock.now())
    (other.folder / "nats.pid").write_text(str(running.process))
    assert other.add("w2", Role.WORKER, None, 10, clock.now())[1] is Reload.NOT_RUNNING


@pytest.mark.slow
def test_a_client_that_no_longer_answers_is_disconnected(running: Running) -> None:
    context = Credentials.read(running.cluster.credentials_of("worker-1")).ssl_context()
    with (
        socket.create_connection(("127.0.0.1", running.port), AMPLE) as bare,
        context.wrap_socket(bare, server_hostname="127.0.0.1") as wrapped,
    ):
        wrapped.sendall(b'CONNECT {"verbose":false}\r\nPING\r\n')
        heard = b""
        while b"Stale Connection" not in heard:
            piece = wrapped.recv(4096)
            assert piece, heard
            heard += piece
    assert heard.count(b"PING\r\n") == 2
