# SPDX-License-Identifier: MIT
"""The pure parts of tools/radio as a library, and references for error rates that several tests need."""

from __future__ import annotations

import ctypes
import itertools
import math
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
SOURCE = ROOT / "tools" / "radio"
#: Generators of the code of 802.11 (17.3.5.6), and the bits that stay of each period when punctured (19.3.11.6).
GENERATORS = (0o133, 0o171)
PUNCTURED = {
    1: [(1, 1)],
    2: [(1, 1), (1, 0)],
    3: [(1, 1), (1, 0), (0, 1)],
    5: [(1, 1), (1, 0), (0, 1), (1, 0), (0, 1)],
}


def compile_parts(folder: Path) -> ctypes.CDLL:
    """Return the library, made in a folder."""
    file = folder / "parts.so"
    parts = [SOURCE / f"{name}.c" for name in ("blockack", "error_rate", "propagation", "random", "timing")]
    words = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-std=gnu11", "-D_GNU_SOURCE", "-ffp-contract=off"]
    words += ["-shared", "-fPIC", f"-I{SOURCE}", "-o", str(file), str(Path(__file__).with_name("library.c"))]
    subprocess.run([*words, *map(str, parts), "-lm"], check=True)
    made = ctypes.CDLL(str(file))
    for name in ("bit_error_rate", "bits_success", "path_loss_db", "shadowing_db", "x_at"):
        getattr(made, f"test_{name}").restype = ctypes.c_double
    made.test_frame_ns.restype = made.test_bytes_ns.restype = ctypes.c_int64
    made.test_scoreboard.restype = ctypes.c_uint64
    return made


@dataclass(frozen=True)
class Parts:
    """The parts of 802.11n, with types of Python."""

    library: ctypes.CDLL

    def frame_ns(self, mhz: int, number: int, size: int) -> int:
        return int(self.library.test_frame_ns(mhz, number, 0, size))

    def bytes_ns(self, number: int, size: int) -> int:
        return int(self.library.test_bytes_ns(number, size))

    def mcs_number(self, mcs: int, *, short: bool) -> int:
        return int(self.library.test_mcs_number(mcs, short))

    def mcs_index(self, mhz: int, number: int) -> int:
        return int(self.library.test_mcs_index(mhz, number))

    def response_kbps(self, number: int, basic: int) -> int:
        return int(self.library.test_response_kbps(number, basic))

    def bit_error_rate(self, number: int, sinr: float) -> float:
        return float(self.library.test_bit_error_rate(number, ctypes.c_double(sinr)))

    def bits_success(self, number: int, sinr: float, bits: float) -> float:
        return float(self.library.test_bits_success(number, ctypes.c_double(sinr), ctypes.c_double(bits)))

    def scoreboard(self, numbers: Sequence[int], begin: int) -> int:
        """Return the bits of the 64 frames from ``begin`` on that are acknowledged after ``numbers``."""
        values = (ctypes.c_int * len(numbers))(*numbers)
        return int(self.library.test_scoreboard(values, len(numbers), begin))


def q(x: float) -> float:
    return 0.5 * math.erfc(x / math.sqrt(2))


def union_bound(carrier: int, snr: float, code_in: int, weights: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """Return Bhattacharyya's parameter D, and the union bound over a code's first weights, for square QAM with OFDM.

    ``carrier`` is the number of bits on a subcarrier, ``snr`` the ratio on it.
    """
    # Of square QAM: neighbours per bit, and half the distance between two.
    wrong = {1: q(math.sqrt(2 * snr)), 2: q(math.sqrt(snr)), 4: 0.75 * q(math.sqrt(snr / 5))}.get(
        carrier, 7 / 12 * q(math.sqrt(snr / 21))
    )
    d = math.sqrt(4 * wrong * (1 - wrong))
    return d, sum(bits * d**distance for distance, bits in weights) / (2 * code_in)


def spectrum(code_in: int, count: int) -> list[tuple[int, int]]:
    """Distances of the punctured code and the wrong information bits there, by walking its trellis."""
    pattern = PUNCTURED[code_in]
    counts: Counter[int] = Counter()
    limit = {1: 26, 2: 12, 3: 10, 5: 8}[code_in]
    for begin in range(code_in):
        # State -> distance -> (paths, wrong bits): all paths that leave the zero state here and have not come back.
        states: dict[int, dict[int, tuple[int, int]]] = {}
        current = {0: {0: (1, 0)}}
        for step in itertools.count():
            keep = pattern[(begin + step) % code_in]
            states = {}
            for state, distances in current.items():
                for bit in (1,) if step == 0 else (0, 1):
                    register = bit << 6 | state
                    weight = sum(k * (bin(register & g).count("1") & 1) for g, k in zip(GENERATORS, keep, strict=True))
                    for distance, (paths, bits) in distances.items():
                        new = distance + weight
                        if new > limit:
                            continue
                        if register >> 1 == 0:
                            counts[new] += bits
                            continue
                        at = states.setdefault(register >> 1, {})
                        old_paths, old_bits = at.get(new, (0, 0))
                        at[new] = (old_paths + paths, old_bits + bits + bit * paths)
            current = states
            if not current:
                break
    return sorted(counts.items())[:count]
