# SPDX-License-Identifier: MIT
"""What a capture says, as tables: one per MPTCP connection, and a line for all that is plain TCP."""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.capture.summary import ConnectionSummary, OptionRecord, Subflow, Summary
from mptcplab.report.table import Table

_MOST_EVENTS = 20
_ARROWS = (">", "<")
_COLUMNS = ("subflow", "way", "from side 0 to side 1", "began", "ids", "s", "payload B", "share")
_COUNTED = ("retransmitted B", "packets", "reinjected B", "end")
#: RFC 8684, 3.6.
_REASONS = ("unspecified", "MPTCP-specific", "lack of resources", "prohibited", "too much outstanding data")
_MORE_REASONS = ("unacceptable performance", "middlebox interference")


def headline(summary: Summary) -> str:
    """The whole capture in one sentence."""
    mptcp = len(summary.connections) + summary.connections_only_counted
    files = f"{len(summary.files)} files" if len(summary.files) > 1 else summary.files[0]
    over = "" if summary.duration_s is None else f" in {summary.duration_s:.3f} s"
    packets = f"{summary.tcp_packets:,} TCP packets{over}"
    return f"{files}: {packets}, {_count(mptcp, 'MPTCP connection')}, {tcp_line(summary)}"


def tcp_line(summary: Summary) -> str:
    """All plain TCP in one line."""
    count = len(summary.tcp) + summary.tcp_only_counted
    return f"{_count(count, 'plain TCP connection')} with {summary.tcp_payload_bytes:,} B of payload"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def connection_table(connection: ConnectionSummary) -> Table:
    """One connection: a row per subflow and direction that carried payload; what was said, below."""
    rows = tuple(row for subflow in connection.subflows for row in _rows(subflow))
    numeric = frozenset({"payload B", "share", "retransmitted B", "packets", "reinjected B"})
    return Table(_title(connection), (*_COLUMNS, *_COUNTED), rows, numeric, tuple(_notes(connection)))


def _title(connection: ConnectionSummary) -> str:
    version = "version unknown" if connection.version is None else f"version {connection.version}"
    tokens = " and ".join(token or "unknown" for token in connection.tokens)
    up, down = connection.data_bytes
    checksum = ", checksums" if connection.checksum else ""
    protocol = "plain TCP, asked for MPTCP" if connection.fallback else f"MPTCP {version}"
    return f"Connection {connection.number}: {protocol}, tokens {tokens}, data > {up:,} B, < {down:,} B{checksum}"


def _rows(subflow: Subflow) -> Iterator[tuple[str, ...]]:
    ways = [way for way in (0, 1) if subflow.directions[way].payload_bytes] or [0]
    for number, way in enumerate(ways):
        direction = subflow.directions[way]
        ids = "/".join("?" if found is None else str(found) for found in subflow.address_ids)
        began = f"{subflow.began}{_by(subflow)}{', backup' if any(subflow.backup) else ''}"
        seconds = f"{subflow.start_s:.3f} to {subflow.end_s:.3f}"
        first = (str(subflow.number), _ARROWS[way], " > ".join(subflow.ends), began, ids, seconds)
        later = ("", _ARROWS[way], "", "", "", "")
        yield (
            *(later if number else first),
            f"{direction.payload_bytes:,}",
            "" if direction.share is None else f"{direction.share:.1%}",
            f"{direction.retransmitted_bytes:,}",
            f"{direction.retransmitted_packets:,}",
            f"{direction.reinjected_bytes:,}",
            "" if number else subflow.state,
        )


def _by(subflow: Subflow) -> str:
    """Joins come from side 0 as a rule; the others are named."""
    return " by side 1" if subflow.began == "join" and subflow.initiator == 1 else ""


def _notes(connection: ConnectionSummary) -> Iterator[str]:
    if connection.fallback:
        yield f"[!] Plain TCP: {connection.fallback}."
    for note in connection.notes:
        yield f"[!] {note[0].upper()}{note[1:]}."
    for event in connection.events[:_MOST_EVENTS]:
        arrow = _ARROWS[event.side]
        yield f"{event.time_s:10.6f} s  subflow {event.subflow} {arrow} {event.kind} {describe(event)}".rstrip()
    left_out = len(connection.events[_MOST_EVENTS:]) + connection.events_left_out
    if left_out:
        yield f"... and {left_out} more; --json has the first {len(connection.events)}"


def describe(event: OptionRecord) -> str:
    """The values of an option in words."""
    about = event.about
    if event.kind == "ADD_ADDR":
        port = f" port {about['port']}" if about["port"] is not None else ""
        return f"{about['address']}{port}, id {about['address_id']}{', echo' if about['echo'] else ''}"
    if event.kind == "REMOVE_ADDR":
        return f"id {', '.join(map(str, about['address_ids']))}"
    if event.kind == "MP_PRIO":
        which = "" if about["address_id"] is None else f", id {about['address_id']}"
        return f"{'backup' if about['backup'] else 'not backup'}{which}"
    if event.kind == "MP_FAIL":
        return f"from data sequence number {about['sequence']}"
    if event.kind == "MP_TCPRST":
        known = (*_REASONS, *_MORE_REASONS)
        reason = known[about["reason"]] if about["reason"] < len(known) else "unknown"
        return f"reason {about['reason']}, {reason}{', transient' if about['transient'] else ''}"
    if event.kind == "DATA_FIN":
        return "" if about["data_bytes"] is None else f"after {about['data_bytes']:,} B of data"
    return ""
