# SPDX-License-Identifier: MIT
"""``python -m validation.fidelity``: runs short forms of all scenarios in several engines, and compares them.

It goes on where it ended: a scenario with results is not run again while its form and the side's kernel are the same.
More seeds only add runs. How many a row needs can be seen from how much the lab's own runs differ, before a stock
kernel has run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from validation.fidelity import all_scenarios, classes, earlier_results, forms, gather, sides, wire
from validation.fidelity.forms import Form
from validation.fidelity.inner_engine import measure_inside
from validation.fidelity.store import FOLDER, Measurements, read_measurements
from validation.fidelity.totals import totals

from mptcplab import api
from mptcplab.campaign.record import prepare_engines
from mptcplab.errors import LabError, MissingError
from mptcplab.metrics.rows import rows_of
from mptcplab.scenario.load import Run, load

#: A scenario that every engine can execute.
_SIMPLE = "two-paths"


def _report(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def measure(form: Form, name: str, out: Path, *, seeds: int, only_refusals: bool = False) -> None:
    """Run a form on one side, unless its results with this kernel and number of ``seeds`` are there, and write them.

    With ``only_refusals``, nothing runs, and only what the engine refuses is written.

    :raises MissingError: if this machine lacks a program or a kernel, which says nothing about the scenario.
    """
    folder = out / name / form.name
    file = folder / "results.json"
    side, started = sides.SIDES[name], time.monotonic()
    document: dict[str, object] = {
        "form": form.digest,
        "ran": "",
        "kernels": [],
        "points": [point.label for point in form.points],
        "changes": form.changes,
        "sized": sorted(form.sized),
        "seeds": seeds,
        "load": os.getloadavg()[0],
        "rows": [],
        "failed": [],
    }
    if form.refused:
        _write(file, document | {"refused": form.refused})
        return
    try:
        points = side.points(form)
        runs = forms.runs_of(points, seeds)
        document["ran"] = forms.digest_of(points)
        document["kernels"] = kernels_of(runs, side.engine)
        if only_refusals or _is_measured(file, document):
            return
        measurement = measure_inside(runs, folder) if side.engine == "local" else _execute(runs, side.engine, folder)
        rows = measurement.get("rows", [])  # An engine inside the lab refuses there, without any.
        measurement |= {"rows": [*rows, *totals(rows, form.flows)]}
    except MissingError:
        raise
    except (LabError, ValueError) as error:
        measurement = {"refused": str(getattr(error, "message", error)).splitlines()[0]}
    _write(file, document | measurement | {"wall_s": time.monotonic() - started})


def kernels_of(runs: list[Run], engine: str) -> list[str]:
    """Return the hashes of the kernels on which an engine executes runs: `local` does it inside the lab's.

    :raises LabError: if the engine refuses them.
    """
    engines = prepare_engines(runs, name=sides.SIDES[sides.LAB].engine if engine == "local" else engine)
    return sorted({engines.engine_for(run).kernel_facts["key"] for run in runs})


def _is_measured(file: Path, document: dict[str, Any]) -> bool:
    """Return whether a file has the results that ``document`` is to have."""
    if not file.exists():
        return False
    measurement = json.loads(file.read_text())
    same = all(measurement.get(key) == document[key] for key in ("form", "ran", "kernels"))
    return same and (bool(measurement.get("refused")) or measurement["seeds"] >= document["seeds"])


def _execute(runs: list[Run], engine: str, folder: Path) -> dict[str, Any]:
    """Return rows and failures of runs.

    :raises LabError: if the engine refuses them. :raises MissingError: if this machine lacks something for one.
    """
    done = api.execute_runs(runs, folder, jobs=1, engine=engine, allow_failures=True, progress=_progress)
    for completed in done:
        if isinstance(completed.error, MissingError):
            raise completed.error
    results = [completed.result for completed in done if completed.result is not None]
    failed = [
        {"run": completed.run.label, "error": completed.error.message}
        for completed in done
        if completed.error is not None
    ]
    return {"rows": [row.to_json() for row in rows_of(results)], "failed": failed}


def _write(file: Path, document: dict[str, object]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document, indent=1) + "\n")


def _write_measured(folder: Path, files: dict[str, Path], out: Path) -> None:
    """Compare all results, and write them with what ``folder`` has of others and what limits each scenario.

    :raises LabError: if this machine lacks the reference kernel, without which no form can be made, or if a file of
        the folder is damaged.
    """
    engine = sides.SIDES[sides.REFERENCE].engine
    if reason := forms.form_of(_SIMPLE, files[_SIMPLE], engine).refused:
        raise LabError(f"no form can be made: {reason}", hint="see docs/engine-stock.md")
    present = {name: earlier_results.Present(forms.form_of(name, path, engine)) for name, path in files.items()}
    document = gather.gather_comparisons(present, out) | {"wire": wire.gather_wire(out)}
    if folder.exists():
        document = earlier_results.with_earlier(document, read_measurements(folder).to_document(), present)
    last = {name: load(path).points[-1].scenario for name, path in files.items()}
    document["all"] = {name: classes.find_other_limit(scenario) for name, scenario in last.items()}
    document["drawn"] = [name for name, scenario in last.items() if all_scenarios.is_drawn(scenario)]
    Measurements.from_document(document).write(folder)


def _progress(state: api.Progress) -> None:
    done = state.completed
    if done is None:
        return
    words = done.error.message if done.error else f"{done.wall_seconds or 0:.1f} s"
    _report(f"  {done.run.label}: {words}")


def main() -> None:
    """Run what is named, or compare what has run."""
    parser = argparse.ArgumentParser(prog="python -m validation.fidelity", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/fidelity"), help="folder for all results")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this scenario; repeatable")
    parser.add_argument("--side", choices=sides.SIDES, action="append", help="only this side; repeatable")
    parser.add_argument("--seeds", type=int, default=forms.SEEDS, help="runs of each point; default %(default)s")
    parser.add_argument("--list", action="store_true", help="print the scenarios with their points; run nothing")
    parser.add_argument("--refusals", action="store_true", help="write only what an engine refuses; run nothing")
    parser.add_argument("--wire", type=int, metavar="N", help="divide the time of a file by captures, N times")
    parser.add_argument(
        "--write",
        type=Path,
        nargs="?",
        const=FOLDER,
        metavar="FOLDER",
        help="compare all results into FOLDER; run nothing; default validation/fidelity/measured",
    )
    arguments = parser.parse_args()
    files = forms.files()
    if arguments.wire:
        wire.run_wire(arguments.out, repeats=arguments.wire)
        return
    if arguments.write:
        _write_measured(arguments.write, files, arguments.out)
        return
    for name in arguments.only or files:
        form = forms.form_of(name, files[name], sides.SIDES[sides.REFERENCE].engine)
        if arguments.list:
            _report(f"{name}: {form.refused or '; '.join(point.label or '-' for point in form.points)}")
            _report(f"    {'; '.join(form.changes)}")
            continue
        for side in arguments.side or sides.PAIRS:
            _report(f"{side}: {name}")
            try:
                measure(form, side, arguments.out, seeds=arguments.seeds, only_refusals=arguments.refusals)
            except MissingError as error:
                _report(f"not measured: {error.message} ({error.hint})")


if __name__ == "__main__":
    main()
