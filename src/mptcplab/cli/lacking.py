# SPDX-License-Identifier: MIT
"""Find everything that this machine lacks for runs, before the first run, and name it in one message."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mptcplab.campaign.missing import find_missing
from mptcplab.errors import MissingError
from mptcplab.scenario.load import Run


def check_machine(runs: Iterable[Run], *, engine: str, install: str, on_cluster: bool = False) -> None:
    """Refuse runs of which one would fail for want of a program, a kernel or memory.

    ``install`` is the command that gets what is missing. ``on_cluster``: other machines execute the runs.
    :raises MissingError: naming everything that is missing.
    """
    errors = find_missing(runs, engine=engine, on_cluster=on_cluster)
    if errors:
        raise combine_lacks({"the runs": errors}, install)


def combine_lacks(by_user: Mapping[str, Sequence[MissingError]], install: str) -> MissingError:
    """Return one error that names what all users lack and what building that takes, each thing once."""
    from mptcplab.doctor.lacks import collect_lacks  # late: a machine that lacks nothing does not wait for it

    return collect_lacks(by_user).to_error(install)
