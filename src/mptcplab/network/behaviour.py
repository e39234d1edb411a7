# SPDX-License-Identifier: MIT
"""What a behaviour of a link is: one class in one file, from which everything else that knows of links asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Generic, TypeVar

from mptcplab.fields import Part
from mptcplab.network.captions import DirectionCaption, Table
from mptcplab.network.chances import LossChances
from mptcplab.steps import Command
from mptcplab.units import Duration, Quantity

Words = tuple[str, ...]
Values = Mapping[str, Sequence[Any]]
Keys = TypeVar("Keys", bound=Part)


@dataclass(frozen=True)
class VariableKey:
    """A key whose value may change while packets pass: by an event, and along a trace."""

    quantity: type[Quantity]
    #: Of the key in an event.
    meaning: str
    #: Columns of a trace's CSV file, each with how many of the smallest unit one is. Without any, no trace has it.
    columns: Mapping[str, int]
    #: The largest value that a trace may have, in the smallest unit.
    largest: int
    #: Another driven key, which has to be in a trace beside this one, and whose value this one never exceeds.
    within: str | None = None
    #: A direction has to have a value to begin with.
    from_start: bool = False


@dataclass(frozen=True)
class EffectCounter:
    """A counter of a recording that shows what a behaviour really did.

    ``key`` of every queueing discipline of this ``kind`` in ``counters/NODE/tc.json``, on the direction's device.
    """

    kind: str
    key: str
    meaning: str


@dataclass(frozen=True)
class Context:
    """Where a direction's disciplines stand. ``frame`` is a full packet of the link's MTU with its Ethernet header.

    ``table`` is the name by which ``tc`` finds a distribution of delays of the direction's own. ``changeable``: the
    direction gets other values while packets pass.
    """

    frame: int
    table: str = ""
    changeable: bool = False


@dataclass(frozen=True)
class TraceValues:
    """The values of a direction from one step of a trace on; ``wakes``: what waits has to be looked at again."""

    values: Mapping[str, Any]
    wakes: bool = False


class Behaviour(Generic[Keys]):
    """One thing that happens to the packets of one direction of a link.

    ``model`` has the keys that it adds to a direction: every direction is an instance of it, whatever else it is. A
    behaviour that builds on keys of another one lets its model inherit from the other's; those of a rate and its queue
    are in :class:`mptcplab.network.disciplines.base.Shaping`. Methods get the direction, or, where they name things for
    a reader, what a recording says of it.
    """

    name: ClassVar[str]
    model: type[Keys]
    #: Its place in the reference, among the words of netem, and in captions.
    rank: ClassVar[int] = 100
    #: It is the bottleneck's, and so comes behind everything else on the way of a packet.
    at_bottleneck: ClassVar[bool] = False
    #: The keys of the smallest direction that shows it.
    smallest: ClassVar[Mapping[str, Any]]
    #: The keys of one that uses programs which the smallest does not use; ``doctor`` learns of them by it.
    example: ClassVar[Mapping[str, Any]] = {}
    variable: ClassVar[Mapping[str, VariableKey]] = {}
    #: Keys that mean nothing where a direction has no rate.
    of_rate: ClassVar[tuple[str, ...]] = ()
    seen: ClassVar[tuple[EffectCounter, ...]] = ()
    #: What is said of a point without it beside points that have it.
    absent: ClassVar[str] = "none"

    def check(self, keys: Keys) -> None:
        """:raises PydanticCustomError: (see :func:`mptcplab.fields.fault`) when the keys do not fit together."""

    def check_frame(self, keys: Keys, frame: int) -> None:
        """:raises PydanticCustomError: when they do not fit full packets of ``frame`` bytes."""

    def takes_time(self, keys: Keys) -> bool:  # noqa: ARG002
        """Return whether virtual time passes while a packet crosses the direction."""
        return False

    def loses(self, keys: Keys) -> Fraction:  # noqa: ARG002
        """Return how many losses there are per packet, for estimates; those in a row count once, as for windows."""
        return Fraction(0)

    def chances(self, keys: Keys, values: Values, before: LossChances) -> LossChances:  # noqa: ARG002
        """Return what netem's counter of lost packets may show, if it is ``before`` without this behaviour.

        ``values`` are all that each driven key has during a run, by events and by a trace.
        """
        return before

    def payload_bps(self, keys: Keys, payload: int, frame: int) -> float | None:  # noqa: ARG002
        """Return the bit/s that it admits of ``payload`` bytes in each full packet; None if it has no limit."""
        return None

    def acts(self, keys: Keys) -> bool:
        """Return whether it does anything in this direction."""
        return any(keys.says(key) for key in self.model.model_fields)

    def files(self, keys: Keys, link: str, way: str) -> Iterator[Command]:  # noqa: ARG002
        """Return the commands that write what its other commands read."""
        yield from ()

    def actions(self, keys: Keys) -> Words:  # noqa: ARG002
        """Return what ``tc filter ... action`` does with every packet before the queueing disciplines.

        What passes has to ``continue``: a redirection may stand behind it.
        """
        return ()

    def netem(self, keys: Keys, context: Context) -> Iterator[str]:  # noqa: ARG002
        """Return its words for netem, which stands above the bottleneck."""
        yield from ()

    def disciplines(self, keys: Keys, context: Context) -> Iterator[Words]:  # noqa: ARG002
        """Return the queueing disciplines that it has below netem, from the root down."""
        yield from ()

    def stands_for(self, key: str, first: int, mean: int) -> int:  # noqa: ARG002
        """Return what a direction has for ``key`` where a trace drives it, by its first value and its mean.

        :raises PydanticCustomError: when such a trace cannot be followed.
        """
        return first

    def follow(
        self,
        keys: Keys,  # noqa: ARG002
        values: Mapping[str, Sequence[int]],
        lasts_ns: Sequence[int],
        frame: int,  # noqa: ARG002
    ) -> list[TraceValues]:
        """Return what the direction gets at each step of a trace.

        ``values`` are the behaviour's driven keys that the trace has, with their value at each step; ``lasts_ns`` is
        how long each step lasts.
        """
        kinds = {key: self.variable[key].quantity for key in values}
        return [TraceValues({key: kinds[key](values[key][index]) for key in values}) for index in range(len(lasts_ns))]

    def headline(self, shown: DirectionCaption) -> Iterator[str]:  # noqa: ARG002
        """Return what a picture of the network says first of a link."""
        yield from ()

    def details(self, shown: DirectionCaption) -> Iterator[str]:  # noqa: ARG002
        """Return what it says in the line below: a key and its values."""
        yield from ()

    def caption(self, described: Table) -> Iterator[str]:  # noqa: ARG002
        """Return what it says beside, of one point. A recording lacks the keys of plug-ins that were not there."""
        yield from ()


def microseconds(time: int | Duration) -> str:
    """Return a time for ``tc``: exact, and in a unit that every version reads; some know no ns."""
    return f"{int(time) // 1000}.{int(time) % 1000:03d}us"
