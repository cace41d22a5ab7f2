"""Run a command in a network of its own, where only loopback is: python -m bench.own_network SOCKET PORT COMMAND…

The one who listens at PORT in there is outside: the listening socket is sent to him through SOCKET, an inherited
descriptor. So every packet stays on a loopback, and whoever holds the socket decides what passes.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys

CLONE_NEWNET, CLONE_NEWUSER = 0x40000000, 0x10000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 1


def enter_own_network() -> None:
    """Leave the machine's network for an empty one; OSError if that is not allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def main() -> None:
    channel, port, command = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]), sys.argv[3:]
    try:
        enter_own_network()
        alone = b"1"
    except OSError:
        alone = b"0"  # an ordinary user may not: the port is then one of the machine's own
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen()
        socket.send_fds(channel, [alone], [listener.fileno()])
    channel.close()
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
