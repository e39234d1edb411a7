# SPDX-License-Identifier: MIT
"""A Wi-Fi access point: one radio with hostapd, which routes between its stations and its wired links."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from mptcplab.errors import Mistake
from mptcplab.fields import Misnomers, Whole, idle, text_matching, value_error
from mptcplab.node.base import NodeBase
from mptcplab.node.cell import CHANNELS, Mode, Power, RadioCell, Security
from mptcplab.node.context import NodeContext

_SSID = re.compile(r"[A-Za-z0-9_.-]{1,32}\Z")
#: IEEE Std 802.11-2016, J.4.1: 8 to 63 characters of ASCII. The configurations of hostapd and wpa_supplicant have it
#: in a line, and in quotation marks.
_PASSPHRASE = re.compile(r"(?! )[ !#-~]{8,63}(?<! )\Z")
_PASSPHRASES = "use 8 to 63 ASCII characters without quotation marks, the first and the last no space"
_LAST_2_4_GHZ = 14
_DEFAULT_CHANNELS = {"802.11b": 1, "802.11g": 1, "802.11a": 36, "802.11n": 1}


class AccessPoint(Power, NodeBase):
    """A Wi-Fi access point: stations reach it by links with a ``radio``, and it routes to its other links."""

    misnomers: ClassVar[Misnomers] = {
        "mode": ("standard", "phy", "hw_mode", "hwmode"),
        "channel": ("chan", "frequency", "freq"),
        "ssid": ("essid", "name", "network"),
        "preamble": ("short_preamble",),
        "guard_interval": ("gi", "sgi", "short_gi"),
        "beacon_tu": ("beacon", "beacon_int", "beacon_interval"),
        "security": ("encryption", "auth", "wpa"),
        "passphrase": ("password", "psk", "key", "wpa_passphrase"),
    }

    kind = "access-point"
    table = "access_points"
    table_misnomers = ("access_point", "aps", "ap", "base_stations")
    forwards = True
    packages: ClassVar[Mapping[str, str]] = {"wpa_supplicant": "wpasupplicant"}
    example: ClassVar[Mapping[str, Any]] = {"position": [0, 0]}
    corner = 32

    mode: Mode = Field(
        default="802.11g",
        description="standard of its radio; 802.11n is HT in 20 MHz, with aggregates",
        examples=["802.11b"],
    )
    channel: Whole | None = Field(
        default=None,
        description="channel: 1 to 11, or 36, 40, 44 or 48 (5 GHz) of 802.11a and n; default: 1, and 36 for 802.11a. "
        "Channels do not disturb each other",
    )
    ssid: (
        Annotated[
            str,
            text_matching(_SSID, "is not a name for a Wi-Fi network", "use up to 32 letters, digits, '.', '-' or '_'"),
        ]
        | None
    ) = Field(default=None, description="name of its network; default: the node's name", examples=["office"])
    preamble: Literal["long", "short"] = Field(
        default="short", description="of frames of 802.11b above 1 Mbit/s; long suits stations without short ones, too"
    )
    guard_interval: Literal["long", "short"] = Field(
        default="long",
        description="between symbols of 802.11n: 800 ns, or also 400 ns, where rate control finds it better",
    )
    beacon_tu: Annotated[Whole, Field(ge=15, le=65535)] = Field(
        default=100, description="interval of its beacons in units of 1024 us", examples=[1000]
    )

    security: Security = Field(
        default="open", description="how frames are protected: not at all, by WPA2-PSK or by WPA3-SAE, both with CCMP"
    )
    passphrase: Annotated[str, text_matching(_PASSPHRASE, "is not a passphrase of WPA", _PASSPHRASES)] | None = Field(
        default=None, description="of the network, which its stations know", examples=["correct horse"]
    )

    @model_validator(mode="after")
    def _check_security(self) -> AccessPoint:
        if self.security == "open" and self.passphrase is not None:
            raise idle("does nothing in an open network", 'add security = "wpa2" or "wpa3"', "passphrase")
        if self.security != "open" and self.passphrase is None:
            hint = 'add passphrase = "correct horse", or whatever has 8 to 63 characters'
            raise value_error("needs a passphrase", hint, "security", kind=Mistake.MISSING)
        return self

    @model_validator(mode="after")
    def _check_channel(self) -> AccessPoint:
        channels = CHANNELS[self.mode]
        if self.channel is not None and self.channel not in channels:
            raise value_error(f"is not a channel of {self.mode} here", f"use {_choice(channels)}", "channel")
        return self

    @model_validator(mode="after")
    def _check_guard_interval(self) -> AccessPoint:
        if self.mode != "802.11n" and self.is_set("guard_interval"):
            hint = 'remove it, or write mode = "802.11n"'
            raise idle(f"does nothing with {self.mode}, whose guard interval is fixed", hint, "guard_interval")
        return self

    def cell(self, name: str) -> RadioCell:
        """See the base class."""
        return RadioCell(
            ssid=self.ssid or name,
            mode=self.mode,
            channel=self.channel or _DEFAULT_CHANNELS[self.mode],
            short_preamble=self.preamble == "short",
            beacon_tu=self.beacon_tu,
            power_dbm=self.power_dbm,
            security=self.security,
            passphrase=self.passphrase,
            short_guard=self.guard_interval == "short",
        )

    def description(self, context: NodeContext) -> dict[str, Any]:
        """Return the description with its mode, channel and network."""
        cell = self.cell(context.name)
        radio = {"mode": cell.mode, "channel": cell.channel, "ssid": cell.ssid, "power_dbm": self.power_dbm}
        protection = {"security": self.security} if self.security != "open" else {}
        return {**super().description(context), **radio, **protection}

    @classmethod
    def caption(cls, described: Mapping[str, Any]) -> str:
        """See the base class."""
        channel = described.get("channel") or _DEFAULT_CHANNELS[described["mode"]]
        radio = (described["mode"], f"channel {channel}", described.get("security", "").upper())
        parts = (", ".join(part for part in radio if part), super().caption(described))
        return "; ".join(part for part in parts if part)


def _choice(channels: Sequence[int]) -> str:
    """Return the words for a choice of ``channels``: a range, then the 5 GHz band's, where numbers skip."""
    low = [channel for channel in channels if channel <= _LAST_2_4_GHZ]
    words = [f"from {low[0]} to {low[-1]}"] if low else []
    return ", ".join([*words, *(str(channel) for channel in channels if channel > _LAST_2_4_GHZ)])
