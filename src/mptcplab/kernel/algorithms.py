# SPDX-License-Identifier: MIT
"""Names of the congestion controls and schedulers that the lab's kernels have, from their sources and options.

Kernels with a user's patches may have more: a scenario names these by hash or path, and only the kernel itself knows.
"""

from __future__ import annotations

import re
from functools import cache

from mptcplab.kernel.data import WITHOUT_SCHEDULERS, data_dir

_PLAIN_VERSION = re.compile(r"\d+\.\d+(?:-(?!plain)[a-z]+[0-9]*)*")
_NAME = re.compile(r'^\s*\.name\s*=\s*"([a-z0-9_]+)"', re.MULTILINE)
_OPTION = re.compile(r"^CONFIG_TCP_CONG_([A-Z0-9]+)=y", re.MULTILINE)
_NOT_A_CONTROL = "advanced"
#: What every kernel has.
_CONTROL, _SCHEDULER = "reno", "default"


def has_known_algorithms(kernel: str) -> bool:
    """Return whether a scenario's ``kernel`` is one of ours without a user's patches, so that the names are known."""
    return _PLAIN_VERSION.fullmatch(kernel) is not None


def has_one_scheduler(kernel: str) -> bool:
    """Return whether a scenario's ``kernel`` is of a version whose scheduler cannot be chosen."""
    return kernel.partition("-")[0] in WITHOUT_SCHEDULERS


@cache
def congestion_controls() -> frozenset[str]:
    """Return the names of congestion controls. :raises LabError: if the kernel's files are missing."""
    options = _OPTION.findall((data_dir() / "config" / "lab.config").read_text())
    return frozenset(
        {_CONTROL, *(name.lower() for name in options), *_names("mptcp_*.c", "v09_*.c")} - {_NOT_A_CONTROL}
    )


@cache
def schedulers() -> frozenset[str]:
    """Return the names of MPTCP schedulers. :raises LabError: if the kernel's files are missing."""
    return frozenset({_SCHEDULER, *_names("sched_*.c")})


def _names(*patterns: str) -> set[str]:
    folder = data_dir() / "net" / "mptcp"
    files = [file for pattern in patterns for file in folder.glob(pattern)]
    return {name for file in files for name in _NAME.findall(file.read_text())}
