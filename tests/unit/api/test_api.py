# SPDX-License-Identifier: MIT
"""The API for programs: what it loads, compares and raises, without a lab. tests/lab/api/test_api.py executes runs."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.unit.cli.test_imports import LIBRARIES
from tests.unit.comparisons import MUCH_SLOWER, A, row_of
from tests.unit.comparisons import write as write_results
from tests.unit.example_studies import Labs, second_fails
from tests.unit.results_folders import make_results
from tests.unit.scenario_files import Write

from mptcplab import api
from mptcplab.api.sources import override_texts
from mptcplab.engine.protocol import Stop
from mptcplab.errors import Exit
from mptcplab.packs.make import make_pack
from mptcplab.scenario.document import ScenarioError

ROOT = Path(__file__).resolve().parents[3]
TWO_PATHS = """
title = "Two paths"
repeats = 2
topology = { preset = "disjoint-paths" }
links.link1.rate = "10 Mbit/s"
links.link2.rate = "10 Mbit/s"
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "1 s" }
sweep."transport.protocol" = ["mptcp", "tcp"]
"""


def test_importing_it_costs_nothing() -> None:
    """It imports what enum and typing need of Python's modules, and only the errors and the lazy imports of ours."""
    code = "import sys\nbefore = set(sys.modules)\nimport mptcplab.api\nprint(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    modules = set(done.stdout.split())
    ours = {name for name in modules if name.startswith("mptcplab")}
    assert ours == {"mptcplab", "mptcplab.api", "mptcplab.errors", "mptcplab.lazy"}
    assert not modules & {*LIBRARIES, "pydantic", "click", "rich"}


def test_loading_imports_nothing_that_runs_need(write: Write) -> None:
    code = "import sys\nfrom mptcplab import api\napi.load(sys.argv[1])\nprint(*sys.modules)"
    file = write(TWO_PATHS)
    done = subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True, check=True, timeout=60)
    modules = set(done.stdout.split())
    assert not modules & {*LIBRARIES, "click", "rich", "mptcplab.campaign", "mptcplab.metrics.registry"}


def test_every_name_is_there_and_is_documented() -> None:
    for name in api.__all__:
        assert getattr(api, name).__doc__, name
    with pytest.raises(AttributeError, match=r"module 'mptcplab\.api' has no attribute 'nothing'"):
        getattr(api, "nothing")  # noqa: B009  mypy knows that there is none


def test_types_are_for_users_too() -> None:
    assert (ROOT / "src" / "mptcplab" / "py.typed").exists()


def test_load_changes_keys(write: Write) -> None:
    changes = {"links.link1.rate": "5 Mbit/s", "workloads.bulk.connections": 2, "record.queues": False}
    experiment = api.load(write(TWO_PATHS), set=changes, seed=7, repeats=3)
    scenario = experiment.points[0].scenario
    assert str(scenario.links["link1"].forward.rate) == "5 Mbit/s"
    assert scenario.record.queues is False
    assert [run.seed for run in experiment.runs] == [7, 8, 9] * 2
    swept = api.load(experiment.file, set={"transport.protocol": ("tcp",), "links.link2.loss": ["0 %", "1 %"]})
    assert len(swept.points) == 2, "a list of values becomes an axis of the sweep, as with --set"
    assert api.load("@two-paths").file.name == "two-paths.toml"


def test_changes_are_texts_of_the_command_line() -> None:
    """The command that repeats a failed run has them after --set, and loads the same scenario."""
    nested = {"a.b": {"net.ipv4.tcp_sack": 0}, "c": ["x", 1.5, True], "d": "1 %", "e": False}
    assert override_texts(nested) == ('a.b={ "net.ipv4.tcp_sack" = 0 }', 'c=["x", 1.5, true]', "d=1 %", "e=false")
    assert override_texts(["a=1", "b=2"]) == ("a=1", "b=2")
    assert override_texts("a=1") == ("a=1",)


