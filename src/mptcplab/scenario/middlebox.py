# SPDX-License-Identifier: MIT
"""What a router does to packets beside forwarding them: MPTCP options removed or refused, payload changed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from mptcplab.fields import LinkName, Part, fault
from mptcplab.units import Probability

MptcpOption = Literal["all", "mp_capable", "mp_join", "dss", "add_addr"]


def _each_once(options: tuple[MptcpOption, ...]) -> tuple[MptcpOption, ...]:
    if len(set(options)) != len(options):
        raise fault("names an option twice", "name every option once")
    if "all" in options and len(options) > 1:
        raise fault("names options beside all of them", 'use ["all"] alone')
    return options


Options = Annotated[tuple[MptcpOption, ...], AfterValidator(_each_once)]


class Middlebox(Part):
    """A box on the way that does not know MPTCP, or does not want it. It acts on packets that the router forwards."""

    strip: Options = Field(
        default=(), description="MPTCP options that are overwritten by NOPs", examples=[["mp_join"], ["all"]]
    )
    drop: Options = Field(
        default=(), description="packets with these MPTCP options vanish", examples=[["mp_capable"], ["all"]]
    )
    mangle: Options = Field(
        default=(),
        description="four bytes of these MPTCP options are overwritten: of a key, a token, an address or a data ack",
        examples=[["mp_join"]],
    )
    damage: Probability = Field(
        default=Probability(0), description="the payload's first four bytes are replaced, and TCP's checksum put right"
    )
    out: tuple[LinkName, ...] = Field(
        default=(), description="only packets that leave by these links; default all", examples=[["line1"]]
    )

    @model_validator(mode="after")
    def _sensible(self) -> Middlebox:
        self._check_once()
        if self.out and not (self.strip or self.drop or self.mangle or self.damage):
            raise fault("does nothing by itself", 'add what to do, like strip = ["mp_join"]', "out")
        if len(set(self.out)) != len(self.out):
            raise fault("names a link twice", "name every link once", "out")
        return self

    def _check_once(self) -> None:
        """No option is named by two verbs: it would be gone before the second."""
        verbs = ("drop", "strip", "mangle")
        for index, verb in enumerate(verbs):
            for earlier in verbs[:index]:
                one, other = set(getattr(self, verb)), set(getattr(self, earlier))
                if one & other or (one and other and "all" in one | other):
                    raise fault(f"names what {earlier} does away with", f"remove it there or in {verb}", verb)
