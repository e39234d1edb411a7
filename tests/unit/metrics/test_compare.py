# SPDX-License-Identifier: MIT
"""Two results against each other, and paired differences inside one: matching, tables, exit statuses."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.comparisons import MUCH_SLOWER, SLOWER, UNLUCKY, A, output, row_of, write

from mptcplab.metrics.rows import ResultRow
from mptcplab.stats import mean_interval

POINTS = [{"links.link1.delay": delay} for delay in ("1 ms", "2 ms", "3 ms")]


def test_rows_are_matched_and_distinguished(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    a = write(tmp_path / "a", [row_of(POINTS[0], A, run="x"), row_of(POINTS[1], A, run="y"), row_of(POINTS[2], A)])
    b = write(tmp_path / "b", [row_of(POINTS[1], SLOWER, run="z"), row_of(POINTS[0], A, run="w")])
    status, out, _ = output(capsys, monkeypatch, a, b, "--json")
    (comparison,) = json.loads(out)["comparisons"]
    assert status == 0
    assert [(row["settings"], row["verdict"], row["test"]) for row in comparison["rows"]] == [
        (POINTS[0], "identical", "paired t"), (POINTS[1], "differs, but negligible", "paired t"),
    ]  # fmt: skip
    assert comparison["rows"][1]["difference"] == pytest.approx(-0.51)
    assert comparison["rows"][1]["percent"] == pytest.approx(-100 * 0.51 / 103.5)
    assert comparison["rows"][1]["ci95_half_width"] < 0.02, "in pairs, what seeds have in common does not count"
    assert (comparison["only_a"], comparison["only_b"]) == (["links.link1.delay = 3 ms, bulk"], [])
    status, out, _ = output(capsys, monkeypatch, a, b)
    assert status == 0
    assert "Only in A: links.link1.delay = 3 ms, bulk." in out
    assert "Identical: different runs with equal values for every seed." in out


def test_rows_that_a_value_lacks_are_named_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another value of --by was compared in the same rows."""
    points = [
        {"hosts.client.transport.modes.access2": mode, "transport.path_manager": manager}
        for mode in ("on", "backup", "handover")
        for manager in ("kernel", "userspace")
        if (mode, manager) != ("handover", "kernel")
    ]
    made = write(tmp_path / "made", [row_of(point, A, run=f"{point}") for point in points])
    words = (made, "--by", "access2", "--reference", "on")
    _, out, _ = output(capsys, monkeypatch, *words)
    lacking = "Only in A, not in B = handover: transport.path_manager = kernel, bulk."
    assert lacking in out, out
    assert "Not available" not in out, "a run may have failed"
    assert "Only in B" not in out
    document = json.loads((made / "results.json").read_text())
    settings = {"hosts.client.transport.modes.access2": "handover", "transport.path_manager": "kernel"}
    document["unavailable"] = [{"settings": settings, "reason": "the kernel does not watch interfaces"}]
    (made / "results.json").write_text(json.dumps(document))
    _, out, _ = output(capsys, monkeypatch, *words)
    assert f"{lacking} Not available: the kernel does not watch interfaces." in out, out
    _, out, _ = output(capsys, monkeypatch, made, "--by", "access2", "--reference", "handover")
    assert "Only in B = on: transport.path_manager = kernel, bulk. Not available: the kernel does" in out, "A lacks it"


