# SPDX-License-Identifier: MIT
"""``mptcplab plan --node``: what it prints and writes, and what it refuses."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.unit.command_output import output_of as run

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
GOOD = """
title = "two paths"
topology = { preset = "disjoint-paths", paths = 2 }
links.link1.rate = "10 Mbit/s"
links.link2.rate = "10 Mbit/s"
workloads.bulk = { kind = "iperf3", from = "client", to = "server", duration = "1 s" }
sweep."transport.protocol" = ["tcp", "mptcp"]
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """Write a scenario of two paths, and return its file."""
    file = tmp_path / "two.toml"
    file.write_text(GOOD)
    return file


def test_plan_of_a_node(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], scenario: Path, tmp_path: Path
) -> None:
    """Its files are one listing, or in a folder; --point and --device choose what they say."""
    node = ("plan", scenario, "--node", "client", "--device", "access1=eth0,access2=wlan0")
    tcp, mptcp = run(monkeypatch, capsys, *node), run(monkeypatch, capsys, *node, "--point", "2")
    assert "ip mptcp endpoint" not in tcp.out
    assert "endpoint 10.0.1.1 10.0.1.1 dev eth0 subflow" in mptcp.out
    listed = run(monkeypatch, capsys, *node, "--format", "uci", "--point", "2")
    written = run(monkeypatch, capsys, *node, "--format", "uci", "--point", "2", "--out", tmp_path / "out")
    assert (listed.status, written.status) == (0, 0), listed.err + written.err
    files = [Path(line) for line in written.out.splitlines()]
    assert len(files) == 5
    for file in files:
        header = f"==> /{file.relative_to(tmp_path / 'out')} <==\n"
        assert header + file.read_text() in listed.out
    assert os.access(tmp_path / "out" / "etc" / "init.d" / "mptcplab", os.X_OK)


def test_password_of_a_gateway(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], scenario: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("an-Own.password_1\n")
    bonding = EXAMPLES / "gateways" / "bonding.toml"
    options = ("--node", "vps", "--format", "networkd", "--password-file", secret, "--out", tmp_path / "out")
    written = run(monkeypatch, capsys, "plan", bonding, *options)
    assert written.status == 0, written.err
    file = tmp_path / "out" / "etc" / "mptcplab" / "mptcplab-gateway-bond.exit.json"
    assert json.loads(file.read_text())["password"] == "an-Own.password_1"
    assert file.stat().st_mode & 0o777 == 0o600
    idle = run(monkeypatch, capsys, "plan", scenario, "--node", "client", "--password-file", secret)
    assert idle.status == 2
    assert "--password-file has no effect: 'client' has no gateway" in idle.err


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--device", "link1=eth0"), "no link 'link1'"),
        (("--password-file", "/no/such"), "/no/such cannot be read"),
        (("--password-file", "FILE"), "no password that all programs accept"),
        (("--out", "/dev/null/x"), "cannot be written"),
    ],
)
def test_wrong_options_are_status_2(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    scenario: Path,
    options: tuple[str, ...],
    word: str,
) -> None:
    words = (scenario if option == "FILE" else option for option in options)
    output = run(monkeypatch, capsys, "plan", scenario, "--node", "client", *words)
    assert (output.status, output.out) == (2, ""), output.err
    assert output.err.startswith("mptcplab: "), output.err
    assert word in output.err, output.err
