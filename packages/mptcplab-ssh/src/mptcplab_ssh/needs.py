# SPDX-License-Identifier: MIT
"""What a node's part of a plan needs of its machine's kernel, tried there before anything is changed.

Each need is tried by the plan's own command, in a network namespace that ends with the trial.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace

from mptcplab.engine.needs import Need, general_settings, needs_of
from mptcplab.errors import MissingError
from mptcplab.plan.model import Plan
from mptcplab_ssh.connection import SshConnection
from mptcplab_ssh.fitting import FittedNode

_AVAILABLE = "/proc/sys/net/ipv4/tcp_available_congestion_control"
_DEFAULT = "net.ipv4.tcp_congestion_control"
#: OpenWrt's packages of kernel modules that are not named after the module.
_OPENWRT = {"sch_tbf": "kmod-sched-core", "sch_ingress": "kmod-sched-core", "cls_matchall": "kmod-sched-core"}


@dataclass(frozen=True)
class Trials:
    """The trials of one node: parts of the kernel, settings, and congestion controls of single sockets."""

    needs: tuple[Need, ...]
    settings: tuple[str, ...]
    controls: tuple[str, ...]

    def script(self) -> str:
        """Return the script that prints a line for everything that is missing."""
        return "\n".join([_HEAD, *self._lines(), ":", ""])

    def _lines(self) -> Iterator[str]:
        for number, need in enumerate(self.needs):
            yield f"begin; {' && '.join(f'try {shlex.join(argv)}' for argv in need.trial)} || missing need {number}"
        if self.settings or self.controls:
            yield "begin"
        for number, setting in enumerate(self.settings):
            yield f"try sysctl -qw {shlex.quote(setting)} || missing setting {number}"
        for number, name in enumerate(self.controls):
            yield f"try grep -qw {name} {_AVAILABLE} || missing control {number}"


_HEAD = r"""
trap '' HUP PIPE
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH
NS=mptcplab.try.$$
errors= fresh=
[ -e /run/netns ] || fresh=1
over() {
	ip netns delete $NS 2>/dev/null
	[ -z "$fresh" ] || { umount /run/netns && rmdir /run/netns; } 2>/dev/null
}
trap over EXIT
begin() { ip netns delete $NS 2>/dev/null; ip netns add $NS; }
try() { errors=$(ip netns exec $NS "$@" 2>&1 >/dev/null); }
missing() { echo "$1 $2 $errors" | head -n 1; }
"""


def trials_of(fitted: FittedNode, plan: Plan) -> Trials:
    """Return what must be tried for a node."""
    commands = (*fitted.commands, *fitted.events)
    needs = needs_of(replace(plan, setup=commands, events=(), queues=fitted.queues))
    # Settings of interfaces have other names there.
    settings = tuple(dict.fromkeys(general_settings(commands)))
    return Trials(tuple(needs.values()), settings, plan.needs.congestion_controls if fitted.is_watched else ())


def try_needs(connection: SshConnection, release: str, trials: Trials) -> None:
    """Check that the machine's kernel has everything. :raises MissingError: naming all that it lacks."""
    text = connection.run(trials.script()).decode(errors="replace")
    modules: dict[str, None] = {}
    missing: dict[str, None] = {}
    for line in text.splitlines():
        word, number, said = (*line.split(maxsplit=2), "", "")[:3]
        if word == "need":
            need = trials.needs[int(number)]
            users = f", needed by {', '.join(need.users)}" if need.users else ""
            missing[f"{need.name}{users}"] = None
            modules[need.module] = None
        elif word == "control":
            missing[f"the congestion control {trials.controls[int(number)]}"] = None
            modules[f"tcp_{trials.controls[int(number)]}"] = None
        elif word == "setting":
            name, _, value = trials.settings[int(number)].partition("=")
            if name == _DEFAULT:
                raise _control(connection, value, said)
            missing[f"the setting {name}={value} ({said.strip().rpartition(': ')[2] or 'refused'})"] = None
    if missing:
        message = f"the kernel {release} of {connection.place} lacks: {'; '.join(missing)}"
        raise MissingError(message, hint=_hint(list(modules)))


def _control(connection: SshConnection, name: str, said: str) -> MissingError:
    """Return the error for a default: a namespace takes only controls that every user of the machine may choose."""
    reason = said.strip().rpartition(": ")[2]
    message = f"the machine {connection.place} does not take the congestion control {name}: {reason}"
    setting = "net.ipv4.tcp_allowed_congestion_control"
    hint = f'there: modprobe tcp_{name}; sysctl -w {setting}="$(sysctl -n {setting}) {name}"'
    return MissingError(message, hint=hint)


def _hint(modules: list[str]) -> str:
    if not modules:
        return "use a newer kernel there, or remove the key from the scenario"
    packages = dict.fromkeys(_OPENWRT.get(name, f"kmod-{name.removeprefix('sch_')}") for name in modules)
    return (
        f"there: modprobe -a {' '.join(modules)}, or install a kernel with these modules; "
        f"OpenWrt: opkg install {' '.join(packages)}"
    )
