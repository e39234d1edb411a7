# SPDX-License-Identifier: MIT
"""Settings of the kernel (sysctl) as keys of a node's transport."""

from __future__ import annotations

import re

from mptcplab.importers.world import Node, Origin, World
from mptcplab.scenario.writing import Commented
from mptcplab.units import Size

#: Settings that each network namespace of mainline Linux has, and that a scenario may set as they are.
_SETTINGS = frozenset(
    [f"net.mptcp.{name}" for name in ("add_addr_timeout", "allow_join_initial_addr_port", "blackhole_timeout")]
    + [f"net.mptcp.{name}" for name in ("checksum_enabled", "close_timeout", "stale_loss_cnt")]
    + [
        f"net.ipv4.tcp_{name}"
        for name in (
            "ecn", "sack", "dsack", "timestamps", "window_scaling", "slow_start_after_idle", "no_metrics_save",
            "moderate_rcvbuf", "notsent_lowat", "syn_retries", "synack_retries", "retries1", "retries2", "fin_timeout",
            "keepalive_time", "keepalive_intvl", "keepalive_probes", "fastopen", "mtu_probing", "autocorking",
            "early_retrans", "recovery", "frto", "reordering", "limit_output_bytes", "min_tso_segs", "pacing_ss_ratio",
            "pacing_ca_ratio", "adv_win_scale", "max_syn_backlog", "syncookies", "abort_on_overflow", "tw_reuse",
            "thin_linear_timeouts", "shrink_window", "syn_linear_timeouts", "orphan_retries", "comp_sack_delay_ns",
        )
    ]
)  # fmt: skip
#: Settings of the out-of-tree kernel (multipath-tcp.org).
_OLD = "net.mptcp.mptcp_"
_CONTROLS = ("reno", "cubic", "bbr", "westwood", "vegas", "veno", "illinois", "dctcp", "lia", "olia", "balia", "wvegas")
#: Schedulers by the names that kernels give them: mainline's and BPF's, and the out-of-tree kernel's.
_SCHEDULERS = {
    "default": "default", "bpf_rr": "roundrobin", "bpf_red": "redundant", "bpf_minrtt": "minrtt",
    "roundrobin": "roundrobin", "redundant": "redundant", "blest": "blest", "ecf": "ecf", "minrtt": "minrtt",
}  # fmt: skip
_OLD_DEFAULT = "minrtt_v09"
_KEY = re.compile(r"net(?:[./][A-Za-z0-9_*-]{1,40}){1,8}")


def set_sysctl(world: World, node: Node, key: str, value: str, origin: Origin) -> None:
    """Take one setting; settings that no node of the lab has are noted."""
    key, value = key.replace("/", "."), " ".join(value.split())
    text, place = f"{key} = {value}", str(origin)
    if not _KEY.fullmatch(key) or len(value) > 60:
        world.skip(origin, text, "it is not a setting of the network")
    elif key in ("net.ipv4.ip_forward", "net.ipv4.conf.all.forwarding", "net.ipv6.conf.all.forwarding"):
        node.forwards = node.forwards or value == "1"
        world.replace("forwarding of routers", origin)
    elif key in ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"):
        sizes = value.split()
        if len(sizes) == 3 and all(size.isdigit() and 0 < int(size) < 2**31 for size in sizes):
            node.transport[key.rpartition(".")[2]] = Commented([str(Size(int(size))) for size in sizes], place)
        else:
            world.skip(origin, text, "it does not have three sizes")
    elif key == "net.ipv4.tcp_congestion_control":
        set_control(world, node, value, origin)
    elif key in ("net.mptcp.scheduler", f"{_OLD}scheduler"):
        set_scheduler(world, node, value, origin, is_old=key.startswith(_OLD))
    elif key in ("net.mptcp.enabled", f"{_OLD}enabled"):
        if value == "0":
            node.transport["protocol"] = Commented("tcp", f"{place}: {text}")
        else:
            world.replace("net.mptcp.enabled", origin)
    elif key == f"{_OLD}path_manager" and value == "fullmesh":
        node.transport["endpoints"] = Commented("fullmesh", f"{place}: {text}")
    elif key == f"{_OLD}checksum" and value in ("0", "1"):
        node.sysctl["net.mptcp.checksum_enabled"] = Commented(int(value), place)
    elif key == "net.mptcp.pm_type" and value == "0":
        world.replace("the kernel's path manager", origin)
    elif "rp_filter" in key:
        world.replace("rp_filter (nodes accept packets by any interface)", origin)
    elif key in _SETTINGS:
        node.sysctl[key] = Commented(int(value) if value.isdigit() and len(value) < 10 else value, place)
    else:
        world.skip(origin, text, "the lab's nodes do not have this setting each for themselves")


def set_control(world: World, node: Node, name: str, origin: Origin) -> None:
    """Take the congestion control of a node."""
    if name in _CONTROLS:
        node.transport["congestion_control"] = Commented(name, str(origin))
    else:
        world.skip(origin, f"congestion control {name}", "the lab's kernel does not have it")


def set_scheduler(world: World, node: Node, name: str, origin: Origin, *, is_old: bool) -> None:
    """Take the scheduler of a node; the default of the out-of-tree kernel is one of its own."""
    if is_old and name == "default":
        about = f"{origin}: the default of the out-of-tree kernel, lowest round-trip time first"
        node.transport["scheduler"] = Commented(_OLD_DEFAULT, about)
    elif name in _SCHEDULERS:
        node.transport["scheduler"] = Commented(
            _SCHEDULERS[name], f"{origin}: {name}" if name != _SCHEDULERS[name] else str(origin)
        )
    else:
        world.skip(origin, f"scheduler {name}", "the lab's kernel does not have it")
