"""The guard decides, looks up a name once, and connects to the address it checked."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Sequence

import pytest
from waiting import AMPLE

from chyme.core.outbound.guard import DnsResolver, Guard
from chyme.core.outbound.policy import policy_of
from chyme.core.outbound.rate_limits import MAX_HOSTS
from chyme.errors import AddressRefused, NetworkFailed, RateLimited, TimedOut, UsageError


class World:
    """A resolver and a connector that only record their calls, and a clock that only the test moves."""

    def __init__(self, *answers: Sequence[str] | Exception) -> None:
        self.answers = list(answers)
        self.looked_up: list[str] = []
        self.connected: list[tuple[str, int]] = []
        self.waited: list[float] = []
        self.now = 1000.0

    def resolve(self, name: str) -> Sequence[str]:
        self.looked_up.append(name)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def open_connection(self, address: str, port: int, seconds: float) -> socket.socket:
        assert 0 < seconds <= 10
        self.connected.append((address, port))
        raise ConnectionRefusedError(111, "refused, as always here")

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.now += seconds

    def guard(self, allow: str = "", delay: float = 1.0) -> Guard:
        return Guard(
            policy_of(allow),
            delay,
            resolve=self.resolve,
            open_connection=self.open_connection,
            clock=self.clock,
            sleep=self.sleep,
        )

    def tries(self, host: str, port: int = 80, allow: str = "") -> list[tuple[str, int]]:
        """Return the addresses that the guard tried to connect to: none if it refused."""
        try:
            self.guard(allow).connect(host, port)
        except AddressRefused:
            assert self.connected == []
        except NetworkFailed:
            assert self.connected
        return self.connected


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        yield sock


def port_of(listener: socket.socket) -> int:
    port: int = listener.getsockname()[1]
    return port


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.0.0.2", "10.0.0.7", "172.16.3.4", "192.168.1.1", "169.254.1.1", "169.254.169.254"),
        *("100.100.100.200", "0.0.0.0", "100.64.0.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
        *("168.63.129.16", "192.0.0.192", "::1", "::", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1"),
        *("64:ff9b::10.0.0.7", "64:ff9b:1::1", "2002:7f00:1::", "2001:0:7f00::", "fc00::1", "fd00:ec2::254"),
        *("fe80::1", "fe80::1%2", "fec0::1", "ff02::1", "2001:db8::1"),
    ],
)
def test_special_addresses_are_never_connected_to(address: str) -> None:
    assert World([address]).tries("innocent.example") == []
    assert World([address]).tries("innocent.example", 443) == []
    if "%" not in address:
        literal = World()
        assert literal.tries(f"[{address}]" if ":" in address else address) == []
        assert literal.looked_up == []


@pytest.mark.parametrize(
    "host", ["2130706433", "0177.0.0.1", "0x7f.1", "127.1", "127.0.0.1.", "[::FFFF:7F00:1]", "0xa9fea9fe", "①②⑦.1"]
)
def test_an_address_in_disguise_is_refused_without_a_look_up(host: str) -> None:
    world = World()

    assert world.tries(host) == []
    assert world.looked_up == []


@pytest.mark.parametrize(
    "host", ["", "a b", "a\0b", "%31.0.0.1", "user:secret@host", "fe80::1%eth0", "256.1.1.1", "x" * 999]
)
def test_an_invalid_host_is_refused_without_a_look_up(host: str) -> None:
    world = World()

    with pytest.raises(AddressRefused) as refused:
        world.guard().connect(host, 80)

    assert (world.looked_up, world.connected) == ([], [])
    assert "secret" not in str(refused.value)
    assert len(str(refused.value)) < 150


def test_a_public_address_is_connected_to() -> None:
    assert World(["93.184.216.34"]).tries("example.com", 443) == [("93.184.216.34", 443)]
    assert World().tries("8.8.8.8") == [("8.8.8.8", 80)]
    assert World().tries("[::ffff:8.8.8.8]") == [("8.8.8.8", 80)]
    assert World(["64:ff9b::808:808"]).tries("example.com") == [("64:ff9b::808:808", 80)]


def test_a_name_is_normalised_before_the_look_up() -> None:
    world = World(["93.184.216.34"])

    world.tries("BÜCHER.Example.")

    assert world.looked_up == ["xn--bcher-kva.example"]


def test_a_single_private_address_among_public_addresses_refuses_the_host() -> None:
    assert World(["93.184.216.34", "10.0.0.7"]).tries("mixed.example") == []
    assert World(["2606:4700::1111", "93.184.216.34", "::1"]).tries("mixed.example") == []


def test_an_answer_that_changes_is_looked_up_once_and_what_was_checked_is_connected_to() -> None:
    world = World(["93.184.216.34"], ["127.0.0.1"])

    assert world.tries("rebinding.example") == [("93.184.216.34", 80)]
    assert world.looked_up == ["rebinding.example"]


def test_an_answer_that_has_changed_is_refused_at_the_next_connection() -> None:
    world = World(["93.184.216.34"], ["127.0.0.1"])
    guard = world.guard()

    with pytest.raises(NetworkFailed):
        guard.connect("rebinding.example", 80)
    with pytest.raises(AddressRefused, match=r"127\.0\.0\.1 is a loopback address"):
        guard.connect("rebinding.example", 80)

    assert world.connected == [("93.184.216.34", 80)]


def test_a_connection_that_leads_elsewhere_is_not_handed_out(listener: socket.socket) -> None:
    port = port_of(listener)
    opened = []

    def lost(address: str, port: int, seconds: float) -> socket.socket:
        opened.append(socket.create_connection(("127.0.0.1", port)))
        return opened[-1]

    guard = Guard(policy_of(f"127.0.0.3:{port}, 127.0.0.1:{port}"), open_connection=lost)

    with pytest.raises(AddressRefused, match=r"leads elsewhere than to 127\.0\.0\.3"):
        guard.connect("127.0.0.3", port)
    assert opened[0].fileno() == -1
    guard.connect("127.0.0.1", port).close()


def test_an_allowed_server_is_talked_to(listener: socket.socket) -> None:
    guard = Guard(policy_of(f"127.0.0.1:{port_of(listener)}"), seconds=7)

    with guard.connect("127.0.0.1", port_of(listener)) as ours:
        theirs, _ = listener.accept()
        with theirs:
            ours.sendall(b"hello")
            assert theirs.recv(10) == b"hello"
            assert ours.gettimeout() == 7


def test_names_are_looked_up_by_the_system(listener: socket.socket) -> None:
    port = port_of(listener)

    with pytest.raises(AddressRefused, match="is a loopback address"):
        Guard(policy_of("")).connect("localhost", 80)
    Guard(policy_of(f"localhost:{port}")).connect("localhost", port).close()


def test_ports_other_than_the_usual_are_refused_before_the_look_up() -> None:
    for port in (22, 25, 6379, 8080, 65535):
        world = World()
        assert world.tries("example.com", port) == []
        assert world.looked_up == []
    for port in (0, -1, 65536):
        assert World().tries("example.com", port) == []


@pytest.mark.parametrize(
    ("allow", "host", "answers", "port", "reached"),
    [
        ("10.0.0.7", "wiki.lan", ["10.0.0.7"], 80, True),
        ("10.0.0.7", "wiki.lan", ["10.0.0.7"], 443, True),
        ("10.0.0.7", "wiki.lan", ["10.0.0.7"], 8080, False),
        ("10.0.0.7", "wiki.lan", ["10.0.0.8"], 80, False),
        ("10.0.0.7", "wiki.lan", ["10.0.0.7", "10.0.0.8"], 80, False),
        ("10.0.0.7:8080", "wiki.lan", ["10.0.0.7"], 8080, True),
        ("10.0.0.7:8080", "wiki.lan", ["10.0.0.7"], 80, False),
        ("10.0.0.7:8080", "wiki.lan", ["93.184.216.34"], 8080, False),
        ("10.0.0.7:8080", "wiki.lan", ["93.184.216.34"], 80, True),
        ("10.1.0.0/16", "wiki.lan", ["10.1.255.255"], 80, True),
        ("10.1.0.0/16", "wiki.lan", ["10.2.0.0"], 80, False),
        ("10.1.0.0/16:81", "wiki.lan", ["10.1.0.1"], 81, True),
        ("10.1.0.0/16:81", "wiki.lan", ["10.1.0.1"], 80, False),
        ("wiki.lan", "wiki.lan", ["10.0.0.7", "fd00::7"], 80, True),
        ("wiki.lan", "WIKI.lan.", ["10.0.0.7"], 80, True),
        ("Wiki.LAN.", "wiki.lan", ["10.0.0.7"], 80, True),
        ("wiki.lan", "evil.example", ["10.0.0.7"], 80, False),
        ("wiki.lan", "wiki.lan.evil.example", ["10.0.0.7"], 80, False),
        ("wiki.lan", "xwiki.lan", ["10.0.0.7"], 80, False),
        ("wiki.lan", "a.wiki.lan", ["10.0.0.7"], 80, False),
        ("wiki.lan:8080", "wiki.lan", ["10.0.0.7"], 8080, True),
        ("wiki.lan:8080", "wiki.lan", ["10.0.0.7"], 80, False),
        ("news.example:8080", "news.example", ["93.184.216.34"], 8080, True),
        ("*.lan", "wiki.lan", ["10.0.0.7"], 80, True),
        ("*.lan", "a.b.lan", ["10.0.0.7"], 80, True),
        ("*.lan", "lan", ["10.0.0.7"], 80, False),
        ("*.lan", "evillan", ["10.0.0.7"], 80, False),
        ("*.lan:81", "wiki.lan", ["10.0.0.7"], 81, True),
        ("bücher.lan", "xn--bcher-kva.lan", ["10.0.0.7"], 80, True),
        ("::1", "wiki.lan", ["::1"], 80, True),
        ("[::1]", "wiki.lan", ["::1"], 443, True),
        ("[::1]:81", "wiki.lan", ["::1"], 81, True),
        ("fd00::/8", "wiki.lan", ["fd12::1"], 80, True),
        ("[fd00::/8]:81", "wiki.lan", ["fd12::1"], 81, True),
        ("fe80::/10", "wiki.lan", ["fe80::1%2"], 80, True),
        ("127.0.0.1", "wiki.lan", ["::ffff:127.0.0.1"], 80, True),
        ("::ffff:127.0.0.1", "wiki.lan", ["127.0.0.1"], 80, True),
        ("127.0.0.1", "wiki.lan", ["::1"], 80, False),
        ("127.0.0.1", "wiki.lan", ["64:ff9b::7f00:1"], 80, False),
        ("127.0.0.1:81, wiki.lan  10.0.0.0/8", "wiki.lan", ["127.0.0.1"], 81, True),
        ("127.0.0.1:81\n10.0.0.0/8", "x.lan", ["10.9.9.9"], 80, True),
    ],
)
def test_only_what_an_entry_names_is_allowed(
    allow: str, host: str, answers: list[str], port: int, reached: bool
) -> None:
    assert bool(World(answers).tries(host, port, allow)) is reached


@pytest.mark.parametrize(
    "entry",
    [
        *(
            "*",
            "*.",
            "*.*",
            "http://wiki.lan",
            "wiki.lan/page",
            "10.1.2.3/16",
            "10.0.0.0/33",
            "wiki.lan:0",
            "wiki.lan:",
        ),
        *(
            "wiki.lan:65536",
            "wiki.lan:http",
            "wiki.lan:８０",
            "fe80::1%eth0",
            "1.2.3.4.5",
            "*.10.0.0.1",
            ":80",
            "a_b/8",
        ),
        *("::ffff:10.0.0.0/104", "::/0", "[::1", "user@wiki.lan", "wiki..lan"),
    ],
)
def test_an_entry_that_makes_no_sense_is_named(entry: str) -> None:
    with pytest.raises(UsageError) as wrong:
        policy_of(f"10.0.0.7, {entry}")

    assert str(wrong.value).startswith(f"web_allow: {entry!r} makes no sense")


def test_nothing_is_allowed_by_default() -> None:
    assert policy_of("").allow == policy_of(" , ").allow == ()


def test_a_refusal_says_why_and_what_would_help() -> None:
    with pytest.raises(AddressRefused) as refused:
        World(["10.0.0.7"]).guard().connect("wiki.lan", 80)
    assert str(refused.value) == (
        "wiki.lan:80: 10.0.0.7 is a private address; chyme goes there only if web_allow says 10.0.0.7"
    )

    with pytest.raises(AddressRefused, match=r"port 8080 is not one of 80, 443; .* web_allow says wiki.lan:8080$"):
        World().guard().connect("wiki.lan", 8080)
    with pytest.raises(AddressRefused, match=r"^\[::1\]:81: ::1 is a loopback .* web_allow says \[::1\]:81$"):
        World().guard("[::2]:81").connect("::1", 81)


def test_names_that_do_not_exist_are_network_failures() -> None:
    unknown = World(socket.gaierror(socket.EAI_NONAME, "x"), socket.gaierror(socket.EAI_AGAIN, "x"), [])
    guard = unknown.guard()

    with pytest.raises(NetworkFailed, match=r"^gone.example:80: there is no host of this name$"):
        guard.connect("gone.example", 80)
    with pytest.raises(NetworkFailed, match="could not be looked up"):
        guard.connect("gone.example", 80)
    with pytest.raises(NetworkFailed, match="has no address"):
        guard.connect("gone.example", 80)


def test_an_answer_that_is_no_address_is_refused() -> None:
    assert World(["93.184.216.34", "127.0.0.1 "]).tries("odd.example") == []


def test_a_look_up_that_never_ends_is_given_up() -> None:
    hanging = threading.Event()
    guard = Guard(policy_of(""), seconds=0.05, resolve=lambda _: ["8.8.8.8"] * hanging.wait(AMPLE))

    with pytest.raises(TimedOut, match="could not be looked up within"):
        guard.connect("slow.example", 80)
    hanging.set()


def test_look_ups_that_hang_are_few() -> None:
    hanging, begun = threading.Event(), []

    def hang(name: str) -> list[str]:
        begun.append(name)
        hanging.wait(AMPLE)
        return [name]

    look_ups = DnsResolver(hang, at_once=2)
    for name in ("a", "b", "c", "d"):
        with pytest.raises(TimeoutError):
            look_ups.resolve(name, 0.03)
    assert begun == ["a", "b"]

    hanging.set()
    assert look_ups.resolve("e", 5) == ["e"]


def test_a_connection_that_is_refused_or_silent_says_so(listener: socket.socket) -> None:
    port = port_of(listener)
    listener.close()
    with pytest.raises(NetworkFailed, match=rf"^127.0.0.1:{port}: connection refused \(127.0.0.1\)$"):
        Guard(policy_of(f"127.0.0.1:{port}")).connect("127.0.0.1", port)

    def silent(address: str, port: int, seconds: float) -> socket.socket:
        raise TimeoutError

    with pytest.raises(TimedOut, match=r"^8.8.8.8:80: no answer from 8.8.8.8$"):
        Guard(policy_of(""), open_connection=silent).connect("8.8.8.8", 80)


def test_the_next_address_is_tried_and_both_kinds_have_their_turn() -> None:
    six = [f"2606:4700::{n}" for n in range(1, 9)]
    world = World([*six, "93.184.216.34", "93.184.216.35"])

    tried = [address for address, _ in world.tries("many.example")]

    assert tried == [six[0], "93.184.216.34", six[1], "93.184.216.35", six[2], six[3]]


def test_a_second_address_answers_where_the_first_does_not(listener: socket.socket) -> None:
    port = port_of(listener)
    guard = Guard(policy_of(f"two.example:{port}"), resolve=lambda _: ["127.0.0.9", "127.0.0.1"])

    with guard.connect("two.example", port) as sock:
        assert sock.getpeername()[0] == "127.0.0.1"


def test_addresses_that_are_silent_share_the_time() -> None:
    world, given = World(["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"]), []

    def silent(address: str, port: int, seconds: float) -> socket.socket:
        given.append(seconds)
        world.now += seconds
        raise TimeoutError

    guard = Guard(policy_of(""), resolve=world.resolve, open_connection=silent, clock=world.clock)
    with pytest.raises(TimedOut):
        guard.connect("silent.example", 80)

    assert given == [2.5] * 4


def connect_politely(world: World, guard: Guard, host: str) -> float:
    """Make a polite connection and return the time at which it was made."""
    world.answers.append(["93.184.216.34"])
    with pytest.raises(NetworkFailed):
        guard.connect(host, 80, polite=True)
    return world.now


def test_polite_connections_to_one_host_are_a_while_apart() -> None:
    world = World()
    guard = world.guard(delay=2)

    assert [connect_politely(world, guard, "a.example") for _ in range(3)] == [1000, 1002, 1004]
    assert connect_politely(world, guard, "b.example") == 1004
    assert connect_politely(world, guard, "A.example.") == 1006
    world.now += 10
    assert connect_politely(world, guard, "a.example") == 1016
    assert world.waited == [2, 2, 2]


def test_other_connections_do_not_wait() -> None:
    world = World(["93.184.216.34"])
    guard = world.guard(delay=5)
    connect_politely(world, guard, "a.example")
    guard.hold("a.example", 100)

    with pytest.raises(NetworkFailed):
        guard.connect("a.example", 80)
    assert world.waited == []


def test_a_long_queue_costs_no_attempt() -> None:
    world = World()
    waiting: list[float] = []
    guard = Guard(
        policy_of(""), 4, resolve=lambda _: ["8.8.8.8"], open_connection=world.open_connection, clock=world.clock,
        sleep=waiting.append,
    )  # fmt: skip
    for _ in range(3):
        connect_politely(world, guard, "8.8.8.8")

    with pytest.raises(RateLimited) as full:
        guard.connect("8.8.8.8", 80, polite=True)

    assert waiting == [4, 8]
    assert full.value.retry_after == 12
    assert full.value.tried is False
    assert len(world.connected) == 3


def test_two_hundred_pages_of_one_host_all_get_their_turn() -> None:
    world = World()
    guard = world.guard(delay=1)

    for number in range(200):
        assert connect_politely(world, guard, "news.example") == 1000 + number


def test_a_host_on_hold_is_left_alone_at_no_cost() -> None:
    world = World()
    guard = world.guard()
    guard.hold("A.example.", 30)
    world.now += 10

    with pytest.raises(RateLimited) as limited:
        guard.connect("a.example", 80, polite=True)
    assert limited.value.retry_after == 20
    assert limited.value.tried is False
    assert world.looked_up == []
    connect_politely(world, guard, "b.example")

    guard.hold("a.example", 5)  # a shorter pause does not replace a longer pause
    world.now += 19
    with pytest.raises(RateLimited):
        guard.connect("a.example", 80, polite=True)
    world.now += 1
    connect_politely(world, guard, "a.example")


def test_a_requested_pause_lasts_a_day_at_most() -> None:
    world = World()
    guard = world.guard()
    guard.hold("a.example", 1e12)
    guard.hold("b.example", float("nan"))
    guard.hold("b.example", float("inf"))
    guard.hold("b.example", -5)
    guard.hold("no host", 5)

    connect_politely(world, guard, "b.example")
    with pytest.raises(RateLimited) as limited:
        guard.connect("a.example", 80, polite=True)
    assert limited.value.retry_after == 86400


def test_only_so_many_hosts_are_remembered() -> None:
    world = World()
    guard = world.guard()
    guard.hold("short.example", 1)
    guard.hold("late.example", 500)
    for number in range(MAX_HOSTS):
        guard.hold(f"h{number}.example", 1000)

    for host in ("short.example", "late.example"):  # they end first, so they are forgotten first
        connect_politely(world, guard, host)
    with pytest.raises(RateLimited):
        guard.connect("h0.example", 80, polite=True)
    with pytest.raises(RateLimited):
        guard.connect(f"h{MAX_HOSTS - 1}.example", 80, polite=True)


def test_a_refusal_does_not_delay_the_next_connection() -> None:
    world = World()
    guard = world.guard(delay=5)

    with pytest.raises(AddressRefused):
        guard.connect("a.example", 22, polite=True)

    assert connect_politely(world, guard, "a.example") == 1000


def test_many_threads_keep_the_pace(listener: socket.socket) -> None:
    port = port_of(listener)
    guard = Guard(policy_of(f"127.0.0.1:{port}"), delay=0.03)
    moments: list[float] = []

    def visit() -> None:
        guard.connect("127.0.0.1", port, polite=True).close()
        moments.append(time.monotonic())

    threads = [threading.Thread(target=visit) for _ in range(8)]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(moments) == 8
    assert max(moments) - begun >= 7 * 0.03
