# SPDX-License-Identifier: MIT
"""Voice calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from mptcplab.fields import Misnomers, Time, value_error, whole_multiple
from mptcplab.units import Duration
from mptcplab.workload.outputs import MS, ConnectionTermination
from mptcplab.workload.paced import Message, PacedWorkload, call_metrics

if TYPE_CHECKING:
    from mptcplab.recording.record import Recording


class Voip(PacedWorkload):
    """One direction of a call with G.711: 64 kbit/s of voice, and RTP's header of 12 bytes in each packet."""

    misnomers: ClassVar[Misnomers] = {
        "playout": ("jitter_buffer", "jitterbuffer", "buffer", "playout_delay"),
    }

    kind: Literal["voip"]
    interval: Annotated[Time, whole_multiple(Duration(10**6), "milliseconds")] = Field(
        default=Duration(20 * 10**6), description="duration of the voice in each packet"
    )
    playout: Time = Field(
        default=Duration(60 * 10**6), description="the receiver's play-out buffer, from the arrival of the first packet"
    )

    @model_validator(mode="after")
    def _sizes(self) -> Voip:
        if not 10**6 <= self.interval <= 180 * 10**6:
            raise value_error("is not a plausible duration of a packet", "use from 1 ms to 180 ms", "interval")
        return self

    @property
    def packet(self) -> int:
        """Bytes of each packet: 8,000 samples of one byte per second, and RTP's header."""
        return int(self.interval) * 8 // 10**6 + 12

    def _messages(self) -> Iterator[str]:
        return self._options(self.packet, self.interval)

    def _count(self) -> float:
        return float(self.duration) / float(self.interval)

    def _metrics(self, recording: Recording, receiver: str, sent: int, _: ConnectionTermination) -> dict[str, float]:
        arrived = self._read_messages(recording, receiver)
        return call_metrics(arrived, sent, int(self.playout) / MS, int(self.interval) / MS)

    def _latest_ms(self, arrived: Sequence[Message]) -> float:
        # The play-out buffer begins with the first packet that arrives.
        return (arrived[0].delay_ms if arrived else 0.0) + int(self.playout) / MS

    def _size(self) -> int:
        return self.packet
