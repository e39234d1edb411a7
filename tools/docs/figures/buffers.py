# SPDX-License-Identifier: MIT
"""Tables of docs/schedulers.md: goodput by receive buffer, one column for each sender."""

from __future__ import annotations

from pathlib import Path

from tools.docs.figures import grid, window

from mptcplab.metrics.rows import ResultRow

_BUFFER = "transport.tcp_rmem"
_MODES = {0: "", 1: "retransmission", 2: "penalisation", 3: "both"}


def table_of(folder: Path) -> str:
    """Return the table of goodput in Mbit/s, from the results in ``folder``."""
    return grid.Grid(["receive buffer"], [grid.last_value(_BUFFER)], _sender, {"": grid.value()}).table_of(folder)


def counts_of(folder: Path) -> str:
    """Return the means per run of segments retransmitted opportunistically, and of windows halved."""
    counts = grid.join(
        grid.mean_count(lambda row: [count.opportunistic_retransmissions for count in row.counts]),
        grid.mean_count(lambda row: [count.penalties for count in row.counts]),
    )
    table = grid.Grid(["receive buffer"], [grid.last_value(_BUFFER)], _sender_with_counts, {"": counts})
    return table.table_of(folder)


def with_fix(folder: Path) -> str:
    """Return goodput in Mbit/s on mainline and with the fix of the connection's window."""
    return grid.Grid(["receive buffer"], [grid.last_value(_BUFFER)], _sender_on_kernel, {"": grid.value()}).table_of(
        folder
    )


def _sender_on_kernel(row: ResultRow) -> str:
    return f"{_sender(row)}{window.KERNEL[row.settings['kernel']]}"


def _sender(row: ResultRow) -> str:
    """Return ``TCP``, or the scheduler with the active mechanisms."""
    if row.settings["transport.protocol"] == "tcp":
        return "TCP"
    mode = _MODES[grid.number_in(row.settings.get("transport.sysctl", ""))]
    return f"`{row.settings['transport.scheduler']}`{', ' if mode else ''}{mode}"


def _sender_with_counts(row: ResultRow) -> str:
    counts = row.settings["transport.scheduler"] == "minrtt_v09" or grid.number_in(row.settings["transport.sysctl"])
    return _sender(row) if counts else ""
