# SPDX-License-Identifier: MIT
"""Explain what MPTCP did in a run, or in files of real machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mptcplab.errors import InputError
from mptcplab.explain.answer import Answer, answer
from mptcplab.explain.sources import Sources, read_sources, run_folder
from mptcplab.files import list_paths
from mptcplab.metrics.evidence import evidence_of
from mptcplab.metrics.measure import measure_workload
from mptcplab.metrics.network import network_counters
from mptcplab.recording.record import Recording
from mptcplab.workload.recorded import read_workloads


@dataclass(frozen=True)
class ExplainedFiles:
    """The explanation of files. ``answers`` are by the workloads of a run; other files have one, under ``""``.

    Each answer has ``explanations``, the strongest first, with their evidence and its places in the files.
    """

    answers: Mapping[str, Answer]
    is_run: bool

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document of ``mptcplab explain --json``."""
        documents = {workload: answer.document() for workload, answer in self.answers.items()}
        return {"workloads": documents} if self.is_run else documents[""]


def explain(files: str | Path | Sequence[str | Path], *, client: str | None = None) -> ExplainedFiles:
    """Return the reasons that apply to what files show, such as why a connection has no second subflow.

    ``files`` are what the script of ``mptcplab collect`` wrote, captures, texts with outputs of ``nstat``, ``ss`` and
    ``ip mptcp``; or the folder of one run. ``client`` is the host that opens the connections, if the files do not say
    it. Nothing in a file is run.

    :raises InputError: if a file cannot be read, or a run is named with other files.
    :raises MissingError: if there are captures, and tshark is not installed.
    """
    paths = list_paths(files)
    runs = [run for path in paths if (run := run_folder(path)) is not None]
    if runs and len(paths) > 1:
        raise InputError("a run is explained by itself", hint="leave the other files out")
    sources = read_sources(paths, client)
    answers = dict(_answers_of_run(runs[0], sources)) if runs else {"": answer(sources)}
    return ExplainedFiles(answers, bool(runs))


def _answers_of_run(folder: Path, sources: Sources) -> Iterator[tuple[str, Answer]]:
    """Yield the answer about each workload of a run that uses MPTCP or TCP."""
    recording = Recording(folder)
    network = network_counters(recording)
    for workload in read_workloads(recording):
        measurement = measure_workload(recording, workload, network)
        evidence = evidence_of(recording, workload, network, goodput_bps=measurement.goodput_bps)
        yield workload.name, answer(sources, evidence.merge(sources.evidence))
