# SPDX-License-Identifier: MIT
"""Expected values of docs/behaviour.md, by the fluid model and by the equations with random losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from tools.docs.figures import fluid, rounds
from tools.docs.figures.fluid import Algorithm, Path, Users, path
from tools.docs.making.pages import table_of as markdown

Pair = tuple[float | None, float | None]
Rates = list[list[float]]

ALGORITHMS: Mapping[str, Algorithm] = {"reno": "uncoupled", "lia": "lia", "olia": "olia"}
#: One segment of 1448 bytes per round trip of about 140 ms: 80 ms and a queue that is mostly rather full. Mbit/s.
_SEGMENT = 1448 * 8 / 0.140e6


def _rates(kinds: Sequence[Users], capacities: Mapping[str, float]) -> tuple[Rates | None, Rates]:
    modelled = all(kind.algorithm != "olia" for kind in kinds)
    return (
        fluid.fixed_point(kinds, capacities) if modelled else None,
        rounds.fixed_point(kinds, capacities, _SEGMENT),
    )


@cache
def best_path(place: str, control: str) -> Pair:
    """Return the goodput as a multiple of TCP's on link1."""
    if control not in ALGORITHMS:
        return None, None
    loss, rtt_ms = (float(part.split()[0]) for part in place.split(","))
    second = (0.2 / loss) ** 0.5 * 40 / rtt_ms
    in_fluid = {"reno": 1 + second, "lia": max(1.0, second)}.get(control)
    ticks = np.array([40, rtt_ms]) / 20
    windows = rounds.windows(ALGORITHMS[control], np.array([0.002, loss / 100]), ticks=ticks, rounds=10_000)
    tcp = rounds.windows("uncoupled", np.array([0.002]), ticks=ticks[:1], rounds=10_000)
    return in_fluid, float((windows / ticks).sum() / (tcp / ticks[:1])[0])


@cache
def shared_bottleneck(place: str, control: str) -> Pair:
    """Return the goodput as a multiple of a TCP flow's."""
    if control not in ALGORITHMS:
        return None, None
    subflows, beside = (int(number) for number in place.split(" beside "))
    paths = tuple(path("bottleneck") for _ in range(subflows))
    kinds = (Users(1, ALGORITHMS[control], paths), Users(beside, "uncoupled", (path("bottleneck"),)))
    mptcp, tcp = rounds.fixed_point(kinds, {"bottleneck": 10.0}, _SEGMENT)
    return {"reno": float(subflows), "lia": 1.0}.get(control), sum(mptcp) / tcp[0]


@cache
def congested_path(place: str, control: str) -> Pair:
    """Return the share of link2."""
    if control not in ALGORITHMS:
        return None, None
    kinds = (
        Users(1, ALGORITHMS[control], (path("link1"), path("link2"))),
        Users(1, "uncoupled", (path("link1"),)),
        Users(int(place), "uncoupled", (path("link2"),)),
    )
    rates = _rates(kinds, {"link1": 10, "link2": 10})
    shares = [None if rates is None else rates[0][1] / sum(rates[0]) for rates in rates]
    return shares[0], shares[1]


@cache
def scenario_a(place: str, control: str) -> Pair:
    """Return the TCP users' part of their access point's rate."""
    return _remaining_rates(int(place), control, "site", (path("site"), path("site", "shared")))


@cache
def scenario_c(place: str, control: str) -> Pair:
    """Return the TCP users' part of their access point's rate."""
    return _remaining_rates(int(place), control, "own", (path("own"), path("shared")))


def _remaining_rates(ratio: int, control: str, limit: str, paths: tuple[Path, Path]) -> Pair:
    if control not in ALGORITHMS:
        return 1.0, None
    rates = _rates(_beside_five(ratio, control, paths), _capacities(ratio, limit))
    left = [None if rates is None else 5 * rates[1][0] / 10 for rates in rates]
    return left[0], left[1]


def _beside_five(ratio: int, control: str, paths: tuple[Path, Path]) -> tuple[Users, Users]:
    return Users(5 * ratio, ALGORITHMS[control], paths), Users(5, "uncoupled", (path("shared"),))


def _capacities(ratio: int, limit: str) -> Mapping[str, float]:
    return {limit: 10.0 * ratio, "shared": 10.0}


def known_loss() -> str:
    """Return a table of scenario C by OLIA's equations with random losses of known probabilities."""
    left = []
    for ratio in (1, 2, 3):
        kinds = _beside_five(ratio, "olia", (path("own"), path("shared")))
        _, tcp = rounds.fixed_point(kinds, _capacities(ratio, "own"), _SEGMENT, knows_loss=True)
        left.append([str(ratio), f"{5 * tcp[0] / 10:.2f}"])
    return markdown(["users of MPTCP / users of TCP", "left for users of TCP"], left)


@cache
def scenario_b(_: str, control: str) -> Pair:
    """Return the goodput of all users after the upgrade, divided by 63 Mbit/s, two full links' goodput before it."""
    algorithm = ALGORITHMS[control]
    kinds = (
        Users(15, algorithm, (path("X"), path("T"))),
        Users(15, algorithm, (path("T"), path("X", "T"))),
    )
    rates = _rates(kinds, {"X": 27, "T": 36})
    parts = [None if rates is None else 15 * sum(sum(of_kind) for of_kind in rates) / 63 for rates in rates]
    return parts[0], parts[1]
