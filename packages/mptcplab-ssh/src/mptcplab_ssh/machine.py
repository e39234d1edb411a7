# SPDX-License-Identifier: MIT
"""One machine of a run: what it is and has, and the agent on it that carries out orders."""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from mptcplab.errors import InputError, LabError, MissingError
from mptcplab_ssh import scripts
from mptcplab_ssh.clock import Answer, Clock
from mptcplab_ssh.connection import Lines, SshConnection
from mptcplab_ssh.fitting import FittedNode
from mptcplab_ssh.saved import check_movable, parse_saved

#: Commands of our scripts beyond a POSIX shell; the plan's own are checked as well.
BASE = ("ip", "tc", "mount", "sleep", "cat", "ls", "mkdir", "mv", "rm", "cp", "chmod", "ln", "wc", "grep", "tr")
_DEBIAN = {"ip": "iproute2", "tc": "iproute2", "ss": "iproute2", "nstat": "iproute2", "sysctl": "procps"}
_OPENWRT = {"ip": "ip-full", "tc": "tc-full", "ss": "ss", "nstat": "nstat", "ethtool": "ethtool"}


@dataclass(frozen=True)
class Survey:
    """What `survey.sh` printed, by section."""

    sections: Mapping[str, str]

    @cached_property
    def system(self) -> tuple[str, ...]:
        """Name, release, architecture, version of the system, and our user number there."""
        return tuple((*self.sections["system"].splitlines(), "", "", "", "", "")[:5])

    @property
    def release(self) -> str:
        """The kernel's release."""
        return self.system[1]

    @property
    def architecture(self) -> str:
        """As `uname -m` says it."""
        return self.system[2]

    @property
    def programs(self) -> set[str]:
        """The programs that were asked for and that it has."""
        return set(self.sections["programs"].split())

    @property
    def connected_device(self) -> str:
        """The interface by which it answers us; empty if that is not known."""
        words = self.sections["way"].split()
        return words[words.index("dev") + 1] if "dev" in words else ""

    @property
    def hertz(self) -> int | None:
        """The kernel's timer frequency, where its configuration can be read."""
        text = self.sections["config"].strip().rpartition("=")[2]
        return int(text) if text.isdigit() else None

    @property
    def clock_shift_ns(self) -> int:
        """The clock of programs minus the kernel's, which differ in a time namespace."""
        for line in self.sections["timens"].splitlines():
            name, *numbers = line.split()
            if name == "monotonic":
                return int(numbers[0]) * 10**9 + int(numbers[1])
        return 0


def survey_machine(connection: SshConnection, programs: Sequence[str]) -> Survey:
    """Ask a machine what it is and has. :raises LabError: if it does not answer."""
    devices = " ".join(interface.device for interface in connection.machine.interfaces.values())
    head = f"INTERFACES='{devices}'\nPROGRAMS='{' '.join(programs)}'\nRUNS={scripts.ROOT}\n"
    text = connection.run(head + scripts.read_script("survey.sh")).decode(errors="replace")
    sections: dict[str, str] = {}
    for part in ("\n" + text).split("\n=== ")[1:]:
        name, _, body = part.partition("\n")
        sections[name] = body
    if "end" not in sections:
        raise LabError(f"{connection.place} did not say what it has", hint="its shell must be a POSIX shell")
    return Survey(sections)


def clean(connection: SshConnection, survey: Survey, lease_seconds: int) -> None:
    """End the runs on a machine that are over, as those whose command was killed.

    :raises LabError: if another run uses the machine, or if it cannot be put back.
    """
    names = survey.sections["runs"].split()
    script = scripts.cleaning_script(names, lease_seconds)
    for line in connection.run(script, seconds=lease_seconds + 120.0).decode(errors="replace").splitlines():
        word, name, rest = (*line.split(maxsplit=2), "", "")[:3]
        if word == "busy" and _overlaps(connection, survey, name):
            message = f"{connection.place} is used by another run, of {rest}"
            raise LabError(message, hint="wait for its end")
        if word == "stuck":
            message = f"{connection.place} could not be put back after an earlier run: {rest}"
            raise LabError(message, hint=f"see {scripts.folder_of(name)} there; remove it when that is repaired")


