# SPDX-License-Identifier: MIT
"""``mptcplab explain``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import click

from mptcplab import api
from mptcplab.explain.answer import Answer, Explanation

_MAX_LACKING, _MAX_NAMED, _MAX_GAPS = 6, 3, 4


def explain(files: tuple[Path, ...], client: str | None, as_json: bool) -> None:
    """Read the files, and print what they show: of a run, what each of its workloads shows."""
    explained = api.explain(files, client=client)
    if as_json:
        click.echo(json.dumps(explained.document))
        return
    for workload, answer in explained.answers.items():
        for line in _lines(answer, workload):
            click.echo(line)


def _lines(answer: Answer, workload: str) -> list[str]:
    lines = [f"Workload {workload}:"] if workload else []
    lines.append(f"Read: {', '.join(_group(answer.understood))}")
    if answer.hosts:
        lines.append(f"Hosts: {', '.join(answer.hosts)}")
    lines += [f"Left out: {text}" for text in answer.skipped]
    lines += [f"Not readable there: {text}" for text in answer.unread]
    lines += [f"Not in the captures: {text}" for text in answer.gaps[:_MAX_GAPS]]
    for number, explanation in enumerate(answer.explanations, start=1):
        lines += ["", *_explanation(number, explanation)]
    lines += ["", *_conclusion(answer)]
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


def _conclusion(answer: Answer) -> list[str]:
    """Return what the evidence is not enough for, and what would complete it."""
    lines = []
    if not answer.explanations:
        lines.append("No reason was found: what these files show is not unusual, or they do not show enough.")
    lines.append(f"Judged: {answer.judged} of {answer.total} reasons.")
    if answer.lacking:
        lines.append("The evidence is not enough for the others. Missing are:")
        lines += [
            f"   {words} ({count} reason{'' if count == 1 else 's'})" for words, count in answer.lacking[:_MAX_LACKING]
        ]
        lines.append("`mptcplab collect` prints a script that gathers most of it.")
    return lines
