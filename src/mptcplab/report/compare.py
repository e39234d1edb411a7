# SPDX-License-Identifier: MIT
"""Compare the results of two experiments, or of the values of swept keys within one: tables, and their files."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mptcplab.errors import InputError, reason
from mptcplab.files import write_text
from mptcplab.metrics import ranking
from mptcplab.metrics.compare import (
    SIGNIFICANCE,
    AskedMetric,
    Comparison,
    Match,
    Pair,
    Verdict,
    collect_sides,
    compared_rows,
    kernels_and_clocks,
    use_differs,
    warnings_of,
)
from mptcplab.metrics.compare import compare as compare_rows
from mptcplab.metrics.margin import MARGIN_PERCENT
from mptcplab.metrics.named import metric_of, swept_key
from mptcplab.metrics.ranking import Ranking
from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.stored import WRONG, StoredResults
from mptcplab.report.comparison import (
    comparison_table,
    conditions_notes,
    few_seeds_notes,
    ranking_notes,
    ranking_table,
    warning_notes,
)
from mptcplab.report.notes import compared_beginnings, overlap_notes
from mptcplab.report.table import Table, csv_text
from mptcplab.scenario.document import show, suggest_name

# Comparisons as files: as printed for papers (Markdown, LaTeX), and with one unrounded number per cell (CSV).

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
    """Return a line per rank of each ranking: its own mean, and its comparison, as B, with the best, as A."""
    keys = _keys(order.settings for order in rankings)
    statistics = ["place", "mean", "ci95_half_width", "n", "groups", "tied_with"]
    head = [*keys, *by, "workload", "metric", "unit", *statistics, "best", *_head(), *_LAST]
    lines = []
    for order in rankings:
        best = ", ".join(order.ranks[0].values)
        for number, rank in enumerate(order.ranks, start=1):
            match, interval = rank.against_best, rank.interval
            compared = [*_numbers(match), *_verdict(match, order.margin_percent)] if match is not None else []
            line = [
                *(order.settings.get(key) for key in keys),
                *rank.values,
                order.workload,
                *_metric(order.metric),
                number,
                *(interval.mean, interval.half_width, interval.n),
                rank.group_letters,
                " ".join(str(other + 1) for other in rank.tied),
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
    """Return the heads of a match's numbers; the bounds of the interval follow the difference."""
    index = _NUMBERS.index("difference") + 1
    return [*_NUMBERS[:index], "low", "high", *_NUMBERS[index:], "n_a", "n_b"]


def _numbers(match: Match) -> list[Any]:
    entry = match.to_json()
    mean, half = match.difference.mean, match.half_width
    entry |= {"low": None, "high": None} if half is None else {"low": mean - half, "high": mean + half}
    entry["n_a"], entry["n_b"] = match.difference.n
    return [entry[name] for name in _head()]


def _verdict(match: Match, margin_percent: float) -> list[Any]:
    return [match.difference.test, margin_percent, str(match.verdict), match.more_runs]


# Compare the results of two experiments, or of the values of swept keys within one: tables and JSON data.

_RESULTS = "results.json"
_DEFAULT_METRIC = "goodput_mbps"


