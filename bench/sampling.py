# SPDX-License-Identifier: MIT
"""``python -m bench.sampling``: the CPU time of one sample of the sockets of two hosts, on this machine.

It is the CPU time of a lab with many samples less the CPU time of the same lab without them, divided by their number.
The hosts have one MPTCP connection with two subflows, which is idle, so that sampling alone makes the difference.
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import replace
from typing import Literal

from bench import lab, scenarios
from mptcplab.steps import Program

_INTERVAL_NS = 1_000_000
_MPTCP = 262
_NEVER_NS = 10**12
_SERVER = f"""
import socket, time
listener = socket.socket(proto={_MPTCP})
listener.bind(("", 5001))
listener.listen()
accepted = listener.accept()
time.sleep(10**6)
"""
_CLIENT = f"""
import socket, sys, time
connected = socket.socket(proto={_MPTCP})
connected.connect(("10.0.2.2", 5001))
connected.sendall(bytes(100_000))
time.sleep(int(sys.argv[1]))
"""


def main() -> None:
    """Measure, and print the median and the range."""
    parser = argparse.ArgumentParser(prog="python -m bench.sampling", description=__doc__)
    parser.add_argument("--seconds", type=int, default=20, help="virtual seconds with a sample each ms; default 20")
    parser.add_argument("--repeats", type=int, default=3, help="repeats; default 3")
    arguments = parser.parse_args()
    costs = [cost_us(arguments.seconds) for _ in range(arguments.repeats)]
    print(f"{statistics.median(costs):.0f} us of CPU time per sample ({min(costs):.0f} to {max(costs):.0f})")


def cost_us(seconds: int) -> float:
    """Return the CPU time of one sample in us, from a lab of ``seconds`` with samples and one without."""
    workload = _workload(seconds)
    without = lab.measure(workload).usage
    plan = replace(workload.plan, sampled=("client", "server"))
    sampled = lab.measure(replace(workload, plan=plan)).usage
    return 1e6 * (sampled.cpu - without.cpu) / (seconds * 1e9 / _INTERVAL_NS)


def _workload(seconds: int) -> lab.Workload:
    programs = (_program("server", "server", _SERVER), _program("client", "client", _CLIENT, str(seconds)))
    workload = lab.workload_of(scenarios.two_paths("flow", "1 s"))
    nothing = replace(workload.plan, counters=(), sampled=(), watched=(), queues=(), events=())
    return replace(workload, plan=replace(nothing, programs=programs, sample_interval_ns=_INTERVAL_NS))


def _program(node: str, role: Literal["server", "client"], code: str, *words: str) -> Program:
    return Program(node, node, role, ("python3", "-IS", "-c", code, *words), 0, _NEVER_NS)


if __name__ == "__main__":
    main()
