# SPDX-License-Identifier: MIT
"""Programs' output becomes tables on disk and is read back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.unit.results_folders import make_results

from mptcplab.errors import LabError
from mptcplab.metrics.rows import run_result
from mptcplab.recording import samples
from mptcplab.recording.record import FORMAT, Recording, finish, is_complete, relabel

ZERO = 10_000_000_000
#: One MPTCP connection of a server with two subflows, as `flow` writes it, a sample after 1 s and the end.
LINES = """\
{"event":"start","conn":0,"role":"server","t_ns":10000010000,"local":"10.0.2.2:5001","remote":"10.0.1.1:40000","protocol":"mptcp","direction":"upload","congestion":"cubic","client_conn":0,"target_bytes":null,"target_ns":2000000000}
{"event":"interval","conn":0,"role":"server","t_ns":11000000000,"final":false,"bytes":1000,"total":1000}
{"event":"mptcp","conn":0,"role":"server","t_ns":11000000000,"final":false,"fallback":false,"token":7,"rcv_nxt":18446744073709551615}
{"event":"subflow","conn":0,"role":"server","t_ns":11000000000,"final":false,"id":"a>b","subflow_id":1,"local":"10.0.2.2:5001","remote":"10.0.1.1:40000","state":"established","bytes_received":600}
{"event":"subflow","conn":0,"role":"server","t_ns":11000000000,"final":false,"id":"c>d","subflow_id":2,"local":"10.0.4.2:5001","remote":"10.0.3.1:40001","state":"established","bytes_received":400}
{"event":"interval","conn":0,"role":"server","t_ns":12000000000,"final":true,"bytes":500,"total":1500}
{"event":"mptcp","conn":0,"role":"server","t_ns":12000000000,"final":true,"fallback":true,"token":7,"rcv_nxt":5}
{"event":"end","conn":0,"role":"server","t_ns":12000000001,"bytes":1500,"elapsed_ns":1,"goodput_bps":1,"error":null}
"""


def test_flow_s_lines_become_rows() -> None:
    subflows, connections = samples.parse_flow_output(LINES, node="server", program="bulk.server", zero_ns=ZERO)
    assert [(row["time_ns"], row["local"], row["bytes_received"]) for row in subflows] == [
        (10**9, "10.0.2.2:5001", 600),
        (10**9, "10.0.4.2:5001", 400),
    ]
    assert all(row["node"] == "server" and row["program"] == "bulk.server" and "id" not in row for row in subflows)
    first, last = connections
    assert (first["time_ns"], first["total"], first["token"], first["fallback"]) == (10**9, 1000, 7, False)
    assert (last["time_ns"], last["total"], last["fallback"], last["final"]) == (2 * 10**9, 1500, True, True)


def test_mptcp_info_without_an_interval_is_kept() -> None:
    line = '{"event":"mptcp","conn":3,"role":"client","t_ns":10000000005,"final":true,"token":9}\n'
    _, (row,) = samples.parse_flow_output(line, node="client", program="bulk.client", zero_ns=ZERO)
    assert (row["conn"], row["time_ns"], row["token"]) == (3, 5, 9)


def test_samples_survive_the_disk(tmp_path: Path) -> None:
    subflows, connections = samples.parse_flow_output(LINES, node="server", program="bulk.server", zero_ns=ZERO)
    for name, rows in (("subflows", subflows), ("connections", connections)):
        samples.write(rows, tmp_path / f"{name}.parquet")
    recording = Recording(tmp_path)
    assert recording.subflows["bytes_received"].to_list() == [600, 400]
    assert recording.connections["rcv_nxt"].to_list() == [2**64 - 1, 5], "64 bits in full"
    assert recording.connections["fallback"].to_list() == [False, True]
    assert recording.subflows.columns[:3] == ["time_ns", "node", "program"]


def test_same_rows_same_bytes(tmp_path: Path) -> None:
    subflows, _ = samples.parse_flow_output(LINES, node="server", program="bulk.server", zero_ns=ZERO)
    for name in ("one", "two"):
        samples.write([dict(row) for row in subflows], tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_full_disk_is_reported_as_such() -> None:
    with pytest.raises(OSError, match="No space left on device"):
        samples.write([{"time_ns": number} for number in range(1000)], Path("/dev/full"))


def test_rows_with_different_keys(tmp_path: Path) -> None:
    """A table can have a flow's subflows and a sampler's sockets: values that one source lacks are empty."""
    samples.write([{"time_ns": 1, "conn": 0}, {"time_ns": 2, "token": 5, "state": "listen"}], tmp_path / "file")
    table = pl.read_parquet(tmp_path / "file")
    assert table.to_dicts() == [
        {"time_ns": 1, "conn": 0, "state": None, "token": None},
        {"time_ns": 2, "conn": None, "state": "listen", "token": 5},
    ]


def test_sampler_s_states_have_names() -> None:
    lines = "".join(json.dumps({"time_ns": 1, "state": state}) + "\n" for state in (1, 8, 99))
    assert [row["state"] for row in samples.parse_sampler_output(lines)] == ["established", "close-wait", "99"]


def _manifest() -> dict[str, Any]:
    return {"programs": [{"name": "bulk.server", "node": "server", "samples_itself": True, "status": 0}], "seed": 1}


def _write_recording(folder: Path) -> Recording:
    (folder / "out").mkdir()
    (folder / "out" / "bulk.server.out").write_text(LINES)
    (folder / "uml").mkdir()
    (folder / "uml" / "pid").touch()
    for name in ("init", "guest.json"):
        (folder / name).touch()
    (folder / "sockets.jsonl").write_text('{"time_ns":1,"node":"other","local":"l","remote":"r","state":1}\n')
    (folder / "console.txt").write_text("hello\n")
    finish(folder, manifest=_manifest(), zero_ns=ZERO)
    return Recording(folder)


def test_finished_folder(tmp_path: Path) -> None:
    assert not is_complete(tmp_path)
    recording = _write_recording(tmp_path)
    assert is_complete(tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["connections.parquet", "console.txt", "manifest.json", "out", "subflows.parquet"]
    assert recording.subflows["node"].to_list() == ["server", "server", "other"]
    assert recording.program("bulk.server")["status"] == 0
    assert recording.output("bulk.server").startswith('{"event":"start"')


def test_relabelled(tmp_path: Path) -> None:
    recording = _write_recording(tmp_path)
    assert relabel(recording, {"seed": 1}) is recording, "the labels have not changed"
    other = relabel(recording, {"settings": [["a", "b"]]})
    assert Recording(tmp_path).manifest == other.manifest == {"format": FORMAT, **_manifest(), "settings": [["a", "b"]]}
    assert not list(tmp_path.glob(".*"))


def test_nothing_sampled_is_an_empty_table(tmp_path: Path) -> None:
    assert Recording(tmp_path).subflows.height == 0


def test_counters(tmp_path: Path) -> None:
    folder = tmp_path / "counters" / "client"
    folder.mkdir(parents=True)
    (folder / "a.json").write_text('{"x": 1}')
    (folder / "empty.json").touch()
    (folder / "b.txt").write_text("words")
    recording = Recording(tmp_path)
    assert recording.counter("client", "a.json") == {"x": 1}
    assert recording.counter("client", "empty.json") is None
    assert recording.counter("client", "b.txt") == "words"


@pytest.mark.parametrize("text", [None, "", "{", "[]", '"text"'])
def test_damaged_manifest(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(LabError) as error:
        _ = Recording(tmp_path).manifest
    assert error.value.hint == "delete the folder, and the run will be repeated"


@pytest.mark.parametrize("line", ["3", "[]", '{"event":"interval"}', '{"event":"interval","t_ns":"x"}', "[" * 100_000])
def test_output_that_is_no_output_of_flow(tmp_path: Path, line: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "bulk.server.out").write_text(f"{line}\n")
    with pytest.raises(LabError, match="the run's output cannot be read") as error:
        finish(tmp_path, manifest=_manifest(), zero_ns=ZERO)
    assert str(error.value.hint).startswith("a program's output does not have its format (")
    assert not is_complete(tmp_path)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + bytes(100) + b"PAR1"])
def test_damaged_samples(tmp_path: Path, content: bytes) -> None:
    make_results(tmp_path / "results", keep=lambda run: run.repeat == 0)
    run = sorted((tmp_path / "results" / "runs").iterdir())[0]
    (run / "subflows.parquet").write_bytes(content)
    with pytest.raises(LabError, match="is damaged") as error:
        run_result(Recording(run))
    assert "the run will be repeated" in str(error.value.hint)
