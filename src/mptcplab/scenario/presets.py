# SPDX-License-Identifier: MIT
"""Presets: common networks by name, and published, measured rates and delays of links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from mptcplab.fields import Misnomers, Part, Whole, conflict
from mptcplab.scenario.document import Document, Table
from mptcplab.scenario.place import KeyPath
from mptcplab.units import Duration, Rate

# Topology presets: common networks, by name.
#
# A preset expands to the hosts, routers and links that a user could have written; keys of the scenario for a node or
# link of the same name take precedence.
#
#     direct             client -- link1 -- server
#     chain              client -- r1 -- link1 -- r2 -- link2 -- r3 -- server   (routers = 3)
#     disjoint-paths     client -- r1 -- link1 -- server, and the same through r2 ...   (paths = 2)
#     shared-bottleneck  client and client2 -- r1 -- bottleneck -- r2 -- server and server2;
#                        client has ``paths`` access links to r1, client2 has one

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


# Link presets: ``links.link1.preset = "lte-2014"`` sets published, measured rates and delays.
#
# ``forward`` is the uplink: the first node of ``between`` is the subscriber. A preset has only the values of its
# source; if the source gives no delay, the scenario must. Each direction gets half of the round-trip time as its
# delay: the whole path to the measurement server counts as the link. Keys of the scenario take precedence.


@dataclass(frozen=True)
class LinkPreset:
    """Measured values: rates in Mbit/s, times in ms, ``rtt`` without load; None if the source does not give it."""

    up: float | None
    down: float | None
    rtt: float | None
    technology: str
    source: str
    jitter: float | None = None


_OOKLA_2022 = (
    "Ookla, US, June 2022: medians of users' tests; "
    "https://www.telecompetitor.com/cox-nears-200-mbps-download-in-june-ookla-speedtest-results/"
)
_OOKLA_SATELLITE_2021 = (
    "Ookla, US, second quarter of 2021: medians of users' tests; "
    "https://www.ookla.com/articles/starlink-hughesnet-viasat-performance-q2-2021"
)
_OFCOM_2014 = (
    "Ofcom, five UK cities, fourth quarter of 2014: means of 120,000 tests on smartphones, four operators; "
    "http://4g5gworld.com/news/ofcom-147-mbps-average-lte-download-speed-uk"
)
_SAMKNOWS_2012 = (
    "SamKnows for the European Commission, March 2012: means at peak hours, wired; it gives no latency here; "
    "https://www.multichannel.com/news/cable-download-speeds-deemed-most-reliable-europe-261645"
)
_ITO = "Ito 2016: parameters of the study's emulated paths, after its own measurements to San Francisco"

#: By name; docs/events.md shows the same in a table.
LINK_PRESETS: dict[str, LinkPreset] = {
    "dsl-2012": LinkPreset(0.69, 7.2, None, "DSL", _SAMKNOWS_2012),
    "cable-2012": LinkPreset(3.68, 33.1, None, "cable", _SAMKNOWS_2012),
    "fibre-2012": LinkPreset(19.8, 41.02, None, "fibre to the home or cabinet", _SAMKNOWS_2012),
    "dsl-2022": LinkPreset(12.02, 41.29, 15, "CenturyLink, for the most part DSL", _OOKLA_2022),
    "cable-2022": LinkPreset(18.88, 184.08, 14, "Xfinity, for the most part cable", _OOKLA_2022),
    "fibre-2022": LinkPreset(112.36, 171.01, 8, "Verizon, for the most part fibre", _OOKLA_2022),
    "3g-2014": LinkPreset(1.6, 5.9, 63.5, "UMTS and HSPA", _OFCOM_2014),
    "lte-2014": LinkPreset(13.6, 14.7, 53.1, "LTE", _OFCOM_2014),
    "mobile-2022": LinkPreset(7.00, 54.64, 34, "LTE and 5G together (AT&T)", _OOKLA_2022),
    "5g-2024": LinkPreset(
        14.56,
        265.80,
        47,
        "5G (T-Mobile US)",
        "Ookla, US, first half of 2024: medians of users' tests; "
        "https://rcrwireless.com/20240717/5g/t-mobile-us-first-in-5g-mobile-att-in-home-internet-ookla",
    ),
    "starlink-2021": LinkPreset(13.89, 97.23, 45, "low orbit (Starlink)", _OOKLA_SATELLITE_2021),
    "starlink-2022": LinkPreset(
        9.33,
        90.55,
        43,
        "low orbit (Starlink)",
        "Ookla, US, first quarter of 2022: medians of users' tests; "
        "http://samenacouncil.org/samena_daily_news.php?news=90698",
    ),
    "starlink-2025": LinkPreset(
        14.84,
        104.71,
        25.7,
        "low orbit (Starlink)",
        "Ookla, US, first quarter of 2025: medians of users' tests; "
        "https://www.telecompetitor.com/starlink-shows-gains-in-speed-test-report/; latency as Starlink reports it for "
        "the US, July 2025, the median at peak hours as far as its own points of presence; "
        "https://www.starlink.com/updates/network-update",
    ),
    "satellite-2021": LinkPreset(
        2.43,
        19.73,
        724,
        "geostationary (HughesNet)",
        f"{_OOKLA_SATELLITE_2021}; latency from "
        "https://rcrwireless.com/20210804/carriers/"
        "nice-link-if-you-can-get-it-starlink-outpaces-other-satellite-providers-and-sometimes-even-fixed-broadband",
    ),
    "wifi-public-2014": LinkPreset(
        None,
        9,
        None,
        "public Wi-Fi of a coffee-shop chain, with its uplink",
        "OpenSignal, US, 2014: mean of users' tests, download alone; "
        "https://elblogdeformacion.blogspot.com/2014/08/coffee-rankings-are-personal-but-in-wi.html",
    ),
    "wifi-hop-2016": LinkPreset(
        None,
        None,
        20,
        "the Wi-Fi hop alone: a median of its latency",
        "'WiFi can be the weakest link of round trip network latency in the wild' (2016), 47 access points of a "
        "campus, two months: half of TCP's packets took more than 20 ms; "
        "https://paperexplained.cn/articles/paper/detail/aadd9fa14b6597dd00f5d77157bad602709f7d33",
    ),
    "ito2016-school": LinkPreset(80, 80, 290, "path 1 of the study", _ITO, jitter=1),
    "ito2016-home": LinkPreset(40, 40, 240, "path 2 of the study", _ITO, jitter=5),
}

LinkPresetName = Literal[
    "dsl-2012", "cable-2012", "fibre-2012", "dsl-2022", "cable-2022", "fibre-2022",
    "3g-2014", "lte-2014", "mobile-2022", "5g-2024",
    "starlink-2021", "starlink-2022", "starlink-2025", "satellite-2021",
    "wifi-public-2014", "wifi-hop-2016", "ito2016-school", "ito2016-home",
]  # fmt: skip


def keys_of(preset: LinkPreset, direction: str) -> list[tuple[str, str]]:
    """Return the keys that a preset has for a direction, with their values."""
    rate = preset.up if direction == "forward" else preset.down
    keys: list[tuple[str, str]] = []
    if rate is not None:
        keys.append(("rate", str(Rate(round(rate * 10**6)))))
    if preset.rtt is not None:
        keys.append(("delay", str(Duration(round(preset.rtt * 10**6 / 2)))))
    if preset.jitter is not None:
        keys.append(("jitter", str(Duration(round(preset.jitter * 10**6)))))
    return keys


def is_of_preset(document: Document, path: KeyPath) -> bool:
    """Return whether a preset has set the key at ``path`` of an expanded document."""
    return (document.place(path).written or ())[-1:] == ("preset",)
