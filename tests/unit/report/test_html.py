# SPDX-License-Identifier: MIT
"""The report as data and as a file: what it says, in which order, how large it is, that nothing breaks out."""

from __future__ import annotations

import html
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.manifests import describe as workloads_of
from tests.unit.report.html_page import EVIL, PageText, drawing_of
from tests.unit.report.test_report import result_row
from tests.unit.results_folders import TWO_LINES, make_results

from mptcplab.figure.timelines import _edges, _thin_out, timelines
from mptcplab.metrics.registry import METRICS
from mptcplab.pages import build_report, write_report
from mptcplab.plan.compile import compile_plan
from mptcplab.report import html as page
from mptcplab.report import html_build
from mptcplab.report.html import ExperimentSection, to_html
from mptcplab.report.html_sweep import axes_of, sweep_drawing
from mptcplab.report.result_table import counts_first, result_table
from mptcplab.results import open_results
from mptcplab.scenario.load import load
from mptcplab.stats import mean_interval
from mptcplab.workload.recorded import RecordedWorkload

ROOT = Path(__file__).resolve().parents[3]


def _only_section(folder: Path) -> ExperimentSection:
    (section,) = build_report(folder).experiments
    return section


@pytest.mark.slow
def test_same_numbers_as_the_table(tmp_path: Path) -> None:
    make_results(tmp_path / "r")
    results = open_results(tmp_path / "r")
    table = counts_first(result_table(results.title, results.rows))
    assert table.rows, "there is something to compare"
    cells = PageText(to_html(build_report(tmp_path / "r"))).cells
    expected = [cell for row in table.rows for cell in row]
    assert cells[: len(expected)] == expected
    assert len(expected) == 6 * len(table.columns)


