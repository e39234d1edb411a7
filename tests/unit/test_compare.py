# SPDX-License-Identifier: MIT
"""Two results against each other, and paired differences inside one: matching, tests, verdicts, exit statuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mptcplab.cli.main import main
from mptcplab.metrics.compare import Key, PairedDifference, Side, compare, paired_rows
from mptcplab.metrics.counters import MptcpCounts
from mptcplab.metrics.rows import ResultRow
from mptcplab.report.paired import paired_notes
from mptcplab.stats import mean_interval


def _row(settings: dict[str, str], values: dict[int, float], *, workload: str = "bulk", run: str = "") -> ResultRow:
    goodputs = tuple(values.values())
    return ResultRow(
        settings=settings,
        workload=workload,
        metrics={
            "goodput_mbps": mean_interval(goodputs),
            "duration_s": mean_interval([1.0] * len(goodputs)),
            "retransmitted_percent": mean_interval([0.0] * len(goodputs)),
        },
        mptcp="2 subflows",
        counts=(MptcpCounts(1, 1, 0),) * len(goodputs),
        shares={"link1": 1.0},
        congestion="cubic",
        scheduler="default",
        kernel="7.2.1-test",
        seeds=tuple(values),
        warnings=(),
        samples={
            "goodput_mbps": goodputs,
            "duration_s": (1.0,) * len(goodputs),
            "retransmitted_percent": (0.0,) * len(goodputs),
        },
        runs=tuple(f"{run}{seed}" for seed in values),
    )


def _write(folder: Path, rows: list[ResultRow]) -> Path:
    folder.mkdir(parents=True)
    (folder / "results.json").write_text(json.dumps({"rows": [row.to_json() for row in rows]}))
    return folder


def _output(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: object
) -> tuple[Any, str, str]:
    monkeypatch.setattr(sys, "argv", ["mptcplab", "compare", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return ended.value.code or 0, captured.out, captured.err


A = {seed: 100.0 + seed for seed in range(1, 7)}
#: Seeds differ a lot more than the two do on one seed.
SLOWER = {seed: value - 0.5 - 0.01 * (seed % 3) for seed, value in A.items()}
POINTS = [{"links.link1.delay": delay} for delay in ("1 ms", "2 ms", "3 ms")]


def test_rows_are_matched_and_distinguished(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    a = _write(tmp_path / "a", [_row(POINTS[0], A, run="x"), _row(POINTS[1], A, run="y"), _row(POINTS[2], A)])
    b = _write(tmp_path / "b", [_row(POINTS[1], SLOWER, run="z"), _row(POINTS[0], A, run="w")])
    status, out, _ = _output(capsys, monkeypatch, a, b, "--json")
    (found,) = json.loads(out)["comparisons"]
    assert status == 0
    assert [(row["settings"], row["verdict"], row["test"]) for row in found["rows"]] == [
        (POINTS[0], "identical", "paired t"), (POINTS[1], "differ", "paired t"),
    ]  # fmt: skip
    assert found["rows"][1]["difference"] == pytest.approx(-0.51)
    assert found["rows"][1]["percent"] == pytest.approx(-100 * 0.51 / 103.5)
    assert found["rows"][1]["ci95_half_width"] < 0.02, "in pairs, what seeds have in common does not count"
    assert (found["only_a"], found["only_b"]) == (["links.link1.delay = 3 ms, bulk"], [])
    status, out, _ = _output(capsys, monkeypatch, a, b)
    assert status == 0
    assert "Only in A: links.link1.delay = 3 ms, bulk." in out
    assert "Identical: different runs with equal values for every seed." in out


def test_a_small_difference_is_not_shown_as_zero(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    later = {seed: value + 0.0012 + 1e-5 * (seed % 3) for seed, value in A.items()}
    a, b = _write(tmp_path / "a", [_row({}, A)]), _write(tmp_path / "b", [_row({}, later, run="b")])
    _, out, _ = _output(capsys, monkeypatch, a, b)
    assert "differ" in out
    assert "+0.0012 ± 0.0000094" in out, out


@pytest.mark.parametrize(
    ("options", "status"),
    [((), 0), (("--fail-if-different",), 1), (("--fail-if-different", "--at-least", "1"), 0),
     (("--fail-if-different", "--at-least", "0.4"), 1), (("--fail-if-different", "--metric", "duration"), 0)],
)  # fmt: skip
def test_status_says_what_was_asked_for(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    status: int,
) -> None:
    a, b = _write(tmp_path / "a", [_row({}, A)]), _write(tmp_path / "b", [_row({}, SLOWER, run="b")])
    assert _output(capsys, monkeypatch, a, b, *options)[0] == status


def test_by_a_swept_key(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [_row({"kernel": kernel, **POINTS[0]}, values, run=kernel) for kernel, values in
            (("6.12", A), ("7.1", A), ("7.2", SLOWER))]  # fmt: skip
    folder = _write(tmp_path / "a", rows)
    _, out, _ = _output(capsys, monkeypatch, folder, "--by", "kernel", "--json")
    found = json.loads(out)["comparisons"]
    assert [(one["a"], one["b"], one["rows"][0]["verdict"]) for one in found] == [
        ("kernel 6.12", "kernel 7.1", "identical"), ("kernel 6.12", "kernel 7.2", "differ"),
    ]  # fmt: skip
    status, _, err = _output(capsys, monkeypatch, folder, "--by", "family")
    assert (status, "do not have two values of 'family'" in err) == (2, True)


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"rows": 1}', '{"rows": [1]}', '{"rows": [{"settings": 1}]}'])
def test_what_is_no_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    a = _write(tmp_path / "a", [_row({}, A)])
    (tmp_path / "b").mkdir()
    if text is not None:
        (tmp_path / "b" / "results.json").write_text(text)
    status, _, err = _output(capsys, monkeypatch, a, tmp_path / "b")
    assert status == 2
    assert "hint: " in err


def test_one_folder_or_two(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for words in (("a",), ("a", "b", "--by", "kernel")):
        assert _output(capsys, monkeypatch, *words)[0] == 2


def _compare(a: dict[int, float], b: dict[int, float], count: int = 1) -> list[tuple[str, str, float | None]]:
    keys = [((("n", str(number)),), "bulk") for number in range(count)]
    (found,) = compare([({key: Side(a) for key in keys}, {key: Side(b) for key in keys})], "goodput_mbps")
    return [(match.verdict, match.difference.test, match.adjusted) for match in found.matches]


def test_which_test() -> None:
    other = {seed + 100: value for seed, value in SLOWER.items()}
    assert _compare(A, SLOWER)[0][:2] == ("differ", "paired t")
    assert _compare(A, other)[0][:2] == ("no difference shown", "Welch's t")
    assert _compare({1: 5.0}, {1: 6.0})[0] == ("too few runs", "paired t", None)
    assert _compare({1: 5.0}, {2: 6.0})[0] == ("too few runs", "Welch's t", None)
    assert _compare({1: 5.0}, {1: 5.0})[0][0] == "identical"
    assert _compare({1: 5.0, 2: 5.0}, {1: 6.0, 2: 6.0})[0] == ("differ", "paired t", 0.0)


def test_pairs_need_both_sides_only_where_they_are_shared() -> None:
    """Three of six seeds are shared: these three are compared."""
    some = {seed: value for seed, value in SLOWER.items() if seed > 3} | {50: 7.0}
    key = ((), "bulk")
    ((match,),) = (one.matches for one in compare([({key: Side(A)}, {key: Side(some)})], "goodput_mbps"))
    assert (match.difference.n, match.difference.test) == ((3, 3), "paired t")
    assert match.means[0] == pytest.approx(sum(A[seed] for seed in (4, 5, 6)) / 3)


#: A difference that chance makes in four of a hundred pairs of results: of itself nothing, in a family of tests.
UNLUCKY = {seed: value + shift for (seed, value), shift in zip(A.items(), (0.9, 1.9, 0.3, 1.2, 0.9, -0.2), strict=True)}


def test_all_tables_of_one_command_are_one_family(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four values against the first one, a table each, one of two workloads in each row unlucky in the first table."""
    values = {"6.1": A, "6.6": UNLUCKY, "6.12": SLOWER, "7.1": SLOWER, "7.2": A}
    rows = [
        _row({"kernel": kernel}, shown if workload == "bulk" else A, run=f"{kernel}{workload}", workload=workload)
        for kernel, shown in values.items()
        for workload in ("bulk", "call")
    ]
    folder = _write(tmp_path / "a", rows)
    _, out, _ = _output(capsys, monkeypatch, folder, "--by", "kernel", "--json")
    document = json.loads(out)
    first, second, third, last = (one["rows"][0] for one in document["comparisons"])
    assert document["tests"] == 3, "rows that are equal cannot differ by chance"
    assert 0.05 / 3 < first["p"] < 0.05, "alone it would be called a difference"
    assert first["p_holm"] == pytest.approx(first["p"]), "Holm: the largest of three p keeps its size"
    assert (second["verdict"], third["verdict"], last["verdict"]) == ("differ", "differ", "identical")
    assert second["p_holm"] == pytest.approx(3 * second["p"])
    alone = _write(tmp_path / "b", [row for row in rows if row.settings["kernel"] in ("6.1", "6.6")] + [
        _row({"kernel": kernel}, UNLUCKY, run=kernel) for kernel in ("6.7", "6.8", "6.9")
    ])  # fmt: skip
    _, out, _ = _output(capsys, monkeypatch, alone, "--by", "kernel", "--json")
    found = [one["rows"][0] for one in json.loads(out)["comparisons"]]
    assert [row["p_holm"] for row in found] == pytest.approx([4 * row["p"] for row in found])
    assert {row["verdict"] for row in found} == {"no difference shown"}, found
    _, out, _ = _output(capsys, monkeypatch, alone, "--by", "kernel")
    assert out.count("p after Holm's correction for 4 tests, 1 of them in this table") == 4, out


