# SPDX-License-Identifier: MIT
"""The common part of requests and short flows: ``tools/flow`` sends requests, its server responds, and the client
reports the times of each response."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from mptcplab.fields import Misnomers, Number, idle, value_error
from mptcplab.steps import Call, Program
from mptcplab.units import Size
from mptcplab.workload.context import FLOW, WorkloadContext, client, server, socket_options
from mptcplab.workload.failures import FlowWorkload
from mptcplab.workload.outputs import NS, Item, Items, Reading, compute_goodput, read_responses, reading_of_failures
from mptcplab.workload.recorded import client_program, read_zero_ns

if TYPE_CHECKING:
    from mptcplab.recording.record import Recording

_MAX_RESPONSE = 100_000_000
_SHAPES = {"pareto": 1.2, "lognormal": 1.0}


class RequestWorkload(FlowWorkload):
    """A workload of requests, whose responses may have random sizes."""

    misnomers: ClassVar[Misnomers] = {
        "request": ("query", "request_size"),
        "sizes": ("size_distribution", "response_distribution"),
        "shape": ("alpha", "sigma", "pareto_shape"),
        "largest": ("max_size", "maximum", "cap"),
        "times": ("time_distribution", "arrivals"),
    }

    samples_itself = True
    server_sends = True
    has_control_connections = False
    example: ClassVar[Mapping[str, Any]] = {"duration": "1 s"}
    noun: ClassVar[str] = "requests"
    """The noun for what it delivers one by one."""
    time: ClassVar[str] = "response time"
    """The name of the time that is measured of each."""

    if TYPE_CHECKING:
        response: Size  # a field of each kind, with a description and a default of its own
    request: Size = Field(default=Size(200), description="size of a request")
    sizes: Literal["fixed", "exponential", "pareto", "lognormal"] = Field(
        default="fixed", description="distribution of the sizes of responses"
    )
    shape: Number | None = Field(
        default=None, description="alpha of pareto (default 1.2), sigma of lognormal (default 1)", examples=[1.2]
    )
    largest: Size | None = Field(default=None, description="larger responses are cut to this; default 100 MB")

    @model_validator(mode="after")
    def _distribution(self) -> RequestWorkload:
        if self.shape is not None and self.sizes not in _SHAPES:
            raise idle(f"does nothing with sizes = {self.sizes}", 'set sizes = "pareto"', "shape")
        if self.largest is not None and self.sizes == "fixed":
            raise idle("does nothing with sizes = fixed", 'set sizes = "pareto"', "largest")
        if self.sizes == "pareto" and self.shape_or_default <= 1:
            raise value_error("gives a distribution without a mean", "use a shape of more than 1", "shape")
        if not 0 <= self.shape_or_default <= 100 or self.shape == 0:
            raise value_error("is not a shape", "use more than 0 and at most 100", "shape")
        if self.largest == 0:
            raise value_error("leaves nothing to send", "use more than zero", "largest")
        if self.largest is not None and self.largest < self.response:
            hint = f"use more than {self.response}: larger responses are cut to it"
            raise value_error("is less than response, their mean", hint, "largest")
        return self

    @property
    def shape_or_default(self) -> float:
        """The shape; 0 for distributions without one."""
        return self.shape if self.shape is not None else _SHAPES.get(self.sizes, 0.0)

    def programs(self, name: str, context: WorkloadContext) -> Iterator[Program]:
        """Yield a server that runs until the end, and the client that sends requests."""
        port = ("--port", str(context.port))
        waiting = (FLOW, "server", *port, *socket_options(self, context.server_protocol), *context.sampling)
        yield server(name, self, Call(waiting))
        calling = (
            *(FLOW, "client"),
            *("--connect", context.address),
            *port,
            "--ask",
            *self._requests(),
            *self._sizes(),
            *("--seed", str(context.seed)),
            *socket_options(self, context.client_protocol),
            *context.sampling,
        )
        yield client(name, self, Call(calling))

    def _requests(self) -> Iterator[str]:
        """Return the options of ``flow`` for the number and times of requests."""
        raise NotImplementedError

    def _sizes(self) -> Iterator[str]:
        yield from ("--request-bytes", str(int(self.request)))
        if self.sizes == "fixed":
            return
        yield from ("--sizes", self.sizes, "--largest-bytes", str(int(self.largest or _MAX_RESPONSE)))
        if self.shape_or_default:
            yield from ("--shape-milli", str(round(1000 * self.shape_or_default)))

    def read(self, recording: Recording, name: str) -> Reading:
        """Return the results; times are from the request to the last byte of its response."""
        answers = read_responses(recording, client_program(name))
        if not answers:
            return reading_of_failures(recording, name, self.failed_connections(recording, name))
        times = [(answer.t_ns - answer.asked_ns) / NS for answer in answers]
        begun = min(answer.asked_ns for answer in answers)
        elapsed = (self.last_ns(recording, name, begun, max(answer.t_ns for answer in answers)) - begun) / NS
        rate = compute_goodput(sum(answer.response for answer in answers), elapsed, name)
        return Reading(rate, elapsed, self._metrics(times))

    def items(self, recording: Recording, name: str) -> Items:
        """See the base class; from the request to the last byte of its response."""
        zero_ns = read_zero_ns(recording)
        item = (
            Item(number, (answer.t_ns - answer.asked_ns) / NS, (answer.asked_ns - zero_ns) / NS)
            for number, answer in enumerate(read_responses(recording, client_program(name)))
        )
        return Items(self.noun, self.time, "s", tuple(item))

    @classmethod
    def _metrics(cls, times_s: list[float]) -> dict[str, float]:
        """Return the metrics of all response times."""
        raise NotImplementedError
