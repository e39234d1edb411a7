# SPDX-License-Identifier: MIT
"""What a command has said and written when it is interrupted: recordings are made by hand."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.unit.campaign.test_sweep import SCENARIO, Hand, _engines, experiment_of

from mptcplab import api
from mptcplab.api import experiments
from mptcplab.campaign import sweep
from mptcplab.campaign.sweep import RunOptions
from mptcplab.cli.progress import ProgressPrinter

FILES = ("results.json", "table.md", "table.csv", "metrics.csv", "figure.svg")


@pytest.fixture
def hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hand:
    """The executor in place of this machine's."""
    made = Hand(lambda _: 1)

    @contextmanager
    def executor(_: RunOptions, __: object) -> Iterator[tuple[Hand, int]]:
        yield made, 1

    monkeypatch.setattr(experiments, "check_machine", lambda *_: None)
    monkeypatch.setattr(sweep, "space_warning", lambda *_: None)
    monkeypatch.setattr(sweep, "prepare_engines", lambda *_, **__: _engines(tmp_path))
    monkeypatch.setattr(sweep, "_executor", executor)
    return made


def _run(tmp_path: Path, text: str = SCENARIO, *, stop_after: int | None = None, fresh: bool = False) -> None:
    """Run the scenario into ``out``; a signal arrives after ``stop_after`` runs."""
    done = 0

    def interrupt(progress: api.Progress) -> None:
        nonlocal done
        printer.show(progress)
        done += progress.completed is not None
        if progress.completed is not None and done == stop_after:
            os.kill(os.getpid(), signal.SIGINT)

    with ProgressPrinter() as printer:
        out = tmp_path / "out"
        api.run(experiment_of(tmp_path, text), out, jobs=1, fresh=fresh, progress=interrupt, warn=printer.warn)


def _contents(tmp_path: Path) -> dict[str, bytes]:
    return {name: (tmp_path / "out" / name).read_bytes() for name in FILES if (tmp_path / "out" / name).exists()}


@pytest.mark.slow
@pytest.mark.usefixtures("hand")
def test_complete_results_outlive_an_interrupted_rerun(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As long as recorded runs are only read, nothing in the folder changes."""
    _run(tmp_path)
    complete = _contents(tmp_path)
    assert set(complete) == set(FILES)
    capsys.readouterr()
    with pytest.raises(KeyboardInterrupt, match=r"^6 runs are recorded in "):
        _run(tmp_path, stop_after=2)
    assert "All 6 runs are recorded already, and only read." in capsys.readouterr().err
    assert _contents(tmp_path) == complete
    assert not list((tmp_path / "out").glob("partial.*"))


@pytest.mark.slow
@pytest.mark.parametrize("fresh", [False, True])
def test_results_of_other_runs_do_not_pass_for_these(
    tmp_path: Path, hand: Hand, fresh: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once a run is new, there is a table of the runs so far in place of the older one."""
    _run(tmp_path)
    hand.made.clear()
    capsys.readouterr()
    more = SCENARIO.replace("repeats = 3", "repeats = 5")
    kept = 1 if fresh else 7
    with pytest.raises(KeyboardInterrupt, match=rf"^{kept} runs? (is|are) recorded in "):
        _run(tmp_path, more, stop_after=kept, fresh=fresh)
    assert ("6 of 10 runs are recorded already." in capsys.readouterr().err) is not fresh
    assert not _contents(tmp_path)
    assert f"(incomplete: {kept} of 10 runs)" in (tmp_path / "out" / "partial.md").read_text()
    document = json.loads((tmp_path / "out" / "partial.json").read_text())
    assert (document["seed"], document["repeats"]) == (1, 5), "the command in its report continues with these"


@pytest.mark.slow
def test_the_time_left_does_not_count_recorded_runs(
    tmp_path: Path, hand: Hand, capsys: pytest.CaptureFixture[str]
) -> None:
    """An estimate for a run that is only read would foretell minutes where it takes a second."""
    _run(tmp_path)
    capsys.readouterr()
    hand.made.clear()
    _run(tmp_path)
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("recorded ")]
    assert not hand.made
    assert len(lines) == 6
    assert lines[0].endswith("(1 of 6, about 0 s left)"), lines[0]


@pytest.mark.slow
@pytest.mark.usefixtures("hand")
def test_results_with_other_points_are_replaced_with_a_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who forgets --out for a part of a sweep is told so; who repeats a sweep, or adds to it, is not."""
    _run(tmp_path)
    _run(tmp_path, SCENARIO.replace('["1 ms", "2 ms"]', '["1 ms", "2 ms", "3 ms"]'))
    assert "replace" not in capsys.readouterr().err
    _run(tmp_path, SCENARIO.replace('["1 ms", "2 ms"]', '["1 ms"]'))
    err = capsys.readouterr().err
    assert "These results replace others in " in err
    assert "which had 2 points that are not among them. The recordings stay" in err


@pytest.mark.slow
@pytest.mark.usefixtures("hand")
def test_no_figure_of_older_results_stays(tmp_path: Path) -> None:
    """One run without a sweep has no such file, and the sweep's would pass for its own."""
    _run(tmp_path)
    users_figure = tmp_path / "out" / "figure-for-my-paper.svg"
    users_figure.write_text("mine")
    assert (tmp_path / "out" / "figure.svg").exists()
    _run(tmp_path, SCENARIO.partition("sweep.")[0])
    assert [file.name for file in (tmp_path / "out").glob("figure*")] == [users_figure.name]
