# SPDX-License-Identifier: MIT
"""A computer at the edge of the network."""

from __future__ import annotations

from pydantic import Field

from mptcplab.node.base import NodeBase
from mptcplab.node.transport import Transport


class Host(NodeBase):
    """A computer at the edge of the network: runs workloads, does not forward."""

    kind = "host"
    table = "hosts"
    table_misnomers = ("host", "nodes", "node", "machines", "clients", "servers", "stations")
    is_required = True
    is_recorded_empty = True
    shares_transport = True

    transport: Transport = Field(default_factory=Transport)

    @property
    def own_transport(self) -> Transport:
        """See the base class."""
        return self.transport
