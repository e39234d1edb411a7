# SPDX-License-Identifier: MIT
"""Compare results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mptcplab.errors import InputError
from mptcplab.metrics.margin import MARGIN_PERCENT
from mptcplab.report.compare import ResultsComparison, compare_results


def compare(
    a: str | Path,
    b: str | Path | None = None,
    *,
    by: str | Sequence[str] = (),
    reference: str | None = None,
    metrics: Sequence[str] = (),
    margin_percent: float = MARGIN_PERCENT,
) -> ResultsComparison:
    """Test whether the results in folder ``b`` differ from those in ``a``, or the values of swept keys within ``a``.

    Rows are matched by settings and workload. Runs with the same seeds are compared in pairs (Student's t), others as
    independent samples (Welch's t). All rows are one family of tests: the probability of a false alarm is at most 5 %.

    ``by`` names swept keys, in place of ``b``. All pairs of their values are compared, or each value with
    ``reference``, whose values for several keys are separated by commas. ``metrics`` has names, or ``WORKLOAD:NAME``,
    by default goodput. ``margin_percent`` is the smallest difference that matters, in percent of the mean of ``a``.

    :raises InputError: if a folder has no results, if a name is unknown, or if both or neither of ``b`` and ``by`` are
        given.
    """
    keys = (by,) if isinstance(by, str) else tuple(by)
    if b is not None and keys:
        raise InputError("a second folder and swept keys exclude each other", hint="leave one of them out")
    if b is None and not keys:
        raise InputError("nothing to compare with", hint="name a second folder, or a swept key as by")
    if reference is not None and not keys:
        raise InputError("a reference needs swept keys", hint="name them as by, or leave the reference out")
    return compare_results(
        Path(a),
        None if b is None else Path(b),
        by=keys,
        reference=reference,
        metrics=metrics,
        margin_percent=margin_percent,
    )
