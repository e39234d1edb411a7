# SPDX-License-Identifier: MIT
"""Figures that follow from a recording whatever the kind of workload, where they apply."""

from __future__ import annotations

from dataclasses import replace

from mptcplab.metrics.aggregation import aggregation_benefit, path_capacities
from mptcplab.metrics.delivery import delivery, sent_until_s
from mptcplab.metrics.ends import Ends
from mptcplab.metrics.instants import changes_rates, link_instants
from mptcplab.metrics.reassembly import reassemblies, reassembly_figures, reinjected_bytes
from mptcplab.metrics.recovery import Recovery, recoveries, recovery_figures
from mptcplab.metrics.subflows import Sockets
from mptcplab.recording.record import Recording


def derived_figures(recording: Recording, ends: Ends, goodput_bps: float, sockets: Sockets) -> dict[str, float]:
    """Of one workload: what failures did to it, and what several paths gave and cost."""
    figures = recovery_figures(workload_recoveries(recording, ends))
    if sockets.use.with_mptcp:
        if ends.receiving is None:
            # Of sockets that are only sampled, subflows are known: data on one may still wait for another's.
            figures.pop("gap_s", None)
        found = reassemblies(recording, ends)
        figures |= reassembly_figures(found, reinjected=reinjected_bytes(recording, ends))
        benefit = _benefit(recording, ends, goodput_bps, sockets)
        figures |= {"aggregation_benefit": benefit} if benefit is not None else {}
    return figures


def workload_recoveries(recording: Recording, ends: Ends) -> list[Recovery]:
    """What each failure and restoration of a link did to a workload; nothing where none happened."""
    instants = link_instants(recording)
    curve = delivery(recording, ends) if instants else None
    if curve is None:
        return []
    return recoveries(replace(curve, sent_until_s=sent_until_s(recording, ends)), instants)


def _benefit(recording: Recording, ends: Ends, goodput_bps: float, sockets: Sockets) -> float | None:
    """Of a bulk transfer that had the network to itself, and paths whose rates stayed."""
    if len(recording.manifest["workloads"]) > 1 or not ends.is_bulk or changes_rates(recording):
        return None
    if len(sockets.shares) < 2:
        return None
    capacities = path_capacities(recording.manifest, ends.workload, sockets.shares)
    return aggregation_benefit(goodput_bps, capacities) if capacities is not None else None