def test_a_small_difference_is_not_shown_as_zero(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    later = {seed: value + 0.0012 + 1e-5 * (seed % 3) for seed, value in A.items()}
    a, b = (
        write(tmp_path / "a", [row_of({}, A)]),
        write(tmp_path / "b", [row_of({}, later, run="b")]),
    )
    _, out, _ = output(capsys, monkeypatch, a, b)
    assert "differs, but negligible" in out
    assert "+0.0012100 ± 0.0000094" in out, out
    assert "B - A Mbit/s" in out, out


def _two_paths(first: dict[int, float], **changed: Any) -> ResultRow:
    paths = {"link1": tuple(first.values()), "link2": tuple(1 - share for share in first.values())}
    return replace(row_of({}, A), share_values=paths, share_seeds=tuple(first), **changed)


def test_shares_are_compared_by_path_in_parts_of_the_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A difference of 2.5 of 100 is inside a margin of 3, also for a path that carries only a fifth."""
    spread = {seed: 0.2 + 0.0001 * (seed % 3) for seed in A}
    more = {seed: share + 0.025 + 0.0001 * (seed % 2) for seed, share in spread.items()}
    a, b = (
        write(tmp_path / "a", [_two_paths(spread)]),
        write(tmp_path / "b", [_two_paths(more, runs=("other",) * 6)]),
    )
    words = (a, b, "--metric", "share_percent", "--margin")
    _, out, _ = output(capsys, monkeypatch, *words, "3", "--json")
    (comparison,) = json.loads(out)["comparisons"]
    assert [(row["workload"], row["verdict"]) for row in comparison["rows"]] == [
        ("bulk over link1", "differs, but negligible"), ("bulk over link2", "differs, but negligible"),
    ]  # fmt: skip
    assert comparison["rows"][0]["difference"] == pytest.approx(2.505)
    status, out, _ = output(capsys, monkeypatch, *words, "2", "--fail-if-different")
    assert status == 1
    assert "within ± 2 % of the whole" in out


def test_other_conditions_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    a = write(tmp_path / "a", [row_of(POINTS[0], A), row_of(POINTS[1], A)])
    other = [replace(row_of(point, SLOWER), kernel="6.12.1-stock", hz=250, time="instructions") for point in POINTS[:2]]
    b = write(tmp_path / "b", [other[0], replace(other[1], mptcp="no")])
    _, out, _ = output(capsys, monkeypatch, a, b)
    text = " ".join(out.split())
    assert "A: kernel 7.2.1-test; virtual time; B: kernel 6.12.1-stock, HZ 250; a clock that counts" in text
    assert "[!] MPTCP was not used alike. links.link1.delay = 2 ms, bulk: A 2 subflows, B no." in text
    _, out, _ = output(capsys, monkeypatch, a, b, "--metric", "bulk:goodput")
    assert "[!] MPTCP was not used alike" in out
    _, out, _ = output(capsys, monkeypatch, a, b, "--metric", "pages:goodput")
    assert "[!] MPTCP was not used alike" not in out, "it is about another workload"
    _, out, _ = output(capsys, monkeypatch, a, b, "--json")
    document = json.loads(out)
    assert document["b_measured_on"] == ["6.12.1-stock, HZ 250; a clock that counts instructions"]
    assert document["mptcp_differs"] == [{"row": "links.link1.delay = 2 ms, bulk", "a": "2 subflows", "b": "no"}]
    _, out, _ = output(capsys, monkeypatch, a, a)
    assert "virtual time" not in out


@pytest.mark.parametrize(
    ("options", "status"),
    [((), 0), (("--fail-if-different", "--margin", "0"), 1), (("--fail-if-different",), 0),
     (("--fail-if-different", "--margin", "0.4"), 1), (("--fail-if-different", "--metric", "duration"), 0)],
)  # fmt: skip
def test_status_says_what_was_asked_for(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    status: int,
) -> None:
    a, b = (
        write(tmp_path / "a", [row_of({}, A)]),
        write(tmp_path / "b", [row_of({}, SLOWER, run="b")]),
    )
    assert output(capsys, monkeypatch, a, b, *options)[0] == status


def test_by_a_swept_key(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row_of({"kernel": kernel, **POINTS[0]}, values, run=kernel) for kernel, values in
            (("6.12", A), ("7.1", A), ("7.2", MUCH_SLOWER))]  # fmt: skip
    folder = write(tmp_path / "a", rows)
    _, out, _ = output(capsys, monkeypatch, folder, "--by", "kernel", "--reference", "7.1", "--json")
    comparisons = json.loads(out)["comparisons"]
    assert [(comparison["a"], comparison["b"], comparison["rows"][0]["verdict"]) for comparison in comparisons] == [
        ("7.1", "6.12", "identical"), ("7.1", "7.2", "differs"),
    ]  # fmt: skip
    _, out, _ = output(capsys, monkeypatch, folder, "--by", "kernel", "--reference", "7.1")
    assert re.search(r"^ *1 ms +6\.12 +104 ", out, re.MULTILINE), "one table, and its rows name B"
    status, _, err = output(capsys, monkeypatch, folder, "--by", "family")
    assert (status, "'family' is not a swept key" in err) == (2, True)
    one_left = write(tmp_path / "b", rows[:1])
    status, _, err = output(capsys, monkeypatch, one_left, "--by", "kernel")
    assert (status, "do not have two values of 'kernel'" in err) == (2, True)
    status, _, err = output(capsys, monkeypatch, folder, "--by", "kernel", "--reference", "7.3")
    assert (status, "do not have '7.3'" in err, 'did you mean "7.2"?' in err) == (2, True, True)
    status, _, err = output(capsys, monkeypatch, folder, "--by", "kernel", "--reference", "stock")
    assert (status, "do not have 'stock'" in err, '"6.12", "7.1", "7.2"' in err) == (2, True, True)
    assert output(capsys, monkeypatch, folder, folder, "--reference", "7.1")[0] == 2


def test_a_reference_whose_name_has_a_comma(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("both, DSL first", "both, 5G first", "both")
    rows = [row_of({"name": name, **POINTS[0]}, A, run=name) for name in names]
    folder = write(tmp_path / "a", rows)
    for name in names:
        _, out, _ = output(capsys, monkeypatch, folder, "--by", "name", "--reference", name, "--json")
        comparisons = json.loads(out)["comparisons"]
        assert [(comparison["a"], comparison["b"]) for comparison in comparisons] == [
            (name, other) for other in names if other != name
        ]
    misspelled = "both, DSL frist"  # codespell:ignore frist
    status, _, err = output(capsys, monkeypatch, folder, "--by", "name", "--reference", misspelled)
    assert (status, 'did you mean "both, DSL first"?' in err) == (2, True), err


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"rows": 1}', '{"rows": [1]}', '{"rows": [{"settings": 1}]}'])
def test_what_is_no_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    a = write(tmp_path / "a", [row_of({}, A)])
    (tmp_path / "b").mkdir()
    if text is not None:
        (tmp_path / "b" / "results.json").write_text(text)
    status, _, err = output(capsys, monkeypatch, a, tmp_path / "b")
    assert status == 2
    assert "hint: " in err


def test_one_folder_or_two(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for words in (("a",), ("a", "b", "--by", "kernel")):
        assert output(capsys, monkeypatch, *words)[0] == 2


def test_all_tables_of_one_command_are_one_family(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four values against the first one, two workloads and metrics: p and interval are for all tests together."""
    values = {"6.1": A, "6.6": UNLUCKY, "6.12": MUCH_SLOWER, "7.1": MUCH_SLOWER, "7.2": A}
    rows = [
        row_of({"kernel": kernel}, shown if workload == "bulk" else A, run=f"{kernel}{workload}", workload=workload)
        for kernel, shown in values.items()
        for workload in ("bulk", "call")
    ]
    folder = write(tmp_path / "a", rows)
    words = ("--by", "kernel", "--reference", "6.1", "--margin", "0", "--metric")
    _, out, _ = output(capsys, monkeypatch, folder, *words, "goodput", "--metric", "bulk:duration", "--json")
    document = json.loads(out)
    first, second, third, last = (comparison["rows"][0] for comparison in document["comparisons"][:4])
    assert document["tests"] == 3, "rows that are equal cannot differ by chance"
    assert first["ci95_half_width"] < first["difference"] < first["simultaneous_half_width"], "alone it would differ"
    assert first["p_corrected"] == pytest.approx(3 * first["p"])
    assert [row["verdict"] for row in (first, second, third, last)] == ["not shown", "differs", "differs", "identical"]
    assert [comparison["rows"][0]["workload"] for comparison in document["comparisons"][4:]] == 4 * ["bulk"]
    _, out, _ = output(capsys, monkeypatch, folder, *words, "goodput", "--metric", "bulk:duration")
    assert out.count("The intervals of all 3 tests of this command") == 1, "the other table has no test"


def test_a_verdict_has_its_size_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """0.0000015 % is certain on six seeds, and nothing."""
    shifts = (1.4e-6, 1.5e-6, 1.6e-6, 1.5e-6, 1.5e-6, 1.6e-6)
    later = {seed: value + shift for (seed, value), shift in zip(A.items(), shifts, strict=True)}
    a, b = (
        write(tmp_path / "a", [row_of({}, A)]),
        write(tmp_path / "b", [row_of({}, later, run="b")]),
    )
    status, out, _ = output(capsys, monkeypatch, a, b, "--fail-if-different")
    assert re.search(r"\+0\.00000146[0-9]* ± [0-9.]+ .* differs, but negligible", out), out
    assert "B - A Mbit/s" in out, "one row has one unit"
    assert status == 0
    none = write(tmp_path / "c", [row_of({}, {seed: 0.001 * (seed - 3.5) for seed in A}, run="c")])
    _, out, _ = output(capsys, monkeypatch, none, a)
    assert re.search(r"\+103\.5\d? ± [0-9.]+ .*differs", out), out


def test_how_many_more_seeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four rows of six noisy seeds: a change of 1 % is not shown, and the table says what it would take."""
    noise = (2.0, -1.5, 0.4, 3.1, -2.2, 1.0)
    noisy = {seed: value + 1.0 + shift for (seed, value), shift in zip(A.items(), noise, strict=True)}
    rows = [{"n": str(number)} for number in range(4)]
    a = write(tmp_path / "a", [row_of(settings, A) for settings in rows])
    b = write(tmp_path / "b", [row_of(settings, noisy, run="b") for settings in rows])
    _, out, _ = output(capsys, monkeypatch, a, b, "--json")
    row = json.loads(out)["comparisons"][0]["rows"][0]
    assert row["verdict"] == "not shown"
    # Four tests, a true change of 0.69 standard deviations: 25 pairs by the noncentral t distribution.
    assert row["more_runs"] == 25 - 6
    _, out, _ = output(capsys, monkeypatch, a, b)
    assert "not shown; about 19 more seeds would settle it" in out
    assert "show in 80 of 100 repetitions either a difference or equivalence" in out, out
    assert output(capsys, monkeypatch, a, b, "--fail-if-uncertain")[0] == 1
    assert output(capsys, monkeypatch, a, b, "--fail-if-uncertain", "--margin", "10")[0] == 0, "equivalent within 10 %"
    few = write(tmp_path / "c", [row_of({"n": "0"}, {1: 5.0}, run="c")])
    assert output(capsys, monkeypatch, a, few, "--fail-if-uncertain", "--margin", "50")[0] == 1


@pytest.mark.parametrize("flag", ["--fail-if-different", "--fail-if-uncertain"])
def test_a_check_of_nothing_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, flag: str
) -> None:
    """A renamed axis, or a workload that is not there, would otherwise turn a check green."""
    a = write(tmp_path / "a", [row_of({"delay": "1 ms"}, A), row_of({"delay": "2 ms"}, A)])
    b = write(tmp_path / "b", [row_of({"latency": "1 ms"}, A), row_of({"latency": "2 ms"}, A)])
    assert output(capsys, monkeypatch, a, b)[0] == 0
    status, out, err = output(capsys, monkeypatch, a, b, flag)
    assert (status, "nothing was compared: no row with goodput is on both sides" in err) == (2, True), err
    assert "Only in A: delay = 1 ms, bulk" in out, "the table says what each side has"
    web = write(tmp_path / "c", [row_of({"delay": "1 ms"}, A, workload="web")])
    words = ("--metric", "goodput", "--metric", "web:goodput")
    status, _, err = output(capsys, monkeypatch, a, web, flag, *words)
    assert (status, "no row with goodput is on both sides" in err) == (2, True), err
    assert output(capsys, monkeypatch, a, a, flag)[0] == 0
    assert output(capsys, monkeypatch, a, a, flag, "--metric", "bulk:share_percent")[0] == 0


def test_a_missing_folder_is_called_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    status, _, err = output(capsys, monkeypatch, tmp_path / "none", "--by", "kernel")
    assert (status, "none does not exist" in err) == (2, True), err


def test_warnings_of_the_runs_are_repeated_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wide interval may come from what a warning names; of workloads that are not compared, warnings are left out."""
    rows = [
        replace(row_of({"cc": name}, values, run=name), warnings=warnings)
        for name, values, warnings in (
            ("cubic", A, ()), ("balia", SLOWER, ("3 segments were dropped",)), ("olia", A, ("5 segments were dropped",))
        )
    ]  # fmt: skip
    rows.append(replace(row_of({"cc": "balia"}, A, workload="call"), warnings=("the call was cut",)))
    folder = write(tmp_path / "a", rows)
    words = (folder, "--by", "cc", "--reference", "cubic", "--metric", "bulk:goodput")
    _, out, _ = output(capsys, monkeypatch, *words)
    assert "[!] Warning: 3 to 5 segments were dropped (balia; olia)." in out, out
    assert "the call was cut" not in out
    _, out, _ = output(capsys, monkeypatch, *words, "--json")
    assert json.loads(out)["warnings"] == [{"warning": "3 to 5 segments were dropped", "rows": ["balia", "olia"]}]
    _, out, _ = output(capsys, monkeypatch, folder, folder)
    assert "(A balia: bulk; A olia: bulk; B balia: bulk; B olia: bulk)." in out, out


def test_runs_without_the_event_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that never came back has no time to compare, and would look like the best of all."""
    rows = []
    for name, restored in (("on", 3), ("backup", 1), ("handover", 0)):
        row = row_of({"mode": name}, A, run=name)
        seeds = row.seeds
        values = tuple(1.0 + seed / 10 for seed in seeds[:restored])
        known = {"recovery_after_restoration_s": mean_interval(values)} if values else {}
        lacking = {"recovery_after_restoration_s": seeds[restored:]} if restored < len(seeds) else {}
        rows.append(
            replace(
                row,
                metrics={**row.metrics, **known},
                samples={**row.samples, "recovery_after_restoration_s": values},
                metric_seeds={"recovery_after_restoration_s": seeds[:restored]},
                never=lacking,
            )
        )
    folder = write(tmp_path / "a", rows)
    count = len(A)
    words = (folder, "--by", "mode", "--reference", "on", "--metric")
    _, out, err = output(capsys, monkeypatch, *words, "restored")
    assert not err
    text = f"[!] Warning: restored: never within {count - 3} to {count} of {count} runs, which are not compared"
    assert f"{text} (on; backup; handover)." in out, out
    _, out, _ = output(capsys, monkeypatch, *words, "goodput")
    assert "never" not in out, out


def test_few_seeds_are_called_few(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    note = "are wide (Student's t). Use at least 5 seeds"
    for count, said in ((3, True), (5, False)):
        a, b = (
            write(tmp_path / f"{name}{count}", [row_of({}, dict(list(values.items())[:count]), run=name)])
            for name, values in (("a", A), ("b", MUCH_SLOWER))
        )
        _, out, _ = output(capsys, monkeypatch, a, b)
        assert (f"Intervals for n = {count} {note}" in out) == said, out
