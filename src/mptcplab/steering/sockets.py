# SPDX-License-Identifier: MIT
"""Samples every established TCP socket of a node by the kernel's socket diagnosis (the data of ``ss -ti``).

An MPTCP subflow is a TCP socket with an upper-layer protocol, whose token identifies its connection. Layouts:
include/uapi/linux/inet_diag.h, tcp.h (struct tcp_info), mptcp.h (MPTCP_SUBFLOW_ATTR_*).
"""

from __future__ import annotations

import struct
from _socket import AF_INET, AF_INET6, IPPROTO_TCP  # the module `socket` around it takes longer than its use here

from mptcplab.guest.netlink import SOCK_DIAG, Netlink, address_text, attributes, integer, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_SOCK_DIAG_BY_FAMILY = 20
_INFO, _CONG, _ULP_INFO = 2, 4, 19
_ULP_MPTCP = 3
_SUBFLOW = {2: "token", 8: "flags", 9: "id_remote", 10: "id_local"}
#: ESTABLISHED, FIN_WAIT1, FIN_WAIT2, CLOSE_WAIT, LAST_ACK, CLOSING: all states in which data was or can be carried.
_STATES = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11

_REQUEST = struct.Struct("=BBBBI48x")
_MESSAGE = struct.Struct("=BBBB2s2s16s16sI8xIIIII")

#: Offsets of the recorded fields in struct tcp_info. All exist since Linux 5.5.
_TCP_INFO: dict[str, tuple[int, str]] = {
    "rto_us": (8, "I"),
    "snd_mss": (16, "I"),
    "unacked": (24, "I"),
    "lost": (32, "I"),
    "rtt_us": (68, "I"),
    "rttvar_us": (72, "I"),
    "snd_ssthresh": (76, "I"),
    "snd_cwnd": (80, "I"),
    "rcv_space": (96, "I"),
    "total_retrans": (100, "I"),
    "pacing_rate": (104, "Q"),
    "bytes_acked": (120, "Q"),
    "bytes_received": (128, "Q"),
    "segs_out": (136, "I"),
    "segs_in": (140, "I"),
    "notsent_bytes": (144, "I"),
    "min_rtt_us": (148, "I"),
    "delivery_rate": (160, "Q"),
    "busy_time_us": (168, "Q"),
    "rwnd_limited_us": (176, "Q"),
    "sndbuf_limited_us": (184, "Q"),
    "bytes_sent": (200, "Q"),
    "bytes_retrans": (208, "Q"),
}


class SocketSampler:
    """Samples one node. Create it inside the node's namespace, to which its socket then belongs."""

    def __init__(self, node: str) -> None:
        self.node = node
        self._netlink = Netlink(SOCK_DIAG)

    def sample(self, time_ns: int) -> Iterator[dict[str, Any]]:
        """Yield one row per socket, in an order that does not depend on addresses in memory."""
        rows = [row for family in (AF_INET, AF_INET6) for row in self._dump(family)]
        rows.sort(key=lambda row: (row["local"], row["remote"]))
        for row in rows:
            yield {"time_ns": time_ns, "node": self.node, **row}

    def _dump(self, family: int) -> Iterator[dict[str, Any]]:
        extensions = 1 << (_INFO - 1) | 1 << (_CONG - 1)  # the kernel reports MPTCP only with the first
        body = _REQUEST.pack(family, IPPROTO_TCP, extensions, 0, _STATES)
        for _, answer in self._netlink.dump(_SOCK_DIAG_BY_FAMILY, body):
            yield _row(answer)


def _row(message: memoryview) -> dict[str, Any]:
    family, state, _, _, sport, dport, source, target, *_ = _MESSAGE.unpack_from(message)
    row: dict[str, Any] = {
        "local": _address(family, source, sport),
        "remote": _address(family, target, dport),
        "state": state,
        "protocol": "tcp",
    }
    for kind, data in attributes(message[_MESSAGE.size :]):
        if kind == _INFO:
            row |= _tcp_info(data)
        elif kind == _CONG:
            row["congestion"] = text(data)
        elif kind == _ULP_INFO:
            row |= _mptcp(data)
    return row


def _address(family: int, raw: bytes, port: bytes) -> str:
    address = address_text(raw[:4] if family == AF_INET else raw)
    return f"{f'[{address}]' if ':' in address else address}:{int.from_bytes(port, 'big')}"


def _tcp_info(data: memoryview) -> dict[str, int]:
    return {
        name: struct.unpack_from(f"={kind}", data, offset)[0]
        for name, (offset, kind) in _TCP_INFO.items()
        if offset + struct.calcsize(kind) <= len(data)
    }


def _mptcp(data: memoryview) -> dict[str, Any]:
    for kind, inner in attributes(data):
        if kind == _ULP_MPTCP:
            numbers = {key: integer(value) for key, value in attributes(inner)}
            return {"protocol": "mptcp", **{name: numbers[key] for key, name in _SUBFLOW.items() if key in numbers}}
    return {}
