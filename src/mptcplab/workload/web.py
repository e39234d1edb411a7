# SPDX-License-Identifier: MIT
"""Short flows with random arrivals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from mptcplab.fields import Microseconds, Time, TimeDistribution, value_error
from mptcplab.units import Size
from mptcplab.workload import cost
from mptcplab.workload.context import microseconds
from mptcplab.workload.outputs import compute_completion_metrics
from mptcplab.workload.request import RequestWorkload

_MAX_FLOWS = 20_000
#: More connections than a workload can have, so that it ends with the arrivals.
_NO_LIMIT = 1_000_000


class Web(RequestWorkload):
    """Short flows, each on a connection of its own, with random arrivals."""

    example: ClassVar[Mapping[str, Any]] = {"duration": "1 s", "interval": "1 s"}
    first: ClassVar[Mapping[str, str]] = {"interval": "200 ms", "response": "60 kB"}
    noun: ClassVar[str] = "objects"
    time: ClassVar[str] = "completion time"

    kind: Literal["web"]
    duration: Time = Field(description="flows arrive for this long", examples=["10 s"])
    interval: Microseconds = Field(description="mean time from one arrival to the next", examples=["100 ms"])
    times: TimeDistribution = Field(
        default="exponential", description="distribution of these times; exponential gives a Poisson process"
    )
    response: Size = Field(default=Size(30_000), description="size of a flow, or its mean")

    @property
    def advances_time(self) -> bool:
        return True

    @model_validator(mode="after")
    def _goal(self) -> Web:
        self._check_goal(self.duration, None)
        if self.response == 0:
            raise value_error("would transfer nothing", "use more than zero", "response")
        if self.interval == 0 or self.duration > self.interval * _MAX_FLOWS:
            hint = f"use a longer interval: at most {_MAX_FLOWS} flows may arrive"
            raise value_error("gives too many flows", hint, "interval")
        return self

    def _requests(self) -> Iterator[str]:
        yield from ("--connections", str(_NO_LIMIT), "--seconds", self.duration.decimal_seconds)
        yield from ("--arrival-us", microseconds(self.interval), "--response-bytes", str(int(self.response)))
        if self.times == "exponential":
            yield "--exponential"

    def cpu_seconds(self, capacity_bps: float) -> float:  # noqa: ARG002
        """See the base class."""
        return cost.answers_cpu_seconds(float(self.duration) / float(self.interval), self.response)

    def logged_bytes(self, seconds: float, samples: float, subflows: int) -> float:
        """See the base class. A flow is sampled at its end, and in the round trips before."""
        flows = float(self.duration) / float(self.interval)
        open_samples = 1 + cost.FLOW_NS / 1e9 * samples / max(seconds, 1e-9)
        return flows * (cost.LOGGED_REQUEST + cost.sample_log_bytes(open_samples, subflows))

    @classmethod
    def _metrics(cls, times_s: list[float]) -> dict[str, float]:
        return {"flows": float(len(times_s)), **compute_completion_metrics(times_s)}
