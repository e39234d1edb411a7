# SPDX-License-Identifier: MIT
"""Kernel options: parses a configuration and checks that it has the requested options.

Kconfig silently drops an option whose dependency is missing or which the version does not know. A lab without netem
would measure something else, so the final configuration is always compared with the fragment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from mptcplab.errors import LabError

# The lab cannot work without any of these: virtual time, the host's files, the stack under test, links between nodes.
ESSENTIAL = frozenset(
    {
        "CONFIG_UML_TIME_TRAVEL_SUPPORT",
        "CONFIG_HOSTFS",
        "CONFIG_NET",
        "CONFIG_INET",
        "CONFIG_IPV6",
        "CONFIG_MPTCP",
        "CONFIG_MPTCP_IPV6",
        "CONFIG_VETH",
        "CONFIG_NET_SCH_NETEM",
        "CONFIG_NET_SCH_TBF",
        "CONFIG_TIMERFD",
        "CONFIG_NET_NS",
        "CONFIG_HIGH_RES_TIMERS",
        "CONFIG_HZ_1000",
    }
)

_SET = re.compile(r"^(CONFIG_\w+)=(.*)$")
_UNSET = re.compile(r"^# (CONFIG_\w+) is not set$")


def parse_config(text: str) -> dict[str, str]:
    """Return the options of a .config or fragment by name. "is not set" means `n`; the last value counts."""
    options: dict[str, str] = {}
    for line in text.splitlines():
        if match := _SET.match(line.strip()):
            options[match[1]] = match[2]
        elif match := _UNSET.match(line.strip()):
            options[match[1]] = "n"
    return options


def timer_frequency(config: str) -> int | None:
    """Return the timer frequency of a final configuration in ticks per second (CONFIG_HZ); None if it has none."""
    value = parse_config(config).get("CONFIG_HZ")
    return int(value) if value is not None else None


def kernel_text(release: str, hz: int | None) -> str:
    """Return a kernel's release and timer frequency in one text: `7.2.13-mptcplab, HZ 1000`."""
    return release if hz is None else f"{release}, HZ {hz}"


#: What ran, by the kind of its clock, which an engine states among the facts of its kernel as `time`.
_KERNELS = {
    "virtual": "Lab kernel",
    "instructions": "Stock kernel",
    "machine": "Stock kernel",
    "real": "The host's kernel",
}
_CLOCKS = {
    "virtual": "virtual time",
    "instructions": "a clock that counts instructions",
    "machine": "real time, in a virtual machine",
    "real": "real time",
}


def kernel_kind(time: str) -> str:
    """Return a heading for kernels whose clock is of the kind ``time``; a plugin's engine may have another kind."""
    return _KERNELS.get(time, "Kernel")


def clock_text(time: str) -> str:
    """Return a kind of clock in words."""
    return _CLOCKS.get(time, f"{time} time")


def lost_options(requested: Mapping[str, str], final: Mapping[str, str]) -> tuple[str, ...]:
    """Return the requested options that the final configuration lacks, as `CONFIG_X=value`, sorted."""
    return tuple(sorted(f"{name}={value}" for name, value in requested.items() if final.get(name, "n") != value))


def check_essential(lost: Sequence[str]) -> None:
    """Check that no option was lost that the lab needs. :raises LabError: naming the lost options."""
    names = sorted(name for name in (option.partition("=")[0] for option in lost) if _is_essential(name))
    if names:
        raise LabError(
            f"this kernel cannot be configured for the lab: it does not accept {', '.join(names)}",
            hint="choose another version, or look for a dependency that kernel/config/lab.config lacks",
        )


def _is_essential(name: str) -> bool:
    """Return whether the lab needs the option. With another timer frequency it would measure something else."""
    return name in ESSENTIAL or name.startswith("CONFIG_HZ_")
