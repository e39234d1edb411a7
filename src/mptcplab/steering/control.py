# SPDX-License-Identifier: MIT
"""The daemon's Unix socket: a client gets the daemon's state as one JSON document, if its user may have it. The daemon
reads nothing from clients.

These users may have it: root, the daemon's own user, and users of the configuration. The kernel says which user
connects (SO_PEERCRED).
"""

from __future__ import annotations

import json
import os
import stat
import struct
from contextlib import suppress
from socket import AF_UNIX, SO_PEERCRED, SO_SNDBUF, SOCK_STREAM, SOL_SOCKET, socket

from mptcplab.errors import LabError, reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_CREDENTIALS = struct.Struct("=iII")
_BUFFER_BYTES = 1 << 20
_TIMEOUT_S = 5.0


class ControlSocket:
    """The socket at ``path``. :raises OSError: if it cannot be made there."""

    def __init__(self, path: str, users: Iterable[int]) -> None:
        self._path, self._users = path, {0, os.geteuid(), *users}
        with suppress(FileNotFoundError):
            if stat.S_ISSOCK(os.stat(path).st_mode):
                os.unlink(path)  # left by a daemon that was killed
        self._socket = socket(AF_UNIX, SOCK_STREAM)
        self._socket.bind(path)
        # Every user may connect, and the kernel gives their credentials: a socket's mode could not name several users.
        os.chmod(path, 0o666)
        self._socket.listen(8)
        self._socket.setblocking(False)
        self.fileno = self._socket.fileno

    def answer(self, status: dict[str, Any]) -> None:
        """Send ``status`` to the next client, without waiting for it to read; refuse users that may not have it."""
        with suppress(OSError):
            peer, _ = self._socket.accept()
            with peer:
                peer.setblocking(False)
                raw = peer.getsockopt(SOL_SOCKET, SO_PEERCRED, _CREDENTIALS.size)
                _, user, _ = _CREDENTIALS.unpack(raw)
                if user in self._users:
                    peer.setsockopt(SOL_SOCKET, SO_SNDBUF, _BUFFER_BYTES)
                    peer.send(json.dumps(status).encode())

    def close(self) -> None:
        """Close the socket, and remove it."""
        self._socket.close()
        with suppress(OSError):
            os.unlink(self._path)


def read_status(path: str) -> dict[str, Any]:
    """Return the state of the daemon at ``path``. :raises LabError: if there is none, or it does not answer."""
    hint = "name the `control` of the daemon's configuration, and start the daemon"
    try:
        with socket(AF_UNIX, SOCK_STREAM) as client:
            client.settimeout(_TIMEOUT_S)
            client.connect(path)
            data = b""
            while part := client.recv(1 << 16):
                data += part
    except OSError as error:
        raise LabError(f"no daemon answers at {path}: {reason(error)}", hint=hint) from error
    if not data:
        raise LabError(f"the daemon at {path} refuses this user", hint="use sudo, or add the user to control_users")
    try:
        status: dict[str, Any] = json.loads(data)
    except ValueError as error:
        raise LabError(f"what answers at {path} is not a steering daemon", hint=hint) from error
    return status
