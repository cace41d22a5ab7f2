"""How a child gives up network, privileges and outliving its parent, and the limits under which a task runs."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import math
import os
import resource
import signal
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from chyme.model import Limits

PAGE = os.sysconf("SC_PAGE_SIZE")
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
PR_SET_KEEPCAPS = 8
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
CAP_DAC_READ_SEARCH = 2
CAPABILITY_VERSION_3 = 0x20080522
SIOCGIFFLAGS, SIOCSIFFLAGS = 0x8913, 0x8914
IFF_UP = 1
INTERFACE = struct.Struct("16sH22x")  # struct ifreq: a name and its flags
OPEN_FILES = 512
OWN_PORT = 28731  # where a child that goes out talks to its browser, in a private loopback; no known service uses it
PR_SET_SECCOMP, SECCOMP_FILTER = 22, 2
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446  # the same call numbers on every machine
LANDLOCK_ASK_VERSION, LANDLOCK_PORT_RULE = 1, 2
LANDLOCK_WITH_PORTS = 4  # the first version that restricts ports, in Linux 6.7
BIND_AND_CONNECT = 3
RULES = struct.Struct("=QQ")  # for a rule set (access to files, to ports) and for one rule (access, port)
MSG_FASTOPEN = 0x20000000
CALLS = {  # by machine: audit architecture, then sendto, sendmsg and sendmmsg with the index of their flags
    "x86_64": (0xC000003E, ((44, 3), (46, 2), (307, 3))),
    "aarch64": (0xC00000B7, ((206, 3), (211, 2), (269, 3))),
}
IO_URING_SETUP = 425
X32_CALLS = 0x40000000  # x32: from here on, the same calls under other numbers
LOAD, IF_EQUAL, IF_AT_LEAST, IF_SET, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOWED, NOT_PERMITTED = 0x7FFF0000, 0x00050000 | errno.EPERM
STEP = struct.Struct("=HBBI")  # struct sock_filter: operation, steps to skip if true, steps to skip if false, operand
OOM_SCORE_ADJUSTMENT = "500"  # when memory runs out, the kernel should kill a child before chyme


@dataclass(frozen=True, slots=True)
class Isolation:
    """How well children are isolated from the rest of the machine."""

    network_off: bool
    user: str
    how: str


def confine(run_as: tuple[int, int], parent: int, scratch_bytes: int, goes_out: bool = False) -> Isolation:
    """Permanently give up everything a parser does not need. Call before any thread starts.

    A child that goes out starts a browser, which talks to it over a private loopback and may leave orphan processes.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    root = os.geteuid() == 0
    prefer_oom_kill()
    # The order matters: namespaces need the privileges, and a change of user clears the parent-death signal.
    network_off, network = _leave_network(libc, root)
    if goes_out:
        network += _raise_loopback() if network_off else ""
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    user = switch_user(libc, *run_as) if root else drop_capabilities(libc)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if goes_out and network_off:
        network += _restrict_to_own_port(libc)
    die_with_parent(parent)
    os.umask(0o077)  # it writes parts of private files
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    set_resource_limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    set_resource_limit(resource.RLIMIT_FSIZE, scratch_bytes)
    return Isolation(network_off, str(os.geteuid()), f"{network}; {user}")


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when the thread that started it ends. A change of user undoes it."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def _python_folders() -> list[str]:
    folders = {sys.prefix, sys.base_prefix, str(Path(__file__).parent), *sys.path}
    return [folder for folder in folders if Path(folder).is_dir()]


def prefer_oom_kill() -> None:
    try:
        Path("/proc/self/oom_score_adj").write_text(OOM_SCORE_ADJUSTMENT, encoding="ascii")
    except OSError:
        return


def _leave_network(libc: ctypes.CDLL, root: bool) -> tuple[bool, str]:
    uid, gid = os.geteuid(), os.getegid()
    if libc.unshare(CLONE_NEWNET if root else CLONE_NEWUSER | CLONE_NEWNET) != 0:
        reason = os.strerror(ctypes.get_errno())
        return False, f"the network could not be switched off ({reason}); the system forbids new namespaces"
    if not root:
        _map_ids(uid, gid)
    return True, "network off"


