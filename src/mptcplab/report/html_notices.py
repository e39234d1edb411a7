# SPDX-License-Identifier: MIT
"""Notices above the results: warnings, and limits of what the results show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mptcplab.metrics.alike import merge_similar_warnings
from mptcplab.metrics.points import point_text
from mptcplab.metrics.rows import ResultRow
from mptcplab.report.few_seeds import MIN_SEEDS, few_seeds_note
from mptcplab.report.html_model import Notice
from mptcplab.report.run_commands import single_run, whole_command
from mptcplab.results import Results

_MAX_LISTED = 12


def notices(results: Results, rows: Sequence[ResultRow], command: Sequence[str]) -> tuple[Notice, ...]:
    """Return the notices of an experiment; ``command`` runs it, and is extended to run a part of it."""
    # If the folder does not list failed runs, missing seeds are reported instead.
    lost = _failure_notices(results, command) if "failed" in results.document else _missing_seed_notices(rows, command)
    found_notices = [
        *_incomplete_notices(results, command),
        *_row_notices(rows),
        *lost,
        *_folder_notices(results),
        *_spread(rows),
    ]
    return tuple(sorted(found_notices, key=lambda notice: notice.level != "warning"))


def _incomplete_notices(results: Results, command: Sequence[str]) -> Iterator[Notice]:
    if results.incomplete:
        again = whole_command(results, command) if command else ""
        yield Notice("warning", f"The experiment is {results.incomplete}.", command=again)


def row_name(row: ResultRow, *, with_workload: bool) -> str:
    """Return a row's settings as one line."""
    parts = [point_text(row.settings)] if row.settings else []
    return ", ".join([*parts, row.workload] if with_workload or not parts else parts)


def _row_notices(rows: Sequence[ResultRow]) -> Iterator[Notice]:
    """Yield each warning of the rows once, with the rows that have it, and a warning about different kernels.

    Warnings that differ only in numbers are one, with their range.
    """
    several = len({row.workload for row in rows}) > 1
    texts = merge_similar_warnings(warning for row in rows for warning in row.warnings)
    where: dict[str, list[str]] = {}
    for row in rows:
        for text in dict.fromkeys(texts[warning] for warning in row.warnings):
            where.setdefault(text, []).append(row_name(row, with_workload=several))
    for warning, names in where.items():
        yield Notice("warning", f"{warning[:1].upper()}{warning[1:]}.", _shorten(names))
    yield from _reasons(rows)
    kernels = sorted({row.kernel_name for row in rows})
    if len(kernels) > 1 and not any("kernel" in row.settings for row in rows):
        yield Notice("warning", f"Rows were measured on different kernels: {'; '.join(kernels)}.")


def _reasons(rows: Sequence[ResultRow]) -> Iterator[Notice]:
    """Yield each reason of the rows once, with the rows that have it."""
    several = len({row.workload for row in rows}) > 1
    texts = merge_similar_warnings(note for row in rows for note in row.notes)
    where: dict[str, list[str]] = {}
    for row in rows:
        for text in dict.fromkeys(texts[note] for note in row.notes):
            where.setdefault(text, []).append(row_name(row, with_workload=several))
    for text, names in where.items():
        yield Notice("note", f"Reason: {text}.", _shorten(names))


def _failure_notices(results: Results, command: Sequence[str]) -> Iterator[Notice]:
    """Yield a warning about runs that failed, with their errors."""
    failed = [run for run in results.document["failed"] if isinstance(run, dict)]
    if not failed:
        return
    names = []
    for run in failed:
        point = point_text(run["settings"])
        names.append(f"{point}{', ' if point else ''}seed {run['seed']}: {run['error']}")
    first, text = failed[0], f"{len(failed)} run{'s' if len(failed) > 1 else ''} failed; means are over the other runs."
    yield Notice(
        "warning", text, _shorten(names), single_run(command, first["settings"], first["seed"]) if command else ""
    )


def _missing_seed_notices(rows: Sequence[ResultRow], command: Sequence[str]) -> Iterator[Notice]:
    """Yield a warning about points with fewer seeds than others: their runs failed, or the sweep was interrupted."""
    seeds = sorted({seed for row in rows for seed in row.seeds})
    gaps = {tuple(row.settings.items()): (row, [seed for seed in seeds if seed not in row.seeds]) for row in rows}
    lines = [(row, seed) for row, absent in gaps.values() for seed in absent]
    if not lines:
        return
    row, seed = lines[0]
    names = [f"{row_name(row, with_workload=False)}, seed {seed}" for row, seed in lines]
    runs = "run is" if len(lines) == 1 else "runs are"
    text = f"{len(lines)} {runs} missing: failed, or not yet executed. Means of these rows are over fewer seeds."
    yield Notice("warning", text, _shorten(names), single_run(command, row.settings, seed) if command else "")


def _folder_notices(results: Results) -> Iterator[Notice]:
    if results.damaged:
        count = len(results.damaged)
        noun = "recordings" if count > 1 else "recording"
        text = f"{count} {noun} could not be read and {'are' if count > 1 else 'is'} not included."
        yield Notice("warning", text, _shorten(results.damaged))
    if results.absent > len(results.damaged):
        text = f"{results.absent} recordings listed in the results are not in the folder: rows are over fewer runs."
        yield Notice("warning", text)
    if not results.document:
        text = "The folder has no results.json: the experiment did not finish, and its title and question are unknown."
        yield Notice("warning", text)
    if results.older:
        text = (
            f"{results.older} recordings have the settings and seed of others here, but were made with another kernel, "
            "other programs or other keys. The report uses the one executed last."
        )
        yield Notice("warning", text)
    if results.others:
        yield Notice("note", f"{results.others} recordings in this folder belong to other experiments.")


def _spread(rows: Sequence[ResultRow]) -> Iterator[Notice]:
    counts = [row.n for row in rows]
    if not counts:
        return
    fewest = min(counts)
    if max(counts) == 1:
        text = "Every point has a single run, so there are no intervals: the variation of the results is unknown."
        yield Notice("note", text)
    elif fewest == 1:
        yield Notice("note", f"{counts.count(1)} rows have a single run, and so no interval.")
    elif fewest < MIN_SEEDS:
        yield Notice("note", few_seeds_note(fewest))


def _shorten(names: Sequence[str]) -> tuple[str, ...]:
    """Return the first names, and the number of the others; the table marks all."""
    if len(names) <= _MAX_LISTED:
        return tuple(names)
    return (*names[: _MAX_LISTED - 1], f"and {len(names) - _MAX_LISTED + 1} more")
