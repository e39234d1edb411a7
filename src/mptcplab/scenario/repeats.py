# SPDX-License-Identifier: MIT
"""``repeats`` as a table: repeat a point until its interval is narrow enough, or a maximum is reached."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from mptcplab.fields import Misnomers, OneOf, Part, Whole, conflict, value_error
from mptcplab.units import Probability

MAX_REPEATS = 10_000


def _metrics() -> dict[str, str]:
    """Return the JSON names of the metrics of which a row has one value from its own runs, by the names that users
    type."""
    from mptcplab.metrics.registry import CALLED, METRICS  # late: few scenarios need it, and it imports all metrics

    return {noun: name for noun, name in CALLED.items() if not METRICS[name].of_rows and not METRICS[name].by_path}


class Repeats(Part):
    """The number of runs of a point: more runs until every workload's interval is narrow enough."""

    misnomers: ClassVar[Misnomers] = {
        "until": ("precision", "target", "width", "error", "ci"),
        "of": ("metric", "what"),
        "min": ("least", "minimum", "at_least"),
        "max": ("most", "maximum", "at_most", "limit"),
    }

    until: Probability = Field(
        description="a point ends when the 95 % confidence interval's half width is at most this share of the mean",
        examples=["2 %"],
    )
    of: Annotated[str, OneOf(_metrics)] = Field(
        default="goodput",
        description="the metric whose mean is used: goodput, duration, retransmitted, or the JSON name of another one "
        "from docs/metrics.md",
    )
    min: Whole = Field(default=3, ge=2, le=MAX_REPEATS, description="minimum number of runs", examples=[3])
    max: Whole = Field(default=30, ge=2, le=MAX_REPEATS, description="maximum number of runs", examples=[30])

    @model_validator(mode="after")
    def _check(self) -> Repeats:
        if self.until == 0:
            raise value_error("is never reached", 'use a share, like until = "2 %"', "until")
        if self.min > self.max:
            raise conflict(f"is more than max = {self.max}", "raise max, or lower min", "min")
        return self

    @property
    def share(self) -> float:
        """The maximum half width, as a share of the mean."""
        return int(self.until) / 1e9

    @property
    def metric(self) -> str:
        """The JSON name of the metric whose mean is used."""
        return _metrics()[self.of]

    def next_total(self, runs: int) -> int:
        """Return the number of runs after the next round: half as many again, so that several can run in parallel.

        It depends on the number of runs only, so that a sweep with more jobs, or a resumed one, makes the same runs.
        """
        return self.min if runs < self.min else min(self.max, runs + (runs + 1) // 2)
