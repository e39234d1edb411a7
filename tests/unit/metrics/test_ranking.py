# SPDX-License-Identifier: MIT
"""Rankings of all values of a key, or of combinations of several keys."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from tests.unit.comparisons import output, row_of, write

from mptcplab.stats import mean_interval

SCHEDULERS = {"default": 0.0, "blest": 8.0, "ecf": 0.6, "redundant": 4.0}
CONGESTION_CONTROLS = {"cubic": 0.0, "bbr": 10.0}


def _grid(folder: Path, deviation: float) -> Path:
    """Combinations of schedulers and congestion controls, whose goodputs add up."""
    random = Random(3)
    rows = [
        row_of(
            {"transport.scheduler": scheduler, "transport.congestion_control": control},
            {seed: 100 + better + more + seed + random.gauss(0, deviation) for seed in range(8)},
            run=f"{scheduler}{control}",
        )
        for scheduler, better in SCHEDULERS.items()
        for control, more in CONGESTION_CONTROLS.items()
    ]
    return write(folder, rows)


def test_which_scheduler_with_which_congestion_control(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _grid(tmp_path / "a", 0.4)
    words = (folder, "--by", "transport.scheduler,transport.congestion_control")
    _, out, _ = output(capsys, monkeypatch, *words, "--json")
    document = json.loads(out)
    (ranking,) = document["rankings"]
    places = ranking["places"]
    assert document["tests"] == 28, "all pairs of eight"
    assert [place["values"] for place in places[:3]] == [["blest", "bbr"], ["redundant", "bbr"], ["ecf", "bbr"]]
    groups = {tuple(place["values"]): set(place["groups"]) for place in places}
    assert groups["ecf", "bbr"] & groups["default", "bbr"], "0.6 of 110 is not told apart"
    assert not groups["blest", "bbr"] & groups["redundant", "bbr"]
    assert places[0]["against_best"] is None
    assert places[1]["against_best"]["difference"] == pytest.approx(-4, abs=0.5)
    _, out, _ = output(capsys, monkeypatch, *words)
    assert re.search(r"^ *1 +blest +bbr .* a +best *$", out, re.MULTILINE), out
    assert re.search(r"^ *The best is certain\. To settle", out, re.MULTILINE), out
    assert re.search(r"To settle every pair \(\d of 28 open\): about \d+ more seeds?", out), out
    _, out, _ = output(capsys, monkeypatch, _grid(tmp_path / "b", 6.0), *words[1:])
    assert "best mean, tied" in out, out
    assert re.search(r"To settle which is the best \(\d of 7 open\): about \d+ more seeds", out), out


def test_what_a_ranking_says_about_the_best(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which are worse than the first, and that none is better where all are equal, without a table to be read."""
    by = ("--by", "transport.scheduler,transport.congestion_control")
    folder = _grid(tmp_path / "a", 2.0)
    _, out, _ = output(capsys, monkeypatch, folder, *by, "--metric", "bulk:goodput")
    assert re.search(
        r"^ *Shown to be worse than the first: \d-8\. To settle which is the best \(", out, re.MULTILINE
    ), out
    _, out, _ = output(capsys, monkeypatch, folder, *by, "--metric", "retransmitted")
    assert "None is better than the others by as much as matters. All 28 pairs are settled." in out, out
    _, out, _ = output(
        capsys, monkeypatch, folder, *by, "--reference", "blest,bbr", "--metric", "bulk:goodput", "--metric", "duration"
    )
    assert re.findall(r"^(.*): A = ", out, re.MULTILINE) == ["bulk: goodput", "duration"], out
    status, _, err = output(capsys, monkeypatch, folder, *by, "--reference", "bbr,blest")
    assert (status, 'did you mean "blest,bbr"?' in err) == (2, True), f"the order of --by: {err}"
    status, _, err = output(capsys, monkeypatch, folder, *by, "--reference", "blest")
    assert status == 2
    assert "'blest' is not a value for each of transport.scheduler, transport.congestion_control" in err
    assert "name a value for each key of --by, separated by commas, such as " in err


