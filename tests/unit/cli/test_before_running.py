# SPDX-License-Identifier: MIT
"""What commands say before they run anything, and when they are interrupted."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mptcplab.campaign import cluster, sweep
from mptcplab.campaign.failures import repeat_command
from mptcplab.cli.main import main
from mptcplab.errors import InputError
from mptcplab.kernel.data import congestion_controls, has_known_algorithms, schedulers
from mptcplab.plan.algorithms import check_algorithms
from mptcplab.scenario.load import load

SCENARIO = """
title = "Two paths"
topology = { preset = "disjoint-paths" }
links.link1 = { rate = "10 Mbit/s" }
links.link2 = { rate = "10 Mbit/s" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "1 s" }
sweep."transport.protocol" = ["mptcp", "tcp"]
"""
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(SCENARIO)
    return path


def test_a_repeated_run_goes_where_the_first_went(file: Path) -> None:
    run = load(file).runs[-1]
    words = shlex.split(repeat_command(file, ["links.link1.loss=1 %"], Path("some where"), run))
    assert words[words.index("--out") + 1] == "some where"
    again = load(file, overrides=[words[at + 1] for at, word in enumerate(words) if word == "--set"], repeats=1)
    assert [run.point.scenario.transports["client"].protocol for run in again.runs] == ["tcp"]
    assert "--out" not in repeat_command(file, [], None, run)


@pytest.mark.parametrize(
    ("key", "noun", "near"),
    [
        ("transport.scheduler=blesst", "MPTCP scheduler 'blesst'", "blest"),
        ("hosts.client.transport.congestion_control=cubik", "congestion control 'cubik'", "cubic"),
        ("workloads.bulk.congestion_control=olai", "congestion control 'olai'", "olia"),
    ],
)
def test_show_knows_the_kernels_algorithms(
    file: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    key: str,
    noun: str,
    near: str,
) -> None:
    monkeypatch.setattr(sys, "argv", ["mptcplab", "show", str(file), "--set", key])
    with pytest.raises(SystemExit) as ended:
        main()
    err = capsys.readouterr().err
    assert (ended.value.code, f"the lab kernel has no {noun}" in err, f"did you mean `{near}`?" in err) == (
        2,
        True,
        True,
    )


def test_a_name_that_the_sweep_replaces_is_checked_too(file: Path) -> None:
    file.write_text(f'{SCENARIO}sweep."transport.scheduler" = ["default", "minrtt"]\ntransport.scheduler = "minrt"\n')
    with pytest.raises(InputError, match="no MPTCP scheduler 'minrt'") as refused:
        check_algorithms(load(file))
    assert refused.value.hint == "did you mean `minrtt`? Or remove it: the sweep replaces it"
    check_algorithms(load(file, overrides=["transport.scheduler=blest"]))


def test_a_patched_kernel_is_asked_when_it_runs(file: Path) -> None:
    check_algorithms(load(file, overrides=["transport.scheduler=mine", "kernel=7.2-05795f7c2ae7"]))
    check_algorithms(load(file, overrides=["transport.scheduler=mine", "kernel=7.2-plain"]))
    with pytest.raises(InputError):
        check_algorithms(load(file, overrides=["transport.scheduler=mine", "kernel=7.2-hz250"]))
    assert has_known_algorithms("6.12")


def test_a_kernel_with_one_scheduler_is_given_none(file: Path) -> None:
    """Linux 6.1 has no setting for it: even its own one has no name there."""
    for name in ("ecf", "default", "eff"):
        with pytest.raises(InputError, match=r"the lab kernel 6\.1 has a single MPTCP scheduler") as refused:
            check_algorithms(load(file, overrides=[f"transport.scheduler={name}", "kernel=6.1"]))
        assert refused.value.hint == "remove the key scheduler, or choose a later kernel"
    check_algorithms(load(file, overrides=["transport.congestion_control=olia", "kernel=6.1"]))


def test_the_names_are_those_of_the_sources() -> None:
    assert {"default", "blest", "ecf", "redundant", "roundrobin", "minrtt_v09"} <= schedulers()
    assert {"reno", "cubic", "bbr", "lia", "olia", "balia", "wvegas", "olia_v09"} <= congestion_controls()


@pytest.mark.slow
def test_examples_name_algorithms_that_exist() -> None:
    """Those with an algorithm of the user's are run on a kernel that has it."""
    examples = [file for file in (ROOT / "examples").rglob("*.toml") if "title = " in file.read_text()]
    files = [file for file in examples if file.parent.name != "semicoupled"]
    assert len(files) > 10
    for file in files:
        check_algorithms(load(file))


def test_an_interrupted_command_says_how_to_go_on(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt("3 runs are recorded in r x and are not executed again")

    monkeypatch.setattr("mptcplab.api.experiments.execute", interrupt)
    monkeypatch.setattr("mptcplab.api.experiments.find_missing", lambda *_, **__: [])  # needs no kernel
    monkeypatch.setattr(sys, "argv", ["mptcplab", "run", str(file), "--out", "r x"])
    with pytest.raises(SystemExit) as ended:
        main()
    err = capsys.readouterr().err
    assert ended.value.code == 130
    assert "interrupted: 3 runs are recorded in r x and are not executed again" in err
    assert f"to go on: mptcplab run {file} --out 'r x'" in err


@pytest.mark.parametrize(("kept", "text"), [(0, "0 runs are"), (1, "1 run is"), (2, "2 runs are")])
def test_what_an_interrupted_sweep_has_kept(kept: int, text: str) -> None:
    assert sweep._recorded_text(kept, Path("r")).startswith(f"{text} recorded in r and {text.split()[-1]} not")


class _Cluster:
    """A client whose workers a test takes away."""

    def __init__(self) -> None:
        self.workers = {"tcp://192.0.2.1:1": 1, "tcp://192.0.2.2:1": 1}

    def nthreads(self) -> dict[str, int]:
        return dict(self.workers)


def test_a_lost_worker_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_WATCH_SECONDS", 0.01)
    client, said = _Cluster(), list[str]()
    with cluster._watch_workers(client, said.append):  # type: ignore[arg-type]
        time.sleep(0.1)
        del client.workers["tcp://192.0.2.1:1"]
        end = time.monotonic() + 10
        while not said and time.monotonic() < end:
            time.sleep(0.01)
    assert said == ["worker tcp://192.0.2.1:1 is lost, its runs move to other workers (1 left)"]


def test_a_version_without_a_package_names_the_tested_ones(tmp_path: Path) -> None:
    """A mirror that has no such package, as far as apt-cache says."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("apt-get", "apt-cache", "dpkg-deb", "tar"):
        (tools / name).write_text("#!/bin/sh\nexit 0\n")
        (tools / name).chmod(0o755)
    code = (
        "import sys\nfrom pathlib import Path\nfrom mptcplab.errors import MissingError\n"
        "from mptcplab.kernel import debian\nfrom mptcplab.kernel.console import StderrReporter\n"
        "debian.find_mirrors = lambda: []\n"
        "try:\n    with StderrReporter() as progress:\n"
        "        debian.debian_source('5.10', Path(sys.argv[1]), progress=progress, log=sys.stderr)\n"
        "except MissingError as error:\n    print(error.message)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "cache")],
        capture_output=True, text=True, check=True, env={**os.environ, "PATH": f"{tools}:/usr/bin:/bin"},
    )  # fmt: skip
    assert "no package linux-source-5.10; tested are 7.2, 6.12, 6.1" in done.stdout, done.stderr
