# SPDX-License-Identifier: MIT
"""A capture as text, its statistics as tables, and its figure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mptcplab.capture.connection import MptcpConnection
from mptcplab.capture.connections import TcpConnection
from mptcplab.capture.files import FilesStatistics, FileStatistics, Spread
from mptcplab.capture.statistics import Statistics
from mptcplab.capture.summary import CapturedSubflow, ConnectionSummary, OptionRecord, Summary
from mptcplab.figure.canvas import COLOURS, open_pyplot
from mptcplab.report.table import Table, number_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# The summary of a capture as text: one table per MPTCP connection, and one line about plain TCP.

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
    copies = f" ({summary.copies:,} of them copies)" if summary.copies else ""
    packets = f"{summary.tcp_packets:,} TCP packets{copies}{over}"
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
    for note in (*connection.notes, *connection.gaps):
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


# Statistics of captures as tables: one per file, one for all files together or over the runs that they are.

_MAX_SHOWN = 10
_BOTH = "both"
_NUMBERS = ("packets", "left out", "bytes", "s", "Mbit/s", "mean delta us", "min us", "max us", "variance 1e-9 s2")
_STATISTICS_COLUMNS = ("connection", "direction", *number_columns(*_NUMBERS))
#: Names, heads and factors of the values over runs.
_OF_RUNS = {
    "throughput_mbps": ("throughput", "Mbit/s", 1.0),
    "duration_s": ("duration", "s", 1.0),
    "mean_delta_us": ("mean TCP delta", "us", 1.0),
    "min_delta_us": ("minimum TCP delta", "us", 1.0),
    "max_delta_us": ("maximum TCP delta", "us", 1.0),
    "delta_variance_s2": ("variance of TCP deltas", "1e-9 s2", 1e9),
    "throughput_mibps": ("throughput, printed as Mbps by sriaimsard2019", "Mibit/s", 1.0),
}
_NANO = 1e9
_EXPLANATIONS = (
    "Left out: retransmissions, as tshark {} recognises them. Delta: time since the connection's previous packet, "
    "retransmissions included.",
)


def statistics_tables(statistics: FilesStatistics, *, are_runs: bool) -> list[Table]:
    """Return the tables, in the order of the files."""
    tables = [file_table(file) for file in statistics.files]
    if are_runs:
        tables.append(runs_table(statistics))
    elif len(statistics.files) > 1:
        tables.append(total_table(statistics))
    tables[-1] = tables[-1].with_notes(*(note.format(statistics.tshark) for note in _EXPLANATIONS))
    return tables


def file_table(statistics: FileStatistics) -> Table:
    """Return the statistics of a file: of its largest connections, and of all of them together."""
    capture = statistics.capture
    count = len(capture.connections) + capture.only_counted
    title = f"{statistics.file}: {count:,} TCP connection{'' if count == 1 else 's'}"
    shown = sorted(capture.connections, key=lambda connection: -connection.both.length)[:_MAX_SHOWN]
    rows = [row for connection in capture.connections if connection in shown for row in _statistics_rows(connection)]
    if count > 1:
        rows.append((f"all {count:,}", _BOTH, *_cells(capture.total)))
    notes = list(_statistics_notes(statistics, capture.total))
    if count > len(shown):
        notes.append(f"and {count - len(shown):,} connections with fewer bytes: see --json")
    return _table(title, rows, notes)


def total_table(statistics: FilesStatistics) -> Table:
    """Return the statistics of all files together."""
    note = "A connection that is in several files counts once: in the file that has most of its bytes."
    rows = [("all", _BOTH, *_cells(statistics.total))]
    return _table(f"{len(statistics.files)} files together", rows, [note])


def runs_table(statistics: FilesStatistics) -> Table:
    """Return the mean, the maximum and the minimum over the files."""
    values = statistics.runs
    rows = tuple(
        (name, unit, *_spread(values[key], factor)) for key, (name, unit, factor) in _OF_RUNS.items() if key in values
    )
    count = sum(1 for file in statistics.files if file.capture.connections)
    columns = ("value", "unit", *number_columns("mean", "maximum", "minimum"))
    return Table.build(f"Over {count} runs", columns, rows)


def _table(title: str, rows: list[tuple[str, ...]], notes: list[str]) -> Table:
    return Table.build(title, _STATISTICS_COLUMNS, rows, notes)


def _statistics_rows(connection: TcpConnection) -> Iterator[tuple[str, ...]]:
    name = " > ".join(map(str, connection.ends))
    yield (name, _BOTH, *_cells(connection.both))
    for arrow, direction in zip(_ARROWS, connection.directions, strict=True):
        yield ("", arrow, *_cells(direction))


def _cells(some: Statistics) -> tuple[str, ...]:
    throughput, variance = some.throughput_bps, some.delta_variance_s2
    return (
        f"{some.packets:,}",
        f"{some.left_out:,}",
        f"{some.length:,}",
        _number(some.duration_s, 6),
        _number(None if throughput is None else throughput / 1e6),
        _number(some.mean_delta_us, 3),
        _number(some.min_delta_us, 3),
        _number(some.max_delta_us, 3),
        _number(None if variance is None else variance * _NANO),
    )


def _number(value: float | None, digits: int = 2) -> str:
    if value is None:
        return ""
    least = 10**-digits
    return f"<{least:.{digits}f}" if 0 < value < least / 2 else f"{value:,.{digits}f}"


def _spread(spread: Spread, factor: float) -> tuple[str, str, str]:
    mean, maximum, minimum = (_number(value * factor, 3) for value in (spread.mean, spread.max, spread.min))
    return mean, maximum, minimum


def _statistics_notes(statistics: FileStatistics, total: Statistics) -> Iterator[str]:
    if statistics.is_cut_short:
        yield "[!] The file ends in the middle of a packet: these are the packets before."
    if not statistics.capture.connections:
        yield "[!] No TCP packets of the connections that were asked for."
    if statistics.tshark_restarts:
        yield (
            f"[!] The capture is so long that tshark began its analysis anew {statistics.tshark_restarts} times: a "
            "retransmission right after that may not have been recognised."
        )
    if total.backward:
        yield f"[!] {total.backward:,} packets are earlier than the one before: reordercap IN OUT sorts a capture."
    counts = {
        "out of order": total.out_of_order,
        "duplicate ACK": total.duplicate_acks,
        "previous segment not captured": total.gaps,
        "acknowledged segment not captured": total.unseen,
    }
    text = ", ".join(f"{count:,} x {name}" for name, count in counts.items() if count)
    if text:
        yield f"Seen by tshark: {text}."
    if total.throughput_mibps is not None and total.delta_variance_s2 is not None:
        yield (
            f"In the units of sriaimsard2019: throughput {_number(total.throughput_mibps)} Mibit/s, printed as Mbps; "
            f"jitter {_number(total.delta_variance_s2 * _NANO)} 1e-9 s2, printed as ns."
        )


# The figure of a capture: data sequence over time, coloured by subflow, with reinjections marked.

_UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
_NAMED = 10
#: More points than this become one bitmap inside the SVG: thousands of shapes make it slow to open.
_MAX_SHAPES = 1500

Points = list[tuple[int, int, int]]


def save_data_sequence(connection: MptcpConnection, summary: ConnectionSummary, start_ns: int, file: Path) -> None:
    """Draw ``connection`` into ``file``, whose suffix selects the format; equal captures give equal bytes.

    Times count from ``start_ns``. A direction without data is left out, and beside another one a single packet's.
    """
    senders = _senders(connection)
    ends = min(summary.subflows, key=lambda subflow: subflow.number).ends
    with open_pyplot() as plt:
        drawing, panels = plt.subplots(
            len(senders), 1, figsize=(8.0, 3.8 * len(senders)), sharex=True, squeeze=False, layout="constrained"
        )
        for axes, sender in zip(panels[:, 0], senders, strict=True):
            _draw(axes, connection, summary, sender, start_ns)
            axes.set_title(
                f"Connection {summary.number}: data from {ends[sender]} to {ends[1 - sender]}",
                loc="left",
                fontsize=11,
                fontweight="bold",
            )
        panels[-1, 0].set_xlabel("time since the first packet (s)")
        metadata = {"Date": None} if file.suffix == ".svg" else {"Software": None}
        drawing.savefig(file, dpi=160, metadata=metadata)
        plt.close(drawing)


def _senders(connection: MptcpConnection) -> list[int]:
    """Return the sides whose data is drawn: of a single point, there is nothing to see."""
    points = [{point for some in space.points.values() for point in some.points} for space in connection.spaces]
    for least in (2, 1):
        numbers = [side for side in (0, 1) if len(points[side]) >= least]
        if numbers:
            return numbers
    return [0]


def _draw(axes: Axes, connection: MptcpConnection, summary: ConnectionSummary, sender: int, start_ns: int) -> None:
    names = _names(connection, summary)
    space = connection.spaces[sender]
    unit, symbol = next(((unit, symbol) for unit, symbol in _UNITS if space.last >= unit), (1, "B"))
    points: dict[bool, Points] = {False: [], True: []}
    for (flow, is_reinjected), thinned in space.points.items():
        points[is_reinjected] += [(x - start_ns, y, names[flow][0]) for x, y in thinned.points]
    for is_reinjected, point in points.items():
        # In time order, so that no subflow hides another.
        point.sort()
        axes.scatter(
            [x / 1e9 for x, _, _ in point],
            [y / unit for _, y, _ in point],
            c=[COLOURS[number % len(COLOURS)] for _, _, number in point],
            marker="x" if is_reinjected else "o",
            s=36 if is_reinjected else 3,
            linewidths=1.4 if is_reinjected else 0,
            zorder=3 if is_reinjected else 2,
            rasterized=len(point) > _MAX_SHAPES,
        )
    _legend(axes, sorted(names.values()), summary, sender, has_reinjections=bool(points[True]))
    axes.set_ylabel(f"data sequence ({symbol})")
    axes.grid(color="0.88", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _names(connection: MptcpConnection, summary: ConnectionSummary) -> dict[int, tuple[int, str]]:
    """Return the index of the colour and the name of each flow, by its number in the analysis."""
    members = sorted(connection.flows, key=lambda member: (member[0].start_ns, member[0].number))
    return {
        flow.number: (number, f"{subflow.number}: {_host(subflow.ends[0])} > {_host(subflow.ends[1])}")
        for number, ((flow, _), subflow) in enumerate(zip(members, summary.subflows, strict=True))
    }


def _host(end: str) -> str:
    return end.rpartition(":")[0]


def _legend(
    axes: Axes, names: list[tuple[int, str]], summary: ConnectionSummary, sender: int, *, has_reinjections: bool
) -> None:
    for number, name in names[:_NAMED]:
        share = summary.subflows[number].directions[sender].share
        label = f"subflow {name}" if share is None else f"subflow {name}, {share:.1%}"
        axes.plot([], [], linestyle="none", marker="o", markersize=5, color=COLOURS[number % len(COLOURS)], label=label)
    if len(names) > _NAMED:
        axes.plot([], [], linestyle="none", label=f"and {len(names) - _NAMED} more")
    if has_reinjections:
        reinjected = f"reinjected ({summary.reinjected_bytes[sender]:,} B)"
        axes.plot([], [], linestyle="none", marker="x", markersize=6, color="0.3", label=reinjected)
    axes.legend(frameon=False, fontsize=9, loc="upper left")