def test_lower_is_better_for_times(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _grid(tmp_path / "a", 0.3)
    _, out, _ = output(
        capsys, monkeypatch, folder, "--by", "transport.scheduler", "--metric", "retransmitted", "--json"
    )
    assert json.loads(out)["tests"] == 0, "all have none"
    _, out, _ = output(capsys, monkeypatch, folder, "--by", "transport.scheduler", "--metric", "duration")
    assert "duration, lowest first" in out
    status, _, err = output(capsys, monkeypatch, folder, "--by", "transport.scheduler", "--metric", "goodputt")
    assert (status, "did you mean `goodput`?" in err) == (2, True), err


def _outages(folder: Path, values: dict[str, dict[int, float]]) -> Path:
    rows = []
    for scheduler, some in values.items():
        row = row_of({"transport.scheduler": scheduler}, some, run=scheduler)
        outages = tuple(some.values())
        metrics = {**row.metrics, "outage_s": mean_interval(outages)}
        samples = {**row.samples, "outage_s": outages}
        rows.append(replace(row, metrics=metrics, samples=samples, metric_seeds={"outage_s": row.seeds}))
    return write(folder, rows)


def test_difference_from_a_best_of_zero_has_a_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no percentage of zero: the cell was empty, and only the verdict said that there is a difference."""
    seeds = range(1, 7)
    values = {
        "default": dict.fromkeys(seeds, 0.0),
        "blest": {seed: 1.3 + 0.01 * (seed % 3) for seed in seeds},
        "ecf": {seed: 0.5 + 0.01 * (seed % 2) for seed in seeds},
    }
    folder = _outages(tmp_path / "a", values)
    _, out, err = output(capsys, monkeypatch, folder, "--by", "transport.scheduler", "--metric", "outage_s")
    assert "s against the best" in out, out + err
    assert "% against" not in out, out
    assert re.search(r"ecf .* \+0\.50\d* ± 0\.0\d+ .*differs", out), out
    assert re.search(r"blest .* \+1\.31\d* ± 0\.0\d+ .*differs", out), out
    assert "Difference from the best with its interval" in " ".join(out.split()), out


def test_n_of_a_test_that_does_not_have_all_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `repeats = until`, points have different numbers of runs, and only shared seeds are in a test."""
    counts = {"default": 3, "blest": 6, "ecf": 5}
    rows = [
        row_of(
            {"transport.scheduler": scheduler}, {seed: 100.0 + 9 * place + seed % 3 for seed in range(n)}, run=scheduler
        )
        for place, (scheduler, n) in enumerate(counts.items())
    ]
    folder = write(tmp_path / "a", rows)
    _, out, _ = output(capsys, monkeypatch, folder, "--by", "transport.scheduler")
    head = next(line for line in out.splitlines() if "n of the test" in line)
    place = head.index("n of the test")
    shown = {line.split()[1]: line[place : place + 13].strip() for line in out.splitlines() if re.match(r" *\d ", line)}
    assert shown == {"ecf": "", "blest": "5", "default": "3"}, out
    assert "only these are compared; other runs" in " ".join(out.split()), out
    _, out, _ = output(capsys, monkeypatch, _grid(tmp_path / "b", 0.4), "--by", "transport.scheduler")
    assert "n of the test" not in out, "where it is the number of runs, it would be a second column of the same"


def test_no_share_of_a_path_is_better_than_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds = range(6)
    rows = [
        replace(
            row_of({"transport.scheduler": name}, dict.fromkeys(seeds, 100.0), run=name),
            share_values={path: tuple(share + 0.001 * seed for seed in seeds) for path, share in shares.items()},
            share_seeds=tuple(seeds),
        )
        for name, first in (("minrtt", 0.4), ("blest", 0.5), ("ecf", 0.45))
        for shares in ({"link1": first, "link2": 1 - first},)
    ]
    words = (write(tmp_path / "a", rows), "--by", "transport.scheduler", "--metric", "share_percent")
    _, out, _ = output(capsys, monkeypatch, *words)
    assert len(re.findall("share, highest first", out)) == 2, f"a ranking per path: {out}"
    assert re.search(r"^ *1 +blest .* highest *$", out, re.MULTILINE), out
    assert "% against the highest" in out, out
    assert "The highest is certain" in out, out
    assert not re.search("best(?!,)|worse|better", out.replace("blest", "")), out
