# SPDX-License-Identifier: MIT
"""The table of a comparison of two results."""

from __future__ import annotations

import math
from collections.abc import Iterator

from mptcplab.metrics.compare import SIGNIFICANCE, Comparison, Match
from mptcplab.metrics.registry import METRICS
from mptcplab.report.table import Table, number, short_names
from mptcplab.stats import POWER

_MAX_NAMED = 10
_MIN_P = 0.0001
_SHOWN_AS_ZERO = 0.005
#: A bound of rounding errors of sums.
_ROUNDING = 1e-9


def comparison_table(a: str, b: str, comparison: Comparison, *, at_least_percent: float = 0.0) -> Table:
    """Return a line per row that both results have; notes name rows in only one, and the tests.

    A difference below ``at_least_percent`` of A is printed, but not highlighted.
    """
    matches = comparison.matches
    names = short_names(list(matches[0].settings)) if matches else {}
    several = len({match.workload for match in matches}) > 1
    columns = (*names.values(), *(["workload"] if several else []), "A", "B", "B - A", "%", "p (Holm)", "test", "n")
    columns = (*columns, "detectable %")
    metric = METRICS[comparison.metric]
    rows = tuple((*_cells(match, several, metric.digits), _verdict(match, at_least_percent)) for match in matches)
    numeric = frozenset({"A", "B", "B - A", "%", "p (Holm)", "detectable %"})
    styles = tuple(
        (index, len(columns), "bold yellow") for index, match in enumerate(matches) if match.differs(at_least_percent)
    )
    title = f"{metric.title}: A = {a}, B = {b}"
    return Table(title, (*columns, "verdict"), rows, numeric, tuple(_notes(comparison)), styles)


def _cells(match: Match, several: bool, digits: int | None) -> tuple[str, ...]:
    difference = match.difference
    width = f" ± {_fine(difference.half_width)}" if difference.half_width is not None else ""
    return (
        *match.settings.values(),
        *([match.workload] if several else []),
        number(match.means[0], digits),
        number(match.means[1], digits),
        f"{_sign(difference.mean)}{_fine(difference.mean)}{width}",
        _percent(match),
        "" if match.adjusted is None else _p_text(match.adjusted),
        difference.test,
        str(difference.n[0]) if difference.n[0] == difference.n[1] else f"{difference.n[0]}, {difference.n[1]}",
        "" if match.percent_detectable is None else _fine(match.percent_detectable),
    )


def _verdict(match: Match, at_least_percent: float) -> str:
    """Return the verdict; for a difference with its size, by which readers judge whether it matters."""
    if match.verdict != "differ":
        return match.verdict
    if match.percent is None:
        return f"differ by {_sign(match.difference.mean)}{_fine(match.difference.mean)}"
    size = f"{_sign(match.percent)}{_fine(match.percent)} %"
    return f"differ by {size}{'' if match.differs(at_least_percent) else f', below {at_least_percent:g} %'}"


def _fine(value: float) -> str:
    """Return the value as number() does, with more digits if it is small: in virtual time, 1 us can be significant."""
    if not _ROUNDING < abs(value) < _SHOWN_AS_ZERO:
        return number(value)
    return f"{value:.{1 - math.floor(math.log10(abs(value)))}f}"


def _sign(value: float) -> str:
    return "+" if value > 0 else ""


def _percent(match: Match) -> str:
    if match.percent is None:
        return ""
    width = f" ± {_fine(match.percent_half_width)}" if match.percent_half_width is not None else ""
    return f"{_sign(match.percent)}{_fine(match.percent)}{width}"


def _p_text(p: float) -> str:
    return f"< {_MIN_P}" if p < _MIN_P else f"{p:.4f}"


def _family(tests: int, here: int) -> str:
    """Return the number of tests in the corrected family, some of which may be in other tables."""
    text = f"{tests} test{'s' if tests > 1 else ''}"
    return text if tests == here else f"{text}, {here} of them in this table"


def _notes(comparison: Comparison) -> Iterator[str]:
    matches = comparison.matches
    tested = sum(match.adjusted is not None for match in matches)
    if not matches:
        yield (
            "[!] The results have no row in common: no settings and workload are in both. "
            "With --by, keys that are swept together with that key differ, too."
        )
    if tested:
        yield "B - A with its 95 % confidence interval. Paired t: Student's t on runs with the same seed."
        if any(match.difference.test == "Welch's t" for match in matches):
            yield "Welch's t: for independent runs, whose variances may differ."
        yield f"p after Holm's correction for {_family(comparison.tests, tested)}; differ: p < {SIGNIFICANCE}."
    if any(match.detectable is not None for match in matches):
        yield (
            "Detectable: the smallest true difference that this number of runs, with this spread, shows in "
            f"{100 * POWER:.0f} of 100 repetitions."
        )
    if any(match.verdict == "same runs" for match in matches):
        yield "Same runs: both results are from the same recordings."
    if any(match.verdict == "identical" for match in matches):
        yield "Identical: different runs with equal values for every seed."
    if any(match.verdict == "too few runs" for match in matches):
        yield "Too few runs: a test needs at least two runs on each side. Use --repeats."
    for side, names in (("A", comparison.only_a), ("B", comparison.only_b)):
        if names:
            more = f"; and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
            yield f"Only in {side}: {'; '.join(names[:_MAX_NAMED])}{more}."
