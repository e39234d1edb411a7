# SPDX-License-Identifier: MIT
"""Prepare the selftests of a lab kernel and run them: what ``mptcplab selftest`` does, for programs."""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from mptcplab.engine.defaults import check_jobs
from mptcplab.engine.protocol import interruptible
from mptcplab.kernel import KernelBuild, find_kernel
from mptcplab.kernel.progress import Reporter, SilentProgress
from mptcplab.report.junit import Case, Suite
from mptcplab.report.junit import Verdict as JunitVerdict
from mptcplab.selftest.prepare import SelftestTree, check_programs, prepare
from mptcplab.selftest.suite import PartOutcome, SocketDefaults, SuitePart, check_defaults, parts, run_parts
from mptcplab.selftest.tap import Result, Verdict


@dataclass(frozen=True)
class SelftestReport:
    """The results of all labs. ``virtual_s`` and ``wall_s`` are their durations in virtual and in real time."""

    suite: SelftestSuite
    seed: int
    outcomes: tuple[PartOutcome, ...]
    wall_s: float

    @property
    def virtual_s(self) -> float:
        """The sum of the virtual time of all labs, in seconds."""
        return sum(outcome.virtual_ns for outcome in self.outcomes) / 1e9

    @property
    def results(self) -> list[Result]:
        """The results of all tests, in the order of the scripts."""
        return [result for outcome in self.outcomes for result in outcome.results]

    @property
    def is_good(self) -> bool:
        """True if every test passed, was skipped, or is known as flaky, and no lab failed."""
        failed = any(outcome.error for outcome in self.outcomes)
        return not failed and all(result.verdict != "not ok" for result in self.results)

    @property
    def counts(self) -> dict[Verdict, int]:
        """The number of results of each verdict. A lab that failed counts as ``not ok``."""
        counts = Counter(result.verdict for result in self.results)
        counts["not ok"] += sum(1 for outcome in self.outcomes if outcome.error)
        return {verdict: counts[verdict] for verdict in ("ok", "not ok", "skip", "flaky")}

    @property
    def suites(self) -> list[Suite]:
        """The results for a file of JUnit."""
        return [to_suite(outcome) for outcome in self.outcomes]

    @property
    def document(self) -> dict[str, object]:
        """The JSON document of ``mptcplab selftest --json``."""
        document: dict[str, object] = {
            "kernel": self.suite.kernel.release,
            **{name: value for name, value in asdict(self.suite.defaults).items() if value},
            "source": self.suite.tree.source.describe(),
            "seed": self.seed,
            "results": [
                {"test": outcome.part.name, "name": result.name, "verdict": result.verdict, "reason": result.reason}
                for outcome in self.outcomes
                for result in outcome.results
            ],
            "errors": [
                {"test": outcome.part.name, "message": outcome.error} for outcome in self.outcomes if outcome.error
            ],
            "virtual_seconds": {outcome.part.name: outcome.virtual_ns / 1e9 for outcome in self.outcomes},
        }
        patches = {"patches": [path.name for path in self.suite.patches]} if self.suite.patches else {}
        return document | patches


@dataclass(frozen=True)
class SelftestSuite:
    """Selftests that are ready to run: ``parts`` are the tests of one lab each. :func:`prepare_selftests` makes it."""

    kernel: KernelBuild
    tree: SelftestTree
    parts: tuple[SuitePart, ...]
    defaults: SocketDefaults
    patches: tuple[Path, ...]

    def run(
        self,
        *,
        seed: int = 1,
        jobs: int | None = None,
        logs: str | Path | None = None,
        finished: Callable[[PartOutcome], None] = lambda _: None,
    ) -> SelftestReport:
        """Run all parts, each in a lab of its own, ``jobs`` at a time, by default one for each CPU.

        ``logs`` is a folder for the complete output of the scripts. ``finished`` receives each outcome, in the order of
        ``parts``. A test that does not pass is a result, not an error.

        :raises InputError: if ``jobs`` is less than 1. :raises KeyboardInterrupt: if a signal interrupts the labs.
        """
        check_jobs(jobs)
        available = _cpus()
        cpus = [available[number % len(available)] for number in range(jobs or len(available))]
        started = time.monotonic()
        with ExitStack() as stack:
            folder = Path(logs or stack.enter_context(tempfile.TemporaryDirectory(prefix="mptcplab-")))
            folder.mkdir(parents=True, exist_ok=True)
            stop = stack.enter_context(interruptible())
            outcomes = run_parts(
                self.kernel,
                self.tree,
                self.parts,
                defaults=self.defaults,
                seed=seed,
                logs=folder,
                cpus=cpus,
                stop=stop.descriptor,
                finished=finished,
            )
        return SelftestReport(self, seed, tuple(outcomes), time.monotonic() - started)


def prepare_selftests(
    names: Sequence[str] = (),
    *,
    kernel: str | None = None,
    source: Path | None = None,
    patches: Sequence[Path] = (),
    congestion_control: str = "",
    scheduler: str = "",
    progress: Reporter | None = None,
) -> SelftestSuite:
    """Get the kernel's own MPTCP selftests, compile their helpers unless they are cached, and check what they need.

    ``names`` are scripts such as ``pm_netlink``, or groups such as ``mptcp_join/add_tests``; empty for the usual ones.
    ``kernel`` is the version of a lab kernel, from whose source the tests come. ``source`` is its tarball or tree, if
    that was not Debian's. ``patches`` are applied to the tests. Sockets that choose none have the
    ``congestion_control`` and the ``scheduler``; empty for the kernel's.

    :raises InputError: if there is no such test, congestion control or scheduler, or a patch cannot be read.
    :raises MissingError: if this machine lacks the kernel, its source, or a program that a script checks for.
    :raises LabError: if a patch does not apply, or the helpers do not compile.
    """
    build, available = find_kernel(kernel), _cpus()
    defaults = SocketDefaults(congestion_control, scheduler)
    check_defaults(build, defaults, cpu=available[0])
    tree = prepare(build, source, patches=patches, jobs=len(available), progress=progress or SilentProgress())
    chosen = parts(tree, names)
    check_programs(tree, [part.script for part in chosen])
    return SelftestSuite(build, tree, tuple(chosen), defaults, tuple(patches))


def to_suite(outcome: PartOutcome) -> Suite:
    """Return the results of one lab as tests. A failure that is known as flaky counts as skipped."""
    verdicts: dict[Verdict, JunitVerdict] = {"ok": "passed", "not ok": "failure", "skip": "skipped", "flaky": "skipped"}
    cases = [Case(result.name, verdicts[result.verdict], _junit_reason(result)) for result in outcome.results]
    if outcome.error:
        cases.append(Case("the lab", "error", outcome.error))
    return Suite(outcome.part.name, tuple(cases), outcome.virtual_ns / 1e9)


def _junit_reason(result: Result) -> str:
    return f"known as flaky: {result.reason}" if result.verdict == "flaky" else result.reason


def _cpus() -> list[int]:
    """Return the CPUs of this process, the last first: interrupts mostly go to the first."""
    return sorted(os.sched_getaffinity(0), reverse=True)
