# SPDX-License-Identifier: MIT
"""``mptcplab doctor``: its requirements come from the code that has them, and its commands can be pasted."""

from __future__ import annotations

import json
import os
import platform
import re
import resource
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mptcplab import lazy
from mptcplab.cli.main import main
from mptcplab.doctor import DoctorReport, Finding, Level, host, kernel, programs
from mptcplab.doctor.examine import merge_installs
from mptcplab.doctor.model import LinuxDistribution, detect_system
from mptcplab.doctor.programs import debian_programs
from mptcplab.engine import tools
from mptcplab.engine.memory import available_memory
from mptcplab.errors import MissingError
from mptcplab.kernel import KernelBuild
from mptcplab.kernel.build import TOOLS
from mptcplab.kernel.cache import find_kernel
from mptcplab.kernel.debian import TOOLS as DEBIAN_TOOLS
from mptcplab.workload.registry import KINDS

DEBIAN = LinuxDistribution("debian", "Debian")


def index_by_subject(findings: Iterator[Finding]) -> dict[str, Finding]:
    """Return findings by their subject."""
    return {finding.subject: finding for finding in findings}


def hide_programs(monkeypatch: pytest.MonkeyPatch, folder: Path, *without: str) -> None:
    """Simulate a machine that has all programs of labs except ``without``; programs that this one lacks do nothing."""
    links = folder / "bin"
    links.mkdir()
    for name in {*programs.program_uses(), *TOOLS, *DEBIAN_TOOLS, "setpriv", "sh", "ldd"} - set(without):
        path = shutil.which(name, path=f"{tools._SEARCH}:{os.environ['PATH']}")
        (links / name).symlink_to(path or "/bin/true")
    monkeypatch.setattr(tools, "_SEARCH", str(links))
    monkeypatch.setenv("PATH", str(links))


def test_uses_come_from_the_plans() -> None:
    uses = programs.program_uses()
    assert {uses[name] for name in ("ip", "tc", "nstat", "gcc")} == {"every run"}
    assert {uses[name] for name in ("ethtool", "sysctl")} == {
        "other engines, and reasons why the kernel refuses a command"
    }
    assert uses["iperf3"] == "workloads of kind iperf3"
    assert uses["socat"] == "workloads of kind transfer"
    assert uses["tcpdump"] == "captures"
    assert uses["yes"] == "links with delay and reorder"
    assert uses["nft"] == "nodes of kind router"
    assert uses["lighttpd"] == "workloads of kind http"
    assert uses["curl"] == "workloads of kind ftp and http"
    assert uses["vsftpd"] == "workloads of kind ftp"
    assert uses["iptables"] == "gateways with firewall iptables and `mptcplab selftest`"
    declared = {"flow", "stream", "voip", "udp", "requests", "web"}
    assert set(KINDS) == {*declared, "iperf3", "transfer", "http", "ftp"}, "a new kind appears in uses()"


def test_the_script_installs_what_has_to_be_there_before_us() -> None:
    """The packages that it does not install are essential, so every Debian machine has them."""
    script = (Path(__file__).resolve().parents[3] / "scripts" / "install-packages").read_text()
    before = script[script.index("packages=") : script.index("case")]
    wanted = {*TOOLS.values(), *DEBIAN_TOOLS.values(), "libc6-dev", "util-linux", "python3-venv"}
    essential = {"binutils", "coreutils", "dash", "findutils", "tar", "dpkg", "apt"}
    assert {name for name in wanted if not re.search(rf"\b{name}\b", before)} <= essential


def test_the_packages_of_a_lab_are_those_that_its_parts_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hide_programs(monkeypatch, tmp_path, "iperf3", "tc", "curl", "vsftpd", "iptables", "ip6tables")
    for options, read in (((), str.split), (("--json",), json.loads)):
        assert _status(monkeypatch, "--packages", "lab", *options) == 0
        assert read(capsys.readouterr().out) == ["curl", "iperf3", "iproute2", "iptables", "vsftpd"]


