# SPDX-License-Identifier: MIT
"""The lab on a processor with protection keys: there, programs run in the lab kernel's process without being asked to.

A test boots an emulated machine, which takes a few minutes. Without QEMU or the stock kernel, all are skipped.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pku.machine import REPOSITORY, Machine
from tests.setups.differences import compare

from mptcplab.engine.stock.machine import qemu
from mptcplab.engine.virtual.machine import INPROC
from mptcplab.errors import LabError, MissingError
from mptcplab.kernel.stock import find_stock

#: Where the machine writes results: the folder `shared` of its files here.
RESULTS = "/run/pku"
#: An interpreted CPU takes twenty times as long as this one, and may share it with other work.
_SECONDS = 3600.0
_CLI = (sys.executable, "-m", "mptcplab")
#: Short, with a program that is not ours (`socat`).
_EXAMPLE = (
    *("run", "examples/transfer.toml"),
    *("--set", "workloads.bulk.size=500 kB", "--set", "transport.protocol=mptcp"),
)

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs a line of shell in the machine, expects success, and returns what the line prints."""
    try:
        qemu()
        kernel = find_stock()
    except MissingError as error:
        pytest.skip(f"{error.message}; {error.hint}")

    def call(line: str) -> str:
        try:
            result = Machine(kernel, tmp_path / "machine").run(("sh", "-ec", line), _SECONDS)
        except LabError as error:
            pytest.fail(f"{error.message}; {error.hint}", pytrace=False)
        print(result.output)
        assert result.status == 0, result.output
        return result.output

    return call


def _words(*words: str) -> str:
    return " ".join(f"'{word}'" for word in words)


def test_programs_run_in_the_kernels_process_by_themselves(run: Run) -> None:
    """The processor has the keys, `doctor` says what follows from it, and programs do move."""
    doctor = f"{_words(*_CLI)} doctor || true"
    lab = _words(*_CLI, "exec", "--no-stdin", "--", "sysctl", "-n", "kernel.um_inproc_moves")
    text = run(f"grep -c -w ospke /proc/cpuinfo; {doctor}; echo moves; {lab}")
    assert text.splitlines()[0] == "1"
    assert "guarded by protection keys" in text
    assert int(text.rpartition("moves\n")[2]) > 0


def test_a_recording_is_the_same_as_without(run: Run, tmp_path: Path) -> None:
    words = [*_CLI, *_EXAMPLE, "--out"]
    here = tmp_path / "here"
    subprocess.run([*words, str(here)], cwd=REPOSITORY, env={**os.environ, INPROC: "off"}, check=True)
    # Not there at once: the lab's sockets cannot be in a shared folder.
    run(f"{_words(*words, '/tmp/out')}; cp -r /tmp/out {RESULTS}/out")
    difference = compare(here, tmp_path / "machine/shared/out")
    print(difference)
    assert difference.compared > 0
    assert not difference.files, difference.files


@pytest.mark.parametrize("test", ["machine/test_user_code.py::test_wild_accesses", "machine/test_random_calls.py"])
def test_wild_programs_reach_nothing(run: Run, test: str) -> None:
    """The tests of the lab that need protection keys are not skipped there, and pass."""
    text = run(_words(sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", f"tests/lab/{test}"))
    assert " passed" in text
    assert "skipped" not in text
