# SPDX-License-Identifier: MIT
"""Find the costs per system call and per byte that explain a program's CPU time under several loads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class LoadSample:
    """One load of one side of a program, all by byte of payload that the load moved.

    ``cpu_ns`` is CPU time, ``calls`` and ``bytes`` are system calls and the bytes that they read and wrote.
    """

    load: str
    cpu_ns: float
    calls: float
    bytes: float


@dataclass(frozen=True)
class Costs:
    """The time of a system call and of each byte that it reads or writes, in ns."""

    per_call_ns: float
    per_byte_ns: float

    def cost_of(self, sample: LoadSample) -> float:
        """Return the CPU time by byte of payload that the costs give for a load, in ns."""
        return self.per_call_ns * sample.calls + self.per_byte_ns * sample.bytes

    def error(self, sample: LoadSample) -> float:
        """Return by which fraction of the measured CPU time that is too much; negative if it is too little."""
        return self.cost_of(sample) / sample.cpu_ns - 1


def fit(samples: Sequence[LoadSample]) -> Costs:
    """Return the costs with the smallest sum of squared relative errors. Neither is negative.

    It is a least-squares problem of two unknowns: if the free minimum has a negative cost, the minimum without that
    cost is the solution, because the sum is convex.
    """
    rows = [(sample.calls / sample.cpu_ns, sample.bytes / sample.cpu_ns) for sample in samples]
    cc, cb, bb = (sum(row[i] * row[j] for row in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    c, b = (sum(row[i] for row in rows) for i in (0, 1))
    determinant = cc * bb - cb * cb
    alone = (Costs(c / cc if cc else 0.0, 0.0), Costs(0.0, b / bb if bb else 0.0))
    if determinant > 1e-9 * cc * bb:
        free = Costs((c * bb - b * cb) / determinant, (b * cc - c * cb) / determinant)
        if free.per_call_ns >= 0 and free.per_byte_ns >= 0:
            return free
    return min(alone, key=lambda costs: sum(costs.error(sample) ** 2 for sample in samples))
