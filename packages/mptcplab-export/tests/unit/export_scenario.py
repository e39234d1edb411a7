# SPDX-License-Identifier: MIT
"""A scenario whose nodes have everything that an export can have, and what a plan says of them."""

from __future__ import annotations

from typing import Any

from mptcplab.scenario.schema import Scenario
from mptcplab_export.collect import ExportMachine, collect
from mptcplab_export.model import Configuration
from mptcplab_export.registry import FORMATS

_FLOW = {"kind": "flow", "size": "400 kB"}
TABLES: dict[str, Any] = {
    "title": "Everything, and 100 % of it: it's $HOME",
    "hosts": {
        "client": {
            "transport": {
                "congestion_control": "cubic",
                "tcp_rmem": ["4 KiB", "128 KiB", "6 MiB"],
                "sysctl": {"net.ipv4.conf.a-1.rp_filter": 2, "net.ipv4.tcp_ecn": 1},
                "endpoints": [{"link": "b_1", "flags": ["subflow", "backup"]}, {"link": "a-1"}],
            }
        },
        "phone": {"transport": {"path_manager": "userspace", "modes": {"c": "master"}}},
        "pc": {"transport": {"protocol": "tcp"}},
        "box": {"transport": {"protocol": "tcp"}},
        "server": {
            "transport": {
                "endpoints": [
                    {"link": "s", "flags": ["signal"], "port": 80},
                    {"link": "s", "flags": ["signal"], "port": 81},
                ]
            }
        },
    },
    "routers": {
        "r1": {"nat": ["core"], "middlebox": {"strip": ["mp_join"], "damage": "1 %", "out": ["core"]}},
        "r2": {"transport": {"path_manager": "userspace", "modes": {"core2": "master"}}},
        "r3": {"transport": {"protocol": "tcp"}},
    },
    "links": {
        "a-1": {"between": ["client", "r1"], "forward": {"rate": "10 Mbit/s", "delay": "5 ms"}, "mtu": "1400 B"},
        "b_1": {"between": ["client", "r2"]},
        "c": {"between": ["phone", "r1"]},
        "d": {"between": ["phone", "r2"]},
        "lan": {"between": ["pc", "r1"]},
        "core": {"between": ["r1", "r2"]},
        "core2": {"between": ["r1", "r2"]},
        "s": {"between": ["r2", "server"]},
        "tv": {"between": ["box", "r3"]},
        "e1": {"between": ["r3", "r2"]},
        "e2": {"between": ["r3", "r2"]},
    },
    "workloads": {
        "one": {**_FLOW, "from": "client", "to": "server"},
        "two": {**_FLOW, "from": "phone", "to": "server"},
        "three": {**_FLOW, "from": "pc", "to": "server"},
        "four": {**_FLOW, "from": "r2", "to": "phone"},
        "five": {**_FLOW, "from": "box", "to": "server"},
        "six": {"kind": "http", "size": "400 kB", "from": "r3", "to": "server", "through": "socks"},
    },
    "gateways": {
        "to-r2": {"program": "shadowsocks-libev", "entry": "r3", "exit": "r2", "cipher": "aes-128-gcm"},
        "socks": {
            "program": "shadowsocks-libev",
            "entry": "r3",
            "exit": "r2",
            "mode": "local",
            "port": 9000,
            "local_port": 1081,
            "outages": [{"side": "exit", "at": "2 s", "downtime": "1 s"}],
        },
    },
    "events": [{"at": "1 s", "type": "down", "link": "a-1"}],
}
NODES = ("client", "phone", "pc", "box", "server", "r1", "r2", "r3")
FAMILIES = ("ipv4", "ipv6")


def full_scenario(family: str = "ipv4") -> Scenario:
    return Scenario.model_validate({**TABLES, "family": family})


def configuration(node: str, family: str = "ipv4", **devices: str) -> Configuration:
    by_link = {link.replace("__", "-"): device for link, device in devices.items()}
    return collect(full_scenario(family), node, ExportMachine(by_link))


def files(form: str, node: str, family: str = "ipv4", **devices: str) -> dict[str, str]:
    """Return the texts of a format by path; in names of links, ``__`` stands for ``-``."""
    return {file.path: file.text for file in FORMATS[form].write(configuration(node, family, **devices))}