@pytest.mark.parametrize(
    ("changes", "message", "hint"),
    [
        ({"links.link1.rat": "5 Mbit/s"}, "rat", "did you mean `rate`?"),
        ({"transport.scheduler": "blesst"}, "the lab kernel has no MPTCP scheduler 'blesst'", "blest"),
    ],
)
def test_a_mistake_is_an_error_with_a_hint(
    write: Write, changes: dict[str, object], message: str, hint: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(api.InputError) as refused:
        api.load(write(TWO_PATHS), set=changes)
    assert message in refused.value.message
    assert hint in (refused.value.hint or "")
    assert refused.value.status == Exit.BAD_INPUT
    assert capfd.readouterr() == ("", "")


def test_a_mistake_in_a_file_has_its_place(write: Write) -> None:
    with pytest.raises(ScenarioError) as refused:
        api.load(write(TWO_PATHS.replace('"flow"', '"flwo"')))
    assert refused.value.place.line == 7
    with pytest.raises(api.InputError, match="no example 'nothing'"):
        api.load("@nothing")


def test_the_files_of_a_pack_are_there_in_its_block(write: Write, tmp_path: Path) -> None:
    pack = tmp_path / "two.mptcplab.zip"
    pack.write_bytes(make_pack(write(TWO_PATHS), None).content)
    for source in (pack, "https://example.org/two.toml"):
        with pytest.raises(api.InputError, match="is not a scenario file") as refused:
            api.load(source)
        assert "open_source" in (refused.value.hint or "")
    with api.open_source(pack, repeats=3) as opened:
        assert opened.pack is not None
        assert opened.pack.file.exists()
        assert len(opened.experiment.runs) == 6
        assert opened.compare([]) == [], "it has no recordings"
    assert not opened.pack.file.exists()


def test_what_is_missing_is_named_before_the_first_run(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, debian: None
) -> None:
    assert debian is None
    lacking = [api.MissingError("there is no xyz", subject="xyz", packages=("xyz",))]
    monkeypatch.setattr("mptcplab.api.experiments.find_missing", lambda *_, **__: lacking)
    experiment = api.load(write(TWO_PATHS), set=["links.link1.loss=1 %"])
    with pytest.raises(api.MissingError) as missing:
        api.run(experiment, tmp_path / "out")
    assert missing.value.message == "there is no xyz"
    assert f"mptcplab doctor --for {experiment.file} --set 'links.link1.loss=1 %' --install" in (
        missing.value.hint or ""
    )


def test_other_threads_do_not_touch_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python refuses to set a handler there, so that a server could not execute runs."""

    def refuse(*_: object) -> None:
        raise AssertionError("handlers of signals were set")

    monkeypatch.setattr("signal.signal", refuse)
    entered: list[bool] = []

    def enter() -> None:
        with Stop().request_on_signals():
            entered.append(True)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join(timeout=10)
    assert entered == [True]
    with pytest.raises(AssertionError), Stop().request_on_signals():
        pass


@pytest.mark.slow
def test_results_are_opened_and_compared(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    make_results(tmp_path / "two")
    assert api.open_results(tmp_path / "two").runs.height == 18
    settings = {"transport.protocol": "mptcp"}
    a = write_results(tmp_path / "a", [row_of(settings, A)])
    b = write_results(tmp_path / "b", [row_of(settings, MUCH_SLOWER, run="b")])
    comparison = api.compare(a, b, margin_percent=2)
    assert comparison.is_different, "each run is 5 Mbit/s of 100 slower, with the same seeds"
    assert comparison.document["margin_percent"] == 2
    assert [row["verdict"] for row in comparison.document["comparisons"][0]["rows"]] == ["differs"]
    comparison.write(tmp_path / "all.csv")
    assert "transport.protocol" in (tmp_path / "all.csv").read_text()
    assert not api.compare(a, a).is_different
    assert capfd.readouterr() == ("", "")


def test_what_cannot_be_compared(tmp_path: Path) -> None:
    a = write_results(tmp_path / "a", [row_of({"transport.protocol": "mptcp"}, A)])
    with pytest.raises(api.InputError, match="nothing to compare with"):
        api.compare(a)
    with pytest.raises(api.InputError, match="exclude each other"):
        api.compare(a, a, by="transport.protocol")
    with pytest.raises(api.InputError, match="needs swept keys"):
        api.compare(a, a, reference="mptcp")
    with pytest.raises(api.InputError, match="does not exist"):
        api.compare(a, tmp_path / "none")
    with pytest.raises(api.InputError, match="suffix of a format"):
        api.compare(a, a).write(tmp_path / "all.txt")


@pytest.mark.slow
def test_a_study_is_reproduced(labs: Labs, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    begun: list[str] = []
    out = tmp_path / "out"
    reproduction = api.reproduce("made", quick=True, out=out, begin=lambda start: begun.append(start.job.selected.name))
    assert begun == ["made/1", "made/more"]
    assert [report.name for report in reproduction.reports] == begun
    assert labs.made == 2, "both tables have the same two points, with one seed in their short form"
    assert reproduction.is_good
    assert (out / "made" / "table-1.quick.json").exists()
    assert reproduction.document["tables"][0]["title"] == "first"
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_table_whose_runs_fail_has_its_problem(labs: Labs, tmp_path: Path) -> None:
    labs.fate = second_fails
    reproduction = api.reproduce("made", out=tmp_path)
    first = reproduction.reports[0]
    assert first.problem is not None
    assert first.problem.message.startswith("2 of 12 runs failed")
    assert not reproduction.is_good
    with pytest.raises(api.LabError, match="2 of 12 runs failed"):
        api.reproduce("made/1", out=tmp_path)


@pytest.mark.slow
def test_a_warning_names_the_tables_that_cannot_be_measured(labs: Labs, tmp_path: Path) -> None:
    labs.lacks["other"] = [api.MissingError("there is no xyz", subject="xyz", packages=("xyz",))]
    warnings: list[str] = []
    reproduction = api.reproduce(quick=True, out=tmp_path, warn=warnings.append)
    assert warnings == ["2 of 4 tables cannot be measured: there is no xyz"]
    assert [report.table is None for report in reproduction.reports] == [False, False, True, True]
    with pytest.raises(api.MissingError):
        api.reproduce("other", quick=True, out=tmp_path)
    with pytest.raises(api.InputError):
        api.reproduce("nothing")


def test_commands_only_print() -> None:
    """What runs labs or writes results is below the command line, where programs can call it."""
    forbidden = ("campaign.lab import Lab", "campaign.rounds", "write_table", "write_json", "figure.lines", "execute(")
    folder = ROOT / "src/mptcplab/cli"
    texts = {name: (folder / name).read_text() for name in ("run.py", "reproduce.py", "compare.py")}
    assert not [(name, word) for name, text in texts.items() for word in forbidden if word in text]
    rooms = [file for file in (ROOT / "src/mptcplab/api").glob("*.py") if "print(" in file.read_text()]
    assert [file.name for file in rooms] == ["__init__.py"], "an example in its docstring"
