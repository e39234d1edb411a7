# SPDX-License-Identifier: MIT
"""The summary of a capture as text: one table per MPTCP connection, and one line about plain TCP."""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.capture.summary import CapturedSubflow, ConnectionSummary, OptionRecord, Summary
from mptcplab.report.table import Table, number_columns

_MAX_EVENTS = 20
_ARROWS = (">", "<")
_COUNTED = ("payload B", "share", "retransmitted B", "packets", "reinjected B")
_COLUMNS = (
    *("subflow", "direction", "from side 0 to side 1", "began", "ids", "s"),
    *number_columns(*_COUNTED),
    "end",
)
#: RFC 8684, 3.6.
_REASONS = ("unspecified", "MPTCP-specific", "lack of resources", "prohibited", "too much outstanding data")
_MORE_REASONS = ("unacceptable performance", "middlebox interference")


def headline(summary: Summary) -> str:
    """Return the whole capture in one sentence."""
    mptcp = len(summary.connections) + summary.connections_only_counted
    files = f"{len(summary.files)} files" if len(summary.files) > 1 else summary.files[0]
    over = "" if summary.duration_s is None else f" in {summary.duration_s:.3f} s"
    packets = f"{summary.tcp_packets:,} TCP packets{over}"
    return f"{files}: {packets}, {_count(mptcp, 'MPTCP connection')}, {tcp_line(summary)}"


def tcp_line(summary: Summary) -> str:
    """Return a line about all plain TCP connections."""
    count = len(summary.tcp) + summary.tcp_only_counted
    return f"{_count(count, 'plain TCP connection')} with {summary.tcp_payload_bytes:,} B of payload"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def connection_table(connection: ConnectionSummary) -> Table:
    """Return the table of one connection: a row per subflow and direction with payload, options and signals below."""
    rows = (row for subflow in connection.subflows for row in _rows(subflow))
    return Table.build(_title(connection), _COLUMNS, rows, _notes(connection))


def _title(connection: ConnectionSummary) -> str:
    version = "version unknown" if connection.version is None else f"version {connection.version}"
    tokens = " and ".join(token or "unknown" for token in connection.tokens)
    up, down = connection.data_bytes
    checksum = ", checksums" if connection.checksum else ""
    protocol = f"MPTCP {version}"
    if connection.fallback:
        protocol = "plain TCP, MPTCP requested" if connection.fallback_s is None else f"{protocol}, fell back to TCP"
    return f"Connection {connection.number}: {protocol}, tokens {tokens}, data > {up:,} B, < {down:,} B{checksum}"


def _rows(subflow: CapturedSubflow) -> Iterator[tuple[str, ...]]:
    senders = [side for side in (0, 1) if subflow.directions[side].payload_bytes] or [0]
    for number, side in enumerate(senders):
        direction = subflow.directions[side]
        ids = "/".join("?" if count is None else str(count) for count in subflow.address_ids)
        began = f"{subflow.began}{_join_remark(subflow)}{', backup' if any(subflow.backup) else ''}"
        seconds = f"{subflow.start_s:.3f} to {subflow.end_s:.3f}"
        first = (str(subflow.number), _ARROWS[side], " > ".join(subflow.ends), began, ids, seconds)
        later = ("", _ARROWS[side], "", "", "", "")
        yield (
            *(later if number else first),
            f"{direction.payload_bytes:,}",
            "" if direction.share is None else f"{direction.share:.1%}",
            f"{direction.retransmitted_bytes:,}",
            f"{direction.retransmitted_packets:,}",
            f"{direction.reinjected_bytes:,}",
            "" if number else subflow.state,
        )


def _join_remark(subflow: CapturedSubflow) -> str:
    """Return a remark about a join by side 1; most are by side 0."""
    return " by side 1" if subflow.began == "join" and subflow.initiator == 1 else ""


def _notes(connection: ConnectionSummary) -> Iterator[str]:
    if connection.fallback:
        yield f"[!] {'Plain TCP' if connection.fallback_s is None else 'Fell back to TCP'}: {connection.fallback}."
    for note in connection.notes:
        yield f"[!] {note[0].upper()}{note[1:]}."
    for event in connection.events[:_MAX_EVENTS]:
        arrow = _ARROWS[event.side]
        yield f"{event.time_s:10.6f} s  subflow {event.subflow} {arrow} {event.kind} {describe(event)}".rstrip()
    left_out = len(connection.events[_MAX_EVENTS:]) + connection.events_left_out
    if left_out:
        yield f"and {left_out} more; --json has the first {len(connection.events)}"


def describe(event: OptionRecord) -> str:
    """Return the values of an option as text."""
    about = event.about
    if event.kind == "ADD_ADDR":
        port = f" port {about['port']}" if about["port"] is not None else ""
        return f"{about['address']}{port}, id {about['address_id']}{', echo' if about['echo'] else ''}"
    if event.kind == "REMOVE_ADDR":
        return f"id {', '.join(map(str, about['address_ids']))}"
    if event.kind == "MP_PRIO":
        address_id = "" if about["address_id"] is None else f", id {about['address_id']}"
        return f"{'backup' if about['backup'] else 'not backup'}{address_id}"
    if event.kind == "MP_FAIL":
        return f"from data sequence number {about['sequence']}"
    if event.kind == "MP_TCPRST":
        known = (*_REASONS, *_MORE_REASONS)
        reason = known[about["reason"]] if about["reason"] < len(known) else "unknown"
        return f"reason {about['reason']}, {reason}{', transient' if about['transient'] else ''}"
    if event.kind == "DATA_FIN":
        return "" if about["data_bytes"] is None else f"after {about['data_bytes']:,} B of data"
    return ""
