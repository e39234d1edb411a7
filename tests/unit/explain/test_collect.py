# SPDX-License-Identifier: MIT
"""The script of `mptcplab collect`: every shell takes it, it only reads, and hidden addresses keep their relations."""

from __future__ import annotations

import ipaddress
import platform
import re
import shutil
import subprocess
import tarfile
from importlib import resources
from pathlib import Path

import pytest
from click.testing import CliRunner

from mptcplab.cli.main import commands

SCRIPT = Path(str(resources.files("mptcplab.explain").joinpath("collect.sh")))
SHELLS = [["dash"], ["bash", "--posix"], ["busybox", "sh"]]
#: The name of this machine, which the script takes from `uname -n`.
HOST = platform.node()
#: What stands in for the output of `ss`: addresses of two networks, IPv6, a MAC address and the host's name.
ADDRESSES = """\
2: eth0: <BROADCAST,UP,LOWER_UP> mtu 1500
    link/ether 52:54:00:ab:cd:ef brd ff:ff:ff:ff:ff:ff
    inet 10.1.2.3/24 brd 10.1.2.255 scope global eth0
    inet 10.1.2.77/24 scope global eth0
    inet 203.0.113.9/28 scope global eth1
    inet6 2001:db8:0:5::77/64 scope global
    inet6 fe80::5054:ff:feab:cdef/64 scope link
    inet 127.0.0.1/8 scope host lo
10.1.2.0/24 dev eth0 src 10.1.2.3
2001:db8:0:5::/64 dev eth0
[::ffff:10.1.2.3]:443 [2001:db8:0:5::77]:443 of HOST and not-HOST-1
rto:204 version 6.12.9 12:34:56
"""


def run(shell: list[str], folder: Path, *options: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the script in a shell."""
    program = shutil.which(shell[0])
    if program is None:
        pytest.skip(f"{shell[0]} is not installed")
    environment = {"PATH": path or "/usr/bin:/bin:/usr/sbin:/sbin"}
    command = [program, *shell[1:], str(SCRIPT), *options]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def members(archive: Path) -> dict[str, str]:
    """Return the texts of an archive by their names."""
    with tarfile.open(archive) as tar:
        files = {member.name.split("/")[-1]: tar.extractfile(member) for member in tar}
        return {name: file.read().decode() for name, file in files.items() if file is not None}


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell[0])
def test_a_shell_takes_it(tmp_path: Path, shell: list[str]) -> None:
    done = run(shell, tmp_path, "-t", "1", "-i", "1", "-o", "here")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here.tar.gz"]
    texts = members(tmp_path / "here.tar.gz")
    assert texts["index.txt"].startswith("mptcplab collect 1\n")
    assert "net.ipv4.tcp_rmem = " in texts["sysctl.txt"]
    assert "fastopen_key" not in texts["sysctl.txt"]


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_shellcheck_has_no_complaint() -> None:
    done = subprocess.run(["shellcheck", "-s", "sh", str(SCRIPT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-t", "x"), "-t 'x' is not a number of seconds"),
        (("-t", "0"), "-t '0' is not a number of seconds"),
        (("-i", "-1"), "-i '-1' is not a number of seconds"),
        (("-a", "-p"), "-a and -p exclude each other"),
        (("-o", "-rf"), "begins with a hyphen"),
        (("more",), "unexpected word 'more'"),
    ],
)
def test_mistakes_are_refused_before_anything_is_written(
    tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    done = run(["sh"], tmp_path, *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert "hint: " in done.stderr
    assert list(tmp_path.iterdir()) == []


def stand_ins(folder: Path) -> str:
    """Return a PATH whose `ss` prints the addresses. Shells of busybox prefer their own `ip`."""
    (folder / "addresses").write_text(ADDRESSES.replace("HOST", HOST))
    programs = folder / "programs"
    programs.mkdir()
    (programs / "ss").write_text(f"#!/bin/sh\ncat {folder}/addresses\n")
    (programs / "ss").chmod(0o755)
    return f"{programs}:/usr/bin:/bin"


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell[0])
def test_hidden_addresses_keep_their_relations(tmp_path: Path, shell: list[str]) -> None:
    done = run(shell, tmp_path, "-t", "1", "-i", "1", "-a", "-o", "here", path=stand_ins(tmp_path))
    assert done.returncode == 0, done.stderr
    texts = members(tmp_path / "here.tar.gz")
    for text in texts.values():
        assert not re.search(r"10\.1\.2\.|203\.0\.113|2001:db8|52:54:00|feab:cdef", text)
    # The first sample: at once, or on a busy machine a second later.
    samples = re.split(r"(?m)^### [1-9]\d* s", texts["sockets-tcp.txt"])
    text = next(sample for sample in samples if f"of host and not-{HOST}-1" in sample)
    assert "Linux host " in texts["system.txt"]
    assert f"of host and not-{HOST}-1" in text
    assert "inet 127.0.0.1/8" in text
    assert "brd ff:ff:ff:ff:ff:ff" in text
    assert "rto:204 version 6.12.9 12:34:56" in text
    first, second, public, local = (ipaddress.ip_interface(address) for address in re.findall(r"inet (\S+)", text))
    assert first.network == second.network
    assert first.ip in ipaddress.ip_network("10.0.0.0/8")
    assert not public.is_private
    assert local.is_loopback
    route, source = re.findall(r"(\S+) dev eth0 src (\S+)", text)[0]
    assert (ipaddress.ip_network(route), source) == (first.network, str(first.ip))
    sixth, link = (ipaddress.ip_interface(address) for address in re.findall(r"inet6 (\S+)", text))
    assert sixth.network == ipaddress.ip_network(re.findall(r"(\S+) dev eth0$", text, re.M)[0])
    assert link.is_link_local
    assert f"[::ffff:{first.ip}]:443" in text


def test_the_command_prints_it() -> None:
    assert CliRunner().invoke(commands, ["collect"]).stdout == SCRIPT.read_text()


@pytest.mark.slow
def test_the_command_runs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(commands, ["collect", "--run", "--seconds", "1", "--name", "here", "--hide"])
    assert result.exit_code == 0
    assert "hidden\tyes" in members(tmp_path / "here.tar.gz")["index.txt"]
