# SPDX-License-Identifier: MIT
"""Keep what earlier machines measured: results are on the machine that measured, and the page is to grow.

A comparison is kept as long as it would execute the same: the digests of the form, and of what both sides run, are
unchanged. The kernels may be other builds; :func:`is_of_other_build` tells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from validation.fidelity import forms
from validation.fidelity.forms import Form
from validation.fidelity.sides import LAB, PAIRS, SIDES

#: Comparisons by scenario and side, as :func:`validation.fidelity.gather.gather_comparisons` returns them.
Found = dict[str, Any]


@dataclass(frozen=True)
class Present:
    """The digests of what a scenario would execute now."""

    form: Form

    @property
    def digest(self) -> str:
        """The digest of its form."""
        return self.form.digest

    def ran(self, side: str) -> str:
        """Return the digest of what a side would execute; empty if it refuses."""
        try:
            return forms.digest_of(SIDES[side].points(self.form))
        except ValueError:
            return ""

    def make(self, document: dict[str, Any], side: str) -> bool:
        """Return whether results come from what a side would execute now; a refusal runs nothing."""
        same = "refused" in document or document["ran"] == self.ran(side)
        return bool(document["form"] == self.digest and same)

    def has(self, entry: dict[str, Any], side: str) -> bool:
        """Return whether a compared side is what would be compared now; a refusal runs nothing."""
        pair = PAIRS[side]
        same = "refused" in entry or (entry["against"], entry["ran"]) == (pair, [self.ran(pair), self.ran(side)])
        return bool(same)


def with_earlier(measured: Found, before: Found, present: Mapping[str, Present]) -> Found:
    """Return what was ``measured``, and what was there ``before`` of scenarios and sides that were not measured since.

    ``present`` has all scenarios in order.
    """
    scenarios, spread = dict(measured["scenarios"]), dict(measured["spread"])
    for name, here in present.items():
        earlier, now = before["scenarios"].get(name), scenarios.get(name, {"sides": {}})
        missing = {
            side: entry for side, entry in (earlier or {"sides": {}})["sides"].items() if side not in now["sides"]
        }
        has_spread = name in before["spread"] and name not in spread
        if earlier is not None and earlier["form"]["digest"] == here.digest:
            kept = {side: entry for side, entry in missing.items() if side in PAIRS and here.has(entry, side)}
            if kept:
                sides = {
                    side: entry for side in PAIRS if (entry := now["sides"].get(side) or kept.get(side)) is not None
                }
                scenarios[name] = {"form": earlier["form"], **now, "sides": sides}
        if has_spread and before["spread"][name]["ran"] == here.ran(LAB):
            spread[name] = before["spread"][name]
    return {
        **measured,
        "kernels": _builds_of_most(scenarios, before["kernels"], measured["kernels"]),
        "scenarios": {name: scenarios[name] for name in present if name in scenarios},
        "spread": {name: spread[name] for name in present if name in spread},
        "wire": measured.get("wire") or before.get("wire", {}),
    }


def _builds_of_most(scenarios: Found, before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Return of each side the build, of those before and now, that most of its comparisons ran on; of equals, now's.

    So a few new results do not mark all others.
    """
    ran = Counter(
        of_side
        for scenario in scenarios.values()
        for side, entry in scenario["sides"].items()
        if "refused" not in entry
        for of_side in zip((PAIRS[side], side), entry["kernels"], strict=True)
    )

    def runs(side: str, build: dict[str, Any]) -> int:
        return ran[side, build["digest"]]

    either = {side: [builds[side] for builds in (now, before) if side in builds] for side in before | now}
    return {side: max(builds, key=partial(runs, side)) for side, builds in either.items()}


def is_of_other_build(entry: dict[str, Any], side: str, kernels: dict[str, dict[str, Any]]) -> bool:
    """Return whether a compared side ran on another build of a kernel than most results of these sides."""
    of_most = [kernels.get(name, {}).get("digest") for name in (PAIRS[side], side)]
    return "refused" not in entry and (None in entry["kernels"] or entry["kernels"] != of_most)
