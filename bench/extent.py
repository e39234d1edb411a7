# SPDX-License-Identifier: MIT
"""The extent of each part of the benchmark: the full measurement, or a minimal check that it works."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Extent:
    """Durations, in virtual seconds unless stated otherwise, and the positions of the curves."""

    real_time_s: float = 60
    #: Duration by rate in bit/s.
    ns3_s: dict[int, float] = field(default_factory=lambda: {100_000_000: 60, 1_000_000_000: 10})
    #: Real seconds of the flow through this machine's own kernel, and virtual seconds of the same in the lab.
    native_s: float = 3
    unshaped_s: float = 2
    #: Intervals between reads of receivers, in microseconds; the best counts on either side.
    quanta_us: tuple[int, ...] = (0, 100, 1000)
    algorithms_s: float = 60
    #: None: all our congestion controls and schedulers.
    algorithms: tuple[str, ...] | None = None
    sweep_runs: int = 500
    #: Durations of a sweep whose runs take from half a second to several, so that their number does not measure time.
    mixed_s: tuple[float, ...] = (0.1, 5, 40)
    mixed_repeats: int = 6
    #: Duration by rate, so that slow links carry enough packets for a cost well above the cost of booting.
    rates: dict[str, float] = field(
        default_factory=lambda: {
            "10 Mbit/s": 200,
            "30 Mbit/s": 100,
            "100 Mbit/s": 50,
            "300 Mbit/s": 20,
            "1 Gbit/s": 10,
            "2 Gbit/s": 5,
            "10 Gbit/s": 2,
        }
    )
    flows: tuple[int, ...] = (1, 4, 16, 64, 128, 256, 1000)
    flows_s: float = 5
    hops: tuple[int, ...] = (1, 2, 4, 8, 16)
    hops_s: float = 10
    #: Hosts around one router, a lab has 250 nodes at most; their flows have 1 Gbit/s together.
    hosts: tuple[int, ...] = (2, 8, 32, 128, 248)
    hosts_s: float = 5
    subflows: tuple[int, ...] = (1, 2, 4, 8)
    subflows_s: float = 10
    #: Time between samples.
    samples: tuple[str, ...] = ("1 s", "100 ms", "10 ms", "1 ms")
    samples_s: float = 20


FULL = Extent()
#: Takes seconds of wall time per part; `make test` runs them all. Its numbers are meaningless.
SMOKE = Extent(
    real_time_s=1,  # iperf3 accepts only whole seconds
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
    hosts=(2, 4),
    hosts_s=0.1,
    subflows=(1, 2),
    subflows_s=0.2,
    samples=("1 s", "10 ms"),
    samples_s=0.2,
)
