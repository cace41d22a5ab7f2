"""The main program of the template: a process that has imported what children need, and copies itself on demand.

A copy needs neither the start of Python nor the imports, and shares the memory of everything loaded before. It becomes
a child of the process that started the template. The template never sees a file.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import sys
import traceback
from typing import NoReturn

from chyme.core.children import main as child_program
from chyme.core.children.isolation import die_with_parent, prefer_oom_kill
from chyme.core.children.template import CLONE_CALL, MAX_DESCRIPTORS, MAX_MESSAGE
from chyme.core.outbound.socket_messages import receive
from chyme.core.process_memory import release_memory

CLONE_PARENT = 0x8000  # the copy becomes a sibling instead of a child
NO_COPY = -1
MAX_PROBLEM = 8000


def main() -> None:
    """Make a copy for each order until the parent closes the socket. Copies never return from here."""
    line = socket.socket(fileno=int(sys.argv[1]))
    line.set_inheritable(False)
    die_with_parent(int(sys.argv[2]))
    prefer_oom_kill()
    loaded: set[str] = set()
    while True:
        data, descriptors, _ = receive(line, MAX_MESSAGE, MAX_DESCRIPTORS)
        if not data:
            os._exit(0)
        problem = _preload(json.loads(data), loaded)
        threads = len(os.listdir("/proc/self/task"))
        # Threads are not copied, and a library may wait for one of them for ever.
        if not descriptors:
            pid = 0  # it was only told to preload
        elif (pid := copy_process() if threads == 1 else NO_COPY) == 0:
            line.close()
            _become_child(descriptors)
        line.send(json.dumps({"pid": pid, "threads": threads, "problem": problem[-MAX_PROBLEM:]}).encode())
        for descriptor in descriptors:
            os.close(descriptor)


def _preload(order: dict[str, object], loaded: set[str]) -> str:
    """Load what the children of these families share, once. Returns what went wrong: then they load it themselves."""
    key = json.dumps(order, sort_keys=True)
    if key in loaded or not order["preload"]:
        return ""
    loaded.add(key)
    module, _, function = str(order["preload"]).partition(":")
    try:
        getattr(importlib.import_module(module), function)(order["config"], order["families"])
    except Exception:
        return traceback.format_exc()
    finally:
        gc.collect()
        release_memory()
        gc.freeze()  # collecting garbage in a copy would write to these objects, and so unshare their memory
    return ""


def copy_process() -> int:
    """Fork as `os.fork` does, but make our parent the parent of the copy."""
    python, libc = ctypes.pythonapi, ctypes.PyDLL(None)
    python.PyOS_BeforeFork()
    call = (CLONE_CALL or 0, CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    pid = int(libc.syscall(*(ctypes.c_long(argument) for argument in call)))
    if pid:
        python.PyOS_AfterFork_Parent()
    else:
        python.PyOS_AfterFork_Child()
    return pid


def _become_child(descriptors: list[int]) -> NoReturn:
    """Continue as a child: socket, output and further descriptors as they were sent."""
    code = 1
    try:
        os.setsid()
        sock, output, *inherited = descriptors
        for descriptor in (1, 2):
            os.dup2(output, descriptor)
        os.close(output)
        sys.argv = [child_program.__name__, str(sock), *map(str, inherited)]  # as if it had been started by itself
        child_program.run(sock, inherited)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)  # libraries loaded before the copy was made need not be torn down


if __name__ == "__main__":
    main()
