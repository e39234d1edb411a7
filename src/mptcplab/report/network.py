# SPDX-License-Identifier: MIT
"""Tables of the network as the kernel counted it: links, MPTCP endpoints, middleboxes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mptcplab.metrics.loss import CONFIDENCE
from mptcplab.metrics.network_rows import (
    LinkRow,
    MiddleboxRow,
    RadioRow,
    endpoint_rows,
    link_rows,
    middlebox_rows,
    radio_rows,
)
from mptcplab.metrics.points import short_names
from mptcplab.metrics.rows import RunResult
from mptcplab.network.words import direction_words
from mptcplab.recording.record import Recording
from mptcplab.report.endpoint_table import endpoint_table
from mptcplab.report.table import Table, interval_text, number
from mptcplab.report.traces import with_traces
from mptcplab.stats import mean_interval

#: By settings, link and direction: its nodes and its configuration, as text.
Words = Mapping[tuple[tuple[tuple[str, str], ...], str, str], tuple[str, str]]
_MAX_ROWS = 200
#: Means of counts from here on are printed as whole numbers.
_LARGE = 100
_LOST, _ASKED = "lost %", "asked %"


@dataclass(frozen=True)
class _CounterColumn:
    """A column with a number of :class:`LinkRow`: its name in JSON, and the unit by which it is divided.

    A single value that ``is_count`` is printed as a whole number.
    """

    name: str
    unit: float = 1
    is_count: bool = False


#: Columns by their heads; counts are in packets. That of the configured loss has no counter.
_COLUMNS: Mapping[str, _CounterColumn | None] = {
    "packets": _CounterColumn("packets", is_count=True),
    "MB": _CounterColumn("bytes", 1e6),
    _LOST: _CounterColumn("lost_percent"),
    _ASKED: None,
    "dropped": _CounterColumn("dropped", is_count=True),
    "marked": _CounterColumn("marked", is_count=True),
    "peak queue": _CounterColumn("peak_queue_packets", is_count=True),
    "peak kB": _CounterColumn("peak_queue_bytes", 1e3),
}
#: Columns of radio links by their heads.
_RADIO_COLUMNS: Mapping[str, _CounterColumn] = {
    "RSSI dBm": _CounterColumn("rssi_dbm"),
    "at station": _CounterColumn("station_rssi_dbm"),
    "rx MB": _CounterColumn("rx_bytes", 1e6),
    "tx MB": _CounterColumn("tx_bytes", 1e6),
    "rx Mbit/s": _CounterColumn("rx_kbps", 1e3),
    "tx Mbit/s": _CounterColumn("tx_kbps", 1e3),
    "rx MCS": _CounterColumn("rx_mcs"),
    "tx MCS": _CounterColumn("tx_mcs"),
    "retries %": _CounterColumn("tx_retries_percent"),
    "associations": _CounterColumn("associations", is_count=True),
}
_RADIO_NOTE = (
    "RSSI: mean of what the access point heard of the station, and of what the station heard. Rx: what the access "
    "point received from the station; tx: what it sent. Retries: repeated attempts, in percent of the frames that it "
    "sent. Associations: of the station, after time zero. Mbit/s: mean of the rates of the last frames at each sample."
)
_MCS_NOTE = "MCS: mean of the indices of these rates, 0 to 7, as 802.11n numbers its modulations and codes."
_MCS = ("rx MCS", "tx MCS")
_NOTES = (
    "Packets and bytes that left the direction, as whole Ethernet frames, including ARP. Lost: at random, of the "
    "packets that entered. Dropped: by the queue. Marked: by ECN. Peak: the maximum of the queue's samples.",
    f"A highlighted loss is outside the interval that holds in {100 * CONFIDENCE:g} % of all runs with the loss asked "
    "for. One direction in a thousand is outside by chance.",
)


def words_of(runs: Iterable[tuple[RunResult, Recording]]) -> Words:
    """Return the texts about links in the manifests of some runs, by point."""
    return {
        (result.settings, link["name"], side): (
            _arrow(link["between"], side),
            _configured_words(recording.manifest, link, side),
        )
        for result, recording in runs
        for link in with_traces({link["name"]: link for link in recording.manifest["links"]}, recording).values()
        for side in ("forward", "backward")
    }


def _configured_words(manifest: Mapping[str, Any], link: Mapping[str, Any], side: str) -> str:
    is_radio = any(link["name"] in radio["links"] for radio in manifest.get("radios", ()))
    return "radio" if is_radio else ", ".join(direction_words([link[side]]))


def _arrow(between: Sequence[str], side: str) -> str:
    return " → ".join(between if side == "forward" else reversed(between))


def network_tables(results: Sequence[RunResult], words: Words) -> tuple[Table, ...]:
    """Return the tables that have rows: only that of links without MPTCP and middleboxes."""
    pair = (
        link_table(link_rows(results), words),
        radio_table(radio_rows(results)),
        endpoint_table(endpoint_rows(results), results, _MAX_ROWS),
        _middlebox_table(middlebox_rows(results)),
    )
    return tuple(table for table in pair if table.rows)


def link_table(rows: Sequence[LinkRow], words: Words) -> Table:
    """Return the counters of every direction of every link, beside its configuration."""
    shown = rows[:_MAX_ROWS]
    keys = list(rows[0].settings) if rows else []
    titles = [*short_names(keys).values(), "link", "direction", "as asked for", *_COLUMNS, "n"]
    cells = tuple(tuple(_link_cells(row, words)) for row in shown)
    loss = titles.index(_LOST)
    styles = tuple((line, loss, "bold red") for line, row in enumerate(shown) if row.outside)
    return Table("Links", tuple(titles), cells, frozenset(_COLUMNS), (*_NOTES, *_omission_notes(rows)), styles)


def _link_cells(row: LinkRow, words: Words) -> Iterator[str]:
    arrow, asked = words[tuple(row.settings.items()), row.link, row.direction]
    yield from (*row.settings.values(), row.link, arrow, asked)
    for column in _COLUMNS.values():
        yield _configured_loss(row) if column is None else _format_counts(row, column)
    yield str(len(row.seeds))


def radio_table(rows: Sequence[RadioRow]) -> Table:
    """Return what was heard and counted on every radio link."""
    keys = list(rows[0].settings) if rows else []
    has_mcs = any(row.values.get(_RADIO_COLUMNS[title].name) for row in rows for title in _MCS)
    columns = {title: column for title, column in _RADIO_COLUMNS.items() if has_mcs or title not in _MCS}
    titles = (*short_names(keys).values(), "link", "station", "access point", *columns, "n")
    cells = tuple(
        (
            *(*row.settings.values(), row.link, row.station, row.access_point),
            *(_format_counts(row, column) for column in columns.values()),
            str(len(row.seeds)),
        )
        for row in rows[:_MAX_ROWS]
    )
    notes = (_RADIO_NOTE, *((_MCS_NOTE,) if has_mcs else ()), *_omission_notes(rows))
    return Table("Radio links", titles, cells, frozenset(columns), notes)


def _format_counts(row: LinkRow | RadioRow, column: _CounterColumn) -> str:
    values = row.values.get(column.name)
    if not values:
        return ""
    if column.is_count:
        return _mean(values)
    return interval_text(mean_interval([value / column.unit for value in values]))


def _configured_loss(row: LinkRow) -> str:
    """Return the configured loss: a range if it changes during the run, or a minimum only (see ``Chances``)."""
    if row.asked.high >= 1:
        return f"at least {number(100 * row.asked.low)}"
    ends = dict.fromkeys(number(100 * chance) for chance in (row.asked.low, row.asked.high))
    return " to ".join(ends)


def _middlebox_table(rows: Sequence[MiddleboxRow]) -> Table:
    keys = list(rows[0].settings) if rows else []
    titles = (*short_names(keys).values(), "router", "does", "to", "packets", "n")
    cells = tuple(
        (*row.settings.values(), row.router, row.verb, row.option, _mean(row.packets), str(len(row.seeds)))
        for row in rows[:_MAX_ROWS]
    )
    return Table("Middleboxes", titles, cells, frozenset({"packets"}), tuple(_omission_notes(rows)))


def _mean(values: Sequence[float]) -> str:
    """Return the mean of counts; as a whole number if it is one of them, or so large that its parts say nothing."""
    mean = mean_interval(values)
    return interval_text(mean, 0 if len(set(values)) == 1 or mean.mean >= _LARGE else None)


def _omission_notes(rows: Sequence[object]) -> Iterator[str]:
    if len(rows) > _MAX_ROWS:
        yield f"The first {_MAX_ROWS} of {len(rows)} rows are shown; results.json has all."
