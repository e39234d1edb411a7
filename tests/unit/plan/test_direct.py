# SPDX-License-Identifier: MIT
"""A machine without ethtool and sysctl runs labs, because the guest executes their commands; others report so."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.unit.kernel_package import install_prebuilt
from tests.unit.plan.test_uses import EXAMPLES, ROOT, plan_of

from mptcplab.campaign.failures import find_missing
from mptcplab.engine import tools
from mptcplab.engine.tools import find_program, find_programs, source_digest, source_folder
from mptcplab.engine.virtual.machine import REFUSED, find_lab_programs
from mptcplab.errors import MissingError
from mptcplab.guest.command_form import UnknownFormError
from mptcplab.guest.counters import read_counter
from mptcplab.guest.direct import Place, offload_requests
from mptcplab.plan.model import dispensable_programs, is_direct
from mptcplab.scenario.load import load
from mptcplab.steps import Command, CommandLine, Counter

#: A path that no shell starts, in place of a search path.
NOWHERE = "/nonexistent"


class _Namespace(Place):
    """A namespace that has every interface and family, and in which every setting is 1."""

    def __init__(self) -> None:
        super().__init__(-1, {}, {})

    def index(self, device: str) -> int:
        return len(device)

    def family(self, name: str) -> int:
        return len(name)

    def read(self, files: object) -> list[bytes | None]:
        return [b"1\n" for _ in files]  # type: ignore[attr-defined]


def _executes(step: CommandLine) -> bool:
    """Return whether the guest has what executes this command of ethtool or sysctl."""
    argv = list(step.argv)
    if isinstance(step, Counter):
        return read_counter(_Namespace(), argv) is not None
    if argv[0] == "ethtool":
        try:
            return argv[1] == "-K" and bool(offload_requests(argv[2:], _Namespace()))
        except UnknownFormError:
            return False
    return _Namespace().prepare(argv) is not None


@pytest.mark.parametrize(
    ("step", "direct"),
    [
        (Command("a", ("ethtool", "-K", "eth1", "tso", "off", "gso", "on", "gro", "off")), True),
        (Command("a", ("ethtool", "-K", "eth1", "rx", "off")), False),
        (Command("a", ("ethtool", "-K", "eth1", "tso")), False),
        (Command("a", ("ethtool", "-k", "eth1")), False),
        (Command("a", ("sysctl", "-qw", "net.mptcp.enabled=1", "net.ipv4.tcp_rmem=1 2 3")), True),
        (Command("a", ("sysctl", "-qw", "net/ipv4/conf/eth0.1/forwarding=1")), False),
        (Command("a", ("sysctl", "-qw", "net.ipv4.conf.*.forwarding=1")), False),
        (Command("a", ("sysctl", "-qw", "net.mptcp.enabled")), False),
        (Command("a", ("sysctl", "-w", "net.mptcp.enabled=1")), False),
        (Counter("a", "sysctl.txt", ("sysctl", "-e", "net.mptcp.enabled")), True),
        (Counter("a", "sysctl.txt", ("sysctl", "-e", "net/mptcp/enabled")), False),
        (Counter("a", "sysctl.txt", ("sysctl", "-a")), False),
    ],
)
def test_forms_are_those_of_the_guest(step: CommandLine, direct: bool) -> None:
    assert is_direct(step) is direct
    assert _executes(step) is direct


def test_a_program_that_a_shell_starts_is_needed() -> None:
    steps: list[CommandLine] = [
        Command("a", ("sysctl", "-qw", "net.mptcp.enabled=1")),
        Command("a", ("ethtool", "-K", "eth1", "tso", "on")),
    ]
    assert dispensable_programs(steps) == {"ethtool", "sysctl"}
    steps.append(Command("a", ("sh", "-c", "sysctl -a"), ("sysctl",)))
    assert dispensable_programs(steps) == {"ethtool"}
    assert dispensable_programs([]) == frozenset()


@pytest.mark.slow
@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: str(file.relative_to(ROOT / "examples")))
def test_examples_need_neither(file: Path) -> None:
    plan = plan_of(file)
    assert plan.dispensable == {"ethtool", "sysctl"}.intersection(plan.uses)
    steps = [step for step in plan.steps if step.argv[0] in plan.dispensable]
    assert [step.argv for step in steps if not _executes(step)] == []


def test_runs_without_them_lack_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs of this package are all there, so no compiler is needed either."""
    sources = {name: source_digest(source_folder(name)) for name in ("flow", "sampler")}
    install_prebuilt(monkeypatch, tmp_path / "site", programs=sources)
    links = tmp_path / "bin"
    links.mkdir()
    for name in ("ip", "tc", "nstat"):
        (links / name).symlink_to("/bin/true")
    monkeypatch.setattr(tools, "_SEARCH", str(links))
    monkeypatch.setattr("mptcplab.engine.virtual.engine.find_kernel", lambda _: None)
    runs = load(ROOT / "examples" / "two-paths.toml").runs
    assert find_missing(runs) == []
    lacking = {error.subject for error in find_missing(runs, engine="local")}
    assert {"ethtool", "sysctl"} <= lacking, "that engine starts the programs"


def test_a_stand_in_reports_the_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "_SEARCH", NOWHERE)
    names = ("sysctl", "mptcplab-flow")
    flow = {"mptcplab-flow": Path("/bin/true")}
    assert find_programs(names, flow, dispensable={"sysctl"}) == flow, "an identity has no program that is missing"
    assert find_lab_programs(names, flow, dispensable={"sysctl"}) == {**flow, "sysctl": REFUSED}
    with pytest.raises(MissingError, match="no 'sysctl'"):
        find_lab_programs(names, flow, dispensable=())
    assert os.access(REFUSED, os.X_OK)
    done = subprocess.run([REFUSED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "the kernel refuses it, and this machine lacks the program that reports the reason\n"


def test_a_program_of_this_machine_is_preferred() -> None:
    assert find_lab_programs(("sh",), {}, dispensable={"sh"}) == {"sh": find_program("sh")}
