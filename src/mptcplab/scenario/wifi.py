# SPDX-License-Identifier: MIT
"""The ``[wifi]`` table, how signals spread between all radios, and the ``radio`` of a link."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from mptcplab.fields import Misnomers, NodeName, Number, Part, Whole, idle
from mptcplab.node.cell import Power

_Loss = Annotated[Number, Field(ge=0, le=200)]
_Dbm = Annotated[Number, Field(ge=-150, le=40)]
_Exponent = Annotated[Number, Field(ge=1, le=8)]
_Deviation = Annotated[Number, Field(ge=0, le=30)]


class Radio(Power):
    """A link's radio: the station's, at the other end from the access point."""

    misnomers: ClassVar[Misnomers] = {
        "through": ("access_points", "aps", "via", "roam"),
        "roam_below_dbm": ("roam_below", "roam_threshold", "handover_below"),
    }

    through: tuple[NodeName, ...] = Field(
        default=(),
        description="further access points of the same network, with which the station may associate instead",
        examples=[["ap2"]],
    )
    roam_below_dbm: Annotated[Number, Field(ge=-100, le=-20)] | None = Field(
        default=None,
        description="the station looks for a stronger one of them while it hears its own below this; default: only "
        "when it has lost it",
        examples=[-75],
    )

    @model_validator(mode="after")
    def _check_roaming(self) -> Radio:
        if self.roam_below_dbm is not None and not self.through:
            hint = 'add through = ["ap2"], with other access points of the network'
            raise idle("does nothing with a single access point", hint, "roam_below_dbm")
        return self


class Wifi(Part):
    """What all radios have in common. The defaults come from the calibration, see docs/wifi.md."""

    misnomers: ClassVar[Misnomers] = {
        "path_loss": ("propagation", "loss_model", "pathloss", "model"),
        "exponent": ("path_loss_exponent", "alpha", "gamma", "n"),
        "reference_loss_db": ("reference_loss",),
        "shadowing_db": ("shadowing", "sigma", "fading"),
        "noise_dbm": ("noise", "noise_floor"),
        "sensitivity_dbm": ("sensitivity",),
        "capture_db": ("capture", "capture_threshold"),
        "rts_bytes": ("rts", "rts_threshold", "rts_cts"),
    }

    path_loss: Literal["log-distance", "free-space"] = Field(
        default="log-distance", description="how a signal weakens with the distance"
    )
    exponent: _Exponent = Field(default=3.0, description="exponent of log-distance: 2 in free space, more indoors")
    reference_loss_db: _Loss = Field(default=46.7, description="loss at 1 m with log-distance, in dB")
    shadowing_db: _Deviation = Field(
        default=0.0,
        description="standard deviation of a further loss, drawn for each pair of radios, in dB",
        examples=[6],
    )
    noise_dbm: _Dbm = Field(default=-94.0, description="noise of a receiver in 20 MHz, in dBm")
    sensitivity_dbm: _Dbm = Field(default=-92.2, description="weakest signal that a receiver finds, in dBm")
    capture_db: _Loss = Field(
        default=5.0, description="by how much a later frame must be stronger to be received instead of the first, in dB"
    )
    rts_bytes: Annotated[Whole, Field(ge=0, le=2347)] | None = Field(
        default=None, description="longer frames are announced by RTS and CTS; default: none is", examples=[500]
    )

    @model_validator(mode="after")
    def _check_model(self) -> Wifi:
        for key in ("exponent", "reference_loss_db"):
            if self.path_loss == "free-space" and self.is_set(key):
                raise idle("does nothing in free space", 'remove it, or write path_loss = "log-distance"', key)
        return self
