# SPDX-License-Identifier: MIT
"""Results folders as data frames: which runs belong together, what the columns say, what is damaged."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import fields, replace
from pathlib import Path

import polars as pl
import pytest
from tests.unit.manifests import describe
from tests.unit.results_folders import TWO_LINES, make_results

from mptcplab.errors import InputError, LabError, MissingError
from mptcplab.metrics.radios import Association, RadioLink, RadioSample
from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.subflows import ends_of
from mptcplab.pages import build_report
from mptcplab.recording.record import Recording
from mptcplab.recording.samples import _type_of
from mptcplab.results import columns, open_results, to_pandas


def test_runs_as_a_frame(tmp_path: Path) -> None:
    make_results(tmp_path / "r")
    runs = open_results(tmp_path / "r").runs
    assert runs.height == 2 * 3 * 3
    first = runs.row(0, named=True)
    assert (first["transport.protocol"], first["links.link2.delay"], first["seed"]) == ("tcp", "10 ms", 1)
    assert first["goodput_mbps"] == pytest.approx(45.1, abs=0.01)
    assert (first["mptcp"], first["share access1>link1"], first["share access2>link2"]) == ("no", 1, None)
    mptcp = runs.filter(pl.col("transport.protocol") == "mptcp")
    assert mptcp["mptcp"].to_list() == ["2 subflows"] * 9
    assert mptcp["share access2>link2"].min() == pytest.approx(15 / 60.3, abs=0.001)


def test_table_has_the_rows_of_the_experiment(tmp_path: Path) -> None:
    make_results(tmp_path / "r")
    results = open_results(tmp_path / "r")
    document = json.loads((tmp_path / "r" / "results.json").read_text())
    assert results.table["goodput_mbps"].to_list() == [row["goodput_mbps"]["mean"] for row in document["rows"]]
    half = [row["goodput_mbps"]["ci95_half_width"] for row in document["rows"]]
    low = results.table["goodput_mbps"] - results.table["goodput_mbps_low"]
    assert low.to_list() == pytest.approx(half)
    assert results.table["n"].to_list() == [3] * 6


def test_one_run_has_no_interval(tmp_path: Path) -> None:
    make_results(tmp_path / "r", TWO_LINES.replace("repeats = 3", "repeats = 1"))
    assert open_results(tmp_path / "r").table["goodput_mbps_low"].to_list() == [None] * 6


def test_samples_carry_the_settings_of_their_run(tmp_path: Path) -> None:
    make_results(tmp_path / "r")
    subflows = open_results(tmp_path / "r").subflows
    # 20 samples on two sides: one subflow with TCP, two with MPTCP, 9 runs each.
    assert subflows.height == 20 * 2 * 9 * (1 + 2)
    last = subflows.filter(
        (pl.col("transport.protocol") == "mptcp") & (pl.col("links.link2.delay") == "30 ms") & (pl.col("seed") == 2)
    )
    assert sorted(last["path"].unique()) == ["access1>link1", "access2>link2"], "the same names on both sides"
    assert open_results(tmp_path / "r").connections.height == 20 * 2 * 18


@pytest.mark.slow
def test_only_runs_of_the_last_experiment(tmp_path: Path) -> None:
    """A folder that was used for another sweep before: its results.json says which runs it is about."""
    make_results(tmp_path / "r")
    make_results(tmp_path / "other", TWO_LINES.replace("50 Mbit/s", "10 Mbit/s"))
    for place in (tmp_path / "other" / "runs").iterdir():
        shutil.move(place, tmp_path / "r" / "runs" / place.name)
    results = open_results(tmp_path / "r")
    assert (len(results.recorded), results.others) == (18, 18)
    rates = {run.recording.manifest["scenario"]["links"]["link1"]["forward"]["rate"] for run in results.recorded}
    assert rates == {"50 Mbit/s"}


def test_runs_that_another_experiment_recorded_have_the_settings_of_this_one(tmp_path: Path) -> None:
    """A sweep's runs were shared with a run that changed a key: a table ended in a KeyError and blamed the files."""
    make_results(tmp_path / "r")
    file = tmp_path / "r" / "results.json"
    document = json.loads(file.read_text())
    for row in document["rows"]:
        row["settings"] = {"name": ", ".join(row["settings"].values())}
    file.write_text(json.dumps(document))
    results = open_results(tmp_path / "r")
    assert {tuple(run.settings) for run in results.recorded} == {("name",)}
    assert [row.settings["name"] for row in results.rows][:2] == ["tcp, 10 ms", "tcp, 30 ms"]
    assert "name" in results.runs.columns
    assert build_report(tmp_path / "r").title


def test_recordings_that_were_deleted(tmp_path: Path) -> None:
    make_results(tmp_path / "r")
    for place in list((tmp_path / "r" / "runs").iterdir())[:2]:
        shutil.rmtree(place)
    results = open_results(tmp_path / "r")
    assert (len(results.recorded), results.absent) == (16, 2)
    (section,) = build_report(tmp_path / "r").experiments
    assert any("2 recordings listed in the results are not in the folder" in notice.text for notice in section.notices)


@pytest.mark.slow
def test_newest_when_nothing_names_the_runs(tmp_path: Path) -> None:
    """Without results.json, of two runs with the same settings and seed the one executed last is meant."""
    make_results(tmp_path / "r")
    make_results(tmp_path / "new", TWO_LINES.replace("50 Mbit/s", "10 Mbit/s"))
    for place in (tmp_path / "new" / "runs").iterdir():
        shutil.move(place, tmp_path / "r" / "runs" / place.name)
    with (tmp_path / "r" / "log.jsonl").open("a") as log:
        log.write((tmp_path / "new" / "log.jsonl").read_text() + '{"run": "cut off')
    (tmp_path / "r" / "results.json").unlink()
    results = open_results(tmp_path / "r")
    assert (len(results.recorded), results.older, results.others) == (18, 18, 0)
    rates = {run.recording.manifest["scenario"]["links"]["link1"]["forward"]["rate"] for run in results.recorded}
    assert rates == {"10 Mbit/s"}
    assert results.title == "r"


