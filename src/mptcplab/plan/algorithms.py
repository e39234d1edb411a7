# SPDX-License-Identifier: MIT
"""Checks the names of schedulers and congestion controls before anything runs."""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.errors import InputError
from mptcplab.kernel.data import congestion_controls, has_known_algorithms, has_one_scheduler, schedulers
from mptcplab.scenario.document import name_hint
from mptcplab.scenario.load import Experiment
from mptcplab.scenario.schema import Scenario
from mptcplab.scenario.sweep import removal_hint

_SCHEDULER = "MPTCP scheduler"


def check_algorithms(experiment: Experiment) -> None:
    """Refuse names that the lab's kernels do not have.

    A kernel with a user's patches is asked when it runs; which names eBPF programs define, the engine finds out.

    :raises InputError: for the first such name.
    """
    checked: set[tuple[str, str, str]] = set()
    scenarios = [(point.scenario, False) for point in experiment.points]
    scenarios += [(scenario, True) for scenario in experiment.replaced]
    for scenario, is_replaced in scenarios:
        if scenario.bpf or not has_known_algorithms(scenario.kernel):
            continue
        for noun, name in _named_algorithms(scenario):
            if (scenario.kernel, noun, name) not in checked:
                checked.add((scenario.kernel, noun, name))
                _check(scenario.kernel, noun, name, is_replaced=is_replaced)


def _check(kernel: str, noun: str, name: str, *, is_replaced: bool) -> None:
    if noun == _SCHEDULER and has_one_scheduler(kernel):
        message = f"the lab kernel {kernel} has a single {noun}: '{name}' cannot be chosen"
        raise InputError(message, hint="remove the key scheduler, or choose a later kernel")
    known = congestion_controls() if noun == "congestion control" else schedulers()
    if name not in known:
        hint = name_hint(name, sorted(known))
        raise InputError(f"the lab kernel has no {noun} '{name}'", hint=removal_hint(hint) if is_replaced else hint)


def _named_algorithms(scenario: Scenario) -> Iterator[tuple[str, str]]:
    pairs = [(transport.congestion_control, transport.scheduler) for transport in scenario.transports.values()]
    pairs += [(workload.congestion_control, workload.scheduler) for workload in scenario.workloads.values()]
    for control, scheduler in pairs:
        yield from [("congestion control", control)] if control is not None else []
        yield from [(_SCHEDULER, scheduler)] if scheduler is not None else []
