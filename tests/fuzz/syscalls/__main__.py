# SPDX-License-Identifier: MIT
"""``python -m tests.fuzz.syscalls --calls N --seed S``: N random system calls in both modes.

Status 1 means findings.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from tests.fuzz.syscalls.compare import compare_modes, compile_calls

from mptcplab.engine.virtual.machine import has_inproc
from mptcplab.errors import LabError
from mptcplab.kernel import find_kernel

#: Calls per seed and lab.
_AT_ONCE = 20_000
#: Exit status of a search that a signal ended.
_INTERRUPTED = 130


def main() -> None:
    """Run seed after seed until all calls are made, or SIGINT or SIGTERM ends the search; print each finding."""
    arguments = _arguments()
    try:
        kernel = find_kernel(arguments.kernel)
    except LabError as error:
        sys.exit(f"fuzz: {error}\n  hint: {error.hint}")
    if not has_inproc(kernel):
        sys.exit(f"fuzz: kernel {kernel.release} cannot run user code in its own process\n  hint: --kernel PATH")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    done = findings = 0
    seeds = range(arguments.seed, arguments.seed + (arguments.calls + _AT_ONCE - 1) // _AT_ONCE)
    calls = min(_AT_ONCE, arguments.calls)
    with tempfile.TemporaryDirectory(prefix="mptcplab-fuzz-") as folder, suppress(KeyboardInterrupt):
        programs = compile_calls(Path(folder), tame=arguments.tame)
        for seed in seeds:
            finding = compare_modes(programs, arguments.kernel, seed, calls)
            done += 1
            if finding is not None:
                findings += 1
                print(f"seed {seed}: {finding.reason}", flush=True)
            elif sys.stderr.isatty():
                print(f"seed {seed}: the same", file=sys.stderr)
    print(f"{done} of {len(seeds)} seeds, {done * calls} calls, {findings} findings")
    sys.exit(_INTERRUPTED if done < len(seeds) else findings > 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.syscalls", description=__doc__)
    parser.add_argument("--calls", type=int, default=1_000_000, help="system calls in all")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--tame", action="store_true", help="no accesses to memory of others: without protection keys")
    parser.add_argument("--kernel", default="7.2", help="lab kernel: a version, or an entry of the cache")
    arguments: argparse.Namespace = parser.parse_args()
    return arguments


if __name__ == "__main__":
    main()
