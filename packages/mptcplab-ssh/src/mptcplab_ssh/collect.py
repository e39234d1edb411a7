# SPDX-License-Identifier: MIT
"""Turns what machines have after a run into the files of an engine, with all instants on our clock."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mptcplab_ssh.clock import Translation
from mptcplab_ssh.machine import MachineAgent
from mptcplab_ssh.scripts import SAMPLER
from mptcplab_ssh.sockets import Samples, algorithms, parse_samples

#: Absolute instants in the events of tools/flow.
_INSTANTS = ("t_ns", "pause_at_ns", "asked_ns", "first_ns", "last_ns")


def write_results(
    folder: Path,
    agents: Sequence[MachineAgent],
    outputs: Mapping[str, Mapping[str, bytes]],
    *,
    zero_ns: int,
    timed: set[str],
) -> None:
    """Write the outputs, counters and samples of all nodes to ``folder``.

    ``outputs`` has each node's files by name, ``timed`` are the programs whose output has instants (tools/flow).
    """
    (folder / "out").mkdir()
    partners = _partners(agents)
    sockets: list[dict[str, Any]] = []
    queues: list[dict[str, Any]] = []
    for agent in agents:
        here = agent.clock.to_our_clock()
        samples = Samples()
        for name, data in outputs[agent.node].items():
            kind, _, file = name.partition("/")
            program = file.rpartition(".")[0]
            if program == SAMPLER:
                if file.endswith(".out"):
                    shift = agent.survey.clock_shift_ns
                    samples = parse_samples(data.decode(errors="replace"), node=agent.node, queues=agent.fitted.queues)
                    _move_samples(samples, here, shift, zero_ns)
                continue
            target = folder / "out" / file if kind == "out" else folder / "counters" / agent.node / file
            target.parent.mkdir(parents=True, exist_ok=True)
            is_timed = kind == "out" and program in timed and file.endswith(".out")
            target.write_bytes(to_lab_clock(data, here, partners.get(program, here)) if is_timed else data)
        if agent.fitted.is_watched:
            target = folder / "counters" / agent.node / "algorithms.json"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(json.dumps(algorithms(samples.sockets), sort_keys=True))
        sockets += samples.sockets if agent.fitted.is_sampled else []
        queues += samples.queues
    _write_lines(folder / "sockets.jsonl", sockets)
    _write_lines(folder / "queues.jsonl", queues)


def _partners(agents: Sequence[MachineAgent]) -> dict[str, Translation]:
    """Return the clock of the other program of a workload, NAME.client or NAME.server, for each of the two."""
    clocks = {program.name: agent.clock.to_our_clock() for agent in agents for program in agent.fitted.programs}
    other = {"client": "server", "server": "client"}
    partners = {}
    for name in clocks:
        workload, _, role = name.rpartition(".")
        partner = clocks.get(f"{workload}.{other.get(role, '')}")
        if partner is not None:
            partners[name] = partner
    return partners


def _move_samples(samples: Samples, here: Translation, shift_ns: int, zero_ns: int) -> None:
    """Make the samples' instants, of the kernel's clock, count from zero; drop those before it."""
    for rows in (samples.sockets, samples.queues):
        for row in rows:
            row["time_ns"] = here.to_here(row["time_ns"] + shift_ns) - zero_ns
        rows[:] = [row for row in rows if row["time_ns"] >= 0]


def to_lab_clock(output: bytes, here: Translation, partner: Translation) -> bytes:
    """Return the events of tools/flow with their instants on our clock. Lines that are not events stay.

    A receiver's delays of messages compare its clock with its ``partner``'s, the sender: they become what one
    clock would have shown.
    """
    delays: dict[Any, list[int]] = {}
    lines = []
    for line in output.splitlines(keepends=True):
        event = _event(line)
        if event is None:
            lines.append(line)
            continue
        for key in _INSTANTS:
            if isinstance(event.get(key), int):
                event[key] = here.to_here(event[key])
        if event.get("event") == "packets":
            _align_messages(event, here, partner)
            delays.setdefault(event.get("conn"), []).extend(event["delay_ns"])
        elif "delay_sum_ns" in event and event.get("conn") in delays:
            # Delays below the error of the clocks may be negative; without them, the mean would be too large.
            event |= {"delay_sum_ns": sum(delays[event["conn"]]), "delay_max_ns": max(delays[event["conn"]])}
        lines.append(json.dumps(event, separators=(",", ":")).encode() + b"\n")
    return b"".join(lines)


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None


def _align_messages(event: dict[str, Any], here: Translation, partner: Translation) -> None:
    pairs = list(zip(event["sent_ns"], event["delay_ns"], strict=True))
    event["sent_ns"] = [partner.to_here(sent) for sent, _ in pairs]
    arrived = (here.to_here(sent + delay) for sent, delay in pairs)
    event["delay_ns"] = [instant - sent for instant, sent in zip(arrived, event["sent_ns"], strict=True)]


def write_machines(folder: Path, agents: Iterable[MachineAgent]) -> None:
    """Write what is known of the machines and their clocks to ``machine.json``."""
    clocks = {}
    for agent in agents:
        here = agent.clock.to_our_clock()
        clocks[agent.node] = {
            "offset_ns": here.offset_ns,
            "error_ns": here.error_ns,
            "drift_ppm": round(here.drift_ppm, 3),
            "is_consistent": here.is_consistent,
        }
    unknown = dict.fromkeys(("softirq_rounds_delayed", "polls_advanced", "tcp_mem_pages", "tcp_pages_peak"))
    (folder / "machine.json").write_text(json.dumps({**unknown, "clocks": clocks}, sort_keys=True))


def write_events(folder: Path, executed: Sequence[Mapping[str, Any]]) -> None:
    """Write the events that were carried out."""
    _write_lines(folder / "events.jsonl", executed)


def _write_lines(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
