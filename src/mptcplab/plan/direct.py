# SPDX-License-Identifier: MIT
"""Programs that a plan names and yet does not need: the guest executes all their commands itself.

A plan has ordinary commands, so that it can be printed and run anywhere. The guest of the lab kernel executes the
forms below without a program (`guest/direct.py`, `guest/counters.py`). It starts the program only if the kernel
refuses a command, to report the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mptcplab.steps import Command, CommandLine, Counter

#: Programs that a machine can lack, with their packages: all other commands that the guest executes are iproute2's.
_PROGRAMS = frozenset({"ethtool", "sysctl"})
_FEATURES = frozenset({"tso", "gso", "gro"})
_STATES = frozenset({"on", "off"})


def dispensable_programs(steps: Iterable[CommandLine]) -> frozenset[str]:
    """Return the programs of ``steps`` that the guest starts only to report an error."""
    used: set[str] = set()
    needed: set[str] = set()
    for step in steps:
        named = _PROGRAMS.intersection(step.uses)
        used |= named
        if named and not is_direct(step):
            needed |= named
    return frozenset(used - needed)


def is_direct(step: CommandLine) -> bool:
    """Return whether the guest executes this command of ``ethtool`` or ``sysctl`` itself."""
    if step.starts:
        return False
    match step:
        case Command(argv=("ethtool", "-K", _, *words)):
            names, states = words[::2], words[1::2]
            return len(names) == len(states) and _FEATURES.issuperset(names) and _STATES.issuperset(states)
        case Command(argv=("sysctl", "-qw", *settings)):
            return all("=" in setting for setting in settings) and _are_plain(
                [setting.partition("=")[0] for setting in settings]
            )
        case Counter(argv=("sysctl", "-e", *names)):
            return _are_plain(names)
    return False


def _are_plain(names: Sequence[str]) -> bool:
    """Return whether these names of settings follow none of the special rules of ``sysctl``."""
    return not any("/" in name or "*" in name or name.startswith("-") for name in names)