def test_the_packages_of_gateways_are_those_that_debian_has() -> None:
    of_kinds = debian_programs()
    assert set(of_kinds) == {"openvpn", "shadowsocks-libev"}
    packages = {tools.package_of(name) for programs in of_kinds.values() for name in programs}
    assert {"openvpn", "openssl", "shadowsocks-libev"} <= packages


def test_only_radio_links_need_the_programs_of_radios() -> None:
    """So neither `make demo` nor `make test` installs them."""
    assert set(programs.radio_programs()) >= {"hostapd", "iw", "wpa_supplicant"}
    assert not set(programs.radio_programs()) & set(programs.program_uses())
    assert tools.package_of("wpa_supplicant") == "wpasupplicant"


def test_every_kind_may_name_packages() -> None:
    assert tools.package_of("xargs") == "findutils"
    assert tools.package_of("iperf3") == "iperf3"
    assert tools.package_of("tc") == "iproute2"
    assert tools.package_of("nft") == "nftables"
    assert tools.package_of("ip6tables") == "iptables"


@pytest.mark.parametrize(
    ("system", "wanted", "command"),
    [
        (DEBIAN, ["iperf3", "iproute2", "iperf3"], "sudo apt-get install iperf3 iproute2"),
        (LinuxDistribution("debian", "Debian", is_root=True), ["tshark"], "apt-get install tshark"),
        (LinuxDistribution("fedora", "Fedora"), ["iproute2", "xz-utils"], "sudo dnf install iproute iproute-tc xz"),
        (LinuxDistribution("arch", "Arch"), ["tshark"], "sudo pacman -S wireshark-cli"),
        (LinuxDistribution("arch", "Arch"), ["mptcpize"], "makepkg -si in a clone of mptcpd from the AUR"),
        (LinuxDistribution("", "Plan 9"), ["bc"], "install the equivalents of Debian's bc"),
    ],
)
def test_commands_of_distributions(system: LinuxDistribution, wanted: list[str], command: str) -> None:
    assert system.install(wanted) == command


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("ID=debian\n", "debian"),
        ("ID=linuxmint\nID_LIKE='ubuntu debian'\n", "debian"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "fedora"),
        ("ID=manjaro\nID_LIKE=arch\n", "arch"),
        ("ID=nixos\n", ""),
    ],
)
def test_families(tmp_path: Path, text: str, family: str) -> None:
    (tmp_path / "os-release").write_text(text)
    assert detect_system(tmp_path / "os-release").family == family


def test_missing_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hide_programs(monkeypatch, tmp_path, "iperf3", "tc", "setpriv")
    lacks = index_by_subject(programs.check_programs(DEBIAN))
    assert (lacks["iperf3"].level, lacks["iperf3"].needed_for) == (Level.MISSING, "workloads of kind iperf3")
    assert (lacks["tc"].level, lacks["tc"].needed_for) == (Level.BROKEN, "every run")
    assert lacks["setpriv"].level == Level.BROKEN
    assert "iperf3" not in lacks["programs in the lab"].message
    merged = index_by_subject(iter(merge_installs(tuple(lacks.values()), DEBIAN)))
    assert merged["tc"].command == merged["iperf3"].command == "sudo apt-get install iperf3 iproute2 util-linux"


def test_missing_for_a_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hide_programs(monkeypatch, tmp_path, "flex", "dpkg-deb")
    lacks = index_by_subject(programs.check_build(DEBIAN))
    assert set(lacks) == {"flex", "dpkg-deb"}
    assert {finding.level for finding in lacks.values()} == {Level.MISSING}, "a kernel may be built already"
    elsewhere = index_by_subject(programs.check_build(LinuxDistribution("fedora", "Fedora")))
    assert set(elsewhere) == {"flex", "kernel source"}
    assert "--source" in elsewhere["kernel source"].command


