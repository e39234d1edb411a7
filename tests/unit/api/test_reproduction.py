# SPDX-License-Identifier: MIT
"""``mptcplab reproduce`` over several tables: what fails costs no other table, and all is on the scoreboard."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import click.testing
import pytest
from tests.unit.example_studies import Labs, call, run_to_end, scoreboard, second_fails

from mptcplab.api import reproduction
from mptcplab.campaign.rounds import Rounds
from mptcplab.errors import Exit, InputError, LabError, MissingError
from mptcplab.scenario.load import Run
from mptcplab.study.library import read_documents

pytestmark = pytest.mark.slow


def test_everything_ends_with_a_scoreboard(labs: Labs, tmp_path: Path) -> None:
    result = run_to_end(tmp_path / "r", "--all")
    assert labs.made == 2 * 12, "of each study four points with three seeds"
    summary = (
        "Of 8 published values: agree 6, differ for a supposed reason 2, unexplained 0. With half of the tolerance"
    )
    claims = "Of 2 claims: hold 2, do not hold without one 0."
    assert f"{summary} 6 of 6 still agree. {claims}" in " ".join(result.stdout.split())
    assert f"In {tmp_path / 'r'}: scoreboard.md, scoreboard.csv, scoreboard.json, report.html" in result.stdout
    assert [line.partition(":")[0] for line in result.stderr.splitlines()] == [
        f"[{number} of 4] {name}"
        for number, name in enumerate(("made/1", "made/more", "other/1", "other/more"), start=1)
    ]
    document = json.loads((tmp_path / "r" / "scoreboard.json").read_text())
    assert [document["studies"][name]["values"]["agrees"] for name in ("made", "other")] == [3, 3]
    assert document["all"]["values"]["differs, supposed"] == 2
    rows = list(csv.DictReader((tmp_path / "r" / "scoreboard.csv").read_text().splitlines()))
    assert [(row["table"], row["agree"], row["differ, supposed"], row["claims hold"]) for row in rows] == [
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
    run_to_end(tmp_path / "r")
    assert labs.made == 2 * 12
    with pytest.raises(InputError, match="--all and made"):
        run_to_end(tmp_path / "r", "made", "--all")


def test_a_study_ends_with_its_own_scoreboard(labs: Labs, tmp_path: Path) -> None:
    result = run_to_end(tmp_path / "r", "made")
    assert labs.made == 12
    assert "Scoreboard, full form" in result.stdout
    assert "other" not in result.stdout
    assert not (tmp_path / "r" / "scoreboard.json").exists(), "it is not about everything"
    assert "Scoreboard" not in run_to_end(tmp_path / "r", "made/1").stdout


def test_json_is_one_document(labs: Labs, tmp_path: Path) -> None:
    assert labs.made == 0
    document = json.loads(run_to_end(tmp_path / "r", "--all", "--json").stdout)
    assert [f"{entry['study']}/{entry['table']}" for entry in document["tables"]] == [
        "made/1",
        "made/more",
        "other/1",
        "other/more",
    ]
    assert document["scoreboard"] == json.loads((tmp_path / "r" / "scoreboard.json").read_text())


def test_a_failed_run_costs_no_table(labs: Labs, tmp_path: Path) -> None:
    labs.fate = second_fails
    result = run_to_end(tmp_path / "r", "--all", status=Exit.FAILED)
    assert labs.made == 2 * 10
    assert {entry["remark"] for entry in scoreboard(tmp_path / "r").values()} == {"2 of 12 runs failed"}
    assert "mptcplab: made/1: 2 of 12 runs failed, the first being protocol mptcp" in result.stderr
    assert result.stdout.count("[!] Warning: incomplete, 2 of 12 runs failed.") == 4
    document = json.loads((tmp_path / "r" / "made" / "table-1.json").read_text())
    assert [(failure["seed"], failure["error"]) for failure in document["failed"]] == 2 * [
        (2, "it ended with status 1")
    ]
    assert (tmp_path / "r" / "made" / "failed-1.sh").read_text().count("--seed 2 --repeats 1") == 2
    labs.fate = lambda _: None
    run_to_end(tmp_path / "r", "--all")
    assert {entry["remark"] for entry in scoreboard(tmp_path / "r").values()} == {""}
    assert not list((tmp_path / "r").glob("*/failed*"))


def test_a_failed_run_of_a_table_alone(labs: Labs, tmp_path: Path) -> None:
    """What there is is printed, and the error tells how to repeat the run."""
    labs.fate = second_fails
    result = call(tmp_path / "r", "made/1")
    assert "incomplete, 2 of 12 runs failed" in result.stdout
    assert isinstance(result.exception, LabError)
    assert result.exception.status == Exit.FAILED
    assert "mptcplab run" in (result.exception.hint or "")


KERNEL = MissingError(
    "the lab kernel 6.99 is not built on this machine", subject="kernel 6.99", command="mptcplab kernel build 6.99"
)
IPTABLES = MissingError("this machine has no 'iptables'", subject="iptables", packages=("iptables",))


def _lacks_kernel(_: Rounds, out: Path) -> None:
    if out.name == "other":
        raise KERNEL


def test_what_this_machine_lacks_costs_no_other_table(labs: Labs, tmp_path: Path) -> None:
    labs.before = _lacks_kernel
    result = run_to_end(tmp_path / "r", "--all", status=Exit.MISSING)
    board = scoreboard(tmp_path / "r")
    assert [entry["remark"] for entry in board.values()] == ["", "", "not measured", "not measured"]
    assert board["other/1"]["why"] == f"{KERNEL.message} (mptcplab kernel build 6.99)", "as the run itself says it"
    assert board["other/1"]["values"]["not measured"] == 4
    assert board["other/1"]["claims"]["not measured"] == 1
    assert f"other/1 was not measured: {board['other/1']['why']}." in (tmp_path / "r" / "scoreboard.md").read_text()
    assert board["other/1"]["why"] in (tmp_path / "r" / "report.html").read_text()
    assert f"mptcplab: other/1: {KERNEL.message}" in result.stderr
    with pytest.raises(MissingError, match=r"6\.99"):
        run_to_end(tmp_path / "r", "other/1")
    labs.fate = second_fails
    run_to_end(tmp_path / "r", "--all", status=Exit.FAILED)


@pytest.mark.usefixtures("debian")
def test_what_is_missing_is_named_before_the_first_run(labs: Labs, tmp_path: Path) -> None:
    """All of it, once; the tables that lack nothing are measured, and the others are not tried."""
    labs.lacks = {"other": [IPTABLES, KERNEL]}
    result = run_to_end(tmp_path / "r", "--all", status=Exit.MISSING)
    *said, progress = result.stderr.splitlines()[:4]
    assert said == [
        "mptcplab: 2 of 4 tables cannot be measured: this machine lacks iptables and kernel 6.99",
        "  hint: mptcplab doctor --for other --install",
        "  or by hand: sudo apt-get install iptables && mptcplab kernel build 6.99",
    ]
    assert progress.startswith("[1 of 2] made/1: 12 runs; 0 of 24 runs done")
    assert result.stderr.count("iptables") == 2, "the message, and the command"
    assert labs.made == 12
    board = scoreboard(tmp_path / "r")
    assert [entry["remark"] for entry in board.values()] == ["", "", "not measured", "not measured"]
    why = "this machine lacks iptables and kernel 6.99 (mptcplab doctor --for other/1 --install)"
    assert board["other/1"]["why"] == why, "a table names the command for itself, on one line"
    labs.lacks["made"] = [KERNEL]
    with pytest.raises(MissingError, match=r"this machine lacks iptables and kernel 6\.99") as caught:
        run_to_end(tmp_path / "all", "--all", "--set", "repeats=2")
    first, _ = (caught.value.hint or "").splitlines()
    assert first == "mptcplab doctor --for made --for other --set repeats=2 --install"
    assert not (tmp_path / "all").exists()


def test_a_program_that_is_missing(labs: Labs, tmp_path: Path) -> None:
    """It is found out with every run."""
    labs.fate = lambda run: MissingError("this machine has no 'nginx'", hint="apt") if run.point.settings else None
    labs.before = lambda _, out: setattr(labs, "fate", labs.fate if out.name == "made" else lambda _: None)
    run_to_end(tmp_path / "r", "--all", status=Exit.MISSING)
    board = scoreboard(tmp_path / "r")
    assert [entry["why"] for entry in board.values()] == ["this machine has no 'nginx' (apt)"] * 2 + [""] * 2


def test_runs_without_such_a_value(labs: Labs, studies: Path, tmp_path: Path) -> None:
    """Nothing failed, and still there is no table: a transfer that no line failed during has no gap."""
    for name in ("made", "other"):
        text = (studies / name / "study.toml").read_text()
        text = text.replace("[tables.more]", '[tables.more]\nvalue = "gap_s"').replace('"Mbit/s"', '"s"')
        text = text.replace("[tables.1]", '[tables.1]\nvalue = "duration_s"')
        (studies / name / "study.toml").write_text(text)
    run_to_end(tmp_path / "r", "--all", status=Exit.FAILED)
    assert labs.made == 2 * 12
    board = scoreboard(tmp_path / "r")
    assert (board["made/more"]["remark"], board["made/more"]["why"]) == (
        "not measured",
        "none of its runs has the table's metric",
    )
    with pytest.raises(LabError, match="has the table's metric"):
        run_to_end(tmp_path / "r", "made/more")


def test_nothing_can_be_measured(labs: Labs, tmp_path: Path) -> None:
    def lacks(*_: object) -> None:
        raise KERNEL

    labs.before = lacks
    with pytest.raises(MissingError):
        run_to_end(tmp_path / "r", "--all")
    assert not (tmp_path / "r").exists()


def test_what_the_user_wrote_wrong_ends_it(labs: Labs, tmp_path: Path) -> None:
    def wrong(*_: object) -> None:
        raise InputError("no such folder")

    labs.before = wrong
    with pytest.raises(InputError):
        run_to_end(tmp_path / "r", "--all")


def test_an_interrupt_leaves_what_is_measured(labs: Labs, tmp_path: Path) -> None:
    def interrupt(_: Rounds, out: Path) -> None:
        if out.name == "other":
            raise KeyboardInterrupt

    labs.before = interrupt
    result = call(tmp_path / "r", "--all")
    assert isinstance(result.exception, click.exceptions.Abort | KeyboardInterrupt)
    assert "2 of 4 tables" in result.stderr
    assert [entry["remark"] for entry in scoreboard(tmp_path / "r").values()] == [
        "",
        "",
        "not measured",
        "not measured",
    ]
    assert len(read_documents(tmp_path / "r" / "made")) == 2


def test_the_list_says_what_is_left(labs: Labs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def find_missing(runs: list[Run], folder: Path) -> list[Run]:
        if folder.name == "other":
            raise KERNEL
        return [run for run in runs if run.seed > 1]

    monkeypatch.setattr(reproduction, "missing_runs", find_missing)
    labs.lacks["other"] = [IPTABLES, KERNEL]
    output = run_to_end(tmp_path / "r", "--all", "--list").stdout.splitlines()
    assert output[0].startswith("made/1: first (12 runs, 4 recorded, about ")
    lacks = "this machine lacks iptables and kernel 6.99 (mptcplab doctor --for other/1 --install)"
    assert output[2] == f"other/1: first (12 runs, {lacks})"
    assert labs.made == 0
    document = json.loads(run_to_end(tmp_path / "r", "--list", "--json").stdout)
    assert [(table["runs"], table["recorded"], bool(table["lacks"])) for table in document["tables"]] == [
        (12, 4, False),
        (12, 4, False),
        (12, 0, True),
        (12, 0, True),
    ]
