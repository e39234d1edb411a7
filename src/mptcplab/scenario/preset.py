# SPDX-License-Identifier: MIT
"""Topology presets: common networks, by name.

A preset expands to the hosts, routers and links that a user could have written; keys of the scenario for a node or
link of the same name take precedence.

    direct             client -- link1 -- server
    chain              client -- r1 -- link1 -- r2 -- link2 -- r3 -- server   (routers = 3)
    disjoint-paths     client -- r1 -- link1 -- server, and the same through r2 ...   (paths = 2)
    shared-bottleneck  client and client2 -- r1 -- bottleneck -- r2 -- server and server2;
                       client has ``paths`` access links to r1, client2 has one
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from mptcplab.fields import Misnomers, Part, Whole, conflict
from mptcplab.scenario.document import Table

_MAX_SIZE = 16


class Topology(Part):
    """``[topology]``: a preset and its size."""

    misnomers: ClassVar[Misnomers] = {
        "preset": ("name", "type", "kind", "shape", "topology"),
        "paths": ("lines", "path", "path_count", "n_paths", "num_paths"),
        "routers": ("hops", "length", "n_routers", "num_routers"),
    }

    preset: Literal["direct", "chain", "disjoint-paths", "shared-bottleneck"] = Field(examples=["disjoint-paths"])
    paths: Whole | None = Field(
        default=None,
        ge=1,
        le=_MAX_SIZE,
        description="disjoint paths, or access links of the client; default 2",
        examples=[2],
    )
    routers: Whole | None = Field(
        default=None, ge=1, le=_MAX_SIZE, description="routers of a chain; default 3", examples=[3]
    )

    @model_validator(mode="after")
    def _sizes_of_preset(self) -> Topology:
        """Refuse a size that the preset does not have."""
        if self.paths is not None and self.preset in ("direct", "chain"):
            hint = 'remove `paths`, or use preset = "disjoint-paths"'
            raise conflict(f"preset '{self.preset}' has one path", hint, "paths")
        if self.routers is not None and self.preset != "chain":
            hint = 'remove `routers`, or use preset = "chain"'
            raise conflict(f"preset '{self.preset}' has a fixed number of routers", hint, "routers")
        return self

    def __str__(self) -> str:
        sizes = [f"{key} = {size}" for key, size in (("paths", self.paths), ("routers", self.routers)) if size]
        return " with ".join([f"preset '{self.preset}'", *sizes])


def expand(topology: Topology) -> Table:
    """Return the ``hosts``, ``routers`` and ``links`` tables of a preset."""
    if topology.preset == "direct":
        return _network(links={"link1": ("client", "server")})
    if topology.preset == "chain":
        return _chain(topology.routers or 3)
    if topology.preset == "disjoint-paths":
        return _disjoint(topology.paths or 2)
    return _shared_network(topology.paths or 2)


def _network(*, links: dict[str, tuple[str, str]], routers: int = 0, hosts: tuple[str, ...] = ()) -> Table:
    names = ("client", "server", *hosts)
    return {
        "hosts": {name: {} for name in names},
        "routers": {f"r{number}": {} for number in range(1, routers + 1)},
        "links": {name: {"between": list(ends)} for name, ends in links.items()},
    }


def _chain(routers: int) -> Table:
    links = {"client-r1": ("client", "r1")}
    for number in range(1, routers):
        links[f"link{number}"] = (f"r{number}", f"r{number + 1}")
    # With a single router the last link is link1, so that every preset has a link1.
    links["link1" if routers == 1 else f"r{routers}-server"] = (f"r{routers}", "server")
    return _network(links=links, routers=routers)


def _disjoint(paths: int) -> Table:
    links: dict[str, tuple[str, str]] = {}
    for number in range(1, paths + 1):
        links[f"access{number}"] = ("client", f"r{number}")
        links[f"link{number}"] = (f"r{number}", "server")
    return _network(links=links, routers=paths)


def _shared_network(paths: int) -> Table:
    links = {f"access{number}": ("client", "r1") for number in range(1, paths + 1)}
    links |= {
        "access-client2": ("client2", "r1"),
        "bottleneck": ("r1", "r2"),
        "r2-server": ("r2", "server"),
        "r2-server2": ("r2", "server2"),
    }
    return _network(links=links, routers=2, hosts=("client2", "server2"))