def test_programs_that_are_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = {"gcc": "7.5.0\n", "ld": "GNU ld (GNU Binutils for Debian) 2.28\n"}
    default = "Usage: ip mptcp limits\n"
    monkeypatch.setattr(programs, "_output_of", lambda name, *_: outputs.get(Path(name).name, default))
    build = index_by_subject(programs.check_build(DEBIAN))
    assert build["gcc"].message == "7.5.0 is too old: Linux 7.2 needs 8.1"
    assert build["ld"].message == "2.28 is too old: Linux 7.2 needs 2.30"
    assert "too old" in index_by_subject(programs._old_programs(DEBIAN))["ip"].message


def test_headers_of_the_c_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> str:
        raise MissingError("none", hint="none")

    monkeypatch.setattr(programs, "compiler_version", absent)
    assert index_by_subject(programs.check_build(DEBIAN))["compiler"].command == "sudo apt-get install libc6-dev"


def test_python_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = ["click>=8.1", "rich>=999", "nosuch>=1; extra == 'bench'", "other; sys_platform == 'win32'"]
    monkeypatch.setattr(metadata, "requires", lambda _: wanted)
    checks = list(host.check_python())
    lacking = {finding.needed_for: finding for finding in checks if finding.level != Level.FINE}
    assert set(lacking) == {"every command"}
    assert lacking["every command"].level == Level.BROKEN
    assert lacking["every command"].command == f"{sys.executable} -m pip install 'rich>=999'"


@pytest.mark.parametrize(
    ("has_pip", "is_environment", "command"),
    [
        (True, True, "/an/environment/python -m pip install 'flask>=3.0'"),
        (False, True, "uv pip install --python /an/environment/python 'flask>=3.0'"),
        (True, False, "python -m pip install 'flask>=3.0'"),
        (False, False, "python -m pip install 'flask>=3.0'"),
    ],
)
def test_the_command_for_an_extra_fits_the_installation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, has_pip: bool, is_environment: bool, command: str
) -> None:
    """It names the library: an index may not have mptcplab, and Debian's Python takes no packages of pip."""
    (tmp_path / "EXTERNALLY-MANAGED").touch()
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    monkeypatch.setattr(sys, "executable", "/an/environment/python")
    monkeypatch.setattr(sys, "prefix", "/an/environment" if is_environment else sys.base_prefix)
    monkeypatch.setattr(lazy, "find_spec", lambda _: has_pip or None)
    expected = command if is_environment else f"in an environment that has mptcplab (python3 -m venv FOLDER): {command}"
    assert lazy.extra_command("serve") == expected


def test_packages_of_this_repository_come_from_the_checkout_or_from_an_index(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    checkout = Path(lazy.__file__).parents[2]
    monkeypatch.setattr(lazy, "install_command", " ".join)
    assert lazy.extra_command("ssh") == f"--editable {checkout}/packages/mptcplab-ssh"
    monkeypatch.setattr(lazy, "__file__", str(tmp_path / "lib" / "mptcplab" / "lazy.py"))
    assert lazy.extra_command("ssh") == "mptcplab-ssh"


def test_extras_are_in_one_line_and_nothing_to_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user needs none of them: what every command needs comes before."""
    wanted = ["click>=8.1; extra == 'wheels'", "nosuch>=1; extra == 'bench'"]
    wanted += [f"nosuch{number}; extra == 'dev'" for number in range(9)]
    monkeypatch.setattr(metadata, "requires", lambda _: wanted)
    (finding,) = host.check_extras()
    assert (finding.level, finding.command) == (Level.FINE, "")
    assert finding.message == (
        "with wheels; without bench (lacks nosuch>=1), dev (lacks 9 packages): for optional features and maintainers"
    )
    assert index_by_subject(host.check_python())["Python packages"].message == "all that mptcplab needs"


def test_python_packages_of_this_machine() -> None:
    assert index_by_subject(host.check_python())["Python packages"].level == Level.FINE


@pytest.mark.parametrize(
    ("free", "level", "use"),
    [(8, Level.FINE, ""), (1.5, Level.MISSING, "2 labs in parallel"), (0.2, Level.MISSING, "a lab that uses all")],
)
def test_memory(monkeypatch: pytest.MonkeyPatch, free: float, level: Level, use: str) -> None:
    monkeypatch.setattr(host, "available_memory", lambda: int(free * 2**30))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    finding = index_by_subject(host._memory())["memory"]
    assert (finding.level, use in finding.needed_for) == (level, True)
    assert level == Level.FINE or finding.command == "mptcplab run --jobs 1"


def test_memory_folder_that_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers have 64 MB at /dev/shm."""
    usage = type("Usage", (), {"free": 64 << 20})
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    monkeypatch.setattr(host, "memory_folder", lambda: Path("/dev/shm"))
    for user, command in ((0, "mount -o remount,exec,size="), (1000, "sudo mount -o remount,exec,size=")):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        finding = index_by_subject(host._memory())["memory folder"]
        assert finding.level == Level.MISSING
        assert finding.command.startswith(command)


def test_no_memory_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Path:
        raise MissingError("no folder", hint="mount one")

    monkeypatch.setattr(host, "memory_folder", none)
    assert [finding.level for finding in host._memory()] == [Level.BROKEN]


def test_available_memory_is_plausible() -> None:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 0 < available_memory() < total


@pytest.mark.parametrize(("free", "level"), [(50, Level.BROKEN), (2000, Level.MISSING), (4000, Level.FINE)])
def test_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: int, level: Level) -> None:
    usage = type("Usage", (), {"free": free << 20})
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "not" / "yet"))
    assert host._disk().level == level
    assert not (tmp_path / "not").exists(), "a check creates no folders"


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {resource.RLIMIT_FSIZE: (1 << 20, resource.RLIM_INFINITY), resource.RLIMIT_NOFILE: (64, 1024)}
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    monkeypatch.setattr(resource, "getrlimit", lambda which: limits.get(which, unlimited))
    assert {finding.command for finding in host._limits()} == {"ulimit -f unlimited", "ulimit -n hard"}


