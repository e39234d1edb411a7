# SPDX-License-Identifier: MIT
"""The kernel's own MPTCP tests pass in virtual time. A quick choice of them: `mptcplab selftest` runs all."""

from __future__ import annotations

import json
from pathlib import Path

from .bench import mptcplab

#: Quick ones that cover the ways in which scripts work: sockets, netlink, joins with background processes.
QUICK = ("pm_netlink", "mptcp_sockopt", "mptcp_join/mixed_tests")


def test_they_pass(tmp_path: Path) -> None:
    """Twice, with the same output to the byte, names of namespaces and times included."""
    logs = (tmp_path / "first", tmp_path / "second")
    first, second = (
        mptcplab("selftest", *QUICK, "--jobs", "1", "--json", "--out", folder, timeout=400) for folder in logs
    )
    assert first.returncode == 0, first.stdout + first.stderr
    found = json.loads(first.stdout)
    counts = {name: sum(one["test"] == name for one in found["results"]) for name in QUICK}
    print(counts, found["virtual_seconds"])
    assert found["errors"] == []
    assert {one["verdict"] for one in found["results"]} <= {"ok", "skip"}, found["results"]
    assert counts["pm_netlink"] > 10, counts
    assert first.stdout == second.stdout
    for name in QUICK:
        file = f"{name.replace('/', '.')}.log"
        assert (logs[0] / file).read_bytes() == (logs[1] / file).read_bytes(), file


def test_names_that_are_not_there() -> None:
    for name, said in (
        ("no_such", "there is no selftest 'no_such'"),
        ("mptcp_join/no", "'mptcp_join' has no group 'no'"),
    ):
        done = mptcplab("selftest", name)
        assert (done.returncode, done.stdout) == (2, ""), done
        assert said in done.stderr, done.stderr
        assert "pm_netlink" in done.stderr or "add_tests" in done.stderr, done.stderr


def test_a_kernel_of_another_source(tmp_path: Path) -> None:
    """Its selftests cannot be found by themselves; a wrong --source is no Linux."""
    done = mptcplab("selftest", "pm_netlink", "--source", tmp_path)
    assert done.returncode == 2, done
    assert "not a Linux source tree" in done.stderr, done.stderr


def test_a_scheduler_that_the_kernel_does_not_have() -> None:
    done = mptcplab("selftest", "pm_netlink", "--scheduler", "no_such")
    assert (done.returncode, done.stdout) == (2, ""), done
    assert "the lab kernel has no scheduler 'no_such'" in done.stderr, done.stderr
