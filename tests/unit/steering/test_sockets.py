# SPDX-License-Identifier: MIT
"""Messages of the kernel's socket diagnosis, as the daemon of steering reads them.

The tests of tools/sampler compare that program with this codec.
"""

from __future__ import annotations

import socket
import struct

import pytest

from mptcplab.steering import sockets


def _message(family: int, local: str, remote: str, attributes: bytes) -> memoryview:
    addresses = [socket.inet_pton(family, name).ljust(16, b"\0") for name in (local, remote)]
    ports = [struct.pack("!H", port) for port in (5001, 40000)]
    return memoryview(sockets._MESSAGE.pack(family, 1, 0, 0, *ports, *addresses, 0, 0, 0, 0, 0, 0) + attributes)


def _attribute(kind: int, data: bytes) -> bytes:
    padding = b"\0" * (-len(data) % 4)
    return struct.pack("=HH", 4 + len(data), kind) + data + padding


def test_socket_message_is_read() -> None:
    info = bytearray(232)
    struct.pack_into("=I", info, 68, 20_000)
    struct.pack_into("=Q", info, 128, 2**40)
    subflow = _attribute(2, struct.pack("=I", 0xABCD)) + _attribute(9, b"\2") + _attribute(10, b"\1")
    ulp = _attribute(1, b"mptcp\0") + _attribute(3, subflow)
    attributes = _attribute(2, bytes(info)) + _attribute(4, b"cubic\0") + _attribute(19, ulp)
    row = sockets._row(_message(socket.AF_INET, "10.0.1.1", "10.0.2.2", attributes))
    assert (row["local"], row["remote"]) == ("10.0.1.1:5001", "10.0.2.2:40000")
    assert (row["rtt_us"], row["bytes_received"], row["congestion"]) == (20_000, 2**40, "cubic")
    assert (row["protocol"], row["token"]) == ("mptcp", 0xABCD)


@pytest.mark.parametrize(
    ("family", "address", "expected"),
    [
        (socket.AF_INET6, "fd00::1", "[fd00::1]:5001"),
        (socket.AF_INET6, "::ffff:10.0.0.1", "10.0.0.1:5001"),
        (socket.AF_INET, "10.0.0.1", "10.0.0.1:5001"),
    ],
)
def test_addresses(family: int, address: str, expected: str) -> None:
    row = sockets._row(_message(family, address, address, b""))
    assert row["local"] == expected
    assert row["protocol"] == "tcp"


def test_short_tcp_info_of_an_older_kernel() -> None:
    assert "bytes_retrans" not in sockets._tcp_info(memoryview(bytes(200)))
