# SPDX-License-Identifier: MIT
"""``mptcplab reproduce`` over several tables: what fails costs no other table, and all is on the scoreboard."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click.testing
import pytest
from tests.unit.made_results import write_run

from mptcplab.cli import measuring
from mptcplab.cli import reproduce as command
from mptcplab.cli.common import Running
from mptcplab.engine.lab import Done
from mptcplab.engine.rounds import Rounds
from mptcplab.errors import Exit, InputError, LabError, MissingError
from mptcplab.metrics.rows import run_result
from mptcplab.recording.record import Recording
from mptcplab.scenario.load import Run
from mptcplab.study import load as study_load
from mptcplab.study import reference
from mptcplab.study.forms import read_documents
from mptcplab.study.full import REFERENCE, full_form
from mptcplab.study.load import select, study_names

SCENARIO = """
title = "made"
repeats = 3
topology = { preset = "disjoint-lines" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "2 s" }
links.line1.rate = "50 Mbit/s"
[sweep]
"transport.protocol" = ["tcp", "mptcp"]
"links.line2.rate" = ["8 Mbit/s", "16 Mbit/s"]
"""
#: The made runs have a goodput of 45 and 15 Mbit/s on their lines, and 0.1 more with every other seed.
STUDY = """
title = "t"
authors = "a"
year = 2020
where = "w"
test_bed = "b"
[tables.1]
title = "first"
tolerance = "5%"
published = { "8 Mbit/s" = { tcp = 45, mptcp = 70 }, "16 Mbit/s" = { tcp = 45, mptcp = 60 } }
because = [{ columns = ["mptcp"], rows = ["8 Mbit/s"], reason = "r" }]
[tables.more]
kind = "Evidence"
title = "second"
rows = ["8 Mbit/s", "16 Mbit/s"]
[[claims]]
text = "more"
table = "1"
of = "mptcp"
to = ["tcp"]
least = 1.2
why_bounds = "w"
"""
_COMMON = """scenario = "s.toml"
along = "links.line2.rate"
along_label = "rate"
unit = "Mbit/s"
columns = { tcp = "TCP", mptcp = "MPTCP" }
quick = { rows = ["8 Mbit/s"], repeats = 1, change = { "workloads.bulk.duration" = "1 s" } }
"""


@pytest.fixture
def studies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two studies of two tables each."""
    for name in ("made", "other"):
        folder = tmp_path / "studies" / name
        folder.mkdir(parents=True)
        (folder / "s.toml").write_text(SCENARIO)
        text = STUDY.replace("[tables.1]\n", f"[tables.1]\n{_COMMON}").replace(
            "[tables.more]\n", f"[tables.more]\n{_COMMON}"
        )
        (folder / "study.toml").write_text(text)
    monkeypatch.setattr(study_load, "_STUDIES", tmp_path / "studies")
    return tmp_path / "studies"


Fate = Callable[[Run], LabError | None]


class Labs:
    """Makes runs without a lab. ``fate`` says which fail, ``before`` what is raised instead of measuring a table."""

    def __init__(self) -> None:
        self.fate: Fate = lambda _: None
        self.before: Callable[[Rounds, Path], None] = lambda *_: None
        self._there: dict[tuple[Path, str, str], Recording] = {}

    @property
    def made(self) -> int:
        """How many runs were made; two tables of a study have the same."""
        return len(self._there)

    def execute(self, rounds: Rounds, out: Path, _running: Running) -> list[Done]:
        """In place of :func:`mptcplab.cli.sweep.execute`."""
        self.before(rounds, out)
        out.mkdir(parents=True, exist_ok=True)
        return rounds.ordered(self._one(run, out) for run in rounds.first())

    def _one(self, run: Run, out: Path) -> Done:
        error = self.fate(run)
        if error is not None:
            return Done(run, error=error, wall_seconds=0.1)
        key = (out, run.label, run.point.scenario.model_dump_json())
        if key not in self._there:
            self._there[key] = write_run(out, run)
        recording = self._there[key]
        return Done(run, recording.folder, run_result(recording, tuple(run.point.settings.items())), None, 0.1)


@pytest.fixture
def labs(monkeypatch: pytest.MonkeyPatch, studies: Path) -> Labs:
    assert studies.is_dir()
    made = Labs()
    monkeypatch.setattr(measuring, "execute", made.execute)
    return made


