# SPDX-License-Identifier: MIT
"""Tries in namespaces of their own what a plan needs of this machine's kernel, and reports what failed.

It runs as a separate process with only the standard library, like :mod:`mptcplab.engine.local.start`.
"""

from __future__ import annotations

import json
import os
import subprocess

from mptcplab.engine.local.isolation import fail, run_isolated, set_up_mounts
from mptcplab.guest import algorithms, system
from mptcplab.guest.nodes import GuestError
from mptcplab.steering.sockets import SocketSampler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CONTROLS = "/proc/sys/net/ipv4/tcp_{}_congestion_control"


def main(folder: str) -> None:
    """Try what ``tests.json`` in ``folder`` has, and write ``found.json`` there; never returns."""
    run_isolated(lambda: _try_all(folder))


def _try_all(folder: str) -> None:
    try:
        set_up_mounts(folder, [])
    except OSError as error:
        fail(f"the namespaces cannot be set up: {error.strerror}")
    tests = json.loads(system.read(f"{system.LAB}/tests.json"))
    items = {
        "failed": {name: text for name, lines in tests["commands"].items() if (text := _failure(lines))},
        "settings": [name for name in tests["settings"] if not os.access(name, os.W_OK)],
        "available": system.read(_CONTROLS.format("available")).split(),
        "allowed": system.read(_CONTROLS.format("allowed")).split(),
        "needs": _missing_features(tests["needs"]),
        "diagnosis": _diagnosis(),
    }
    system.write(f"{system.LAB}/found.json", json.dumps(items).encode())


def _failure(lines: list[list[str]]) -> str:
    """Run the last of ``lines`` in a new network namespace after the others; return its error."""
    descriptor = system.open_namespace(None)
    system.add_namespace(f"probe{len(os.listdir(system.NAMESPACES))}")
    try:
        for argv in lines:
            done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            if done.returncode:
                return (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[0]
        return ""
    finally:
        system.enter_namespace(descriptor)
        os.close(descriptor)


def _missing_features(needs: dict[str, Any]) -> str:
    """Return what the kernel lacks beside congestion controls, as the guest says it."""
    try:
        algorithms.check({**needs, "congestion_controls": []})
    except GuestError as error:
        return str(error)
    except OSError as error:
        return f"this kernel has no MPTCP: {error.strerror}"
    return ""


def _diagnosis() -> str:
    try:
        list(SocketSampler("probe").sample(0))
    except OSError as error:
        return str(error.strerror)
    return ""
