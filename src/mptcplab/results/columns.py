# SPDX-License-Identifier: MIT
"""Type, unit and meaning of every column of the data frames, from which docs/python.md is generated.

``python -m mptcplab.results.columns --write docs/python.md`` writes each table between its two markers; tests check
that they are up to date, and that frames have these columns and no others. Columns of TCP_INFO and MPTCP_INFO have the
kernel's names (include/uapi/linux/tcp.h and mptcp.h), without the prefix.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mptcplab.errors import InputError
from mptcplab.lazy import pl
from mptcplab.metrics.column import Column
from mptcplab.metrics.network import SCOPES
from mptcplab.metrics.registry import IN_EVERY_ROW, METRICS
from mptcplab.metrics.rows import SOCKET_TEXTS
from mptcplab.plain_tables import markdown_table

_PLACE = re.compile(r"(<!-- columns: (\w+) -->\n).*?(<!-- end of columns -->)", re.DOTALL)

#: Metrics that rate a call.
CALL = ("mos", "r_factor", "delay_mean_ms", "delay_p95_ms", "jitter_ms", "late_percent", "lost_percent")
#: Unit and meaning by column. Every frame begins with a run's columns.
Columns = Mapping[str, tuple[str, str]]
RUN: Columns = {
    "run": ("", "identity of the run, which is also the name of its folder"),
    "seed": ("", "seed of the run"),
}
_WORKLOAD: Columns = {"workload": ("", "name of the workload")}
_MEASURED: Columns = {
    **{text.name: ("", text.definition) for text in SOCKET_TEXTS},
    "warnings": ("", "warnings about the run, separated by semicolons"),
}
_SOCKET: Columns = {
    "time_ns": ("ns", "when, from time zero"),
    "node": ("", "node of the socket"),
    "program": ("", "program that sampled its own socket; null for samples of the lab"),
    "role": ("", "`client` or `server`"),
    "conn": ("", "number of the connection in its program"),
}
_ITEM: Columns = {
    **_WORKLOAD,
    "number": ("", "number within the workload, from 0"),
    "begun_s": ("s", "when it was asked for, from time zero; null if the program does not report it"),
}
_TOOK: Columns = {**_ITEM, "took_s": ("s", "time until its last byte had arrived")}
_TCP_INFO: Columns = {
    "local": ("", "address and port of this side"),
    "remote": ("", "address and port of the other side"),
    "path": ("", "link of the sender and link of the receiver, the same on both sides"),
    "state": ("", "state of TCP"),
    "protocol": ("", "protocol of the socket"),
    "congestion": ("", "congestion control of the subflow"),
    "subflow_id": ("", "number of the subflow in its connection, from the kernel"),
    "id_local": ("", "address ID of this side"),
    "id_remote": ("", "address ID of the other side"),
    "token": ("", "token of the connection"),
    "flags": ("", "flags of the subflow, `MPTCP_SUBFLOW_FLAG_*`"),
    "final": ("", "whether this is the last sample"),
    "snd_cwnd": ("segments", "congestion window"),
    "snd_ssthresh": ("segments", "slow-start threshold"),
    "snd_wnd": ("B", "window that the peer offers"),
    "snd_mss": ("B", "maximum segment size for sending"),
    "rcv_mss": ("B", "maximum segment size that was received"),
    "rcv_ssthresh": ("B", "upper bound of the window that is offered"),
    "rcv_space": ("B", "estimated need of the receive buffer"),
    "rtt_us": ("us", "smoothed round-trip time"),
    "rttvar_us": ("us", "its mean deviation"),
    "min_rtt_us": ("us", "minimum of the round-trip time in the last five minutes"),
    "rcv_rtt_us": ("us", "round-trip time as the receiver estimates it"),
    "rto_us": ("us", "retransmission timeout"),
    "bytes_sent": ("B", "payload sent since the beginning, retransmissions included"),
    "bytes_acked": ("B", "payload acknowledged since the beginning"),
    "bytes_received": ("B", "payload received since the beginning"),
    "bytes_retrans": ("B", "payload retransmitted since the beginning"),
    "notsent_bytes": ("B", "payload in the send buffer that was not sent yet"),
    "segs_in": ("segments", "segments received since the beginning"),
    "segs_out": ("segments", "segments sent since the beginning"),
    "data_segs_in": ("segments", "those with payload received"),
    "data_segs_out": ("segments", "those with payload sent"),
    "delivered": ("segments", "segments delivered, as acknowledgements say"),
    "delivered_ce": ("segments", "segments that arrived with a congestion mark (ECN)"),
    "unacked": ("segments", "sent and not acknowledged"),
    "sacked": ("segments", "acknowledged selectively"),
    "lost": ("segments", "taken for lost"),
    "retrans": ("segments", "retransmitted and not acknowledged"),
    "total_retrans": ("segments", "retransmitted since the beginning"),
    "dsack_dups": ("", "duplicates that the peer reported"),
    "reord_seen": ("", "reordering events"),
    "reordering": ("segments", "reordering that is tolerated before a segment counts as lost"),
    "rcv_ooopack": ("segments", "received out of order since the beginning"),
    "ca_state": ("", "state of the congestion control: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss"),
    "pacing_rate": ("B/s", "rate of pacing"),
    "delivery_rate": ("B/s", "latest delivery rate"),
    "busy_time_us": ("us", "time with data to send since the beginning"),
    "rwnd_limited_us": ("us", "of it, time limited by the peer's window"),
    "sndbuf_limited_us": ("us", "of it, time limited by the send buffer"),
}
_MPTCP_INFO: Columns = {
    "bytes": ("B", "payload since the previous sample, of the sender as written, of the receiver as read"),
    "total": ("B", "payload since the beginning"),
    "final": ("", "whether this is the last sample"),
    "pause_ns": ("ns", "longest pause between two arrivals since the previous sample"),
    "pause_at_ns": ("ns", "when it began, from time zero"),
    "subflows": ("", "subflows beside the first"),
    "subflows_max": ("", "their limit"),
    "subflows_total": ("", "all subflows"),
    "add_addr_signal": ("", "addresses announced"),
    "add_addr_signal_max": ("", "their limit"),
    "add_addr_accepted": ("", "announced addresses accepted"),
    "add_addr_accepted_max": ("", "their limit"),
    "local_addr_used": ("", "local addresses in use beside the first"),
    "local_addr_max": ("", "their limit"),
    "flags": ("", "flags of the connection, `MPTCP_INFO_FLAG_*`"),
    "fallback": ("", "whether the connection fell back to TCP"),
    "remote_key_received": ("", "whether the peer's key is known"),
    "csum_enabled": ("", "1 with checksums of data"),
    "token": ("", "token of the connection"),
    "write_seq": ("", "next data sequence number to be written"),
    "snd_una": ("", "first data sequence number that is not acknowledged"),
    "rcv_nxt": ("", "next data sequence number expected"),
    "retransmits": ("", "timeouts of the connection in a row"),
    "bytes_sent": ("B", "payload handed to subflows since the beginning"),
    "bytes_acked": ("B", "payload acknowledged since the beginning"),
    "bytes_received": ("B", "payload received since the beginning"),
    "bytes_retrans": ("B", "payload reinjected since the beginning"),
    "last_data_sent_ms": ("ms", "time since data was sent"),
    "last_data_recv_ms": ("ms", "time since data was received"),
    "last_ack_recv_ms": ("ms", "time since an acknowledgement was received"),
}
#: The scopes with data frames, by the names of these.
_SCOPES = {scope.frame: scope for scope in SCOPES if scope.frame}
_DIRECTION: Columns = {"link": ("", "name of the link"), "direction": ("", "`forward` or `backward`")}

_RADIO: Columns = {
    "node": ("", "node with the radio"),
    "device": ("", "its interface"),
    "peer": ("", "node that it hears: a station, or the access point of a station"),
    "link": ("", "link of the station"),
}
#: The columns of each frame, beside :data:`RUN` and the swept keys.
FRAMES: Mapping[str, Columns] = {
    "runs": {
        **_WORKLOAD,
        **{name: (metric.unit, metric.noun) for name, metric in METRICS.items()},
        **_MEASURED,
        "kernel": ("", "release of the kernel"),
        "hz": ("1/s", "ticks of the kernel's timers"),
    },
    "subflows": {**_WORKLOAD, **_SOCKET, **_TCP_INFO},
    "connections": {**_WORKLOAD, **_SOCKET, **_MPTCP_INFO},
    "objects": _TOOK,
    "requests": _TOOK,
    "messages": {**_ITEM, "delay_ms": ("ms", "time from the instant at which it was due until it was read")},
    "calls": {
        **_WORKLOAD,
        **{name: (METRICS[name].unit, METRICS[name].definition) for name in CALL},
    },
    "events": {
        "instant_ns": ("ns", "when, from time zero"),
        "kind": ("", "what changed: `down`, `up`, `set`, `trace` and others"),
        "link": ("", "name of the link, host or gateway"),
        "direction": ("", "`forward`, `backward` or `both`"),
        "value": ("", "what it changed to"),
    },
    "queues": {
        "time_ns": ("ns", "when, from time zero"),
        **_DIRECTION,
        "node": ("", "node with the queue"),
        "device": ("", "its interface"),
        "bytes": ("B", "waiting"),
        "packets": ("packets", "waiting"),
        "drops": ("packets", "dropped since the beginning"),
    },
    "radios": {
        "time_ns": ("ns", "when, from time zero; earlier samples have negative times"),
        **_RADIO,
        "rssi_dbm": ("dBm", "signal of the last frame from the peer; null before the first"),
        "rx_bytes": ("B", "of frames of data received from the other end since the association"),
        "tx_bytes": ("B", "of frames of data sent to the other end since the association"),
        "rx_packets": ("packets", "received from the other end since the association"),
        "tx_packets": ("packets", "sent to the other end since the association"),
        "tx_retries": ("", "attempts that were repeated since the association"),
        "tx_failed": ("packets", "given up since the association"),
        "rx_kbps": ("kbit/s", "rate of the last frame of data that was received; null before the first"),
        "tx_kbps": ("kbit/s", "rate that rate control has used last; null before the first frame"),
        "rx_mcs": ("", "index of that rate in 802.11n, 0 to 7; null of other rates"),
        "tx_mcs": ("", "the same of the rate that was used last"),
        "rx_short_guard": ("", "whether the guard interval of that rate of 802.11n is 400 ns; null of other rates"),
        "tx_short_guard": ("", "the same of the rate that was used last"),
    },
    "associations": {
        "time_ns": ("ns", "when, from time zero"),
        **_RADIO,
        "kind": ("", "`associated`, `roamed` or `disassociated`, as the node saw it"),
        "reason": ("", "reason code of IEEE 802.11 for the end; null without one"),
    },
    **{
        frame: {column.name: (column.unit, column.definition) for column in (*scope.keys, *scope.numbers)}
        for frame, scope in _SCOPES.items()
    },
}

#: The columns that are not integers of 64 bits with a sign, by their types.
_TYPES: Mapping[type[pl.DataType], tuple[str, ...]] = {
    pl.String: (
        *("run", "workload", *(text.name for text in SOCKET_TEXTS), "warnings", "kernel"),
        *("node", "program", "role", "local", "remote", "path", "state", "protocol", "congestion"),
        *("link", "direction", "device", "kind", "value", "peer", "station", "access_point"),
    ),
    pl.Boolean: ("final", "fallback", "remote_key_received", "rx_short_guard", "tx_short_guard"),
    # As in recordings: sequence numbers, and rates for which ~0 means "not limited", use all bits.
    pl.UInt64: ("write_seq", "snd_una", "rcv_nxt", "pacing_rate", "delivery_rate"),
    pl.Float64: ("begun_s", "took_s", "delay_ms"),
}
_TYPE_OF = {name: kind for kind, names in _TYPES.items() for name in names}
#: The types of numbers in data frames.
_OF_NUMBERS = {int: pl.Int64, float: pl.Float64}


def _numbers(frame: str) -> tuple[Column[Any], ...]:
    return _SCOPES[frame].numbers if frame in _SCOPES else ()


def type_of(frame: str, column: str) -> type[pl.DataType]:
    """Return the type of a documented column."""
    number = next((number for number in _numbers(frame) if number.name == column), None)
    if number is not None:
        return _OF_NUMBERS[number.type]
    is_metric = column in METRICS and frame in ("runs", "calls")
    return pl.Float64 if is_metric else _TYPE_OF.get(column, pl.Int64)


def types(frame: str) -> dict[str, type[pl.DataType]]:
    """Return the columns that a frame always has, with their types; of metrics, the ones of every workload."""
    metrics = METRICS if frame == "runs" else {}
    names = (*RUN, *(name for name in FRAMES[frame] if name not in metrics), *(IN_EVERY_ROW if metrics else ()))
    return {name: type_of(frame, name) for name in names}


def table(frame: str) -> str:
    """Return the columns of a frame as Markdown; docs/metrics.md has the metrics and the numbers of the network."""
    elsewhere = set(METRICS) if frame == "runs" else {column.name for column in _numbers(frame)}
    rows = (
        (f"`{name}`", type_of(frame, name).__name__, unit, meaning)
        for name, (unit, meaning) in FRAMES[frame].items()
        if name not in elsewhere
    )
    return markdown_table(("column", "type", "unit", "meaning"), rows)


def replace(document: str) -> str:
    """Return ``document`` with the table of each pair of markers."""
    return _PLACE.sub(lambda match: f"{match[1]}{table(match[2])}\n{match[3]}", document)


def main(arguments: list[str]) -> None:
    """Write the tables into the file after ``--write``."""
    if arguments[:1] != ["--write"] or len(arguments) != 2:
        raise InputError("no file to write is named", hint="--write docs/python.md")
    file = Path(arguments[1])
    file.write_text(replace(file.read_text()))


if __name__ == "__main__":
    main(sys.argv[1:])
