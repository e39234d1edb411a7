# SPDX-License-Identifier: MIT
"""``mptcplab compare``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from mptcplab.cli.common import print_table
from mptcplab.cli.options import json_option
from mptcplab.errors import Exit, InputError
from mptcplab.metrics.compare import SIGNIFICANCE, Comparison, Key, Side, sides, split
from mptcplab.metrics.compare import compare as compare_rows
from mptcplab.metrics.registry import CALLED
from mptcplab.report.comparison import comparison_table

_RESULTS = "results.json"
_EPILOG = """\b
Examples:
  mptcplab compare results/before results/after
  mptcplab compare results/kernels --by kernel
  mptcplab compare results/before results/after --fail-if-different --at-least 1

\b
The exit status is 0 after every comparison, whatever its result. With --fail-if-different it is 1 if a row differs,
with --fail-if-uncertain also if a difference could have been missed.
"""

Named = tuple[str, dict[Key, Side]]


@click.command(epilog=_EPILOG)
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path), required=False)
@click.option("--by", metavar="KEY", help="Compare the values of this swept key within A, each with the first.")
@click.option(
    "--metric",
    type=click.Choice(list(CALLED)),
    metavar="NAME",
    default="goodput",
    show_default=True,
    help="Metric to compare: goodput, duration, retransmitted, or another by its name in JSON, such as mos.",
)
@click.option("--fail-if-different", is_flag=True, help="Exit with status 1 if a row differs.")
@click.option(
    "--fail-if-uncertain",
    is_flag=True,
    help="Exit with status 1 if a difference of --at-least could have been missed.",
)
@click.option(
    "--at-least",
    type=click.FloatRange(min=0),
    metavar="PERCENT",
    default=0.0,
    help="Smallest relevant difference. Smaller ones are marked as small and pass --fail-if-different.",
)
@json_option
def compare(
    a: Path,
    b: Path | None,
    by: str | None,
    metric: str,
    fail_if_different: bool,
    fail_if_uncertain: bool,
    at_least: float,
    as_json: bool,
) -> int:
    """Test whether the results in folder B differ from those in folder A.

    Rows are matched by their settings and workload. Runs with the same seeds are compared in pairs (Student's t), other
    runs as independent samples (Welch's t). All rows of all tables form one family of tests: Holm's correction keeps
    the probability of any false alarm in it at 5 %.
    """
    if (b is None) == (by is None):
        raise click.UsageError("name a second folder, or a swept key with --by")
    if fail_if_uncertain and not at_least:
        raise click.UsageError("--fail-if-uncertain needs --at-least: no number of runs can show every difference")
    pairs = list(_pairs(a, b, by, CALLED[metric]))
    comparisons = compare_rows([(first, second) for (_, first), (_, second) in pairs], CALLED[metric])
    found = [(first, second, one) for ((first, _), (second, _)), one in zip(pairs, comparisons, strict=True)]
    if as_json:
        click.echo(json.dumps(_document(found)))
    else:
        for first_name, second_name, comparison in found:
            print_table(comparison_table(first_name, second_name, comparison, at_least_percent=at_least))
    matches = [match for one in comparisons for match in one.matches]
    failed = fail_if_different and any(match.differs(at_least) for match in matches)
    failed = failed or (fail_if_uncertain and any(match.may_miss(at_least) for match in matches))
    return Exit.FAILED if failed else Exit.DONE


def _pairs(a: Path, b: Path | None, by: str | None, metric: str) -> Iterator[tuple[Named, Named]]:
    document = _read(a)
    if by is not None:
        (first, *others) = split(document, by, metric)
        for other in others:
            yield (f"{by} {first[0]}", first[1]), (f"{by} {other[0]}", other[1])
    elif b is not None:
        yield (str(a), sides(document, metric)), (str(b), sides(_read(b), metric))


def _read(folder: Path) -> dict[str, Any]:
    file = folder if folder.is_file() else folder / _RESULTS
    try:
        document = json.loads(file.read_text())
    except OSError as error:
        hint = "run its scenario to the end; recorded runs are not executed again"
        raise InputError(f"{folder} has no {_RESULTS}", hint=hint) from error
    except ValueError as error:
        raise InputError(f"{file} is not JSON", hint="run its scenario again, or name a results folder") from error
    if not isinstance(document, dict) or not isinstance(document.get("rows"), list):
        raise InputError(f"{file} is not the result of `mptcplab run`", hint="name a results folder")
    return document


def _document(found: Sequence[tuple[str, str, Comparison]]) -> dict[str, Any]:
    return {
        "tests": max((comparison.tests for _, _, comparison in found), default=0),
        "significance": SIGNIFICANCE,
        "comparisons": [
            {
                "a": first,
                "b": second,
                "metric": comparison.metric,
                "rows": [match.to_json() for match in comparison.matches],
                "only_a": list(comparison.only_a),
                "only_b": list(comparison.only_b),
            }
            for first, second, comparison in found
        ],
    }
