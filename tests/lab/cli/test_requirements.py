# SPDX-License-Identifier: MIT
"""`mptcplab run --require`: middleboxes that strip MPTCP's options fail the command, and what passes them does not."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from tests.lab.bench import mptcplab


def test_a_fallback_fails_the_command(tmp_path: Path) -> None:
    junit = tmp_path / "tests.xml"
    done = mptcplab(
        "run",
        "@middlebox",
        "--require",
        "mptcp",
        "--require",
        "goodput_mbps >= 15",
        "--junit",
        str(junit),
        "--out",
        str(tmp_path / "results"),
    )
    assert done.returncode == 1, done.stderr
    lines = [line for line in done.stderr.splitlines() if "is violated by" in line]
    mptcp = {line.partition("strip ")[2] for line in lines if line.startswith("mptcplab: mptcp is violated")}
    fell_back = "1 of 1 connections fell back to TCP (seed 1)"
    assert mptcp == {
        f'["all"], bulk: {fell_back}',
        f'["mp_capable"], bulk: {fell_back}',
        '["mp_join"], bulk: MPTCP was in use, but only one subflow carried data (seed 1)',
        f'["add_addr"], bulk: {fell_back}',
    }
    # Two paths of 10 Mbit/s give 4 MB in 1.65 to 2.0 s, more than 16 Mbit/s, and one gives less than 10.
    assert len([line for line in lines if "goodput_mbps >= 15" in line]) == len(mptcp)
    runs, requirements = ElementTree.parse(junit).getroot()
    assert (runs.attrib["tests"], runs.attrib["failures"]) == ("5", "0"), "each run came to its end"
    assert (requirements.attrib["tests"], requirements.attrib["failures"]) == ("10", "8")
    warned = [case for case in runs if "fell back to TCP" in (case.findtext("system-out") or "")]
    assert len(warned) == 3


def test_what_uses_mptcp_passes(tmp_path: Path) -> None:
    words = ("run", "@middlebox", "--set", "routers.r*.middlebox.strip=[]", "--out", str(tmp_path / "results"))
    done = mptcplab(*words, "--require", "mptcp", "--require", "bulk:goodput_mbps>=15")
    assert done.returncode == 0, done.stderr
    assert "violated" not in done.stderr
