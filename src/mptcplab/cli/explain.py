# SPDX-License-Identifier: MIT
"""``mptcplab explain``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import click

from mptcplab.errors import InputError
from mptcplab.explain.answer import Answer, Explanation, answer
from mptcplab.explain.sources import Sources, read_sources, run_folder
from mptcplab.metrics.evidence import evidence_of
from mptcplab.metrics.measure import measure_workload
from mptcplab.metrics.network import network_counters
from mptcplab.recording.record import Recording
from mptcplab.workload.recorded import read_workloads

_MAX_LACKING, _MAX_NAMED = 6, 3


def explain(files: tuple[Path, ...], client: str | None, as_json: bool) -> None:
    """Read the files, and print what they show: of a run, what each of its workloads shows."""
    runs = [run for file in files if (run := run_folder(file)) is not None]
    if runs and len(files) > 1:
        raise InputError("a run is explained by itself", hint="leave the other files out")
    sources = read_sources(files, client)
    answers = {"": answer(sources)} if not runs else dict(_answers_of_run(runs[0], sources))
    if as_json:
        documents = {workload: found_answer.document() for workload, found_answer in answers.items()}
        click.echo(json.dumps({"workloads": documents} if runs else documents[""]))
        return
    for workload, found_answer in answers.items():
        for line in _lines(found_answer, workload):
            click.echo(line)


def _answers_of_run(folder: Path, sources: Sources) -> Iterator[tuple[str, Answer]]:
    """Yield the answer about each workload of a run that uses MPTCP or TCP."""
    recording = Recording(folder)
    network = network_counters(recording)
    for workload in read_workloads(recording):
        measurement = measure_workload(recording, workload, network)
        evidence = evidence_of(recording, workload, network, goodput_bps=measurement.goodput_bps)
        yield workload.name, answer(sources, evidence.merge(sources.evidence))


def _lines(found_answer: Answer, workload: str) -> list[str]:
    lines = [f"Workload {workload}:"] if workload else []
    lines.append(f"Read: {', '.join(_group(found_answer.understood))}")
    if found_answer.hosts:
        lines.append(f"Hosts: {', '.join(found_answer.hosts)}")
    lines += [f"Left out: {text}" for text in found_answer.skipped]
    lines += [f"Not readable there: {text}" for text in found_answer.unread]
    for number, explanation in enumerate(found_answer.explanations, start=1):
        lines += ["", *_explanation(number, explanation)]
    lines += ["", *_conclusion(found_answer)]
    return lines


def _group(files: Sequence[str]) -> Iterator[str]:
    """Yield names of files; only their folder and number where there are many of one folder."""
    folders: dict[str, list[str]] = {}
    for file in files:
        folders.setdefault(str(PurePosixPath(file).parent), []).append(file)
    for folder, members in folders.items():
        yield from members if len(members) <= _MAX_NAMED else [f"{len(members)} files of {folder}"]


def _explanation(number: int, explanation: Explanation) -> list[str]:
    finding = explanation.finding
    where = f" ({finding.where})" if finding.where else ""
    sentence = f"{finding.sentence[0].upper()}{finding.sentence[1:]}"
    lines = [f"{number}. {sentence}{where}.", f"   {_strength(finding.strength)}"]
    for observation in explanation.evidence:
        places = ", ".join(map(str, observation.places))
        lines.append(f"   Evidence: {observation.text}{f'  [{places}]' if places else ''}")
    lines.append(f"   Cure: {finding.cure}.")
    lines.append(f"   To confirm: {finding.confirm}.")
    lines.append(f"   More: docs/{finding.page}")
    return lines


def _strength(strength: float) -> str:
    """Return in words how much the evidence proves."""
    if strength >= 1:
        return "The evidence proves it."
    return "The evidence fits well; other reasons are possible." if strength >= 0.6 else "The evidence is only a hint."


def _conclusion(found_answer: Answer) -> list[str]:
    """Return what the evidence is not enough for, and what would complete it."""
    lines = []
    if not found_answer.explanations:
        lines.append("No reason was found: what these files show is not unusual, or they do not show enough.")
    lines.append(f"Judged: {found_answer.judged} of {found_answer.total} reasons.")
    if found_answer.lacking:
        lines.append("The evidence is not enough for the others. Missing are:")
        lines += [
            f"   {words} ({count} reason{'' if count == 1 else 's'})"
            for words, count in found_answer.lacking[:_MAX_LACKING]
        ]
        lines.append("`mptcplab collect` prints a script that gathers most of it.")
    return lines
