# SPDX-License-Identifier: MIT
"""The commands from end to end: presets, a free topology, machine-readable output, resuming, what is missing."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from tests.lab.bench import Bench, mptcplab

from mptcplab.cli.main import main
from mptcplab.metrics.rows import result_rows
from mptcplab.plan.compile import compile_plan
from mptcplab.scenario.load import load

FLOW = 'workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "1 s", read_quantum = "1 ms" }\n'
LINES = f"""
title = "two lines"
topology = {{ preset = "disjoint-paths", paths = 2 }}
links.link1.rate = "10 Mbit/s"
links.link2.rate = "10 Mbit/s"
{FLOW}"""
#: Two hosts with two networks each, of which one is longer; routers in between; names and order are not the preset's.
FREE = f"""
title = "free"
hosts.client = {{}}
hosts.server = {{}}
routers.north = {{}}
routers.south = {{}}
routers.far = {{ sysctl = {{ "net.ipv4.tcp_ecn" = 1 }} }}
links.a = {{ between = ["client", "north"], rate = "20 Mbit/s", delay = "5 ms" }}
links.b = {{ between = ["south", "client"], rate = "20 Mbit/s", delay = "5 ms" }}
links.c = {{ between = ["north", "server"] }}
links.d = {{ between = ["south", "far"] }}
links.e = {{ between = ["server", "far"] }}
{FLOW}"""


def _preset(name: str, more: str = "", line: str = "link1") -> str:
    return f'topology = {{ preset = "{name}"{more} }}\nlinks.{line}.rate = "10 Mbit/s"\n{FLOW}'


# Payload of 1 s on lines of 10 and 20 Mbit/s; with slow start at least half of it arrives.
@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize(
    ("text", "subflows", "mbps"),
    [
        (_preset("direct"), 1, 10),
        (_preset("chain", ", routers = 1"), 1, 10),
        (_preset("chain", ", routers = 5"), 1, 10),
        (_preset("disjoint-paths", ", paths = 1"), 1, 10),
        (_preset("disjoint-paths", ", paths = 4") + "".join(f'links.link{n}.rate="10 Mbit/s"\n' for n in "234"), 4, 40),
        (_preset("shared-bottleneck", line="bottleneck"), 2, 10),
        (FREE, 2, 40),
    ],
    ids=["direct", "line-1", "line-5", "disjoint-1", "disjoint-4", "shared", "free"],
)
def test_every_topology(bench: Bench, text: str, subflows: int, mbps: int, family: str) -> None:
    row = bench.row(text, f"family={family}")
    expected = f"{subflows} subflow{'s' if subflows > 1 else ''}"
    assert row.mptcp == expected, f"{row.mptcp}, shares {row.shares}, warnings {row.warnings}"
    assert mbps / 2 < row.goodput_mbps.mean < mbps, f"{row.goodput_mbps.mean} Mbit/s on lines of {mbps} Mbit/s together"


@pytest.mark.parametrize("kind", ["iperf3", "transfer"])
def test_other_workloads_over_ipv6(bench: Bench, kind: str) -> None:
    goal = 'duration = "1 s"' if kind == "iperf3" else 'size = "1 MB"'
    head, _, _ = LINES.partition("workloads")
    text = f'{head}workloads.bulk = {{ kind = "{kind}", from = "client", to = "server", {goal} }}\n'
    row = bench.row(text, "family=ipv6")
    assert 5 < row.goodput_mbps.mean < 20, f"{row.goodput_mbps.mean} Mbit/s on two lines of 10"


def _document(text: str) -> dict[str, Any]:
    document = json.loads(text)
    assert isinstance(document, dict)
    return document


def test_json_is_one_document(bench: Bench) -> None:
    """And progress is on standard error only."""
    file, out = bench.write(LINES), bench.folder / "results"
    shown = mptcplab("show", file, "--json")
    assert _document(shown.stdout)["runs"] == 1
    run = mptcplab("run", file, "--out", out, "--repeats", "2", "--json")
    (row,) = _document(run.stdout)["rows"]
    assert row["goodput_mbps"]["n"] == 2, row
    assert run.stderr.count("done ") == 2, run.stderr
    assert _document((out / "results.json").read_text())["rows"] == [row]


STUDY = """
title = "A study of nothing"
authors = "Nobody"
year = 2026
where = "nowhere"
test_bed = "none"

[tables."1"]
title = "two lines"
place = "nowhere"
scenario = "table.toml"
along = "links.link1.rate"
along_label = "rate"
columns = { tcp = "TCP", mptcp = "MPTCP" }
unit = "Mbit/s"
tolerance = "20%"
why_tolerance = "Headers and slow start."

