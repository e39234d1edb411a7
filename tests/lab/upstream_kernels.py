# SPDX-License-Identifier: MIT
"""``python -m tests.lab.upstream_kernels``: run the selftests of kernel/upstream on three kernels.

Plain Linux 7.2, the same with the patches of kernel/upstream, and the lab's own. It builds what is missing: the first
time, two kernels. The fix that has no selftest yet is tried by a scenario. Exit status 1 when a result is not the
expected one, which kernel/upstream/README.md states.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "kernel" / "upstream"
CLI = (sys.executable, "-m", "mptcplab")
TESTS = ("mptcp_stall", "tcp_tsq_orphan")
#: A fix by itself, which the scenario below tries; all others are series with selftests.
ALONE = "mptcp-window"
#: The faults by the names of their tests.
DATA_FIN = "mptcp_stall: DATA_FIN with data received before"
JOIN = "mptcp_stall: data written before a join"
TSQ = "tcp_tsq_orphan: exit status"
WINDOW = "behaviour/clean-paths: no data beyond the connection's window"
#: Which pass, by the kernel. The lab kernel has the fix of the first alone (kernel/patches/0008).
EXPECTED: Mapping[str, Mapping[str, bool]] = {
    "plain": {DATA_FIN: False, JOIN: False, TSQ: False, WINDOW: False},
    "plain, patched": {DATA_FIN: True, JOIN: True, TSQ: True, WINDOW: True},
    "lab": {DATA_FIN: True, JOIN: False, TSQ: False, WINDOW: False},
}
#: Two lines of 100 Mbit/s whose queues overflow at the start.
SCENARIO = ROOT / "examples" / "behaviour" / "clean-paths.toml"
_ONE_POINT = ("transport.congestion_control=reno", "transport.protocol=mptcp", "workloads.bulk.duration=4 s")


def patches() -> list[Path]:
    """Return the patches of all series in their order, without cover letters."""
    return [file for file in sorted(FOLDER.glob("*/*.patch")) if not file.name.startswith("0000-")]


def patch_options() -> list[str]:
    """Return the options that have `mptcplab kernel build` and `mptcplab selftest` apply them."""
    return [word for file in patches() for word in ("--patch", str(file))]


def selftest_command(kernel: str) -> list[str]:
    """Return the command that runs the tests of all series on `kernel`."""
    return ["selftest", *TESTS, "--kernel", kernel, *patch_options(), "--json"]


def passed(document: str) -> dict[str, bool]:
    """Return which tests passed, by their names, from what `mptcplab selftest --json` printed."""
    found = json.loads(document)
    assert found["errors"] == [], found["errors"]
    return {_name(one["test"], one["name"]): one["verdict"] == "ok" for one in found["results"]}


def window_command(kernel: str, out: Path) -> list[str]:
    """Return the command that runs the scenario on `kernel`, with seed 3."""
    settings = [word for setting in (*_ONE_POINT, f"kernel={kernel}") for word in ("--set", setting)]
    return ["run", str(SCENARIO), *settings, "--seed", "3", "--repeats", "1", "--out", str(out)]


def beyond_window(out: Path) -> int:
    """Return how many segments the receivers of the runs in `out` dropped, since they were beyond the window."""
    files = list(out.glob("runs/*/counters/*/nstat.json"))
    assert files, f"no run in {out}"
    return sum(json.loads(file.read_text())["kernel"].get("MPTcpExtNoDSSInWindow", 0) for file in files)


def _name(test: str, name: str) -> str:
    return name if name.startswith(f"{test}: ") else f"{test}: {name}"


def _build(options: Sequence[str]) -> str:
    done = subprocess.run([*CLI, "kernel", "build", *options, "--json"], stdout=subprocess.PIPE, text=True, check=True)
    return str(json.loads(done.stdout)["executable"])


def main() -> int:
    """Build, run, print a table, and compare it with what is expected."""
    options = {"plain": ["--plain"], "plain, patched": ["--plain", *patch_options()], "lab": []}
    wrong = 0
    for name, expected in EXPECTED.items():
        kernel = _build(options[name])
        done = subprocess.run([*CLI, *selftest_command(kernel)], stdout=subprocess.PIPE, text=True, check=False)
        found = passed(done.stdout)
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            subprocess.run([*CLI, *window_command(kernel, out)], stdout=subprocess.DEVNULL, check=True)
            found[WINDOW] = beyond_window(out) == 0
        for test in expected:
            note = "" if found.get(test) == expected[test] else "   NOT AS EXPECTED"
            print(f"{name:15} {'passed' if found.get(test) else 'failed'}  {test}{note}", flush=True)
        wrong += found != expected
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