def test_a_verdict_has_its_size_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """0.0000015 % is certain on six seeds, and nothing."""
    shifts = (1.4e-6, 1.5e-6, 1.6e-6, 1.5e-6, 1.5e-6, 1.6e-6)
    later = {seed: value + shift for (seed, value), shift in zip(A.items(), shifts, strict=True)}
    a, b = _write(tmp_path / "a", [_row({}, A)]), _write(tmp_path / "b", [_row({}, later, run="b")])
    _, out, _ = _output(capsys, monkeypatch, a, b)
    assert "differ by +0.0000015 %" in out, out
    status, out, _ = _output(capsys, monkeypatch, a, b, "--fail-if-different", "--at-least", "0.5")
    assert (status, "differ by +0.0000015 %, below 0.5 %" in out) == (0, True), out
    none = _write(tmp_path / "c", [_row({}, {seed: 0.001 * (seed - 3.5) for seed in A}, run="c")])
    _, out, _ = _output(capsys, monkeypatch, none, a)
    assert "differ by +103.5" in out, out


def test_what_could_have_been_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four rows of six noisy seeds: a change of 1 % is not shown, and the table says that it could not have been."""
    noise = (2.0, -1.5, 0.4, 3.1, -2.2, 1.0)
    noisy = {seed: value + 1.0 + shift for (seed, value), shift in zip(A.items(), noise, strict=True)}
    rows = [{"n": str(number)} for number in range(4)]
    a = _write(tmp_path / "a", [_row(settings, A) for settings in rows])
    b = _write(tmp_path / "b", [_row(settings, noisy, run="b") for settings in rows])
    _, out, _ = _output(capsys, monkeypatch, a, b, "--json")
    found = json.loads(out)["comparisons"][0]["rows"][0]
    assert found["verdict"] == "no difference shown"
    assert found["percent"] < 1.5 < found["percent_detectable"], found
    assert found["percent_detectable"] == pytest.approx(100 * found["detectable"] / found["mean_a"])
    _, out, _ = _output(capsys, monkeypatch, a, b)
    assert "shows in 80 of 100 repetitions" in out, out
    least = found["percent_detectable"]
    for size, status in ((0.99 * least, 1), (1.01 * least, 0)):
        assert _output(capsys, monkeypatch, a, b, "--fail-if-uncertain", "--at-least", size)[0] == status
    assert _output(capsys, monkeypatch, a, b, "--fail-if-uncertain")[0] == 2, "any difference can be missed"
    few = _write(tmp_path / "c", [_row({"n": "0"}, {1: 5.0}, run="c")])
    assert _output(capsys, monkeypatch, a, few, "--fail-if-uncertain", "--at-least", "50")[0] == 1


def test_many_rows_make_each_test_stricter() -> None:
    """Unlucky once in thirty: differs alone, but not as one of ten. Rows that are equal don't count."""
    b = UNLUCKY
    ((alone, _, p),) = _compare(A, b)
    assert p is not None
    assert 0.05 / 10 < p < 0.05
    assert alone == "differ"
    assert {verdict for verdict, *_ in _compare(A, b, 10)} == {"no difference shown"}
    keys: list[Key] = [((("n", str(number)),), "bulk") for number in range(10)]
    others = {key: Side(b if key == keys[0] else A) for key in keys}
    (mixed,) = compare([({key: Side(A) for key in keys}, others)], "duration_s")
    assert mixed.matches[0].verdict == "differ"


