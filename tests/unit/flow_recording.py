# SPDX-License-Identifier: MIT
"""A recording of one flow, written by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.unit.manifests import manifest
from tests.unit.network_counters import write_counters

from mptcplab.metrics.manifest import AddressOwner
from mptcplab.recording import samples
from mptcplab.recording.record import Recording

ADDRESSES = {
    "10.0.1.1": {"node": "client", "link": "access1"},
    "10.0.2.2": {"node": "server", "link": "link1"},
    "10.0.3.1": {"node": "client", "link": "access2"},
    "10.0.4.2": {"node": "server", "link": "link2"},
}
PLACES = {address: AddressOwner(**place) for address, place in ADDRESSES.items()}
PATHS = (("10.0.1.1:4000", "10.0.2.2:5001"), ("10.0.3.1:4001", "10.0.4.2:5001"))


class FlowRecording:
    """A recording of one flow, written by hand: ``received`` bytes per subflow over 2 s.

    ``others`` are further connections, with the same per subflow.
    """

    def __init__(self, folder: Path, received: tuple[int, ...], *, mptcp: bool = True, **facts: Any) -> None:
        self.folder, self.received, self.mptcp = folder, received, mptcp
        self.fallback: bool = facts.get("fallback", False)
        #: Kernels before 6.5 do not number subflows.
        self.numbered: bool = facts.get("numbered", True)
        self.asked: bool = facts.get("asked", mptcp)
        self.offered: bool = facts.get("offered", self.asked)
        self.seed: int = facts.get("seed", 1)
        self.settings: list[list[str]] = facts.get("settings", [])
        self.checksums: tuple[str, str] = facts.get("checksums", ("aa", "aa"))
        self.others: tuple[tuple[int, ...], ...] = facts.get("others", ())
        accepted = {"MPTcpExtMPCapableACKRX": int(mptcp and not self.fallback) * (1 + len(self.others))}
        self.counted: dict[str, int] = facts.get("counted", accepted)
        self.algorithms: dict[str, Any] = facts.get("algorithms", algorithms_seen(("cubic", "cubic"), "default"))
        self.wanted: dict[str, str] = facts.get("wanted", {})
        self.complaints: str = facts.get("complaints", "")
        self.machine: dict[str, Any] | None = facts.get("machine")
        self.hz: int | None = facts.get("hz")
        self.spans: tuple[tuple[int, int | None], ...] = facts.get("spans", ())
        self.ends = len(self.spans) or 1

    def write(self) -> Recording:
        """Everything that a recording has and metrics read."""
        (self.folder / "out").mkdir(parents=True)
        rows: list[samples.Row] = []
        connections: list[samples.Row] = []
        for node in ("client", "server"):
            text = self._output(node)
            (self.folder / "out" / f"bulk.{node}.out").write_text(text)
            output = samples.parse_flow_output(text, node=node, program=f"bulk.{node}", zero_ns=0)
            rows += output[0]
            connections += output[1]
            counters = self.folder / "counters" / node
            counters.mkdir(parents=True)
            kernel = self.counted if node == "server" else {}
            (counters / "nstat.json").write_text(json.dumps({"kernel": kernel}))
            (counters / "algorithms.json").write_text(json.dumps(self.algorithms))
        samples.write(rows, self.folder / "subflows.parquet")
        samples.write(connections, self.folder / "connections.parquet")
        if self.complaints:
            (self.folder / "kernel.txt").write_text(self.complaints)
        if self.machine is not None:
            (self.folder / "machine.json").write_text(json.dumps(self.machine))
        manifest = self._manifest()
        write_counters(self.folder, manifest)
        (self.folder / "manifest.json").write_text(json.dumps(manifest))
        return Recording(self.folder)

    def _manifest(self) -> dict[str, Any]:
        limits = {"subflows": 8, "add_addr_accepted": 8}
        speaks = {"client": self.asked, "server": self.offered}
        hosts = [
            {
                "name": name,
                "kind": "host",
                "transport": {"protocol": "mptcp" if asked else "tcp", "limits": limits},
                "endpoints": [],
            }
            for name, asked in speaks.items()
        ]
        flow = {"kind": "flow", "reverse": False, "checksum": True, **self.wanted}
        return manifest(
            {"bulk": flow},
            nodes=hosts,
            seed=self.seed,
            settings=self.settings,
            addresses=ADDRESSES,
            facts={"kernel": {"release": "7.2.1-test", "hz": self.hz}},
        )

    def _output(self, node: str) -> str:
        events = (
            event
            for conn, received in enumerate((self.received, *self.others))
            for event in self._connection(node, conn, received)
        )
        return "".join(json.dumps(event) + "\n" for event in events)

    def _connection(self, node: str, conn: int, received: tuple[int, ...]) -> Iterator[dict[str, Any]]:
        common = {"conn": conn, "role": node}
        total = sum(received)
        last = 2_000_000_000
        yield {"event": "start", **common, "t_ns": 100, "congestion": "cubic" if node == "client" else "reno"}
        yield {"event": "interval", **common, "t_ns": last, "final": True, "bytes": total, "total": total}
        if self.mptcp:
            token = {} if self.fallback else {"token": 4711 + conn}
            yield {"event": "mptcp", **common, "t_ns": last, "final": True, "fallback": self.fallback, **token}
        for number, (count, path) in enumerate(zip(received, PATHS, strict=False), start=1):
            local, remote = path if node == "client" else path[::-1]
            subflow = {"event": "subflow", **common, "t_ns": last, "final": True, "local": local, "remote": remote}
            subflow |= {"subflow_id": number} if self.mptcp and self.numbered and not self.fallback else {}
            subflow |= {"bytes_received": count if node == "server" else 0}
            subflow |= {
                "bytes_acked": 0 if node == "server" else count,
                "bytes_sent": count,
                "bytes_retrans": count // 100,
            }
            yield subflow
        checksum = self.checksums[0 if node == "client" else 1]
        # Only a sender's end says when it began and ended writing.
        for first_ns, last_ns in self.spans if node == "client" and self.spans else ((None, last),) * self.ends:
            end = {"event": "end", **common, "t_ns": last, "bytes": total // self.ends, "connect_ns": 100}
            yield {**end, "first_ns": first_ns, "last_ns": last_ns, "checksum": checksum}


def algorithms_seen(congestion: tuple[str, str], scheduler: str = "") -> dict[str, Any]:
    """What the guest noted of two subflows."""
    sockets = [
        {"local": local, "remote": remote, "congestion": [name], "scheduler": [scheduler] if scheduler else []}
        for (local, remote), name in zip(PATHS, congestion, strict=True)
    ]
    return {"sockets": sockets}
