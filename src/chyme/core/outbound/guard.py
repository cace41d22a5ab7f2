"""The guard: checks and opens every connection to an address that comes from content."""

from __future__ import annotations

import logging
import math
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import zip_longest

from chyme.core.outbound.addresses import Address, NoHost, address_of, host_of
from chyme.core.outbound.policy import HIGHEST_PORT, PORTS, GuardPolicy
from chyme.core.outbound.rate_limits import HostRateLimiter
from chyme.errors import AddressRefused, DigestError, NetworkFailed, TimedOut

MAX_TRIED_ADDRESSES = 6  # addresses of one host
MIN_SECONDS = 1.0  # for one address, while others wait
MAX_LOOKUPS = 16

Resolve = Callable[[str], Sequence[str]]
OpenConnection = Callable[[str, int, float], socket.socket]

log = logging.getLogger(__name__)


def dial(address: str, port: int, seconds: float) -> socket.socket:
    """Connect to exactly this address."""
    ((family, kind, protocol, _, sockaddr), *_) = socket.getaddrinfo(
        address, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
    )
    sock = socket.socket(family, kind, protocol)
    try:
        sock.settimeout(max(0.01, seconds))
        sock.connect(sockaddr)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        sock.close()
        raise
    return sock


def look_up(name: str) -> list[str]:
    """The addresses of a name, in the order in which the system would try them."""
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    addresses = [
        f"{address[0]}%{address[3]}" if len(address) == 4 and address[3] else str(address[0]) for *_, address in found
    ]
    return list(dict.fromkeys(addresses))


class DnsResolver:
    """Limits how many threads wait for the system's look-up, which can hang and cannot be stopped. Callers wait only
    until their time limit."""

    def __init__(self, resolve: Resolve = look_up, at_once: int = MAX_LOOKUPS) -> None:
        self._resolve = resolve
        self._slots = threading.BoundedSemaphore(at_once)

    def resolve(self, name: str, seconds: float) -> Sequence[str]:
        """What the look-up returns or raises; TimeoutError when it takes longer."""
        deadline = time.monotonic() + seconds
        if not self._slots.acquire(timeout=max(0.0, seconds)):
            raise TimeoutError
        answer: Future[Sequence[str]] = Future()

        def ask() -> None:
            try:
                found = self._resolve(name)
            except Exception as error:
                self._slots.release()
                answer.set_exception(error)
            else:
                self._slots.release()
                answer.set_result(found)

        try:
            threading.Thread(target=ask, name="chyme-look-up", daemon=True).start()
        except BaseException:
            self._slots.release()
            raise
        return answer.result(max(0.0, deadline - time.monotonic()))


