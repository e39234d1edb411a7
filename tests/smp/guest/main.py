# SPDX-License-Identifier: MIT
"""Process 1: sets the machine up, starts what runs on it, waits, and reports what was done.

python3 -IS main.py FLOW_FOLDER SEED SECONDS SEARCH_PATH...
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

#: The second serial port, which QEMU writes to a file.
REPORT = "/dev/ttyS1"
TYPE_CHECKING = False
if TYPE_CHECKING:
    from tests.smp.guest import agent, talk
    from tests.smp.guest.choices import FIRST_ENDPOINTS, NODES, PATHS, add_prefix, endpoint, interface

    from mptcplab.guest import system

_TRANSFERS, _CALLS = 4, 3
#: The last connections and events end themselves meanwhile.
_PATIENCE_S = 60.0
_SETTINGS = {
    "net/ipv4/conf/all/rp_filter": "0",
    "net/ipv6/conf/all/keep_addr_on_down": "1",
    "net/ipv6/conf/default/accept_dad": "0",
    "net/ipv6/conf/all/accept_dad": "0",
    "net/mptcp/scheduler_opportunistic": "3",
    # Many failures follow each other here; MPTCP is to go on nevertheless.
    "net/mptcp/blackhole_timeout": "0",
    "net/mptcp/syn_retrans_before_tcp_fallback": "10",
    "net/mptcp/close_timeout": "5",
    "net/ipv4/tcp_orphan_retries": "2",
    "net/ipv4/tcp_retries2": "6",
    "net/ipv4/tcp_fin_timeout": "5",
}


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def _mounts() -> None:
    for folder, kind in (
        ("/dev", "devtmpfs"),
        ("/proc", "proc"),
        ("/sys", "sysfs"),
        ("/run", "tmpfs"),
        ("/tmp", "tmpfs"),
    ):
        system.mount(kind, folder, kind)
    os.makedirs(system.NAMESPACES)


def _nodes() -> None:
    # Namespaces may only default to congestion controls that are allowed to everyone.
    controls = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text()
    Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").write_text(controls)
    for node in NODES:
        _run("ip", "netns", "add", node)
    for path in PATHS:
        ends = [(interface(node, path), node) for node in NODES]
        (here, here_node), (there, there_node) = ends
        _run("ip", "link", "add", here, "netns", here_node, "type", "veth", "peer", "name", there, "netns", there_node)
    cpus = f"{(1 << (os.cpu_count() or 1)) - 1:x}"
    for node in NODES:
        # A plain kernel does not have all of them.
        script = [f"[ ! -e /proc/sys/{file} ] || echo {text} > /proc/sys/{file}" for file, text in _SETTINGS.items()]
        script += ["ip link set lo up", "ip mptcp limits set subflow 8 add_addr_accepted 8"]
        for path in PATHS:
            name = interface(node, path)
            # What arrives is processed on the CPU that its addresses and ports lead to: subflows on different ones.
            script += [f"echo {cpus} > /sys/class/net/{name}/queues/rx-0/rps_cpus", f"ip link set {name} up"]
            script += [f"ip address add {add_prefix(node, path, six=six)} dev {name}" for six in (False, True)]
            script += [f"tc qdisc add dev {name} root netem delay {path * path}ms rate 10mbit limit 100"]
        script += [" ".join(endpoint(node, n, *where)) for n, where in FIRST_ENDPOINTS[node].items()]
        _run("ip", "netns", "exec", node, "sh", "-ec", "\n".join(script))


def _start(node: str, name: str, work: Callable[[], dict[str, int] | None]) -> int:
    """Do `work` in a process of its own inside `node`; it leaves what it returns in a file."""
    child = os.fork()
    if child:
        return child
    try:
        system.enter_namespace(system.open_namespace(node))
        # Its /proc/net shows this process's namespace already.
        done = work()
        Path("/run", f"{name}.json").write_text(json.dumps(done))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(0)


def _wait(children: set[int], until: float) -> int:
    """Wait for all `children`, also for orphans that end in between. Return how many had to be killed."""
    while children and time.monotonic() < until:
        ended, _ = os.waitpid(-1, os.WNOHANG)
        children.discard(ended)
        if not ended:
            time.sleep(0.2)
    if children:
        _show_tasks()
    for child in children:
        os.kill(child, 9)
    return len(children)


def _show_tasks() -> None:
    """Let the kernel print what each task waits for, which tells a starved task from a task that can never end."""
    for command in "tl":  # all tasks; what each CPU does
        Path("/proc/sysrq-trigger").write_text(command)


def _report(started: float, killed: int) -> dict[str, object]:
    counts = Counter[str]()
    for file in Path("/run").glob("*.json"):
        counts.update(json.loads(file.read_text()) or {})
    counters = {}
    for node in ("client", "server"):
        text = subprocess.run(
            ["ip", "netns", "exec", node, "nstat", "-asj"], capture_output=True, text=True, stdin=subprocess.DEVNULL
        ).stdout
        counters[node] = {k: v for k, v in json.loads(text)["kernel"].items() if k.startswith("MPTcp") and v}
    return {
        "cpus": os.cpu_count(),
        "kernel": os.uname().release,
        "version": os.uname().version,
        "seconds": round(time.monotonic() - started),
        "controls": sorted(Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()),
        "schedulers": sorted(Path("/proc/sys/net/mptcp/available_schedulers").read_text().split()),
        "done": dict(sorted(counts.items())),
        "processes killed": killed,
        "counters": counters,
    }


def _stress(seed: int, seconds: float) -> dict[str, object]:
    started = time.monotonic()
    until = started + seconds
    answering = _start("server", "answer", partial(talk.answer, seed))
    children = {_start("client", f"transfer-{n}", partial(agent.transfer, seed, n, until)) for n in range(_TRANSFERS)}
    children |= {_start("client", f"call-{n}", partial(talk.call, seed, n, until)) for n in range(_CALLS)}
    for node in NODES:
        children.add(_start(node, f"disturb-{node}", partial(agent.disturb, seed, node, until)))
        children.add(_start(node, f"watch-{node}", partial(agent.watch, until)))
    killed = _wait(children, until + _PATIENCE_S)
    os.kill(answering, 9)
    return _report(started, killed)


def main(flow: str, seed: str, seconds: str) -> None:
    """Never returns: the machine is off afterwards."""
    report: dict[str, object]
    os.environ["PATH"] = f"{flow}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    try:
        _mounts()
        _nodes()
        print("smp: begin", flush=True)
        report = _stress(int(seed), float(seconds))
    except BaseException:
        report = {"error": traceback.format_exc()}
        traceback.print_exc()
    Path(REPORT).write_text(json.dumps(report, indent=2) + "\n")
    # What still lingers closes its sockets before the power goes: the last chance for a complaint.
    subprocess.run(["ip", "--all", "netns", "delete"], stdin=subprocess.DEVNULL)
    os.kill(-1, 9)
    time.sleep(10)
    print("smp: end", flush=True)
    system.power_off()


if __name__ == "__main__":
    sys.path[:0] = sys.argv[4:]
    from tests.smp.guest import agent, talk
    from tests.smp.guest.choices import FIRST_ENDPOINTS, NODES, PATHS, add_prefix, endpoint, interface

    from mptcplab.guest import system

    main(*sys.argv[1:4])
