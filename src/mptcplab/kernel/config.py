# SPDX-License-Identifier: MIT
"""Kernel options: read a configuration and say what became of what was asked for.

Kconfig drops an option without a word when a dependency is missing or the version
does not know it. A lab whose netem was dropped would measure something else, so
the final configuration is always compared with the fragment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from mptcplab.errors import LabError

# Without any of these there is no lab: virtual time, the host's files, the stack
# under test, the links between the nodes.
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
    """Options of a .config or fragment, by name; "is not set" reads as `n`, the last one wins."""
    options: dict[str, str] = {}
    for line in text.splitlines():
        if match := _SET.match(line.strip()):
            options[match[1]] = match[2]
        elif match := _UNSET.match(line.strip()):
            options[match[1]] = "n"
    return options


def timer_frequency(config: str) -> int | None:
    """Return the ticks per second of a final configuration (CONFIG_HZ); None if it does not say."""
    value = parse_config(config).get("CONFIG_HZ")
    return int(value) if value is not None else None


def kernel_text(release: str, hz: int | None) -> str:
    """Return a kernel's release and timer frequency in one text: `7.2.13-mptcplab, HZ 1000`."""
    return release if hz is None else f"{release}, HZ {hz}"


def lost_options(wanted: Mapping[str, str], final: Mapping[str, str]) -> tuple[str, ...]:
    """What was asked for and is not so in the final configuration, as `CONFIG_X=value`, sorted."""
    return tuple(sorted(f"{name}={value}" for name, value in wanted.items() if final.get(name, "n") != value))


def check_essential(lost: Sequence[str]) -> None:
    """Raise LabError when an option was lost without which there is no lab."""
    names = sorted(name for name in (option.partition("=")[0] for option in lost) if _is_essential(name))
    if names:
        raise LabError(
            f"this kernel cannot be configured for the lab: it does not take {', '.join(names)}",
            hint="choose another version, or look for a dependency that kernel/config/lab.config misses",
        )


def _is_essential(name: str) -> bool:
    """A lab with another timer frequency than asked for would measure something else as well."""
    return name in ESSENTIAL or name.startswith("CONFIG_HZ_")
