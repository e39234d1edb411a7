# SPDX-License-Identifier: MIT
"""Delays drawn from a table of our own, and the file from which ``tc`` reads it.

netem draws one of the table's entries for each packet, all with the same probability, and delays by
``middle + deviation * entry / 8192``; entries are 16 bits with a sign.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

from mptcplab.steps import Command, shell
from mptcplab.units import Duration

SCALE = 8192
#: netem's tables have at most this many entries.
MAX_ENTRIES = 16384
_MAX_ENTRY = 32767
#: Points at which quantiles are interpolated: a resolution of 0.05 % of all packets.
_POINTS = 2001
FOLDER = "/run/mptcplab"
#: ``tc`` looks for NAME.dist in its own folder; this leads from any such folder to the root.
_UP = "../../../../../.."


@dataclass(frozen=True)
class DelayDistribution:
    """A delay's middle and deviation, and runs of equal entries: (count, value)."""

    middle_ns: int
    deviation_ns: int
    entries: tuple[tuple[int, int], ...]


def undelayed_share(delay: Duration, share: Fraction) -> DelayDistribution:
    """Return a table that gives a ``share`` of the packets no delay.

    netem's own ``reorder`` would also let them pass the bottleneck.
    """
    near = share.limit_denominator(MAX_ENTRIES)
    rest = near.denominator - near.numerator
    return DelayDistribution(int(delay), int(delay), ((near.numerator, -SCALE), (rest, 0)))


def interpolate(delay: Duration, quantiles: tuple[Duration, ...]) -> DelayDistribution:
    """Return the table of ``delay`` plus ``quantiles``: between two of them the distribution is uniform."""
    first, last = int(quantiles[0]), int(quantiles[-1])
    middle = (first + last) // 2
    deviation = max(1, -((middle - last) * SCALE // _MAX_ENTRY))
    entries = []
    for number in range(_POINTS):
        place = Fraction(number * (len(quantiles) - 1), _POINTS - 1)
        below = min(int(place), len(quantiles) - 2)
        start, end = int(quantiles[below]), int(quantiles[below + 1])
        value = start + (end - start) * (place - below)
        entries.append((1, round((value - middle) * SCALE / deviation)))
    return DelayDistribution(int(delay) + middle, deviation, tuple(entries))


def table_name(link: str, direction: str) -> str:
    """Return the name of a direction's table for ``tc``."""
    return f"{_UP}{FOLDER}/{link}-{direction}"


def is_own_table(name: str) -> bool:
    """Return whether ``tc`` reads ``name`` from our folder, and not from its own."""
    return name.startswith(f"{_UP}{FOLDER}/")


def table_command(link: str, direction: str, spread: DelayDistribution) -> Command:
    """Return the command that writes the table's file."""
    parts: list[str] = []
    programs = ["mkdir"]
    for is_run, entries in itertools.groupby(spread.entries, key=lambda entry: entry[0] > 1):
        if is_run:
            parts += [f"yes -- {value} | head -n {count}" for count, value in entries]
            programs += ["yes", "head"]
        else:
            parts.append(f"printf '%s\\n' {' '.join(str(value) for _, value in entries)}")
    line = f"mkdir -p {FOLDER} && {{ {'; '.join(parts)}; }} > {FOLDER}/{link}-{direction}.dist"
    call = shell(line, *programs)
    return Command(None, call.argv, call.starts)
