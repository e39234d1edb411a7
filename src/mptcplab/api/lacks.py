# SPDX-License-Identifier: MIT
"""Find everything that this machine lacks for runs, before the first run, and name it in one message."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mptcplab.campaign.failures import install_command
from mptcplab.campaign.missing import find_missing
from mptcplab.campaign.sweep import RunOptions
from mptcplab.errors import MissingError, name_all
from mptcplab.scenario.load import Run
from mptcplab.study.jobs import TableJob, table_names
from mptcplab.study.load import SelectedTable


@dataclass(frozen=True)
class TableLacks:
    """The programs and kernels that tables need and this machine lacks.

    ``everything`` names the lacks of all tables.
    """

    by_table: Mapping[str, MissingError]
    everything: MissingError

    def to_error(self, tables: int) -> MissingError:
        """Return an error about all of them, which are some of ``tables`` tables."""
        text = f"{len(self.by_table)} of {tables} tables cannot be measured: {self.everything.message}"
        return MissingError(text, hint=self.everything.hint)


def check_machine(runs: Iterable[Run], options: RunOptions, install: str) -> None:
    """Refuse runs of which one would fail for want of a program, a kernel or memory.

    ``install`` is the command that gets what is missing.
    :raises MissingError: naming everything that is missing.
    """
    errors = _find_missing(runs, options)
    if errors:
        raise combine_lacks({"the runs": errors}, install)


def find_table_lacks(jobs: Sequence[TableJob], options: RunOptions) -> TableLacks | None:
    """Return the programs and kernels that tables need and this machine lacks; None if it lacks nothing."""
    lacking = find_missing_by_user({job.selected.name: job.runs for job in jobs}, options)
    if not lacking:
        return None

    def install(tables: Sequence[SelectedTable]) -> str:
        return install_command(table_names(tables), jobs[0].overrides, engine=options.engine)

    by_name = {job.selected.name: job.selected for job in jobs}
    by_table = {name: name_all(some, hint=install([by_name[name]])) for name, some in lacking.items()}
    return TableLacks(by_table, combine_lacks(lacking, install([by_name[name] for name in lacking])))


def find_missing_by_user(runs: Mapping[str, Iterable[Run]], options: RunOptions) -> dict[str, Sequence[MissingError]]:
    """Return what each user's runs lack, without users that lack nothing."""
    errors = {user: _find_missing(some, options) for user, some in runs.items()}
    return {user: some for user, some in errors.items() if some}


def combine_lacks(by_user: Mapping[str, Sequence[MissingError]], install: str) -> MissingError:
    """Return one error that names what all users lack and what building that takes, each thing once."""
    from mptcplab.doctor.lacks import collect_lacks  # late: a machine that lacks nothing does not wait for it

    return collect_lacks(by_user).to_error(install)


def _find_missing(runs: Iterable[Run], options: RunOptions) -> list[MissingError]:
    return find_missing(runs, engine=options.engine, on_cluster=options.cluster is not None)
