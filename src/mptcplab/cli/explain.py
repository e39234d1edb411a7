# SPDX-License-Identifier: MIT
"""``mptcplab explain``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mptcplab.explain.answer import Answer, Explanation, answer
from mptcplab.explain.sources import read_sources

_MAX_LACKING = 6


def explain(files: tuple[Path, ...], client: str | None, as_json: bool) -> None:
    """Read the files, and print what they show."""
    found = answer(read_sources(files, client))
    if as_json:
        click.echo(json.dumps(found.document()))
        return
    for line in _lines(found):
        click.echo(line)


def _lines(found: Answer) -> list[str]:
    lines = [f"Read: {', '.join(found.understood)}"]
    if found.hosts:
        lines.append(f"Hosts: {', '.join(found.hosts)}")
    lines += [f"Left out: {text}" for text in found.skipped]
    lines += [f"Not readable there: {text}" for text in found.unread]
    for number, explanation in enumerate(found.explanations, start=1):
        lines += ["", *_explanation(number, explanation)]
    lines += ["", *_conclusion(found)]
    return lines


def _explanation(number: int, explanation: Explanation) -> list[str]:
    finding = explanation.finding
    where = f" ({finding.where})" if finding.where else ""
    lines = [f"{number}. {finding.sentence}{where}.", f"   {_strength(finding.strength)}"]
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


def _conclusion(found: Answer) -> list[str]:
    """Return what the evidence is not enough for, and what would complete it."""
    lines = []
    if not found.explanations:
        lines.append("No reason was found: what these files show is not unusual, or they do not show enough.")
    lines.append(f"Judged: {found.judged} of {found.total} reasons.")
    if found.lacking:
        lines.append("The evidence is not enough for the others. Missing are:")
        lines += [f"   {words} (for {count} reasons)" for words, count in found.lacking[:_MAX_LACKING]]
        lines.append("`mptcplab collect` prints a script that gathers most of it.")
    return lines
