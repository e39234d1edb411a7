# SPDX-License-Identifier: MIT
"""Tables of docs/behaviour-dynamics.md, from recordings; ``make docs`` writes them.

Means are over seeds, with 95 % intervals (Student's t).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from tools.docs.beyond_window import count_dropped
from tools.docs.figures.dynamics import path_base_s, path_rates, path_waiting, path_windows
from tools.docs.figures.window import KERNEL

from mptcplab.recording.record import Recording
from mptcplab.results import Results, open_results
from mptcplab.stats import mean_interval

Row = tuple[str, ...]
#: The recordings of all seeds, by settings.
Points = dict[tuple[str, ...], list[Recording]]


def points(results: Results) -> Points:
    """Return the runs of each point of the sweep."""
    points: Points = {}
    for run in results.recorded:
        points.setdefault(tuple(run.settings.values()), []).append(run.recording)
    return points


def mean_text(values: Iterable[float], digits: int = 1) -> str:
    """Return mean and half width as text, or ``-`` if a value is not a number."""
    numbers = list(values)
    if any(map(math.isnan, numbers)):
        return "-"
    interval = mean_interval(numbers)
    return f"{interval.mean:.{digits}f} ± {interval.half_width or 0:.{digits}f}"


def table(head: Row, rows: Sequence[Row]) -> str:
    """Return a Markdown table."""
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ("---",) * len(head), *rows)) + "\n"


#: Of balia-responsiveness: start of the TCP flows, end of their writing, and intervals in which rates have settled.
JOIN_S, LEAVE_S = 20, 50
BEFORE, SHARED = (10, 20), (35, 50)
PATH1, PATH2 = "access1>link1", "access2>exit"


def moves(recording: Recording) -> dict[str, float]:
    """Return the values of one run of balia-responsiveness: times in s, rates in Mbit/s."""
    rates = path_rates(recording, "multipath")
    before, shared = (rates.mean(PATH2, *stretch) for stretch in (BEFORE, SHARED))
    tcp = path_rates(recording, "tcp").mean("access3>exit2", *SHARED)
    away = rates.time_until(PATH2, JOIN_S, shared + 0.1 * (before - shared), falling=True)
    back = rates.time_until(PATH2, LEAVE_S, 0.9 * before)
    if away is None or back is None:
        raise ValueError(f"{recording.folder} ends before the rate of link2 has recovered")
    rates_of = {"away": away, "link1": rates.mean(PATH1, *SHARED) / 1e6, "link2": shared / 1e6}
    return rates_of | {"tcp": tcp / 4e6, "back": back, "grown": growth_s(recording)}


#: Windows in segments between which the growth of a freed path is timed: the largest remainder, and a full path.
SMALL, FULL = 5, 30


def growth_s(recording: Recording) -> float:
    """Return the time from the last sample of link2's window of at most :data:`SMALL` to the first of :data:`FULL`.

    It counts after :data:`LEAVE_S`, and is NaN if the window was not that small then.
    """
    times, windows = path_windows(recording, "multipath", PATH2)
    later = times >= LEAVE_S
    times, windows = times[later], windows[later]
    full = np.flatnonzero(windows >= FULL)
    small = np.flatnonzero(windows[: full[0]] <= SMALL) if len(full) else full
    return float(times[full[0]] - times[small[-1]]) if len(small) else math.nan


def backlog(folder: Path) -> str:
    """Return the rate of MPTCP on link1, which is its own, before and after TCP flows appear on link2.

    A second table has the kernel as a further setting. Segments dropped beyond the connection's window are shown as one
    number per run, in the order of the seeds.
    """
    rows = []
    for (_, scheduler, *kernel), recordings in points(open_results(folder)).items():
        runs = [path_rates(recording, "multipath") for recording in recordings]
        before = mean_text((rates.mean(PATH1, *BEFORE) / 1e6 for rates in runs), 2)
        after = mean_text((rates.mean(PATH1, JOIN_S, JOIN_S + 10) / 1e6 for rates in runs), 2)
        slowest = mean_text((float(rates.by_path[PATH1][JOIN_S:LEAVE_S].min()) / 1e6 for rates in runs), 2)
        drops = ", ".join(str(count_dropped(recording.folder)) for recording in recordings)
        name = f"`{scheduler}`" + "".join(KERNEL[name] for name in kernel)
        rows.append((name, before, after, slowest, drops, str(len(runs))))
    head = ("scheduler", "before", "the first 10 s beside TCP flows", "slowest second beside them", "dropped", "n")
    return table(head, rows)


def responsiveness(points: Points) -> str:
    """Return the table of times and rates."""
    rows = []
    for (control,), recordings in points.items():
        runs = [moves(recording) for recording in recordings]
        cells = [mean_text((run[key] for run in runs), digits) for key, digits in
                 (("away", 1), ("link2", 2), ("tcp", 2), ("link1", 2), ("back", 1), ("grown", 1))]  # fmt: skip
        rows.append((control, *cells, str(len(runs))))
    head = ("congestion control", "moved away after (s)", "link2 then (Mbit/s)", "each TCP flow (Mbit/s)",
            "link1 then (Mbit/s)", "back after (s)", f"from {SMALL} to {FULL} segments (s)", "n")  # fmt: skip
    return table(head, rows)


#: Of balia-friendliness in Mbit/s, by tests/unit/coupled/fluid.py: MPTCP on both paths, a TCP flow on both paths.
FLUID = {
    "reno": (4.70, 3.13, 4.70, 3.13),
    "lia": (3.82, 1.78, 5.58, 3.82),
    "olia": (4.59, 0.23, 4.81, 4.59),
    "balia": (4.01, 1.37, 5.39, 4.01),
}


def friendliness(points: Points) -> str:
    """Return the rates of all connections from 30 s to 115 s."""
    stretch, rows = (30, 115), []
    for (control,), recordings in points.items():
        of_multipath = [path_rates(recording, "multipath") for recording in recordings]
        first = [path_rates(recording, "tcp1").mean("access3>exit3", *stretch) / 1e6 for recording in recordings]
        second = [path_rates(recording, "tcp2").mean("access4>exit4", *stretch) / 2e6 for recording in recordings]
        by_path = [
            [rates.mean(path, *stretch) / 1e6 for rates in of_multipath] for path in ("access1>exit1", "access2>exit2")
        ]
        total = [rate + two for rate, two in zip(*by_path, strict=True)]
        rows.append(
            (control, *(mean_text(values, 2) for values in (*by_path, total, first, second)), str(len(of_multipath)))
        )
    head = (
        "congestion control",
        "MPTCP on link1",
        "MPTCP on link2",
        "MPTCP in all",
        "TCP on link1",
        "each TCP on link2",
        "n",
    )
    return table(head, rows)


def queue(points: Points) -> str:
    """Return the waiting packets, from 10 s to 30 s, by number of paths."""
    rows: list[Row] = []
    for (control, more), recordings in points.items():
        runs = [path_waiting(recording, "multipath", 10, 30) for recording in recordings]
        packets = [sum(path.packets for path in run.values()) for run in runs]
        delay = [1e3 * float(np.mean([path.delay_s for path in run.values()])) for run in runs]
        rows.append((control, str(int(more) + 1), mean_text(packets), mean_text(delay), str(len(runs))))
    return table(("congestion control", "paths", "packets waiting", "delay per path (ms)", "n"), rows)


#: Of wvegas-equal-congestion: the interval in which MPTCP and the TCP flow have settled.
BESIDE = (60, 100)


def _rates_beside(recordings: Sequence[Recording]) -> tuple[str, str]:
    """Return the rates in Mbit/s of MPTCP on both paths together, and of the TCP flow beside it."""
    of_multipath = [path_rates(recording, "multipath") for recording in recordings]
    tcp = [path_rates(recording, "tcp").mean("access3>exit2", *BESIDE) / 1e6 for recording in recordings]
    return mean_text(
        ((rates.mean(PATH1, *BESIDE) + rates.mean(PATH2, *BESIDE)) / 1e6 for rates in of_multipath), 2
    ), mean_text(tcp, 2)


def equal(points: Points) -> str:
    """Return both paths' queueing delay, alone (15 s to 40 s) and beside the TCP flow (60 s to 100 s)."""
    rows = []
    for (control,), recordings in points.items():
        cells = []
        for stretch in ((15, 40), BESIDE):
            runs = [path_waiting(recording, "multipath", *stretch) for recording in recordings]
            cells += [mean_text(1e3 * run[path].delay_s for run in runs) for path in (PATH1, PATH2)]
        rows.append((control, *cells, *_rates_beside(recordings), str(len(recordings))))
    head = ("congestion control", "link1 alone (ms)", "link2 alone (ms)", "link1 shared (ms)", "link2 shared (ms)",
            "MPTCP (Mbit/s)", "TCP flow (Mbit/s)", "n")  # fmt: skip
    return table(head, rows)


