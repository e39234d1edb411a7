# SPDX-License-Identifier: MIT
"""``mptcplab capture`` on captures that other tools made, and on other files.

captures/README.md says how they were made. Expected bytes and retransmissions are the kernel's own, from TCP_INFO.
"""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.command_output import Output, output_of

#: They start tshark, over and over.
pytestmark = pytest.mark.slow

CAPTURES = Path(__file__).parents[1] / "captures"


class CaptureCommand:
    """``mptcplab capture`` in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *arguments: object) -> Output:
        return output_of(self._monkeypatch, self._capsys, "capture", *arguments)

    def document(self, *files: object) -> dict[str, Any]:
        """Return its JSON, which is all that it prints."""
        output = self(*files, "--json")
        assert (output.status, output.err) == (0, ""), output.err
        document: dict[str, Any] = json.loads(output.out)
        return document


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CaptureCommand:
    return CaptureCommand(monkeypatch, capsys)


def select_keys(connection: dict[str, Any], *keys: str) -> list[tuple[Any, ...]]:
    return [tuple(subflow["directions"][0][key] for key in keys) for subflow in connection["subflows"]]


def kinds(connection: dict[str, Any]) -> list[tuple[str, int, int]]:
    return [(event["kind"], event["subflow"], event["side"]) for event in connection["events"]]


def test_cooked_version_2_with_super_packets(command: CaptureCommand) -> None:
    (connection,) = command.document(CAPTURES / "any-sll2.pcap")["connections"]
    # bytes_sent and bytes_retrans of TCP_INFO at the end of subflow 1; the kernel closed subflow 2 before.
    assert select_keys(connection, "sent_bytes", "retransmitted_bytes")[0] == (1_391_928, 177_600)
    assert connection["data_bytes"] == [1_374_616, 0]
    assert connection["tokens"] == ["85c407f4", "27a9011d"]
    assert sum(payload for (payload,) in select_keys(connection, "payload_bytes")) == 1_374_616 + 218_160 + 11_368
    assert connection["reinjected_bytes"] == [218_160 + 11_368, 0]
    assert [subflow["state"] for subflow in connection["subflows"]] == ["closed", "reset"]
    assert connection["subflows"][1]["backup"] == [False, True]
    assert connection["subflows"][1]["address_ids"] == [1, 1]
    assert all(subflow["has_super_packets"] for subflow in connection["subflows"])
    assert kinds(connection)[-5:] == [
        ("MP_PRIO", 2, 1),
        ("REMOVE_ADDR", 1, 1),
        ("MP_TCPRST", 2, 1),
        ("DATA_FIN", 1, 0),
        ("DATA_FIN", 1, 1),
    ]


def test_pcapng_of_two_interfaces_at_the_receiver(command: CaptureCommand) -> None:
    (connection,) = command.document(CAPTURES / "dumpcap-ipv6.pcapng")["connections"]
    # bytes_received of TCP_INFO on the server.
    assert select_keys(connection, "payload_bytes") == [(151_376,), (83_348,), (165_316,)]
    assert connection["data_bytes"] == [400_040, 0], "a header of 40 bytes, and what was asked for"
    assert connection["subflows"][0]["ends"] == ["[fd00:1::1]:46398", "[fd00:2::1]:5001"]
    assert connection["data_acked"] == [True, True]
    assert not connection["notes"] or "before segmentation" in connection["notes"][0]


def test_both_ends_of_both_paths(command: CaptureCommand) -> None:
    """Nanoseconds, checksums, reinjection. Each byte counts once, however many files it is in."""
    files = [CAPTURES / f"cut-{place}.pcap" for place in ("c1", "c2", "s1", "s2")]
    document = command.document(*files)
    (connection,) = document["connections"]
    assert connection["data_bytes"] == [500_040, 0]
    payload = sum(count for (count,) in select_keys(connection, "payload_bytes"))
    assert payload == 500_040 + connection["reinjected_bytes"][0]
    assert connection["reinjected_bytes"][0] > 50_000, "data in flight when the path was cut"
    # TCP_INFO when the application had finished: 150,552 in 108 on the first. The second went on after that.
    assert select_keys(connection, "retransmitted_bytes", "retransmitted_packets")[0] == (150_552, 108)
    assert select_keys(connection, "retransmitted_bytes")[1][0] >= 78_432
    assert connection["checksum"]
    assert {Path(seen).name for (seen,) in select_keys(connection, "seen_in")} == {"cut-c1.pcap", "cut-c2.pcap"}, (
        "sender"
    )
    one_end = command.document(*files[:2])["connections"][0]
    assert one_end["data_bytes"] == connection["data_bytes"]
    assert select_keys(one_end, "sent_bytes") == select_keys(connection, "sent_bytes")


def test_an_option_that_a_router_removed(command: CaptureCommand) -> None:
    """Cooked version 1 on the client, Ethernet on the server; a subflow of an earlier connection is still there."""
    document = command.document(CAPTURES / "stripped-sll1.pcap", CAPTURES / "stripped-s1.pcap")
    earlier, connection = document["connections"]
    assert earlier["subflows"][0]["began"] == "before"
    assert "the SYN/ACK does not (the SYN has it in" in connection["fallback"]
    assert "stripped-sll1.pcap, not in" in connection["fallback"]
    assert connection["data_bytes"] == [100_040, 0], "100,041 bytes received, says TCP_INFO: one is the FIN"
    alone = command.document(CAPTURES / "stripped-sll1.pcap")["connections"][1]
    assert alone["fallback"] == "the SYN has MP_CAPABLE, but the SYN/ACK does not"


def test_every_packet_twice_in_one_file(command: CaptureCommand) -> None:
    """A router's ``-i any`` sees each packet arrive and leave: it counts once, and not as a retransmission."""
    (connection,) = command.document(CAPTURES / "plain-router-any.pcap")["connections"]
    assert connection["data_bytes"] == [100_040, 0]
    (sent,) = select_keys(connection, "sent_bytes", "retransmitted_bytes")
    assert sent[0] - sent[1] == 100_040
    assert "the SYN/ACK does not" in connection["fallback"]


