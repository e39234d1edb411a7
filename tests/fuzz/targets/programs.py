# SPDX-License-Identifier: MIT
"""The readers of what the programs of workloads print: ``curl``, ``iperf3`` and ``socat``, and why they failed.

The first byte of an input is the number of a workload; then follow the error output of its client, the client's output,
and the error output of its server.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
from tests.unit.manifests import manifest, workload

from mptcplab.metrics.connections import group_failures
from mptcplab.metrics.warnings import failure_warnings
from mptcplab.recording.damage import report_damage
from mptcplab.recording.record import Recording

_S = 10**9
#: Between the three texts.
_NEXT = b"\x1d"
_OUTPUTS = ("client.err", "client.out", "server.err")
#: Workloads, and the exit status of their clients.
_LOADS: tuple[tuple[dict[str, Any], int], ...] = (
    ({"kind": "http", "size": "1 kB", "files": 1, "connections": 1}, 0),
    ({"kind": "http", "size": "1 kB", "files": 4, "connections": 3}, 0),
    ({"kind": "ftp", "size": "1 kB"}, 0),
    ({"kind": "iperf3", "duration": "5 s", "connections": 2, "reverse": False}, 0),
    ({"kind": "iperf3", "size": "1 MB", "connections": 1, "reverse": True}, 0),
    ({"kind": "transfer", "size": "1 kB"}, 0),
    ({"kind": "transfer", "size": "1 kB"}, 1),
)
_SERVED = '{"event":"stream","bytes":1000,"checksum":"a"}\n'
_PART, _NOTHING = (
    _SERVED.replace("1000", "400").replace('"a"', '"b"'),
    _SERVED.replace("1000", "0").replace('"a"', '"c"'),
)
_TIMES = '{"event":"curl","time_connect":%.1f,"time_total":4.0}\n'
_DOWNLOADS = (
    _TIMES % 1 + _SERVED,
    "curl: (7) Failed to connect to 10.0.2.2 port 5001 after 3055 ms: Couldn't connect to server\n"
    + _TIMES % 0
    + _NOTHING,
    "curl: (18) transfer closed with 600 bytes remaining to read\n" + _TIMES % 1 + _PART,
    "curl: (56) Recv failure: Connection timed out\n" + _TIMES % 1 + _NOTHING,
)
_BITS = {"start": 0, "end": 5.0, "seconds": 5.0, "bytes": 700, "bits_per_second": 1120.0}
_REPORT = {
    "start": {"connected": [{"socket": 5}], "test_start": {"num_streams": 1}},
    "intervals": [{"streams": [{"socket": 5, **_BITS}], "sum": _BITS}],
    "end": {"sum_sent": _BITS, "sum_received": _BITS, "streams": [{"sender": _BITS, "receiver": _BITS}]},
}
_IPERF3 = (
    json.dumps(_REPORT),
    json.dumps({**_REPORT, "error": "control socket has closed unexpectedly"}),
    json.dumps({"start": {"connected": []}, "error": "unable to connect to server: Connection refused"}),
)
_SOCAT = (
    "2025/01/01 00:00:17 socat[6] E connect(5, AF=2 10.0.2.2:5001, 16): No route to host\nflow: pattern: Broken pipe\n",
    "2025/01/01 00:00:17 socat[5] E write(5, 0x1a800936000, 65536): Connection timed out\nflow: pattern: Broken pipe\n",
)
#: What the clients of each workload print: their error output, and their output.
_TEXTS: tuple[tuple[tuple[str, str], ...], ...] = (
    tuple((text, "") for text in _DOWNLOADS),
    (("".join(_DOWNLOADS), ""),),
    tuple((text, "") for text in _DOWNLOADS),
    tuple(("", text) for text in _IPERF3),
    tuple(("", text) for text in _IPERF3),
    ((_SERVED, ""),),
    tuple((text, "") for text in _SOCAT),
)
_SOCKET = {
    "time_ns": 4 * _S, "node": "server", "local": "10.0.2.2:5001", "remote": "10.0.1.1:40000", "bytes_received": 700,
}  # fmt: skip


class ProgramsTarget:
    """A recording of one workload, whose programs printed the fuzzer's texts."""

    name = "programs"

    def __init__(self) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="mptcplab-fuzz-")
        self._folders = [Path(self._temporary.name) / str(number) for number in range(len(_LOADS))]
        for folder, (described, status) in zip(self._folders, _LOADS, strict=True):
            (folder / "out").mkdir(parents=True)
            programs = [
                {"name": "new.client", "start_ns": 2 * _S, "end_ns": 12 * _S, "status": status},
                {"name": "new.server", "start_ns": -_S, "end_ns": 13 * _S, "status": 0},
            ]
            (folder / "manifest.json").write_text(json.dumps(manifest({"new": described}, programs=programs)))
            down = {"instant_ns": 3 * _S, "kind": "down", "link": "link1", "direction": "both", "value": ""}
            pl.DataFrame([down]).write_parquet(folder / "events.parquet")
            pl.DataFrame([_SOCKET]).write_parquet(folder / "subflows.parquet")

    def seeds(self) -> Iterator[bytes]:
        """Yield what programs print that succeed, find no connection, or lose it."""
        for number, texts in enumerate(_TEXTS):
            for err, out in texts:
                yield bytes([number]) + _NEXT.join((err.encode(), out.encode(), _SERVED.encode()))

    def read(self, data: bytes) -> None:
        """Read the transfer and its failures, and say what a row would say of them."""
        number = data[0] % len(_LOADS) if data else 0
        folder, (described, _) = self._folders[number], _LOADS[number]
        parts = [*data[1:].split(_NEXT, 2), b"", b"", b""]
        for name, text in zip(_OUTPUTS, parts, strict=False):
            (folder / "out" / f"new.{name}").write_bytes(text)
        recording, load = Recording(folder), workload(described)
        with report_damage("the recording is damaged", hint="run it again"):
            failures = load.failed_connections(recording, "new")
            json.dumps([group.text for group in group_failures(failures.failed)])
            assert all(text.isprintable() for text in failure_warnings(recording, failures))
            load.items(recording, "new")
            assert load.read(recording, "new").goodput_bps >= 0