def _overlaps(connection: SshConnection, survey: Survey, name: str) -> bool:
    """Return whether another run's node ``name`` is ours, or may have taken one of our interfaces."""
    devices = {interface.device for interface in connection.machine.interfaces.values()}
    return name == connection.node or not devices <= set(survey.sections["present"].split())


def check_machine(place: str, fitted: FittedNode, survey: Survey, *, copied: Sequence[str] = ()) -> None:
    """Check that a machine has what its part of a plan needs, and that its interfaces may be taken.

    ``copied`` are the programs that we bring.
    :raises MissingError: naming all that it lacks. :raises InputError: naming an interface that cannot be taken.
    """
    if survey.system[0] != "Linux":
        raise InputError(f"{place} runs {survey.system[0]}, not Linux", hint="use a machine with Linux")
    if survey.system[4] != "0":
        raise InputError(f"we are not root on {place}", hint=f'write host = "root@{fitted.machine.host}"')
    needed = dict.fromkeys((*BASE, *fitted.uses, *(["ss"] if fitted.is_sampled or fitted.is_watched else [])))
    missing = [name for name in needed if name not in survey.programs and name not in copied]
    if missing:
        debian = " ".join(dict.fromkeys(_DEBIAN.get(name, name) for name in missing))
        openwrt = " ".join(dict.fromkeys(_OPENWRT.get(name, name) for name in missing))
        raise MissingError(
            f"the machine {place} has no {', '.join(missing)}",
            hint=f"there: apt-get install {debian}; OpenWrt: opkg install {openwrt}",
        )
    if not survey.sections["clock"]:
        raise MissingError(
            f"the machine {place} has no /proc/timer_list, which has its clock", hint="use another kernel there"
        )
    for link, interface in fitted.interfaces.items():
        if interface.device not in survey.sections["present"].split():
            hint = f"the inventory names it as the end of {link}; `ip link` there lists its interfaces"
            raise InputError(f"the machine {place} has no interface {interface.device}", hint=hint)
        if not survey.sections[f"address {interface.device}"]:
            hint = "its `ip` cannot print JSON. There: apt-get install iproute2; OpenWrt: opkg install ip-full"
            raise MissingError(f"the machine {place} has no full ip", hint=hint)
        user = f"{interface.device} of {place}"
        check_movable(interface.device, survey.sections, user=user, connected=survey.connected_device)


