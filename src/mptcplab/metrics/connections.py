# SPDX-License-Identifier: MIT
"""Connections of workloads that failed, by their reasons: for rows, tables and warnings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from mptcplab.workload.outputs import Failure, Failures

#: The resolution of the kernel's timers. Less than it is the time of a few steps of the program.
_AT_ONCE_S = 0.001


@dataclass(frozen=True)
class FailureGroup:
    """``count`` connections that failed for the same reason.

    ``reason``, ``errno``, ``was_established`` and ``side`` are as in
    :class:`mptcplab.workload.outputs.Failure`. ``after_s`` has the shortest and the longest time until one failed,
    None if none is known; the first failed at ``first_at_s`` from time zero, None if that is not known.
    """

    reason: str
    errno: str | None
    was_established: bool
    side: Literal["client", "server"]
    count: int
    after_s: tuple[float, float] | None
    first_at_s: float | None

    @property
    def word(self) -> str:
        """The reason, with the errno if that says more: ``refused (ECONNREFUSED)``."""
        return self.reason if self.errno in (None, self.reason) else f"{self.reason} ({self.errno})"

    @property
    def is_at_once(self) -> bool:
        """True if none of them took any time to fail."""
        return self.after_s is not None and self.after_s[1] < _AT_ONCE_S

    @property
    def span(self) -> str:
        """The times until they failed, as ``10 s`` or ``0.5 s to 1 s``; empty if none is known."""
        if self.after_s is None:
            return ""
        shortest, longest = map(seconds_text, self.after_s)
        return shortest if shortest == longest else f"{shortest} to {longest}"

    @property
    def text(self) -> str:
        """The reason and the times, for a cell."""
        if self.is_at_once:
            return f"{self.word} at once"
        return f"{self.word} after {self.span}" if self.span else self.word

    def to_json(self) -> dict[str, Any]:
        """Return JSON data with units in the names."""
        return asdict(self)


def group_failures(failed: Iterable[Failure]) -> list[FailureGroup]:
    """Return failed connections by reason, in the order in which the reasons first appear."""
    groups: dict[tuple[object, ...], list[Failure]] = {}
    for failure in failed:
        groups.setdefault((failure.reason, failure.errno, failure.was_established, failure.side), []).append(failure)
    return [_group(some) for some in groups.values()]


def _group(some: Sequence[Failure]) -> FailureGroup:
    first = some[0]
    instants = [failure.at_s for failure in some if failure.at_s is not None]
    known = [failure.after_s for failure in some if failure.after_s is not None]
    return FailureGroup(
        first.reason,
        first.errno,
        first.was_established,
        first.side,
        len(some),
        (min(known), max(known)) if known else None,
        # In order of time, of which only the later part may be unknown.
        min(instants) if first.at_s is not None else None,
    )


@dataclass(frozen=True)
class FailedConnections:
    """The failed connections of a row: their number, of the ``opened`` ones in the ``runs`` in which some failed."""

    count: int
    opened: int
    runs: int
    groups: tuple[FailureGroup, ...]

    def text_in(self, runs: int) -> str:
        """Return them as a cell of a table whose row has ``runs`` runs: ``1 of 1: connect-timeout after 10 s``."""
        where = f" in {self.runs} of {runs} runs" if runs > 1 else ""
        return f"{self.count} of {self.opened}{where}: {', '.join(group.text for group in self.groups)}"

    def to_json(self) -> dict[str, Any]:
        """Return JSON data."""
        reasons = [group.to_json() for group in self.groups]
        return {"failed": self.count, "opened": self.opened, "runs": self.runs, "reasons": reasons}


def failed_in_runs(runs: Iterable[Failures]) -> FailedConnections | None:
    """Return the failed connections of several runs; None if no connection failed."""
    having = [failures for failures in runs if failures.failed]
    if not having:
        return None
    failed = [failure for failures in having for failure in failures.failed]
    opened = sum(failures.connections for failures in having)
    return FailedConnections(len(failed), opened, len(having), tuple(group_failures(failed)))


def seconds_text(seconds: float) -> str:
    """Return a time in s with four significant digits."""
    return f"{seconds:.4g} s"
