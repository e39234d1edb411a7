# SPDX-License-Identifier: MIT
"""``mptcplab selftest``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mptcplab import api
from mptcplab.errors import Exit
from mptcplab.kernel.console import StderrReporter
from mptcplab.report.junit import write_junit
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
    junit: Path | None,
    as_json: bool,
) -> int:
    """Run the selftests and return the exit status."""
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
    report = suite.run(seed=seed, jobs=jobs, logs=out, finished=_ignore if as_json else _print)
    labs = f"{len(report.outcomes)} labs: {report.virtual_s:.0f} s of virtual time in {report.wall_s:.0f} s"
    click.echo(labs, err=True)
    if junit is not None:
        write_junit(junit, "mptcplab.selftest", report.suites)
    click.echo(json.dumps(report.document) if as_json else _summary(report))
    return Exit.DONE if report.is_good else Exit.FAILED


def _ignore(_: PartOutcome) -> None:
    """Print nothing: standard output has one JSON document."""


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
