# SPDX-License-Identifier: MIT
"""802.11's DCF, one slot after the other: a second reference, without Bianchi's assumption of independent attempts.

The standard counts a slot only when it was idle. So the slot after a frame belongs to stations that have just drawn 0,
and not to the others: Tinnirello, Bianchi and Xiao, "Refinements on IEEE 802.11 distributed coordination function
modeling approaches", IEEE Transactions on Vehicular Technology 59(3), 2010.
"""

from __future__ import annotations

import random

from validation.wifi.bianchi import Phy

_ATTEMPTS = 200_000


def collision_probability(phy: Phy, stations: int, *, attempts: int, seed: int = 1) -> float:
    """Return collisions per attempt of ``stations`` that always send and give a frame up after ``attempts``."""
    draws = random.Random(seed)
    failures = [0] * stations
    backoff = [draws.randint(0, phy.cw_min) for _ in range(stations)]
    made = collided = 0
    while made < _ATTEMPTS:
        idle = min(backoff)
        senders = [station for station in range(stations) if backoff[station] == idle]
        backoff = [slots - idle for slots in backoff]
        made += len(senders)
        if len(senders) > 1:
            collided += len(senders)
        for station in senders:
            failures[station] = (failures[station] + 1) % attempts if len(senders) > 1 else 0
            window = min((phy.cw_min + 1) << failures[station], phy.cw_max + 1)
            backoff[station] = draws.randint(0, window - 1)
    return collided / made
