# SPDX-License-Identifier: MIT
"""Open a results folder: its runs, samples and rows as data frames, for notebooks and for the report.

    from mptcplab.results import open_results

    results = open_results("results/two-paths")
    results.runs          # one line per run and workload: settings, seed, goodput, shares, warnings
    results.subflows      # every sample of every subflow, with the settings of its run as columns
    results.table         # the rows of the experiment's table: means and their intervals

Nothing is run, and nothing is written. The data frames are polars'; :func:`to_pandas` converts them to pandas. Names of
columns contain the units; samples have the kernel's names and units of TCP_INFO and MPTCP_INFO.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mptcplab.lazy import lazy_names

if TYPE_CHECKING:
    from mptcplab.results.folder import DAMAGED_RESULTS, PARTIAL, Results, open_every, open_results, read_log
    from mptcplab.results.frames import RecordedRun, to_pandas

__all__ = [
    "DAMAGED_RESULTS",
    "PARTIAL",
    "RecordedRun",
    "Results",
    "open_every",
    "open_results",
    "read_log",
    "to_pandas",
]
__getattr__ = lazy_names(__name__)
