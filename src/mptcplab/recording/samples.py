# SPDX-License-Identifier: MIT
"""Samples as tables: one row per subflow or connection and instant, from `flow` or from tools/sampler.

Times count from the plan's time zero, in ns. Columns beyond the fixed ones have the kernel's names and units of
TCP_INFO and MPTCP_INFO. They are empty if a source lacks the value.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

from mptcplab.lazy import pl

Row = dict[str, Any]
_TEXT = (
    *("node", "program", "local", "remote", "state", "protocol", "congestion", "direction", "checksum", "error"),
    *("device", "link", "kind", "value"),
)
_BOOLEAN = ("final", "fallback", "remote_key_received")
#: The kernel's numbers of TCP states, include/net/tcp_states.h.
_STATES = {
    1: "established", 2: "syn-sent", 3: "syn-recv", 4: "fin-wait-1", 5: "fin-wait-2", 6: "time-wait",
    7: "close", 8: "close-wait", 9: "last-ack", 10: "listen", 11: "closing",
}  # fmt: skip
#: Columns that use all 64 bits: data sequence numbers, and rates for which ~0 means "not limited".
_UNSIGNED = ("write_seq", "snd_una", "rcv_nxt", "pacing_rate", "delivery_rate")
_LEADING = (
    "time_ns",
    "instant_ns",
    "kind",
    "link",
    "direction",
    "node",
    "device",
    "program",
    "role",
    "conn",
    "local",
    "remote",
)


def parse_flow_output(text: str, *, node: str, program: str, zero_ns: int) -> tuple[list[Row], list[Row]]:
    """Return rows for subflows and for connections from the JSON lines of ``flow``."""
    subflows: list[Row] = []
    connections: list[Row] = []
    for row in map(json.loads, text.splitlines()):
        kind = row.pop("event")
        row |= {"time_ns": row.pop("t_ns") - zero_ns, "node": node, "program": program}
        if kind == "subflow":
            row.pop("id", None)
            subflows.append(row)
        elif kind == "interval":
            if row.get("pause_at_ns") is not None:
                row["pause_at_ns"] -= zero_ns
            connections.append(row)
        elif kind == "mptcp":
            _join(connections, row)
    return subflows, connections


def _join(connections: list[Row], row: Row) -> None:
    """Add MPTCP_INFO to the interval of the same instant and connection, which was written just before."""
    for candidate in reversed(connections):
        if candidate["conn"] == row["conn"] and candidate["time_ns"] == row["time_ns"]:
            candidate.update(row)
            return
    connections.append(row)


def parse_sampler_output(text: str) -> Iterator[Row]:
    """Yield rows for subflows from the sockets of tools/sampler."""
    for row in map(json.loads, text.splitlines()):
        row["state"] = _STATES.get(row["state"], str(row["state"]))
        yield row


def write(rows: Iterable[Row], file: Path) -> None:
    """Write Parquet whose bytes depend only on ``rows``. Without rows, write nothing."""
    rows = list(rows)
    if not rows:
        return
    keys: dict[str, None] = {key: None for row in rows for key in row}
    names = [name for name in _LEADING if name in keys] + sorted(set(keys) - set(_LEADING))
    schema = {name: _type_of(name) for name in names}
    columns = {name: _column(rows, name) for name in names}
    frame = pl.DataFrame(columns, schema=schema)
    # Encoded in memory first, because polars reports a full disk as an error of the format.
    encoded = io.BytesIO()
    frame.write_parquet(encoded, compression="zstd", compression_level=3, statistics=False)
    file.write_bytes(encoded.getvalue())


def _column(rows: list[Row], name: str) -> list[Any]:
    """Return the values of ``name``; None where a row lacks it."""
    try:
        return list(map(itemgetter(name), rows))  # most columns are complete, and this takes half as long
    except KeyError:
        return [row.get(name) for row in rows]


def _type_of(name: str) -> type[pl.DataType]:
    if name in _TEXT or name == "role":
        return pl.String
    if name in _BOOLEAN:
        return pl.Boolean
    if name in _UNSIGNED:
        return pl.UInt64
    return pl.Int64