[tables."1".published]
"10 Mbit/s" = { tcp = 9.0, mptcp = 17.0 }
"5 Mbit/s" = { tcp = 4.5, mptcp = 100.0 }
"""


def test_reproduce_json_is_one_document(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = bench.folder / "studies" / "nothing"
    folder.mkdir(parents=True)
    (folder / "study.toml").write_text(STUDY)
    sweep = '[sweep]\n"links.link1.rate" = ["10 Mbit/s", "5 Mbit/s"]\n"transport.protocol" = ["tcp", "mptcp"]\n'
    (folder / "table.toml").write_text(f"repeats = 3\n{LINES}\n{sweep}")
    monkeypatch.setattr("mptcplab.study.library._STUDIES", folder.parent)
    out = str(bench.folder / "out")
    monkeypatch.setattr("sys.argv", ["mptcplab", "reproduce", "nothing/1", "--json", "--out", out])
    with (
        bench.reuse(load(folder / "table.toml").runs, bench.folder / "out" / "nothing"),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    (table,) = _document(capsys.readouterr().out)["tables"]
    verdicts = [(cell["row"], cell["column"], cell["verdict"]) for cell in table["cells"]]
    assert verdicts == [
        ("10 Mbit/s", "tcp", "agrees"),
        ("10 Mbit/s", "mptcp", "agrees"),
        ("5 Mbit/s", "tcp", "agrees"),
        ("5 Mbit/s", "mptcp", "unexplained"),
    ], table
    assert ended.value.code == 1, "an unexplained difference must fail the command"


def test_resume_and_fresh(bench: Bench) -> None:
    file, out = bench.write(LINES), bench.folder / "a folder with blanks"

    def run(*options: str) -> tuple[str, int]:
        done = mptcplab("run", file, "--out", out, "--repeats", "2", *options)
        assert done.returncode == 0, done.stderr
        return done.stdout, len((out / "log.jsonl").read_text().splitlines())

    first, executed = run()
    assert executed == 2
    second, executed = run()
    assert executed == 2, "the second command executed runs that were recorded"
    assert second == first
    third, executed = run("--fresh")
    assert executed == 4, f"--fresh executed {executed - 2} of 2 runs"
    assert third == first
    damaged = next(out.glob("runs/*/manifest.json"))
    damaged.unlink()
    fourth, executed = run()
    assert executed == 5, "a recording without a manifest was taken for one"
    assert fourth == first


def test_a_wider_sweep_takes_what_is_there(bench: Bench) -> None:
    """Runs of the narrower sweep are not executed again, and bear the names of the new one."""
    narrow = f'{LINES}\n[sweep]\n"transport.protocol" = ["tcp", "mptcp"]\n'
    wide = f'{narrow}"links.link1.rate" = ["10 Mbit/s", "20 Mbit/s"]\n'
    for text, executed in ((narrow, 2), (wide, 2), (narrow, 0)):
        done = bench.try_all(bench.experiment(text))
        assert sum(completed.wall_seconds is not None for completed in done) == executed
        rows = result_rows(completed.recording for completed in done if completed.recording)
        assert [row.settings for row in rows] == [completed.run.point.settings for completed in done]
    seeds = [
        completed.recording for completed in bench.try_all(bench.experiment(narrow, seed=2)) if completed.recording
    ]
    assert [recording.manifest["repeat"] for recording in seeds] == [0, 0]


@pytest.mark.parametrize("text", [LINES, FREE], ids=["preset", "free"])
def test_plan_names_every_command(bench: Bench, text: str) -> None:
    file = bench.write(text)
    printed = mptcplab("plan", file).stdout
    plan = compile_plan(bench.experiment(text).points[0].scenario, seed=1)
    missing = [step.argv for step in plan.steps if shlex.join(step.argv) not in printed]
    assert not missing, f"the script lacks {missing}"


def test_no_kernel_is_status_3(bench: Bench) -> None:
    cache = bench.folder / "empty"
    cache.mkdir()
    out = bench.folder / "results"
    done = mptcplab("run", bench.write(LINES), "--out", out, env={"XDG_CACHE_HOME": str(cache)})
    assert done.returncode == 3, f"status {done.returncode}: {done.stderr}"
    assert "mptcplab kernel build" in done.stderr, done.stderr
    assert not out.exists(), "a results folder was made for nothing"


@pytest.mark.parametrize("name", ["a,b", "a\nb"])
def test_a_folder_that_the_kernel_cannot_be_given(bench: Bench, name: str) -> None:
    out = bench.folder / name
    done = mptcplab("run", bench.write(LINES), "--out", out)
    assert done.returncode == 2, f"status {done.returncode}: {done.stderr}"
    assert "cannot use the folder" in done.stderr, done.stderr
    assert not out.exists(), "it was made nevertheless"


@pytest.mark.parametrize("name", ["a'b\"c", "täglich", "a b", "x" * 200 + "/" + "y" * 200, "$HOME=1:2;3"])
def test_folders_that_need_care(bench: Bench, name: str) -> None:
    rows = bench.record(LINES, out=name)
    assert rows[0].manifest["programs"][0]["status"] == 0


def test_a_file_in_the_way_of_results(bench: Bench) -> None:
    done = mptcplab("run", bench.write(LINES), "--out", bench.folder / "scenario.toml" / "results")
    assert done.returncode == 2, f"status {done.returncode}: {done.stderr}"


SMALLEST = LINES.replace('"1 s"', '"0.1 s"')


def test_overhead_of_a_run(bench: Bench) -> None:
    """Boot, set-up of two lines, 0.1 s of traffic, recording: the figure itself is `bench/`'s to watch.

    3 s lets a machine be several times slower or busier. Other load only adds, so that the least of five is judged.
    """
    done = [bench.try_all(bench.experiment(SMALLEST), fresh=True)[0] for _ in range(5)]
    walls = [completed.wall_seconds for completed in done if completed.wall_seconds is not None]
    assert len(walls) == 5, [completed.error for completed in done]
    print(f"overhead of a run: median {median(walls):.2f} s, least {min(walls):.2f} s")
    assert min(walls) < 3, f"a run of 0.1 s takes {walls} s"


def test_studies_are_found_beside_the_package() -> None:
    done = mptcplab("reproduce", "nosuch")
    assert done.returncode == 2, done.stderr
    assert "subramani2018" in done.stderr, done.stderr


def test_results_path_is_a_path(bench: Bench) -> None:
    """Nothing but the named folder is made in the working directory."""
    file = bench.write(LINES)
    with bench.reuse(load(file).runs, bench.folder / "here"):
        done = mptcplab("run", file, "--out", "here", cwd=bench.folder)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in Path(bench.folder).iterdir()) == ["here", "scenario.toml"]