def test_another_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine="aarch64"))
    assert host._processor().level == Level.BROKEN


@pytest.mark.parametrize(
    ("flags", "release", "message"),
    [
        ("fpu fsgsbase pku ospke", "6.1.0-18-amd64", "fast: programs run in the process"),
        ("fpu fsgsbase pku", "6.1.0-18-amd64", "fast in experiments; slower in `mptcplab exec`"),
        ("fpu ospke", "5.10.0-28-amd64", "lacks FSGSBASE, syscall user dispatch (Linux 5.11)"),
        (None, "6.1.0", "lacks FSGSBASE"),
    ],
)
def test_where_system_calls_are_handled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, flags: str | None, release: str, message: str
) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    if flags is not None:
        cpuinfo.write_text(f"processor\t: 0\nflags\t\t: {flags}\nbugs\t\t:\n")
    monkeypatch.setattr(host, "_cpu_flags", lambda _, read=host._cpu_flags: read(cpuinfo))
    monkeypatch.setattr(platform, "release", lambda: release)
    finding = host._system_calls()
    print(finding)
    assert message in finding.message
    assert finding.level is Level.FINE


def test_clock_of_a_child_process_can_be_read_or_the_reason_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [finding.subject for finding in host._virtual_clock()] == ["virtual clock"]

    def refuse(*_: object) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    (finding,) = host._virtual_clock()
    monkeypatch.undo()
    assert (finding.level, finding.needed_for) == (Level.MISSING, "the watchdog, which terminates labs that hang")
    assert finding.command


def find_kernel_command(name: str) -> str:
    """Return the command that a run names which needs this kernel."""
    with pytest.raises(MissingError) as caught:
        find_kernel(name)
    return caught.value.command


def _entry(folder: Path, version: str, inputs: str, **more: str) -> None:
    entry = folder / "mptcplab" / "kernels" / f"{version}-{inputs:.12}"
    entry.mkdir(parents=True)
    (entry / "linux").touch()
    facts = {"format": 1, "version": version, "release": f"{version}.1", "key": inputs, "config_sha256": "c"}
    facts |= {"inputs": inputs, "source": {"sha256": "s"}, "built": "2026-01-01", "lost_options": [], **more}
    (entry / "entry.json").write_text(json.dumps(facts))


