# SPDX-License-Identifier: MIT
"""The loader of scenario files, and the plan, script and estimate of an accepted scenario."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.unit.scenario.bad_cases import CASES

from mptcplab.plan.compile import compile_plan
from mptcplab.plan.estimate import estimate_seconds
from mptcplab.plan.script import script
from mptcplab.scenario.load import load

_ROOT = Path(__file__).resolve().parents[3]
#: Separates the file from the settings of the command line, one key per line.
_SETTINGS = b"\0"


class ScenarioTarget:
    """A scenario file, then after a zero byte values of ``--set``."""

    name = "scenario"

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="mptcplab-fuzz-")
        self._file = Path(self._folder.name) / "fuzz.toml"

    def seeds(self) -> Iterator[bytes]:
        """Yield our examples, and the invalid scenarios of the tests."""
        for file in _ROOT.glob("examples/*.toml"):
            yield file.read_bytes()
        for text in CASES.values():
            yield text.encode()
        example = (_ROOT / "examples/two-paths.toml").read_bytes()
        yield example + _SETTINGS + b"links.link1.rate=5 Mbit/s\ntransport.protocol=tcp"
        yield example + _SETTINGS + b'transport.tcp_rmem=["4 KiB", "1 MiB", "2 MiB"]\nseed=4'

    def read(self, data: bytes) -> None:
        """Load the scenario, and make plan, script and estimate of its first point."""
        text, _, settings = data.partition(_SETTINGS)
        self._file.write_bytes(text)
        overrides = [line for line in settings.decode(errors="replace").split("\n") if line]
        experiment = load(self._file, overrides=overrides)
        scenario = experiment.points[0].scenario
        script(compile_plan(scenario, seed=experiment.seed), title=experiment.title)
        estimate_seconds(scenario)
