# SPDX-License-Identifier: MIT
"""Process 1 of the lab kernel: sets up the machine, executes the plan, writes the results, powers off.

It runs inside the lab kernel with only the standard library, and imports nothing from the host's side. Its input is the
script that starts it and ``plan.json``; its report is ``guest.json``.
"""

from __future__ import annotations

import os
import sys
import time

from mptcplab.guest import instants, kernel_log, machine, system
from mptcplab.guest.counters import read_counter
from mptcplab.guest.json_text import parse_json, to_json
from mptcplab.guest.nodes import GuestError, Nodes, provide
from mptcplab.guest.set_up import SetUp
from mptcplab.guest.timeline import Timeline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def main(results: str, exposed: list[str]) -> None:
    """Execute the plan in the folder ``results``, then power off; never returns."""
    report: dict[str, Any] = {}
    try:
        system.set_up_mounts(results, exposed)
        work = parse_json(system.read(f"{system.LAB}/plan.json"))
        provide(work["programs"])  # before random numbers are reseeded: creating files draws some
        instants.take_priority()
        instants.sleep_until(instants.SET_UP_NS)
        instants.reseed()
        report = _execute(work)
    except GuestError as error:
        report = {"error": str(error), "hint": error.hint}
    except BaseException as error:
        report = _describe_error(error)
    _write_report(report)
    system.power_off()


def _write_report(report: dict[str, Any]) -> None:
    try:
        system.write(f"{system.LAB}/guest.json", to_json(report, sort_keys=True).encode())
    except OSError as error:
        print(f"mptcplab: {_write_failure(error)}", file=sys.stderr, flush=True)


def _describe_error(error: BaseException) -> dict[str, Any]:
    """Return the report of an unexpected error: a full disk, a full memory, or a bug of the guest.

    An OSError without a number comes from the guest or Python: no system call failed, so the disk is not the cause.
    """
    if (
        isinstance(error, OSError)
        and error.errno is not None
        and str(error.filename or system.LAB).startswith(system.LAB)
    ):
        return {"error": _write_failure(error)}
    if isinstance(error, MemoryError):
        return {"error": "the lab ran out of memory"}
    import traceback  # late, because it is large

    traceback.print_exc()
    return {"error": "the guest failed, which is a bug of mptcplab", "traceback": traceback.format_exc()}


def _write_failure(error: OSError) -> str:
    return f"the results folder cannot be written: {str(error.strerror).lower()}"


def _execute(work: dict[str, Any]) -> dict[str, Any]:
    plan = work["plan"]
    out = f"{system.LAB}/out"
    os.mkdir(out)
    if any(plan["needs"].values()):
        from mptcplab.guest import algorithms  # late, because most plans have no needs

        algorithms.check(plan["needs"])
    # The default of a namespace must be a congestion control that every user may choose: here all are.
    available = system.read("/proc/sys/net/ipv4/tcp_available_congestion_control")
    system.write("/proc/sys/net/ipv4/tcp_allowed_congestion_control", available.encode())
    machine.fix_limits()
    nodes = Nodes(plan["nodes"], work["programs"])
    SetUp(nodes).run(plan["setup"])
    if "session" in work:
        from mptcplab.guest import session  # late, because most labs have none

        return session.run(nodes, work["session"])
    timeline = Timeline(nodes, plan, out)
    try:
        programs = timeline.run()
    except GuestError as error:
        # The report comes first, since the writers may need more memory or disk than is left.
        _write_report({"error": str(error)})
        _write_remaining_results(nodes, plan, timeline)
        raise
    for write in _result_writers(nodes, plan, timeline):
        write()
    return {"programs": programs, "zero_ns": timeline.zero_ns, "virtual_ns": time.monotonic_ns()}


def _write_remaining_results(nodes: Nodes, plan: dict[str, Any], timeline: Timeline) -> None:
    """Write results after a failure, for inspection. Results that cannot be read or written cause no further error."""
    for write in reversed(_result_writers(nodes, plan, timeline)):
        try:
            write()
        except Exception as error:
            print(f"mptcplab: a result is missing: {error}", file=sys.stderr, flush=True)


def _result_writers(nodes: Nodes, plan: dict[str, Any], timeline: Timeline) -> list[Callable[[], None]]:
    """Return functions that write the results other than the programs' outputs and the sampler's rows.

    The kernel's log is last, since reading the others may add to it.
    """

    def keep_algorithms() -> None:
        for node in plan["watched"]:
            from mptcplab.guest.algorithms import count_uncoupled  # late, for plans without workloads

            nodes.enter(node)
            state = {"uncoupled": count_uncoupled(), "sockets": timeline.sampler.sockets_of(node)}
            nodes.enter(None)
            _keep(node, "algorithms.json", to_json(state, sort_keys=True).encode())

    def keep_machine() -> None:
        state = machine.state(timeline.sampler.tcp_pages_peak)
        system.write(f"{system.LAB}/machine.json", to_json(state, sort_keys=True).encode())

    def count(counter: dict[str, Any]) -> Callable[[], None]:
        return lambda: _count(nodes, counter)

    return [
        lambda: _write_lines(f"{system.LAB}/events.jsonl", timeline.changes.executed),
        *[count(counter) for counter in plan["counters"]],
        keep_algorithms,
        keep_machine,
        _keep_kernel_log,
    ]


def _keep_kernel_log() -> None:
    log = kernel_log.read_log_of_problems()
    if log:
        system.write(f"{system.LAB}/kernel.txt", log.encode())


def _count(nodes: Nodes, counter: dict[str, Any]) -> None:
    output = read_counter(nodes.place(counter["node"]), counter["argv"])
    status = 0
    if output is None:
        status, output, errors = nodes.run_program(counter["node"], counter["argv"])
    if status:
        reason = errors.decode(errors="replace").strip() or f"status {status}"
        raise GuestError(f"{counter['name']} of {counter['node']} cannot be read: {reason}")
    _keep(counter["node"], counter["name"], output)


def _keep(node: str, name: str, content: bytes) -> None:
    folder = f"{system.LAB}/counters/{node}"
    try:
        system.write(f"{folder}/{name}", content)
    except FileNotFoundError:
        os.makedirs(folder)
        system.write(f"{folder}/{name}", content)


def _write_lines(file: str, rows: list[dict[str, Any]]) -> None:
    if rows:
        system.write(file, "".join(to_json(row) + "\n" for row in rows).encode())
