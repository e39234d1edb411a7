# SPDX-License-Identifier: MIT
"""Where a node with radios is, and how it moves: waypoints, or a random walk.

A position is in metres. Between two waypoints a node moves straight and at a constant speed; before the first one and
after the last it stands. A walk is the random waypoint model (Johnson and Maltz, "Dynamic source routing in ad hoc
wireless networks", 1996): to a random place of an area at a random speed, a pause, and so on.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field, model_validator

from mptcplab.fields import Misnomers, Number, Part, Time, conflict, idle, value_error
from mptcplab.units import Duration

_SECOND_NS = 10**9
#: Farther away than any radio of the models is heard.
_MAX_METRES = 100_000.0
_MAX_SPEED = 100.0


def _check_position(position: tuple[float, float]) -> tuple[float, float]:
    if any(abs(metres) > _MAX_METRES for metres in position):
        raise value_error("is too far away", f"use from {-_MAX_METRES:g} to {_MAX_METRES:g} metres")
    return position


#: x and y in metres.
Position = Annotated[tuple[Number, Number], AfterValidator(_check_position)]


@dataclass(frozen=True)
class Waypoint:
    """A node is at ``position`` at ``at_ns`` from time zero."""

    at_ns: int
    position: tuple[float, float]


class WaypointKeys(Part):
    """One of the ``waypoints``."""

    misnomers: ClassVar[Misnomers] = {
        "at": ("time", "when", "t", "start"),
        "position": ("place", "location", "coordinates", "pos", "xy", "to"),
    }

    at: Time = Field(description="when the node is there, from time zero", examples=["10 s"])
    position: Position = Field(description="x and y in metres", examples=[[60, 0]])


class Walk(Part):
    """A random walk in an area."""

    misnomers: ClassVar[Misnomers] = {
        "area": ("bounds", "box", "region", "rectangle"),
        "speed_mps": ("speed", "speeds", "velocity"),
        "pause": ("wait", "pause_time", "dwell"),
    }

    area: tuple[Position, Position] = Field(
        description="two opposite corners of the area, in metres", examples=[[[0, 0], [100, 50]]]
    )
    speed_mps: tuple[Number, Number] = Field(
        default=(0.5, 1.5), description="slowest and fastest speed, in metres per second", examples=[[1, 1]]
    )
    pause: Time = Field(default=Duration(0), description="pause at each place", examples=["5 s"])

    @model_validator(mode="after")
    def _check(self) -> Walk:
        (left, bottom), (right, top) = self.area
        if left == right and bottom == top:
            raise value_error("is a point", "use two opposite corners, like [[0, 0], [100, 50]]", "area")
        slowest, fastest = self.speed_mps
        if not 0 < slowest <= fastest <= _MAX_SPEED:
            hint = f"use two speeds above 0 and up to {_MAX_SPEED:g} m/s, the slower one first"
            raise value_error("is not a range of speeds", hint, "speed_mps")
        return self

    def waypoints(self, start: tuple[float, float], random: Random, end_ns: int) -> Iterator[Waypoint]:
        """Yield the waypoints after ``start`` until one is after ``end_ns``."""
        (left, bottom), (right, top) = self.area
        at_ns, here = 0, start
        while at_ns <= end_ns:
            there = (round(random.uniform(left, right), 2), round(random.uniform(bottom, top), 2))
            seconds = math.dist(here, there) / random.uniform(*self.speed_mps)
            at_ns += max(1, round(seconds * 1000)) * (_SECOND_NS // 1000)
            yield Waypoint(at_ns, there)
            if self.pause:
                at_ns += int(self.pause)
                yield Waypoint(at_ns, there)
            here = there


class PlacedNode(Part):
    """The keys of a node that has a place."""

    misnomers: ClassVar[Misnomers] = {
        "position": ("place", "location", "coordinates", "pos", "xy"),
        "waypoints": ("path", "route", "trajectory", "moves", "movement"),
        "walk": ("random_walk", "random_waypoint", "mobility"),
    }

    position: Position | None = Field(
        default=None, description="where its radios are at time zero: x and y in metres", examples=[[5, 0]]
    )
    waypoints: tuple[WaypointKeys, ...] = Field(
        default=(),
        description="where it is later; it moves straight from one to the next",
        examples=[[{"at": "60 s", "position": [100, 0]}]],
    )
    walk: Walk | None = Field(
        default=None,
        description="a random walk from its position, another one with each seed",
        examples=[{"area": [[0, 0], [100, 50]]}],
    )

    @model_validator(mode="after")
    def _check_movement(self) -> PlacedNode:
        if self.waypoints and self.walk is not None:
            raise conflict("cannot be combined with waypoints", "remove one of the two", "walk")
        if self.position is None and (self.waypoints or self.walk is not None):
            key = "waypoints" if self.waypoints else "walk"
            raise idle("does nothing without a position", "add position = [0, 0]: where the node is at first", key)
        instants = [0, *(int(waypoint.at) for waypoint in self.waypoints)]
        for index, (earlier, later) in enumerate(itertools.pairwise(instants)):
            if later <= earlier:
                hint = "list the waypoints in the order of their times, the first later than 0 s"
                raise value_error("is not later than the time before it", hint, "waypoints", index, "at")
        return self

    @property
    def moves(self) -> bool:
        """True if it is not always at its position."""
        return bool(self.waypoints) or self.walk is not None

    def track(self, name: str, seed: int, end_ns: int) -> list[Waypoint]:
        """Return where the node called ``name`` is, with its position first, at least until ``end_ns``."""
        if self.position is None:
            return []
        track = [Waypoint(0, self.position)]
        track += [Waypoint(int(waypoint.at), waypoint.position) for waypoint in self.waypoints]
        if self.walk is not None:
            track += self.walk.waypoints(self.position, Random(f"walk {seed} {name}"), end_ns)
        return track
