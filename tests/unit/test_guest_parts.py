# SPDX-License-Identifier: MIT
"""The parts of the guest's program that run anywhere."""

from __future__ import annotations

import ast
import errno
import signal
import socket
import struct
import sys
from pathlib import Path

import pytest

import mptcplab.guest
from mptcplab.guest import algorithms, complaints, init, nodes, sockets, timeline


def test_guest_needs_the_standard_library_only() -> None:
    """It runs with ``python -IS``: without site-packages and modules of the host side."""
    for file in Path(mptcplab.guest.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                top = name.partition(".")[0]
                assert name.startswith("mptcplab.guest") or top in sys.stdlib_module_names, f"{file.name}: {name}"


def test_ends_of_programs() -> None:
    assert timeline._end_of(7) == "ended with status 7"
    assert timeline._end_of(-signal.SIGSEGV) == "was killed by SIGSEGV"


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


def test_schedulers_are_read_by_token() -> None:
    assert algorithms.parse_schedulers("0000000a default\nfffffffe redundant\n\n") == {
        10: "default",
        2**32 - 2: "redundant",
    }


@pytest.mark.parametrize(("text", "count"), [("uncoupled 7\n", 7), ("later 1\nuncoupled 0\n", 0), ("", None)])
def test_uncoupled_subflows_are_read_by_name(text: str, count: int | None) -> None:
    assert algorithms.parse_uncoupled(text) == count


def test_a_name_that_the_kernel_lacks_is_reported_with_those_it_has(tmp_path: Path) -> None:
    available = tmp_path / "available"
    available.write_text("reno cubic\n")
    algorithms._check_names(["cubic"], str(available), "congestion control")
    with pytest.raises(nodes.GuestError, match="no congestion control 'lia': it has cubic, reno"):
        algorithms._check_names(["cubic", "lia"], str(available), "congestion control")
    algorithms._check_names(["lia"], str(tmp_path / "older-kernels-lack-it"), "MPTCP scheduler")


def test_the_kernels_log_is_kept_for_a_complaint_only(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = "6,1,1000000,-;all is well\n SUBSYSTEM=net\n"
    monkeypatch.setattr(complaints, "_text", lambda: b"")
    monkeypatch.setattr(complaints, "_records", lambda: [quiet])
    assert complaints.log_with_complaints() == ""
    monkeypatch.setattr(complaints, "_records", lambda: [quiet, "4,2,2500000,-;WARNING: here\n"])
    with_complaint = "[    1.000000] all is well\n[    2.500000] WARNING: here\n"
    assert complaints.log_with_complaints() == with_complaint
    monkeypatch.setattr(complaints, "_text", lambda: f"<4>{with_complaint}".encode())
    assert complaints.log_with_complaints() == with_complaint
    monkeypatch.setattr(complaints, "_text", lambda: b"all is well")
    monkeypatch.setattr(complaints, "_records", list)
    assert complaints.log_with_complaints() == ""


def test_samples_begin_early_and_continue_at_the_interval() -> None:
    times = timeline._SamplingTimes(1_000_000_000)
    found = [times.due(now * 10_000_000) for now in range(301)]
    assert [due // 10_000_000 for due in found if due is not None] == [1, 2, 4, 8, 16, 32, 64, 100, 200, 300]
    assert timeline._SamplingTimes(None).due(10**18) is None


def test_error_without_a_number_is_not_blamed_on_the_results_folder(capfd: pytest.CaptureFixture[str]) -> None:
    error = OSError("the kernel does not tell the state of queue 1:")
    assert init._unexpected(error)["error"] == "the guest failed, which is a bug of mptcplab"
    full = OSError(errno.ENOSPC, "No space left on device")
    assert init._unexpected(full)["error"] == "the results folder cannot be written: no space left on device"
    capfd.readouterr()
