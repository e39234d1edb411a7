# SPDX-License-Identifier: MIT
"""Comparisons as files: as printed for papers (Markdown, LaTeX), and with one unrounded number per cell (CSV)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mptcplab.files import write_text
from mptcplab.metrics.compare import Comparison, Match
from mptcplab.metrics.ranking import Ranking
from mptcplab.metrics.registry import METRICS
from mptcplab.report.table import Table, csv_text

#: Formats of files, by suffix.
SUFFIXES = (".csv", ".md", ".tex")
#: Numbers of a match that have the same name in JSON.
_NUMBERS = (
    "mean_a",
    "mean_b",
    "difference",
    "simultaneous_half_width",
    "percent",
    "percent_simultaneous_half_width",
    "p_corrected",
)
_LAST = ("test", "margin_percent", "verdict", "more_runs")


def write_comparison(file: Path, tables: Sequence[Table], numbers: str) -> None:
    """Write tables in the format of the file's suffix, one of :data:`SUFFIXES`; ``numbers`` are for a CSV."""
    suffix = file.suffix.lower()
    if suffix == ".csv":
        write_text(file, numbers)
    else:
        write_text(file, "\n".join(table.to_latex() if suffix == ".tex" else table.to_markdown() for table in tables))


def comparisons_csv(comparisons: Sequence[Comparison], by: Sequence[str], margin_percent: float) -> str:
    """Return a line per row that both sides have. ``by`` are the swept keys whose values B differ."""
    matches = [(comparison, match) for comparison in comparisons for match in comparison.matches]
    keys = _keys(match.settings for _, match in matches)
    head = [*keys, *by, "workload", "metric", "unit", "a", "b", *_head(), *_LAST]
    lines = (
        [
            *(match.settings.get(key) for key in keys),
            *(comparison.pair.b if by else ()),
            match.workload,
            *_metric(comparison.pair.metric),
            ", ".join(comparison.pair.a),
            ", ".join(comparison.pair.b),
            *_numbers(match),
            *_verdict(match, margin_percent),
        ]
        for comparison, match in matches
    )
    return csv_text(head, lines)


def rankings_csv(rankings: Sequence[Ranking], by: Sequence[str]) -> str:
    """Return a line per place of each ranking: its own mean, and its comparison, as B, with the best, as A."""
    keys = _keys(ranking.settings for ranking in rankings)
    own_texts = ["place", "mean", "ci95_half_width", "n", "groups", "tied_with"]
    head = [*keys, *by, "workload", "metric", "unit", *own_texts, "best", *_head(), *_LAST]
    lines = []
    for ranking in rankings:
        best = ", ".join(ranking.places[0].values)
        for number, place in enumerate(ranking.places, start=1):
            match, interval = place.against_best, place.interval
            compared = [*_numbers(match), *_verdict(match, ranking.margin_percent)] if match is not None else []
            line = [
                *(ranking.settings.get(key) for key in keys),
                *place.values,
                ranking.workload,
                *_metric(ranking.metric),
                number,
                *(interval.mean, interval.half_width, interval.n),
                place.letters,
                " ".join(str(other + 1) for other in place.tied),
                best,
                *compared,
            ]
            lines.append([*line, *[None] * (len(head) - len(line))])
    return csv_text(head, lines)


def _keys(settings: Any) -> list[str]:
    return list(dict.fromkeys(key for setting in settings for key in setting))


def _metric(name: str) -> tuple[str, str]:
    return name, METRICS[name].unit


def _head() -> list[str]:
    """Return the heads of a match's numbers; the ends of the interval follow the difference."""
    place = _NUMBERS.index("difference") + 1
    return [*_NUMBERS[:place], "low", "high", *_NUMBERS[place:], "n_a", "n_b"]


def _numbers(match: Match) -> list[Any]:
    entry = match.to_json()
    mean, half = match.difference.mean, match.half_width
    entry |= {"low": None, "high": None} if half is None else {"low": mean - half, "high": mean + half}
    entry["n_a"], entry["n_b"] = match.difference.n
    return [entry[name] for name in _head()]


def _verdict(match: Match, margin_percent: float) -> list[Any]:
    return [match.difference.test, margin_percent, str(match.verdict), match.more_runs]
