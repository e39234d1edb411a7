# SPDX-License-Identifier: MIT
"""On stock kernels the eBPF programs do what coupled congestion controls are for: no harm at a shared bottleneck.

Four seeds show whether something is broken; docs/ebpf.md has the intervals of more (``python -m bench.shares``).
"""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest
from bench.shares import measure

from mptcplab.errors import LabError

_SEEDS = (1, 2, 3, 4)


def share(kernel: str, control: str, folder: Path) -> float:
    """Return the goodput of the MPTCP connection as a multiple of TCP's, by the mean over the seeds."""
    try:
        rows = [measure(f"stock:{kernel}", control, seed, folder) for seed in _SEEDS]
    except LabError as error:
        pytest.fail(f"{error.message}; {error.hint}", pytrace=False)
    ratio = fmean(row.ratio for row in rows)
    print(f"{control} on {kernel}: {rows}, ratio {ratio:.2f}")
    return ratio


@pytest.mark.parametrize(("kernel", "control"), [("6.12", "lia"), ("6.12", "olia"), ("6.12", "balia"), ("7.2", "lia")])
def test_a_coupled_connection_takes_as_much_as_one_tcp(kernel: str, control: str, tmp_path: Path) -> None:
    """Means of many seeds are from 0.92 to 1.07, see docs/ebpf.md; the standard deviation of one is 0.18 at most.

    So a mean of four is further than 0.25 away in one of two hundred cases. Uncoupled Reno takes 1.7 times the share.
    """
    assert 0.68 < share(kernel, control, tmp_path) < 1.32


def test_an_uncoupled_connection_takes_clearly_more(tmp_path: Path) -> None:
    """The control case: without coupling, two subflows are two TCPs, which would have twice as much as one."""
    assert share("6.12", "reno", tmp_path) > 1.4
