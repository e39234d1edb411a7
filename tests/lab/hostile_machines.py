# SPDX-License-Identifier: MIT
"""What the tests of hostile machines share: scenarios, mounts of one's own, commands in the background, checks."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from .bench import CLI, Bench, lab_processes, mptcplab, tree_hash

#: Small lines and many samples: megabytes of results within a second.
RUNS = """
title = "four runs"
repeats = 4

[topology]
preset = "disjoint-paths"

[links.link1]
rate = "10 Mbit/s"

[links.link2]
rate = "10 Mbit/s"

[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "3 s"

[record]
interval = "10 ms"
"""
#: Takes a few seconds of wall time, so that there is time for mischief.
SLOW = RUNS.replace('"3 s"', '"8 s"').replace('"10 Mbit/s"', '"50 Mbit/s"').replace('"10 ms"', '"1 s"')


@cache
def _unshare() -> tuple[str, ...]:
    """What gives a command mounts of its own."""
    words = ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "--map-root-user", "--mount")
    try:
        works = subprocess.run([*words, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0
    except FileNotFoundError:
        works = False
    if not works:
        pytest.skip("this machine gives no mount namespace, neither to root nor to ordinary users")
    return words


def with_mounts(
    script: str, *arguments: str | Path, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """A shell script with mounts of its own; what it mounts is gone afterwards. ``run`` in it is our command."""
    prepared = f'run() {{ {" ".join(CLI)} "$@"; }}\n{script}'
    command = [*_unshare(), "sh", "-ec", prepared, "sh", *map(str, arguments)]
    env = {**os.environ, **(env or {})}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def sentence(stderr: str) -> str:
    """What an ended command says: exactly one sentence and its hint."""
    said = [line for line in stderr.splitlines() if line.startswith("mptcplab: ")]
    assert len(said) == 1, stderr
    assert "  hint: " in stderr, stderr
    return said[0]


def assert_nothing_left(out: Path) -> None:
    """No process, nothing under way, no half recording, no memory of a lab."""
    assert not lab_processes(out), lab_processes(out)
    assert list((out / ".work" / "tmp").iterdir()) == []
    assert [path.name for path in out.rglob(".*.[0-9]*")] == [], "a half written file"
    assert all((run / "manifest.json").is_file() for run in (out / "runs").iterdir())


def hash_recordings(out: Path) -> dict[str, str]:
    """All recordings with a hash of their bytes."""
    return {run.name: tree_hash(run) for run in (out / "runs").iterdir()}


def assert_resumes(bench: Bench, out: Path, whole: Path) -> None:
    """The same command on a friendly machine ends with the results of a run that nothing disturbed."""
    done = mptcplab("run", bench.write(RUNS), "--out", out)
    assert done.returncode == 0, done.stderr
    for name in ("table.md", "table.csv", "metrics.csv"):
        assert (out / name).read_bytes() == (whole / name).read_bytes(), name
    first, second = (json.loads((folder / "results.json").read_text()) for folder in (out, whole))
    assert first | {"file": ""} == second | {"file": ""}
    assert hash_recordings(out) == hash_recordings(whole)
    assert_nothing_left(out)


class Command:
    """``mptcplab`` in the background, with a folder for temporary files of its own."""

    def __init__(self, bench: Bench, *arguments: str | Path, env: dict[str, str] | None = None) -> None:
        self.temporary = bench.folder / "temporary"
        self.temporary.mkdir()
        self.process = subprocess.Popen(
            [*CLI, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(self.temporary), **(env or {})},
        )

    def wait_for(self, ready: Callable[[], object]) -> None:
        """Until something is so."""
        end = time.monotonic() + 60
        while not ready():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < end, "not within 60 s"
            time.sleep(0.01)

    def end(self) -> tuple[int, str]:
        """Status and what was said on standard error; nothing temporary is left."""
        _, said = self.process.communicate(timeout=60)
        assert "Traceback" not in said, said
        assert list(self.temporary.iterdir()) == []
        return self.process.returncode, said


def labs(out: Path) -> list[int]:
    """Lab kernels whose programs run."""
    pids = [pid for pid, name in lab_processes(out).items() if name == "linux"]
    return pids if list(out.glob(".work/tmp/*/run/out/bulk.client.out")) else []
