# SPDX-License-Identifier: MIT
"""How much each part of the benchmark measures: all of it, or just enough to see that it works."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Extent:
    """Durations in virtual seconds unless said otherwise, and the positions of the curves."""

    real_time_s: float = 60
    #: By rate in bit/s.
    ns3_s: dict[int, float] = field(default_factory=lambda: {100_000_000: 60, 1_000_000_000: 10})
    #: Real seconds of the flow through this machine's own kernel, and virtual ones of the same in the lab.
    native_s: float = 3
    unshaped_s: float = 2
    #: How often receivers read, in microseconds; the best counts, on either side.
    quanta_us: tuple[int, ...] = (0, 100, 1000)
    algorithms_s: float = 60
    #: None is every congestion control and scheduler of ours.
    algorithms: tuple[str, ...] | None = None
    sweep_runs: int = 500
    #: Durations of a sweep whose runs cost from half a second to several, so that their number is no measure of time.
    mixed_s: tuple[float, ...] = (0.1, 5, 40)
    mixed_repeats: int = 6
    #: Duration by rate, so that slow lines carry enough packets to be seen above the cost of booting.
    rates: dict[str, float] = field(
        default_factory=lambda: {
            "10 Mbit/s": 200,
            "30 Mbit/s": 100,
            "100 Mbit/s": 50,
            "300 Mbit/s": 20,
            "1 Gbit/s": 10,
            "2 Gbit/s": 5,
        }
    )
    flows: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 128)
    flows_s: float = 5
    hops: tuple[int, ...] = (1, 2, 4, 8, 16)
    hops_s: float = 10


FULL = Extent()
#: Seconds of wall time for each part: `make test` runs them all. Its numbers mean nothing.
SMOKE = Extent(
    real_time_s=1,  # iperf3 takes whole seconds
    ns3_s={100_000_000: 0.2, 1_000_000_000: 0.1},
    native_s=0.2,
    unshaped_s=0.1,
    quanta_us=(1000,),
    algorithms_s=0.2,
    algorithms=("lia", "minrtt"),
    sweep_runs=4,
    mixed_s=(0.1, 0.3),
    mixed_repeats=2,
    rates={"10 Mbit/s": 0.5, "100 Mbit/s": 0.2},
    flows=(1, 2),
    flows_s=0.1,
    hops=(1, 2),
    hops_s=0.2,
)