def test_a_table_for_people(command: CaptureCommand) -> None:
    output = command(CAPTURES / "any-sll2.pcap")
    assert output.status == 0
    for text in ("1 MPTCP connection", "tokens 85c407f4 and 27a9011d", "1,214,328", "75.7%", "MP_PRIO backup"):
        assert text in output.out, text


def test_files_of_out(command: CaptureCommand, tmp_path: Path) -> None:
    """Equal captures give equal bytes, and figures are valid images."""
    outs = [tmp_path / name for name in ("one", "two")]
    for out in outs:
        output = command(CAPTURES / "any-sll2.pcap", "--out", out, "--figure", out / "again.svg")
        assert output.status == 0, output.err
    names = sorted(file.name for file in outs[0].iterdir())
    assert names == [
        "again.svg",
        "capture.json",
        "connection-1.csv",
        "connection-1.md",
        "data-sequence.png",
        "data-sequence.svg",
    ]
    for name in names:
        assert (outs[0] / name).read_bytes() == (outs[1] / name).read_bytes(), name
    assert (outs[0] / "data-sequence.png").read_bytes().startswith(b"\x89PNG")
    svg = (outs[0] / "again.svg").read_text()
    assert "reinjected (229,528 B)" in svg
    assert len(svg) < 1_000_000


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("empty.pcap", b"", "has no packets"),
        ("text.pcap", b"hello\n" * 100, "is not a capture file"),
        ("none.pcap", struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1), "has no packets"),
        ("noise.pcap", bytes(range(256)) * 20, "is not a capture file"),
    ],
)
def test_a_file_that_is_no_capture(
    command: CaptureCommand, tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    output = command(file)
    assert (output.status, output.out) == (2, "")
    assert f"{file}: {sentence}" in output.err
    assert "hint:" in output.err


def test_a_capture_that_is_cut_short(command: CaptureCommand, tmp_path: Path) -> None:
    file = tmp_path / "cut.pcap"
    file.write_bytes((CAPTURES / "cut-c1.pcap").read_bytes()[:-5])
    output = command(file)
    assert (output.status, output.out) == (2, "")
    assert f"{file}: ends in the middle of a packet" in output.err
    assert "editcap" in output.err


def test_a_file_or_connection_that_does_not_exist(command: CaptureCommand, tmp_path: Path) -> None:
    assert "is a directory" in command(tmp_path).err
    (tmp_path / "runs").mkdir()
    assert "captures = [{ node" in command(tmp_path).err
    (tmp_path / "runs" / "a" / "captures").mkdir(parents=True)
    file = tmp_path / "runs" / "a" / "captures" / "client-link1.pcap"
    file.touch()
    assert f"such as {file}" in command(tmp_path).err
    assert "no such file or directory" in command(tmp_path / "none.pcap").err
    assert command(tmp_path / "none.pcap").status == 2
    assert command().status == 2
    assert command(CAPTURES / "any-sll2.pcap", "--figure", tmp_path / "x.pdf").status == 2
    assert command(CAPTURES / "any-sll2.pcap", "--figure", tmp_path / "none" / "x.svg").status == 2
    output = command(CAPTURES / "any-sll2.pcap", "--figure", tmp_path / "x.svg", "--connection", "7")
    assert "there is no MPTCP connection 7" in output.err


def test_without_tshark(command: CaptureCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    output = command(CAPTURES / "any-sll2.pcap")
    assert (output.status, output.out) == (3, "")
    assert "this machine has no 'tshark'" in output.err
    assert "apt-get install tshark" in output.err


def test_names_that_are_no_options_and_no_markup(command: CaptureCommand, tmp_path: Path) -> None:
    """A file's name may look like an option of tshark or like markup of rich."""
    file = tmp_path / "-r [red]a b.pcap"
    shutil.copy(CAPTURES / "plain-router-any.pcap", file)
    output = command(file)
    assert output.status == 0, output.err
    assert "[red]a b.pcap" in output.out


def test_the_reader_of_a_pipe_that_goes_away() -> None:
    """``mptcplab capture ... --json | head -c1`` leaves no tshark running and prints no error."""
    run = [sys.executable, "-m", "mptcplab", "capture", str(CAPTURES / "any-sll2.pcap"), "--json"]
    line = f"{subprocess.list2cmdline(run)} | head -c1"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=60)
    assert done.stdout == "{"
    assert "Traceback" not in done.stderr


def test_errors_that_quote_packets(command: CaptureCommand, tmp_path: Path) -> None:
    """An ICMP error quotes the header of another packet, which does not count as one."""
    text = (CAPTURES / "plain-router-any.pcap").read_bytes()
    size = int.from_bytes(text[32:36], "little")
    packet = text[40 : 40 + size]
    ip = packet[20:]
    icmp = bytes([3, 3, 0, 0, 0, 0, 0, 0]) + ip[:28]
    header = bytes([0x45, 0]) + (20 + len(icmp)).to_bytes(2) + bytes(4) + bytes([64, 1, 0, 0]) + ip[12:20]
    body = packet[:20] + header + icmp
    record = struct.pack("<IIII", *struct.unpack("<II", text[24:32]), len(body), len(body)) + body
    file = tmp_path / "router.pcap"
    file.write_bytes(text)
    before = command.document(file)
    file.write_bytes(text[:24] + record + text[24:])
    assert command.document(file) == before
