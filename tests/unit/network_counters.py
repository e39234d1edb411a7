# SPDX-License-Identifier: MIT
"""What the kernel counts of a network, written by hand: as the commands of a plan print it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

#: Of a direction that nothing has passed.
NOTHING = {"packets": 0, "bytes": 0, "drops": 0, "qlen": 0}
Counts = Mapping[tuple[str, str], Mapping[str, Any]]


def write_counters(folder: Path, manifest: Mapping[str, Any], counts: Counts | None = None) -> None:
    """The files of every node. ``counts`` are of directions: packets, bytes, drops by netem, ``below`` by its queue."""
    counts = counts or {}
    for node in manifest["nodes"]:
        place = folder / "counters" / node["name"]
        place.mkdir(parents=True, exist_ok=True)
        (place / "tc.json").write_text(json.dumps(_disciplines(manifest, node["name"], counts)))
        (place / "link.json").write_text(json.dumps(_ports(manifest, node["name"], counts)))
        if "transport" in node:
            described = [
                {"address": endpoint["address"], "id": number, **dict.fromkeys(endpoint["flags"], True)}
                for number, endpoint in enumerate(node["endpoints"], start=1)
            ]
            (place / "mptcp-endpoint.json").write_text(json.dumps(described))
            (place / "mptcp-limits.json").write_text("add_addr_accepted 8 subflows 8 ")
        elif node.get("middlebox"):
            rules = [{"rule": {"table": "middlebox", "expr": [{"counter": {"packets": 7}}]}} for _ in node["middlebox"]]
            (place / "nft.json").write_text(json.dumps({"nftables": [{"metainfo": {}}, *rules]}))


def _disciplines(manifest: Mapping[str, Any], node: str, counts: Counts) -> list[dict[str, Any]]:
    disciplines: list[dict[str, Any]] = []
    for link in manifest["links"]:
        for side in ("forward", "backward"):
            if (link[side]["shaped_at"] or [None])[0] == node:
                count = {**NOTHING, **counts.get((link["name"], side), {})}
                below = {**count, "drops": count.pop("below", 0), **count.pop("leaf", {})}
                device = link[side]["shaped_at"][1]
                disciplines.append({"kind": "netem", "handle": "1:", "dev": device, "root": True, **count})
                disciplines.append({"kind": "tbf", "handle": "2:", "dev": device, "parent": "1:1", **below})
                disciplines.append(
                    {"kind": "clsact", "handle": "ffff:", "dev": device, "parent": "ffff:fff1", **NOTHING}
                )
    return disciplines


def _ports(manifest: Mapping[str, Any], node: str, counts: Counts) -> list[dict[str, Any]]:
    """What arrived at each port of a node, of directions that nothing shapes."""
    ports = []
    for link in manifest["links"]:
        if node in link["between"]:
            side = "backward" if link["between"][0] == node else "forward"
            count = {**NOTHING, **counts.get((link["name"], side), {})}
            received = {key: count[key] for key in ("packets", "bytes")}
            ports.append({"ifname": link["name"], "stats64": {"rx": received, "tx": {}}})
    return ports
