# SPDX-License-Identifier: MIT
"""The readers of recordings and of results folders, in which the fuzzer's bytes replace one file.

The first byte selects the file. The files of a finished results folder come first, then the output of programs in a
run that is about to become a recording.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.unit.results_folders import make_results

from mptcplab.api import compare
from mptcplab.metrics.rows import run_result
from mptcplab.pages import build_report
from mptcplab.recording.record import Recording, finish
from mptcplab.results import open_results

_SCENARIO = """
title = "Fuzz"
repeats = 2
topology = { preset = "disjoint-paths", paths = 2 }
links.link1 = { rate = "50 Mbit/s", delay = "10 ms" }
links.link2 = { rate = "20 Mbit/s", delay = "30 ms" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "2 s" }
sweep."transport.protocol" = ["mptcp"]
"""
#: Files in the folder of a run before its manifest exists.
_OUTPUTS = ("out/bulk.server.out", "sockets.jsonl", "out/capture.a-b.err")
_PROGRAMS = [
    {"name": "bulk.server", "node": "server", "samples_itself": True, "status": 0},
    {"name": "capture.a-b", "node": "server", "samples_itself": False, "status": 0},
]
_SAMPLE = b'{"time_ns":1,"node":"other","local":"10.0.0.1:5","remote":"10.0.0.2:6","state":1}\n'


class RecordingTarget:
    """A results folder of two runs, the first of which is damaged."""

    name = "recording"

    def __init__(self) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="mptcplab-fuzz-")
        top = Path(self._temporary.name)
        self._whole, self._folder, self._unfinished = top / "whole", top / "results", top / "unfinished"
        make_results(self._whole, _SCENARIO, steps=3)
        shutil.copytree(self._whole, self._folder)
        first = sorted(self._whole.glob("runs/*"))[0]
        files = [*first.rglob("*"), self._whole / "results.json", self._whole / "log.jsonl"]
        self._files = sorted(file.relative_to(self._whole) for file in files if file.is_file())
        self._run = self._folder / first.relative_to(self._whole)

    def seeds(self) -> Iterator[bytes]:
        """Yield every file unchanged."""
        contents = [(self._whole / file).read_bytes() for file in self._files]
        server = next(self._whole.glob("runs/*/out/bulk.server.out")).read_bytes()
        contents += [
            server,
            _SAMPLE,
            b"12 packets captured\n14 packets received by filter\n0 packets dropped by kernel\n",
        ]
        for number, content in enumerate(contents):
            yield bytes([number]) + content

    def read(self, data: bytes) -> None:
        """Read everything that commands and notebooks read."""
        number, content = data[0] % (len(self._files) + len(_OUTPUTS)) if data else 0, data[1:]
        if number >= len(self._files):
            self._finish(_OUTPUTS[number - len(self._files)], content)
            return
        file = self._files[number]
        (self._folder / file).write_bytes(content)
        try:
            self._read_results()
        finally:
            shutil.copyfile(self._whole / file, self._folder / file)

    def _read_results(self) -> None:
        results = open_results(self._folder)
        assert results.runs.height >= results.table.height
        assert results.subflows.width >= 0 <= results.connections.width
        build_report(self._folder)
        assert compare(self._whole, self._folder).tables
        run_result(Recording(self._run))

    def _finish(self, name: str, content: bytes) -> None:
        shutil.rmtree(self._unfinished, ignore_errors=True)
        (self._unfinished / "out").mkdir(parents=True)
        for output in _OUTPUTS:
            (self._unfinished / output).write_bytes(b"")
        (self._unfinished / "out/capture.a-b.out").write_bytes(b"")
        (self._unfinished / name).write_bytes(content)
        finish(self._unfinished, manifest={"programs": json.loads(json.dumps(_PROGRAMS))}, zero_ns=0)
        assert Recording(self._unfinished).subflows.height >= 0
