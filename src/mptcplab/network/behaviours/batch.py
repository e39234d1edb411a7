# SPDX-License-Identifier: MIT
"""Packets that leave in batches, as from a medium that sends several in one frame, or a card that collects them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from mptcplab.fields import Misnomers, Part, value_error
from mptcplab.network.behaviour import Behaviour, DirectionContext, microseconds
from mptcplab.network.captions import NOTHING, Table
from mptcplab.units import Duration

_MAX_BATCH = Duration(10**9)


class BatchKeys(Part):
    """The key of batches."""

    misnomers: ClassVar[Misnomers] = {
        "batch": ("slot", "slots", "coalesce", "coalescing"),
    }

    batch: Duration = Field(
        default=Duration(0),
        description="time between the instants at which packets, after their delay, leave together",
        examples=["5 ms"],
    )


class Batch(Behaviour[BatchKeys]):
    """Packets leave at fixed instants, for which they wait: netem's slots, which begin anew after each pause."""

    name = "batch"
    model = BatchKeys
    order = 70
    example: ClassVar = {"batch": "5 ms"}

    def check(self, keys: BatchKeys) -> None:
        """See the base class."""
        if keys.batch > _MAX_BATCH:
            raise value_error("is not plausible for a batch", f"use at most {_MAX_BATCH}", "batch")

    def takes_time(self, keys: BatchKeys) -> bool:
        """See the base class."""
        return bool(keys.batch)

    def passes_aggregates(self, keys: BatchKeys) -> bool:  # noqa: ARG002
        """Return True: all packets of an aggregate would leave together, too."""
        return True

    def netem(self, keys: BatchKeys, context: DirectionContext) -> Iterator[str]:  # noqa: ARG002
        """See the base class."""
        if keys.batch:
            yield from ("slot", microseconds(keys.batch))

    def caption(self, described: Table) -> Iterator[str]:
        """See the base class."""
        if described.get("batch") not in NOTHING:
            yield f"batches of {described['batch']}"
