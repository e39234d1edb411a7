# SPDX-License-Identifier: MIT
"""Make the traces of the ride: what two operators offer a phone in a train, second by second.

They are synthetic. Train, masts and radio are a textbook's; the rates beside a mast are from the lab's presets
mobile-2022 and lte-2014 (docs/events.md has their sources). The same seed gives the same files.
"""

import math
import random
from pathlib import Path

SEED = 2026
SECONDS = 90
SPEED = 160 / 3.6  # m/s: a regional express at 160 km/h
BETWEEN_MASTS = 2500  # m, of one operator
OFF_TRACK = 300  # m from a mast to the track
SNR_AT_MAST = 25  # dB
EXPONENT = 3.5  # of distance: between open land (2) and a town (4)
SHADOWING = 6  # dB: deviation of what hills, trees and cuttings take away or leave
SHADOW_LENGTH = 100  # m over which shadows are alike: their correlation falls to 1/e

# File: Mbit/s beside a mast (download), and where along the track the first mast stands, in m.
OPERATORS = {"operator1.csv": (54.64, 400), "operator2.csv": (14.7, 1650)}


def rates(peak: float, first_mast: float, draw: random.Random) -> list[float]:
    """Of every second: Shannon's capacity as a share of that beside a mast."""
    alike = math.exp(-SPEED / SHADOW_LENGTH)
    shadow = draw.gauss(0, SHADOWING)
    series = []
    for second in range(SECONDS):
        along = (SPEED * second - first_mast + BETWEEN_MASTS / 2) % BETWEEN_MASTS - BETWEEN_MASTS / 2
        distance = math.hypot(along, OFF_TRACK)
        snr = SNR_AT_MAST - 10 * EXPONENT * math.log10(distance / OFF_TRACK) + shadow
        share = math.log2(1 + 10 ** (snr / 10)) / math.log2(1 + 10 ** (SNR_AT_MAST / 10))
        series.append(peak * min(1, share))
        shadow = alike * shadow + math.sqrt(1 - alike**2) * draw.gauss(0, SHADOWING)
    return series


def main() -> None:
    draw = random.Random(SEED)
    for name, (peak, first_mast) in OPERATORS.items():
        comment = f"# A train ride of {SECONDS} s, synthetic: made by make_traces.py, seed {SEED}."
        lines = [comment, "time_s,rate_mbit_s"]
        lines += [f"{second},{rate:.2f}" for second, rate in enumerate(rates(peak, first_mast, draw))]
        (Path(__file__).parent / name).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