def test_kernels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (nothing,) = kernel.check_kernels()
    assert (nothing.level, nothing.message, nothing.command) == (Level.BROKEN, "is not built", "mptcplab kernel build")
    _entry(tmp_path, "7.2", "old")
    _entry(tmp_path, "6.12", "old")
    _entry(tmp_path, "7.2", "older", variant="window")
    checks = index_by_subject(kernel.check_kernels())
    assert checks["kernel 7.2-window"].message == checks["kernel 7.2"].message
    assert checks["kernel 7.2-window"].command == find_kernel_command("7.2-window")
    assert "stale" in checks["kernel 7.2"].message
    assert (checks["kernel 6.12"].level, checks["kernel 6.12"].command) == (Level.MISSING, "mptcplab kernel build 6.12")


def test_a_lab_that_does_not_boot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "System.map").write_text("0000000060000000 b time_travel_time\n")
    (tmp_path / "linux").symlink_to("/bin/false")
    finding = kernel.boot(KernelBuild("7.2", "7.2.1", "k" * 64, tmp_path, "c" * 64))
    assert finding.level == Level.BROKEN
    assert finding.message.startswith("a lab does not start: the lab kernel ended without a result (status 1)")
    assert "\n" not in finding.message
    assert list((tmp_path / "cache" / "mptcplab" / "tmp").iterdir()) == []


@pytest.mark.parametrize(
    ("seccomp", "scope", "listed", "command"),
    [
        ("0", "1", [], ""),
        ("2", "1", ["a seccomp filter restricts this process"], "docker run --security-opt seccomp=unconfined"),
        ("0", "2", ["kernel.yama.ptrace_scope is 2"], "sysctl kernel.yama.ptrace_scope=1"),
    ],
)
def test_restrictions_that_prevent_a_boot(
    monkeypatch: pytest.MonkeyPatch, seccomp: str, scope: str, listed: list[str], command: str
) -> None:
    texts = {"/proc/self/status": f"Name:\tx\nSeccomp:\t{seccomp}\nSeccomp_filters:\t1\n"}
    texts["/proc/sys/kernel/yama/ptrace_scope"] = f"{scope}\n"
    monkeypatch.setattr(Path, "read_text", lambda self: texts[str(self)])
    restrictions, fix = kernel._restrictions()
    assert (restrictions, command in fix, bool(fix)) == (listed, True, bool(command))


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> DoctorReport:
    findings = (
        Finding("Python", Level.FINE, "3.11"),
        Finding("tshark", Level.MISSING, "is not installed", "captures", "sudo apt-get install tshark"),
        Finding("kernel 7.2", Level.BROKEN, "is not built", "every run", "mptcplab kernel build"),
    )
    made = DoctorReport("mptcplab on a test", findings)
    monkeypatch.setattr("mptcplab.api.examine", lambda: made)
    return made


def _status(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["mptcplab", "doctor", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


@pytest.mark.usefixtures("report")
def test_printed_report(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert _status(monkeypatch) == 3
    assert capsys.readouterr().out.splitlines() == [
        "mptcplab on a test",
        "  fine     Python      3.11",
        "  missing  tshark      is not installed, needed for captures",
        "  broken   kernel 7.2  is not built, needed for every run",
        "",
        "Experiments cannot run on this machine yet.",
        "To fix what is missing or broken:",
        "  mptcplab kernel build",
        "  sudo apt-get install tshark",
    ]


def test_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], report: DoctorReport) -> None:
    assert _status(monkeypatch, "--json") == 3
    document = json.loads(capsys.readouterr().out)
    assert document == report.to_json()
    assert document["can_run"] is False
    assert [row["level"] for row in document["findings"]] == ["fine", "missing", "broken"]


def test_only_broken_findings_change_the_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], report: DoctorReport
) -> None:
    without = DoctorReport(report.machine, report.findings[:2])
    monkeypatch.setattr("mptcplab.api.examine", lambda: without)
    assert _status(monkeypatch) == 0
    out = capsys.readouterr().out
    assert "To add what is missing, for the uses named above:\n  sudo apt-get install tshark" in out
