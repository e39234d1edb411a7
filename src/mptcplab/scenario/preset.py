# SPDX-License-Identifier: MIT
"""Topology presets: the networks that nearly every study uses, by name.

A preset only writes the hosts, routers and links that a user could have written; what the scenario says about a
node or link of the same name is laid over it.

    direct             client -- line1 -- server
    line               client -- r1 -- line1 -- r2 -- r3 -- server            (routers = 3)
    disjoint-lines     client -- r1 -- line1 -- server, and again by r2 ...   (lines = 2)
    shared-bottleneck  client and client2 -- r1 -- bottleneck -- r2 -- server and server2;
                       client reaches r1 by ``lines`` access links, client2 by one
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from mptcplab.fields import Part, Whole, clash
from mptcplab.scenario.document import Table

_MOST = 16


class Topology(Part):
    """``[topology]``: which preset, and how large."""

    preset: Literal["direct", "line", "disjoint-lines", "shared-bottleneck"] = Field(examples=["disjoint-lines"])
    lines: Whole | None = Field(
        default=None, ge=1, le=_MOST, description="disjoint lines, or access links; default 2", examples=[2]
    )
    routers: Whole | None = Field(
        default=None, ge=1, le=_MOST, description="routers of a line; default 3", examples=[3]
    )

    @model_validator(mode="after")
    def _sizes_of_preset(self) -> Topology:
        """Refuse a size that the preset does not have."""
        if self.lines is not None and self.preset in ("direct", "line"):
            raise clash(f"preset '{self.preset}' has one line", "leave `lines` out, or use disjoint-lines", "lines")
        if self.routers is not None and self.preset != "line":
            hint = "leave `routers` out: it belongs to preset line"
            raise clash(f"preset '{self.preset}' has a fixed number of routers", hint, "routers")
        return self

    def __str__(self) -> str:
        sizes = [f"{key} = {size}" for key, size in (("lines", self.lines), ("routers", self.routers)) if size]
        return " with ".join([f"preset '{self.preset}'", *sizes])


def expand(topology: Topology) -> Table:
    """The ``hosts``, ``routers`` and ``links`` tables of a preset."""
    if topology.preset == "direct":
        return _network(links={"line1": ("client", "server")})
    if topology.preset == "line":
        return _line(topology.routers or 3)
    if topology.preset == "disjoint-lines":
        return _disjoint(topology.lines or 2)
    return _shared(topology.lines or 2)


def _network(*, links: dict[str, tuple[str, str]], routers: int = 0, hosts: tuple[str, ...] = ()) -> Table:
    names = ("client", "server", *hosts)
    return {
        "hosts": {name: {} for name in names},
        "routers": {f"r{number}": {} for number in range(1, routers + 1)},
        "links": {name: {"between": list(ends)} for name, ends in links.items()},
    }


def _line(routers: int) -> Table:
    links = {"client-r1": ("client", "r1")}
    for number in range(1, routers):
        links[f"line{number}"] = (f"r{number}", f"r{number + 1}")
    # With a single router the line is the last hop, so that there always is a line1 to describe.
    links["line1" if routers == 1 else f"r{routers}-server"] = (f"r{routers}", "server")
    return _network(links=links, routers=routers)


def _disjoint(lines: int) -> Table:
    links: dict[str, tuple[str, str]] = {}
    for number in range(1, lines + 1):
        links[f"access{number}"] = ("client", f"r{number}")
        links[f"line{number}"] = (f"r{number}", "server")
    return _network(links=links, routers=lines)


def _shared(lines: int) -> Table:
    links = {f"access{number}": ("client", "r1") for number in range(1, lines + 1)}
    links |= {
        "access-client2": ("client2", "r1"),
        "bottleneck": ("r1", "r2"),
        "r2-server": ("r2", "server"),
        "r2-server2": ("r2", "server2"),
    }
    return _network(links=links, routers=2, hosts=("client2", "server2"))
