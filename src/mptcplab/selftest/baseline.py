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


def read_baseline(path: Path, *, seed: int) -> Mapping[str, Any]:
    """Read the output of `mptcplab selftest --json`. :raises InputError: if the file has none, or of another seed."""
    try:
        document = json.loads(path.read_text())
        _verdicts(document)
        document["seed"]
    except OSError as error:
        message = f"the baseline '{path}' cannot be read: {error.strerror}"
        raise InputError(message, hint="name a file that `mptcplab selftest --json` wrote") from error
    except (ValueError, KeyError, TypeError) as error:
        hint = "write it with `mptcplab selftest --json > before.json`"
        raise InputError(f"'{path}' is not the output of `mptcplab selftest --json`", hint=hint) from error
    result: Mapping[str, Any] = document
    if result["seed"] != seed:
        message = f"the baseline was made with the seed {result['seed']}, not {seed}"
        raise InputError(message, hint=f"give --seed {result['seed']}")
    return result


def compare(baseline: Mapping[str, Any], document: Mapping[str, Any]) -> BaselineComparison:
    """Compare the tests of `document` with the same tests of `baseline`; both are outputs of `--json`."""
    tests = set(document["virtual_seconds"])
    before = {key: verdict for key, verdict in _verdicts(baseline).items() if key[0] in tests}
    after = _verdicts(document)
    changes = [
        ChangedResult(key[0], key[1], before.get(key, _ABSENT), after.get(key, _ABSENT))
        for key in sorted({*before, *after})
        if before.get(key) != after.get(key)
    ]
    known = [
        f"{key[0]}: {key[1]}" for key, verdict in after.items() if verdict in _FAILURES and before.get(key) == verdict
    ]
    return BaselineComparison(changes, known)


def _verdicts(document: Mapping[str, Any]) -> dict[_Key, str]:
    """Return the verdict of each result. A script can print several results of one name: they are numbered."""
    verdicts: dict[_Key, str] = {}
    numbers: Counter[tuple[str, str]] = Counter()
    for result in document["results"]:
        name = (result["test"], result["name"])
        verdicts[(*name, numbers[name])] = result["verdict"]
        numbers[name] += 1
    verdicts.update({(error["test"], "the lab", 0): _ERROR for error in document["errors"]})
    return verdicts
