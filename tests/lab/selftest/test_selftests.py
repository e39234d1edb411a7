# SPDX-License-Identifier: MIT
"""The kernel's own MPTCP tests pass in virtual time. A quick choice of them: `mptcplab selftest` runs all."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tests.lab import shared_recordings
from tests.lab.bench import mptcplab

from mptcplab.campaign.identity import code_digest
from mptcplab.kernel import find_kernel
from mptcplab.kernel.console import StderrReporter
from mptcplab.selftest import DEFAULT_SCRIPTS
from mptcplab.selftest.prepare import PROGRAMS, needed_programs, prepare

#: Quick scripts that cover the ways in which scripts work: sockets, netlink, joins with background processes, and a
#: hundred processes at one instant (docs/decisions/0019-order-of-tasks.md).
QUICK = ("pm_netlink", "mptcp_sockopt", "mptcp_join/mixed_tests", "diag")


def _run(logs: Path) -> str:
    done = mptcplab("selftest", *QUICK, "--jobs", "1", "--json", "--out", logs, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _machine_name() -> str:
    """A name for all that the output depends on, but the code that names the kept folder."""
    facts = (find_kernel().key, code_digest(("selftest/*.py", "guest/*.py")), QUICK)
    installed = Path("/var/lib/dpkg/status").read_bytes()
    return hashlib.sha256(repr(facts).encode() + installed).hexdigest()[:16]


def test_they_pass(tmp_path: Path, shared_results: Path) -> None:
    """Twice, with the same output to the byte, names of namespaces and times included. An earlier session's is one."""
    first, second, place = tmp_path / "first", tmp_path / "second", shared_results / "selftests" / _machine_name()
    if not shared_recordings.lend(place, first):
        (first / "stdout.json").write_text(_run(first))
        shared_recordings.keep(first, place)
    said = _run(second)
    document = json.loads(said)
    counts = {name: sum(result["test"] == name for result in document["results"]) for name in QUICK}
    print(counts, document["virtual_seconds"])
    assert document["errors"] == []
    assert {result["verdict"] for result in document["results"]} <= {"ok", "skip"}, document["results"]
    assert counts["pm_netlink"] > 10, counts
    assert said == (first / "stdout.json").read_text()
    for name in QUICK:
        file = f"{name.replace('/', '.')}.log"
        assert (first / file).read_bytes() == (second / file).read_bytes(), file


def test_the_programs_that_doctor_looks_for_are_those_of_the_scripts() -> None:
    with StderrReporter() as progress:
        prepared = prepare(find_kernel(), None, jobs=1, progress=progress)
    files = [prepared.find(script) for script in DEFAULT_SCRIPTS]
    checked = {name for file in files if file is not None for name in needed_programs(file.read_text())}
    assert checked == set(PROGRAMS)


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
    """The lab cannot find its selftests without --source, and refuses a folder without Linux."""
    done = mptcplab("selftest", "pm_netlink", "--source", tmp_path)
    assert done.returncode == 2, done
    assert "not a Linux source tree" in done.stderr, done.stderr


def test_a_scheduler_that_the_kernel_does_not_have() -> None:
    done = mptcplab("selftest", "pm_netlink", "--scheduler", "no_such")
    assert (done.returncode, done.stdout) == (2, ""), done
    assert "the lab kernel has no scheduler 'no_such'" in done.stderr, done.stderr
