# SPDX-License-Identifier: MIT
"""``mptcplab selftest``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from mptcplab import api
from mptcplab.errors import Exit
from mptcplab.kernel.console import StderrReporter
from mptcplab.report.junit import write_junit
from mptcplab.selftest.baseline import BaselineComparison, SelftestVerdicts, compare, read_baseline
from mptcplab.selftest.session import SelftestReport
from mptcplab.selftest.suite import PartOutcome
from mptcplab.selftest.tap import Verdict

_WORDS: dict[Verdict, str] = {
    "ok": "passed",
    "not ok": "failed",
    "skip": "skipped",
    "flaky": "failed and known as flaky",
}


def selftest(
    names: tuple[str, ...],
    version: str | None,
    source: Path | None,
    patches: tuple[Path, ...],
    congestion_control: str,
    scheduler: str,
    seed: int,
    jobs: int | None,
    out: Path | None,
    baseline: Path | None,
    junit: Path | None,
    as_json: bool,
) -> int:
    """Run the selftests and return the exit status."""
    before = None if baseline is None else read_baseline(baseline, seed=seed)
    with StderrReporter() as progress:
        suite = api.prepare_selftests(
            names,
            kernel=version,
            source=source,
            patches=patches,
            congestion_control=congestion_control,
            scheduler=scheduler,
            progress=progress,
        )
    is_quiet = as_json or before is not None
    report = suite.run(seed=seed, jobs=jobs, logs=out, finished=_ignore if is_quiet else _print)
    labs = "1 lab" if len(report.outcomes) == 1 else f"{len(report.outcomes)} labs"
    seconds = f"{report.virtual_s:.1f} s of virtual time; booting and running took {report.wall_s:.0f} s"
    click.echo(f"{labs}: {seconds}", err=True)
    if junit is not None:
        write_junit(junit, "mptcplab.selftest", report.suites)
    if before is not None:
        return _compare(before, report, as_json=as_json)
    click.echo(json.dumps(report.document) if as_json else _summary(report))
    return Exit.DONE if report.is_good else Exit.FAILED


def _compare(before: SelftestVerdicts, report: SelftestReport, *, as_json: bool) -> int:
    """Print what differs from the baseline and return the exit status."""
    comparison = compare(before, SelftestVerdicts.from_json(report.document))
    if as_json:
        click.echo(json.dumps({**report.document, "changes": [asdict(change) for change in comparison.changes]}))
    else:
        _print_comparison(comparison)
    return Exit.FAILED if comparison.changes else Exit.DONE


def _print_comparison(comparison: BaselineComparison) -> None:
    for change in comparison.changes:
        click.echo(f"{change.after:6}  {change.test}: {change.name}  (baseline: {change.before})")
    for failure in comparison.known_failures:
        click.echo(f"known   {failure}: fails in the baseline, too")
    count = len(comparison.changes)
    click.echo(f"{count or 'no'} {'result differs' if count == 1 else 'results differ'} from the baseline")


def _ignore(_: PartOutcome) -> None:
    """Print nothing: what is printed depends on all results."""


def _print(outcome: PartOutcome) -> None:
    for result in outcome.results:
        reason = f"  ({result.reason})" if result.reason else ""
        click.echo(f"{result.verdict:6}  {outcome.part.name}: {result.name}{reason}")
    if outcome.error:
        click.echo(f"not ok  {outcome.part.name}: {outcome.error}")


def _summary(report: api.SelftestReport) -> str:
    counts = report.counts
    return ", ".join(
        f"{counts[verdict]} {word}" for verdict, word in _WORDS.items() if counts[verdict] or verdict == "ok"
    )