def test_damaged_recordings_are_named_and_left_out(tmp_path: Path) -> None:
    make_results(tmp_path / "r")
    first, second, third, *_ = sorted((tmp_path / "r" / "runs").iterdir())
    (first / "manifest.json").write_text("{")
    (second / "subflows.parquet").write_bytes(b"PAR1 and no more")
    (third / "out" / "bulk.client.out").unlink()
    results = open_results(tmp_path / "r")
    assert len(results.recorded) == 15
    assert [text.split(":")[0] for text in results.damaged] == [first.name, second.name, third.name]


def test_nothing_to_open(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a folder"):
        open_results(tmp_path / "nowhere")
    with pytest.raises(InputError, match="no recorded runs"):
        open_results(tmp_path)
    make_results(tmp_path / "r", keep=lambda run: run.seed == 1 and run.point.settings["transport.protocol"] == "tcp")
    for inside in (tmp_path / "r" / "runs", next((tmp_path / "r" / "runs").iterdir())):
        with pytest.raises(InputError) as caught:
            open_results(inside)
        assert caught.value.hint == f"did you mean {tmp_path / 'r'}?"
    for manifest in (tmp_path / "r" / "runs").glob("*/manifest.json"):
        manifest.write_text("[]")
    with pytest.raises(LabError, match="can be read"):
        open_results(tmp_path / "r")


@pytest.mark.slow
def test_who_sends(tmp_path: Path) -> None:
    make_results(tmp_path / "r", TWO_LINES.replace('duration = "2 s"', 'duration = "2 s", reverse = false'))
    place = next((tmp_path / "r" / "runs").iterdir())
    (upload,) = ends_of(Recording(place))
    assert (upload.sender, upload.receiver, upload.receiving) == ("client", "server", "bulk.server")
    manifest = json.loads((place / "manifest.json").read_text())
    manifest["workloads"] = describe({"bulk": {**manifest["workloads"][0], "reverse": True}})
    (place / "manifest.json").write_text(json.dumps(manifest))
    (download,) = ends_of(Recording(place))
    assert (download.sender, download.receiver, download.receiving) == ("server", "client", "bulk.client")


@pytest.mark.slow
def test_the_page_has_all_columns() -> None:
    page = Path(__file__).parents[3] / "docs" / "python.md"
    text = page.read_text()
    assert text == columns.replace(text), "run: python -m mptcplab.results.columns --write docs/python.md"
    assert all(f"<!-- columns: {frame} -->" in text for frame in columns.FRAMES)


def test_frames_of_what_the_lab_counted(tmp_path: Path) -> None:
    make_results(tmp_path / "r")
    results = open_results(tmp_path / "r")
    assert set(results.subflows["workload"]) == {"bulk"}
    assert set(results.connections["workload"]) == {"bulk"}
    links = results.links
    assert set(links["direction"]) == {"forward", "backward"}
    assert links.height == 2 * 3 * 3 * 4 * 2, "points and seeds, four links, two directions"
    assert links["lost_expected_low"].null_count() < links.height
    assert all(getattr(results, name).is_empty() for name in ("objects", "requests", "messages", "calls"))


@pytest.mark.slow
@pytest.mark.parametrize("frame", columns.FRAMES)
def test_every_frame_has_all_documented_columns(tmp_path: Path, frame: str) -> None:
    """With a single flow, columns that only the lab's own samples have were missing; without samples, all were."""
    make_results(tmp_path / "r", keep=lambda run: run.point.settings["transport.protocol"] == "mptcp" and run.seed == 1)
    results = open_results(tmp_path / "r")
    documented = columns.types(frame)
    assert {*columns.RUN, *columns.FRAMES[frame]} - {*METRICS} <= {*documented}
    first = ["run", "transport.protocol", "links.link2.delay", "seed"]
    table = getattr(results, frame)
    assert {name: table.schema.get(name) for name in documented} == documented
    assert table.columns[:4] == first
    for file in tmp_path.rglob("*.parquet"):
        file.unlink()
    unsampled, empty = getattr(replace(results), frame), getattr(replace(results, recorded=()), frame)
    assert {name: unsampled.schema.get(name) for name in documented} == documented
    assert unsampled.columns[:4] == first
    assert (empty.schema, empty.height) == (pl.Schema(documented), 0)


def test_values_keep_their_types_in_frames() -> None:
    """The types of the documentation are the types of recordings, and of what reads them."""
    for frame in ("subflows", "connections", "queues", "events"):
        sampled = {name: kind for name, kind in columns.types(frame).items() if name not in ("run", "workload", "path")}
        assert sampled == {name: _type_of(name) for name in sampled}, frame
    kinds = {"str": pl.String, "int": pl.Int64, "bool": pl.Boolean, "float": pl.Float64}
    for frame, rows in (("radios", RadioSample), ("radio_links", RadioLink), ("associations", Association)):
        read = {field.name: kinds[str(field.type).removesuffix(" | None")] for field in fields(rows)}
        assert read == {name: columns.type_of(frame, name) for name in read}, frame


def test_pandas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_results(tmp_path / "r")
    runs = open_results(tmp_path / "r").runs
    frame = to_pandas(runs)
    assert list(frame.columns) == runs.columns
    assert frame["goodput_mbps"].sum() == pytest.approx(runs["goodput_mbps"].sum())
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingError, match="pandas is not installed"):
        to_pandas(runs)
