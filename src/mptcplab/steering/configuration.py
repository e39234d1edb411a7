# SPDX-License-Identifier: MIT
"""The configurations of daemon and agent; docs/steering.md describes their keys."""

from __future__ import annotations

import ipaddress

from mptcplab.steering.policies import policy_classes
from mptcplab.steering.reports import MAX_NAME
from mptcplab.steering.tables import ConfigurationTable, read_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mptcplab.steering.policy import Policy

    Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NS = 1_000_000_000
_HOUR_S = 3600.0


class AccessPointConfig:
    """An access point as the daemon knows it: its agent's key, and what its reports may contain."""

    def __init__(self, name: str, key: bytes, networks: list[Network], *, is_wired: bool, max_bps: float) -> None:
        self.name, self.key, self.networks = name, key, networks
        self.is_wired, self.max_bps = is_wired, max_bps

    def covers(self, address: str) -> bool:
        """Return whether a terminal may have this address there. Without ``networks``, any."""
        return not self.networks or any(ipaddress.ip_address(address) in network for network in self.networks)


class DaemonConfig:
    """The configuration of the daemon. :raises InputError: for the first mistake."""

    def __init__(self, table: ConfigurationTable) -> None:
        self.listen = table.endpoint("listen")
        self.period_ns = round(_NS * table.number("period_s", 0.1, _HOUR_S))
        self.floor_dbm = table.number("floor_dbm", -150, 40)
        self.patience_periods = table.number("patience_periods", 1, 1000, 3)
        self.clock_tolerance_ns = round(_NS * table.number("clock_tolerance_s", 0.001, _HOUR_S, 5))
        self.max_signal_age_ms = round(1000 * table.number("max_signal_age_s", 0.1, 24 * _HOUR_S, 300))
        self.block_ns = round(_NS * table.number("block_s", 0, _HOUR_S, 60))
        self.control = table.text("control") if table.has_key("control") else None
        self.control_users = table.whole_numbers("control_users", [0])
        classes = policy_classes()
        policy = classes[table.choice("policy", list(classes))]
        seed = round(table.number("seed", 0, 2**53, 0))
        self.policy: Policy = policy.read(table, self.floor_dbm, seed)
        points = table.tables("access_points")
        self.access_points = [_access_point(name, point) for name, point in points.items()]
        if len(points) < 2:
            raise table.error("access_points", "has fewer than two", "add [access_points.NAME] for each")
        table.finish()


def _access_point(name: str, table: ConfigurationTable) -> AccessPointConfig:
    if not name.isascii() or not name.isprintable() or not 0 < len(name) <= MAX_NAME:
        raise table.error("", "is not a name", f"use at most {MAX_NAME} letters and digits")
    networks: list[Network] = []
    for text in table.texts("networks", []):
        try:
            networks.append(ipaddress.ip_network(text))
        except ValueError as error:
            raise table.error("networks", f"has {text!r}, an invalid one", 'write for example "10.0.1.0/24"') from error
    config = AccessPointConfig(
        name,
        table.key(),
        networks,
        is_wired=table.boolean("wired", default=False),
        max_bps=1e6 * table.number("max_rate_mbps", 0.001, 1e6, 10_000),
    )
    table.finish()
    return config


class AgentConfig:
    """The configuration of an agent. :raises InputError: for the first mistake."""

    def __init__(self, table: ConfigurationTable) -> None:
        self.access_point = table.text("access_point")
        if not self.access_point.isascii() or len(self.access_point) > MAX_NAME:
            raise table.error("access_point", "is not a name", f"use at most {MAX_NAME} letters and digits")
        self.devices = table.texts("devices")
        self.server = table.endpoint("server")
        self.period_ns = round(_NS * table.number("period_s", 0.1, _HOUR_S))
        self.is_probing = table.boolean("probe", default=True)
        self.key = table.key()
        table.finish()


def daemon_config(source: str) -> DaemonConfig:
    """Read the daemon's configuration: a TOML file, or JSON itself."""
    return DaemonConfig(read_table(source))


def agent_config(source: str) -> AgentConfig:
    """Read an agent's configuration: a TOML file, or JSON itself."""
    return AgentConfig(read_table(source))