@dataclass(frozen=True)
class ResultsComparison:
    """The comparison of two results, or of values of swept keys within one.

    ``comparisons`` has the single tests, as one family, and ``rankings`` the order of three values or more, if nothing
    else was the reference. ``tables`` are printed by `mptcplab compare`. ``warnings`` has the rows that each warning is
    about. ``margin_percent`` is the smallest difference that matters, and ``by`` the swept keys whose values differ.
    """

    comparisons: tuple[Comparison, ...]
    rankings: tuple[ranking.Ranking, ...]
    tables: tuple[Table, ...]
    by: tuple[str, ...]
    margin_percent: float
    warnings: Mapping[str, Sequence[str]]
    conditions: Mapping[str, Any]
    asked: tuple[AskedMetric, ...]

    @property
    def is_different(self) -> bool:
        """True if a row differs by the margin or more."""
        return any(match.verdict is Verdict.DIFFERS for match in self._matches)

    @property
    def is_uncertain(self) -> bool:
        """True if a row could differ by the margin or more although the test does not show it."""
        return any(match.is_open for match in self._matches)

    @property
    def _matches(self) -> list[Match]:
        return [match for comparison in self.comparisons for match in comparison.matches]

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document of `mptcplab compare --json`."""
        return {
            "tests": sum(comparison.tests for comparison in self.comparisons),
            "significance": SIGNIFICANCE,
            "margin_percent": self.margin_percent,
            **self.conditions,
            "comparisons": [
                {
                    "a": ", ".join(comparison.pair.a),
                    "b": ", ".join(comparison.pair.b),
                    "metric": comparison.pair.metric,
                    "rows": [match.to_json() for match in comparison.matches],
                    "only_a": list(comparison.only_a),
                    "only_b": list(comparison.only_b),
                }
                for comparison in self.comparisons
            ],
            "rankings": [ranked.to_json() for ranked in self.rankings],
            "warnings": [{"warning": text, "rows": list(names)} for text, names in self.warnings.items()],
        }

    def require_rows(self) -> None:
        """Refuse a check that has nothing to check. :raises InputError: if a metric was compared in no row."""
        for metric, workload in self.asked:
            if not any(_is_about(comparison, metric, workload) for comparison in self.comparisons):
                of = f" of the workload {workload}" if workload is not None else ""
                raise InputError(
                    f"nothing was compared: no row{of} with {METRICS[metric].noun} is on both sides",
                    hint="compare with --reference or two folders, and without --fail-if-..., to see the rows of each "
                    "side",
                )

    def write(self, file: Path, tables: Sequence[Table] | None = None) -> None:
        """Write ``tables``, by default all, as Markdown or LaTeX, or every number as CSV: the suffix decides.

        :raises InputError: if the suffix is of no format, or if the file cannot be written.
        """
        check_suffix(file)
        numbers = (
            rankings_csv(self.rankings, self.by)
            if self.rankings
            else comparisons_csv(self.comparisons, self.by, self.margin_percent)
        )
        try:
            write_comparison(file, self.tables if tables is None else tables, numbers)
        except OSError as error:
            raise InputError(
                f"{file} cannot be written: {reason(error)}", hint="name another file with --out"
            ) from error


def check_suffix(file: Path) -> None:
    """Check that a comparison can be written to ``file``. :raises InputError: if its suffix is of no format."""
    if file.suffix.lower() not in SUFFIXES:
        raise InputError(f"{file} does not end with the suffix of a format", hint=f"use {', '.join(SUFFIXES)}")


def compare_results(
    a: Path,
    b: Path | None = None,
    *,
    by: Sequence[str] = (),
    reference: str | None = None,
    metrics: Sequence[str] = (),
    margin_percent: float = MARGIN_PERCENT,
) -> ResultsComparison:
    """Compare results folder ``b`` with ``a``, or without ``b`` the values of the swept keys ``by`` within ``a``.

    See :func:`mptcplab.api.compare`.
    """
    results = [_read(folder) for folder in (a, b) if folder is not None]
    asked = [metric_of(text, results) for text in metrics] or [(_DEFAULT_METRIC, None)]
    if b is None:
        draft = _ComparisonWithin(results[0], by, reference, margin_percent).compare(asked)
    else:
        draft = _compare_folders(str(a), str(b), results, asked, margin_percent)
    warnings = warnings_of(results, asked)
    overlaps = list(overlap_notes(compared_beginnings(compared_rows(results, asked))))
    return ResultsComparison(
        tuple(draft.comparisons),
        tuple(draft.rankings),
        tuple(_with_limits(draft, warnings, overlaps)),
        draft.by,
        margin_percent,
        warnings,
        draft.conditions,
        tuple(asked),
    )


def swept_keys_of(folder: Path) -> list[str]:
    """Return the swept keys of a results folder, in order. :raises InputError: if it has no results."""
    return _read(folder).swept_keys


def _is_about(comparison: Comparison, metric: str, workload: str | None) -> bool:
    return comparison.pair.metric == metric and any(
        workload is None or match.workload == workload or match.workload.startswith(f"{workload} over ")
        for match in comparison.matches
    )


@dataclass(frozen=True)
class _Draft:
    """All comparisons of one command, the rankings that they give, and the tables."""

    comparisons: list[Comparison]
    tables: list[Table]
    rankings: tuple[ranking.Ranking, ...] = ()
    by: tuple[str, ...] = ()
    conditions: dict[str, Any] = field(default_factory=dict)


def _compare_folders(
    a: str, b: str, results: Sequence[StoredResults], asked: Sequence[AskedMetric], margin: float
) -> _Draft:
    first, second = results
    pairs = [
        Pair(
            metric,
            (a,),
            (b,),
            collect_sides(first.rows, metric, workload=only),
            collect_sides(second.rows, metric, workload=only),
        )
        for metric, only in asked
    ]
    comparisons = compare_rows(pairs, margin_percent=margin)
    tests = sum(comparison.tests for comparison in comparisons)
    tables = [
        comparison_table(
            _title(comparison.pair.metric, a, b, only),
            [comparison],
            tests=tests,
            margin_percent=margin,
            together=comparisons,
            unavailable=(first.unavailable, second.unavailable),
        )
        for comparison, (_, only) in zip(comparisons, asked, strict=True)
    ]
    named = {workload for _, workload in asked if workload is not None}
    workloads = named if all(workload is not None for _, workload in asked) else None
    tables[-1] = tables[-1].with_notes(*conditions_notes(first, second, workloads))
    return _Draft(comparisons, tables, conditions=_conditions(first, second, workloads))


def _conditions(a: StoredResults, b: StoredResults, workloads: set[str] | None) -> dict[str, Any]:
    uses = [{"row": name, "a": first, "b": second} for name, first, second in use_differs(a, b, workloads)]
    return {"a_measured_on": kernels_and_clocks(a), "b_measured_on": kernels_and_clocks(b), "mptcp_differs": uses}


def _title(metric: str, a: str, b: str, workload: str | None) -> str:
    of = f"{workload}: " if workload else ""
    return f"{of}{METRICS[metric].noun}: A = {a}, B = {b}"


def _common_workload(asked: Sequence[AskedMetric], metric: str) -> str | None:
    """Return the workload that was named for a metric, or None if there are several, or all were meant."""
    workloads = {workload for name, workload in asked if name == metric}
    return workloads.pop() if len(workloads) == 1 else None


def _same_values_name(reference: str, names: Collection[str]) -> str | None:
    """Return the name that has the same values in the order of --by."""
    return next((name for name in names if sorted(_split_commas(name)) == sorted(_split_commas(reference))), None)


class _ComparisonWithin:
    """Comparisons of values of swept keys within one result."""

    def __init__(self, results: StoredResults, by: Sequence[str], reference: str | None, margin: float) -> None:
        keys = results.swept_keys
        self._results, self._by = results, [swept_key(name, keys) for name in by]
        self._reference, self._margin = reference, margin

    def compare(self, asked: Sequence[AskedMetric]) -> _Draft:
        """Compare by all metrics at once: all tests are one family."""
        parts = [(metric, ranking.split(self._results, self._by, metric, workload=only)) for metric, only in asked]
        values = list(parts[0][1])
        draft = self._rank_all(parts) if self._reference is None and len(values) > 2 else None
        if draft is None or not draft.tables:
            # Without a row that two values have there is no ranking: this table says which rows each has.
            first = values[0] if self._reference is None else self._select_values(self._reference, values)
            draft = self._compare_with_reference(asked, parts, first)
        return replace(
            draft,
            tables=[
                *draft.tables[:-1],
                *(self._with_dependent_keys(last) for last in draft.tables[-1:]),
            ],
        )

    def _with_dependent_keys(self, table: Table) -> Table:
        """Return a table with a note about keys that depend on the keys of --by."""
        together = ranking.find_dependent_keys(self._results, self._by)
        if not together:
            return table
        verb = "change" if len(together) > 1 else "changes"
        note = f"{' and '.join(together)} {verb} together with {' and '.join(self._by)}: differences are due to all."
        return table.with_notes(note)

    def _select_values(self, reference: str, values: Sequence[ranking.Values]) -> ranking.Values:
        """Return the value, or values, that ``reference`` names: a value may itself contain a comma."""
        names = {",".join(texts): texts for texts in values}
        texts = names.get(reference) or names.get(",".join(_split_commas(reference)))
        if texts is None:
            if reference.count(",") + 1 != len(self._by) > 1:
                some = ",".join(values[0])
                hint = f"name a value for each key of --by, separated by commas, such as {show(some)}"
                raise InputError(
                    f"--reference: '{reference}' is not a value for each of {', '.join(self._by)}", hint=hint
                )
            near = _same_values_name(reference, names) or suggest_name(reference, names)
            hint = f'did you mean "{near}"?' if near else f"use one of {', '.join(map(show, names))}"
            raise InputError(f"--reference: the results do not have '{reference}'", hint=hint)
        return texts

    def _compare_with_reference(
        self, asked: Sequence[AskedMetric], parts: Sequence[tuple[str, ranking.Parts]], reference: ranking.Values
    ) -> _Draft:
        pairs = [pair for metric, some in parts for pair in ranking.pairs_with_reference(metric, some, reference)]
        comparisons = compare_rows(pairs, margin_percent=self._margin)
        tests = sum(comparison.tests for comparison in comparisons)
        tables = []
        for metric in dict.fromkeys(metric for metric, _ in parts):
            of_metric = [comparison for comparison in comparisons if comparison.pair.metric == metric]
            a, b = (", ".join(values) for values in (reference, of_metric[0].pair.b))
            each = f"each {', '.join(self._by)}"
            title = _title(
                metric,
                a,
                b if len({comparison.pair.b for comparison in of_metric}) == 1 else each,
                _common_workload(asked, metric),
            )
            tables.append(
                comparison_table(
                    title,
                    of_metric,
                    by=self._by,
                    tests=tests,
                    margin_percent=self._margin,
                    unavailable=(self._results.unavailable,) * 2,
                )
            )
        return _Draft(comparisons, tables, by=tuple(self._by))

    def _rank_all(self, parts: Sequence[tuple[str, ranking.Parts]]) -> _Draft:
        groups = [group for metric, some in parts for group in ranking.build_ranked_groups(metric, some)]
        pairs = [group.pairs for group in groups]
        comparisons = compare_rows([pair for some in pairs for pair in some], margin_percent=self._margin)
        left = iter(comparisons)
        rankings = [
            ranking.rank(group, [next(left) for _ in some], self._margin)
            for group, some in zip(groups, pairs, strict=True)
        ]
        tests = sum(comparison.tests for comparison in comparisons)
        tables = [ranking_table(ranked, by=self._by, together=rankings) for ranked in rankings]
        notes = ranking_notes(rankings, tests, self._margin)
        tables[-1:] = [last.with_notes(*notes) for last in tables[-1:]]
        return _Draft(comparisons, tables, tuple(rankings), tuple(self._by))


def _split_commas(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _read(folder: Path) -> StoredResults:
    file = folder if folder.is_file() else folder / _RESULTS
    try:
        document = json.loads(file.read_text())
    except OSError as error:
        if not folder.exists():
            raise InputError(f"{folder} does not exist", hint="name the results folder of `mptcplab run`") from error
        hint = "run its scenario to the end; recorded runs are not executed again"
        raise InputError(f"{folder} has no {_RESULTS} ({reason(error)})", hint=hint) from error
    except ValueError as error:
        hint = "run its scenario again, or name a results folder"
        if file.suffix == ".csv":
            hint = "compare reads results folders; `mptcplab figure` draws a table of your own beside results"
        raise InputError(f"{file} is not JSON", hint=hint) from error
    if not isinstance(document, dict) or not isinstance(document.get("rows"), list):
        raise InputError(f"{file} is not the result of `mptcplab run`", hint="name a results folder")
    try:
        return StoredResults.from_json(document)
    except WRONG as error:
        hint = "run the scenario again: recorded runs are not executed a second time"
        raise InputError("the results have no values by seed", hint=hint) from error


def _with_limits(draft: _Draft, warnings: Mapping[str, Sequence[str]], overlaps: Sequence[str]) -> list[Table]:
    """Return the tables; the last one ends with what limits all of them: few seeds, warnings, overlaps."""
    notes = (*few_seeds_notes(draft.comparisons), *warning_notes(warnings), *overlaps)
    return [
        *draft.tables[:-1],
        *(last.with_notes(*notes) for last in draft.tables[-1:]),
    ]