@pytest.mark.slow
def test_order_of_contents(tmp_path: Path) -> None:
    make_results(tmp_path / "r", TWO_LINES.replace("repeats = 3", "repeats = 1"))
    text = to_html(build_report(tmp_path / "r"))
    text = text[text.index("<body>") :]
    parts = [
        "Every point has a single run",
        "<h1>Two lines</h1>",
        "Does it add up?",
        "<svg",
        "<table",
        ">Over the sweep<",
        ">Over time<",
        "How to repeat it",
        "Provenance",
        "What is modelled",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


@pytest.mark.slow
def test_what_the_command_line_changed_is_below_the_question(tmp_path: Path) -> None:
    make_results(tmp_path / "r", overrides=["links.link1.rate=40 Mbit/s", "links.link1.loss=1 %"])
    text = " ".join(to_html(build_report(tmp_path / "r")).split())
    assert 'Does it add up?</p> <p class="caption">Changed on the command line: ' in text
    assert (
        "<code>links.link1.rate = 40 Mbit/s</code>, <code>links.link1.loss = 1 %</code>. Title and question are" in text
    )
    make_results(tmp_path / "plain")
    assert "Title and question" not in to_html(build_report(tmp_path / "plain"))


def test_nothing_breaks_out(tmp_path: Path) -> None:
    """Title and question are any text; settings, names and commands end up in HTML, JSON and attributes."""
    folder = tmp_path / "r"
    make_results(folder)
    document = json.loads((folder / "results.json").read_text())
    document |= {"title": EVIL, "question": EVIL, "file": f"{EVIL}.toml", "changed": [f"a.b = {EVIL}"]}
    (folder / "results.json").write_text(json.dumps(document))
    for manifest in (folder / "runs").glob("*/manifest.json"):
        known = json.loads(manifest.read_text())
        known["facts"]["programs"] = {EVIL: EVIL}
        known["facts"]["kernel"]["release"] = EVIL
        known["addresses"]["10.0.1.1"]["link"] = EVIL
        manifest.write_text(json.dumps(known))
    text = to_html(build_report(folder))
    read = PageText(text)
    assert "img" not in read.tags
    assert read.tags.count("script") == 3, "data, library and ours"
    assert html.escape("<img src=x onerror=alert(1)>") in text
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert data is not None
    (chart,) = json.loads(data[1])[0][1]["points"][0]["workloads"]
    names = [curve["name"] for curve in chart["panels"]["rate"]["curves"]]
    assert names == [f"{EVIL}>link1"], "and it reads back as it was"


def test_the_sweep_begins_with_the_metric_that_the_workload_is_about() -> None:
    """As ``mptcplab figure`` does: of outages, the outage, not the goodput."""
    metrics = result_row().metrics
    rows = [result_row(settings={"x": x}, metrics={**metrics, "outage_s": mean_interval([1.0])}) for x in "ab"]
    (first, *others) = sweep_drawing(rows, axes_of(rows)).data["measures"]
    assert first["name"] == METRICS["outage_s"].noun
    assert first not in others
    rows = [result_row(settings={"x": x}) for x in "ab"]
    assert sweep_drawing(rows, axes_of(rows)).data["measures"][0]["name"] == "goodput"


def test_the_sweep_begins_with_the_workload_that_has_this_metric() -> None:
    """The outage of an upload was taken for the outage of sessions, since nothing named the workload."""
    plain = result_row().metrics
    of = {"sessions": {"response_p95_ms": mean_interval([9.0])}, "upload": {"outage_s": mean_interval([40.0])}}
    rows = [
        result_row(settings={"x": x}, workload=name, metrics={**plain, **extra})
        for x in "ab"
        for name, extra in of.items()
    ]
    drawing = sweep_drawing(rows, axes_of(rows))
    assert [name for name, _ in drawing.choices] == ["Workload", "Metric"]
    assert drawing.choices[0][1] == ("sessions", "upload", "all")
    names = [measure["name"] for measure in drawing.data["measures"]]
    assert (names[0], drawing.data["workload"]) == ("outage", 1), "as mptcplab figure"
    assert [names[at] for at in drawing.data["about"]] == [METRICS["response_p95_ms"].noun, "outage"]
    both = [result_row(settings={"x": x}, workload=name) for x in "ab" for name in of]
    assert sweep_drawing(both, axes_of(both)).data["workload"] == 2, "all have goodput"
    uploads = [row for row in rows if row.workload == "upload"]
    assert [name for name, _ in sweep_drawing(uploads, axes_of(uploads)).choices] == ["Metric"]


def test_backticks_of_messages_are_code() -> None:
    assert page._prose("use `a <b>` & `c`, or ` ") == "use <code>a &lt;b&gt;</code> &amp; <code>c</code>, or ` "


def test_loads_nothing(tmp_path: Path) -> None:
    make_results(tmp_path / "r")
    text = to_html(build_report(tmp_path / "r"))
    assert PageText(text).addresses == []
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    assert text.count('id="plotly"') == 1
    assert "default-src 'none'" in text, "and the browser sees to it"


@pytest.mark.slow
def test_500_runs_are_below_8_mb(tmp_path: Path) -> None:
    """The bound of the design: 500 points of one run each, which have more time series than 25 points of 20."""
    folder = tmp_path / "r"
    make_results(folder, TWO_LINES.replace("repeats = 3", "repeats = 1"), steps=600)
    templates = sorted((folder / "runs").iterdir())
    rows = []
    document = json.loads((folder / "results.json").read_text())
    for number in range(500):
        source = templates[number % len(templates)]
        place = folder / "runs" / f"{number:016x}"
        shutil.copytree(source, place)
        manifest = json.loads((place / "manifest.json").read_text())
        settings = {**dict(manifest["settings"]), "links.link1.delay": f"{number} ms"}
        (place / "manifest.json").write_text(
            json.dumps(manifest | {"identity": place.name, "settings": [list(pair) for pair in settings.items()]})
        )
        row = next(row for row in document["rows"] if manifest["identity"] in row["runs"])
        rows.append({**row, "settings": settings, "runs": [place.name]})
    (folder / "results.json").write_text(json.dumps(document | {"rows": rows}))
    report = write_report(folder, tmp_path / "report.html")
    size = (tmp_path / "report.html").stat().st_size
    timeline = drawing_of(report.experiments[0], "timeline")
    print(f"500 points: {size / 1e6:.2f} MB, of which time series {len(json.dumps(timeline.data)) / 1e6:.2f} MB")
    assert len(timeline.data["points"]) == 500
    assert "Curves have at most" in timeline.caption
    assert size < 8e6


@pytest.mark.slow
def test_warnings_come_with_rows_and_commands(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    make_results(folder, keep=lambda run: run.label != "protocol mptcp, delay 30 ms, seed 2")
    some = next(
        path
        for path in (folder / "runs").glob("*/manifest.json")
        if json.loads(path.read_text())["settings"][0][1] == "mptcp"
    )
    events = some.parent / "counters" / "server" / "nstat.json"
    events.write_text(json.dumps({"kernel": {"MPTcpExtMPCapableFallbackACK": 1}}))
    (folder / "runs" / "broken").mkdir()
    (folder / "runs" / "broken" / "manifest.json").write_text("{}")
    warnings = {notice.text: notice for notice in _only_section(folder).notices if notice.level == "warning"}
    missing = next(notice for text, notice in warnings.items() if "1 run is missing" in text)
    assert missing.where == ("protocol mptcp, link2.delay 30 ms, seed 2",)
    assert missing.command.endswith(
        f"made.toml --out {folder} --seed 2 --repeats 1 --set transport.protocol=mptcp --set 'links.link2.delay=30 ms'"
    )
    assert any("kernel" in text and notice.where for text, notice in warnings.items()), warnings
    assert any("could not be read" in text and "broken" in notice.where[0] for text, notice in warnings.items())


def test_failed_runs(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    make_results(folder)
    document = json.loads((folder / "results.json").read_text())
    failed = {
        "settings": {"transport.protocol": "mptcp"},
        "seed": 9,
        "error": "bulk.client on client ended with status 1",
    }
    (folder / "results.json").write_text(json.dumps(document | {"failed": [failed]}))
    (warning,) = [notice for notice in _only_section(folder).notices if notice.level == "warning"]
    assert warning.text.startswith("1 run failed")
    assert warning.where == ("protocol mptcp, seed 9: bulk.client on client ended with status 1",)
    assert warning.command.endswith("--seed 9 --repeats 1 --set transport.protocol=mptcp")


@pytest.mark.slow
def test_the_whole_command_counts_failed_runs(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    make_results(folder, keep=lambda run: run.label != "protocol mptcp, delay 30 ms, seed 3")
    document = json.loads((folder / "results.json").read_text())
    settings = {"transport.protocol": "mptcp", "links.link2.delay": "30 ms"}
    lost = [{"settings": settings, "seed": 3, "error": "it ended"}]
    (folder / "results.json").write_text(json.dumps(document | {"failed": lost}))
    assert _only_section(folder).repeat.commands[0].line.endswith("/r --seed 1 --repeats 3")


@pytest.mark.slow
def test_points_with_different_numbers_of_runs(tmp_path: Path) -> None:
    """Points that were repeated until they were certain: nothing is missing, and the file says how often."""
    folder = tmp_path / "r"
    make_results(folder, keep=lambda run: run.seed < 3 or run.point.settings["transport.protocol"] == "tcp")
    document = json.loads((folder / "results.json").read_text())
    (folder / "results.json").write_text(json.dumps(document | {"failed": []}))
    section = _only_section(folder)
    assert [notice.text for notice in section.notices if notice.level == "warning"] == []
    assert section.repeat.commands[0].line.endswith("/r --seed 1")


@pytest.mark.slow
def test_no_warnings_is_said_only_when_it_is_so(tmp_path: Path) -> None:
    make_results(tmp_path / "r")
    assert "No warnings." in to_html(build_report(tmp_path / "r"))
    (tmp_path / "r" / "results.json").unlink()
    text = to_html(build_report(tmp_path / "r"))
    assert "No warnings." not in text
    assert "did not finish" in text


@pytest.mark.slow
def test_the_resolved_scenario_is_a_file_that_runs(tmp_path: Path) -> None:
    """The same plan as recorded, to the letter: addresses, routes and commands depend on the order of the file."""
    text = TWO_LINES + (
        'transport = { congestion_control = "reno", sysctl = { "net.ipv4.tcp_ecn" = 1 } }\n'
        'hosts.client.transport.endpoints = [{ link = "access2", flags = ["subflow", "backup"] }]\n'
        'links.link1.backward = { loss = "0.5 %", queue = "20 packets" }\n'
    )
    text = text.replace("links.link1 = {", "links.link1 = { ").replace(
        'links.link1 = {  rate = "50 Mbit/s", delay = "10 ms" }',
        'links.link1.rate = "50 Mbit/s"\nlinks.link1.delay = "10 ms"',
    )
    make_results(tmp_path / "r", text)
    results = open_results(tmp_path / "r")
    ((_, written),) = _only_section(tmp_path / "r").repeat.files
    file = tmp_path / "again.toml"
    file.write_text(written)
    again = load(file)
    first = results.recorded[0]
    recorded = json.loads((first.recording.folder / "plan.json").read_text())["plan"]
    assert json.loads(compile_plan(again.points[0].scenario, seed=again.seed).to_json()) == recorded
    assert again.title == "Two lines"
    assert 'between = ["client", "r1"]' in written, "short lists on one line"


def test_one_run_per_point_the_median(tmp_path: Path) -> None:
    make_results(tmp_path / "r")
    data = drawing_of(_only_section(tmp_path / "r"), "timeline").data
    assert [point["at"] for point in data["points"]] == [[i, j] for i in range(2) for j in range(3)]
    # Goodput grows with the seed: of 1, 2 and 3 the second is the median.
    assert {point["seed"] for point in data["points"]} == {2}


def test_goodput_over_time_adds_up(tmp_path: Path) -> None:
    make_results(tmp_path / "r")
    run = next(run for run in open_results(tmp_path / "r").recorded if run.settings["transport.protocol"] == "mptcp")
    for most in (1000, 7, 3):
        (line,) = timelines(run.recording, max_values=most)
        assert len(line.edges) <= most + 2
        (measured,) = run.result.measured
        total = sum(float(np.dot(rates, np.diff(line.edges))) for rates in line.received.values())
        assert total == pytest.approx(measured.goodput_bps * measured.duration_s / 1e6, rel=1e-4)
        assert list(line.received) == [curve.name for curve in line.rtt] == ["access1>link1", "access2>link2"]
        assert all(value for curve in line.rtt for value in curve.values), "0 is not a round-trip time"


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=400), st.integers(4, 50))
def test_thinning_keeps_the_extremes(values: list[float], most: int) -> None:
    times = np.arange(len(values), dtype=np.float64)
    kept_times, kept = _thin_out(times, np.array(values), most)
    assert len(kept) <= most or len(values) <= most
    assert max(kept) == pytest.approx(max(values), abs=1e-3)
    assert min(kept) == pytest.approx(min(values), abs=1e-3)
    assert list(kept_times) == sorted(set(kept_times))


@given(st.lists(st.integers(1, 10**10), min_size=1, max_size=200), st.integers(2, 40))
def test_stretches_cover_everything(instants: list[int], most: int) -> None:
    edges = _edges(instants, 0, most)
    assert (edges[0], edges[-1]) == (0, max(instants))
    assert len(edges) <= most + 2
    assert all(np.diff(edges) > 0)


@pytest.mark.slow
def test_queues_are_drawn_when_they_were_recorded(tmp_path: Path) -> None:
    make_results(tmp_path / "r")
    assert "queue" not in drawing_of(_only_section(tmp_path / "r"), "timeline").panels
    for place in (tmp_path / "r" / "runs").iterdir():
        pl.DataFrame(
            {
                "time_ns": [10**8, 10**8, 2 * 10**8],
                "link": ["link1", "link2", "link1"],
                "direction": ["forward", "forward", "forward"],
                "bytes": [3000, 0, 150_000],
                "packets": [2, 0, 100],
                "drops": [0, 0, 4],
            }
        ).write_parquet(place / "queues.parquet")
    drawing = drawing_of(_only_section(tmp_path / "r"), "timeline")
    assert drawing.panels[-1] == "queue"
    (queue,) = drawing.data["points"][0]["workloads"][0]["panels"]["queue"]["curves"]
    assert (queue["name"], queue["t"], queue["v"]) == ("link1 forward", (0.1, 0.2), (3, 150))


@pytest.mark.parametrize(
    ("labels", "scale", "numbers"),
    [
        (["10 ms", "20 ms", "0.1 s"], "linear", (10, 20, 100)),
        (["100 kbit/s", "8 Mbit/s", "64 Mbit/s", "1 Gbit/s"], "log", (0.1, 8, 64, 1000)),
        (["0 %", "0.01 %", "5 %"], "even", (0, 1, 2)),
        (["1", "2", "4"], "linear", (1, 2, 4)),
        (["cubic", "bbr"], "linear", None),
        (["10 ms", "1 MB"], "linear", None),
    ],
)
def test_axes(labels: list[str], scale: str, numbers: tuple[float, ...] | None) -> None:
    rows = [result_row(settings={"links.link1.delay": label, "transport.protocol": "tcp"}) for label in labels]
    (axis,) = axes_of(rows)
    assert (axis.name, axis.scale, axis.labels) == ("link1.delay", scale, tuple(labels))
    assert axis.numbers == (pytest.approx(numbers) if numbers else None)


def test_limitations_are_those_of_the_documentation() -> None:
    documented = (ROOT / "docs" / "limitations.md").read_text()
    headings = re.findall(r"^- \*\*(.+?)\.?\*\*", documented, re.MULTILINE)
    assert [name for name, _ in page.LIMITATIONS if name not in headings] == []


def test_same_folder_same_bytes(tmp_path: Path) -> None:
    make_results(tmp_path / "r")
    assert to_html(build_report(tmp_path / "r")) == to_html(build_report(tmp_path / "r"))


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        ({"kind": "flow", "duration": "10 s"}, "it: flow, a → b, 10 s"),
        ({"kind": "flow", "size": "1 MB", "reverse": True}, "it: flow, a ← b, 1 MB"),
        ({"kind": "http", "size": "1 MB"}, "it: http, a ← b, 1 MB"),
        ({"kind": "http", "size": "100 kB", "files": 30}, "it: http, a ← b, 30 files of 100 kB"),
        ({"kind": "web", "duration": "10 s"}, "it: web, a ← b, 10 s"),
    ],
)
def test_arrows_point_to_who_receives(described: dict[str, Any], expected: str) -> None:
    (load,) = workloads_of({"it": {"from": "a", "to": "b", **described}})
    assert html_build._workload(RecordedWorkload.from_json(load)) == expected