def _raise_loopback() -> str:
    """Switch on 127.0.0.1 of the new namespace, where only our processes listen. Returns a remark for the status."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            name, flags = INTERFACE.unpack(fcntl.ioctl(sock, SIOCGIFFLAGS, INTERFACE.pack(b"lo", 0)))
            fcntl.ioctl(sock, SIOCSIFFLAGS, INTERFACE.pack(name, flags | IFF_UP))
    except OSError as error:
        return f", loopback too ({error.strerror}), so that no browser can be used"
    return ""


def _restrict_to_own_port(libc: ctypes.CDLL) -> str:
    """Allow connecting and listening at OWN_PORT only, also for programs we start. Returns a remark for the status.

    A connection that this process receives belongs to the network outside: code that disconnects it could connect it to
    another address.
    """
    reason = _restrict_ports(libc) or forbid_fast_open(libc)
    return f", but connections that were handed over could be turned elsewhere ({reason})" if reason else ""


def _restrict_ports(libc: ctypes.CDLL) -> str:
    """Restrict ports with Landlock. Returns why that failed, or an empty string."""
    if system_call(libc, LANDLOCK_CREATE, None, 0, LANDLOCK_ASK_VERSION) < LANDLOCK_WITH_PORTS:
        return "it takes Linux 6.7 with Landlock to prevent it"
    rules = system_call(libc, LANDLOCK_CREATE, RULES.pack(0, BIND_AND_CONNECT), RULES.size, 0)
    if rules < 0:
        return f"Landlock: {os.strerror(ctypes.get_errno())}"
    try:
        rule = RULES.pack(BIND_AND_CONNECT, OWN_PORT)
        added = system_call(libc, LANDLOCK_ADD, rules, LANDLOCK_PORT_RULE, rule, 0)
        if added < 0 or system_call(libc, LANDLOCK_RESTRICT, rules, 0) < 0:
            return f"Landlock: {os.strerror(ctypes.get_errno())}"
    finally:
        os.close(rules)
    return ""


def forbid_fast_open(libc: ctypes.CDLL) -> str:
    """Forbid connecting by sending, which Landlock does not see. Returns why that failed, or an empty string."""
    machine = os.uname().machine
    if machine not in CALLS or sys.maxsize <= 1 << 32:
        return f"connecting by sending cannot be forbidden on {machine}"
    architecture, calls = CALLS[machine]
    steps = [(LOAD, 0, 0, 4), (IF_EQUAL, 1, 0, architecture), (RETURN, 0, 0, NOT_PERMITTED)]
    steps += [(LOAD, 0, 0, 0), (IF_AT_LEAST, 0, 1, X32_CALLS), (RETURN, 0, 0, NOT_PERMITTED)]
    steps += [(IF_EQUAL, 0, 1, IO_URING_SETUP), (RETURN, 0, 0, NOT_PERMITTED)]  # it makes calls that no filter sees
    for number, flags in calls:
        steps += [(IF_EQUAL, 0, 4, number), (LOAD, 0, 0, 16 + 8 * flags), (IF_SET, 0, 1, MSG_FASTOPEN)]
        steps += [(RETURN, 0, 0, NOT_PERMITTED), (RETURN, 0, 0, ALLOWED)]
    steps.append((RETURN, 0, 0, ALLOWED))
    program = ctypes.create_string_buffer(b"".join(STEP.pack(*step) for step in steps))
    filter_program = struct.pack("HP", len(steps), ctypes.addressof(program))
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_FILTER, filter_program, 0, 0) != 0:
        return f"seccomp: {os.strerror(ctypes.get_errno())}"
    return ""


def system_call(libc: ctypes.CDLL, number: int, *arguments: int | bytes | None) -> int:
    """Make a system call for which the C library has no function."""
    return int(
        libc.syscall(
            *(ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in (number, *arguments))
        )
    )


def reap() -> None:
    """Reap orphan processes that ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _map_ids(uid: int, gid: int) -> None:
    """Keep the same user and group ids inside the new namespace, so that files keep their owners."""
    try:
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1", encoding="ascii")
    except OSError:
        return  # the kernel still checks access with the real ids


def switch_user(libc: ctypes.CDLL, uid: int, gid: int) -> str:
    needed = _python_folders()
    libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0)
    try:
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    except OSError as error:
        _keep_capabilities(libc, 1 << CAP_DAC_READ_SEARCH)
        return f"children stay root without capabilities: becoming user {uid} failed ({error.strerror})"
    if all(os.access(folder, os.R_OK | os.X_OK) for folder in needed):  # the user's access, without capabilities
        _keep_capabilities(libc, 0)
        return f"children run as user {uid}"
    _keep_capabilities(libc, 1 << CAP_DAC_READ_SEARCH)
    return f"children run as user {uid} but may read every file, because Python lives where that user cannot reach it"


def drop_capabilities(libc: ctypes.CDLL) -> str:
    _keep_capabilities(libc, 0)  # a new user namespace grants all of them
    return "children run as the user chyme runs as"


def _keep_capabilities(libc: ctypes.CDLL, bits: int) -> None:
    """Keep only these capabilities (a set of bits below 32)."""
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    data = (ctypes.c_uint32 * 6)(bits, bits, 0, 0, 0, 0)
    if libc.capset(header, data) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def set_resource_limit(limit: int, wanted: int) -> None:
    hard = resource.getrlimit(limit)[1]
    value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(limit, (value, value))


@contextmanager
def apply_limits(limits: Limits) -> Iterator[None]:
    """Limit memory beyond what the child already uses, and CPU time beyond what it already spent."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = math.ceil(used.ru_utime + used.ru_stime + limits.cpu_seconds)
    before = {limit: resource.getrlimit(limit) for limit in (resource.RLIMIT_AS, resource.RLIMIT_CPU)}
    _set_soft_limit(resource.RLIMIT_AS, _used_address_space() + limits.memory_bytes)
    _set_soft_limit(resource.RLIMIT_CPU, cpu)
    try:
        yield
    finally:
        for limit, value in before.items():
            resource.setrlimit(limit, value)


def _set_soft_limit(limit: int, wanted: int) -> None:
    hard = resource.getrlimit(limit)[1]
    resource.setrlimit(limit, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def _used_address_space() -> int:
    with open("/proc/self/statm", "rb", buffering=0) as statm:
        return int(statm.read().split()[0]) * PAGE
