# SPDX-License-Identifier: MIT
"""Runs the programs that build and try artifacts."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from mptcplab.errors import LabError, MissingError

ROOT = Path(__file__).resolve().parents[2]
#: The first experiment of the documentation, for a second of virtual time: what each artifact has to run.
FIRST_RUN = ("run", "@two-paths", "--repeats", "1", "--set", "workloads.bulk.duration=1 s")
#: The pack of it, with the recordings of this checkout, and what an artifact says that runs it.
PACK = "first.mptcplab.zip"
_SAME = "The numbers of 2 runs are the same bytes as those in the pack."
_MAX_LINES = 15


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path = ROOT,
    environment: Mapping[str, str] | None = None,
    with_errors: bool = False,
) -> str:
    """Run a program to its end and return its standard output, and after it, if wanted, its standard error.

    :raises MissingError: if there is none of this name. :raises LabError: if it fails, with the end of its output.
    """
    words = [str(word) for word in command]
    print(f"+ {shlex.join(words)}", file=sys.stderr, flush=True)
    try:
        done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise MissingError(f"this machine has no '{words[0]}'", hint=f"install it, or see {__package__}") from error
    if done.returncode:
        last = [*done.stdout.splitlines(), *done.stderr.splitlines()][-_MAX_LINES:]
        raise LabError(f"`{shlex.join(words)}` failed with status {done.returncode}", hint="\n  ".join(last))
    return done.stdout + (done.stderr if with_errors else "")


def succeeds(command: Sequence[str | Path]) -> bool:
    """Return whether a program exists and ends with status 0."""
    try:
        run(command)
    except LabError:
        return False
    return True


def check_first_run(output: str, *, artifact: str) -> None:
    """Check what the first experiment printed: a row of TCP and one of MPTCP over two subflows.

    :raises LabError: if it is anything else.
    """
    rows = [line.split() for line in output.splitlines()]
    protocols = {words[0] for words in rows if words and words[0] in ("tcp", "mptcp")}
    if protocols != {"tcp", "mptcp"} or "2 subflows" not in output:
        raise LabError(f"the first experiment in {artifact} printed no table of TCP and MPTCP", hint=output[-500:])


def make_pack(folder: Path) -> None:
    """Run the first experiment with this checkout, and write its pack to ``folder``, where every user can read it.

    :raises LabError: if it cannot be run, for example without a lab kernel.
    """
    scenario, results = folder / "first.toml", folder / "results"
    text = (ROOT / "examples" / "two-paths.toml").read_text()
    scenario.write_text(text.replace('duration = "10 s"', 'duration = "1 s"'))
    mptcplab = [sys.executable, "-m", "mptcplab"]
    run([*mptcplab, "run", scenario, "--out", results])
    run([*mptcplab, "pack", scenario, "--recordings", results, "--out", folder / PACK])
    folder.chmod(0o755)


def check_numbers(output: str, *, artifact: str) -> None:
    """Check that an artifact has measured the bytes of the pack. :raises LabError: with what it said if it has not."""
    if _SAME not in output:
        raise LabError(f"{artifact} measures other numbers than this checkout", hint=output[-800:].strip())
