# SPDX-License-Identifier: MIT
"""The warnings of the rows that a comparison compares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mptcplab.metrics.alike import merge_similar_warnings
from mptcplab.metrics.compare import has_metric
from mptcplab.metrics.registry import METRICS


def warnings_of(
    documents: Sequence[Mapping[str, Any]], asked: Sequence[tuple[str, str | None]]
) -> dict[str, list[str]]:
    """Return each warning of the compared rows once, with the names of the rows that have it.

    ``documents`` come from ``results.json``; ``asked`` are metrics, each with its workload, None for all. Warnings
    that differ only in numbers are one, with their range. Of two documents, a name has A or B before it. Runs in which
    what a metric waits for did not happen have no value to compare, which is a warning, too.
    """
    rows = list(compared_rows(documents, asked))
    several = len({row["workload"] for _, row in rows}) > 1
    lacking = list(_missing_metric_warnings(documents, asked, with_workload=several))
    texts = merge_similar_warnings(
        [*(text for text, _ in lacking), *(warning for _, row in rows for warning in row.get("warnings", ()))]
    )
    warnings: dict[str, list[str]] = {}
    for text, name in lacking:
        warnings.setdefault(texts[text], []).append(name)
    for side, row in rows:
        for text in dict.fromkeys(texts[warning] for warning in row.get("warnings", ())):
            name = f"{side} {_name(row, with_workload=several)}".strip()
            warnings.setdefault(text, []).append(name)
    return warnings


def _missing_metric_warnings(
    documents: Sequence[Mapping[str, Any]], asked: Sequence[tuple[str, str | None]], *, with_workload: bool
) -> Iterator[tuple[str, str]]:
    """Yield a sentence and the row's name for each row with runs that cannot be compared by a metric."""
    for side, row in _rows(documents):
        for metric, workload in asked:
            never = row.get("metrics", {}).get(metric, {}).get("never", ())  # sums of flows have no metrics
            if never and workload in (None, row["workload"]):
                known = METRICS[metric]
                runs = f"{len(never)} of {len(row['seeds'])} runs"
                name = f"{side} {_name(row, with_workload=with_workload)}".strip()
                yield f"{known.noun}: {known.display.never} within {runs}, which are not compared", name


def _rows(documents: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield all rows, each with its side: A or B, nothing if there is only one."""
    sides = "AB" if len(documents) > 1 else ("",)
    for side, document in zip(sides, documents, strict=True):
        yield from ((side, row) for row in document["rows"])


def compared_rows(
    documents: Sequence[Mapping[str, Any]], asked: Sequence[tuple[str, str | None]]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the rows that have a metric that is asked for, each with its side: A or B, nothing if there is only one."""
    for side, row in _rows(documents):
        if any(workload in (None, row["workload"]) and has_metric(row, metric) for metric, workload in asked):
            yield side, row


def _name(row: Mapping[str, Any], *, with_workload: bool) -> str:
    values = ", ".join(map(str, row["settings"].values()))
    if not values:
        return str(row["workload"])
    return f"{values}: {row['workload']}" if with_workload else values
