# SPDX-License-Identifier: MIT
"""All programs of gateways by name, from the modules beside this one and from :mod:`mptcplab.plugins`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mptcplab import gateway
from mptcplab.fields import TaggedTable
from mptcplab.gateway.base import GatewayBase
from mptcplab.plugins import TaggedModels

#: The class of each program.
PROGRAMS = TaggedModels(GatewayBase, gateway, "program")

if TYPE_CHECKING:
    Gateway = GatewayBase
else:
    Gateway = Annotated[GatewayBase, TaggedTable("program", PROGRAMS)]
