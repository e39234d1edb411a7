# SPDX-License-Identifier: MIT
"""Machines with sshd, in namespaces of this machine: a hub, where commands run, and machines with cables between.

Each machine has its own network, processes, mounts and clock, which is shifted against this machine's where the kernel
allows it. Everything is a child of the hub's first process and ends with it. Nothing outside is touched.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import pytest
from tests.lab.bench import CLI

SSHD = "/usr/sbin/sshd"
_HUB = """
mount --make-rprivate / || exit
# Namespaces of others on this machine, which may end while a test runs.
for place in /run/netns/* /run/netns; do umount -l $place 2>/dev/null; done
mount -t tmpfs tmpfs /run && ip link set dev lo up && exec sleep infinity
"""
#: The clock's shift of each machine, in s: no two of the bed's clocks agree.
SHIFT = 1000
_MACHINE = """
mount --make-rprivate / && mount -t tmpfs tmpfs /run && mount -t sysfs sysfs /sys || exit
mkdir -p /run/sshd
ip link set dev lo up
until ip link show dev mgmt >/dev/null 2>&1; do sleep 0.02; done
ip address add {address}/24 dev mgmt && ip link set dev mgmt up || exit
{sshd} -e -f {config} || exit
exec sleep infinity
"""
_SERVER = """
Port 22
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
AuthenticationMethods publickey
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
PidFile /run/sshd.pid
"""
_CLIENT = """
Host {name}
	HostName {address}
	User root
	IdentityFile {folder}/user_key
	IdentitiesOnly yes
	UserKnownHostsFile {folder}/known_hosts
	StrictHostKeyChecking yes
"""


@functools.cache
def why_not() -> str:
    """Return why machines cannot be made here; empty if they can."""
    if os.geteuid() != 0:
        return "machines with sshd need root"
    for program in (SSHD, "nsenter", "unshare", "ssh-keygen"):
        if shutil.which(program) is None:
            return f"there is no {program}: apt-get install openssh-server util-linux"
    words = ["unshare", "--net", "--pid", "--mount", "--fork", "true"]
    done = subprocess.run(words, capture_output=True, text=True)
    return f"this machine does not allow namespaces: {done.stderr.strip()}" if done.returncode else ""


@functools.cache
def has_time_namespaces() -> bool:
    """Return whether machines can have clocks of their own."""
    words = ["unshare", "--time", "--monotonic", "5", "--fork", "true"]
    return subprocess.run(words, capture_output=True).returncode == 0


def _child(pid: int) -> int:
    """Return the only child of ``pid``, when there is one."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if children:
            return int(children[0])
        time.sleep(0.01)
    raise RuntimeError(f"{pid} has no child")


@dataclass
class BedMachine:
    """One machine: ``pid`` is its first process, as this machine sees it."""

    name: str
    address: str
    pid: int
    process: subprocess.Popen[bytes]
    #: Programs of the tests themselves. Those in brackets are the kernel's, or have ended and nobody waits for them.
    ignored: ClassVar[tuple[str, ...]] = ("ps -e", "sh -s", "[")

    def words(self) -> list[str]:
        """The words before a command that run it there."""
        return ["nsenter", "--target", str(self.pid), "--net", "--mount", "--pid", "--"]

    def run(self, *command: str, check: bool = True, text: str | None = None) -> str:
        """Run a command there, with ``text`` as its input, and return its output."""
        done = subprocess.run([*self.words(), *command], input=text, capture_output=True, text=True)
        assert not check or done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    def shell(self, text: str) -> str:
        """Run a shell script there."""
        return self.run("sh", "-ec", text)


@dataclass
class Bed:
    """The hub and its machines. ``folder`` has keys, configurations, and what tests write."""

    folder: Path
    hub: subprocess.Popen[bytes]
    pid: int
    machines: dict[str, BedMachine] = field(default_factory=dict)

    def command(self, *words: str | Path) -> list[str]:
        """Return the words that run mptcplab in the hub's network."""
        return ["nsenter", "--target", str(self.pid), "--net", "--", *CLI, *map(str, words)]

    def mptcplab(self, *words: str | Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """Run mptcplab in the hub's network."""
        environment = {**os.environ, "COLUMNS": "200"}
        return subprocess.run(self.command(*words), capture_output=True, text=True, timeout=timeout, env=environment)

    def add(self, name: str) -> BedMachine:
        """Add a machine with sshd that the hub reaches."""
        number = len(self.machines) + 1
        address = f"10.99.{number}.2"
        config = self.folder / "sshd_config"
        script = _MACHINE.format(address=address, sshd=SSHD, config=config)
        clock = ["--time", "--monotonic", str(SHIFT * number)] if has_time_namespaces() else []
        inner = ["unshare", "--net", "--mount", "--pid", *clock, "--fork", "--kill-child", "--mount-proc"]
        with (self.folder / f"{name}.log").open("wb") as log:
            outer = [*self.in_hub_words(), *inner, "sh", "-c", script]
            process = subprocess.Popen(outer, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        # nsenter forks for the namespace of processes, and so does unshare.
        machine = BedMachine(name, address, _child(_child(process.pid)), process)
        self.machines[name] = machine
        ends = ["name", f"mgmt{number}", "type", "veth", "peer", "name", "mgmt", "netns", str(machine.pid)]
        for words in (
            ["ip", "link", "add", *ends],
            ["ip", "address", "add", f"10.99.{number}.1/24", "dev", f"mgmt{number}"],
            ["ip", "link", "set", "dev", f"mgmt{number}", "up"],
        ):
            self.in_hub(*words).check_returncode()
        with (self.folder / "ssh_config").open("a") as file:
            file.write(_CLIENT.format(name=name, address=address, folder=self.folder))
        with (self.folder / "known_hosts").open("a") as file:
            file.write(f"{address} {(self.folder / 'host_key.pub').read_text()}")
        self._wait_for(machine)
        return machine

    def connect(self, name: str, *, connected: bool) -> None:
        """Plug in or unplug the machine from the hub; its cables stay."""
        number = list(self.machines).index(name) + 1
        self.in_hub("ip", "link", "set", "dev", f"mgmt{number}", "up" if connected else "down").check_returncode()

    def start_sshd(self, name: str) -> None:
        """Start sshd again after a test has killed it."""
        self.machines[name].run(SSHD, "-e", "-f", str(self.folder / "sshd_config"))
        self._wait_for(self.machines[name])

    def in_hub_words(self) -> list[str]:
        """Return the words before a command that run it as a process of the hub."""
        return ["nsenter", "--target", str(self.pid), "--net", "--mount", "--pid", "--"]

    def in_hub(self, *words: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command in the hub's network."""
        command = ["nsenter", "--target", str(self.pid), "--net", "--", *words]
        return subprocess.run(command, input=text, capture_output=True, text=True)

    def _wait_for(self, machine: BedMachine) -> None:
        end = time.monotonic() + 10
        words = ["ssh", "-F", str(self.folder / "ssh_config"), "-o", "BatchMode=yes", machine.name, "true"]
        while True:
            done = self.in_hub(*words)
            if done.returncode == 0:
                return
            assert time.monotonic() < end, done.stderr + (self.folder / f"{machine.name}.log").read_text()
            time.sleep(0.05)

    def cable(self, first: tuple[str, str], second: tuple[str, str]) -> None:
        """Connect two machines' new interfaces."""
        (first_machine, device), (other, peer) = first, second
        pids = [str(self.machines[name].pid) for name in (first_machine, other)]
        ends = ["name", device, "netns", pids[0], "type", "veth", "peer", "name", peer, "netns", pids[1]]
        self.in_hub("ip", "link", "add", *ends).check_returncode()

    def inventory(self, interfaces: Mapping[str, Mapping[str, object]], **more: object) -> Path:
        """Write an inventory, each node on the machine of its name, and return its file."""
        lines = ['ssh_config = "ssh_config"', *(f"{key} = {json.dumps(value)}" for key, value in more.items())]
        for node, named in interfaces.items():
            lines += [f"[nodes.{node}]", f'host = "{node}"', f"[nodes.{node}.interfaces]"]
            lines += [
                f"{link} = {value if str(value).startswith('{') else json.dumps(value)}"
                for link, value in named.items()
            ]
        file = self.folder / "inventory.toml"
        file.write_text("\n".join(lines) + "\n")
        return file

    def state(self, names: Iterable[str] | None = None) -> dict[str, str]:
        """Return what each machine's network, mounts, processes and files are, by machine and subject."""
        return {
            f"{machine.name}: {subject}": text
            for machine in (self.machines[name] for name in names or self.machines)
            for subject, text in _state(machine)
        }

    def settle(self, names: Iterable[str] | None = None) -> dict[str, str]:
        """Return the state when the kernel has checked all IPv6 addresses for duplicates, which takes 1 to 2 s."""
        end = time.monotonic() + 10
        chosen = [self.machines[name] for name in names or self.machines]
        while any(machine.run("ip", "-6", "address", "show", "tentative") for machine in chosen):
            assert time.monotonic() < end, "IPv6 addresses stay tentative"
            time.sleep(0.05)
        return self.state(names)


_SUBJECTS = {
    "settings": "sysctl -a --pattern '^net\\.' 2>/dev/null | grep -v nf_conntrack_count",
    "interfaces": 'ip -json -details address | sed \'s/,"tentative":true//g; s/"ifindex":[0-9]*,//g\'',
    "routes": "ip route show table all | sort; ip -6 route show table all | sort",
    "rules": "ip rule; ip -6 rule",
    "queues": "tc qdisc | sort",
    "neighbours": "ip neighbour show nud permanent",
    "endpoints": "ip mptcp endpoint; ip mptcp limits",
    "namespaces": "ip netns list",
    "offloads": "for d in /sys/class/net/*; do ethtool -k ${d##*/}; done",
    "mounts": "cut -d' ' -f5 /proc/self/mountinfo | sort",
    "files": "find /run /tmp -xdev | grep -v '^/tmp/.*'",
    "programs": "ps -e -o args=",
}


def _state(machine: BedMachine) -> Iterator[tuple[str, str]]:
    script = "".join(f"echo '=== {name}'\n{line}\n" for name, line in _SUBJECTS.items())
    for part in machine.run("sh", "-s", text=script).split("=== ")[1:]:
        name, _, text = part.partition("\n")
        if name == "programs":
            text = "\n".join(sorted(line for line in text.splitlines() if not line.startswith(machine.ignored)))
        yield name, text


@contextmanager
def make(folder: Path) -> Iterator[Bed]:
    """Make a hub without machines; end everything at the end."""
    if reason := why_not():
        pytest.skip(reason)
    for name in ("host_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    (folder / "sshd_config").write_text(_SERVER.format(folder=folder))
    words = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", _HUB]
    hub = subprocess.Popen(words, stdin=subprocess.DEVNULL)
    try:
        yield Bed(folder, hub, _child(hub.pid))
    finally:
        hub.send_signal(signal.SIGKILL)  # its child, the first process of the namespace, takes all others with it
        hub.wait()
