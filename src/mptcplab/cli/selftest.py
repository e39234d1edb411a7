# SPDX-License-Identifier: MIT
"""``mptcplab selftest``."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import click

from mptcplab.engine.protocol import RunInterruptedError
from mptcplab.engine.stop import Stop
from mptcplab.errors import Exit, InputError
from mptcplab.kernel import KernelBuild, find_kernel
from mptcplab.kernel.console import StderrReporter
from mptcplab.report.junit import Case, Suite, write_junit
from mptcplab.report.junit import Verdict as JunitVerdict
from mptcplab.selftest.baseline import Comparison, compare, read_baseline
from mptcplab.selftest.prepare import SelftestTree, prepare
from mptcplab.selftest.programs import check_programs
from mptcplab.selftest.suite import PartOutcome, SocketDefaults, SuitePart, check_defaults, parts, run_parts
from mptcplab.selftest.tap import Result, Verdict


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
    before = None if baseline is None else read_baseline(baseline)
    if before is not None and before["seed"] != seed:
        hint = f"give --seed {before['seed']}"
        raise InputError(f"the baseline was made with the seed {before['seed']}, not {seed}", hint=hint)
    kernel = find_kernel(version)
    available = sorted(os.sched_getaffinity(0), reverse=True)
    defaults = SocketDefaults(congestion_control, scheduler)
    check_defaults(kernel, defaults, cpu=available[0])
    with StderrReporter() as progress:
        prepared = prepare(kernel, source, patches=patches, jobs=len(available), progress=progress)
    chosen = parts(prepared, names)
    check_programs(prepared, [part.script for part in chosen])
    started = time.monotonic()
    cpus = [available[number % len(available)] for number in range(jobs or len(available))]
    outcomes = _run(kernel, prepared, chosen, defaults, seed, cpus, out, quiet=as_json or before is not None)
    duration = time.monotonic() - started
    virtual = sum(outcome.virtual_ns for outcome in outcomes) / 1e9
    labs = "1 lab" if len(outcomes) == 1 else f"{len(outcomes)} labs"
    click.echo(f"{labs}: {virtual:.1f} s of virtual time; booting and running took {duration:.0f} s", err=True)
    if junit is not None:
        write_junit(junit, "mptcplab.selftest", [to_suite(outcome) for outcome in outcomes])
    document = _document(outcomes, prepared, kernel.release, defaults, seed)
    document |= {"patches": [path.name for path in patches]} if patches else {}
    comparison = None if before is None else compare(before, document)
    if comparison is not None:
        document["changes"] = [asdict(change) for change in comparison.changes]
    if as_json:
        click.echo(json.dumps(document))
    elif comparison is not None:
        _print_comparison(comparison)
    else:
        click.echo(_summary(outcomes))
    failed = _any_failed(outcomes) if comparison is None else bool(comparison.changes)
    return Exit.FAILED if failed else Exit.DONE


def _print_comparison(comparison: Comparison) -> None:
    for change in comparison.changes:
        click.echo(f"{change.after:6}  {change.test}: {change.name}  (baseline: {change.before})")
    for failure in comparison.known_failures:
        click.echo(f"known   {failure}: fails in the baseline, too")
    count = len(comparison.changes)
    click.echo(f"{count or 'no'} {'result differs' if count == 1 else 'results differ'} from the baseline")


def _run(
    kernel: KernelBuild,
    prepared: SelftestTree,
    chosen: list[SuitePart],
    defaults: SocketDefaults,
    seed: int,
    cpus: list[int],
    out: Path | None,
    *,
    quiet: bool,
) -> list[PartOutcome]:
    """Run all labs and print every result as it arrives. :raises KeyboardInterrupt: if a signal interrupts them."""
    stop = Stop()
    with ExitStack() as stack:
        logs = out or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mptcplab-")))
        logs.mkdir(parents=True, exist_ok=True)
        stack.enter_context(stop.request_on_signals())
        try:
            return run_parts(
                kernel,
                prepared,
                chosen,
                defaults=defaults,
                seed=seed,
                logs=logs,
                cpus=cpus,
                stop=stop.descriptor,
                finished=(lambda _: None) if quiet else _print,
            )
        except RunInterruptedError as error:
            raise KeyboardInterrupt from error


def _print(outcome: PartOutcome) -> None:
    for result in outcome.results:
        reason = f"  ({result.reason})" if result.reason else ""
        click.echo(f"{result.verdict:6}  {outcome.part.name}: {result.name}{reason}")
    if outcome.error:
        click.echo(f"not ok  {outcome.part.name}: {outcome.error}")


def to_suite(outcome: PartOutcome) -> Suite:
    """Return the results of one lab as tests. A failure that is known as flaky counts as skipped."""
    verdicts: dict[Verdict, JunitVerdict] = {"ok": "passed", "not ok": "failure", "skip": "skipped", "flaky": "skipped"}
    cases = [Case(result.name, verdicts[result.verdict], _junit_reason(result)) for result in outcome.results]
    if outcome.error:
        cases.append(Case("the lab", "error", outcome.error))
    return Suite(outcome.part.name, tuple(cases), outcome.virtual_ns / 1e9)


def _junit_reason(result: Result) -> str:
    return f"known as flaky: {result.reason}" if result.verdict == "flaky" else result.reason


def _all_results(outcomes: Sequence[PartOutcome]) -> list[Result]:
    return [result for outcome in outcomes for result in outcome.results]


def _any_failed(outcomes: Sequence[PartOutcome]) -> bool:
    return any(outcome.error for outcome in outcomes) or any(
        result.verdict == "not ok" for result in _all_results(outcomes)
    )


def _summary(outcomes: Sequence[PartOutcome]) -> str:
    counts = Counter(result.verdict for result in _all_results(outcomes))
    counts["not ok"] += sum(1 for outcome in outcomes if outcome.error)
    words: dict[Verdict, str] = {
        "ok": "passed",
        "not ok": "failed",
        "skip": "skipped",
        "flaky": "failed and known as flaky",
    }
    return ", ".join(
        f"{counts[verdict]} {word}" for verdict, word in words.items() if counts[verdict] or verdict == "ok"
    )


def _document(
    outcomes: Sequence[PartOutcome], prepared: SelftestTree, release: str, defaults: SocketDefaults, seed: int
) -> dict[str, object]:
    return {
        "kernel": release,
        **{name: value for name, value in asdict(defaults).items() if value},
        "source": prepared.source.describe(),
        "seed": seed,
        "results": [
            {"test": outcome.part.name, "name": result.name, "verdict": result.verdict, "reason": result.reason}
            for outcome in outcomes
            for result in outcome.results
        ],
        "errors": [{"test": outcome.part.name, "message": outcome.error} for outcome in outcomes if outcome.error],
        "virtual_seconds": {outcome.part.name: outcome.virtual_ns / 1e9 for outcome in outcomes},
    }