def _call(out: Path, *arguments: str) -> click.testing.Result:
    runner = click.testing.CliRunner()
    return runner.invoke(command.reproduce, [*arguments, "--out", str(out)], standalone_mode=False)


def _said(out: Path, *arguments: str, status: Exit = Exit.DONE) -> click.testing.Result:
    """What is printed by a command that ends by itself."""
    result = _call(out, *arguments)
    if result.exception is not None:
        raise result.exception
    assert result.return_value == status, result.output
    return result


def _board(out: Path, name: str = "scoreboard") -> dict[str, dict[str, Any]]:
    document = json.loads((out / f"{name}.json").read_text())
    return {f"{one['study']}/{one['table']}": one for one in document["tables"]}


def test_everything_ends_with_a_scoreboard(labs: Labs, tmp_path: Path) -> None:
    result = _said(tmp_path / "r", "--all")
    assert labs.made == 2 * 12, "of each study four points with three seeds"
    summary = "Of 8 published values: agree 6, differ with a reason 2, unexplained 0."
    assert f"{summary} Of 2 claims: hold 2, do not hold without one 0." in result.stdout
    assert f"In {tmp_path / 'r'}: scoreboard.md, scoreboard.csv, scoreboard.json, report.html" in result.stdout
    assert [line.partition(":")[0] for line in result.stderr.splitlines()] == [
        f"[{number} of 4] {name}"
        for number, name in enumerate(("made/1", "made/more", "other/1", "other/more"), start=1)
    ]
    document = json.loads((tmp_path / "r" / "scoreboard.json").read_text())
    assert [document["studies"][name]["values"]["agrees"] for name in ("made", "other")] == [3, 3]
    assert document["all"]["values"]["differs"] == 2
    rows = list(csv.DictReader((tmp_path / "r" / "scoreboard.csv").read_text().splitlines()))
    assert [(row["table"], row["agree"], row["differ"], row["claims hold"]) for row in rows] == [
        ("made/1", "3", "1", "1"),
        ("made/more", "", "", ""),
        ("made: all", "3", "1", "1"),
        ("other/1", "3", "1", "1"),
        ("other/more", "", "", ""),
        ("other: all", "3", "1", "1"),
        ("all", "6", "2", "2"),
    ]
    text = (tmp_path / "r" / "report.html").read_text()
    assert all(f'<a href="#{anchor}">' in text for anchor in ("made-1", "made-more", "other-1", "other-more"))


def test_without_a_study_is_everything(labs: Labs, tmp_path: Path) -> None:
    _said(tmp_path / "r")
    assert labs.made == 2 * 12
    with pytest.raises(InputError, match="--all and made"):
        _said(tmp_path / "r", "made", "--all")


def test_a_study_ends_with_its_own_scoreboard(labs: Labs, tmp_path: Path) -> None:
    result = _said(tmp_path / "r", "made")
    assert labs.made == 12
    assert "Scoreboard, full form" in result.stdout
    assert "other" not in result.stdout
    assert not (tmp_path / "r" / "scoreboard.json").exists(), "it is not about everything"
    assert "Scoreboard" not in _said(tmp_path / "r", "made/1").stdout


def test_json_is_one_document(labs: Labs, tmp_path: Path) -> None:
    assert labs.made == 0
    document = json.loads(_said(tmp_path / "r", "--all", "--json").stdout)
    assert [f"{one['study']}/{one['table']}" for one in document["tables"]] == [
        "made/1",
        "made/more",
        "other/1",
        "other/more",
    ]
    assert document["scoreboard"] == json.loads((tmp_path / "r" / "scoreboard.json").read_text())


def _second_fails(run: Run) -> LabError | None:
    wanted = run.seed == 2 and run.point.settings["transport.protocol"] == "mptcp"
    return LabError("it ended with status 1", hint="look") if wanted else None


