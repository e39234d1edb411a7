# SPDX-License-Identifier: MIT
"""Typed entries of a manifest, for readers of recordings: links, paths and programs.

``campaign/contract.py`` writes links and paths, ``campaign/record.py`` adds the programs. An entry is read when it is
asked for, which takes microseconds. Keys of the scenario that only one reader needs stay in :attr:`LinkDirection.keys`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mptcplab.network.losses import LossChances
from mptcplab.recording.record import Recording
from mptcplab.units import Duration, Rate

#: A link and the direction in which a path passes it.
Step = tuple[str, str]
DIRECTIONS = ("forward", "backward")


@dataclass(frozen=True)
class LinkDirection:
    """One direction of a link, as the scenario asked for it.

    ``payload_bps`` is the maximum payload rate of TCP, None if nothing limits it. ``shaped_at`` has the node and device
    whose disciplines shape the direction, None if none do. ``keys`` are the keys of the scenario with their texts.
    """

    payload_bps: float | None
    shaped_at: tuple[str, str] | None
    chances: LossChances
    keys: Mapping[str, Any]

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> LinkDirection:
        """Return the direction of a manifest's entry."""
        shaper = entry.get("shaped_at")
        chances = LossChances.from_json(entry["chances"]) if "chances" in entry else LossChances()
        return cls(entry.get("payload_bps"), None if shaper is None else (shaper[0], shaper[1]), chances, entry)

    @property
    def rate_bps(self) -> float | None:
        """The rate in bit/s; None without one."""
        rate = self.keys.get("rate")
        return None if rate is None else float(Rate.parse(rate))

    @property
    def delay_s(self) -> float:
        """The configured delay."""
        return Duration.parse(self.keys["delay"]).seconds

    @property
    def has_trace(self) -> bool:
        """Whether the direction follows a trace."""
        return bool(self.keys.get("trace"))


@dataclass(frozen=True)
class Link:
    """A link between two nodes; ``forward`` is from the first to the second."""

    name: str
    between: tuple[str, str]
    forward: LinkDirection
    backward: LinkDirection

    def side(self, direction: str) -> LinkDirection:
        """Return one direction."""
        return self.forward if direction == DIRECTIONS[0] else self.backward

    @property
    def sides(self) -> tuple[LinkDirection, LinkDirection]:
        """Both directions."""
        return self.forward, self.backward


@dataclass(frozen=True)
class Program:
    """A program of a run. Its times are in ns from time zero, each None if it is unknown."""

    name: str
    role: str
    start_ns: int | None
    end_ns: int | None

    @property
    def span_ns(self) -> tuple[int, int] | None:
        """Its start and end; None unless both are known."""
        return None if self.start_ns is None or self.end_ns is None else (self.start_ns, self.end_ns)

    @property
    def workload(self) -> str:
        """The name before the last dot: workloads' programs are called ``WORKLOAD.client`` and ``WORKLOAD.server``."""
        return self.name.rpartition(".")[0]


def read_links(recording: Recording) -> dict[str, Link]:
    """Return the links of a run by name, in the order of the scenario."""
    return {
        entry["name"]: Link(
            entry["name"],
            (entry["between"][0], entry["between"][1]),
            LinkDirection.from_json(entry["forward"]),
            LinkDirection.from_json(entry["backward"]),
        )
        for entry in recording.manifest["links"]
    }


def read_paths(recording: Recording, workload: str) -> dict[str, list[Step]]:
    """Return the paths of a workload from its sender to its receiver, by the names that subflows have there."""
    paths = recording.manifest["paths"].get(workload, {})
    return {name: [(link, direction) for link, direction in steps] for name, steps in paths.items()}


def read_programs(recording: Recording) -> list[Program]:
    """Return the programs of a run."""
    return [
        Program(entry["name"], entry.get("role", ""), entry.get("start_ns"), entry.get("end_ns"))
        for entry in recording.manifest.get("programs", ())
    ]
