"""Small messages between the guard and a child, and the descriptors that travel with them."""

from __future__ import annotations

import array
import json
import socket
from collections.abc import Sequence

MAX_BYTES = 4096
KIND = socket.SOCK_SEQPACKET  # complete messages, in order; a closed other end is noticed

_encode_json = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def send(sock: socket.socket, message: dict[str, object], fds: Sequence[int] = (), flags: int = 0) -> None:
    """Send the whole message, or raise OSError."""
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    sock.sendmsg([_encode_json(message).encode()], rights, flags)


def receive(sock: socket.socket, size: int, max_fds: int) -> tuple[bytes, list[int], bool]:
    """The received data, its descriptors, and whether nothing was cut off.

    Unlike `socket.recv_fds`, which ignores its flags, it sets close-on-exec, so that programs this process starts
    inherit no descriptor.
    """
    fds = array.array("i")
    ancillary_size = socket.CMSG_LEN(max_fds * fds.itemsize)
    data, extras, flags, _ = sock.recvmsg(size, ancillary_size, socket.MSG_CMSG_CLOEXEC)
    for level, kind, value in extras:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(value[: len(value) - len(value) % fds.itemsize])
    return data, list(fds), not flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC)


def message_of(data: bytes) -> dict[str, object] | None:
    """Parse a JSON object from an untrusted sender; None for anything else."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
