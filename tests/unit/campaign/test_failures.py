# SPDX-License-Identifier: MIT
"""A sweep that needs a program or a lab kernel which this machine lacks ends before its first run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mptcplab.campaign.failures import find_missing
from mptcplab.cli.main import main
from mptcplab.engine import tools
from mptcplab.errors import Exit, MissingError
from mptcplab.scenario.load import load

SCENARIO = """
title = "Through gateways"
transport.protocol = "tcp"
hosts = { laptop = {}, web = {} }
routers = { home = { transport = {} }, vps = { transport = {} } }
links.lan = { between = ["laptop", "home"] }
links.dsl = { between = ["home", "vps"] }
links.wan = { between = ["vps", "web"] }
gateways.bond = { program = "go-shadowsocks2", entry = "home", exit = "vps" }
workloads.fetch = { kind = "flow", from = "laptop", to = "web", size = "1 kB" }
"""
CAPTURED = '\nrecord.captures = [{ node = "laptop", statistics = true }]\n'


@pytest.fixture
def without_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache folder, with none of the programs that are built from registries."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def without_tshark(monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_missing() -> str:
        raise MissingError("this machine has no 'tshark'", subject="tshark", packages=("tshark",))

    monkeypatch.setattr("mptcplab.campaign.failures.tshark_path", raise_missing)
    monkeypatch.setattr("mptcplab.engine.virtual.engine.find_kernel", lambda _: None)


def _file(folder: Path, text: str) -> Path:
    file = folder / "scenario.toml"
    file.write_text(text)
    return file


@pytest.mark.usefixtures("without_builds", "debian")
def test_a_proxy_that_is_not_built_is_refused_before_any_point_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first point needs no such proxy, and yet neither it nor a results folder is made."""
    sweep = 'sweep."gateways.bond.program" = ["shadowsocks-libev", "go-shadowsocks2", "xray", "shadowsocks-rust"]'
    file = _file(tmp_path, SCENARIO + sweep)
    monkeypatch.setattr("shutil.which", lambda name, **_: f"/usr/bin/{name}")
    monkeypatch.setattr(sys, "argv", ["mptcplab", "run", str(file), "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit) as ended:
        main()
    err = capsys.readouterr().err
    assert ended.value.code == Exit.MISSING, err
    programs = ("go-shadowsocks2", "xray", "shadowsocks-rust")
    builds = " && ".join(["mptcplab kernel build", *(f"mptcplab gateways build {program}" for program in programs)])
    assert err.splitlines() == [
        "mptcplab: this machine lacks kernel 7.2, go-shadowsocks2, xray and shadowsocks-rust",
        f"  hint: mptcplab doctor --for {file} --install",
        f"  or by hand: {builds}",
    ], "shadowsocks-rust once, whose build gives two programs"
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("without_tshark")
def test_statistics_of_captures_need_tshark_before_they_are_captured(tmp_path: Path) -> None:
    plain = SCENARIO.replace("gateways.bond", "# ")
    runs = load(_file(tmp_path, plain + CAPTURED)).runs
    (error,) = find_missing(runs)
    assert error.message == "this machine has no 'tshark', which computes the statistics of captures"
    assert (error.subject, error.packages, error.hint) == ("tshark", ("tshark",), "sudo apt-get install tshark")


@pytest.mark.usefixtures("without_tshark")
def test_captures_without_statistics_need_none(tmp_path: Path) -> None:
    plain = SCENARIO.replace("gateways.bond", "# ")
    assert find_missing(load(_file(tmp_path, plain + CAPTURED.replace("true", "false"))).runs) == []


@pytest.mark.usefixtures("without_builds")
def test_everything_is_found_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fresh machine has no compiler for our own programs either; a program that two points use is one thing."""
    monkeypatch.setattr(tools, "_SEARCH", str(tmp_path))
    sweep = 'sweep.kernel = ["7.2", "7.2-cpu"]\n'
    errors = {error.subject: error for error in find_missing(load(_file(tmp_path, sweep + SCENARIO)).runs)}
    assert {"gcc", "make", "ip", "tc", "go-shadowsocks2", "kernel 7.2", "kernel 7.2-cpu"} <= set(errors)
    assert errors["gcc"].packages == ("gcc", "libc6-dev"), "the compiler alone finds no headers"
    assert errors["tc"].packages == errors["ip"].packages == ("iproute2",)
    assert errors["go-shadowsocks2"].command == "mptcplab gateways build go-shadowsocks2"
    assert errors["kernel 7.2-cpu"].command == "mptcplab kernel build --cpu"


@pytest.mark.usefixtures("without_builds")
def test_another_engine_needs_its_own_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = SCENARIO.replace("gateways.bond", "# ")
    runs = load(_file(tmp_path, plain)).runs
    monkeypatch.setattr("mptcplab.engine.stock.machine.shutil.which", lambda _, **__: None)
    errors = find_missing(runs, engine="stock:6.12")
    needed = [(error.subject, error.hint) for error in errors if error.packages != ("iproute2",)]
    assert ("qemu-system-x86_64", "sudo apt-get install qemu-system-x86") in needed
    assert ("stock kernel 6.12", "mptcplab kernel stock 6.12") in needed
    assert not any(error.subject.startswith("kernel ") for error in errors), "it runs no lab kernel"
    assert not any("kernel" in error.subject for error in find_missing(runs, engine="local"))
