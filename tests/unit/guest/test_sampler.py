# SPDX-License-Identifier: MIT
"""The guest starts the sampler with what the plan has to sample, and reads its report."""

from __future__ import annotations

import json
import os
import shlex
import time
from pathlib import Path
from typing import Any

import pytest

from mptcplab.guest.nodes import GuestError
from mptcplab.guest.sampler import SAMPLER, Sampler

REPORT = {"tcp_pages_peak": 7, "watched": {"client": [{"local": "a", "remote": "b"}]}}
QUEUE = {"node": "r1", "device": "link1", "handle": 2, "link": "link1", "direction": "forward"}
PLAN: dict[str, Any] = {
    "sample_interval_ns": 10**7,
    "sampled": ["client", "server"],
    "watched": ["client"],
    "queues": [QUEUE],
}
NOTHING: dict[str, Any] = {**PLAN, "sampled": [], "watched": [], "queues": []}


class MadeNodes:
    """Starts a shell with ``script`` in place of every program."""

    def __init__(self, script: str) -> None:
        self._script = script
        self.started: list[tuple[str | None, list[str]]] = []

    def spawn(self, node: str | None, argv: list[str], *, stdin: int, stdout: int, stderr: int) -> int:
        self.started.append((node, argv))
        files = [(os.POSIX_SPAWN_DUP2, source, target) for target, source in enumerate((stdin, stdout, stderr))]
        return os.posix_spawn("/bin/sh", ["sh", "-c", self._script], os.environ, file_actions=files)


def _sampler(script: str, plan: dict[str, Any] = PLAN) -> tuple[Sampler, MadeNodes]:
    nodes = MadeNodes(script)
    sampler = Sampler(nodes, plan)  # type: ignore[arg-type]
    sampler.start(5)
    return sampler, nodes


def _until_term(folder: Path, command: str) -> str:
    """Return a script that keeps its input, then makes the file ``ready``, and runs ``command`` at SIGTERM."""
    return f"trap {shlex.quote(command)} TERM; cat > {folder}/given; : > {folder}/ready; while :; do sleep 0.01; done"


def _wait(folder: Path) -> None:
    while not (folder / "ready").exists():
        time.sleep(0.01)


def test_it_is_given_what_the_plan_samples_and_reports_at_its_end(tmp_path: Path) -> None:
    sampler, nodes = _sampler(_until_term(tmp_path, f"echo {shlex.quote(json.dumps(REPORT))}; exit"))
    _wait(tmp_path)
    sampler.stop()
    assert nodes.started == [(None, [SAMPLER, "/run/lab", "5", "10000000"])]
    assert (tmp_path / "given").read_text().splitlines() == [
        "sockets client",
        "sockets server",
        "watch client",
        "queue r1 link1 2 link1 forward",
    ]
    assert (sampler.tcp_pages_peak, sampler.sockets_of("client"), sampler.sockets_of("server")) == (
        7,
        REPORT["watched"]["client"],  # type: ignore[index]
        [],
    )
    sampler.stop()


def test_a_plan_without_samples_needs_none() -> None:
    sampler, nodes = _sampler("exit 1", NOTHING)
    sampler.handle_exit(1)
    sampler.stop()
    assert nodes.started == []
    assert (sampler.tcp_pages_peak, sampler.sockets_of("client")) == (None, [])


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo no space left on device >&2; exit 1", "no space left on device"),
        ("kill -9 $$", "the sampler ended without a report"),
    ],
)
def test_its_end_during_a_run_is_the_runs_failure(script: str, message: str) -> None:
    sampler, _ = _sampler(script)
    pid, _ = os.waitpid(-1, 0)
    sampler.handle_exit(pid + 1)
    with pytest.raises(GuestError, match=message):
        sampler.handle_exit(pid)
    sampler.stop()
    for read in (lambda: sampler.tcp_pages_peak, lambda: sampler.sockets_of("client")):
        with pytest.raises(GuestError, match=message):
            read()


def test_a_failure_at_its_end_is_found_when_the_report_is_read(tmp_path: Path) -> None:
    sampler, _ = _sampler(_until_term(tmp_path, "echo no space left >&2; exit 1"))
    _wait(tmp_path)
    sampler.stop()
    with pytest.raises(GuestError, match="no space left"):
        sampler.sockets_of("client")
