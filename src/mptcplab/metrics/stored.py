# SPDX-License-Identifier: MIT
"""The rows of a results.json as they are read again: by comparisons, reports and whoever opens a results folder.

``report/experiment.py`` writes them, from :meth:`mptcplab.metrics.rows.ResultRow.to_json`. Every ``from_json`` here
raises one of :data:`WRONG` for JSON data of another form. Keys that older versions did not write may be missing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mptcplab.kernel.config import clock_text, kernel_text
from mptcplab.metrics.registry import IN_EVERY_ROW, METRICS

#: The errors of JSON data of the wrong form.
WRONG = (KeyError, TypeError, ValueError, AttributeError, OverflowError)


@dataclass(frozen=True)
class StoredMetric:
    """A metric of a row: the value of each run by its seed, and the seeds in which the measured event did not occur."""

    values: Mapping[int, float]
    never: tuple[int, ...] = ()

    @classmethod
    def from_json(cls, entry: Mapping[str, Any], seeds: Sequence[int]) -> StoredMetric:
        """Return the metric; it has the values of all ``seeds`` of its row, unless the entry names others."""
        values = _by_seed(entry.get("seeds", seeds), entry["values"]) if entry["n"] else {}
        return cls(values, tuple(entry.get("never", ())))


@dataclass(frozen=True)
class StoredRow:
    """One point of the sweep and one workload.

    ``shares`` has the percentages of each path by seed. ``mptcp`` says whether MPTCP was in use, and is empty if that
    is unknown; so is ``kernel``. For the other fields see :class:`mptcplab.metrics.rows.ResultRow`.
    """

    settings: dict[str, str]
    workload: str
    metrics: Mapping[str, StoredMetric]
    shares: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    seeds: tuple[int, ...] = ()
    runs: tuple[str, ...] = ()
    mptcp: str = ""
    kernel: str = ""
    hz: int | None = None
    time: str = "virtual"
    warnings: tuple[str, ...] = ()
    overlaps: Mapping[str, Sequence[int]] = field(default_factory=dict)
    overlap_parts: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> StoredRow:
        """Return the row."""
        seeds = tuple(map(int, entry.get("seeds", ())))
        metrics = {name: entry[name] for name in IN_EVERY_ROW if name in entry} | entry.get("metrics", {})
        shares = entry.get("share_values", {"seeds": (), "paths": {}})
        return cls(
            settings={str(key): str(value) for key, value in entry["settings"].items()},
            workload=str(entry["workload"]),
            metrics={name: StoredMetric.from_json(metric, seeds) for name, metric in metrics.items()},
            shares={
                path: _by_seed(shares["seeds"], [100 * value for value in values])
                for path, values in shares["paths"].items()
            },
            seeds=seeds,
            runs=tuple(map(str, entry.get("runs", ()))),
            mptcp=str(entry.get("mptcp", "")),
            kernel=str(entry.get("kernel", "")),
            hz=entry.get("hz"),
            time=str(entry.get("time", "virtual")),
            warnings=tuple(map(str, entry.get("warnings", ()))),
            overlaps={name: tuple(overlap) for name, overlap in entry.get("overlaps", {}).items()},
            overlap_parts={name: float(part) for name, part in entry.get("overlap_parts", {}).items()},
        )

    @property
    def measured_on(self) -> str:
        """The kernel and its clock, for readers; empty if the kernel is unknown."""
        return f"{kernel_text(self.kernel, self.hz)}; {clock_text(self.time)}" if self.kernel else ""

    def values_of(self, metric: str) -> dict[str, Mapping[int, float]]:
        """Return the values of ``metric``, one of METRICS, by the name of the workload; empty if the row has none.

        Of a metric by path, there are values of the workload with each of its paths.
        """
        if METRICS[metric].by_path:
            return {f"{self.workload} over {path}": values for path, values in self.shares.items()}
        stored = self.metrics.get(metric)
        return {self.workload: stored.values} if stored is not None and stored.values else {}


@dataclass(frozen=True)
class FailedRun:
    """A run that gave no result, with its error."""

    settings: dict[str, str]
    seed: int
    error: str


@dataclass(frozen=True)
class StoredResults:
    """The content of a results.json or, with ``planned``, of a partial.json, which has no rows.

    ``unavailable`` has the settings of the points that cannot be run, each with the reason. ``failed`` is None if the
    file does not list the runs that failed. ``seed`` and ``repeats`` are of a sweep that is not complete.
    """

    title: str = ""
    question: str = ""
    file: str = ""
    changed: tuple[str, ...] = ()
    rows: tuple[StoredRow, ...] = ()
    unavailable: tuple[tuple[dict[str, str], str], ...] = ()
    failed: tuple[FailedRun, ...] | None = None
    planned: str = ""
    seed: int | None = None
    repeats: int | None = None

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> StoredResults:
        """Return the content of a file."""
        failed = document.get("failed")
        return cls(
            title=str(document.get("title") or ""),
            question=str(document.get("question") or ""),
            file=str(document.get("file") or ""),
            changed=tuple(map(str, document.get("changed", ()))),
            rows=tuple(map(StoredRow.from_json, document.get("rows", ()))),
            unavailable=tuple(
                (dict(entry["settings"]), str(entry["reason"])) for entry in document.get("unavailable", ())
            ),
            failed=None if failed is None else tuple(map(read_failed_run, failed)),
            planned=str(document.get("planned") or ""),
            seed=document.get("seed"),
            repeats=document.get("repeats"),
        )

    @classmethod
    def read(cls, file: Path) -> StoredResults:
        """Return the content of ``file``. :raises OSError: if it cannot be read."""
        return cls.from_json(json.loads(file.read_text()))

    @property
    def swept_keys(self) -> list[str]:
        """The swept keys, in order."""
        return list(dict.fromkeys(name for row in self.rows for name in row.settings))


def read_failed_run(entry: Mapping[str, Any]) -> FailedRun:
    """Return a run that failed."""
    return FailedRun({str(key): str(value) for key, value in entry["settings"].items()}, entry["seed"], entry["error"])


def _by_seed(seeds: Sequence[Any], values: Sequence[Any]) -> dict[int, float]:
    return dict(zip(map(int, seeds), map(float, values), strict=True))
