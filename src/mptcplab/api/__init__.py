# SPDX-License-Identifier: MIT
"""The programming interface of mptcplab, for scripts, notebooks, and its own command line and benchmarks.

    from mptcplab import api

    experiment = api.load("two-paths.toml", set={"links.link1.rate": "20 Mbit/s"}, repeats=5)
    outcome = api.run(experiment, "results/slower", progress=lambda state: print(state.count, state.total))
    outcome.rows[0].metrics["goodput_mbps"].mean
    api.open_results("results/slower").subflows
    api.compare("results/two-paths", "results/slower").is_different
    api.reproduce("nguyen2014/rtt", quick=True).is_good

Nothing here prints, and nothing ends the process. Functions return typed values, report progress and warnings to
functions of the caller, and raise an ``InputError``, a ``MissingError`` or another ``LabError``, each with a
``message`` and a ``hint``. A hint can name a command, or an option such as ``--out`` for the argument ``out``.

Names are imported at their first use: importing this package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mptcplab.errors import InputError, LabError, MissingError
from mptcplab.lazy import lazy_names

if TYPE_CHECKING:
    from mptcplab.api.beds import BedReport, BedReproduction, reproduce_beds
    from mptcplab.api.commands import CommandResult, LabCommand, prepare_command
    from mptcplab.api.comparisons import compare
    from mptcplab.api.estimates import ExperimentEstimate, describe, estimate
    from mptcplab.api.experiments import ExperimentOutcome, execute_runs, run
    from mptcplab.api.explanations import ExplainedFiles, explain
    from mptcplab.api.machine import find_lacks
    from mptcplab.api.plans import export_node, plan_script
    from mptcplab.api.reports import WrittenReport, write_report
    from mptcplab.api.reproduction import Reproduction, TableReport, TableStart, reproduce
    from mptcplab.api.sources import Source, load, open_source
    from mptcplab.api.twins import Twin, TwinOutcome, fit, run_twin
    from mptcplab.calibrate.measure import SideCalibration
    from mptcplab.calibrate.session import ProgramCalibration, calibrate_program
    from mptcplab.campaign.lab import CompletedRun
    from mptcplab.campaign.sweep import Progress, RunOptions
    from mptcplab.doctor import DoctorReport, examine
    from mptcplab.doctor.lacks import Lacks
    from mptcplab.engine.defaults import DEFAULT_ENGINE, DEFAULT_STALL_SECONDS
    from mptcplab.engine.protocol import engine_kind, engine_names
    from mptcplab.engine.tools import steer_program
    from mptcplab.engine.virtual.session import ProgramExit
    from mptcplab.engine.virtual.streams import Streams
    from mptcplab.explain.collector import collector_script, run_collector
    from mptcplab.importers.files import ImportedScenario, import_files
    from mptcplab.kernel.build import BuildOptions, build_kernel
    from mptcplab.kernel.cache import KernelBuild, find_kernel, list_kernels
    from mptcplab.kernel.debian import obtain_stock
    from mptcplab.kernel.progress import Reporter
    from mptcplab.packs.make import WrittenPack, write_pack
    from mptcplab.plan.export import ExportedFile, export_formats
    from mptcplab.proxies.build import build_proxies
    from mptcplab.report.capture_files import CaptureReport, CaptureStatistics, analyse_captures, measure_captures
    from mptcplab.report.compare import ResultsComparison
    from mptcplab.results import Results, open_results
    from mptcplab.scenario.examples import Example, list_examples
    from mptcplab.scenario.load import Experiment
    from mptcplab.scenario.schema import Scenario
    from mptcplab.selftest.session import SelftestReport, SelftestSuite, prepare_selftests

__all__ = [
    "DEFAULT_ENGINE",
    "DEFAULT_STALL_SECONDS",
    "BedReport",
    "BedReproduction",
    "BuildOptions",
    "CaptureReport",
    "CaptureStatistics",
    "CommandResult",
    "CompletedRun",
    "DoctorReport",
    "Example",
    "Experiment",
    "ExperimentEstimate",
    "ExperimentOutcome",
    "ExplainedFiles",
    "ExportedFile",
    "ImportedScenario",
    "InputError",
    "KernelBuild",
    "LabCommand",
    "LabError",
    "Lacks",
    "MissingError",
    "ProgramCalibration",
    "ProgramExit",
    "Progress",
    "Reporter",
    "Reproduction",
    "Results",
    "ResultsComparison",
    "RunOptions",
    "Scenario",
    "SelftestReport",
    "SelftestSuite",
    "SideCalibration",
    "Source",
    "Streams",
    "TableReport",
    "TableStart",
    "Twin",
    "TwinOutcome",
    "WrittenPack",
    "WrittenReport",
    "analyse_captures",
    "build_kernel",
    "build_proxies",
    "calibrate_program",
    "collector_script",
    "compare",
    "describe",
    "engine_kind",
    "engine_names",
    "estimate",
    "examine",
    "execute_runs",
    "explain",
    "export_formats",
    "export_node",
    "find_kernel",
    "find_lacks",
    "fit",
    "import_files",
    "list_examples",
    "list_kernels",
    "load",
    "measure_captures",
    "obtain_stock",
    "open_results",
    "open_source",
    "plan_script",
    "prepare_command",
    "prepare_selftests",
    "reproduce",
    "reproduce_beds",
    "run",
    "run_collector",
    "run_twin",
    "steer_program",
    "write_pack",
    "write_report",
]
__getattr__ = lazy_names(__name__)
