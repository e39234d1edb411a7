# SPDX-License-Identifier: MIT
"""Machines with sshd and a kernel of their own: Debian's, in QEMU without KVM, in real time.

They are on a bed's hub: QEMU forwards a port of the hub's loopback to each machine's sshd, and cables are sockets
between two of them. A machine says on a serial line, once a second, which runs it has and whether it is plugged in:
also while it cannot be reached.
"""

from __future__ import annotations

import hashlib
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from mptcplab.engine.stock.modules import ModuleTree
from mptcplab.engine.stock.root import archive, contents, program_files
from mptcplab.kernel.stock import StockKernel
from mptcplab_ssh.machine import BASE

from .bed import SSHD, Bed, BedMachine

#: The port of the hub's loopback that leads to the first machine's sshd; the next machine has the next one.
_FIRST_PORT = 2201
_MEMORY = "512M"
#: Not the CPU's own clock: at boot beside other work, an interpreted one was measured wrongly by a factor of 5.
_OPTIONS = "console=ttyS0 quiet panic=-1 mitigations=off nowatchdog clocksource=hpet no_timer_check rdinit=/init"
_BOOT_SECONDS = 180.0
#: An interpreted CPU needs a few seconds to exchange keys. Until it boots, QEMU takes connections that stay silent.
_ANSWER_SECONDS = 20
#: QEMU and the machine's kernel see a cable at once; a busy machine takes its time to say it.
_PLUG_SECONDS = 60.0
#: What an ordinary machine's udev and kernel load when they need it. This one has no programs for that.
_MODULES = (
    *("virtio_pci", "virtio_net", "af_packet", "inet_diag", "tcp_diag", "udp_diag", "mptcp_diag"),
    *("sch_netem", "sch_tbf", "sch_ingress", "cls_matchall", "act_mirred", "act_gact", "ifb"),
)
#: Programs that the engine's scripts, the scenarios and the tests start.
_PROGRAMS = (
    *(
        *BASE,
        "sh",
        "busybox",
        "hostname",
        "id",
        "uname",
        "head",
        "tail",
        "rmdir",
        "umount",
        "setsid",
        "kill",
        "ethtool",
    ),
    *("ss", "nstat", "sysctl", "ping", "ps", "sort", "sed", "find", "cut", "zcat"),
)
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_INIT = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
while read -r name; do busybox insmod "/modules/$name"; done </modules/order
hostname {name}
ip link set dev lo up
ip link set dev eth0 name mgmt
ip address add 10.0.2.15/24 dev mgmt
ip link set dev mgmt up
ip route add default via 10.0.2.2
mkdir -p /run/sshd
chmod 600 /etc/ssh/host_key
{sshd} -e -f /etc/ssh/sshd_config
while :; do
	read -r carrier </sys/class/net/mgmt/carrier
	echo "carrier:" $carrier
	echo "runs:" $(ls /run/mptcplab-ssh 2>/dev/null)
	sleep 1
done >/dev/ttyS1
"""
_SERVER = """
HostKey /etc/ssh/host_key
AuthorizedKeysFile /etc/ssh/user_key.pub
AuthenticationMethods publickey
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
"""
_CLIENT = """
Host {name}
	HostName 127.0.0.1
	Port {port}
	HostKeyAlias {name}
	User root
	IdentityFile {folder}/user_key
	IdentitiesOnly yes
	UserKnownHostsFile {folder}/known_hosts
	StrictHostKeyChecking yes
"""
_USERS = "root:x:0:0:root:/root:/bin/sh\nsshd:x:100:65534::/run/sshd:/usr/sbin/nologin\n"


@dataclass
class EmulatedMachine(BedMachine):
    """A machine in QEMU, which commands reach by ssh. ``serial`` is what it says of its runs."""

    #: The connection of the question itself, and what says which runs there are.
    ignored: ClassVar[tuple[str, ...]] = (*BedMachine.ignored, "sshd: root", "sleep 1")
    bed: Bed = field(kw_only=True)
    serial: Path = field(kw_only=True)

    def run(self, *command: str, check: bool = True, text: str | None = None) -> str:
        """Run a command there and return its output."""
        words = ["ssh", "-F", str(self.bed.folder / "ssh_config"), "-o", "BatchMode=yes"]
        words += ["-o", f"ConnectTimeout={_ANSWER_SECONDS}", self.name, "--"]
        done = self.bed.in_hub(*words, shlex.join(command), text=text)
        assert not check or done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    @property
    def runs(self) -> list[str]:
        """The runs that the machine had a second ago."""
        return self._last_words("runs:")

    def connect(self, *, connected: bool) -> None:
        """Plug in or unplug the interface by which the hub reaches the machine, and wait until the machine says so."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"set_link mgmt {'on' if connected else 'off'}\n".encode())
        self.process.stdin.flush()
        until = time.monotonic() + _PLUG_SECONDS
        while self._last_words("carrier:") != [str(int(connected))]:
            assert time.monotonic() < until, f"connected={connected} has no effect"
            time.sleep(0.2)

    def _last_words(self, subject: str) -> list[str]:
        """Return the words of the last complete line about a subject."""
        lines = [line for line in self.serial.read_text().splitlines(keepends=True) if line.startswith(subject)]
        complete = [line for line in lines if line.endswith("\n")]
        return complete[-1].split()[1:] if complete else []


