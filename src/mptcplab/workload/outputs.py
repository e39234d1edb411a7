# SPDX-License-Identifier: MIT
"""Readers of the outputs of workload programs, shared by all kinds."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from mptcplab.errors import LabError
from mptcplab.stats import nearest_rank_quantile
from mptcplab.steps import CONNECTION_FAILED
from mptcplab.workload.recorded import client_program, read_programs, read_start_ns, read_zero_ns, server_program

if TYPE_CHECKING:
    from mptcplab.recording.record import Recording

_T = TypeVar("_T")
#: The head of a line of ``flow`` that has the kind of an event: {"event":"interval".
_HEAD = 24
NS = 1e9
MS = 1e6
#: The error token of a handshake that ``flow`` gave up, and the time after which it does so.
_GIVEN_UP, _PATIENCE_S = "connect-timeout", 10.0
#: The error token of ``flow`` for connections that were still open when it was told to end.
_INTERRUPTED = "interrupted"
#: The most characters of a program's text that a message or a cell repeats.
_MAX_QUOTED = 200


@dataclass(frozen=True)
class Reading:
    """The result of a workload: goodput in bit/s, duration in s, and metrics by their names in JSON."""

    goodput_bps: float
    duration_s: float
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Failures:
    """The failed connections of a workload, out of ``connections`` that its client opened."""

    connections: int
    failed: tuple[Failure, ...]


@dataclass(frozen=True)
class Failure:
    """A connection that failed at ``at_s`` from time zero; ``reason`` is an error token that its program prints.

    ``after_s`` counts from the connection's establishment, or if it was never established from its first SYN. Both are
    None if the instant is not known. ``errno`` is the name of the error of the system call that failed; None if the
    program gave the connection up, or ended it for another reason. ``side`` is ``server`` if only the server noticed.
    """

    reason: str
    at_s: float | None
    after_s: float | None
    was_established: bool
    errno: str | None = None
    side: Literal["client", "server"] = "client"


#: Of a workload in which no connection failed; how many it opened is not read then.
NO_FAILURES = Failures(0, ())


@dataclass(frozen=True)
class Item:
    """One object, response or message: its number, and how long it took.

    ``begun_s`` is when it was asked for or due, in s from time zero; None if the program does not report it.
    """

    number: int
    took: float
    begun_s: float | None = None


@dataclass(frozen=True)
class Items:
    """The items that a workload delivers one by one. ``noun`` names them, ``time`` what is measured, in ``unit``."""

    noun: str
    time: str
    unit: str
    items: tuple[Item, ...]


@dataclass(frozen=True)
class TimedMessages:
    """The messages of a call or stream: when each was due, in s from time zero, and its delay in ms.

    ``lost_s`` are the instants of lost messages. A message with a delay of more than ``latest_ms`` is late. Each
    has ``size`` bytes, and ``interval_s`` after it the next one is due.
    """

    due_s: tuple[float, ...]
    delay_ms: tuple[float, ...]
    lost_s: tuple[float, ...]
    latest_ms: float
    interval_s: float = math.inf
    size: int = 0


@dataclass(frozen=True)
class ConnectionStart:
    """A connection that ``flow`` established: its number there and at its client, and its algorithms if known."""

    conn: int
    t_ns: int
    client_conn: int | None = None
    congestion: str | None = None
    scheduler: str | None = None


@dataclass(frozen=True)
class ConnectionTermination:
    """The termination of a connection of ``flow``: the ``bytes`` or ``messages`` that this host sent or received.

    Instants are in ns since boot; the first and last byte's are None without any byte. ``connect_ns`` is the time of
    the handshake, which the client knows, ``delay_sum_ns`` the sum over the messages that arrived. ``error`` is an
    error token of ``flow`` or an errno's name, ``errno`` the name of the error of the system call that failed.
    """

    conn: int
    t_ns: int
    bytes: int
    messages: int | None = None
    first_ns: int | None = None
    last_ns: int | None = None
    connect_ns: int | None = None
    delay_sum_ns: int = 0
    error: str | None = None
    checksum: str | None = None
    errno: str | None = None


@dataclass(frozen=True)
class Response:
    """A response of ``response`` bytes to a request of ``asked_ns`` that was complete at ``t_ns``, since boot."""

    t_ns: int
    asked_ns: int
    response: int


@dataclass(frozen=True)
class Arrivals:
    """The numbers and delays of messages that arrived."""

    seq: Sequence[int]
    delay_ns: Sequence[int]


@dataclass(frozen=True)
class Checksum:
    """The report of ``flow pattern`` or ``flow sum`` about the data that went through it."""

    bytes: int
    checksum: str


def read_starts(recording: Recording, program: str) -> list[ConnectionStart]:
    """Return the connections that a ``flow`` established."""
    return _parse_events(ConnectionStart, _events(recording, program, "start"))


def read_terminations(recording: Recording, program: str) -> list[ConnectionTermination]:
    """Return the terminations of the connections of a ``flow``."""
    return _parse_events(ConnectionTermination, _events(recording, program, "end"))


def read_responses(recording: Recording, program: str) -> list[Response]:
    """Return the responses that a ``flow`` got."""
    return _parse_events(Response, _events(recording, program, "request"))


def read_arrivals(recording: Recording, program: str) -> list[Arrivals]:
    """Return the messages that a ``flow`` received, some at a time."""
    return _parse_events(Arrivals, _events(recording, program, "packets"))


def quote_output(text: str) -> str:
    """Return what a program printed in a form that fits into a message or a cell: one line, and not too long."""
    line = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
    return line if len(line) <= _MAX_QUOTED else f"{line[: _MAX_QUOTED - 3]}..."


def read_checksums(recording: Recording, program: str) -> list[Checksum]:
    """Return what ``flow pattern`` or ``flow sum`` reports. :raises LabError: if that is nothing."""
    entries = _parse_events(Checksum, _error_events(recording, program, "stream"))
    if not entries:
        raise LabError(f"{program} reported no checksum", hint=f"see out/{program}.err")
    return entries


def _events(recording: Recording, program: str, kind: str) -> Iterable[Mapping[str, Any]]:
    """Return events of one kind, found by the head of lines, so that the many samples are not parsed."""
    lines = recording.output(program).splitlines()
    return (json.loads(line) for line in lines if f'"{kind}"' in line[:_HEAD])


def _error_events(recording: Recording, program: str, kind: str) -> Iterable[Mapping[str, Any]]:
    """Return events of one kind that a program wrote to its standard error, among other lines."""
    lines = recording.output(program, "err").splitlines()
    head = json.dumps({"event": kind}, separators=(",", ":")).removesuffix("}")
    return (json.loads(line) for line in lines if line.startswith(head))


def _parse_events(kind: type[_T], events: Iterable[Mapping[str, Any]]) -> list[_T]:
    """Return events as a class whose fields have the names of their keys. :raises TypeError: if they lack one."""
    names = [entry.name for entry in fields(kind)]  # type: ignore[arg-type]
    return [kind(**{name: event[name] for name in names if name in event}) for event in events]


def compute_goodput(received: int, elapsed_s: float, name: str) -> float:
    """Return the mean rate in bit/s. :raises LabError: if the data took no time."""
    if not received:
        return 0.0
    if not elapsed_s:
        hint = "give a link on its path a delay or a rate, so that packets take virtual time"
        raise LabError(f"{name}: the data took no time, so goodput is undefined", hint=hint)
    return 8 * received / elapsed_s


def compute_percentiles(values: Sequence[float], prefix: str, unit: str, wanted: Sequence[int]) -> dict[str, float]:
    """Return ``PREFIX_pNN_UNIT`` of ``values``, by nearest rank."""
    ordered = sorted(values)
    if not ordered:
        return {}
    return {f"{prefix}_p{each}_{unit}": nearest_rank_quantile(ordered, each) for each in wanted}


def compute_completion_metrics(times_s: list[float]) -> dict[str, float]:
    """Return mean and percentiles of completion times."""
    if not times_s:
        return {}
    mean = sum(times_s) / len(times_s)
    return {"completion_mean_s": mean, **compute_percentiles(times_s, "completion", "s", (50, 95, 99))}


def read_failures(recording: Recording, name: str, *, at_once: bool) -> Failures:
    """Return the failed connections of a workload as its client saw them; with ``at_once`` it opened all of them at
    its start.

    A connection of which only the server noticed that it failed is one of them.
    """
    client, server = client_program(name), server_program(name)
    if CONNECTION_FAILED not in (program.status for program in read_programs(recording) if program.workload == name):
        return NO_FAILURES
    zero_ns = read_zero_ns(recording)
    begun = read_start_ns(recording, client) + zero_ns if at_once else None
    started = {start.conn: start.t_ns for start in read_starts(recording, client)}
    terminations = read_terminations(recording, client)
    failed = [
        _failure(
            termination, zero_ns, started.get(termination.conn, begun), was_established=termination.conn in started
        )
        for termination in terminations
        if _is_failure(termination)
    ]
    failed_there = {termination.conn for termination in terminations if _is_failure(termination)}
    accepted = {start.conn: start for start in read_starts(recording, server)}
    for termination in read_terminations(recording, server):
        start = accepted.get(termination.conn)
        # A connection that failed before its header came may be any that failed at the client.
        is_known = start.client_conn in failed_there if start is not None else bool(failed_there)
        if _is_failure(termination) and not is_known:
            failure = _failure(termination, zero_ns, start.t_ns if start is not None else None, was_established=True)
            failed.append(replace(failure, side="server"))
    return Failures(len(terminations), tuple(failed))


def _is_failure(termination: ConnectionTermination) -> bool:
    return bool(termination.error) and termination.error != _INTERRUPTED


def _failure(
    termination: ConnectionTermination, zero_ns: int, begun_ns: int | None, *, was_established: bool
) -> Failure:
    at_s, after_s = (termination.t_ns - zero_ns) / NS, _duration(termination, begun_ns)
    return Failure(str(termination.error), at_s, after_s, was_established, termination.errno)


def _duration(termination: ConnectionTermination, begun_ns: int | None) -> float | None:
    if termination.error == _GIVEN_UP:
        return _PATIENCE_S
    return None if begun_ns is None else (termination.t_ns - begun_ns) / NS


def reading_of_failures(recording: Recording, name: str, failures: Failures) -> Reading:
    """Return the result of a workload that delivered nothing: no goodput until the last of its connections failed.

    :raises LabError: if no connection failed.
    """
    if not failures.failed:
        raise LabError(f"{name}: no connection delivered anything", hint=f"see out/{name}.client.err")
    start_s = read_start_ns(recording, client_program(name)) / NS
    return Reading(0.0, last_failure_s(failures) - start_s)


def last_failure_s(failures: Failures) -> float:
    """Return the instant in s from time zero at which the last connection of ``flow`` failed."""
    return max(failure.at_s for failure in failures.failed if failure.at_s is not None)
