# SPDX-License-Identifier: MIT
"""Turns what machines have after a run into the files of an engine, with all instants on our clock."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mptcplab.engine.ssh.clock import Translation
from mptcplab.engine.ssh.machine import Agent
from mptcplab.engine.ssh.scripts import SAMPLER
from mptcplab.engine.ssh.sockets import Samples, algorithms, parse_samples

#: Absolute instants in the events of tools/flow.
_INSTANTS = ("t_ns", "pause_at_ns", "asked_ns", "first_ns", "last_ns")


def write_results(
    folder: Path, agents: Sequence[Agent], found: Mapping[str, Mapping[str, bytes]], *, zero_ns: int, timed: set[str]
) -> None:
    """Write the outputs, counters and samples of all nodes to ``folder``.

    ``found`` has each node's files by name, ``timed`` are the programs whose output has instants (tools/flow).
    """
    (folder / "out").mkdir()
    sockets: list[dict[str, Any]] = []
    queues: list[dict[str, Any]] = []
    for agent in agents:
        here = agent.clock.here()
        samples = Samples()
        for name, data in found[agent.node].items():
            kind, _, file = name.partition("/")
            program = file.rpartition(".")[0]
            if program == SAMPLER:
                if file.endswith(".out"):
                    shift = agent.found.clock_shift_ns
                    samples = parse_samples(data.decode(errors="replace"), node=agent.node, queues=agent.fitted.queues)
                    _move_samples(samples, here, shift, zero_ns)
                continue
            target = folder / "out" / file if kind == "out" else folder / "counters" / agent.node / file
            target.parent.mkdir(parents=True, exist_ok=True)
            is_timed = kind == "out" and program in timed and file.endswith(".out")
            target.write_bytes(translated(data, here) if is_timed else data)
        if agent.fitted.is_watched:
            target = folder / "counters" / agent.node / "algorithms.json"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(json.dumps(algorithms(samples.sockets), sort_keys=True))
        sockets += samples.sockets if agent.fitted.is_sampled else []
        queues += samples.queues
    _write_lines(folder / "sockets.jsonl", sockets)
    _write_lines(folder / "queues.jsonl", queues)


def _move_samples(samples: Samples, here: Translation, shift_ns: int, zero_ns: int) -> None:
    """Make the samples' instants, of the kernel's clock, count from zero; drop those before it."""
    for rows in (samples.sockets, samples.queues):
        for row in rows:
            row["time_ns"] = here.to_here(row["time_ns"] + shift_ns) - zero_ns
        rows[:] = [row for row in rows if row["time_ns"] >= 0]


def translated(output: bytes, here: Translation) -> bytes:
    """Return the events of tools/flow with their instants on our clock. Lines that are no events stay."""
    return b"".join(_line(line, here) for line in output.splitlines(keepends=True))


def _line(line: bytes, here: Translation) -> bytes:
    try:
        event = json.loads(line)
    except ValueError:
        return line
    if not isinstance(event, dict):
        return line
    for key in _INSTANTS:
        if isinstance(event.get(key), int):
            event[key] = here.to_here(event[key])
    return json.dumps(event, separators=(",", ":")).encode() + b"\n"


def write_machines(folder: Path, agents: Iterable[Agent]) -> None:
    """Write what is known of the machines and their clocks to ``machine.json``."""
    clocks = {}
    for agent in agents:
        here = agent.clock.here()
        clocks[agent.node] = {
            "offset_ns": here.offset_ns,
            "error_ns": here.error_ns,
            "drift_ppm": round(here.drift_ppm, 3),
            "is_consistent": here.is_consistent,
        }
    state = {"softirq_rounds_delayed": None, "tcp_mem_pages": None, "tcp_pages_peak": None, "clocks": clocks}
    (folder / "machine.json").write_text(json.dumps(state, sort_keys=True))


def write_events(folder: Path, happened: Sequence[Mapping[str, Any]]) -> None:
    """Write the events that were carried out."""
    _write_lines(folder / "events.jsonl", happened)


def _write_lines(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
