# SPDX-License-Identifier: MIT
"""The sides of the comparisons: engines with their kernels, and what is varied to show a mechanism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from validation.fidelity import forms
from validation.fidelity.forms import Form
from validation.fidelity.slower import MANY_TIMES, MOST_TIMES, Slowdown, slower, slower_for_older

from mptcplab.scenario.links import DirectionSettings
from mptcplab.scenario.load import SweepPoint
from mptcplab.scenario.schema import Scenario
from mptcplab.units import Size

Change = Callable[[Scenario], Scenario]
_AGGREGATE, _BUCKET = Size(64_000), Size(15_000)
#: What a receive buffer has of more than its window is a power of two: here 2 ** -2 of it.
_THREE_QUARTERS = {"net.ipv4.tcp_adv_win_scale": 2}


def _as_it_is(scenario: Scenario) -> Scenario:
    return scenario


def with_offload(scenario: Scenario) -> Scenario:
    """Return the scenario with segmentation offload on all links, checked again: not every link allows it."""
    return _with_links(scenario, lambda _: {"offload": _AGGREGATE})


def with_buckets(scenario: Scenario) -> Scenario:
    """Return the scenario with a bucket of ten packets wherever a rate has the default one, of one packet."""
    return _with_links(
        scenario, lambda direction: {"burst": _BUCKET} if direction.rate is not None and direction.burst is None else {}
    )


def _with_links(scenario: Scenario, change: Callable[[DirectionSettings], dict[str, Any]]) -> Scenario:
    links = {}
    for name, link in scenario.links.items():
        sides = {"forward": link.forward, "backward": link.backward}
        new = {side: settings.model_copy(update=change(settings)) for side, settings in sides.items()}
        links[name] = link.model_copy(update=new)
    scenario = scenario.model_copy(update={"links": links})
    return type(scenario).model_validate(scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True))


def slower_with_wider_window(scenario: Scenario) -> Scenario:
    """Return the slower scenario in which Linux 6.1 offers three quarters of its receive buffers as window, not half.

    Later kernels measure the part, since Linux 6.6 (net/ipv4/tcp_input.c, ``tcp_measure_rcv_mss``), and have no use for
    the setting.

    :raises ValueError: with the reason, if it cannot be made slower.
    """
    return forms.with_sysctl(slower_for_older(scenario), _THREE_QUARTERS)


@dataclass(frozen=True)
class Side:
    """An engine as ``--engine`` names it, the lab kernel if it runs one, and a change of every scenario.

    A side that shows a mechanism runs the last point of a form only, but with ``whole`` all of them.
    """

    engine: str
    kernel: str = "7.2"
    change: Change = _as_it_is
    whole: bool = False

    def points(self, form: Form) -> tuple[SweepPoint, ...]:
        """Return the points of a form as this side executes them. :raises ValueError: if it refuses one."""
        points = forms.changed_points(form, self.adapt)
        is_last_only = not self.whole and (self.change is not _as_it_is or self.kernel != "7.2")
        return points[-1:] if is_last_only else points

    def adapt(self, scenario: Scenario) -> Scenario:
        """Return the scenario as this side executes it."""
        kernel = {"kernel": self.kernel} if self.engine == "virtual" else {}
        return self.change(scenario).model_copy(update=kernel)


SIDES = {
    "virtual-7.2": Side("virtual"),
    "stock-7.2": Side("stock:7.2"),
    "virtual-6.12": Side("virtual", "6.12", whole=True),
    "virtual-6.1": Side("virtual", "6.1", whole=True),
    "stock-6.12": Side("stock:6.12"),
    "stock-6.1": Side("stock:6.1"),
    "local": Side("local"),
    "virtual-7.2-offload": Side("virtual", change=with_offload),
    "stock-7.2-offload": Side("stock:7.2", change=with_offload),
    "virtual-7.2-burst": Side("virtual", change=with_buckets),
    "stock-7.2-burst": Side("stock:7.2", change=with_buckets),
    "virtual-7.2-slower": Side("virtual", change=slower, whole=True),
    "stock-7.2-slower": Side("stock:7.2", change=slower, whole=True),
    "virtual-6.12-slower": Side("virtual", "6.12", slower_for_older),
    "virtual-6.1-slower": Side("virtual", "6.1", slower_for_older),
    "stock-6.12-slower": Side("stock:6.12", change=slower_for_older),
    "stock-6.1-slower": Side("stock:6.1", change=slower_for_older),
    "stock-6.1-window-slower": Side("stock:6.1", change=slower_with_wider_window),
    "virtual-7.2-far-slower": Side("virtual", change=Slowdown(MANY_TIMES).apply, whole=True),
    "stock-7.2-far-slower": Side("stock:7.2", change=Slowdown(MANY_TIMES).apply, whole=True),
    "virtual-7.2-slowest": Side("virtual", change=Slowdown(MOST_TIMES).apply, whole=True),
    "stock-7.2-slowest": Side("stock:7.2", change=Slowdown(MOST_TIMES).apply, whole=True),
    "virtual-6.12-far-slower": Side("virtual", "6.12", Slowdown(MANY_TIMES).for_older),
    "stock-6.12-far-slower": Side("stock:6.12", change=Slowdown(MANY_TIMES).for_older),
    "virtual-6.1-far-slower": Side("virtual", "6.1", Slowdown(MANY_TIMES).for_older),
    "stock-6.1-far-slower": Side("stock:6.1", change=Slowdown(MANY_TIMES).for_older),
    "virtual-6.12-slowest": Side("virtual", "6.12", Slowdown(MOST_TIMES).for_older),
    "stock-6.12-slowest": Side("stock:6.12", change=Slowdown(MOST_TIMES).for_older),
    "virtual-6.1-slowest": Side("virtual", "6.1", Slowdown(MOST_TIMES).for_older),
    "stock-6.1-slowest": Side("stock:6.1", change=Slowdown(MOST_TIMES).for_older),
    "virtual-7.2-hz250": Side("virtual", "7.2-hz250"),
    "virtual-7.2-hz250-slower": Side("virtual", "7.2-hz250", slower, whole=True),
}
#: Each side with the side that it is compared with: a stock kernel with the lab kernel of its version, and an older lab
#: kernel with the default one.
PAIRS = {
    "stock-7.2": "virtual-7.2",
    "stock-6.12": "virtual-6.12",
    "stock-6.1": "virtual-6.1",
    "local": "virtual-7.2",
    "stock-7.2-offload": "virtual-7.2",
    "virtual-7.2-offload": "virtual-7.2",
    "stock-7.2-burst": "virtual-7.2-burst",
    "stock-7.2-slower": "virtual-7.2-slower",
    "virtual-6.12-slower": "virtual-7.2-slower",
    "virtual-6.1-slower": "virtual-7.2-slower",
    "stock-6.12-slower": "virtual-6.12-slower",
    "stock-6.1-slower": "virtual-6.1-slower",
    "stock-6.1-window-slower": "virtual-7.2-slower",
    "stock-7.2-far-slower": "virtual-7.2-far-slower",
    "stock-7.2-slowest": "virtual-7.2-slowest",
    "stock-6.12-far-slower": "virtual-6.12-far-slower",
    "stock-6.1-far-slower": "virtual-6.1-far-slower",
    "stock-6.12-slowest": "virtual-6.12-slowest",
    "stock-6.1-slowest": "virtual-6.1-slowest",
    "virtual-7.2-hz250": "virtual-7.2",
    "virtual-7.2-hz250-slower": "virtual-7.2-slower",
}
#: The side with which most are compared.
LAB = "virtual-7.2"
#: The side that decides which points of a scenario are compared.
REFERENCE = "stock-7.2"
