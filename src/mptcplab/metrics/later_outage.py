# SPDX-License-Identifier: MIT
"""Outages that are not what a failure interrupts: they begin long after it."""

from __future__ import annotations

from mptcplab.metrics.delivery import WINDOW_S
from mptcplab.metrics.rows import ResultRow

#: The metric, the times from the failure to it, and what begins with the failure.
OUTAGE, AFTER, INTERRUPTION = "outage_s", "outage_after_s", "interruption_s"
#: Such an outage is reported if it is longer than this, and longer by this factor than what the failure interrupts.
_WORTH_TELLING_S, _TIMES = 0.1, 1.5


def later_outages(row: ResultRow) -> list[float]:
    """Return when the outages of a row's runs begin that do so late, in seconds after the failure."""
    # Runs without an end of the outage have no such values: nothing later is known of them.
    after, outage, interruption = (
        dict(zip(row.seeds_of(name), row.samples.get(name, ()), strict=True)) for name in (AFTER, OUTAGE, INTERRUPTION)
    )
    return [
        after[seed]
        for seed in after.keys() & outage.keys() & interruption.keys()
        if after[seed] > WINDOW_S and outage[seed] > max(_WORTH_TELLING_S, _TIMES * interruption[seed])
    ]
