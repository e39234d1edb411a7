# SPDX-License-Identifier: MIT
"""Workloads and their programs in the manifest of a recording.

``campaign/contract.py`` writes the workloads: all keys of the scenario, and the ends. :class:`Ends` serves both sides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from mptcplab.units import Duration

if TYPE_CHECKING:
    from mptcplab.recording.record import Recording

#: A connection with less than this share of the largest connection's bytes is a control connection (iperf3 has one).
CONTROL_SHARE = 0.01
_AT_ONCE = "0 ns"


def client_program(workload: str) -> str:
    """Return the name of a workload's client in plans and recordings: the program that connects."""
    return f"{workload}.client"


def server_program(workload: str) -> str:
    """Return the name of a workload's server in plans and recordings."""
    return f"{workload}.server"


@dataclass(frozen=True)
class Ends:
    """The sender and the receiver of a workload's payload.

    ``sending`` and ``receiving`` are the programs that report their own sockets, None if these are sampled from
    outside. ``protocol`` is what the workload itself requests. ``ports`` carry its data. A workload that
    ``is_bulk`` sends as much as the network carries, so it should use all paths.
    """

    workload: str
    sender: str
    receiver: str
    sending: str | None
    receiving: str | None
    protocol: str | None
    ports: tuple[int, ...]
    is_bulk: bool
    has_control_connections: bool

    @classmethod
    def from_json(cls, workload: str, entry: Mapping[str, Any]) -> Ends:
        """Return the ends of a workload that a manifest describes."""
        return cls(
            workload,
            entry["sender"],
            entry["receiver"],
            entry["sending"],
            entry["receiving"],
            entry["protocol"],
            tuple(entry["ports"]),
            entry["is_bulk"],
            entry["has_control_connections"],
        )

    def to_json(self) -> dict[str, Any]:
        """Return JSON data for a manifest, where the workload has its name."""
        document = {**asdict(self), "ports": list(self.ports)}
        del document["workload"]
        return document

    @property
    def min_share(self) -> float:
        """The share of the largest connection's bytes below which one is a control connection: ``data_connections``."""
        return CONTROL_SHARE if self.has_control_connections else 0.0


@dataclass(frozen=True)
class RecordedWorkload:
    """A workload of a run. ``client`` opens the connections and ``server`` accepts them.

    ``start`` counts from time zero, before random phases. ``congestion_control`` and ``scheduler`` are what the
    workload itself requests. ``keys`` are all keys of the scenario, which its kind reads:
    :func:`mptcplab.workload.registry.workload_of`.
    """

    name: str
    kind: str
    client: str
    server: str
    ends: Ends
    keys: Mapping[str, Any]

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> RecordedWorkload:
        """Return the workload of a manifest's entry."""
        name = entry["name"]
        return cls(name, entry["kind"], entry["from"], entry["to"], Ends.from_json(name, entry["ends"]), entry)

    @property
    def start(self) -> Duration:
        """The start that the scenario asks for."""
        return Duration.parse(self.keys.get("start", _AT_ONCE))

    @property
    def congestion_control(self) -> str | None:
        """The congestion control of its sockets; None leaves it to the hosts."""
        return self.keys.get("congestion_control")

    @property
    def scheduler(self) -> str | None:
        """The scheduler of its sockets; None leaves it to the hosts."""
        return self.keys.get("scheduler")

    @property
    def goal(self) -> str:
        """The amount that it transfers, as the scenario says it: ``2 files of 10 MB``, ``10 s, 4 connections``."""
        files, connections = self.keys.get("files", 1), self.keys.get("connections", 1)
        goal = " for ".join(str(self.keys[key]) for key in ("size", "duration") if self.keys.get(key))
        several = f", {connections} connections" if connections > 1 else ""
        return f"{f'{files} files of ' if files > 1 else ''}{goal}{several}"


@dataclass(frozen=True)
class RecordedProgram:
    """A program of a run. Its times are in ns from time zero, each None if it is unknown, and so is its ``status``."""

    name: str
    role: str = ""
    start_ns: int | None = None
    end_ns: int | None = None
    status: int | None = None

    @property
    def span_ns(self) -> tuple[int, int] | None:
        """Its start and end; None unless both are known."""
        return None if self.start_ns is None or self.end_ns is None else (self.start_ns, self.end_ns)

    @property
    def workload(self) -> str:
        """The name before the last dot: workloads' programs are called ``WORKLOAD.client`` and ``WORKLOAD.server``."""
        return self.name.rpartition(".")[0]


def read_workloads(recording: Recording) -> list[RecordedWorkload]:
    """Return the workloads of a run, in the order of the scenario."""
    return list(map(RecordedWorkload.from_json, recording.manifest["workloads"]))


def read_workload(recording: Recording, name: str) -> RecordedWorkload:
    """Return one workload of a run. :raises ValueError: if the run has none of this name."""
    recorded = next((workload for workload in read_workloads(recording) if workload.name == name), None)
    if recorded is None:
        raise ValueError(f"the run has no workload '{name}'")
    return recorded


def read_programs(recording: Recording) -> list[RecordedProgram]:
    """Return the programs of a run."""
    return [
        RecordedProgram(
            entry["name"], entry.get("role", ""), entry.get("start_ns"), entry.get("end_ns"), entry.get("status")
        )
        for entry in recording.manifest.get("programs", ())
    ]


def _find_program(recording: Recording, name: str) -> RecordedProgram | None:
    return next((program for program in read_programs(recording) if program.name == name), None)


def read_start_ns(recording: Recording, program: str) -> int:
    """Return the start of a program, in ns from time zero. :raises ValueError: if it is unknown."""
    recorded = _find_program(recording, program)
    start_ns = None if recorded is None else recorded.start_ns
    if start_ns is None:
        raise ValueError(f"the start of {program} is unknown")
    return start_ns


def read_span_ns(recording: Recording, program: str) -> tuple[int, int]:
    """Return the start and end of a program, in ns from time zero. :raises ValueError: if they are unknown."""
    recorded = _find_program(recording, program)
    span = None if recorded is None else recorded.span_ns
    if span is None:
        raise ValueError(f"the times of {program} are unknown")
    return span


def read_zero_ns(recording: Recording) -> int:
    """Return the clock's value at the plan's time zero, from which times of programs and samples count, in ns."""
    return int(recording.manifest["zero_ns"])