@dataclass
class MachineAgent:
    """The agent on one machine, during one run.

    ``began`` and ``ended`` are programs with instants there, and statuses; ``done`` are functions of commands with
    status, the number of the command that failed and its message; ``carriers`` has the links without one, by question;
    ``reached`` the link-layer address that answers at a link's other end.
    """

    connection: SshConnection
    fitted: FittedNode
    survey: Survey
    lease_seconds: int
    clock: Clock = field(default_factory=Clock)
    began: dict[str, int] = field(default_factory=dict)
    ended: dict[str, tuple[int, int]] = field(default_factory=dict)
    done: dict[str, tuple[int, int, str]] = field(default_factory=dict)
    carriers: dict[str, list[str]] = field(default_factory=dict)
    reached: dict[str, str] = field(default_factory=dict)
    state: str = ""
    is_lost: bool = False

    def __post_init__(self) -> None:
        self._asked: dict[str, int] = {}
        self._count = 0
        self._heard_ns = 0
        self._lines: Lines | None = None

    @property
    def node(self) -> str:
        """The node's name."""
        return self.fitted.node

    def open(self, files: Mapping[str, str], flow: Mapping[str, bytes]) -> None:
        """Bring what the run needs and start the machine's keeper; nothing is changed yet."""
        owner = f"{getpass.getuser()}@{socket.gethostname()} ({os.getpid()})"
        self.connection.run(scripts.opening_script(self.node, files, owner))
        for name, data in flow.items():
            script = f"cat >{scripts.folder_of(self.node)}/{name} && chmod 755 {scripts.folder_of(self.node)}/{name}"
            self.connection.run(script, data=data)

    def start(self) -> None:
        """Start the agent. Call it in the thread that outlives it."""
        self._heard_ns = time.monotonic_ns()
        self._process = self.connection.session(f"cd {scripts.folder_of(self.node)} && exec sh ./agent.sh")
        self._lines = Lines(self._process)

    @property
    def descriptor(self) -> int | None:
        """What is readable when the agent has said something."""
        return self._lines.descriptor if self._lines is not None and not self.is_lost else None

    def order(self, *words: str) -> None:
        """Send an order. The answer comes with :meth:`read`."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{' '.join(words)}\n".encode())
            self._process.stdin.flush()
        except (OSError, ValueError):
            self.is_lost = True

    def interface_of(self, link: str) -> str:
        """Return the interface that is the node's end of ``link``, for messages."""
        return f"{self.fitted.interfaces[link].device} of {self.connection.place}"

    def hardware_address_of(self, link: str) -> str | None:
        """Return the link-layer address of the node's end of ``link``; None if it has none that others ask for."""
        (address,) = json.loads(self.survey.sections[f"address {self.fitted.interfaces[link].device}"])[-1:]
        return str(address["address"]) if address.get("link_type") == "ether" else None

    @property
    def silent_seconds(self) -> float:
        """The time since the agent was started or has last said something."""
        return (time.monotonic_ns() - self._heard_ns) / 1e9 if self._lines is not None else 0.0

    @property
    def answers(self) -> int:
        """The number of answers about the clock so far."""
        return len(self.clock.answers)

    @property
    def is_asked(self) -> bool:
        """True while a question for the clock has no answer."""
        return bool(self._asked)

    def renew(self) -> None:
        """Renew the lease, and ask for the clock."""
        self._count += 1
        self._asked[str(self._count)] = time.monotonic_ns()
        self.order("renew", str(self._count))

    def read(self) -> None:
        """Take what the agent has said."""
        assert self._lines is not None
        for line in self._lines.read():
            self._heard_ns = time.monotonic_ns()
            words = line.split()
            if len(words) >= 2 and words[-1].isdigit():
                self._take(words[0], words[1:-1], int(words[-1]))
        self.is_lost |= self._lines.is_over

    def _take(self, word: str, words: list[str], clock: int) -> None:
        there_ns = clock + self.survey.clock_shift_ns
        if word == "clock" and words[0] in self._asked:
            self.clock.add(Answer(self._asked.pop(words[0]), time.monotonic_ns(), there_ns))
        elif word == "began":
            self.began[words[0]] = there_ns
        elif word == "ended":
            self.ended[words[0]] = (int(words[1]), there_ns)
        elif word == "done":
            self.done[words[0]] = (int(words[1]), int(words[2]), " ".join(words[3:]))
        elif word == "carriers":
            self.carriers[words[0]] = words[1:]
        elif word == "reached":
            self.reached[words[0]] = words[1]
        elif word == "outside":
            self.state = word
        elif word == "inside":
            self.state = word if words[0] == "0" else " ".join(words[1:])

    def put_back(self) -> str:
        """Make the machine put itself back, and return what it could not do."""
        if self._lines is not None:
            with contextlib.suppress(OSError):
                self.order("end")
        seconds = self.lease_seconds + 60.0
        return self.connection.run(scripts.ending_script(self.node, self.lease_seconds), seconds=seconds).decode(
            errors="replace"
        )

    def last_message(self, program: str) -> str:
        """Return the end of what a program printed as errors, or else of its output."""
        try:
            return self.connection.run(scripts.last_message(self.node, program)).decode(errors="replace")
        except LabError:
            return ""

    def collect(self) -> dict[str, bytes]:
        """Return the files of the run's results by name."""
        data, files = self.connection.run(scripts.collecting_script(self.node), seconds=600.0), {}
        while data:
            head, _, data = data.partition(b"\n")
            name, size = head.decode().rsplit(" ", 1)
            files[name], data = data[: int(size)], data[int(size) :]
        return files

    def restoring_lines(self) -> dict[int, list[str]]:
        """Return the lines that put back each interface, by number. :raises InputError: if that is not possible."""
        devices = [interface.device for interface in self.fitted.interfaces.values()]
        return {
            number: parse_saved(device, self.survey.sections).commands()
            for number, device in enumerate(devices, start=1)
        }
