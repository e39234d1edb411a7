# SPDX-License-Identifier: MIT
"""The rules of coupled congestion control in floating point, written from their specifications alone.

They are what the fixed-point arithmetic of `kernel/net/mptcp/coupled_*.h` is held against, so nothing here was
taken from that code. Sources:

- LIA: RFC 6356, sections 3 and 4.
- OLIA: Khalili, Gast, Popovic, Le Boudec, CoNEXT 2012, and draft-khalili-mptcp-congestion-control-05. The best paths
  are those with the largest l/rtt^2 (the authors' code): TCP's rate on a path with one loss in l is sqrt(2 l)/rtt.
  Implementations that follow the draft have l^2/rtt: `olia_best(draft=True)`.
- BALIA: Peng, Walid, Hwang, Low, and draft-walid-mptcp-congestion-control-04.
- wVegas: Cao, Xu, Fu, ICNP 2012, and draft-xu-mptcp-congestion-control-05.

A window is in segments, a round trip time (RTT) in any unit that is the same for all paths, a rate in segments per
that unit. An increase is what one acknowledged segment adds to the window, in segments; a decrease is what one loss
takes from it. Whole numbers stay whole as long as they are compared, so that ties are ties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

#: wVegas: what one connection wants to keep queued on all its paths together, in segments.
TOTAL_ALPHA = 10


@dataclass(frozen=True)
class Path:
    """One subflow as its siblings see it."""

    window: float
    rtt: float
    #: OLIA's l: the larger of what was sent since the last loss, and between the last two losses.
    loss_gap: float = 0

    @property
    def rate(self) -> float:
        """In segments per unit of RTT."""
        return self.window / self.rtt


def reno_increase(paths: Sequence[Path], r: int) -> float:
    """Of an uncoupled path: one segment per window."""
    return 1 / paths[r].window


def reno_decrease(paths: Sequence[Path], r: int) -> float:
    """Half of the window: of Reno, and of LIA and OLIA."""
    return paths[r].window / 2


def lia_alpha(paths: Sequence[Path]) -> float:
    """RFC 6356, section 3: how aggressive the whole connection is; 1 for one path."""
    best = max(path.window / path.rtt**2 for path in paths)
    total = sum(path.window for path in paths)
    return total * best / sum(path.rate for path in paths) ** 2


def lia_increase(paths: Sequence[Path], r: int) -> float:
    """RFC 6356, section 3: alpha over the total window, but never more than TCP on this path."""
    return min(lia_alpha(paths) / sum(path.window for path in paths), reno_increase(paths, r))


def olia_largest(paths: Sequence[Path], slack: float = 0) -> set[int]:
    """OLIA's M; with slack for an implementation that knows windows to whole segments only."""
    most = max(path.window for path in paths)
    return {r for r, path in enumerate(paths) if path.window >= most - slack}


def olia_best(paths: Sequence[Path], *, draft: bool = False) -> set[int]:
    """OLIA's B; by multiplication, which is exact on whole numbers."""

    def no_better(path: Path, other: Path) -> bool:
        if draft:
            return path.loss_gap**2 * other.rtt <= other.loss_gap**2 * path.rtt
        return path.loss_gap * other.rtt**2 <= other.loss_gap * path.rtt**2

    return {r for r, path in enumerate(paths) if all(no_better(other, path) for other in paths)}


def olia_epsilon(paths: Sequence[Path], r: int, slack: float = 0, *, draft: bool = False) -> float:
    """The paper's alpha_r: moves window from the largest paths to better ones; all of them sum to zero."""
    largest = olia_largest(paths, slack)
    better = olia_best(paths, draft=draft) - largest
    if not better:
        return 0
    if r in better:
        return 1 / (len(paths) * len(better))
    return -1 / (len(paths) * len(largest)) if r in largest else 0


def olia_coupled_term(paths: Sequence[Path], r: int) -> float:
    """The first term of OLIA's increase: Kelly and Voice's, which balances the congestion of the paths."""
    return paths[r].window / paths[r].rtt ** 2 / sum(path.rate for path in paths) ** 2


def olia_increase(paths: Sequence[Path], r: int) -> float:
    """May be negative."""
    return olia_coupled_term(paths, r) + olia_epsilon(paths, r) / paths[r].window


def balia_alpha(paths: Sequence[Path], r: int) -> float:
    """The fastest path's rate over this one's: 1 or more."""
    return max(path.rate for path in paths) / paths[r].rate


def balia_increase(paths: Sequence[Path], r: int) -> float:
    """x_r / (rtt_r (sum x)^2) times (1 + alpha)/2 times (4 + alpha)/5."""
    alpha = balia_alpha(paths, r)
    return olia_coupled_term(paths, r) * (1 + alpha) / 2 * (4 + alpha) / 5


def balia_decrease(paths: Sequence[Path], r: int) -> float:
    """Between a half and three quarters of the window."""
    return paths[r].window / 2 * min(balia_alpha(paths, r), 1.5)


def wvegas_diff(window: float, base_rtt: float, rtt: float) -> float:
    """The segments that this path has in queues: (expected rate - actual rate) * base RTT."""
    return window * (rtt - base_rtt) / rtt


def wvegas_target(rates: Sequence[float], r: int) -> float:
    """What path r should keep queued: its share of the rate, of `TOTAL_ALPHA` segments."""
    return TOTAL_ALPHA * rates[r] / sum(rates)


@dataclass(frozen=True)
class VegasPath:
    """One subflow of wVegas in congestion avoidance."""

    window: float
    base_rtt: float
    #: The rate when the path last filled its share of queue: a path's weight follows that only.
    rate: float
    #: What it should keep queued, in segments.
    target: float
    #: The smallest queueing delay since the last drain, 0 for none yet.
    queue_delay: float = 0


def wvegas_step(paths: Sequence[VegasPath], r: int, rtt: float) -> VegasPath:
    """Path r after one round trip whose mean was `rtt`: one segment up, down, or neither; no drain."""
    path = paths[r]
    diff = wvegas_diff(path.window, path.base_rtt, rtt)
    if diff >= path.target:
        rates = [other.rate for other in paths]
        rates[r] = path.window / rtt
        path = replace(path, rate=rates[r], target=wvegas_target(rates, r))
    if diff > path.target:
        return replace(path, window=max(path.window - 1, 2))
    return replace(path, window=path.window + 1) if diff < path.target else path


def wvegas_drain(path: VegasPath, rtt: float) -> VegasPath:
    """The same path once its queueing delay has doubled: it empties its queue to see its true base RTT."""
    delay = rtt - path.base_rtt
    if delay <= 0:
        return path
    smallest = delay if path.queue_delay == 0 else min(delay, path.queue_delay)
    if delay < 2 * smallest:
        return replace(path, queue_delay=smallest)
    return replace(path, window=max(path.window * path.base_rtt / (2 * rtt), 2), queue_delay=0)
