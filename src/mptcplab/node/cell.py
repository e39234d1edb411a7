# SPDX-License-Identifier: MIT
"""The radio cell of an access point: its mode and channel, and what hostapd and wpa_supplicant are told of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from mptcplab.fields import Misnomers, Number, Part

Mode = Literal["802.11b", "802.11g", "802.11a", "802.11n"]
Security = Literal["open", "wpa2", "wpa3"]
#: Channels that every regulatory domain allows, and where no radar has to be avoided.
_CHANNELS_2_4_GHZ = tuple(range(1, 12))
_CHANNELS_5_GHZ = (36, 40, 44, 48)
CHANNELS: dict[str, tuple[int, ...]] = {
    "802.11b": _CHANNELS_2_4_GHZ,
    "802.11g": _CHANNELS_2_4_GHZ,
    "802.11a": _CHANNELS_5_GHZ,
    "802.11n": (*_CHANNELS_2_4_GHZ, *_CHANNELS_5_GHZ),
}
#: Seconds between scans for another access point, with a weak and with a good signal.
_SCAN_S, _SELDOM_S = 2, 60
#: How stations and access points agree on keys, and whether management frames are protected (802.11w): 0 for never, 2
#: for always, which WPA3 requires.
_KEY_MANAGEMENT = {"wpa2": "WPA-PSK", "wpa3": "SAE"}
_PROTECTED_MANAGEMENT = {"wpa2": 0, "wpa3": 2}
#: Rates of 802.11b, for ``iw``: by default mac80211 on both sides would use rates of 802.11g too.
_RATES_B = ("legacy-2.4", "1", "2", "5.5", "11")


Dbm = Annotated[Number, Field(ge=-30, le=40)]


class Power(Part):
    """The key of everything that transmits."""

    misnomers: ClassVar[Misnomers] = {
        "power_dbm": ("power", "tx_power", "txpower", "tx_power_dbm"),
    }

    power_dbm: Dbm = Field(default=16.0, description="transmit power with the antenna's gain, in dBm", examples=[20])


@dataclass(frozen=True)
class RadioCell:
    """The properties that the stations of a cell have in common.

    ``beacon_tu`` is the beacons' interval in units of 1024 us. ``passphrase`` is for the
    network, None of an open one. ``short_guard`` allows the guard interval of 400 ns between symbols of 802.11n.
    """

    ssid: str
    mode: Mode
    channel: int
    short_preamble: bool
    beacon_tu: int
    power_dbm: float
    security: Security = "open"
    passphrase: str | None = None
    short_guard: bool = False

    @property
    def is_5_ghz(self) -> bool:
        """Return whether the channel is in the 5 GHz band."""
        return self.channel in _CHANNELS_5_GHZ

    @property
    def mhz(self) -> int:
        """The frequency of the channel (IEEE Std 802.11-2016, 15.4.4.3 and 17.3.8.4.2)."""
        return 5000 + 5 * self.channel if self.is_5_ghz else 2407 + 5 * self.channel

    @property
    def typical_bps(self) -> float:
        """Roughly what one station nearby gets, to estimate how long a run takes (docs/wifi.md has measured it)."""
        return {"802.11b": 6e6, "802.11n": 55e6}.get(self.mode, 25e6)

    @property
    def bitrates(self) -> tuple[str, ...]:
        """The words of ``iw dev DEVICE set bitrates`` for all its radios; none if all rates of the band are used."""
        return _RATES_B if self.mode == "802.11b" else ()

    def hostapd(self, device: str, bridge: str | None = None) -> Iterator[str]:
        """Yield the lines of hostapd's configuration; with a ``bridge``, hostapd makes the device a port of it."""
        yield f"interface={device}"
        if bridge is not None:
            yield f"bridge={bridge}"
        yield "driver=nl80211"
        yield f"ssid={self.ssid}"
        yield f"hw_mode={'a' if self.is_5_ghz else 'b' if self.mode == '802.11b' else 'g'}"
        yield f"channel={self.channel}"
        yield f"beacon_int={self.beacon_tu}"
        yield f"preamble={int(self.short_preamble)}"
        yield from self._hostapd_of_mode()
        if self.passphrase is not None:
            yield "wpa=2"
            yield f"wpa_key_mgmt={_KEY_MANAGEMENT[self.security]}"
            yield "rsn_pairwise=CCMP"
            yield f"wpa_passphrase={self.passphrase}"
            yield f"ieee80211w={_PROTECTED_MANAGEMENT[self.security]}"

    def _hostapd_of_mode(self) -> Iterator[str]:
        """Yield the lines of hostapd that its mode needs. Only 802.11n has WMM, without which there is no HT."""
        yield f"wmm_enabled={int(self.mode == '802.11n')}"
        if self.mode == "802.11b":
            yield "supported_rates=10 20 55 110"
            yield "basic_rates=10 20"
        if self.mode == "802.11n":
            yield "ieee80211n=1"
            # Without it hostapd also hides from the kernel that stations can receive it.
            if self.short_guard:
                yield "ht_capab=[SHORT-GI-20]"


def network_lines(cells: Mapping[str, RadioCell], roam_below_dbm: float | None) -> Iterator[str]:
    """Yield the lines of wpa_supplicant's network, with the ``cells`` of its access points by their addresses.

    Below ``roam_below_dbm`` it scans every two seconds for another one, and above it once a minute.
    """
    channels = " ".join(dict.fromkeys(str(cell.mhz) for cell in cells.values()))
    first = next(iter(cells.values()))
    yield f'ssid="{first.ssid}"'
    if first.passphrase is None:
        yield "key_mgmt=NONE"
    else:
        yield f"key_mgmt={_KEY_MANAGEMENT[first.security]}"
        yield "pairwise=CCMP"
        yield f'psk="{first.passphrase}"'
        yield f"ieee80211w={_PROTECTED_MANAGEMENT[first.security]}"
    yield f"scan_freq={channels}"
    if len(cells) == 1:
        yield f"bssid={next(iter(cells))}"
        return
    yield f"freq_list={channels}"
    yield f"bssid_accept={' '.join(f'{mac}/ff:ff:ff:ff:ff:ff' for mac in cells)}"
    if roam_below_dbm is not None:
        yield f'bgscan="simple:{_SCAN_S}:{roam_below_dbm:g}:{_SELDOM_S}"'
