# SPDX-License-Identifier: MIT
"""Statistics of captures as tables: one per file, one for all files together or over the runs that they are."""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.capture.connections import TcpConnection
from mptcplab.capture.files import FilesStatistics, FileStatistics, Spread
from mptcplab.capture.statistics import Statistics
from mptcplab.report.table import Table, number_columns

_MAX_SHOWN = 10
_ARROWS = (">", "<")
_BOTH = "both"
_NUMBERS = ("packets", "left out", "bytes", "s", "Mbit/s", "mean delta us", "min us", "max us", "variance 1e-9 s2")
_COLUMNS = ("connection", "direction", *number_columns(*_NUMBERS))
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
    rows = [row for connection in capture.connections if connection in shown for row in _rows(connection)]
    if count > 1:
        rows.append((f"all {count:,}", _BOTH, *_cells(capture.total)))
    notes = list(_notes(statistics, capture.total))
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
    return Table.build(title, _COLUMNS, rows, notes)


def _rows(connection: TcpConnection) -> Iterator[tuple[str, ...]]:
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


def _notes(statistics: FileStatistics, total: Statistics) -> Iterator[str]:
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
