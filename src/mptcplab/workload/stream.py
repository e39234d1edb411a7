# SPDX-License-Identifier: MIT
"""A stream of messages, as from a camera or a sensor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, model_validator

from mptcplab.fields import Misnomers, Time, value_error
from mptcplab.units import Duration, Size
from mptcplab.workload.outputs import MS, ConnectionTermination
from mptcplab.workload.paced import Message, PacedWorkload, stream_metrics

if TYPE_CHECKING:
    from mptcplab.recording.record import Recording


class Stream(PacedWorkload):
    """Messages of one size at constant intervals, as from a camera or a sensor."""

    advice: ClassVar[Mapping[str, str]] = {
        **PacedWorkload.advice,
        "rate": "a stream sends `packet` every `interval`: 25 kB every 40 ms are 5 Mbit/s",
    }
    misnomers: ClassVar[Misnomers] = {
        "deadline": ("late", "late_after", "max_delay"),
    }

    kind: Literal["stream"]
    packet: Size = Field(default=Size(1200), description="payload of each message")
    interval: Time = Field(default=Duration(10**7), description="time from one message to the next")
    deadline: Time = Field(default=Duration(150 * 10**6), description="maximum delay of a message that is not late")

    @model_validator(mode="after")
    def _sizes(self) -> Stream:
        self._check_packet(self.packet, "packet")
        if self.interval < 1000:
            raise value_error("is too short", "use at least 1 us", "interval")
        return self

    def _messages(self) -> Iterator[str]:
        return self._options(int(self.packet), self.interval)

    def _count(self) -> float:
        return float(self.duration) / float(self.interval)

    def _metrics(self, recording: Recording, receiver: str, sent: int, _: ConnectionTermination) -> dict[str, float]:
        arrived = self._read_messages(recording, receiver)
        return stream_metrics(arrived, sent, self._latest_ms(arrived))

    def _latest_ms(self, arrived: Sequence[Message]) -> float:  # noqa: ARG002
        return int(self.deadline) / MS

    def _size(self) -> int:
        return int(self.packet)
