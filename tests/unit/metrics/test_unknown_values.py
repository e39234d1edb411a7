# SPDX-License-Identifier: MIT
"""What was not measured is not zero: it is absent from metrics, rows, tables and comparisons."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure as MplFigure
from tests.unit.manifests import manifest

from mptcplab.errors import LabError
from mptcplab.figure import lines as figure
from mptcplab.metrics.catalog.paths import Reassembly, reassembly_metrics, reinjected_bytes
from mptcplab.metrics.compare import collect_sides
from mptcplab.metrics.measure import WorkloadMeasurement
from mptcplab.metrics.rows import ResultRow, RunResult, rows_of
from mptcplab.metrics.stored import StoredRow
from mptcplab.metrics.subflows import (
    MptcpCounts,
    MptcpUse,
    Sockets,
    SocketSample,
    compute_shares,
    data_connections,
    ends_of,
    last_samples,
    sum_known,
)
from mptcplab.recording import captures, samples
from mptcplab.recording.record import Recording
from mptcplab.report.result_table import result_table
from mptcplab.stats import Interval
from mptcplab.workload.recorded import read_workload
from mptcplab.workload.registry import workload_of

SOURCE = Path(__file__).resolve().parents[3] / "src" / "mptcplab"
USE = MptcpUse(connections=1, with_mptcp=0, fell_back=0)


def test_a_sum_of_nothing_known_is_not_known() -> None:
    silent = SocketSample("a", "b", conn=0)
    described = SocketSample("10.0.0.1:1", "10.0.0.2:2", conn=1, bytes_received=7)
    assert sum_known([silent, silent], "bytes_received") is None
    assert sum_known([], "bytes_received") is None
    assert sum_known([silent, silent._replace(bytes_received=0)], "bytes_received") == 0
    assert data_connections([silent, described], "bytes_received") == [[described]]
    assert compute_shares([[silent, described]], {}) == {"10.0.0.2>10.0.0.1": 1.0}, (
        "a path of which nothing is known has no share"
    )


def test_samples_of_others_are_not_those_of_a_program(tmp_path: Path) -> None:
    """Datagrams beside iperf3: only its sockets are sampled, so that no row has a program."""
    row = {"time_ns": 1, "node": "server", "local": "10.0.2.2:5201", "remote": "10.0.1.1:40000", "bytes_received": 9}
    samples.write([row], tmp_path / "subflows.parquet")
    table = Recording(tmp_path).subflows
    assert last_samples(table, node="server", program="datagrams.server") == []
    assert [sample.bytes_received for sample in last_samples(table, node="server", program=None)] == [9]


def test_the_last_sample_of_a_closed_socket_is_the_last_with_counts(tmp_path: Path) -> None:
    row = {"node": "server", "local": "10.0.2.2:5201", "remote": "10.0.1.1:40000"}
    counts = ((1, 3), (2, 9), (3, None))
    samples.write(
        [{**row, "time_ns": at, "bytes_received": count} for at, count in counts], tmp_path / "subflows.parquet"
    )
    (last,) = last_samples(Recording(tmp_path).subflows, node="server", program=None)
    assert (last.time_ns, last.bytes_received) == (2, 9)


def _rows(*runs: tuple[int | None, dict[str, float]]) -> list[ResultRow]:
    """Of one point: what each run's sockets retransmitted of 100 bytes, None if none was seen, and their shares."""
    results = []
    for seed, (again, carried) in enumerate(runs, start=1):
        sent = None if again is None else 100
        sockets = Sockets(use=USE, shares=carried, retransmitted_bytes=again, sent_bytes=sent, congestion=())
        percent = sockets.retransmitted_percent
        figures = {"goodput_mbps": 1.0, "duration_s": 1.0}
        figures |= {} if percent is None else {"retransmitted_percent": percent}
        measured = WorkloadMeasurement("bulk", 1e6, sockets, "", MptcpCounts(0, 0, 0), (), figures)
        results.append(RunResult((), seed, f"run{seed}", "k", (measured,)))
    return rows_of(results)


def test_retransmissions_that_nobody_saw_are_not_zero() -> None:
    (row,) = _rows((None, {}), (None, {}))
    assert "retransmitted_percent" not in row.metrics
    document = row.to_json()["retransmitted_percent"]
    assert document == {"mean": None, "ci95_half_width": None, "n": 0, "values": [], "seeds": []}
    table = result_table("t", [row])
    assert dict(zip(table.headings, table.rows[0], strict=True))["retrans %"] == ""
    assert collect_sides([StoredRow.from_json(row.to_json())], "retransmitted_percent") == {}


