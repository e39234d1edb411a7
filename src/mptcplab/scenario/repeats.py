# SPDX-License-Identifier: MIT
"""``repeats`` as a table: run a point again until its result is certain enough, or a cap is reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from mptcplab.fields import Part, Whole, clash, fault
from mptcplab.metrics.registry import CALLED, METRICS
from mptcplab.units import Probability

MOST_REPEATS = 10_000

if TYPE_CHECKING:
    MetricName = str
else:
    MetricName = Literal[tuple(noun for noun, name in CALLED.items() if not METRICS[name].of_rows)]


class Repeats(Part):
    """How many runs a point gets: more until every workload's interval is narrow enough."""

    until: Probability = Field(
        description="end a point when the half width of the 95 % confidence interval is at most this share of the mean",
        examples=["2 %"],
    )
    of: MetricName = Field(
        default="goodput",
        description="the metric whose mean counts: goodput, duration, retransmitted, or another of docs/metrics.md by "
        "its name in JSON",
    )
    min: Whole = Field(default=3, ge=2, le=MOST_REPEATS, description="runs that every point gets", examples=[3])
    max: Whole = Field(default=30, ge=2, le=MOST_REPEATS, description="runs that no point exceeds", examples=[30])

    @model_validator(mode="after")
    def _possible(self) -> Repeats:
        if self.until == 0:
            raise fault("is never reached", 'for example until = "2 %"', "until")
        if self.min > self.max:
            raise clash(f"is more than the {self.max} runs of `max`", "raise max, or lower min", "min")
        return self

    @property
    def share(self) -> float:
        """Largest half width, as a share of the mean."""
        return int(self.until) / 1e9

    @property
    def metric(self) -> str:
        """The name of the metric that counts."""
        return CALLED[self.of]

    def next_total(self, runs: int) -> int:
        """How many runs a point has after the next round: half as many again, so that several can run side by side.

        Depends on the number of runs only, so that a sweep with more jobs, or one that was resumed, makes the same.
        """
        return self.min if runs < self.min else min(self.max, runs + (runs + 1) // 2)
