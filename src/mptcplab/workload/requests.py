# SPDX-License-Identifier: MIT
"""Requests and responses on persistent connections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from mptcplab.fields import Microseconds, Misnomers, Time, TimeDistribution, Whole, conflict, value_error
from mptcplab.units import Duration, Size
from mptcplab.workload import cost
from mptcplab.workload.context import microseconds
from mptcplab.workload.outputs import compute_percentiles
from mptcplab.workload.request import RequestWorkload


class Requests(RequestWorkload):
    """Requests and responses on persistent connections, with a think time in between."""

    advice: ClassVar[Mapping[str, str]] = {
        "interval": "`think` is the time from a response to the next request; `web` and `stream` have an `interval`"
    }
    misnomers: ClassVar[Misnomers] = {
        "count": ("requests", "number", "n"),
        "think": ("think_time", "pause", "wait"),
    }

    connects_at_once = True

    kind: Literal["requests"]
    duration: Time | None = Field(default=None, description="time to send requests for")
    count: Whole | None = Field(
        default=None, ge=1, le=1_000_000, description="number of requests on each connection", examples=[100]
    )
    response: Size = Field(default=Size(10_000), description="size of a response, or its mean")
    think: Microseconds = Field(default=Duration(0), description="time from a response to the next request")
    times: TimeDistribution = Field(default="fixed", description="distribution of the times of `think`")
    connections: Whole = Field(default=1, ge=1, le=1024, description="simultaneous connections", examples=[1])

    @property
    def advances_time(self) -> bool:
        return self.think > 0

    @model_validator(mode="after")
    def _goal(self) -> Requests:
        if self.count is None:
            self._check_goal(self.duration, None)
        elif self.duration is not None:
            raise conflict("cannot be combined with a duration", "remove one of the two: either ends it", "count")
        if self.response == 0:
            raise value_error("would transfer nothing", "use more than zero", "response")
        return self

    def _requests(self) -> Iterator[str]:
        yield from ("--connections", str(self.connections))
        if self.duration is not None:
            yield from ("--seconds", self.duration.decimal_seconds)
        if self.count is not None:
            yield from ("--requests", str(self.count))
        yield from ("--response-bytes", str(int(self.response)), "--think-us", microseconds(self.think))
        if self.times == "exponential":
            yield "--exponential"

    def cpu_seconds(self, capacity_bps: float) -> float:  # noqa: ARG002
        """See the base class."""
        return cost.answers_cpu_seconds(self._responses(), self.response)

    def logged_bytes(self, seconds: float, samples: float, subflows: int) -> float:  # noqa: ARG002
        """See the base class."""
        return self.connections * cost.sample_log_bytes(samples, subflows) + cost.LOGGED_REQUEST * self._responses()

    def _responses(self) -> float:
        if self.count is not None:
            return float(self.count * self.connections)
        each_ns = float(self.think) + cost.ROUND_TRIP_NS
        return self.connections * float(self.duration or 0) / each_ns

    @classmethod
    def _metrics(cls, times_s: list[float]) -> dict[str, float]:
        times_ms = [1e3 * time for time in times_s]
        metrics = {"requests": float(len(times_s)), "response_max_ms": max(times_ms)}
        return metrics | compute_percentiles(times_ms, "response", "ms", (50, 95, 99))
