# SPDX-License-Identifier: MIT
"""``mptcplab doctor`` on a machine where labs run: it says so, after a boot."""

from __future__ import annotations

import json
import resource
import subprocess
from collections.abc import Mapping

from tests.lab.bench import CLI

from mptcplab.doctor.kernel import boot
from mptcplab.doctor.model import Level
from mptcplab.engine.virtual.engine import VirtualEngine


def test_every_kernel_boots(engines: Mapping[str, VirtualEngine]) -> None:
    for engine in engines.values():
        finding = boot(engine.kernel)
        print(f"{engine.kernel.release}: {finding.message}")
        assert finding.level == Level.FINE, finding.message


def test_healthy_machine() -> None:
    done = subprocess.run([*CLI, "doctor", "--json"], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout
    document = json.loads(done.stdout)
    levels = {row["subject"]: row["level"] for row in document["findings"]}
    print(document["commands"])
    assert levels["boot"] == "fine"
    assert "broken" not in levels.values()


def test_limit_that_keeps_labs_from_booting() -> None:
    """The lab's memory is a file: its size is a limit that people set without thinking of this."""
    done = subprocess.run(
        [*CLI, "doctor", "--json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 20, resource.RLIM_INFINITY)),
    )
    assert done.returncode == 3, done.stdout
    document = json.loads(done.stdout)
    levels = {row["subject"]: row["level"] for row in document["findings"]}
    assert (levels["boot"], levels["ulimit -f"]) == ("broken", "missing")
    assert "ulimit -f unlimited" in document["commands"]
