# SPDX-License-Identifier: MIT
"""The files for systemd pass ``systemd-analyze verify``, and have keys that systemd.network(5) knows."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.unit.export_scenario import FAMILIES, NODES, files

PAGE = Path("/usr/share/man/man5/systemd.network.5.gz")
#: The keys that we use, from systemd.network(5) of systemd 252.
KEYS = {
    "Match": {"Name"},
    "Link": {"MTUBytes"},
    "Network": {"Address"},
    "Route": {"Destination", "Gateway", "Scope", "PreferredSource", "Table"},
    "RoutingPolicyRule": {"From", "IncomingInterface", "Family", "Table", "Priority"},
}
Sections = list[tuple[str, list[tuple[str, str]]]]


def _parse(text: str) -> Sections:
    """Return the sections of a file with their assignments, see systemd.syntax(7)."""
    sections: Sections = []
    for line in text.splitlines():
        if not line or line.startswith(("#", ";")):
            continue
        if match := re.fullmatch(r"\[(\w+)\]", line):
            sections.append((match[1], []))
            continue
        key, equals, value = line.partition("=")
        assert sections, f"outside of sections: {line}"
        assert equals, line
        assert re.fullmatch(r"[A-Za-z0-9]+", key), line
        sections[-1][1].append((key, value))
    return sections


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("node", NODES)
def test_networks_have_known_keys(node: str, family: str) -> None:
    networks = {path: text for path, text in files("networkd", node, family).items() if path.endswith(".network")}
    assert networks
    for text in networks.values():
        sections = _parse(text)
        assert [name for name, _ in sections[:1]] == ["Match"]
        for name, pairs in sections:
            assert {key for key, _ in pairs} <= KEYS[name]
            assert len({key for key, _ in pairs}) == len(pairs), "each key once"
            assert all(value for _, value in pairs)


@pytest.mark.skipif(not PAGE.exists(), reason="this machine has no manual pages")
def test_the_manual_page_has_these_keys() -> None:
    text = gzip.decompress(PAGE.read_bytes()).decode()
    for section, keys in KEYS.items():
        begin = text.index(f'.SH "[{section.upper()}] SECTION OPTIONS"')
        described = text[begin : text.index("\n.SH ", begin)]
        documented = set(re.findall(r"^\\fI(\w+)=\\fR(?:,|$)", described, re.MULTILINE))
        assert keys <= documented, section


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("node", NODES)
def test_networks_have_every_address_route_and_rule(node: str, family: str) -> None:
    """Counted in the script for the same node, whose lines are commands."""
    script = files("sh", node, family)[f"{node}.sh"].splitlines()
    text = "\n".join(text for path, text in files("networkd", node, family).items() if path.endswith(".network"))
    for word, section in (("address", "Network"), ("route", "Route"), ("rule", "RoutingPolicyRule")):
        lines = [line for line in script if line.startswith(f"\t{word} ")]
        assert text.count(f"[{section}]") == len(lines), section


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("node", ["client", "phone", "r1", "r2", "r3"])
def test_units_pass_verification(node: str, family: str, tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    assert program is not None, "sudo apt-get install systemd"
    units = {path: text for path, text in files("networkd", node, family).items() if path.endswith(".service")}
    assert units
    for path, text in units.items():
        (tmp_path / Path(path).name).write_text(text)
    names = [str(tmp_path / Path(path).name) for path in units]
    done = subprocess.run([program, "verify", "--man=no", *names], capture_output=True, text=True, check=False)
    ours = [line for line in done.stderr.splitlines() if "mptcplab" in line]
    assert (done.returncode, ours) == (0, []), done.stderr


def test_verification_finds_mistakes(tmp_path: Path) -> None:
    """The test above could fail: an unknown key and a missing program are reported."""
    program = shutil.which("systemd-analyze")
    assert program is not None
    unit = tmp_path / "mptcplab.service"
    unit.write_text(files("networkd", "client")["etc/systemd/system/mptcplab.service"].replace("=sh /", "=nosuch /"))
    done = subprocess.run([program, "verify", "--man=no", unit], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "nosuch" in done.stderr


def test_command_lines_are_quoted() -> None:
    """``%`` and ``$`` have meanings in command lines; the path manager's configuration has quotes."""
    unit = files("networkd", "phone")["etc/systemd/system/mptcplab-path-manager-host-phone.service"]
    line = next(line for line in unit.splitlines() if line.startswith("ExecStart="))
    assert line.startswith('ExecStart=python3 -m mptcplab.guest.path_manager "{\\"paths\\":[{\\"link\\":\\"c\\"')
    assert line.endswith('"')
