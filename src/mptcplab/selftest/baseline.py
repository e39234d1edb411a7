# SPDX-License-Identifier: MIT
"""Compares the results of selftests with earlier results, such as a kernel's without a patch."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mptcplab.errors import InputError

#: The verdict of a lab that did not end as it should.
_ERROR = "error"
#: The verdict of a test that has no result on one side.
_ABSENT = "absent"
_FAILURES = ("not ok", _ERROR)
_Key = tuple[str, str, int]


@dataclass(frozen=True)
class ChangedResult:
    """A result that differs from the baseline's."""

    test: str
    name: str
    before: str
    after: str


@dataclass(frozen=True)
class BaselineComparison:
    """The results that changed, and the failures that the baseline has, too."""

    changes: Sequence[ChangedResult]
    known_failures: Sequence[str]


@dataclass(frozen=True)
class SelftestVerdicts:
    """The output of `mptcplab selftest --json`: the seed, the tests that ran, and the verdict of each of their results.

    A script can print several results of one name: they are numbered.
    """

    seed: int
    tests: frozenset[str]
    verdicts: Mapping[_Key, str]

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> SelftestVerdicts:
        """Return the verdicts of an output. :raises KeyError: :raises TypeError: if it is something else."""
        verdicts: dict[_Key, str] = {}
        numbers: Counter[tuple[str, str]] = Counter()
        for result in document["results"]:
            name = (result["test"], result["name"])
            verdicts[(*name, numbers[name])] = result["verdict"]
            numbers[name] += 1
        verdicts.update({(error["test"], "the lab", 0): _ERROR for error in document["errors"]})
        return cls(document["seed"], frozenset(document.get("virtual_seconds", ())), verdicts)


def read_baseline(path: Path, *, seed: int) -> SelftestVerdicts:
    """Read the output of `mptcplab selftest --json`. :raises InputError: if the file has none, or of another seed."""
    try:
        baseline = SelftestVerdicts.from_json(json.loads(path.read_text()))
    except OSError as error:
        message = f"the baseline '{path}' cannot be read: {error.strerror}"
        raise InputError(message, hint="name a file that `mptcplab selftest --json` wrote") from error
    except (ValueError, KeyError, TypeError) as error:
        hint = "write it with `mptcplab selftest --json > before.json`"
        raise InputError(f"'{path}' is not the output of `mptcplab selftest --json`", hint=hint) from error
    if baseline.seed != seed:
        message = f"the baseline was made with the seed {baseline.seed}, not {seed}"
        raise InputError(message, hint=f"give --seed {baseline.seed}")
    return baseline


def compare(baseline: SelftestVerdicts, results: SelftestVerdicts) -> BaselineComparison:
    """Compare the tests of `results` with the same tests of `baseline`."""
    before = {key: verdict for key, verdict in baseline.verdicts.items() if key[0] in results.tests}
    after = results.verdicts
    changes = [
        ChangedResult(key[0], key[1], before.get(key, _ABSENT), after.get(key, _ABSENT))
        for key in sorted({*before, *after})
        if before.get(key) != after.get(key)
    ]
    known = [
        f"{key[0]}: {key[1]}" for key, verdict in after.items() if verdict in _FAILURES and before.get(key) == verdict
    ]
    return BaselineComparison(changes, known)
