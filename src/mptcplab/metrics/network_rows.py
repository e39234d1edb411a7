# SPDX-License-Identifier: MIT
"""Counters of the network by the points of a sweep: means over seeds, and the single values."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, TypeVar

from mptcplab.metrics.column import Scope, ScopeRow
from mptcplab.metrics.network import SCOPES
from mptcplab.metrics.rows import RunResult, Settings

_T = TypeVar("_T")


def network_document(results: Sequence[RunResult]) -> dict[str, Any]:
    """Return the rows of all scopes as JSON data for results.json."""
    documents = {scope: [row.to_json() for row in scope_rows(scope, results)] for scope in SCOPES}
    return {scope.name: rows for scope, rows in documents.items() if rows or not scope.optional}


def scope_rows(scope: Scope[_T], results: Sequence[RunResult]) -> list[ScopeRow[_T]]:
    """Return the rows of a scope by point; of the same thing, several rows if its keys differ between seeds."""
    groups: dict[tuple[Settings, Hashable], list[tuple[int, _T]]] = {}
    for result in results:
        for item in result.network.get(scope):
            groups.setdefault((result.settings, scope.identify(item)), []).append((result.seed, item))
    return [ScopeRow(scope, dict(settings), tuple(members)) for (settings, _), members in groups.items()]
