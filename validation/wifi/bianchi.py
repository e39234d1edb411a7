# SPDX-License-Identifier: MIT
"""Saturation of 802.11's DCF: Bianchi, "Performance analysis of the IEEE 802.11 distributed coordination function",
IEEE JSAC 18(3), 2000.

A frame is given up after a number of attempts, as Wu et al., "Performance of reliable transport protocol over IEEE
802.11 wireless LAN", INFOCOM 2002, add to it. Durations are computed here, apart from the program that is calibrated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

ACK_BYTES = 14
FCS_BYTES = 4


@dataclass(frozen=True)
class Phy:
    """The contention window, slot and rates (Mbit/s) that all stations of a network use."""

    name: str
    cw_min: int
    cw_max: int
    slot_us: float
    rate_mbps: float
    ack_mbps: float
    lowest_mbps: float
    """Rate of the ACK that EIFS supposes."""
    ofdm: bool
    aifs: int
    """Slots of the interframe space after a SIFS."""
    short_preamble: bool = False
    sifs_us: float = 10
    extension_us: float = 6
    """Silence that belongs to a frame of OFDM in the 2.4 GHz band."""

    def frame_us(self, mbps: float, size: int) -> float:
        """Return the duration of a frame of ``size`` bytes with its FCS (802.11-2016, 16.2.3.5, 17.4.3, 18.3.2.4)."""
        if self.ofdm:
            return 20 + 4 * math.ceil((16 + 8 * size + 6) / (4 * mbps)) + self.extension_us
        preamble = 96 if self.short_preamble and mbps > 1 else 192
        return preamble + math.ceil(8 * size / mbps)

    @property
    def difs_us(self) -> float:
        """Interframe space before a frame; DIFS where ``aifs`` is 2."""
        return self.sifs_us + self.aifs * self.slot_us

    def success_us(self, size: int) -> float:
        """Return how long the channel is taken by a frame that is received, with ``size`` bytes before the FCS."""
        frame = self.frame_us(self.rate_mbps, size + FCS_BYTES)
        return frame + self.sifs_us + self.frame_us(self.ack_mbps, ACK_BYTES) + self.difs_us

    def collision_us(self, size: int) -> float:
        """Return the same for frames that collide: all wait for an EIFS."""
        frame = self.frame_us(self.rate_mbps, size + FCS_BYTES)
        return frame + self.sifs_us + self.frame_us(self.lowest_mbps, ACK_BYTES) + self.difs_us


# Stations of mac80211 keep the AIFS of best effort, 3 slots, where the access point announces no parameters.
DOT11B = Phy("802.11b", 31, 1023, 20, 11, 11, 1, ofdm=False, aifs=3)
DOT11G = Phy("802.11g", 15, 1023, 9, 54, 54, 6, ofdm=True, aifs=3)
DOT11A = Phy("802.11a", 15, 1023, 9, 54, 54, 6, ofdm=True, aifs=3, sifs_us=16, extension_us=0)


@dataclass(frozen=True)
class Saturation:
    """Transmission probability per slot, collision probability per attempt, and goodput of the network."""

    tau: float
    collision: float
    goodput_mbps: float


def saturation(phy: Phy, stations: int, *, mpdu: int, payload: int, attempts: int) -> Saturation:
    """Return the fixed point for ``stations`` that always have a frame of ``mpdu`` bytes (without FCS).

    ``payload`` bytes of it count; it is given up after ``attempts``.
    """
    tau = fixed_point(phy, stations, attempts)
    idle, success, collision = _slots(tau, stations)
    slot_us = idle * phy.slot_us + success * phy.success_us(mpdu) + collision * phy.collision_us(mpdu)
    return Saturation(tau, busy(tau, stations), success * 8 * payload / slot_us)


def with_a_slow_station(fast: Phy, slow: Phy, stations: int, *, mpdu: int, payload: int, attempts: int) -> float:
    """Return the goodput of each of ``stations`` in Mbit/s, of which one sends at the rate of ``slow``.

    All get the channel equally often, so they have the same goodput: the anomaly of Heusse et al., "Performance anomaly
    of 802.11b", INFOCOM 2003. A collision lasts as long as its longest frame.
    """
    tau = fixed_point(fast, stations, attempts)
    idle, success, collision = _slots(tau, stations)
    among_fast = (1 - tau) * _slots(tau, stations - 1)[2]
    slot_us = idle * fast.slot_us
    slot_us += success / stations * ((stations - 1) * fast.success_us(mpdu) + slow.success_us(mpdu))
    slot_us += among_fast * fast.collision_us(mpdu) + (collision - among_fast) * slow.collision_us(mpdu)
    return success / stations * 8 * payload / slot_us


def _slots(tau: float, stations: int) -> tuple[float, float, float]:
    """Return the probabilities that nobody sends in a slot, one station, and several."""
    idle = (1 - tau) ** stations
    success = stations * tau * (1 - tau) ** (stations - 1)
    return idle, success, 1 - idle - success


def busy(tau: float, stations: int) -> float:
    """Return the probability that one of the other stations sends in a slot."""
    return 1 - (1 - tau) ** (stations - 1)


def _attempt_rate(phy: Phy, collision: float, attempts: int) -> float:
    """Return attempts per slot of a station: over a frame's life, attempts over slots of backoff and of attempts."""
    windows = [min((phy.cw_min + 1) << stage, phy.cw_max + 1) for stage in range(attempts)]
    made = [collision**stage for stage in range(attempts)]
    return sum(made) / sum(part * (window + 1) / 2 for part, window in zip(made, windows, strict=True))


def fixed_point(phy: Phy, stations: int, attempts: int) -> float:
    """Return the attempts per slot of each station; none depends on how long frames last."""
    low, high = 0.0, 1.0
    for _ in range(100):
        tau = (low + high) / 2
        # The rate falls as collisions grow with tau, so there is one crossing.
        if _attempt_rate(phy, busy(tau, stations), attempts) > tau:
            low = tau
        else:
            high = tau
    return (low + high) / 2
