# SPDX-License-Identifier: MIT
"""Tables of comparisons: results against a reference, and rankings of all values of swept keys."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mptcplab.metrics.compare import SIGNIFICANCE, Comparison, Match, Verdict, kernels_and_clocks, name_of, use_differs
from mptcplab.metrics.named import names_of
from mptcplab.metrics.paired import MIN_SHARED
from mptcplab.metrics.ranking import Rank, Ranking
from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.stored import StoredResults
from mptcplab.metrics.values import Unit, choose_unit, percent, short_names
from mptcplab.report.notes import MIN_SEEDS, few_seeds_note
from mptcplab.report.table import Cell, ColumnOrHeading, Table, TableColumn, key_columns
from mptcplab.stats import POWER

_MAX_NAMED = 10
_MAX_WARNED = 4
_MIN_P = 0.0001
_MAX_LETTERS = 6
#: Names of the columns of percentages, whose heads depend on the unit of the metric.
_OF_PERCENT = ("%", "percent")
#: The head of the column with the number of runs in the test against the best.
_TESTED = "n of the test"


#: Points of a result that cannot be run: their settings, each with the reason.
Unavailable = Sequence[tuple[Mapping[str, str], str]]


def comparison_table(
    title: str,
    comparisons: Sequence[Comparison],
    *,
    by: Sequence[str] = (),
    tests: int,
    margin_percent: float,
    together: Sequence[Comparison] = (),
    unavailable: tuple[Unavailable, Unavailable] = ((), ()),
) -> Table:
    """Return a line per row that both sides have. All comparisons have one metric and one A.

    ``by`` are the swept keys whose values B differ, ``tests`` is the size of the family, ``together`` are all
    comparisons of the command, whose tables of this metric have one unit, and ``unavailable`` are the points that A's
    results and B's results cannot have.
    """
    lines = [(comparison.pair.b, match) for comparison in comparisons for match in comparison.matches]
    matches = [match for _, match in lines]
    keys = short_names([*(matches[0].settings if matches else ()), *by])
    several = len({match.workload for match in matches}) > 1
    mixed = len({match.difference.test for match in matches}) > 1
    metric = METRICS[comparisons[0].pair.metric]
    beside = [match for comparison in together if comparison.pair.metric == metric.name for match in comparison.matches]
    unit = choose_unit(
        metric.unit, (mean for match in beside or matches for mean in match.means), digits=metric.display.digits
    )
    columns: list[ColumnOrHeading] = [
        *(TableColumn(name, (key,), is_key=True) for key, name in keys.items()),
        *(key_columns("workload") if several else ()),
        *_value_columns(unit),
        *(["test"] if mixed else []),
        *("n", "verdict"),
    ]
    rows = (
        (
            *match.settings.values(),
            *(b if by else ()),
            *([match.workload] if several else []),
            *_numbers(match, unit),
            *([match.difference.test] if mixed else []),
            _count(match),
            Cell(verdict_text(match, margin_percent), emphasis="notable" if _stands_out(match) else ""),
        )
        for b, match in lines
    )
    of = "the whole" if metric.by_path else "A"
    notes = (*_comparison_notes(matches, tests, margin_percent, of), *_missing_row_notes(comparisons, by, unavailable))
    return Table.build(title, columns, rows, notes)


def _value_columns(unit: Unit) -> Iterator[TableColumn]:
    """Yield the columns of values, with their names without the unit, and as in JSON."""
    # Where values are percentages themselves, their difference is in points, and that in percent is something else.
    relative = "% of A" if unit.name == "%" else "%"
    headings = (f"A {unit.name}", f"B {unit.name}", f"B - A {_points(unit)}", relative, "p")
    others = (("A", "mean_a"), ("B", "mean_b"), ("B - A", "difference"), _OF_PERCENT, ("p", "p_corrected"))
    for heading, names in zip(headings, others, strict=True):
        yield TableColumn(heading.rstrip(), names, is_numeric=True)


def ranking_table(ranking: Ranking, *, by: Sequence[str], together: Sequence[Ranking] = ()) -> Table:
    """Return the ranks of a ranking, best first, with groups and the comparison of each with the best.

    ``together`` are all rankings of the command: their tables of one metric have one unit.
    """
    metric = METRICS[ranking.metric]
    ranks = [rank for other in together or (ranking,) if other.metric == metric.name for rank in other.ranks]
    unit = choose_unit(metric.unit, (rank.interval.mean for rank in ranks), digits=metric.display.digits)
    keys = short_names([*by, *ranking.settings])
    value = f"{metric.noun} {unit.name}".rstrip()
    worse, against = _difference_from_best(ranking, unit)
    tests = [_TESTED] if _has_other_tests(ranking) else []
    columns: list[ColumnOrHeading] = [
        TableColumn("", is_numeric=True, is_key=True),
        *(TableColumn(keys[key], (key,), is_key=True) for key in by),
        TableColumn(value, names_of(metric), is_numeric=True),
        "n",
        TableColumn(worse, _OF_PERCENT, is_numeric=True),
        *(*tests, _tied_heading(ranking), "verdict"),
    ]
    rows = (
        (
            Cell(str(number), number),
            *rank.values,
            Cell(unit.interval(rank.interval), rank.interval.mean),
            Cell(str(rank.interval.n), rank.interval.n),
            difference,
            *(_tested_count(rank) for _ in tests),
            tied,
            _rank_verdict(rank, ranking),
        )
        for number, (rank, difference, tied) in enumerate(
            zip(ranking.ranks, against, _tied_groups(ranking), strict=True), start=1
        )
    )
    settings = "".join(f", {keys[key]} {text}" for key, text in ranking.settings.items())
    order = "highest" if metric.is_highest_first else "lowest"
    title = f"{ranking.workload}{settings}: {metric.noun}, {order} first"
    return Table.build(title, columns, rows, [_describe_certainty(ranking)])


@dataclass(frozen=True)
class _RankingWords:
    """The words of a ranking for its first rank, for a rank before another, and for one behind it."""

    first: str
    ahead: str
    behind: str


def _words(ranking: Ranking) -> _RankingWords:
    """Return the words for a ranking: no share of a path is better than another."""
    return (
        _RankingWords("highest", "higher", "lower")
        if METRICS[ranking.metric].by_path
        else _RankingWords("best", "better", "worse")
    )


def _difference_from_best(ranking: Ranking, unit: Unit) -> tuple[str, list[str]]:
    """Return a head and a cell per rank: the difference from the best in percent, in ``unit`` if the best is zero."""
    matches = [rank.against_best for rank in ranking.ranks]
    first = _words(ranking).first
    if not _has_absolute(ranking):
        return f"% against the {first}", ["" if match is None else _percent_cell(match) for match in matches]
    return f"{unit.name} against the {first}".lstrip(), [
        "" if match is None else _difference_cell(match, unit) for match in matches
    ]


def _has_absolute(ranking: Ranking) -> bool:
    """Return whether a difference from the best is not a percentage, since the best's mean is zero."""
    return any(rank.against_best is not None and rank.against_best.percent is None for rank in ranking.ranks)


