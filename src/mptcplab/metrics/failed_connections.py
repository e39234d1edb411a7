# SPDX-License-Identifier: MIT
"""Warnings of connections that failed: how many, for which reason, when, and what was down then."""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.metrics.instants import instants
from mptcplab.recording.record import Recording
from mptcplab.workload.outputs import Failure, Failures


def failure_warnings(recording: Recording, failures: Failures) -> Iterator[str]:
    """Yield a warning for each reason for which connections of a workload failed."""
    alike: dict[tuple[str, bool], list[Failure]] = {}
    for failure in failures.failed:
        alike.setdefault((failure.reason, failure.was_established), []).append(failure)
    for some in alike.values():
        yield _sentence(recording, some, failures.connections)


def _sentence(recording: Recording, failures: list[Failure], connections: int) -> str:
    first = min(failures, key=lambda failure: failure.at_s)
    after = sorted(failure.after_s for failure in failures if failure.after_s is not None)
    shortest, longest = (_seconds(after[0]), _seconds(after[-1])) if after else ("", "")
    span = shortest if shortest == longest else f"{shortest} to {longest}"
    if first.was_established:
        event = f"failed {span} after the handshake ({first.reason})"
    else:
        event = f"were not established: {first.reason}{f' after {span}' if span else ''}"
    down = _links_down_at(recording, first.at_s)
    places = f". Down then: {', '.join(down)}" if down else ""
    return (
        f"{len(failures)} of {connections} connections {event}; the first at {_seconds(first.at_s)} of the run{places}"
    )


def _links_down_at(recording: Recording, time_s: float) -> list[str]:
    """Return the links that were down at ``time_s``, each with the instant of its failure."""
    down: dict[str, float] = {}
    for instant in instants(recording):
        if instant.time_s > time_s:
            break
        if instant.is_failure:
            down[instant.place] = instant.time_s
        else:
            down.pop(instant.place, None)
    return [f"{place} since {_seconds(since)}" for place, since in down.items()]


def _seconds(seconds: float) -> str:
    return f"{seconds:.4g} s"
