# SPDX-License-Identifier: MIT
"""Possible test beds of studies: their ranges, their draws, and how values and claims are judged over them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from SALib.analyze import pawn
from tests.unit.example_studies import Labs, call, run_to_end, second_fails

from mptcplab.api import beds as bed_jobs
from mptcplab.errors import Exit, InputError, LabError, MissingError
from mptcplab.scenario.load import Run
from mptcplab.study import reference
from mptcplab.study.beds import FILE, BedSpace, OpenParameter, SampledBed, draw, is_drawn, read_beds
from mptcplab.study.cloud import (
    IN_ALL,
    IN_NONE,
    IN_SOME,
    Cloud,
    CloudClaim,
    CloudValue,
    agreement_class,
    judge_cloud,
    shipped_cloud,
)
from mptcplab.study.cloud_page import find_ends, save_cloud, summarise
from mptcplab.study.library import SelectedTable, select, study_names, table_job
from mptcplab.study.sensitivity import MIN_BEDS_FOR_CAUSES, _indices
from mptcplab.study.stored_cloud import CLOUD, StoredCloud, merge_clouds

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


def _drawn_tables(name: str) -> list[SelectedTable]:
    return [table for table in select(name) if is_drawn(table.study, table.number)]


def _find_gaps(beds: BedSpace, tables: list[SelectedTable]) -> Iterator[str]:
    """Yield a sentence for each parameter that the source leaves open and ``beds.toml`` does not mention."""
    study = tables[0].study
    drawn = [selected.number for selected in tables if is_drawn(study, selected.number)]
    named = set(beds.names) | {name for kept in beds.kept for name in kept.names}
    for parameter in study.parameters:
        about = [number for number in drawn if parameter.is_about(number, is_of_source=True)]
        if parameter.name not in named and any(parameter.choice(number).origin != "stated" for number in about):
            yield f"parameter '{parameter.name}' is not stated, and {FILE} neither varies nor keeps it"
    known = {parameter.name for parameter in study.parameters}
    for kept in beds.kept:
        yield from (f"{FILE} keeps '{name}', which no parameter is called" for name in kept.names if name not in known)


@pytest.mark.parametrize("name", study_names())
def test_every_open_parameter_is_varied_or_kept_for_a_reason(name: str) -> None:
    tables = select(name)
    assert list(_find_gaps(read_beds(tables[0].folder, tables[0].study), tables)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "selected", [table for name in study_names() for table in _drawn_tables(name)], ids=lambda table: table.name
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
        bed = SampledBed(number, tuple(at), values)
        work = table_job(selected, space.overrides(bed, selected.number), quick=True, repeats=1, seed=number + 1)
        assert work.runs, selected.name


def test_more_beds_begin_with_the_same_ones() -> None:
    space = BedSpace(axes=(_axis(range=("1 ms", "9 ms")), _axis("other", values=("a", "b", "c"))))
    assert draw(space, 64)[:8] == draw(space, 8)
    assert {choice.values["other"] for choice in draw(space, 8)} == {"a", "b", "c"}
    assert len({choice.values["name"] for choice in draw(space, 64)}) == 64


def _axis(name: str = "name", **more: object) -> OpenParameter:
    return OpenParameter.model_validate({"name": name, "why": "w"} | more)


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
def test_a_range_is_monotonic(smaller: float, other: float) -> None:
    axis = _axis(range=("0.02 ms", "300 ms"), scale="log")
    low, high = (float(axis.text(place).split()[0]) for place in sorted((smaller, other)))
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
        OpenParameter.model_validate({"name": "name", "why": "w"} | wrong)


def test_classes() -> None:
    assert agreement_class([True] * 19 + [False]) == IN_ALL
    assert agreement_class([True] * 18 + [False] * 2) == IN_SOME
    assert agreement_class([True] + [False] * 19) == IN_SOME
    assert agreement_class([False] * 20) == IN_NONE


def test_shortened_runs_are_no_axis() -> None:
    """They come after what is settled, for their tables only, and before an axis that sets the same key."""
    axes = (_axis(values=("5 s", "9 s"), set={"duration": "{value}"}, tables=("2",)),)
    shortened = {"why": "w", "set": {"duration": "1 s"}, "tables": ["1", "2"]}
    space = BedSpace.model_validate(
        {"settled": {"why": "w", "set": {"duration": "60 s", "kernel": "7.2"}}, "shortened": shortened, "axes": axes}
    )
    bed = SampledBed(1, (0.1,), {"name": "5 s"})
    assert space.overrides(bed, "1") == ["duration=1 s", "kernel=7.2"]
    assert space.overrides(bed, "2") == ["duration=5 s", "kernel=7.2"]
    assert space.overrides(bed, "3") == ["duration=60 s", "kernel=7.2"]
    assert space.keys("1") == {"duration", "kernel"}
    other = space.model_copy(update={"shortened": None})
    assert space.digest != other.digest, "other durations are another cloud"
    reworded = BedSpace.model_validate(space.model_dump() | {"shortened": shortened | {"why": "x"}})
    assert reworded.digest == space.digest


def _cloud(rows: list[tuple[str, list[float | None]]], beds: int, failed: frozenset[int] = frozenset()) -> Cloud:
    """A cloud of one table, in which 100 ± 5 is published for every cell."""
    values = tuple(
        CloudValue("1", row, str(at), 100, 5, tuple(measured), failed) for at, (row, measured) in enumerate(rows)
    )
    sampled = tuple(SampledBed(number, (0.5,), {}) for number in range(1, beds + 1))
    return Cloud("s", sampled, values, (), is_quick=False, common=beds)


def test_a_bed_without_the_value_does_not_agree() -> None:
    (value,) = _cloud([("a", [100, None])], 2).values
    assert value.within == [True, False]
    assert value.verdict == IN_SOME


def test_a_bed_with_a_failed_run_says_nothing() -> None:
    (value,) = _cloud([("a", [100, None])], 2, frozenset({1})).values
    assert value.within == [True]
    assert value.verdict == IN_ALL


def test_calibration_is_judged_by_the_other_rows() -> None:
    """Bed 2 serves both values of row a and one of row b, bed 1 one of row b, bed 3 none."""
    cloud = _cloud([("a", [90, 100, 90]), ("a", [90, 105, 90]), ("b", [100, 104, 90]), ("b", [94.9, 106, 90])], 3)
    assert cloud.count_served() == [1, 3, 0]
    calibration = cloud.calibrate()
    assert calibration is not None
    assert (calibration.bed, calibration.chosen_by, calibration.of_chosen_by) == (2, 2, 2)
    assert (calibration.judged, calibration.of_judged) == (1, 2)
    assert calibration.expected == pytest.approx(2 / 3)
    text = " ".join(summarise(cloud))
    assert "0 of 3 beds serve all of them at once. Bed 2 serves most, 3; the median bed serves 1." in text
    assert "nothing is said about the parameters" in text
    assert "at least 37 % of all possible beds" in text, "0.37 cubed is 0.05"


def test_a_claim_counts_the_beds_in_which_it_can_be_judged() -> None:
    assert CloudClaim("1", "t", (True, None, True)).verdict == IN_ALL
    assert CloudClaim("1", "t", (False, None)).verdict == IN_NONE


def _document(beds: list[SampledBed], space: BedSpace, values: dict[str, dict[str, list[float]]]) -> StoredCloud:
    document = json.loads(
        json.dumps(
            {
                "study": "made",
                "quick": False,
                "changed": [],
                "space": space.digest,
                "beds": [{"bed": bed.number, "coordinates": bed.coordinates, "values": bed.values} for bed in beds],
                "tables": {"1": {"form": "", "failed": {}, "values": values}},
            }
        )
    )
    return StoredCloud.from_json(document)


@pytest.mark.slow
@pytest.mark.usefixtures("studies")
def test_the_parameter_that_moves_a_value_is_found(tmp_path: Path) -> None:
    """One value follows an axis, with a tenth of it as noise; the other one follows nothing."""
    (selected,) = select("made/1")
    axes = [_axis(name, range=("0 ms", "1 ms"), tables=("1",)) for name in ("delay", "noise")]
    space = BedSpace(axes=(*axes, _axis("elsewhere", range=("0 ms", "1 ms"), tables=("2",))))
    beds = draw(space, 2 * MIN_BEDS_FOR_CAUSES)
    moved = [40 + 10 * bed.coordinates[0] + bed.coordinates[1] for bed in beds]
    document = _document(beds, space, {"8 Mbit/s": {"tcp": moved, "mptcp": [70.0] * len(beds)}})
    cloud = judge_cloud(document, [selected], space)
    first, second = cloud.values
    assert first.moved_by == ("delay",), first.moved_by
    assert first.verdict == IN_SOME
    assert (second.moved_by, second.verdict) == ((), IN_ALL), "a value that does not move is moved by nothing"
    (claim,) = cloud.claims
    assert sum(claim.judged) == sum(70 / value >= 1.2 for value in moved), "MPTCP / TCP at least 1.2 at 8 Mbit/s"
    assert {file.name for file in save_cloud(cloud, [selected], tmp_path, "beds")} == {"beds.svg", "beds.png"}
    labels = re.findall(r">([\d.]+)</text>", (tmp_path / "beds.svg").read_text())
    assert len(labels) >= 3, f"near ratios need ticks between powers of ten: {labels}"


@pytest.mark.usefixtures("studies")
def test_tables_on_more_beds_than_others() -> None:
    """Table 1 on four beds, another on two: each counts the beds that it was measured on, in any order of files."""
    tables = [selected for selected in select("made") if selected.number in ("1", "more")]
    space = BedSpace(axes=(_axis("queue", range=("0 ms", "1 ms"), tables=("1", "more")),))
    beds = draw(space, 4)
    few = _document(beds[:2], space, {"8 Mbit/s": {"tcp": [10.0, 10.0]}})
    few = replace(few, tables={"1": few.tables["1"], "more": few.tables["1"]})
    many = _document(beds, space, {"8 Mbit/s": {"tcp": [45.0, 45.0, 45.0, 10.0]}})
    published = tables[0].table.published["8 Mbit/s"]["tcp"].mean
    assert published == pytest.approx(45, rel=0.1)
    for clouds in ([few, many], [many, few]):
        merged = StoredCloud.from_json(json.loads(json.dumps(merge_clouds(clouds).to_json())))
        assert merged.tables["more"].values["8 Mbit/s", "tcp"] == [10.0, 10.0, None, None]
        cloud = judge_cloud(merged, tables, space)
        assert (len(cloud.beds), cloud.common) == (4, 2)
        (value,) = [value for value in cloud.values if value.table == "1"]
        assert value.within == [True, True, True, False]
        assert len(cloud.count_served()) == 2, "only two beds can be said to serve both"
        assert cloud.failed_runs == 0
        assert next(summarise(cloud)).startswith("Some tables were measured on the first 2 beds only")


@pytest.mark.usefixtures("studies")
def test_one_alternative_of_five_is_found() -> None:
    """Only one alternative of a list matters: an index of the median slice would miss it."""
    (selected,) = select("made/1")
    space = BedSpace(
        axes=(_axis("buffer", values=tuple("abcde"), tables=("1",)), _axis("x", values=("a", "b"), tables=("1",)))
    )
    beds = draw(space, 2 * MIN_BEDS_FOR_CAUSES)
    values = [45 + 20 * (bed.values["buffer"] == "c") + 0.01 * at % 7 for at, bed in enumerate(beds)]
    cloud = judge_cloud(_document(beds, space, {"8 Mbit/s": {"tcp": values}}), [selected], space)
    assert cloud.values[0].moved_by == ("buffer",), cloud.values[0].moved_by


@pytest.mark.usefixtures("studies")
def test_what_moves_nothing_is_rarely_named() -> None:
    """Of 40 random values, about two have a name at a level of 5 %; five or more have a probability of 5 %."""
    (selected,) = select("made/1")
    space = BedSpace(axes=tuple(_axis(str(at), range=("0 ms", "1 ms"), tables=("1",)) for at in range(10)))
    beds = draw(space, MIN_BEDS_FOR_CAUSES)
    random = Random(1)
    named = 0
    for _ in range(40):
        values = [random.random() for _ in beds]
        cloud = judge_cloud(_document(beds, space, {"8 Mbit/s": {"tcp": values}}), [selected], space)
        named += bool(cloud.values[0].moved_by)
    assert named < 6, f"{named} of 40 values that follow nothing"


def test_indices_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same numbers are judged again from the cache folder, other ones and a damaged file by SALib."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    analyze = pawn.analyze
    asked: list[int] = []

    def count(problem: dict[str, Any], *numbers: Any, **settings: Any) -> Any:
        asked.append(problem["num_vars"])
        return analyze(problem, *numbers, **settings)

    monkeypatch.setattr(pawn, "analyze", count)
    columns, values = np.linspace(0, 1, 64).reshape(32, 2), np.arange(32.0)
    first = _indices(columns, values)
    assert _indices(columns, values) == first
    assert asked == [2]
    assert _indices(columns[:, :1], values) == first[:1]
    assert asked == [2, 1]
    for file in tmp_path.rglob("*.json"):
        file.write_text("[")
    assert _indices(columns, values) == first
    assert asked == [2, 1, 2]


@pytest.mark.slow
@pytest.mark.usefixtures("labs")
def test_a_study_over_its_beds(studies: Path, tmp_path: Path) -> None:
    """The made runs have 45 and 60 Mbit/s in every bed: TCP agrees in all, MPTCP at 8 Mbit/s in none."""
    (studies / "made" / FILE).write_text(_MADE)
    out = tmp_path / "r"
    shown = " ".join(run_to_end(out, "made", "--beds", "4", "--quick").stdout.split())
    document = json.loads((out / "made" / "beds-4.quick.json").read_text())
    assert [len(beds) for beds in document["tables"]["1"]["values"]["8 Mbit/s"].values()] == [4, 4]
    assert set(document["tables"]) == {"1"}, "evidence is not measured"
    text = "Of 2 published values, 1 agree in at least 95 % of the beds, 0 in some, and 1 in none."
    assert text in shown
    assert "made: claims over 4 test beds, short form" in shown
    assert {"beds-4.quick.md", "beds-4.quick.csv", "beds-4.quick.svg", "beds-claims-4.quick.csv"} <= {
        file.name for file in (out / "made").iterdir()
    }
    printed = json.loads(run_to_end(out, "made", "--beds", "4", "--quick", "--json").stdout)
    assert printed["studies"] == [document]
    cells = [bed["values"]["queue"] for bed in document["beds"]]
    assert len(set(cells)) == 4


@pytest.mark.slow
@pytest.mark.usefixtures("labs")
def test_what_is_shipped_is_read_back(studies: Path, tmp_path: Path) -> None:
    """The largest number of beds is shipped, and read back as long as scenario and ranges stay as they are."""
    text = (
        _MADE.replace('["cubic", "reno"]', """['["1 us", "2 us"]', "a [b] c"]""")
        .replace("transport.congestion_control", "links.link1.forward.extra_delay")
        .replace('"a [b] c"', """'["1 us", "3 us"]'""")
    )
    (studies / "made" / FILE).write_text(text)
    for count in ("4", "8", "2"):
        run_to_end(tmp_path, "made", "--beds", count)
    assert any("8 beds in" in line for line in reference.write(tmp_path))
    tables = select("made")
    shipped = json.loads((studies / "made" / CLOUD).read_text())
    assert len(shipped["beds"]) == 8
    assert {bed["values"]["congestion control"] for bed in shipped["beds"]} == {'["1 us", "2 us"]', '["1 us", "3 us"]'}
    cloud = shipped_cloud(tables)
    assert cloud is not None
    assert {value.verdict for value in cloud.values} == {IN_ALL, IN_NONE}
    (studies / "made" / FILE).write_text(text.replace('why = "w"', 'why = "another reason"'))
    assert shipped_cloud(tables) is not None, "reasons decide nothing"
    (studies / "made" / FILE).write_text(text.replace("1000 packets", "999 packets"))
    assert shipped_cloud(tables) is None, "other ranges are another cloud"


@pytest.mark.slow
@pytest.mark.usefixtures("labs")
def test_repeated_beds_confirm_what_is_shipped(studies: Path, tmp_path: Path) -> None:
    """One bed of four with the same digits names the build; another digit, or another form, does not."""
    (studies / "made" / FILE).write_text(_MADE)
    run_to_end(tmp_path / "all", "made", "--beds", "4")
    reference.write(tmp_path / "all")
    file = studies / "made" / CLOUD
    before = json.loads(file.read_text())
    builds = before["tables"]["1"]["kernels"]
    run_to_end(tmp_path / "one", "made", "--beds", "1")
    assert reference.repeat(tmp_path / "one") == ["made/1: 1 of 4 beds repeated digit for digit"]
    assert json.loads(file.read_text()) == before, "the same build is named already"
    before["tables"]["1"]["kernels"] = {"7.2": "earlier"}
    before["tables"]["gone"] = before["tables"]["1"] | {"form": "earlier"}
    file.write_text(json.dumps(before))
    reference.repeat(tmp_path / "one")
    after = json.loads(file.read_text())
    assert after["tables"]["1"].pop("repeated") == {"kernels": builds, "beds": 1}
    assert after == before, "nothing else changes"
    stored = StoredCloud.read(file).tables["1"]
    assert (stored.kernels, stored.latest_kernels, stored.repeated_beds) == ({"7.2": "earlier"}, builds, 1)
    run_to_end(tmp_path / "quick", "made", "--beds", "1", "--quick")
    confirmed = file.read_text()
    assert "another form" in reference.repeat(tmp_path / "quick")[0]
    assert file.read_text() == confirmed


@pytest.mark.slow
def test_repeated_beds_that_differ_confirm_nothing(labs: Labs, studies: Path, tmp_path: Path) -> None:
    """Of several files each is compared. Runs that failed say nothing, not even against an earlier repetition."""
    (studies / "made" / FILE).write_text(_MADE)
    run_to_end(tmp_path, "made", "--beds", "4")
    reference.write(tmp_path)
    file, out = studies / "made" / CLOUD, tmp_path / "made"
    shipped = json.loads(file.read_text())
    table = shipped["tables"]["1"]
    builds, table["kernels"] = table["kernels"], {"7.2": "earlier"}
    table["repeated"] = {"kernels": builds, "beds": 4}
    cells = table["values"]["8 Mbit/s"]["tcp"]
    cells[1] += 0.001
    file.write_text(json.dumps(shipped))
    run_to_end(tmp_path, "made", "--beds", "1")
    differs = f"made/1: differs in bed 2 at 8 Mbit/s, tcp: {cells[1]} is shipped, {cells[1] - 0.001} repeated"
    assert reference.repeat(tmp_path) == [differs, "made/1: 1 of 4 beds repeated digit for digit"]
    assert "repeated" not in json.loads(file.read_text())["tables"]["1"], "nor what was repeated earlier"
    (out / "beds-4.json").unlink()
    file.write_text(json.dumps(shipped))
    reference.repeat(tmp_path)
    assert json.loads(file.read_text()) == shipped, "four beds on the same build say more than one"
    labs.fate = second_fails
    call(tmp_path / "broken", "made", "--beds", "2")
    assert reference.repeat(tmp_path / "broken") == ["made/1: beds-2.json has failed runs"]
    assert json.loads(file.read_text()) == shipped


@pytest.mark.usefixtures("labs")
def test_a_study_without_beds_or_tables_for_them(studies: Path, tmp_path: Path) -> None:
    result = call(tmp_path, "made", "--beds", "2")
    assert isinstance(result.exception, InputError), result.output
    (studies / "made" / FILE).write_text(_MADE)
    result = call(tmp_path, "made/more", "--beds", "2")
    assert isinstance(result.exception, InputError), result.output
    assert result.exception.message == "--beds is for values and claims of the source; made/more has none"
    wrong = _MADE.replace("links.link*.queue", "links.no.queue")
    (studies / "made" / FILE).write_text(wrong)
    assert isinstance(call(tmp_path, "made/1", "--beds", "2").exception, InputError)
    (studies / "made" / FILE).write_text("[[axes]]\n")
    result = call(tmp_path, "made", "--beds", "2")
    assert isinstance(result.exception, LabError), result.output
    assert FILE in str(result.exception.hint)


@pytest.mark.usefixtures("labs")
@pytest.mark.parametrize(
    "words",
    [
        ("--set", "seed=3"),
        ("--set", "links.link1.queue=5 packets"),
        ("--set", "links.link*.queue=5 packets"),
        ("--set", "links.link2.delay=5 ms"),
        ("--engine", "local"),
    ],
)
def test_what_beds_decide_cannot_be_changed(studies: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    (studies / "made" / FILE).write_text(_MADE)
    result = call(tmp_path, "made", "--beds", "2", *words)
    assert isinstance(result.exception, InputError), result.output
    assert "beds" in result.exception.message


@pytest.mark.slow
@pytest.mark.usefixtures("labs")
def test_a_changed_key_makes_another_document(studies: Path, tmp_path: Path) -> None:
    (studies / "made" / FILE).write_text(_MADE)
    run_to_end(tmp_path, "made", "--beds", "2", "--set", "links.link1.rate=49 Mbit/s")
    assert json.loads((tmp_path / "made" / "beds-2.json").read_text())["changed"] == ["links.link1.rate=49 Mbit/s"]
    assert not any("2 beds in" in line for line in reference.write(tmp_path)), "it is another test bed"


def test_a_failed_run_leaves_its_bed_out(labs: Labs, studies: Path, tmp_path: Path) -> None:
    def third_fails(run: Run) -> LabError | None:
        return LabError("it ended with status 1", hint="look") if run.seed == 3 else None

    labs.fate = third_fails
    (studies / "made" / FILE).write_text(_MADE)
    shown = " ".join(run_to_end(tmp_path, "made", "--beds", "4", "--quick", status=Exit.FAILED).stdout.split())
    assert "Warning: incomplete, 2 runs failed." in shown
    document = json.loads((tmp_path / "made" / "beds-4.quick.json").read_text())
    (values, _) = document["tables"]["1"]["values"]["8 Mbit/s"].values()
    assert [value is None for value in values] == [False, False, True, False]
    assert document["tables"]["1"]["failed"] == {"2": 2}
    assert document["tables"]["1"]["kernels"] == {"7.2.1-made": "0123456789abcdef0123"}, "as the recordings say"
    assert "3 of 3" in shown, "the bed of the failed run does not count"
    script = (tmp_path / "made" / "failed-beds.quick.sh").read_text()
    assert "--seed 3" in script
    assert "links.link2.delay=1 ms" in script
    assert not any("4 beds in" in line for line in reference.write(tmp_path))


@pytest.mark.slow
@pytest.mark.usefixtures("debian")
def test_what_beds_lack_is_named_before_the_first_run(labs: Labs, studies: Path, tmp_path: Path) -> None:
    """A bed can have another kernel than its table, so the command that gets it names the beds, too."""
    labs.lacks["made"] = [
        MissingError(f"no {name}", subject=name, command=f"mptcplab kernel build --{name}") for name in ("cpu", "wifi")
    ]
    for study in ("made", "other"):
        (studies / study / FILE).write_text(_MADE)
    run_to_end(tmp_path, "--all", "--beds", "4", status=Exit.MISSING)
    assert (tmp_path / "other" / "beds-4.json").is_file(), "the other study is measured"
    result = call(tmp_path, "made", "--beds", "4")
    assert isinstance(result.exception, MissingError), result.output
    assert result.exception.message == "this machine lacks cpu and wifi"
    assert (result.exception.hint or "").splitlines() == [
        "mptcplab doctor --for made/1 --beds 4 --install",
        "  or by hand: mptcplab kernel build --cpu && mptcplab kernel build --wifi",
    ]
    assert not (tmp_path / "made").exists()


def _duration_of(run: Run) -> str:
    return str(run.point.scenario.model_dump(mode="json")["workloads"]["bulk"]["duration"])


@pytest.mark.usefixtures("labs")
def test_what_the_short_form_shortens_stays_short(studies: Path) -> None:
    axis = '[[axes]]\nname = "d"\nwhy = "w"\nvalues = ["9 s", "8 s"]\nset = { "workloads.bulk.duration" = "{value}" }\n'
    (studies / "made" / FILE).write_text(_MADE + axis)
    (selected,) = select("made/1")
    plan = bed_jobs.plan_beds([selected], 2, (), quick=True)
    assert {_duration_of(run) for run in plan.runs} == {"1 s"}
    plan = bed_jobs.plan_beds([selected], 2, (), quick=False)
    assert {_duration_of(run) for run in plan.runs} == {"9 s", "8 s"}


@pytest.mark.usefixtures("labs")
def test_beds_are_listed(studies: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for study in ("made", "other"):
        (studies / study / FILE).write_text(_MADE)
    monkeypatch.setattr(bed_jobs, "missing_runs", lambda runs, _: list(runs))
    shown = run_to_end(tmp_path, "--all", "--beds", "2", "--list").stdout
    assert [line.partition(",")[0] for line in shown.splitlines()] == ["made: 2 test beds", "other: 2 test beds"]
    listed = json.loads(run_to_end(tmp_path, "made", "--beds", "2", "--list", "--json").stdout)["studies"]
    assert [(entry["study"], entry["beds"], entry["runs"], entry["recorded"]) for entry in listed] == [
        ("made", 2, 8, 0)
    ]


def test_a_few_dots_far_away_do_not_squeeze_a_picture() -> None:
    """Of a hundred dots two are far below: the axis leaves them out. Four, or two nearby, it has."""
    near = [0.8 + 0.004 * at for at in range(98)]
    low, high = find_ends([0.01, 0.02, *near])
    assert 0.7 < low < 0.8
    assert high > max(near)
    assert find_ends([0.01, 0.01, 0.02, 0.02, *near[2:]])[0] < 0.01
    assert find_ends([0.75, 0.76, *near])[0] < 0.75
    assert find_ends([2.0, 2.0])[0] < 1, "the published value is always in the picture"
