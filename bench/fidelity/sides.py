# SPDX-License-Identifier: MIT
"""The sides of the comparisons: engines with their kernels, and what is varied to show a mechanism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mptcplab.scenario.schema import Scenario
from mptcplab.units import Rate, Size

Change = Callable[[Scenario], Scenario]
#: Ten full packets: what `tests/stock` uses.
_BURST = Size(15_000)
_AGGREGATE = Size(64_000)
_SLOWER = 5


def _as_it_is(scenario: Scenario) -> Scenario:
    return scenario


def _in_directions(scenario: Scenario, key: str, value: object, *, shaped: bool) -> Scenario:
    """Return the scenario with a key of all directions of its links; with ``shaped``, of those with a rate."""
    links = {}
    for name, link in scenario.links.items():
        new = {
            side: settings.model_copy(update={key: value})
            for side, settings in (("forward", link.forward), ("backward", link.backward))
            if not shaped or (settings.rate is not None and settings.burst is None)
        }
        links[name] = link.model_copy(update=new)
    return scenario.model_copy(update={"links": links})


def larger_burst(scenario: Scenario) -> Scenario:
    """Return the scenario with room for ten packets in the buckets of its links that have the smallest one."""
    return _in_directions(scenario, "burst", _BURST, shaped=True)


def slower_links(scenario: Scenario) -> Scenario:
    """Return the scenario with a fifth of every rate: the same as a CPU five times as fast, for what its load is."""
    links = {}
    for name, link in scenario.links.items():
        new = {
            side: settings.model_copy(update={"rate": Rate(settings.rate // _SLOWER)})
            for side, settings in (("forward", link.forward), ("backward", link.backward))
            if settings.rate is not None
        }
        links[name] = link.model_copy(update=new)
    return scenario.model_copy(update={"links": links})


def with_offload(scenario: Scenario) -> Scenario:
    """Return the scenario with segmentation offload on all links, checked again: not every link allows it."""
    scenario = _in_directions(scenario, "offload", _AGGREGATE, shaped=False)
    return type(scenario).model_validate(scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True))


@dataclass(frozen=True)
class Side:
    """An engine as ``--engine`` names it, the lab kernel if it runs one, and a change of every scenario."""

    engine: str
    kernel: str = "7.2"
    change: Change = _as_it_is

    def of(self, scenario: Scenario) -> Scenario:
        """Return the scenario as this side executes it."""
        kernel = {"kernel": self.kernel} if self.engine == "virtual" else {}
        return self.change(scenario).model_copy(update=kernel)


SIDES = {
    "virtual-7.2": Side("virtual"),
    "stock-7.2": Side("stock:7.2"),
    "stock-6.12": Side("stock:6.12"),
    "stock-6.1": Side("stock:6.1"),
    "local": Side("local"),
    "virtual-7.2-burst": Side("virtual", change=larger_burst),
    "stock-7.2-burst": Side("stock:7.2", change=larger_burst),
    "stock-6.12-burst": Side("stock:6.12", change=larger_burst),
    "virtual-7.2-slower": Side("virtual", change=slower_links),
    "stock-7.2-slower": Side("stock:7.2", change=slower_links),
    "virtual-7.2-offload": Side("virtual", change=with_offload),
    "stock-7.2-offload": Side("stock:7.2", change=with_offload),
    "virtual-7.2-hz250": Side("virtual", "7.2-hz250"),
}
#: Each side with the one that it is compared with. Older kernels are compared with the lab's default one, too: what
#: differs is then the machine and two years of Linux.
PAIRS = {
    "stock-7.2": "virtual-7.2",
    "stock-6.12": "virtual-7.2",
    "stock-6.1": "virtual-7.2",
    "local": "virtual-7.2",
    "stock-7.2-burst": "virtual-7.2-burst",
    "stock-6.12-burst": "virtual-7.2-burst",
    "stock-7.2-slower": "virtual-7.2-slower",
    "stock-7.2-offload": "virtual-7.2",
    "virtual-7.2-offload": "virtual-7.2",
    "virtual-7.2-hz250": "virtual-7.2",
}
#: The side that decides which points of a scenario are compared.
REFERENCE = "stock-7.2"
