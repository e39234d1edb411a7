# SPDX-License-Identifier: MIT
"""Possible test beds of studies: their ranges, their draws, and how values and claims are judged over them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.unit.made_studies import Labs, call, ended

from mptcplab.cli.jobs import table_job
from mptcplab.errors import Exit, InputError, LabError, MissingError
from mptcplab.scenario.load import Run
from mptcplab.study.beds import FILE, Axis, Bed, BedSpace, draw, find_gaps, is_drawn, read_beds
from mptcplab.study.cloud import (
    IN_ALL,
    IN_NONE,
    IN_SOME,
    MIN_BEDS_FOR_CAUSES,
    Cloud,
    CloudClaim,
    CloudValue,
    class_of,
    read_cloud,
)
from mptcplab.study.cloud_page import save_cloud, summarise
from mptcplab.study.load import SelectedTable, select, study_names

_MADE = """
[settled]
why = "w"
set = { "links.link2.delay" = "1 ms" }
[[axes]]
name = "queue"
range = ["10 packets", "1000 packets"]
scale = "log"
set = { "links.link*.queue" = "{value}" }
why = "w"
[[axes]]
name = "congestion control"
values = ["cubic", "reno"]
set = { "transport.congestion_control" = "{value}" }
why = "w"
"""


def _own_tables(name: str) -> list[SelectedTable]:
    return [one for one in select(name) if is_drawn(one.study, one.number)]


@pytest.mark.parametrize("name", study_names())
def test_every_open_parameter_is_varied_or_kept_for_a_reason(name: str) -> None:
    tables = select(name)
    assert list(find_gaps(read_beds(tables[0].folder, tables[0].study), tables)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "selected", [one for name in study_names() for one in _own_tables(name)], ids=lambda one: one.name
)
def test_a_table_accepts_every_alternative(selected: SelectedTable) -> None:
    """Beds with both ends of each range and with each alternative of a list; none sets what the table varies."""
    space = read_beds(selected.folder, selected.study)
    counts = [len(axis.values) or len(axis.options) or 2 for axis in space.axes]
    for number in range(max(counts)):
        ends = [0.0 if number % 2 == 0 else math.nextafter(1, 0)] * len(counts)
        at = [
            end if axis.range is not None else (number % count + 0.5) / count
            for axis, count, end in zip(space.axes, counts, ends, strict=True)
        ]
        values = {axis.name: axis.text(place) for axis, place in zip(space.axes, at, strict=True)}
        bed = Bed(number, tuple(at), values)
        work = table_job(selected, space.overrides(bed, selected.number), quick=True, repeats=1, seed=number + 1)
        assert work.runs, selected.name


def test_more_beds_begin_with_the_same_ones() -> None:
    space = BedSpace(axes=(_axis(range=("1 ms", "9 ms")), _axis("other", values=("a", "b", "c"))))
    assert draw(space, 64)[:8] == draw(space, 8)
    assert {one.values["other"] for one in draw(space, 8)} == {"a", "b", "c"}
    assert len({one.values["name"] for one in draw(space, 64)}) == 64


def _axis(name: str = "name", **more: object) -> Axis:
    return Axis.model_validate({"name": name, "why": "w"} | more)


@given(st.floats(0, 1, exclude_max=True), st.sampled_from(["linear", "log"]))
def test_a_value_lies_in_its_range(coordinate: float, scale: str) -> None:
    axis = _axis(range=("20 packets", "1000 packets"), scale=scale, set={"k": "[{value}]"})
    text = axis.text(coordinate)
    number, unit = text.split()
    assert unit == "packets", text
    assert number.isdecimal(), "packets are counted"
    assert 20 <= int(number) <= 1000, text
    assert axis.settings(text) == {"k": f"[{text}]"}


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_range_is_monotonic(one: float, other: float) -> None:
    axis = _axis(range=("0.02 ms", "300 ms"), scale="log")
    low, high = (float(axis.text(place).split()[0]) for place in sorted((one, other)))
    assert 0.02 <= low <= high <= 300, (low, high)


def test_the_middle_of_a_logarithmic_range_is_the_geometric_mean() -> None:
    assert _axis(range=("1 ms", "100 ms"), scale="log").text(0.5) == "10 ms"
    assert _axis(range=("0 ms", "100 ms")).text(0.5) == "50 ms"
    assert _axis(range=("0 %", "0.001 %")).text(0.5) == "0.0005 %", "no exponent, which scenarios do not read"


@pytest.mark.parametrize(
    "wrong",
    [
        {"range": ("1 ms", "1 s")},
        {"range": ("2 ms", "1 ms")},
        {"range": ("0 ms", "1 ms"), "scale": "log"},
        {"values": ("a",)},
        {"values": ("a", "b"), "range": ("1", "2")},
        {"options": {"a": {}, "b": {"k": "v"}}, "set": {"k": "{value}"}},
        {},
    ],
)
def test_a_wrong_axis(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Axis.model_validate({"name": "name", "why": "w"} | wrong)


def test_classes() -> None:
    assert class_of([True] * 19 + [False]) == IN_ALL
    assert class_of([True] * 18 + [False] * 2) == IN_SOME
    assert class_of([True] + [False] * 19) == IN_SOME
    assert class_of([False] * 20) == IN_NONE


def _cloud(values: list[list[float | None]], beds: int) -> Cloud:
    found = tuple(CloudValue("1", str(at), "c", 100, 5, tuple(own)) for at, own in enumerate(values))
    return Cloud("s", tuple(Bed(number, (0.5,), {}) for number in range(1, beds + 1)), found, (), is_quick=False)


def test_a_bed_without_the_value_does_not_agree() -> None:
    (value,) = _cloud([[100, None]], 2).values
    assert value.within == [True, False]
    assert value.verdict == IN_SOME


def test_calibration_is_judged_by_the_other_half() -> None:
    """Bed 2 serves both values of the first half and one of the second, bed 1 one of the second, bed 3 none."""
    cloud = _cloud([[90, 100, 90], [100, 104, 90], [90, 105, 90], [94.9, 106, 90]], 3)
    assert cloud.served() == [1, 3, 0]
    found = cloud.calibration()
    assert found is not None
    assert (found.bed, found.chosen_by, found.of_chosen_by, found.judged, found.of_judged) == (2, 2, 2, 1, 2)
    assert found.expected == pytest.approx(2 / 3)
    text = " ".join(summarise(cloud))
    assert "0 of 3 beds serve all of them at once. Bed 2 serves most, 3; the median bed serves 1." in text
    assert "nothing is said about the parameters" in text


def test_a_claim_counts_the_beds_in_which_it_can_be_judged() -> None:
    assert CloudClaim("1", "t", (True, None, True)).verdict == IN_ALL
    assert CloudClaim("1", "t", (False, None)).verdict == IN_NONE


def test_the_parameter_that_moves_a_value_is_found(studies: Path, tmp_path: Path) -> None:
    """One value follows an axis, with a tenth of it as noise; the other one follows nothing."""
    (selected,) = [one for one in select("made") if one.number == "1"]
    space = BedSpace(axes=tuple(_axis(name, range=("0 ms", "1 ms")) for name in ("delay", "elsewhere", "noise")))
    beds = draw(space, 2 * MIN_BEDS_FOR_CAUSES)
    moved = [40 + 10 * bed.coordinates[0] + bed.coordinates[2] for bed in beds]
    document = {
        "study": "made",
        "quick": False,
        "axes": {"delay": ["1"], "elsewhere": ["2"], "noise": ["1"]},
        "beds": [{"bed": bed.number, "coordinates": bed.coordinates, "values": bed.values} for bed in beds],
        "tables": {"1": {"values": {"8 Mbit/s": {"tcp": moved, "mptcp": [70.0] * len(beds)}}, "claims": {}}},
    }
    cloud = read_cloud(json.loads(json.dumps(document)), [selected])
    first, second = cloud.values
    assert first.moved_by == ("delay",), first.moved_by
    assert first.verdict == IN_SOME
    assert (second.moved_by, second.verdict) == ((), IN_ALL), "a value that does not move is moved by nothing"
    assert {file.name for file in save_cloud(cloud, [selected], tmp_path, "beds")} == {"beds.svg", "beds.png"}
    assert studies.is_dir()


@pytest.mark.usefixtures("labs")
def test_a_study_over_its_beds(studies: Path, tmp_path: Path) -> None:
    """The made runs have 45 and 60 Mbit/s in every bed: TCP agrees in all, MPTCP at 8 Mbit/s in none."""
    (studies / "made" / FILE).write_text(_MADE)
    out = tmp_path / "r"
    shown = ended(out, "made", "--beds", "4", "--quick").stdout
    document = json.loads((out / "made" / "beds.quick.json").read_text())
    assert [len(one) for one in document["tables"]["1"]["values"]["8 Mbit/s"].values()] == [4, 4]
    assert set(document["tables"]) == {"1"}, "evidence is not measured"
    assert document["axes"] == {"queue": ["1"], "congestion control": ["1"]}
    assert "Of 2 published values, 1 agree in at least 95 % of the beds, 0 in some, and 1 in none." in " ".join(
        shown.split()
    )
    assert {"beds.quick.md", "beds.quick.csv", "beds.quick.svg", "beds-claims.quick.csv"} <= {
        file.name for file in (out / "made").iterdir()
    }
    printed = json.loads(ended(out, "made", "--beds", "4", "--quick", "--json").stdout)
    assert printed["studies"] == [document]


@pytest.mark.usefixtures("labs")
def test_a_study_without_beds_or_tables_for_them(studies: Path, tmp_path: Path) -> None:
    result = call(tmp_path, "made", "--beds", "2")
    assert isinstance(result.exception, InputError), result.output
    (studies / "made" / FILE).write_text(_MADE)
    result = call(tmp_path, "made/more", "--beds", "2")
    assert isinstance(result.exception, InputError), result.output
    assert "not" in str(result.exception.message)
    (studies / "made" / FILE).write_text(
        _MADE.replace("queue", "length", 1).replace("links.link*.queue", "links.no.queue")
    )
    assert isinstance(call(tmp_path, "made/1", "--beds", "2").exception, InputError)
    (studies / "made" / FILE).write_text("[[axes]]\n")
    result = call(tmp_path, "made", "--beds", "2")
    assert isinstance(result.exception, LabError), result.output
    assert FILE in str(result.exception.hint)


def test_a_failed_run_leaves_its_bed_without_values(labs: Labs, studies: Path, tmp_path: Path) -> None:
    def third_fails(run: Run) -> LabError | None:
        return LabError("it ended with status 1", hint="look") if run.seed == 3 else None

    labs.fate = third_fails
    (studies / "made" / FILE).write_text(_MADE)
    ended(tmp_path, "made", "--beds", "4", "--quick", status=Exit.FAILED)
    document = json.loads((tmp_path / "made" / "beds.quick.json").read_text())
    (values, _) = document["tables"]["1"]["values"]["8 Mbit/s"].values()
    assert [one is None for one in values] == [False, False, True, False]
    script = (tmp_path / "made" / "failed-beds.sh").read_text()
    assert "--seed 3" in script
    assert "links.link2.delay=1 ms" in script


@pytest.mark.usefixtures("debian")
def test_what_beds_lack_is_named_before_the_first_run(labs: Labs, studies: Path, tmp_path: Path) -> None:
    """A bed can have another kernel than its table, so the command that gets it names the beds, too."""
    labs.lacks["made"] = [
        MissingError(f"no {name}", subject=name, command=f"mptcplab kernel build --{name}") for name in ("cpu", "wifi")
    ]
    (studies / "made" / FILE).write_text(_MADE)
    (studies / "other" / FILE).write_text(_MADE)
    result = call(tmp_path / "r", "--all", "--beds", "4")
    assert isinstance(result.exception, MissingError), result.output
    assert result.exception.message == "this machine lacks cpu and wifi"
    assert (result.exception.hint or "").splitlines() == [
        "mptcplab doctor --for made/1 --beds 4 --install",
        "  or by hand: mptcplab kernel build --cpu && mptcplab kernel build --wifi",
    ]
    assert (labs.made, (tmp_path / "r").exists()) == (0, False), "the other study is not measured first"