def _has_other_tests(ranking: Ranking) -> bool:
    """Return whether the numbers of runs of a rank and of its test differ."""
    best = ranking.ranks[0].interval.n
    tested = [(rank.interval.n, rank.against_best.difference.n) for rank in ranking.ranks if rank.against_best]
    return any(counts != (best, number) for number, counts in tested)


def _tested_count(rank: Rank) -> str:
    return _count(rank.against_best) if rank.against_best is not None else ""


def _rank_verdict(rank: Rank, ranking: Ranking) -> str:
    if rank.against_best is not None:
        return verdict_text(rank.against_best, ranking.margin_percent)
    first = _words(ranking).first
    return f"{first} mean, tied" if rank.tied else first


def _tied_heading(ranking: Ranking) -> str:
    return "groups" if _has_letters(ranking) else "tied with"


def _has_letters(ranking: Ranking) -> bool:
    """Return whether letters suffice for the groups. Words of many letters are not readable."""
    return all(rank.group_letters.isalpha() and len(rank.group_letters) <= _MAX_LETTERS for rank in ranking.ranks)


def _tied_groups(ranking: Ranking) -> list[str]:
    """Return the groups of each rank as letters, or the ranks that it is not shown to differ from."""
    if _has_letters(ranking):
        return [rank.group_letters for rank in ranking.ranks]
    return [_ranges(number + 1 for number in rank.tied) for rank in ranking.ranks]


def _ranges(numbers: Iterable[int]) -> str:
    """Return rising numbers as ``1-4, 7``."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][-1] == number - 1:
            ranges[-1].append(number)
        else:
            ranges.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in ranges)


def verdict_text(match: Match, margin_percent: float) -> str:
    """Return the verdict in words; for an open one with the number of runs that would settle it."""
    if match.verdict is Verdict.EQUIVALENT:
        return f"equivalent within {margin_percent:g} %"
    if match.verdict is not Verdict.NOT_SHOWN:
        return str(match.verdict)
    if match.more_runs is None:
        return "not shown; thousands of seeds would not settle it"
    return (
        f"not shown; about {_round_count(match.more_runs)} more seed{'s' if match.more_runs > 1 else ''} "
        "would settle it"
    )


def _round_count(count: int) -> int:
    """Return a count with two significant digits: more would promise too much."""
    size: int = 10 ** max(0, len(str(count)) - 2)
    return -(-count // size) * size


def _points(unit: Unit) -> str:
    return "points" if unit.name == "%" else unit.name


def _numbers(match: Match, unit: Unit) -> tuple[str, ...]:
    return (
        *(Cell(unit.text(mean), mean) for mean in match.means),
        _difference_cell(match, unit),
        _percent_cell(match),
        "" if match.p is None else Cell(_p_text(match.p), match.p),
    )


def _difference_cell(match: Match, unit: Unit) -> Cell:
    mean = match.difference.mean
    return Cell(unit.with_spread(mean, match.half_width or None, sign=True), mean)


def _percent_cell(match: Match) -> str:
    """Return the difference in percent of A; nothing if A's mean is zero."""
    return "" if match.percent is None else Cell(percent(match.percent, match.percent_half_width), match.percent)


