# SPDX-License-Identifier: MIT
"""A sweep that needs a program or a lab kernel which this machine lacks ends before its first run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mptcplab.campaign.missing import check_machine
from mptcplab.cli.main import main
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
    def missing() -> str:
        raise MissingError("this machine has no 'tshark'", hint="sudo apt-get install tshark")

    monkeypatch.setattr("mptcplab.campaign.missing.tshark_path", missing)


def _file(folder: Path, text: str) -> Path:
    file = folder / "scenario.toml"
    file.write_text(text)
    return file


@pytest.mark.usefixtures("without_builds")
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
    for program in ("go-shadowsocks2", "xray", "shadowsocks-rust"):
        assert f"mptcplab gateways build {program}\n" in err
    assert err.count("sslocal") + err.count("ssserver") == 1, "one build gives both"
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("without_tshark")
def test_statistics_of_captures_need_tshark_before_they_are_captured(tmp_path: Path) -> None:
    plain = SCENARIO.replace("gateways.bond", "# ")
    runs = load(_file(tmp_path, plain + CAPTURED)).runs
    with pytest.raises(MissingError, match=r"no 'tshark', which computes the statistics of captures") as error:
        check_machine(runs)
    assert error.value.hint == "sudo apt-get install tshark"


@pytest.mark.usefixtures("without_tshark")
def test_captures_without_statistics_need_none(tmp_path: Path) -> None:
    plain = SCENARIO.replace("gateways.bond", "# ")
    check_machine(load(_file(tmp_path, plain + CAPTURED.replace("true", "false"))).runs)