def latecomer(folder: Path) -> str:
    """Return delays, shares and the TCP flow's smallest round-trip time, by the flow's start; from 60 s to 100 s."""
    rows = []
    for (_, start, _), recordings in points(open_results(folder)).items():
        waiting = [path_waiting(recording, "multipath", *BESIDE) for recording in recordings]
        smallest = [path_base_s(recording, "tcp") * 1e3 for recording in recordings]
        delays = (mean_text(1e3 * run[path].delay_s for run in waiting) for path in (PATH1, PATH2))
        rows.append((start, mean_text(smallest), *delays, *_rates_beside(recordings), str(len(recordings))))
    head = (
        "TCP flow from",
        "its min RTT (ms)",
        "link1 (ms)",
        "link2 (ms)",
        "MPTCP (Mbit/s)",
        "TCP flow (Mbit/s)",
        "n",
    )
    return table(head, rows)


TABLES: dict[str, Callable[[Points], str]] = {
    "balia-responsiveness": responsiveness,
    "balia-friendliness": friendliness,
    "wvegas-queue": queue,
    "wvegas-equal-congestion": equal,
}


def table_of(name: str, folder: Path) -> str:
    """Return the table of one scenario, from the results in ``folder``."""
    return TABLES[name](points(open_results(folder)))


def friendliness_expected() -> str:
    """Return the fluid model's table for balia-friendliness."""
    head = (
        "congestion control",
        "MPTCP on link1",
        "MPTCP on link2",
        "MPTCP in all",
        "TCP on link1",
        "each TCP on link2",
    )
    rows = [
        (control, *(f"{value:.2f}" for value in (first, second, first + second, alone, shared)))
        for control, (first, second, alone, shared) in FLUID.items()
    ]
    return table(head, rows)