def _swept(*rows: tuple[str, str, dict[int, float]]) -> list[PairedDifference]:
    return paired_rows(
        [_row({"transport.protocol": protocol, "links.link1.delay": delay}, values) for protocol, delay, values in rows]
    )


def test_paired_differences_of_a_sweep() -> None:
    """MPTCP against TCP whatever comes first in the file; other keys against their first value."""
    faster = {seed: 2 * value for seed, value in A.items()}
    pairs = _swept(("mptcp", "1 ms", faster), ("mptcp", "9 ms", faster), ("tcp", "1 ms", A), ("tcp", "9 ms", SLOWER))
    found = [(pair.key.rpartition(".")[2], pair.first, pair.second, tuple(pair.settings.values())) for pair in pairs]
    assert found == [
        ("protocol", "tcp", "mptcp", ("1 ms",)), ("protocol", "tcp", "mptcp", ("9 ms",)),
        ("delay", "1 ms", "9 ms", ("mptcp",)), ("delay", "1 ms", "9 ms", ("tcp",)),
    ]  # fmt: skip
    assert pairs[0].percent == pytest.approx(100)
    assert pairs[3].difference.mean == pytest.approx(-0.51)
    notes = paired_notes(pairs)
    assert notes[0] == "MPTCP - TCP, link1.delay 1 ms: +103.5 ± 1.96 Mbit/s (+100.0 %), paired over 6 seeds."
    assert len(notes) == 2


def test_no_pairs_without_two_shared_seeds() -> None:
    assert _swept(("tcp", "1 ms", {1: 5.0}), ("mptcp", "1 ms", {1: 6.0})) == []
    assert _swept(("tcp", "1 ms", {1: 5.0, 2: 5.0}), ("mptcp", "1 ms", {2: 6.0, 3: 6.0})) == []
    assert paired_rows([]) == []


def test_many_pairs_are_reported_briefly() -> None:
    rows = [(protocol, f"{delay} ms", A) for delay in range(9) for protocol in ("tcp", "mptcp")]
    notes = paired_notes(_swept(*rows))
    assert len(notes) == 7
    assert notes[-1] == "MPTCP - TCP: 3 more in results.json (paired)."
