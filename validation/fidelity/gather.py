# SPDX-License-Identifier: MIT
"""Compares the results of all sides, and keeps what docs/fidelity.md shows of the comparisons."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from validation.fidelity.earlier_results import Present
from validation.fidelity.place import GOODPUT_MARGIN, SHARE_MARGIN
from validation.fidelity.sides import LAB, PAIRS, SIDES
from validation.fidelity.single_runs import with_single_runs
from validation.fidelity.spread import spread_of

from mptcplab.api import compare
from mptcplab.errors import InputError
from mptcplab.metrics.compare import collect_sides as values_of
from mptcplab.metrics.named import metric_of
from mptcplab.metrics.stored import StoredResults

_SHARE = "share_percent"
#: Compared in one family of tests each. A workload has the metrics that have a meaning for it.
FAMILIES: tuple[tuple[float, tuple[str, ...]], ...] = (
    (GOODPUT_MARGIN, ("goodput",)),
    (SHARE_MARGIN, (_SHARE,)),
    (GOODPUT_MARGIN, ("duration", "completion_mean_s", "response_p50_ms", "gap_s", "mos")),
    (GOODPUT_MARGIN, ("retransmitted",)),
)
_DECIMALS = 4


def gather_comparisons(present: Mapping[str, Present], out: Path) -> dict[str, Any]:
    """Return all comparisons by scenario and side, the kernels of the sides, and the spread of the lab's own runs.

    Results of what a scenario or a side executed formerly, and would not execute now, are left out.

    :raises RuntimeError: if a side has results of several kernels.
    """
    for side in {*PAIRS, *PAIRS.values()}:
        _check_kernels(side, present, out)
    scenarios: dict[str, Any] = {}
    lab: dict[str, dict[str, Any]] = {}
    kernels: dict[str, dict[str, Any]] = {}
    for name, of_now in present.items():
        read = {side: document for side in SIDES if (document := _read(out / side / name)) is not None}
        there = {side: document for side, document in read.items() if of_now.make(document, side)}
        beside = {side: document for side in PAIRS if (document := _side(name, side, there, out, kernels)) is not None}
        if beside:
            scenarios[name] = {"form": _form(next(iter(there.values()))), "sides": beside}
        if LAB in there:
            lab[name] = there[LAB]
    spread = {
        name: {"ran": entry["ran"], "rows": list(spread_of(entry, GOODPUT_MARGIN))}
        for name, entry in lab.items()
        if "refused" not in entry
    }
    kept = {name: entry for name, entry in spread.items() if entry["rows"]}
    return {"kernels": kernels, "scenarios": scenarios, "spread": kept}


def _check_kernels(side: str, names: Collection[str], out: Path) -> None:
    """Check that all results of a side are of the same kernel. :raises RuntimeError: naming the others."""
    by_kernel: dict[str, list[str]] = {}
    for name in names:
        for kernel in (_read(out / side / name) or {}).get("kernels", ()):
            by_kernel.setdefault(kernel, []).append(name)
    if len(by_kernel) > 1:
        words = "; ".join(f"{kernel[:12]}: {', '.join(of)}" for kernel, of in by_kernel.items())
        raise RuntimeError(f"results of {side} are of several kernels ({words}): measure the older ones again")


def _form(document: dict[str, Any]) -> dict[str, Any]:
    """Return the points of a scenario that ran, and what was changed in it."""
    return {"digest": document["form"], **{key: document[key] for key in ("points", "changes")}}


def _side(
    name: str, side: str, there: Mapping[str, dict[str, Any]], out: Path, kernels: dict[str, dict[str, Any]]
) -> dict[str, Any] | None:
    """Return one side of a scenario against the side that it is compared with; None if one of them is not ``there``.

    ``ran`` and ``kernels`` are the digests of what both executed, and of the kernels on which they did.
    """
    folder, against = out / side / name, out / PAIRS[side] / name
    document, other = (there.get(name) for name in (side, PAIRS[side]))
    if document is None:
        return None
    if reason := document.get("refused") or _failure(document, other):
        return {"refused": reason}
    if other is None:
        return None
    if reason := other.get("refused") or _failure(other):
        return {"refused": reason}
    rows: list[dict[str, Any]] = []
    for margin, metrics in FAMILIES:
        measured_ones = [metric for metric in metrics if _has((other, document), metric)]
        if not measured_ones:
            continue
        comparison = compare(against, folder, metrics=measured_ones, margin_percent=margin).document
        for key, source, measured in ((PAIRS[side], other, "a_measured_on"), (side, document, "b_measured_on")):
            kernels[key] = {"name": comparison[measured][0], "digest": source["kernels"][0]}
        rows += with_single_runs(_with_values(rows_of(comparison, document["sized"]), (other, document)), margin)
    use = {row["workload"]: row["mptcp"] for row in document["rows"]}
    return {
        "rows": rows,
        "mptcp": use,
        "load": round(document["load"], 1),
        "seeds": document["seeds"],
        "ran": [source["ran"] for source in (other, document)],
        "kernels": [source["kernels"][0] for source in (other, document)],
        "against": PAIRS[side],
    }


def _with_values(rows: Iterable[dict[str, Any]], documents: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield rows of a comparison with the values of both sides, by seed.

    ``beyond`` are the segments beyond the connection's window that were dropped in each run, if any were: a bug of
    mainline that makes transfers wait.
    """
    stored_rows = [StoredResults.from_json(source).rows for source in documents]
    beyond = [{_key_of(row): row.get("kernel_counts", ()) for row in source["rows"]} for source in documents]
    for row in rows:
        key = _key_of(row)
        of_row = [values_of(stored, row["metric"])[key].values for stored in stored_rows]
        dropped = [[run["dropped_beyond_window"] or 0 for run in counts.get(key, ())] for counts in beyond]
        more = {"beyond": dropped} if any(map(any, dropped)) else {}
        yield row | {"values": [[_round(value) for _, value in sorted(counts.items())] for counts in of_row], **more}