class Guard:
    """Opens connections for content. `connect` and `hold` may be called from many threads at once."""

    def __init__(
        self,
        policy: GuardPolicy,
        delay: float = 1.0,
        seconds: float = 10.0,
        *,
        resolve: Resolve = look_up,
        open_connection: OpenConnection = dial,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.seconds = seconds  # for look-up and connection together; waiting for a polite turn may take as long before
        self._policy = policy
        self._resolver = DnsResolver(resolve)
        self._open = open_connection
        self._clock = clock
        self._rate_limiter = HostRateLimiter(delay, seconds, clock, sleep)

    def connect(self, host: str, port: int, polite: bool = False) -> socket.socket:
        """Look the host up once, check all its addresses and connect; the connection's timeout is `seconds`.

        Raises AddressRefused, NetworkFailed, TimedOut, or RateLimited for polite connections that come too early.
        """
        target = _parse_host(host, port)
        name = target if isinstance(target, str) else None
        where = _format_target(target, port)
        refused = self._policy.port_refusal_reason(name, port)
        if refused:
            raise _refusal(where, refused, target, port)
        if polite:
            self._rate_limiter.take_turn(str(target))
        deadline = self._clock() + self.seconds
        addresses = [target] if not isinstance(target, str) else self._resolve(target, where)
        for address in addresses:
            refused = self._policy.refusal_reason(name, address, port)
            if refused:
                raise _refusal(where, refused, address, port)
        return self._connect_first(addresses, port, where, deadline)

    def hold(self, host: str, seconds: float) -> None:
        """For this many seconds, polite connections to the host fail and cost no attempt."""
        if math.isfinite(seconds):
            with suppress(NoHost):
                self._rate_limiter.hold(str(host_of(host)), seconds)

    def _resolve(self, name: str, where: str) -> list[Address]:
        try:
            answers = self._resolver.resolve(name, self.seconds)
        except TimeoutError as error:
            raise TimedOut(f"{where}: the name could not be looked up within {self.seconds:g} s") from error
        except (OSError, UnicodeError, RuntimeError) as error:
            raise NetworkFailed(f"{where}: {_describe_lookup_error(error)}") from error
        addresses = [address_of(text) for text in answers]
        if not addresses:
            raise NetworkFailed(f"{where}: the name has no address")
        known = [address for address in addresses if address is not None]
        if len(known) < len(addresses):
            raise AddressRefused(f"{where}: the name leads to something that is no address")
        return known

    def _connect_first(self, addresses: Sequence[Address], port: int, where: str, deadline: float) -> socket.socket:
        """A connection to the first address that answers. All addresses have been checked."""
        candidates = _alternate_versions(addresses)[:MAX_TRIED_ADDRESSES]
        failure: DigestError | None = None
        for number, address in enumerate(candidates):
            left = deadline - self._clock()
            if left <= 0:
                break
            share = left / (len(candidates) - number)
            try:
                sock = self._open(str(address), port, min(left, max(share, MIN_SECONDS)))
            except TimeoutError:
                failure = TimedOut(f"{where}: no answer from {address}")
                continue
            except OSError as error:
                failure = NetworkFailed(f"{where}: {_describe_connect_error(error)} ({address})")
                continue
            return self._check_peer(sock, address, port, where)
        raise failure or TimedOut(f"{where}: no connection within {self.seconds:g} s")

    def _check_peer(self, sock: socket.socket, address: Address, port: int, where: str) -> socket.socket:
        try:
            peer = sock.getpeername()
            same = _comparable(address_of(str(peer[0]))) == _comparable(address) and peer[1] == port
            sock.settimeout(self.seconds)
        except (OSError, IndexError) as error:
            sock.close()
            raise NetworkFailed(f"{where}: the connection ended at once") from error
        if not same:
            sock.close()
            raise AddressRefused(f"{where}: the connection leads elsewhere than to {address}")
        return sock


def _parse_host(host: str, port: int) -> str | Address:
    if not 0 < port <= HIGHEST_PORT:
        raise AddressRefused(f"there is no port {port}")
    try:
        return host_of(host)
    except NoHost as error:
        shown = host.rpartition("@")[2][:60]  # the part before @ may hold a password
        raise AddressRefused(f"{shown!r} is no name of a host and no address") from error


def _format_target(host: str | Address, port: int) -> str:
    return f"[{host}]:{port}" if not isinstance(host, str) and host.version == 6 else f"{host}:{port}"


def _refusal(where: str, cause: str, place: str | Address, port: int) -> AddressRefused:
    entry = str(place) if port in PORTS else _format_target(place, port)
    log.debug("refused a connection to %s: %s", where, cause)
    return AddressRefused(f"{where}: {cause}; chyme goes there only if web_allow says {entry}")


def _comparable(address: Address | None) -> tuple[int, int] | None:
    """The address without its zone, which can be written in several ways; for comparing."""
    return None if address is None else (address.version, int(address))


def _alternate_versions(addresses: Sequence[Address]) -> list[Address]:
    """Both IP versions in turn, beginning with the first address's: one of them may lead nowhere from here."""
    first = [address for address in addresses if address.version == addresses[0].version]
    others = [address for address in addresses if address.version != addresses[0].version]
    return [address for pair in zip_longest(first, others) for address in pair if address is not None]


def _describe_lookup_error(error: Exception) -> str:
    if isinstance(error, socket.gaierror) and error.errno == socket.EAI_NONAME:
        return "there is no host of this name"
    return "the name could not be looked up"


def _describe_connect_error(error: OSError) -> str:
    return os.strerror(error.errno).lower() if error.errno else "no connection"
