# SPDX-License-Identifier: MIT
"""Settings that random events choose from. A test compares the names with the names that the kernel registers."""

from __future__ import annotations

COUPLED = ("lia", "olia", "balia", "wvegas", "lia_v09", "olia_v09", "balia_v09", "wvegas_v09")
CONGESTION_CONTROLS = (*COUPLED, "cubic", "reno")
OUR_SCHEDULERS = (
    "minrtt",
    "blest",
    "ecf",
    "roundrobin",
    "redundant",
    "weighted",
    "priority",
    "minrtt_v09",
    "blest_v09",
    "ecf_v09",
)
SCHEDULERS = (*OUR_SCHEDULERS, "default")

#: The settings of the coupled congestion controls: the file of each, below /proc/sys, and the values that are tried.
COUPLED_SETTINGS = {
    "net/mptcp/coupled_hystart": ("0", "1"),
    "net/mptcp/coupled_olia_best": ("0", "1"),
    "net/mptcp/coupled_count_idle": ("0", "1"),
}

NODES = ("client", "server")
#: Each is a veth pair with an IPv4 and an IPv6 network.
PATHS = (1, 2, 3)

#: Endpoints that a node has at the beginning: the path and the kind of each, by its id.
FIRST_ENDPOINTS = {
    "client": {1: (2, "subflow"), 2: (3, "subflow")},
    "server": {1: (2, "signal"), 2: (3, "signal")},
}

TCP_PORT, TALK_PORT = 5001, 5002


def host(node: str) -> int:
    """Return the last part of all addresses of `node`."""
    return 1 + NODES.index(node)


def interface(node: str, path: int) -> str:
    """Return the name of the end of `path` at `node`."""
    return f"{node[0]}{path}"


def address(node: str, path: int, *, six: bool = False) -> str:
    """Return an address of `node` without its prefix length."""
    return f"fd00:{path}::{host(node)}" if six else f"10.0.{path}.{host(node)}"


def endpoint(node: str, number: int, path: int, *flags: str, six: bool = False) -> tuple[str, ...]:
    """Return the command that adds an endpoint to `node`."""
    where = (address(node, path, six=six), "dev", interface(node, path))
    return ("ip", "mptcp", "endpoint", "add", *where, "id", str(number), *flags)


def add_prefix(node: str, path: int, *, six: bool = False) -> str:
    """Return an address of `node` as `ip address` takes it."""
    return f"{address(node, path, six=six)}/{64 if six else 24}"
