# SPDX-License-Identifier: MIT
"""Traces of events, and how `replay.bpf.c` and the user-space build of the lab kernel's files execute them."""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Iterator, Sequence
from ctypes import CDLL
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from uuid import uuid4

from tests.unit.coupled.events import Subflow, World

from mptcplab.ebpf.controls import BPF_FILES, mount_files, show
from mptcplab.ebpf.objects import find_tool, source_folder
from mptcplab.kernel.data import data_dir

_HERE = Path(__file__).parent
_EVENT = struct.Struct("=8Iq")
_SOCKETS = 3
#: A program that reads a packet wants one; this one looks at nothing of it.
_PACKET = bytes(64)


class Kind(IntEnum):
    """Kinds of events, as in `replay.bpf.c`."""

    START = 0
    ACK = 1
    LOSS = 2
    RECOVERED = 3
    TIMEOUT = 4
    TIMEOUT_OVER = 5
    CLOSE = 6


@dataclass(frozen=True)
class ReplayedEvent:
    """One event on one subflow. ``acked`` is in segments, of START the window; ``now`` is in jiffies."""

    kind: Kind
    socket: int
    acked: int = 0
    rtt_us: int = 0
    now: int = 0


@dataclass(frozen=True)
class State:
    """What an event leaves: window and slow start threshold in segments, and the fraction of a segment (2^-48)."""

    cwnd: int
    ssthresh: int
    credit: int


def random_trace(seed: int, length: int) -> list[ReplayedEvent]:
    """Return a trace over three subflows: slow start, losses, timeouts, pauses in which a path no longer counts."""
    source = random.Random(seed)
    bases = [source.choice((5_000, 20_000, 20_000, 80_000)) for _ in range(_SOCKETS)]
    # The clock comes round during the trace.
    now = 2**32 - 2_000
    trace = [ReplayedEvent(Kind.START, number, 10, base, now) for number, base in enumerate(bases)]
    after: dict[int, Kind] = {}
    while len(trace) < length:
        now = (now + source.choice((0, 0, 0, 1, 2, 250 if source.random() < 0.02 else 1))) % 2**32
        number = source.randrange(_SOCKETS)
        draw = source.random()
        if number in after and draw < 0.1:
            trace.append(ReplayedEvent(after.pop(number), number, now=now))
        elif number not in after and draw < 0.015:
            kind = Kind.LOSS if source.random() < 0.8 else Kind.TIMEOUT
            after[number] = Kind.RECOVERED if kind is Kind.LOSS else Kind.TIMEOUT_OVER
            trace.append(ReplayedEvent(kind, number, now=now))
        else:
            rtt_us = bases[number] + source.randrange(bases[number])
            trace.append(ReplayedEvent(Kind.ACK, number, source.choice((1, 2, 2, 3, 10)), rtt_us, now))
    return [*trace, *(ReplayedEvent(Kind.CLOSE, number, now=now) for number in range(_SOCKETS))]


def replay_in_user_space(library: CDLL, control: str, trace: Sequence[ReplayedEvent]) -> Iterator[State]:
    """Execute a trace with the user-space build of the lab kernel's files."""
    world = World(library)
    subflows: dict[int, Subflow] = {}
    for event in trace:
        library.event_clock(event.now)
        if event.kind is Kind.START:
            made = world.subflow(control, event.acked, rtt_us=event.rtt_us, start=True)
            subflows[event.socket] = made
        subflow = subflows[event.socket]
        if event.kind is Kind.ACK:
            subflow.ack(event.acked, event.rtt_us)
        elif event.kind not in (Kind.START, Kind.CLOSE):
            getattr(subflow, event.kind.name.lower())()
        yield State(subflow.window, subflow.ssthresh, subflow.exact - (subflow.window << 48))
        if event.kind is Kind.CLOSE:
            subflow.close()


def replay_in_ebpf(control: str, trace: Sequence[ReplayedEvent], folder: Path) -> list[State]:
    """Execute a trace with the eBPF program in this machine's kernel, which must permit that to us."""
    made = _compile(control, folder)
    mount_files()
    pins = BPF_FILES / f"mptcplab-replay-{uuid4().hex[:8]}"
    pins.mkdir()
    try:
        show("prog", "load", str(made), str(pins / "replay"), "pinmaps", str(pins))
        _write_events(trace, pins / "events", folder)
        packet = folder / "packet"
        packet.write_bytes(_PACKET)
        run = ("prog", "run", "pinned", str(pins / "replay"), "data_in", str(packet), "repeat", str(len(trace)))
        show(*run)
        rows = show("map", "dump", "pinned", str(pins / "events"))[: len(trace)]
    finally:
        for pin in pins.iterdir():
            pin.unlink()
        pins.rmdir()
    values = [row["formatted"]["value"] for row in rows]
    assert all(value["done"] for value in values)
    return [State(value["cwnd"], value["ssthresh"], value["credit"]) for value in values]


def _write_events(trace: Sequence[ReplayedEvent], pin: Path, folder: Path) -> None:
    lines = []
    for number, event in enumerate(trace):
        value = _EVENT.pack(event.kind, event.socket, event.acked, event.rtt_us, event.now, 0, 0, 0, 0)
        key = number.to_bytes(4, "little").hex(" ")
        lines.append(f"map update pinned {pin} key hex {key} value hex {value.hex(' ')}\n")
    batch = folder / "events.batch"
    batch.write_text("".join(lines))
    subprocess.run([find_tool("bpftool"), "batch", "file", batch], check=True, capture_output=True)


def _compile(control: str, folder: Path) -> Path:
    made = folder / f"{control}.o"
    includes = (source_folder(), _HERE, data_dir() / "net/mptcp")
    words = ["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-nostdinc", "-DREPLAY"]
    words += [f'-DCONTROL="{control}.bpf.c"', *(word for place in includes for word in ("-I", str(place)))]
    subprocess.run([find_tool("clang"), *words, "-c", _HERE / "replay.bpf.c", "-o", made], check=True)
    return made