def _count(match: Match) -> Cell:
    """Return the number of runs of both sides, once if it is the same; rows are ordered by the smaller one."""
    first, second = match.difference.n
    return Cell(str(first) if first == second else f"{first}, {second}", min(first, second))


def _stands_out(match: Match) -> bool:
    return match.verdict in (Verdict.DIFFERS, Verdict.PERHAPS_NEGLIGIBLE)


def _p_text(p: float) -> str:
    return f"< {_MIN_P}" if p < _MIN_P else f"{p:.4f}"


def _comparison_notes(matches: Sequence[Match], tests: int, margin_percent: float, of: str) -> Iterator[str]:
    if not matches:
        yield (
            "[!] The results have no row in common: no settings and workload with this metric are in both. "
            "With --by, keys that are swept together with that key differ, too."
        )
    if any(match.is_tested for match in matches):
        yield f"B - A with its interval. {_describe_confidence(tests)} p is corrected for them."
        yield _margin_note(margin_percent, of)
        yield from _test_notes(matches)
    yield from _untested_notes(matches)
    if any(match.verdict is Verdict.NOT_SHOWN for match in matches):
        yield _seeds_note()


def ranking_notes(rankings: Sequence[Ranking], tests: int, margin_percent: float) -> Iterator[str]:
    """Yield how to read rankings."""
    pairs = [match for ranking in rankings for match in ranking.pairs]
    yield "Mean ± half width of its own 95 % interval."
    apart = "not shown to differ by as much as matters"
    headings = {_tied_heading(ranking) for ranking in rankings}
    if "groups" in headings:
        yield f"Groups: two with a common letter are {apart}."
    if "tied with" in headings:
        yield f"Tied with: the places from which this one is {apart}."
    if any(match.is_tested for match in pairs):
        heads = dict.fromkeys("Difference from" if _has_absolute(ranking) else "% against" for ranking in rankings)
        words = [_words(ranking) for ranking in rankings]
        first = " or the ".join(dict.fromkeys(ranking_words.first for ranking_words in words))
        yield (
            f"{', '.join(heads)} the {first} with its interval. {_describe_confidence(tests)} The tests are "
            "of all pairs."
        )
        yield _margin_note(
            margin_percent, " or ".join(dict.fromkeys(f"the {ranking_words.ahead} one" for ranking_words in words))
        )
        yield from _test_notes(pairs)
    if any(_has_other_tests(ranking) for ranking in rankings):
        yield (
            f"The {_TESTED}: if two have at least {MIN_SHARED} seeds in common, only these are compared; other runs "
            "are not in the test."
        )
    yield from _untested_notes(pairs)
    if any(match.verdict is Verdict.NOT_SHOWN for match in pairs):
        yield _seeds_note()


def _describe_certainty(ranking: Ranking) -> str:
    """Return which may be the best, how much of the ranking is certain, and what the rest would take."""
    best = [rank.against_best for rank in ranking.ranks if rank.against_best is not None]
    tied, words = set(ranking.ranks[0].tied), _words(ranking)
    worse = [number for number in range(1, len(ranking.ranks)) if number not in tied]
    if not tied:
        certain = f"The {words.first} is certain"
    elif worse:
        certain = f"The {words.first} are certain: {_ranges(sorted(number + 1 for number in {0, *tied}))}"
    else:
        certain = f"None is {words.ahead} than the others by as much as matters"
    texts = [
        f"Shown to be {words.behind} than the first: {_ranges(number + 1 for number in worse)}."
        if tied and worse
        else "",
        _describe_need(certain, f"To settle which is the {words.first}", best),
        _describe_need(f"All {len(ranking.pairs)} pairs are settled", "To settle every pair", ranking.pairs),
    ]
    return " ".join(text for text in texts if text)


