# SPDX-License-Identifier: MIT
"""``python -m tests.lab.upstream_kernels``: run the selftests of kernel/upstream on three kernels.

Plain Linux 7.2, the same with the patches of kernel/upstream, and the lab's own. It builds what is missing: the first
time, two kernels. Both lack the lab's fix of User-Mode Linux, which all other plain kernels have. The fix that has no
selftest yet is tried by a scenario. Exit status 1 when a result is not the expected one, which
kernel/upstream/README.md states.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from mptcplab.cache import cache_root
from mptcplab.engine.virtual.machine import INPROC
from mptcplab.kernel.debian import debian_source
from mptcplab.kernel.progress import SilentProgress

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "kernel" / "upstream"
CLI = (sys.executable, "-m", "mptcplab")
TESTS = ("mptcp_stall", "tcp_tsq_orphan")
#: A fix by itself, which the scenario below tries; all others are series with selftests.
ALONE = "mptcp-window"
#: The program that tests User-Mode Linux, and how many tests it has. It runs in the lab without a script.
REPLACE = "map_replace"
REPLACE_TESTS = 6
SELFTESTS = "tools/testing/selftests"
#: The lab's form of the fix of User-Mode Linux.
LAB_FIX = ROOT / "kernel" / "patches" / "7.2" / "0024-um-tables-in-place-of-cleared-ones.patch"
#: The faults by the names of their tests.
DATA_FIN = "mptcp_stall: DATA_FIN with data received before"
JOIN = "mptcp_stall: data written before a join"
TSQ = "tcp_tsq_orphan: exit status"
WINDOW = "behaviour/clean-paths: no data beyond the connection's window"
STALE = "map_replace: all tests"
#: Which pass, by the kernel. The lab kernel has the fixes of the first and the last (kernel/patches/0008 and 7.2/0024).
EXPECTED: Mapping[str, Mapping[str, bool]] = {
    "plain": {DATA_FIN: False, JOIN: False, TSQ: False, WINDOW: False, STALE: False},
    "plain, patched": {DATA_FIN: True, JOIN: True, TSQ: True, WINDOW: True, STALE: True},
    "lab": {DATA_FIN: True, JOIN: False, TSQ: False, WINDOW: False, STALE: True},
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


def parse_results(document: str) -> dict[str, bool]:
    """Return which tests passed, by their names, from what `mptcplab selftest --json` printed."""
    log = json.loads(document)
    assert log["errors"] == [], log["errors"]
    return {_name(result["test"], result["name"]): result["verdict"] == "ok" for result in log["results"]}


def window_command(kernel: str, out: Path) -> list[str]:
    """Return the command that runs the scenario on `kernel`, with seed 3."""
    settings = [word for setting in (*_ONE_POINT, f"kernel={kernel}") for word in ("--set", setting)]
    return ["run", str(SCENARIO), *settings, "--seed", "3", "--repeats", "1", "--out", str(out)]


def beyond_window(out: Path) -> int:
    """Return how many segments the receivers of the runs in `out` dropped, since they were beyond the window."""
    files = list(out.glob("runs/*/counters/*/nstat.json"))
    assert files, f"no run in {out}"
    return sum(json.loads(file.read_text())["kernel"].get("MPTcpExtNoDSSInWindow", 0) for file in files)


def reverse_patch(text: str) -> str:
    """Return the patch that takes back a patch which adds and removes no files."""
    _, _, changes = text.partition("\n---\n")
    hunks = re.sub(r"^@@ -(\S+) \+(\S+) @@", r"@@ -\2 +\1 @@", changes, flags=re.MULTILINE)
    swapped = {"+": "-", "-": "+"}
    return "".join(
        line if line.startswith(("--- ", "+++ ")) else swapped.get(line[0], line[0]) + line[1:]
        for line in hunks.splitlines(keepends=True)
    )


def unpack_source(names: Sequence[str], folder: Path) -> None:
    """Unpack the files `names` of Linux 7.2 in `folder`."""
    with (folder / "log").open("w") as log:
        source = debian_source("7.2", cache_root(), progress=SilentProgress(), log=log)
    wanted = [f"*/{name}" for name in names]
    command = ["tar", "-xf", str(source.path), "-C", str(folder), "--strip-components=1", "--wildcards", *wanted]
    subprocess.run(command, check=True, timeout=600)


def program_headers() -> list[str]:
    """Return the names of the files of Linux that `compile_program` needs."""
    return [f"{SELFTESTS}/{name}" for name in ("kselftest.h", "kselftest_harness.h")]


def compile_program(folder: Path) -> Path:
    """Compile map_replace as its patch adds it, with the headers that `folder` has, and return the program."""
    name = f"{SELFTESTS}/mm/{REPLACE}.c"
    (patch,) = [text for text in (file.read_text() for file in patches()) if f"\n+++ b/{name}\n" in text]
    added = patch.partition(f"\n+++ b/{name}\n")[2].partition("\ndiff --git ")[0]
    source, program = folder / f"{REPLACE}.c", folder / REPLACE
    source.write_text("".join(f"{line[1:]}\n" for line in added.splitlines() if line.startswith("+")))
    flags = ("-Wall", "-Werror", "-O2", "-D_GNU_SOURCE=", "-I", str(folder / SELFTESTS))
    subprocess.run(["gcc", *flags, str(source), "-o", str(program)], check=True)
    return program


def hides_replaced(kernel: str, program: Path, mode: str) -> bool:
    """Return whether all tests of map_replace pass on `kernel`, with user code in its process or not (`mode`).

    They must pass or fail together.
    """
    command = [*CLI, "exec", "--kernel", kernel, "--expose", str(program.parent), "--", str(program)]
    environment = {**os.environ, INPROC: mode}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=environment)
    # The line of a test that was skipped goes on.
    verdicts = re.findall(r"^(ok|not ok) \d+ \S+$", done.stdout, re.MULTILINE)
    assert len(verdicts) == REPLACE_TESTS, done.stdout
    assert len(set(verdicts)) == 1, done.stdout
    return bool(verdicts[0] == "ok")


def _name(test: str, name: str) -> str:
    return name if name.startswith(f"{test}: ") else f"{test}: {name}"


def _build(options: Sequence[str]) -> str:
    done = subprocess.run([*CLI, "kernel", "build", *options, "--json"], stdout=subprocess.PIPE, text=True, check=True)
    return str(json.loads(done.stdout)["executable"])


def main() -> int:
    """Build, run, print a table, and compare it with what is expected."""
    wrong = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        unpack_source(program_headers(), folder)
        program = compile_program(folder)
        without = folder / f"without-{LAB_FIX.name}"
        without.write_text(reverse_patch(LAB_FIX.read_text()))
        plain = ["--plain", "--patch", str(without)]
        options = {"plain": plain, "plain, patched": [*plain, *patch_options()], "lab": []}
        for name, expected in EXPECTED.items():
            kernel = _build(options[name])
            done = subprocess.run([*CLI, *selftest_command(kernel)], stdout=subprocess.PIPE, text=True, check=False)
            results = parse_results(done.stdout)
            out = folder / name
            subprocess.run([*CLI, *window_command(kernel, out)], stdout=subprocess.DEVNULL, check=True)
            results[WINDOW] = beyond_window(out) == 0
            (results[STALE],) = {hides_replaced(kernel, program, mode) for mode in ("off", "on")}
            for test in expected:
                note = "" if results.get(test) == expected[test] else "   NOT AS EXPECTED"
                print(f"{name:15} {'passed' if results.get(test) else 'failed'}  {test}{note}", flush=True)
            wrong += results != expected
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
