# SPDX-License-Identifier: MIT
"""All programs of gateways by name: those of the modules beside this one and of :mod:`mptcplab.plugins`."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from mptcplab import gateway
from mptcplab.gateway.base import GatewayBase
from mptcplab.plugins import tagged_models

#: The class of each program.
PROGRAMS = dict(sorted(tagged_models(GatewayBase, gateway, "program")))

if TYPE_CHECKING:
    Gateway = GatewayBase
else:
    Gateway = Annotated[reduce(or_, PROGRAMS.values()), Field(discriminator="program")]
