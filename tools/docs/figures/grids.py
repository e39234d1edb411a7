# SPDX-License-Identifier: MIT
"""Tables of scenarios below examples/behaviour/ that need only settings and values: goodput in Mbit/s."""

from __future__ import annotations

from tools.docs.figures.grid import Grid, Name, code, join, option, setting, share, value, workload

from mptcplab.metrics.rows import ResultRow

_CONTROL = "transport.congestion_control"
_SYSCTL = "transport.sysctl"
_PROTOCOL_KEY = "transport.protocol"
_PROTOCOL = {"tcp": "TCP", "mptcp": "MPTCP"}
_COUNTED = option("hosts.server.transport.sysctl", {0: "", 1: ", idle count"})
_GOODPUT = {"": value()}


def _pause_grid(head: str, row: Name) -> Grid:
    """Return a grid for coupled-idle-*.toml: goodput of the connection with pauses, and of the TCP flow beside it."""
    control = "hosts.server.transport.congestion_control"
    user = workload({"bursts": "MPTCP", "tcp": "TCP"})
    return Grid(
        [head],
        [row],
        lambda result: f"{user(result)}, `{result.settings[control]}`{_COUNTED(result)}",
        _GOODPUT,
    )


def _by_scheduler(result: ResultRow) -> str:
    """Name the congestion control and scheduler of a result of best-path-schedulers.toml; TCP has no scheduler."""
    if result.settings[_PROTOCOL_KEY] == "tcp":
        return "TCP on link1"
    return f"`{result.settings[_CONTROL]}`, `{result.settings['transport.scheduler']}`"


GRIDS = {
    "hystart": Grid(
        ["congestion control"],
        [code(_CONTROL)],
        join(code("transport.scheduler"), option(_SYSCTL, {0: "Reno's", 1: "HyStart++"})),
        _GOODPUT,
    ),
    "clean-paths": Grid(
        ["congestion control"],
        [code(_CONTROL)],
        setting(_PROTOCOL_KEY, _PROTOCOL),
        {": Mbit/s": value(), ": retransmitted %": value("retransmitted_percent")},
    ),
    "olia-best-paths": Grid(
        ["loss on link1"],
        [setting("links.link1.forward.loss")],
        option(_SYSCTL, {0: "l / rtt²", 1: "l² / rtt"}),
        {": Mbit/s": value(), ": share of link1 %": share("link1")},
    ),
    "coupled-idle-subflows": _pause_grid("mean pause", setting("workloads.bursts.think")),
    "coupled-idle-scheduler": _pause_grid("scheduler", code("hosts.server.transport.scheduler")),
    "dropping-queue": Grid(
        ["jitter"],
        [setting("links.r2-server*.backward.jitter")],
        workload({"mptcp": "MPTCP, two Reno subflows", "tcp": "TCP"}),
        _GOODPUT,
    ),
    "best-path-schedulers": Grid(
        ["loss and delay of link2"],
        [join(setting("links.link2.forward.loss"), setting("links.link2.delay"))],
        _by_scheduler,
        _GOODPUT,
    ),
    "jitter": Grid(
        ["jitter"], [setting("links.link1.jitter")], lambda _: "mean delay, ms", {"": value("delay_mean_ms")}
    ),
    "read-quantum": Grid(
        ["`read_quantum`"],
        [setting("workloads.*.read_quantum")],
        workload({"multipath": "MPTCP, one subflow", "singlepath": "TCP"}),
        _GOODPUT,
    ),
    "phases-duration": Grid(
        ["duration", "protocol"],
        [setting("workloads.bulk.duration"), setting(_PROTOCOL_KEY, _PROTOCOL)],
        code("phases"),
        _GOODPUT,
    ),
    "phases-rate": Grid(
        ["rate of each link", "protocol"],
        [setting("links.line*.rate"), setting(_PROTOCOL_KEY, _PROTOCOL)],
        code("phases"),
        _GOODPUT,
    ),
}
