# SPDX-License-Identifier: MIT
"""The conditions under which two results were measured: what a comparison of engines or kernels compares."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from mptcplab.kernel.config import clock_text, kernel_text


def kernels_and_clocks(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the kernels and clocks of a ``results.json``, in the order in which rows have them."""
    rows = [row for row in document["rows"] if "kernel" in row]
    # Rows from before these fields are of the lab kernel.
    kernels = (
        f"{kernel_text(str(row['kernel']), row.get('hz'))}; {clock_text(row.get('time', 'virtual'))}" for row in rows
    )
    return tuple(dict.fromkeys(kernels))


def use_differs(
    a: Mapping[str, Any], b: Mapping[str, Any], workloads: Collection[str] | None = None
) -> Iterator[tuple[str, str, str]]:
    """Yield the rows in which one result used MPTCP otherwise than the other: name, and the use in each.

    Only rows of ``workloads``, if given.
    """
    first, second = _mptcp_by_row(a, workloads), _mptcp_by_row(b, workloads)
    for name in (name for name in first if name in second and first[name] != second[name]):
        yield name, first[name], second[name]


def _mptcp_by_row(document: Mapping[str, Any], workloads: Collection[str] | None) -> dict[str, str]:
    return {
        ", ".join((*(f"{key} = {value}" for key, value in row["settings"].items()), str(row["workload"]))): row["mptcp"]
        for row in document["rows"]
        if row.get("mptcp") and (workloads is None or row["workload"] in workloads)
    }