def _describe_need(settled: str, question: str, matches: Sequence[Match]) -> str:
    left = [match for match in matches if match.verdict in (Verdict.NOT_SHOWN, Verdict.TOO_FEW)]
    if not left:
        return f"{settled}."
    counts = [match.more_runs for match in left]
    known = [count for count in counts if count is not None]
    open_pairs = f"{len(left)} of {len(matches)} open"
    if len(known) < len(counts):
        return f"{question} ({open_pairs}): thousands of seeds would not do, or there are too few to tell."
    return f"{question} ({open_pairs}): about {_round_count(max(known))} more seeds."


def _describe_confidence(tests: int) -> str:
    if tests == 1:
        return "It contains the true difference with a probability of 95 %."
    return (
        f"The intervals of all {tests} tests of this command contain the true differences together with a probability "
        f"of {100 * (1 - SIGNIFICANCE):.0f} % (Bonferroni), so each is wider than one alone."
    )


def _margin_note(margin_percent: float, of: str) -> str:
    return (
        f"Differs: the interval excludes zero. Negligible, equivalent: it lies within ± {margin_percent:g} % of {of} "
        "(--margin)."
    )


def conditions_notes(a: StoredResults, b: StoredResults, workloads: Collection[str] | None = None) -> Iterator[str]:
    """Yield what differs between two results beside their values: kernels, clocks, and whether MPTCP was in use.

    The latter for ``workloads`` only, if given.
    """
    kernels = kernels_and_clocks(a), kernels_and_clocks(b)
    if kernels[0] != kernels[1]:
        yield "; ".join(f"{side}: kernel {', '.join(kernel)}" for side, kernel in zip("AB", kernels, strict=True)) + "."
    rows = list(use_differs(a, b, workloads))
    if rows:
        more = f"; and {len(rows) - _MAX_NAMED} more" if len(rows) > _MAX_NAMED else ""
        texts = (f"{name}: A {first}, B {second}" for name, first, second in rows[:_MAX_NAMED])
        yield f"[!] MPTCP was not used alike. {'; '.join(texts)}{more}."


def few_seeds_notes(comparisons: Iterable[Comparison]) -> Iterator[str]:
    """Yield a note if any test is of few runs."""
    counts = [min(match.difference.n) for comparison in comparisons for match in comparison.matches if match.is_tested]
    if counts and min(counts) < MIN_SEEDS:
        yield few_seeds_note(min(counts))


def warning_notes(warnings: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the warnings of the compared rows, each with the names of rows that have it."""
    for text, names in warnings.items():
        more = f"; and {len(names) - _MAX_WARNED} more" if len(names) > _MAX_WARNED else ""
        yield f"[!] Warning: {text} ({'; '.join(names[:_MAX_WARNED])}{more})."


def _test_notes(matches: Sequence[Match]) -> Iterator[str]:
    tests = {match.difference.test for match in matches if match.is_tested}
    if "paired t" in tests:
        yield "Paired t: Student's t on runs with the same seed."
    if "Welch's t" in tests:
        yield "Welch's t: for independent runs, whose variances may differ."


def _seeds_note() -> str:
    return (
        f"More seeds: with the difference and spread found here, that many show in {100 * POWER:.0f} of 100 "
        "repetitions either a difference or equivalence."
    )


def _untested_notes(matches: Sequence[Match]) -> Iterator[str]:
    verdicts = {match.verdict for match in matches}
    if Verdict.SAME_RUNS in verdicts:
        yield "Same runs: both results are from the same recordings."
    if Verdict.IDENTICAL in verdicts:
        yield "Identical: different runs with equal values for every seed."
    if Verdict.TOO_FEW in verdicts:
        yield "Too few runs: a test needs at least two runs on each side. Use --repeats."


def _missing_row_notes(
    comparisons: Sequence[Comparison], by: Sequence[str], unavailable: tuple[Unavailable, Unavailable]
) -> Iterator[str]:
    """Yield which rows one side lacks: with ``by`` which value of B, and why, if such a point cannot be run."""
    notes: dict[tuple[str, str], dict[str, None]] = {}
    for side in ("A", "B"):
        for pair in (comparison.pair for comparison in comparisons):
            has, lacks = (pair.first, pair.second) if side == "A" else (pair.second, pair.first)
            values, points = (pair.b, unavailable[1]) if side == "A" else (pair.a, unavailable[0])
            b = f" = {', '.join(pair.b)}" if by else ""
            head = f"Only in A{f', not in B{b}' if b else ''}" if side == "A" else f"Only in B{b}"
            for key in (key for key in has if key not in lacks):
                settings = {**dict(key[0]), **dict(zip(by, values, strict=False))}
                reason = next((reason for point, reason in points if point == settings), "")
                notes.setdefault((head, reason), {})[name_of(key)] = None
    for (head, reason), rows in notes.items():
        names = list(rows)
        more = f"; and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        why = f" Not available: {reason}." if reason else ""
        yield f"{head}: {'; '.join(names[:_MAX_NAMED])}{more}.{why}"
