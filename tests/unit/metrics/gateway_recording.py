# SPDX-License-Identifier: MIT
"""A recording of a download through a gateway, written by hand: sockets of four nodes, counters of their kernels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.unit.manifests import manifest
from tests.unit.network_counters import write_counters

from mptcplab.recording import samples
from mptcplab.recording.record import Recording

OPENED, ACCEPTED = "MPTcpExtMPCapableSYNACKRX", "MPTcpExtMPCapableACKRX"
ANSWERED_BY_TCP, FALLBACK = "MPTcpExtMPCapableFallbackSYNACK", "MPTcpExtMPCapableFallbackACK"
ADDRESSES = {
    "10.0.1.1": ("laptop", "lan"),
    "10.0.1.2": ("home", "lan"),
    "10.0.2.1": ("home", "dsl"),
    "10.0.2.2": ("vps", "dsl"),
    "10.0.3.1": ("home", "lte"),
    "10.0.3.2": ("vps", "lte"),
    "10.0.4.1": ("vps", "wan"),
    "10.0.4.2": ("web", "wan"),
    "10.0.5.2": ("far", "wan"),
}
GATEWAY: dict[str, Any] = {
    "name": "bond",
    "program": "xray",
    "mode": "redirect",
    "entry": "home",
    "exit": "vps",
    "protocol": "mptcp",
    "port": 8388,
    "listening_port": 1080,
    "local": {},
    "carried": ["fetch"],
}
#: A download of 4 MB: 3 MB over dsl, 1 MB over lte.
DSL, LTE, TOTAL = 3_000_000, 1_000_000, 4_000_000


@dataclass
class GatewayRecording:
    """A recording of one download through a gateway; each socket has its token, its last bytes, and two samples."""

    folder: Path
    gateway: Mapping[str, Any] = field(default_factory=dict)
    workload: Mapping[str, Any] = field(default_factory=dict)
    more_workloads: Mapping[str, Any] = field(default_factory=dict)
    inner: tuple[int, ...] = (DSL, LTE)
    tokens: Mapping[str, int | None] = field(default_factory=dict)
    flags: Mapping[str, int] = field(default_factory=dict)
    outer: tuple[str, ...] = ("client", "entry", "exit", "server")
    counters: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    events: tuple[Mapping[str, Any], ...] = ()
    extra: tuple[samples.Row, ...] = ()

    def _rows(self) -> list[samples.Row]:
        tokens = {"entry_inner": 11, "exit_inner": 22, **self.tokens}
        gateway = {**GATEWAY, **self.gateway}
        client = "home" if gateway["local"] else "laptop"
        rows: list[samples.Row] = []

        def socket(node: str, local: str, remote: str, received: int, name: str) -> None:
            token, flags = tokens.get(name), self.flags.get(name)
            for second, share in ((1, 0.5), (2, 1.0)):
                at: samples.Row = {"time_ns": second * 10**9, "node": node, "local": local, "remote": remote}
                counts = {"bytes_received": int(share * received), "bytes_acked": int(share * (TOTAL - received))}
                kind = {"token": token, "flags": flags, "protocol": "tcp" if token is None else "mptcp"}
                rows.append({**at, **counts, **kind, "rtt_us": 20_000, "snd_cwnd": 10})

        outer = {
            "client": ("laptop", "10.0.1.1:40000", "10.0.4.2:5001", TOTAL),
            "entry": ("home", "10.0.1.2:1080", "10.0.1.1:40000", 0),
            "exit": ("vps", "10.0.4.1:40001", "10.0.4.2:5001", TOTAL),
            "server": ("web", "10.0.4.2:5001", "10.0.4.1:40001", 0),
        }
        if client == "home":
            outer["client"] = ("home", "127.0.0.1:40000", "127.0.1.1:1080", TOTAL)
            outer["entry"] = ("home", "127.0.1.1:1080", "127.0.0.1:40000", 0)
        if gateway["listening_port"] is None:
            outer["server"] = ("web", "10.0.4.2:5001", "10.0.1.1:40000", 0)
        for name in self.outer:
            socket(*outer[name], name)
        for count, (near, far) in zip(self.inner, (("10.0.2.1", "10.0.2.2"), ("10.0.3.1", "10.0.3.2")), strict=False):
            socket("home", f"{near}:40100", f"{far}:{gateway['port']}", count, "entry_inner")
            socket("vps", f"{far}:{gateway['port']}", f"{near}:40100", 0, "exit_inner")
        return [*rows, *self.extra]

    def write(self) -> Recording:
        """Everything that is read of it."""
        self.folder.mkdir(exist_ok=True)
        (self.folder / "out").mkdir()
        gateway = {**GATEWAY, **self.gateway}
        limits = {"subflows": 8, "add_addr_accepted": 8}
        asks = {"laptop": "mptcp"} if self.tokens.get("client") else {}
        nodes: list[dict[str, Any]] = [
            {
                "name": name,
                "kind": "host",
                "transport": {"protocol": asks.get(name, "tcp"), "limits": limits},
                "endpoints": [],
            }
            for name in ("laptop", "home", "vps", "web", "far")
        ]
        sides = {client: {"from": client, "to": "web"} for client in ("home" if gateway["local"] else "laptop",)}
        (ends,) = sides.values()
        load = {"kind": "http", "size": "4 MB", "files": 1, "retries": 0, **ends, **self.workload}
        made = manifest(
            {"fetch": load, **self.more_workloads},
            nodes=nodes,
            addresses={ip: {"node": owner, "link": link} for ip, (owner, link) in ADDRESSES.items()},
            gateways=[gateway],
            seed=1,
            settings=[],
            facts={"kernel": {"release": "7.2.1-test", "hz": None}},
            programs=[{"name": "fetch.client", "start_ns": 0, "end_ns": 2 * 10**9}],
            zero_ns=0,
        )
        write_counters(self.folder, made)
        default = {"home": {OPENED: 1}, "vps": {ACCEPTED: 1, ANSWERED_BY_TCP: 1}}
        for name in ("laptop", "home", "vps", "web", "far"):
            place = self.folder / "counters" / name
            counted = {**default.get(name, {}), **self.counters.get(name, {})}
            (place / "nstat.json").write_text(json.dumps({"kernel": counted}))
            (place / "algorithms.json").write_text(json.dumps(self._algorithms() if name == "vps" else {"sockets": []}))
        for side, kind in (("client", "err"), ("server", "err")):
            text = json.dumps({"event": "stream", "bytes": TOTAL, "checksum": "aa"}, separators=(",", ":"))
            (self.folder / "out" / f"fetch.{side}.{kind}").write_text(f"{text}\n")
        (self.folder / "manifest.json").write_text(json.dumps(made))
        samples.write(self._rows(), self.folder / "subflows.parquet")
        if self.events:
            samples.write(map(dict, self.events), self.folder / "events.parquet")
        return Recording(self.folder)

    def _algorithms(self) -> dict[str, Any]:
        """The exit sends; its sockets on lan and wan have another congestion control."""
        inner = [("10.0.2.2:8388", "10.0.2.1:40100"), ("10.0.3.2:8388", "10.0.3.1:40100")]
        sockets = [{"local": here, "remote": there, "congestion": ["olia"], "scheduler": []} for here, there in inner]
        other = {"local": "10.0.4.1:40001", "remote": "10.0.4.2:5001", "congestion": ["bbr"], "scheduler": []}
        return {"sockets": [*sockets, other]}