def test_a_failed_run_costs_no_table(labs: Labs, tmp_path: Path) -> None:
    labs.fate = _second_fails
    result = _said(tmp_path / "r", "--all", status=Exit.FAILED)
    assert labs.made == 2 * 10
    assert {one["remark"] for one in _board(tmp_path / "r").values()} == {"2 of 12 runs failed"}
    assert "mptcplab: made/1: 2 of 12 runs failed, the first being protocol mptcp" in result.stderr
    assert result.stdout.count("[!] Warning: incomplete, 2 of 12 runs failed.") == 4
    document = json.loads((tmp_path / "r" / "made" / "table-1.json").read_text())
    assert [(one["seed"], one["error"]) for one in document["failed"]] == 2 * [(2, "it ended with status 1")]
    assert (tmp_path / "r" / "made" / "failed-1.sh").read_text().count("--seed 2 --repeats 1") == 2
    labs.fate = lambda _: None
    _said(tmp_path / "r", "--all")
    assert {one["remark"] for one in _board(tmp_path / "r").values()} == {""}
    assert not list((tmp_path / "r").glob("*/failed*"))


def test_a_failed_run_of_a_table_alone(labs: Labs, tmp_path: Path) -> None:
    """What there is is printed, and the error tells how to repeat the run."""
    labs.fate = _second_fails
    result = _call(tmp_path / "r", "made/1")
    assert "incomplete, 2 of 12 runs failed" in result.stdout
    assert isinstance(result.exception, LabError)
    assert result.exception.status == Exit.FAILED
    assert "mptcplab run" in (result.exception.hint or "")


KERNEL = MissingError("the lab kernel 6.99 is not built on this machine", hint="mptcplab kernel build 6.99")


def _lacks_kernel(_: Rounds, out: Path) -> None:
    if out.name == "other":
        raise KERNEL


def test_what_this_machine_lacks_costs_no_other_table(labs: Labs, tmp_path: Path) -> None:
    labs.before = _lacks_kernel
    result = _said(tmp_path / "r", "--all", status=Exit.MISSING)
    board = _board(tmp_path / "r")
    assert [one["remark"] for one in board.values()] == ["", "", "not measured", "not measured"]
    assert board["other/1"]["why"] == f"{KERNEL.message} (mptcplab kernel build 6.99)"
    assert board["other/1"]["values"]["not measured"] == 4
    assert board["other/1"]["claims"]["not measured"] == 1
    assert f"other/1 was not measured: {board['other/1']['why']}." in (tmp_path / "r" / "scoreboard.md").read_text()
    assert board["other/1"]["why"] in (tmp_path / "r" / "report.html").read_text()
    assert f"mptcplab: other/1: {KERNEL.message}" in result.stderr
    with pytest.raises(MissingError, match=r"6\.99"):
        _said(tmp_path / "r", "other/1")
    labs.fate = _second_fails
    _said(tmp_path / "r", "--all", status=Exit.FAILED)


def test_a_program_that_is_missing(labs: Labs, tmp_path: Path) -> None:
    """It is found out with every run."""
    labs.fate = lambda run: MissingError("this machine has no 'nginx'", hint="apt") if run.point.settings else None
    labs.before = lambda _, out: setattr(labs, "fate", labs.fate if out.name == "made" else lambda _: None)
    _said(tmp_path / "r", "--all", status=Exit.MISSING)
    board = _board(tmp_path / "r")
    assert [one["why"] for one in board.values()] == ["this machine has no 'nginx' (apt)"] * 2 + [""] * 2


def test_runs_without_such_a_value(labs: Labs, studies: Path, tmp_path: Path) -> None:
    """Nothing failed, and still there is no table: a transfer that no line failed during has no gap."""
    for name in ("made", "other"):
        text = (studies / name / "study.toml").read_text()
        text = text.replace("[tables.more]", '[tables.more]\nvalue = "gap_s"').replace('"Mbit/s"', '"s"')
        text = text.replace("[tables.1]", '[tables.1]\nvalue = "duration_s"')
        (studies / name / "study.toml").write_text(text)
    _said(tmp_path / "r", "--all", status=Exit.FAILED)
    assert labs.made == 2 * 12
    board = _board(tmp_path / "r")
    assert (board["made/more"]["remark"], board["made/more"]["why"]) == (
        "not measured",
        "none of its runs has such a value",
    )
    with pytest.raises(LabError, match="has such a value"):
        _said(tmp_path / "r", "made/more")


def test_nothing_can_be_measured(labs: Labs, tmp_path: Path) -> None:
    def lacks(*_: object) -> None:
        raise KERNEL

    labs.before = lacks
    with pytest.raises(MissingError):
        _said(tmp_path / "r", "--all")
    assert not (tmp_path / "r").exists()


