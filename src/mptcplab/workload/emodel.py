# SPDX-License-Identifier: MIT
"""The quality of a call: the E-model of ITU-T G.107 (06/2015), with its defaults for everything but the network.

    R = Ro - Is - Id - Ie,eff        Ro - Is = 93.2 with all defaults (G.107, 7.7)
    Id      = 0.024 d + 0.11 (d - 177.3) H(d - 177.3)          d: one-way delay from mouth to ear, ms
    Ie,eff  = Ie + (95 - Ie) Ppl / (Ppl / BurstR + Bpl)         G.107, 7.5; Ppl: lost packets, %

The formula of Id is from Cole and Rosenbluth, Voice over IP Performance Monitoring, ACM CCR 31(2), 2001, who fitted
G.107's curve. G.711 has Ie = 0 and, with packet loss concealment, Bpl = 25.1 (G.113, Appendix I). Losses are assumed
to be random (BurstR = 1).
"""

from __future__ import annotations

_UNIMPAIRED = 93.2
_IE, _BPL, _BURST_RATIO = 0.0, 25.1, 1.0
_KNEE_MS = 177.3


def r_factor(delay_ms: float, lost_percent: float) -> float:
    """Return the rating, 0 to 93.2, of a call with this mouth-to-ear delay and this loss, late packets included."""
    delay = 0.024 * delay_ms + 0.11 * max(0.0, delay_ms - _KNEE_MS)
    loss = _IE + (95 - _IE) * lost_percent / (lost_percent / _BURST_RATIO + _BPL)
    return max(0.0, _UNIMPAIRED - delay - loss)


def mean_opinion_score(rating: float) -> float:
    """Return the mean opinion score of a rating (G.107, Annex B), from 1, bad, to 4.5, the best."""
    if rating <= 0:
        return 1.0
    if rating >= 100:
        return 4.5
    # Between 0 and 6.5 the polynomial of Annex B is slightly below 1, the minimum of scores.
    return max(1.0, 1 + 0.035 * rating + rating * (rating - 60) * (100 - rating) * 7e-6)