#: What QEMU says, and the kernel.
_LOGS = ("log", "console")


def boot(bed: Bed, kernel: StockKernel, names: tuple[str, str], cables: Sequence[str]) -> None:
    """Start two machines with sshd and ``cables`` between them: their interfaces eth1, eth2 and so on."""
    machines = [_start_machine(bed, kernel, name, other, cables) for name, other in (names, names[::-1])]
    until = time.monotonic() + _BOOT_SECONDS
    for machine in machines:
        while _answer(machine):
            console = "".join((bed.folder / f"{machine.name}.{log}").read_text(errors="replace") for log in _LOGS)
            assert machine.process.poll() is None, console
            assert time.monotonic() < until, f"{_answer(machine)}\n{console}"
            time.sleep(1)


def _answer(machine: EmulatedMachine) -> str:
    """Return why a machine does not answer; empty if it does."""
    try:
        machine.run("true")
    except AssertionError as error:
        return str(error)
    return ""


def _start_machine(bed: Bed, kernel: StockKernel, name: str, other: str, cables: Sequence[str]) -> EmulatedMachine:
    port = _FIRST_PORT + len(bed.machines)
    (bed.folder / f"{name}.cpio").write_bytes(_root(bed, kernel, name))
    with (bed.folder / "ssh_config").open("a") as file:
        file.write(_CLIENT.format(name=name, port=port, folder=bed.folder))
    with (bed.folder / "known_hosts").open("a") as file:
        file.write(f"{name} {(bed.folder / 'host_key.pub').read_text()}")
    serial = bed.folder / f"{name}.runs"
    for output in (serial, bed.folder / f"{name}.console"):
        output.touch()
    process = subprocess.Popen(
        [
            *bed.in_hub_words(),
            "env",
            "--chdir",
            str(bed.folder),
            *_qemu(kernel, name, port),
            *_cards(name, other, cables),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=(bed.folder / f"{name}.log").open("wb"),
    )
    machine = EmulatedMachine(name, "127.0.0.1", process.pid, process, bed=bed, serial=serial)
    bed.machines[name] = machine
    return machine


def _qemu(kernel: StockKernel, name: str, port: int) -> list[str]:
    forwarded = f"hostfwd=tcp:127.0.0.1:{port}-10.0.2.15:22"
    return [
        *("qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        # Without cx16: see mptcplab.engine.stock.machine.
        *("-machine", "pc,usb=off,vmport=off", "-m", _MEMORY, "-accel", "tcg", "-cpu", "max,-cx16"),
        *("-monitor", "stdio", "-serial", f"file:{name}.console", "-serial", f"file:{name}.runs"),
        *("-kernel", str(kernel.image), "-initrd", f"{name}.cpio"),
        *("-append", _OPTIONS),
        # QEMU would announce a router, whose addresses have a lifetime that no two states agree on.
        *("-netdev", f"user,id=mgmt,restrict=on,ipv6=off,{forwarded}", "-device", "virtio-net-pci,netdev=mgmt"),
    ]


def _cards(name: str, other: str, cables: Sequence[str]) -> Iterator[str]:
    """Yield QEMU's options for one end of each cable. Packets to a machine that has not started yet get lost."""
    for number, cable in enumerate(cables):
        ends = f"local.type=unix,local.path={name}.{cable},remote.type=unix,remote.path={other}.{cable}"
        yield from ("-netdev", f"dgram,id={cable},{ends}")
        address = hashlib.sha256(name.encode()).hexdigest()[:2]
        yield from ("-device", f"virtio-net-pci,netdev={cable},mac=52:54:00:00:{address}:{number:02x}")


def _root(bed: Bed, kernel: StockKernel, name: str) -> bytes:
    """Return the archive with everything that a machine has."""
    paths = {program: shutil.which(program, path=_PATH) for program in _PROGRAMS}
    missing = [program for program, path in paths.items() if path is None]
    assert not missing, f"this machine lacks {', '.join(missing)}"
    programs = {program: Path(path) for program, path in paths.items() if path is not None} | {"sshd": Path(SSHD)}
    modules = ModuleTree(kernel).sort_by_dependency(_MODULES)
    texts = {
        "/init": _INIT.format(name=name, sshd=SSHD),
        "/etc/passwd": _USERS,
        "/etc/ssh/sshd_config": _SERVER,
        **{f"/etc/ssh/{key}": (bed.folder / key).read_text() for key in ("host_key", "user_key.pub")},
        "/modules/order": "".join(f"{module}\n" for module, _ in modules),
    }
    if kernel.config is not None:
        texts[f"/boot/config-{kernel.release}"] = kernel.config.read_text()
    files = {
        **contents({*program_files(programs), Path("/bin/sh")}),
        **{file: (text.encode(), file == "/init") for file, text in texts.items()},
        **{f"/modules/{module}": (content, False) for module, content in modules},
    }
    return archive(files, ("/dev", "/proc", "/root", "/run", "/sys", "/tmp"))