def test_a_mean_is_over_the_runs_that_know() -> None:
    (row,) = _rows((4, {"a": 0.5, "b": 0.5}), (None, {}), (2, {"a": 1.0}))
    again = row.metrics["retransmitted_percent"]
    assert (again.mean, again.n) == (3.0, 2)
    assert row.seeds_of("retransmitted_percent") == (1, 3)
    assert row.to_json()["retransmitted_percent"]["seeds"] == [1, 3]
    (side,) = collect_sides([StoredRow.from_json(row.to_json())], "retransmitted_percent").values()
    assert side.values == {1: 4.0, 3: 2.0}
    assert row.shares == {"a": 0.75, "b": 0.25}, "a run of which nothing is known does not count as a run without data"


def test_a_percentage_of_nothing_is_not_known() -> None:
    sockets = Sockets(use=USE, shares={}, retransmitted_bytes=0, sent_bytes=0, congestion=())
    assert sockets.retransmitted_percent is None
    assert replace(sockets, sent_bytes=5).retransmitted_percent == 0


def _make_recording(folder: Path, kind: str = "flow", **outputs: list[dict[str, Any]]) -> Recording:
    workload: dict[str, Any] = {
        "kind": kind,
        "from": "client",
        "to": "server",
        "reverse": False,
        "duration": "1 s",
    }
    workload |= {"checksum": False}
    (folder / "manifest.json").write_text(json.dumps(manifest({"bulk": workload})))
    (folder / "out").mkdir()
    for side, said in outputs.items():
        text = "".join(json.dumps(event, separators=(",", ":")) + "\n" for event in said)
        (folder / "out" / f"bulk.{side}.out").write_text(text)
    return Recording(folder)


def test_a_connection_that_fell_back_has_reinjected_nothing(tmp_path: Path) -> None:
    """It does not tell what it had to send, so that all of its bytes would count as sent twice."""
    at = {"time_ns": 1, "program": "bulk.client", "node": "client"}
    subflows = [
        {**at, "conn": 0, "local": "a", "remote": "b", "bytes_sent": 1100, "bytes_retrans": 40},
        {**at, "conn": 1, "local": "c", "remote": "d", "bytes_sent": 5000, "bytes_retrans": 0},
    ]
    samples.write(subflows, tmp_path / "subflows.parquet")
    samples.write([{**at, "conn": 0, "bytes_sent": 1000}, {**at, "conn": 1}], tmp_path / "connections.parquet")
    recording = _make_recording(tmp_path)
    (ends,) = ends_of(recording)
    assert reinjected_bytes(recording, ends) == 60
    subflows[0]["bytes_retrans"] = None
    samples.write(subflows, tmp_path / "subflows.parquet")
    assert reinjected_bytes(Recording(tmp_path), ends) is None, "what was retransmitted is not known"


def test_nothing_delivered_between_samples_has_no_delay() -> None:
    import numpy as np

    held = Reassembly(np.array([0.0, 1.0]), np.array([10.0, 20.0]), np.array([10.0, 10.0]))
    assert "head_of_line_delay_ms" not in reassembly_metrics([held], reinjected=None)


def test_a_receiver_without_a_report_is_not_one_that_got_nothing(tmp_path: Path) -> None:
    sender = {"event": "end", "conn": 0, "t_ns": 10, "bytes": 0, "first_ns": 0, "messages": 50, "last_ns": 10}
    for folder, said in (("nothing", []), ("broken", [{"event": "start", "conn": 0, "t_ns": 0}])):
        (tmp_path / folder).mkdir()
        recording = _make_recording(tmp_path / folder, "udp", client=[sender], server=said)
        workload = workload_of(read_workload(recording, "bulk"))
        if said:
            with pytest.raises(LabError, match="no end"):
                workload.read(recording, "bulk")
        else:
            assert workload.read(recording, "bulk").metrics == {"lost_percent": 100}


def test_data_that_took_no_time_has_no_goodput(tmp_path: Path) -> None:
    start = {"event": "start", "conn": 0, "t_ns": 100}
    end = {"event": "end", "conn": 0, "t_ns": 100, "connect_ns": 0, "bytes": 5, "last_ns": 100}
    recording = _make_recording(tmp_path, client=[start, end], server=[end])
    with pytest.raises(LabError, match="goodput is undefined"):
        workload_of(read_workload(recording, "bulk")).read(recording, "bulk")