def test_what_the_user_wrote_wrong_ends_it(labs: Labs, tmp_path: Path) -> None:
    def wrong(*_: object) -> None:
        raise InputError("no such folder")

    labs.before = wrong
    with pytest.raises(InputError):
        _said(tmp_path / "r", "--all")


def test_an_interrupt_leaves_what_is_measured(labs: Labs, tmp_path: Path) -> None:
    def interrupt(_: Rounds, out: Path) -> None:
        if out.name == "other":
            raise KeyboardInterrupt

    labs.before = interrupt
    result = _call(tmp_path / "r", "--all")
    assert isinstance(result.exception, click.exceptions.Abort | KeyboardInterrupt)
    assert "2 of 4 tables" in result.stderr
    assert [one["remark"] for one in _board(tmp_path / "r").values()] == ["", "", "not measured", "not measured"]
    assert len(read_documents(tmp_path / "r" / "made")) == 2


@pytest.mark.usefixtures("labs")
def test_the_short_form_beside_the_full_one(tmp_path: Path) -> None:
    """One seed has 45.1 Mbit/s, three have 45.2 ± 0.25; then we pretend that the full form had 1 Mbit/s less."""
    out = tmp_path / "r"
    result = _said(out, "made/1", "--quick")
    assert "No full value to compare with: the full form was not recorded" in result.stdout
    assert "outside the full form" not in (out / "made" / "table-1.quick.csv").read_text()
    _said(out, "made")
    full = out / "made" / "table-1.json"
    before = full.read_text()
    result = _said(out, "made/1", "--quick")
    assert "0 of 2 values lie outside the full form's 95 % interval (measured in this folder)." in result.stdout
    document = json.loads(before)
    for one in document["measured"]:
        one["mean"] -= 1 if one["column"] == "tcp" else 0
    full.write_text(json.dumps(document))
    result = _said(out, "made/1", "--quick")
    assert "1 of 2 values lie outside" in result.stdout
    assert "the short form has 1 instead of 3 seeds and is shorter (workloads.bulk.duration=1 s)" in " ".join(
        result.stdout.split()
    )
    rows = list(csv.DictReader((out / "made" / "table-1.quick.csv").read_text().splitlines()))
    assert [(row["protocol"], row["measured"], row["outside the full form"]) for row in rows] == [
        ("TCP", "45.10 (full: 44.20 ± 0.25)", "yes"),
        ("MPTCP", "60.10", "no"),
    ]
    assert "45.10 (full: 44.20 ± 0.25)" in (out / "made" / "table-1.quick.md").read_text()
    short = json.loads((out / "made" / "table-1.quick.json").read_text())
    assert [one["outside_full"] for one in short["measured"]] == [True, False]
    assert short["measured"][0]["full"]["n"] == 3
    assert json.loads(full.read_text()) == document, "the full form's files are not touched"
    table = _said(out, "made", "--quick").stdout
    assert [line.split()[-3:] for line in table.splitlines() if line.strip().startswith("made: all")] == [
        ["1", "of", "4"]
    ]
    changed = _said(out, "made/1", "--quick", "--set", "links.line1.rate=49 Mbit/s").stdout
    assert "full form" not in changed, "it is another experiment"


@pytest.mark.usefixtures("labs")
def test_a_grid_beside_the_full_form(tmp_path: Path) -> None:
    """A table without published values has a column per value."""
    out = tmp_path / "r"
    _said(out, "made/more")
    document = json.loads((out / "made" / "table-more.json").read_text())
    document["measured"] = [one for one in document["measured"] if one["column"] == "mptcp"]
    document["measured"][0]["mean"] += 1
    (out / "made" / "table-more.json").write_text(json.dumps(document))
    said = _said(out, "made/more", "--quick").stdout
    (row,) = csv.DictReader((out / "made" / "table-more.quick.csv").read_text().splitlines())
    assert row["MPTCP"] == "60.10 (full: 61.20 ± 0.25)"
    assert row["outside the full form"] == "1 of 1"
    assert "1 of 1 values lie outside the full form's 95 % interval (measured in this folder); 1 more" in said


