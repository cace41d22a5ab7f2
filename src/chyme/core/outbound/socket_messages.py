"""Small messages between the guard and a child, and the descriptors that travel with them."""

from __future__ import annotations

import array
import json
import socket
from collections.abc import Sequence

MOST_BYTES = 4096
KIND = socket.SOCK_SEQPACKET  # whole messages, in order, and one notices when the other side is gone

_write = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def send(sock: socket.socket, message: dict[str, object], fds: Sequence[int] = (), flags: int = 0) -> None:
    """Send the message whole, or OSError."""
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    sock.sendmsg([_write(message).encode()], rights, flags)


def receive(sock: socket.socket, size: int, most: int) -> tuple[bytes, list[int], bool]:
    """What came, the descriptors with it, and whether that is all that was sent.

    Unlike `socket.recv_fds`, which overlooks its flags, it leaves no descriptor to the programs this process starts.
    """
    fds = array.array("i")
    room = socket.CMSG_LEN(most * fds.itemsize)
    data, extras, flags, _ = sock.recvmsg(size, room, socket.MSG_CMSG_CLOEXEC)
    for level, kind, value in extras:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(value[: len(value) - len(value) % fds.itemsize])
    return data, list(fds), not flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC)


def message_of(data: bytes) -> dict[str, object] | None:
    """A JSON object from somebody we do not trust; None for anything else."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
