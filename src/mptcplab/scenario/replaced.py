# SPDX-License-Identifier: MIT
"""Values of a file that its sweep replaces at every point. They do nothing, but a mistake in one is still reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mptcplab.errors import Mistake
from mptcplab.scenario.document import ScenarioError
from mptcplab.scenario.place import SourcePlace
from mptcplab.scenario.schema import Scenario
from mptcplab.scenario.sweep import Choice, Sweep

#: Mistakes of a value itself. Others may only follow from what the sweep sets beside it.
_OF_THE_VALUE = (Mistake.TYPE, Mistake.CHOICE, Mistake.QUANTITY, Mistake.VALUE, Mistake.UNKNOWN)


def removal_hint(hint: str) -> str:
    """Return the hint for a mistake in such a value."""
    return f"{hint}{' Or' if hint.endswith('?') else ', or'} remove it: the sweep replaces it"


def with_replaced(sweep: Sweep, scenario_of: Callable[[Choice], Scenario]) -> Iterator[Scenario]:
    """Yield the first point once for each swept key that the file has a value for, with this value.

    ``scenario_of`` returns the scenario of a choice.
    :raises ScenarioError: if such a value is not possible.
    """
    choice = sweep.choices[0]
    for setting in choice:
        paths = () if setting.is_label else sweep.document.matches(setting.pattern)
        written = [sweep.document.place(path) for path in paths if sweep.document.own_place(path) is not None]
        if not written:
            continue
        try:
            yield scenario_of(tuple(other for other in choice if other is not setting))
        except ScenarioError as error:
            if error.kind in _OF_THE_VALUE and any(_is_at(error.place, place) for place in written):
                error.hint = removal_hint(str(error.hint))
                raise


def _is_at(source_place: SourcePlace, place: SourcePlace) -> bool:
    """Return whether ``source_place`` is the key at ``place``, or below it."""
    key = place.written or ()
    return source_place.file == place.file and (source_place.written or ())[: len(key)] == key
