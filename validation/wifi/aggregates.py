# SPDX-License-Identifier: MIT
"""Saturation of 802.11n with aggregates of MPDUs and block acknowledgements.

Bianchi's chain with the durations of A-MPDUs in place of single frames, as Ginzburg and Kesselman, "Performance
analysis of A-MPDU and A-MSDU aggregation in IEEE 802.11n", IEEE Sarnoff Symposium, 2007, have it. It assumes that:

- every station always has enough frames for the longest aggregate,
- no bits are lost, so that an aggregate arrives as a whole or, after a collision, not at all,
- an aggregate is repeated as it is, with a window that doubles, until its attempts are over,
- the attempts after the first ``plain`` ones begin with RTS and CTS. minstrel_ht asks for that at all rates but its
  first. Such a collision lasts as long as the RTS, if none of the frames that collide has none.

Durations are computed here, apart from the program that is calibrated. Clauses refer to IEEE Std 802.11-2016.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from validation.wifi.bianchi import ACK_BYTES, DOT11G, FCS_BYTES, Phy, Saturation, busy, fixed_point

_DELIMITER_BYTES = 4
_ALIGNMENT_BYTES = 4
#: The compressed block acknowledgement (9.3.1.9.3), with its FCS.
BLOCK_ACK_BYTES = 32
_RTS_BYTES, _CTS_BYTES = 20, 14
#: Preambles of HT-mixed format with one space-time stream, L-SIG and HT-SIG (19.4.3, table 19-6).
_HT_HEADER_US = 36
_SYMBOL_US, _SHORT_SYMBOL_US = 4.0, 3.6
#: Bits of SERVICE and of the tail in a symbol stream.
_EXTRA_BITS = 22
#: Data bits per symbol in 20 MHz with one stream, by MCS (table 19-27).
DATA_BITS = (26, 52, 78, 104, 156, 208, 234, 260)
#: Limits of an aggregate: MPDUs by the window, bytes by the receiver (table 9-162), microseconds by the sender, as
#: Linux's drivers have it (ath9k).
MAX_MPDUS = 64
MAX_BYTES = 65535
MAX_US = 4000


@dataclass(frozen=True)
class Ht:
    """802.11n at one MCS, with the channel access of ``access`` and responses at ``response_mbps``."""

    name: str
    access: Phy
    mcs: int
    response_mbps: float
    short_guard: bool = False

    @property
    def mbps(self) -> float:
        """The rate of the MCS."""
        return DATA_BITS[self.mcs] / (_SHORT_SYMBOL_US if self.short_guard else _SYMBOL_US)

    def frame_us(self, size: int) -> float:
        """Return the duration of a PPDU with a PSDU of ``size`` bytes (19.4.3)."""
        symbols = math.ceil((_EXTRA_BITS + 8 * size) / DATA_BITS[self.mcs])
        if self.short_guard:
            symbols = math.ceil(symbols * _SHORT_SYMBOL_US / _SYMBOL_US - 1e-9)
        return _HT_HEADER_US + _SYMBOL_US * symbols + self.access.extension_us

    def psdu(self, mpdus: int, mpdu: int) -> int:
        """Return the bytes of an aggregate of MPDUs with ``mpdu`` bytes before the FCS; the last has no padding."""
        size = _DELIMITER_BYTES + mpdu + FCS_BYTES
        padded = math.ceil(size / _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES
        return padded * (mpdus - 1) + size

    def mpdus(self, mpdu: int) -> int:
        """Return how many of these MPDUs the longest aggregate has."""
        fitting = (
            count
            for count in range(MAX_MPDUS, 0, -1)
            if self.psdu(count, mpdu) <= MAX_BYTES and self.frame_us(self.psdu(count, mpdu)) <= MAX_US
        )
        return next(fitting, 1)

    def success_us(self, mpdu: int, *, announced: bool) -> float:
        """Return how long the channel is taken by an aggregate that is received."""
        block_ack = self.access.frame_us(self.response_mbps, BLOCK_ACK_BYTES)
        exchange = self._aggregate_us(mpdu) + self.access.sifs_us + block_ack + self.access.difs_us
        if not announced:
            return exchange
        clear_to_send = self.access.frame_us(self.response_mbps, _CTS_BYTES)
        return self._rts_us + self.access.sifs_us + clear_to_send + self.access.sifs_us + exchange

    def collision_us(self, mpdu: int, *, announced: bool) -> float:
        """Return the same for a collision, after which all wait for an EIFS."""
        frame = self._rts_us if announced else self._aggregate_us(mpdu)
        supposed = self.access.frame_us(self.access.lowest_mbps, ACK_BYTES)
        return frame + self.access.sifs_us + supposed + self.access.difs_us

    @property
    def _rts_us(self) -> float:
        return self.access.frame_us(self.response_mbps, _RTS_BYTES)

    def _aggregate_us(self, mpdu: int) -> float:
        return self.frame_us(self.psdu(self.mpdus(mpdu), mpdu))


#: The highest rate of one stream in 20 MHz, in the 2.4 GHz band. WMM's best effort has DCF's windows and 3 slots.
DOT11N = Ht("802.11n", DOT11G, mcs=7, response_mbps=24)


def saturation(ht: Ht, stations: int, *, mpdu: int, payload: int, plain: int, attempts: int) -> Saturation:
    """Return the fixed point for ``stations`` that always have a full aggregate of MPDUs of ``mpdu`` bytes.

    ``payload`` bytes of each MPDU count. An aggregate is given up after ``attempts``, of which the first ``plain`` are
    not announced by an RTS.
    """
    tau = fixed_point(ht.access, stations, attempts)
    collision = busy(tau, stations)
    made = [collision**stage for stage in range(attempts)]
    announced = sum(made[plain:]) / sum(made)
    idle = (1 - tau) ** stations
    success = stations * tau * (1 - tau) ** (stations - 1)
    # Nobody sends without an RTS, and more than one with it.
    short = (1 - tau + announced * tau) ** stations - idle - announced * success
    long = 1 - idle - success - short
    slot_us = idle * ht.access.slot_us
    slot_us += short * ht.collision_us(mpdu, announced=True) + long * ht.collision_us(mpdu, announced=False)
    slot_us += success * announced * ht.success_us(mpdu, announced=True)
    slot_us += success * (1 - announced) * ht.success_us(mpdu, announced=False)
    return Saturation(tau, collision, success * 8 * payload * ht.mpdus(mpdu) / slot_us)