@pytest.mark.usefixtures("labs")
def test_the_reference_is_shipped(studies: Path, tmp_path: Path) -> None:
    _said(tmp_path / "full", "--all")
    said = reference.write(tmp_path / "full")
    assert [line.partition(" in ")[0] for line in said] == ["made: 2 of 2 tables", "other: 2 of 2 tables"]
    text = (studies / "made" / REFERENCE).read_text()
    assert '"mptcp": [60.2, 0.2484138, 3]' in text, "a line for every cell"
    result = _said(tmp_path / "elsewhere", "made/1", "--quick")
    assert "(shipped with the study, from kernel" in result.stdout
    assert "0 of 2 values" in result.stdout
    # Another scenario is not what the reference is about, but words in it do not matter.
    scenario = studies / "made" / "s.toml"
    scenario.write_text(SCENARIO.replace('"made"', '"other words"').replace("repeats = 3", "repeats = 2"))
    assert "0 of 2 values" in _said(tmp_path / "elsewhere", "made/1", "--quick").stdout
    scenario.write_text(SCENARIO.replace("50 Mbit/s", "40 Mbit/s"))
    assert "No full value" in _said(tmp_path / "elsewhere", "made/1", "--quick").stdout
    found = json.loads(text)
    assert found["missing"] == {}
    assert found["tables"]["1"]["without"] == []
    _said(tmp_path / "full", "made/1", "--set", "transport.congestion_control=reno")
    assert reference.write(tmp_path / "full")[0].endswith(
        "1: measured with changed keys; more: measured in an earlier form of the table"
    )
    assert json.loads((studies / "made" / REFERENCE).read_text())["tables"] == {}


def test_what_is_known_stays_shipped(labs: Labs, studies: Path, tmp_path: Path) -> None:
    """A folder with one table again does not take the others from the reference."""
    _said(tmp_path / "full", "--all")
    reference.write(tmp_path / "full")
    before = (studies / "made" / REFERENCE).read_text()
    _said(tmp_path / "again", "made/more")
    said = reference.write(tmp_path / "again")
    assert said[0].startswith("made: 2 of 2 tables")
    assert said[1].startswith("other: nothing in ")
    assert (studies / "made" / REFERENCE).read_text() == before
    labs.fate = _second_fails
    _call(tmp_path / "broken", "made/more")
    reference.write(tmp_path / "broken")
    assert (studies / "made" / REFERENCE).read_text() == before, "means over fewer runs are none"


@pytest.mark.parametrize("name", study_names())
def test_shipped_references(name: str) -> None:
    """Every cell of a table is in the reference, or is said to be missing; and it is of the tables as they are now."""
    tables = select(name)
    file = tables[0].folder / REFERENCE
    if not file.exists():
        pytest.skip(f"{name} has no reference yet")
    found = json.loads(file.read_text())
    assert set(found["tables"]) | set(found["missing"]) == {one.number for one in tables}
    for one in tables:
        if one.number in found["missing"]:
            continue
        cells, without = found["tables"][one.number]["cells"], found["tables"][one.number]["without"]
        known = {(row, column) for row, columns in cells.items() for column in columns}
        assert known, one.name
        assert known | {(row, column) for row, column in without} == {
            (row, column) for row in one.table.all_rows for column in one.table.columns
        }, one.name
        assert all(n >= 1 and (width is None) == (n == 1) for row in cells.values() for _, width, n in row.values())
        assert found["tables"][one.number]["kernels"], one.name
        again = f"mptcplab reproduce {one.name} --out R, and python -m mptcplab.study.reference --write R"
        assert full_form(one, {}).cells, f"table {one.name} changed since it was measured: {again}"


def test_the_list_says_what_is_left(labs: Labs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def left(runs: list[Run], folder: Path) -> list[Run]:
        if folder.name == "other":
            raise KERNEL
        return [run for run in runs if run.seed > 1]

    monkeypatch.setattr(command, "unrecorded", left)
    said = _said(tmp_path / "r", "--all", "--list").stdout.splitlines()
    assert said[0].startswith("made/1: first (12 runs, 4 recorded, about ")
    assert said[2] == f"other/1: first (12 runs, {KERNEL.message} ({KERNEL.hint}))"
    assert labs.made == 0
    document = json.loads(_said(tmp_path / "r", "--list", "--json").stdout)
    assert [(one["runs"], one["recorded"], bool(one["lacks"])) for one in document["tables"]] == [
        (12, 4, False),
        (12, 4, False),
        (12, 0, True),
        (12, 0, True),
    ]
