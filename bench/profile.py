# SPDX-License-Identifier: MIT
"""Where a lab's CPU time goes: samples of `perf record`, by part of the lab kernel.

The cached kernel is stripped, but never moves: its System.map names the functions. The beginning of a name is enough to
find the part, as Linux names functions by subsystem.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench import lab

ROOT = Path(__file__).parents[1]
#: A program of Debian's package linux-perf.
PERF = "perf"
_FREQUENCY_HZ = 1999
#: How the functions of each part begin, after underscores; the first part that fits has the function.
_BEGINNINGS = {
    "clock and timers": "hrtimer tick time_ timer ktime clockevents do_idle cpuidle default_idle get_next_timer irq"
    " handle_ do_IRQ um_set_signals um_get_signals um_timer block_signals unblock_signals do_softirq raise_softirq rb_"
    " tasklet mod_timer run_timer deliver_ itimer add_interrupt fast_mix note_interrupt mtree sched_clock rcu"
    " update_process local_bh enqueue_hrtimer remove_hrtimer",
    "links' queues": "qdisc netem tbf pfifo ifb tc_ tcf mall sch_ netif_schedule net_tx fq_ codel bfifo prio_",
    "TCP and MPTCP": "tcp mptcp subflow inet_csk inet_lookup inet_ehash inet_sk sk_ sock_ lock_sock release_sock"
    " coupled olia lia balia wvegas cubic bictcp reno v09 minrtt lowest",
    "IP and devices": "ip_ ip6 ipv fib inet_ neigh eth_ veth netif dev_ napi net_rx process_backlog validate_xmit"
    " enqueue_to nf_ rt_ dst_ udp arp netdev xmit loopback",
    "packets in memory": "skb kmem kmalloc kfree alloc_skb csum memcpy memset consume_skb page free_ slab copy_to_iter"
    " build_skb alloc get_page rmqueue pskb clear_page",
}
_PROGRAMS = "programs and system calls"
_HOST = "host kernel"
PARTS = (*_BEGINNINGS, _PROGRAMS, _HOST)
_PROGRAM = """
import sys
from pathlib import Path
from bench import lab
lab.measure(lab.workload_of(Path(sys.argv[1]).read_text()))
"""


def shares(scenario: str) -> dict[str, float]:
    """Return the share of each of ``PARTS`` in the CPU time of a lab from its boot to its end. It needs ``PERF``."""
    with tempfile.TemporaryDirectory(prefix="mptcplab-bench-") as folder:
        file, data = Path(folder, "scenario.toml"), Path(folder, "perf.data")
        file.write_text(scenario)
        record = [PERF, "record", "-q", "-e", "cpu-clock", "-F", str(_FREQUENCY_HZ), "-o", str(data), "--"]
        subprocess.run([*record, sys.executable, "-c", _PROGRAM, str(file)], cwd=ROOT, check=True)
        script = [PERF, "script", "-i", str(data), "--comm", "linux", "-F", "ip,dso"]
        text = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    functions = _functions(lab.engine(lab.workload_of(scenario).kernel).kernel.path / "System.map")
    return count(text, functions)


def part_of(function: str) -> str:
    """Return the part of the kernel that a function belongs to."""
    name = function.lstrip("_")
    return next((part for part, words in _BEGINNINGS.items() if name.startswith(tuple(words.split()))), _PROGRAMS)


def _functions(system_map: Path) -> tuple[list[int], list[str]]:
    """Return the addresses and names of the kernel's functions, in the order of addresses."""
    rows = (line.split() for line in system_map.read_text().splitlines())
    symbols = sorted((int(address, 16), name) for address, kind, name in rows if kind in "tTwW")
    return [address for address, _ in symbols], [name for _, name in symbols]


def count(script: str, functions: tuple[Sequence[int], Sequence[str]]) -> dict[str, float]:
    """Return the shares by the lines of `perf script`, each an address and a file in parentheses."""
    addresses, names = functions
    counts = Counter[str]()
    for line in script.splitlines():
        address, _, file = line.strip().partition(" ")
        if "[kernel" in file:
            counts[_HOST] += 1
        elif file.rstrip(")").endswith("/linux"):
            counts[part_of(names[bisect_right(addresses, int(address, 16)) - 1])] += 1
        else:
            counts[_PROGRAMS] += 1
    return {part: counts[part] / max(1, counts.total()) for part in PARTS}