def _key_of(row: dict[str, Any]) -> tuple[tuple[tuple[str, str], ...], str]:
    return tuple((key, str(value)) for key, value in row["settings"].items()), row["workload"]


def _has(documents: Sequence[dict[str, Any]], metric: str) -> bool:
    try:
        metric_of(metric, list(map(StoredResults.from_json, documents)))
    except InputError:
        return False
    return True


def _read(folder: Path) -> dict[str, Any] | None:
    file = folder / "results.json"
    document: dict[str, Any] | None = json.loads(file.read_text()) if file.exists() else None
    return document


def _failure(document: dict[str, Any], other: dict[str, Any] | None = None) -> str:
    """Return how the first run failed, and whether a run of the ``other`` side did the same; empty if none failed."""
    if not document["failed"]:
        return ""
    first = document["failed"][0]
    where = " on both sides" if other and first in other["failed"] else ""
    return f"a run fails{where}: {first['error']}"


def rows_of(document: dict[str, Any], sized: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield the rows of a comparison that say something; ``sized`` are workloads whose duration is a result."""
    for comparison in document["comparisons"]:
        paths = Counter(map(_flow_of, comparison["rows"]))
        for row in comparison["rows"]:
            if comparison["metric"] == "duration_s" and row["workload"] not in sized:
                continue  # it lasts as long as the scenario says
            if (
                comparison["metric"] == _SHARE
                and {row["mean_a"], row["mean_b"]} == {100.0}
                and paths[_flow_of(row)] == 1
            ):
                continue  # the only path
            yield {
                "metric": comparison["metric"],
                "settings": row["settings"],
                "workload": row["workload"],
                "a": _round(row["mean_a"]),
                "b": _round(row["mean_b"]),
                "difference": _round(row["difference"]),
                "half_width": _round(row["simultaneous_half_width"]),
                "percent": _round(row["percent"]),
                "percent_half_width": _round(row["percent_simultaneous_half_width"]),
                "n": row["n"],
                "more": row["more_runs"],
                "verdict": row["verdict"],
            }


def _flow_of(row: dict[str, Any]) -> tuple[str, str]:
    """Return what the shares of one workload have in common, whose rows are "WORKLOAD over PATH"."""
    return str(row["settings"]), row["workload"].rpartition(" over ")[0]


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, _DECIMALS)
