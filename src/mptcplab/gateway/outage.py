# SPDX-License-Identifier: MIT
"""Outages of a gateway's program: it is killed, and started again some time later."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from mptcplab.fields import Misnomers, Part, Time, value_error
from mptcplab.gateway.words import DOWN, UP
from mptcplab.steps import Call, Command, Event, shell
from mptcplab.units import Duration

Side = Literal["entry", "exit"]


class Outage(Part):
    """One outage: the program of one side is killed at an instant and started again later."""

    misnomers: ClassVar[Misnomers] = {
        "side": ("end", "where", "node", "who"),
        "at": ("time", "when", "start", "t"),
        "downtime": ("duration", "for", "length", "down"),
    }

    side: Side = Field(description="the side whose program is killed")
    at: Time = Field(description="the instant, from time zero", examples=["5 s"])
    downtime: Time = Field(
        default=Duration(0), description="time until it is started again; 0: at once", examples=["1 s"]
    )

    @model_validator(mode="after")
    def _check(self) -> Outage:
        if self.at == 0:
            raise value_error("is before any workload has begun", 'use a later instant, like at = "5 s"', "at")
        return self


def find_overlap(outages: tuple[Outage, ...]) -> int | None:
    """Return the index of an outage that begins before an earlier one of its side has ended; None if there is none."""
    for index, this_outage in enumerate(outages):
        for other in outages[:index]:
            first, second = sorted((this_outage, other), key=lambda outage: int(outage.at))
            if this_outage.side == other.side and int(second.at) <= int(first.at) + int(first.downtime):
                return index
    return None


def supervise(call: Call, place: str) -> Call:
    """Return ``call`` under a shell that starts it again after each planned outage.

    The shell waits without polling: for the program's end, then for a line in the pipe ``PLACE.up``. The file
    ``PLACE.down`` says whether an outage has been planned; an unplanned end of the program is also the shell's.
    """
    quoted = shlex.quote(place)
    line = (
        f"mkfifo {quoted}.up && echo no > {quoted}.down && while :; do {call} & echo $! > {quoted}.pid; wait $!; "
        f"status=$?; read planned < {quoted}.down; [ $planned = yes ] || exit $status; echo no > {quoted}.down; "
        f"read again < {quoted}.up; done"
    )
    return shell(line, "mkfifo", call)


def outage_events(outage: Outage, name: str, node: str, place: str) -> Iterator[Event]:
    """Yield the two events of an outage of the gateway ``name``, whose program runs on ``node``."""
    quoted = shlex.quote(place)
    kill = f"echo yes > {quoted}.down; read pid < {quoted}.pid; kill -KILL $pid"
    start = f"echo up > {quoted}.up"
    back_ns = int(outage.at) + int(outage.downtime)
    yield Event(int(outage.at), DOWN, name, "both", outage.side, (_shell_command(node, kill),))
    yield Event(back_ns, UP, name, "both", outage.side, (_shell_command(node, start),))


def _shell_command(node: str, line: str) -> Command:
    call = shell(line)
    return Command(node, call.argv, call.starts)
