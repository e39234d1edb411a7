# SPDX-License-Identifier: MIT
"""The sockets of one workload: on its own hosts, and between the two sides of a gateway that carries it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mptcplab.metrics import subflows
from mptcplab.metrics.ends import Ends
from mptcplab.metrics.manifest import Addresses, Gateway, read_gateways
from mptcplab.metrics.subflows import Row
from mptcplab.recording.record import Recording
from mptcplab.workload.recorded import read_workload


@dataclass(frozen=True)
class Inner:
    """The connections between the sides of a gateway: to ``port`` of the node ``exit``.

    The workload's data goes from ``sender`` to ``receiver``, which are the gateway's two nodes.
    """

    sender: str
    receiver: str
    exit: str
    port: int


def workload_rows(rows: Iterable[Row], recording: Recording, ends: Ends, node: str, program: str | None) -> list[Row]:
    """Return a node's ``rows`` that are the workload's, by the ports of its server.

    All are, if the workload's ``program`` reports them. The client of a workload that speaks to a gateway by itself has
    its connections there.
    """
    if program is not None:
        return list(rows)
    if node == read_workload(recording, ends.workload).client:
        for gateway in read_gateways(recording):
            address = gateway.local.get(ends.workload)
            if address is not None:
                return [row for row in rows if row["remote"] == f"{address}:{gateway.listening_port}"]
    return subflows.rows_of_server(rows, ends.ports)


def gateways_of(recording: Recording, workload: str) -> Iterator[Gateway]:
    """Yield the gateways that carry a workload, in the scenario's order."""
    return (gateway for gateway in read_gateways(recording) if workload in gateway.carried)


def inner_of(gateway: Gateway, ends: Ends, client: str) -> Inner:
    """Return the inner connections of ``gateway``, as a workload of ``client`` uses them."""
    sides = gateway.entry, gateway.exit
    receiver, sender = sides if ends.receiver == client else sides[::-1]
    return Inner(sender, receiver, gateway.exit, gateway.port)


def inner_rows(rows: Iterable[Row], inner: Inner, addresses: Addresses) -> list[Row]:
    """Return one side's ``rows`` that are subflows of inner connections."""

    def begins_at_exit(row: Row) -> bool:
        """Return whether one of the row's two addresses belongs to the gateway's exit."""
        for host, _, port in (row[end].rpartition(":") for end in ("local", "remote")):
            place = addresses.get(host.strip("[]"))
            if int(port) == inner.port and place is not None and place.node == inner.exit:
                return True
        return False

    return [row for some in subflows.group(rows).values() if any(map(begins_at_exit, some)) for row in some]
