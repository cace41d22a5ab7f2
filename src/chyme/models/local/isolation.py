"""Confine the local model's server: no privileges, no outgoing connections, and no life after its parent's death."""

from __future__ import annotations

import ctypes
import os
import resource
import signal

from chyme.core.children.isolation import (
    LANDLOCK_ADD,
    LANDLOCK_ASK_VERSION,
    LANDLOCK_CREATE,
    LANDLOCK_PORT_RULE,
    LANDLOCK_RESTRICT,
    LANDLOCK_WITH_PORTS,
    OPEN_FILES,
    PR_SET_NO_NEW_PRIVS,
    PR_SET_PDEATHSIG,
    RULES,
    drop_capabilities,
    forbid_fast_open,
    prefer_oom_kill,
    set_resource_limit,
    switch_user,
    system_call,
)

BIND, BIND_AND_CONNECT = 1, 3
ANY_FREE_PORT = 0


def confine(run_as: tuple[int, int], parent: int) -> bool:
    """Give up for good all that answering at a port does not need. Call before any thread starts.

    The server must stay on the network, because its parent asks it there; where Landlock is available, it can only
    listen. Returns whether that restriction applies.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    prefer_oom_kill()
    # Every change of user resets the signal at the parent's death, so that is set afterwards.
    if os.geteuid() == 0:
        switch_user(libc, *run_as)
    else:
        drop_capabilities(libc)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    only_listens = _restrict_to_listening(libc)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    set_resource_limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    set_resource_limit(resource.RLIMIT_FSIZE, 0)
    return only_listens


def _restrict_to_listening(libc: ctypes.CDLL) -> bool:
    """Forbid outgoing connections, if the kernel can. The weights are verified by hash, so this is a second barrier."""
    if system_call(libc, LANDLOCK_CREATE, None, 0, LANDLOCK_ASK_VERSION) < LANDLOCK_WITH_PORTS:
        return False
    rules = system_call(libc, LANDLOCK_CREATE, RULES.pack(0, BIND_AND_CONNECT), RULES.size, 0)
    if rules < 0:
        return False
    try:
        added = system_call(libc, LANDLOCK_ADD, rules, LANDLOCK_PORT_RULE, RULES.pack(BIND, ANY_FREE_PORT), 0)
        if added < 0 or system_call(libc, LANDLOCK_RESTRICT, rules, 0) < 0:
            return False
    finally:
        os.close(rules)
    return not forbid_fast_open(libc)
