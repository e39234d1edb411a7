# SPDX-License-Identifier: MIT
"""Pauses of links that follow a trace: a rate of zero, in which packets wait, is not a tunnel, in which they are lost.

The lab applies zero as the lowest rate (:mod:`mptcplab.network.behaviours.bottleneck`), at which a frame leaves every
12 s. TCP takes the time that packets waited for their round-trip time, and its timeout becomes longer than the pause.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise

from mptcplab.lazy import pl
from mptcplab.metrics.capacity import rate_of
from mptcplab.metrics.ends import Ends
from mptcplab.metrics.manifest import read_paths
from mptcplab.recording.record import Recording

_NS = 1e9
#: Shorter pauses delay few acknowledgements by more than the timeouts that TCP has after a loss.
_LONG_S = 5.0


def pause_warnings(recording: Recording, ends: Ends, used: Collection[str], *, with_mptcp: bool) -> Iterator[str]:
    """Yield a warning for each link whose trace has a long pause, on the paths that a workload has.

    These are the ``used`` ones of TCP, and all of MPTCP, by their names in the manifest.
    """
    paths = read_paths(recording, ends.workload)
    own_paths = [] if with_mptcp else [name for name in paths if name in used]
    links = dict.fromkeys(link for name in own_paths or paths for link, _ in paths[name])
    events = recording.events
    if events.is_empty():
        return
    traces = events.filter(pl.col("kind") == "trace").sort("instant_ns")
    for link in links:
        longest = max((_longest_s(of_side) for of_side in _direction_events(traces, link)), default=0.0)
        if longest > _LONG_S:
            yield (
                f"{link} has a rate of 0 by its trace, for up to {longest:.3g} s: packets wait in it, and TCP takes "
                "that for their round-trip time; an event `down` loses them, as a tunnel does"
            )


def _direction_events(traces: pl.DataFrame, link: str) -> Iterator[list[tuple[int, str]]]:
    own_frame = traces.filter(pl.col("link") == link)
    for side in own_frame["direction"].unique(maintain_order=True):
        of_side = own_frame.filter(pl.col("direction") == side)
        yield list(zip(of_side["instant_ns"], of_side["value"], strict=True))


def _longest_s(steps: list[tuple[int, str]]) -> float:
    """Return the longest time in s from a step to a rate of zero until the next step."""
    lengths = (after - at for (at, value), (after, _) in pairwise(steps) if rate_of(value or "") == 0)
    return max(lengths, default=0) / _NS
