# SPDX-License-Identifier: MIT
"""The programs of this machine that a lab can start."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from mptcplab.engine.report import package_folder
from mptcplab.engine.tools import find_programs

#: What the guest starts in the place of a program that this machine lacks, to report that the kernel refuses a command.
REFUSED = package_folder() / "mptcplab" / "engine" / "virtual" / "refused"


def find_lab_programs(
    names: Iterable[str], tools: Mapping[str, Path], *, dispensable: Collection[str]
) -> dict[str, Path]:
    """Return the path of each program that the guest may start; see :func:`mptcplab.engine.tools.find_programs`.

    :raises MissingError: if the machine lacks a program that is not ``dispensable``.
    """
    paths = find_programs(names, tools, dispensable=dispensable)
    return paths | dict.fromkeys(set(dispensable) - paths.keys(), REFUSED)
