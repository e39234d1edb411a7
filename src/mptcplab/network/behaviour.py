# SPDX-License-Identifier: MIT
"""The base class of link behaviours. A behaviour is one class in one file; all other code about links asks it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Generic, TypeVar

from mptcplab.fields import Part
from mptcplab.network.captions import DirectionCaption, Table
from mptcplab.network.chances import LossChances
from mptcplab.steps import Command
from mptcplab.units import Duration, Quantity, Size

Words = tuple[str, ...]
Values = Mapping[str, Sequence[Any]]
Keys = TypeVar("Keys", bound=Part)


@dataclass(frozen=True)
class VariableKey:
    """A key whose value events and traces may change while packets pass."""

    quantity: type[Quantity]
    #: The description of the key in an event.
    meaning: str
    #: Columns of a trace's CSV file, each with its unit in smallest units. Without columns, no trace can set the key.
    columns: Mapping[str, int]
    #: The largest value in a trace, in the smallest unit.
    largest: int
    #: Another variable key, which a trace of this key must have as well, and whose value this one never exceeds.
    bounded_by: str | None = None
    #: An event can change the key only if the direction has an initial value.
    needs_value: bool = False


@dataclass(frozen=True)
class EffectCounter:
    """A counter in recordings that shows the effect of a behaviour.

    It is the ``key`` of all queueing disciplines of this ``kind`` on the direction's device, in
    ``counters/NODE/tc.json``.
    """

    kind: str
    key: str
    meaning: str


@dataclass(frozen=True)
class DirectionContext:
    """The context of a direction's disciplines. ``frame`` is the size of the largest packet with its Ethernet header.

    ``table`` is the name by which ``tc`` finds the direction's own distribution of delays. With ``changeable``, the
    direction's values change while packets pass.
    """

    frame: int
    table: str = ""
    changeable: bool = False


@dataclass(frozen=True)
class TraceValues:
    """The values of a direction from one step of a trace on. With ``wakes``, the shaper must check its queue again."""

    values: Mapping[str, Any]
    wakes: bool = False


class Behaviour(Generic[Keys]):
    """One effect on the packets of one direction of a link.

    ``model`` has the keys that it adds to a direction: the settings of every direction are an instance of it. If a
    behaviour uses keys of another one, its model inherits from the other's; the keys of a rate and its queue are in
    :class:`mptcplab.network.disciplines.base.Shaping`. Methods get the settings of the direction, or, if they produce
    text for readers, the direction as a recording describes it.
    """

    name: ClassVar[str]
    model: type[Keys]
    #: Its position in the reference, among netem's options, and in captions.
    order: ClassVar[int] = 100
    #: It belongs to the bottleneck, which packets reach after all other behaviours.
    at_bottleneck: ClassVar[bool] = False
    #: The keys of a minimal direction with this behaviour.
    example: ClassVar[Mapping[str, Any]]
    #: Another minimal direction, if it uses programs that ``example`` does not: ``doctor`` learns of them by it.
    example_with_more_programs: ClassVar[Mapping[str, Any]] = {}
    variable: ClassVar[Mapping[str, VariableKey]] = {}
    #: Keys that have no effect without a rate.
    needs_rate: ClassVar[tuple[str, ...]] = ()
    counters: ClassVar[tuple[EffectCounter, ...]] = ()
    #: The caption of a point without it, beside points with it.
    caption_if_absent: ClassVar[str] = "none"

    def check(self, keys: Keys) -> None:
        """Check the keys together. :raises PydanticCustomError: see :func:`mptcplab.fields.value_error`."""

    def check_frame(self, keys: Keys, frame: int) -> None:
        """Check the keys for packets of up to ``frame`` bytes. :raises PydanticCustomError: if they do not fit."""

    def takes_time(self, keys: Keys) -> bool:  # noqa: ARG002
        """Return whether virtual time passes while a packet crosses the direction."""
        return False

    def loss_rate(self, keys: Keys) -> Fraction:  # noqa: ARG002
        """Return the losses per packet, for estimates; a burst counts once, since it halves a window once."""
        return Fraction(0)

    def chances(self, keys: Keys, values: Values, before: LossChances) -> LossChances:  # noqa: ARG002
        """Return the chances of a loss that netem counts, given the chances ``before`` this behaviour.

        ``values`` has all values that each variable key takes during a run, by events and a trace.
        """
        return before

    def payload_bps(self, keys: Keys, payload: int, frame: int) -> float | None:  # noqa: ARG002
        """Return the bit/s that it admits of ``payload`` bytes in each full packet; None if it has no limit."""
        return None

    def is_active(self, keys: Keys) -> bool:
        """Return whether it has an effect in this direction."""
        return any(keys.is_set(key) for key in self.model.model_fields)

    def aggregate(self, keys: Keys) -> Size | None:  # noqa: ARG002
        """Return the size up to which packets of a TCP connection may cross the link as one; None if each is single."""
        return None

    def passes_aggregates(self, keys: Keys) -> bool:
        """Return whether it treats an aggregate as the packets that it stands for; dropping packets does not."""
        return not self.is_active(keys)

    def files(self, keys: Keys, link: str, direction: str) -> Iterator[Command]:  # noqa: ARG002
        """Return the commands that write files for its other commands."""
        yield from ()

    def actions(self, keys: Keys) -> Words:  # noqa: ARG002
        """Return the words of a ``tc filter ... action`` that applies to every packet before the queueing disciplines.

        Packets that pass must ``continue``, since a redirection may follow.
        """
        return ()

    def netem(self, keys: Keys, context: DirectionContext) -> Iterator[str]:  # noqa: ARG002
        """Return its options for netem, which precedes the bottleneck."""
        yield from ()

    def disciplines(self, keys: Keys, context: DirectionContext) -> Iterator[Words]:  # noqa: ARG002
        """Return its queueing disciplines below netem, from the root down."""
        yield from ()

    def base_value(self, key: str, first: int, mean: int) -> int:  # noqa: ARG002
        """Return the direction's own value of ``key`` if a trace sets it, from the trace's first value and its mean.

        :raises PydanticCustomError: if the trace cannot be followed.
        """
        return first

    def follow(
        self,
        keys: Keys,  # noqa: ARG002
        values: Mapping[str, Sequence[int]],
        durations_ns: Sequence[int],
        frame: int,  # noqa: ARG002
    ) -> list[TraceValues]:
        """Return the direction's values at each step of a trace.

        ``values`` has the value at each step for the behaviour's keys in the trace; ``durations_ns`` has the duration
        of each step.
        """
        kinds = {key: self.variable[key].quantity for key in values}
        return [
            TraceValues({key: kinds[key](values[key][index]) for key in values}) for index in range(len(durations_ns))
        ]

    def caption_above(self, shown: DirectionCaption) -> Iterator[str]:  # noqa: ARG002
        """Return the text above a link in a picture of the network."""
        yield from ()

    def caption_below(self, shown: DirectionCaption) -> Iterator[str]:  # noqa: ARG002
        """Return the text below a link: a key and its values."""
        yield from ()

    def caption(self, described: Table) -> Iterator[str]:  # noqa: ARG002
        """Return the text beside a link, for one point. A recording lacks the keys of plug-ins that were not loaded."""
        yield from ()


def microseconds(time: int | Duration) -> str:
    """Return a time for ``tc``: exact, and in a unit that all versions read; some lack ns."""
    return f"{int(time) // 1000}.{int(time) % 1000:03d}us"