def test_a_capture_that_does_not_say_what_it_lost_has_failed() -> None:
    with pytest.raises(LabError, match="did not end properly"):
        captures._check("client-link1", "12 packets captured\n")
    captures._check("client-link1", "12 packets captured\n0 packets dropped by kernel\n")


def test_one_run_has_no_error_bar() -> None:
    """Beside points that have one: a bar of no length would say that the value is certain."""
    axes = MplFigure().subplots()
    series = figure.FigureSeries("tcp", (Interval(5.0, None, 1), Interval(6.0, 0.5, 3)))
    whole = figure.Figure("t", "x", "y", ("a", "b"), (series,))
    figure._draw_measured(axes, [0.0, 1.0], whole, series, figure._SeriesStyle("red", "o", "-"))
    (container,) = axes.containers
    lengths = [float(path.vertices[:, 1].max() - path.vertices[:, 1].min()) for path in container[2][0].get_paths()]
    assert [length for length in lengths if length == length] == [1.0], lengths


#: Ways to make a number of what is not there. In plans and layouts, it is a key that a scenario leaves out.
_TO_ZERO = re.compile(r"\bor 0(?:\.0)?\b(?!:)|fill_null|fill_nan|nan_to_num|\.get\(.+?, 0(?:\.0)?\)")
#: A count or sum that begins with its first part: until then there is nothing, which is 0.
_TALLY = re.compile(r"([\w.]+)\[(.+?)\] = \1\.get\(\2, 0\) \+ ")
_ROOMS = (
    *("metrics", "recording", "report", "study", "capture", "results", "stats"),
    *("steering/sockets.py", "guest/sampler.py", "guest/machine.py"),
)
#: Where 0 is the truth, and why.
_ZERO_IS_TRUE = {
    "analysis.start_ns or 0": "without packets there is no connection whose times could be counted from the first one",
    "acknowledgment=int(acknowledgment or 0)": "a segment without one has 0 in its header (RFC 9293, section 3.1)",
    "self._tokens.get(token, (None, 0))[0] is gone": "the number beside None is never used",
    "reinjected.get(flow.number, 0)": "the connection's other data was seen, and none of it on this subflow again",
    "shares.get(name, 0.0) for shares in known": "shares are of all data: a path without a share had no data",
    "beginning.during.get(earlier, 0)": "a row names only earlier workloads that still ran in some of its runs",
    "behind.get(name, 0)": "a place in a drawing",
    "count.get(item.name, 0)": "how many verdicts there are of a class",
    "counts.get(item.name, 0)": "how many verdicts there are of a class",
    "self.values.get(name, 0)": "how many verdicts there are of a class",
    "self.claims.get(name, 0)": "how many verdicts there are of a class",
    "entry.get(missing, 0)": "the key is there only if runs lack the value",
}


def _turns_unknown_into_zero(text: str) -> bool:
    return bool(_TO_ZERO.search(_TALLY.sub("", text)))


def test_code_that_reads_recordings_never_turns_unknown_into_zero() -> None:
    files = [file for room in _ROOMS for file in ([SOURCE / room] if "." in room else (SOURCE / room).rglob("*.py"))]
    lines = [
        f"{file.relative_to(SOURCE)}:{number}: {line.strip()}"
        for file in files
        for number, line in enumerate(file.read_text().splitlines(), start=1)
        if _turns_unknown_into_zero(line)
    ]
    print(lines)
    assert [line for line in lines if not any(text in line for text in _ZERO_IS_TRUE)] == []
    assert [text for text in _ZERO_IS_TRUE if not any(text in line for line in lines)] == [], "nobody needs it any more"
    assert len(files) > 50


@pytest.mark.parametrize(
    ("line", "made_up"),
    [
        ("total = row['bytes'] or 0", True),
        ("low = mean - (self.half_width or 0.0)", True),
        ('count += counters.get(f"{_PREFIX}MPJoinAckRx", 0)', True),
        ('gap = row.get("pause_ns", 0.0)', True),
        ("found[name] = found.get(other, 0) + 1", True),
        ("found[name] = found.get(name, 0) + 1", False),
        ('gap = row.get("pause_ns")', False),
    ],
)
def test_the_guard_finds(line: str, *, made_up: bool) -> None:
    assert _turns_unknown_into_zero(line) is made_up
