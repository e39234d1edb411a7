# SPDX-License-Identifier: MIT
"""The needs of a plan's commands in a kernel that is not ours, with the commands that try them.

Engines that use a machine's own kernel try these needs before anything runs, each in its way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from mptcplab.network.tables import is_own_table
from mptcplab.plan.model import Plan
from mptcplab.steps import Command

_LO = ("ip", "link", "set", "dev", "lo", "up")
#: Kernel modules of words of `tc` whose names differ.
_MODULES = {
    "clsact": "sch_ingress",
    "drop": "act_gact",
    "pass": "act_gact",
    "matchall": "cls_matchall",
    "nft": "nf_tables",
}


@dataclass
class Need:
    """One part of the kernel: its module, the commands that try it, and the links or nodes that need it."""

    name: str
    module: str
    trial: list[list[str]]
    users: dict[str, None] = field(default_factory=dict)


def needs_of(plan: Plan) -> dict[str, Need]:
    """Return the parts of the kernel that the commands of ``plan`` use, by name."""
    links = {(queue.node, queue.device): queue.link for queue in plan.queues}
    needs: dict[str, Need] = {}
    for command in plan.commands:
        for name, module, trial in _trials(command):
            key = json.dumps([name, trial])
            need = needs.setdefault(key, Need(name, module, trial))
            device = command.argv[command.argv.index("dev") + 1] if "dev" in command.argv else ""
            user = links.get((command.node or "", device)) or command.node
            need.users |= {user: None} if user else {}
    return needs


def _trials(command: Command) -> Iterator[tuple[str, str, list[list[str]]]]:
    """Yield name, module and trial of what ``command`` uses."""
    argv = list(command.argv)
    if argv[:3] == ["ip", "link", "add"]:
        kind = argv[argv.index("type") + 1]
        if kind in ("veth", "ifb"):
            yield f"interfaces of type {kind}", kind, [["ip", "link", "add", "name", "probe", "type", kind]]
    if argv[:2] == ["tc", "qdisc"] and command.features:
        kind = command.features[0]
        words = _drop_own_table(argv[argv.index(kind, 5) :])
        add = ["tc", "qdisc", "add", "dev", "lo", "root", "handle", "1:"]
        yield kind, _MODULES.get(kind, f"sch_{kind}"), [list(_LO), [*add, *words]]
    clsact = ["tc", "qdisc", "add", "dev", "lo", "clsact"]
    if argv[:2] == ["tc", "qdisc"] and "clsact" in argv:
        yield "clsact", _MODULES["clsact"], [clsact]
    if argv[:2] == ["tc", "filter"] and "action" in argv:
        words = argv[argv.index("action") + 1 :]
        target = ["lo" if before == "dev" else word for before, word in zip(["", *words], words, strict=False)]
        # Without any option, the kernel refuses the filter.
        matchall = ["tc", "filter", "add", "dev", "lo", "ingress", "matchall", "classid", "1:1"]
        yield "matchall", _MODULES["matchall"], [clsact, matchall]
        module = _MODULES.get(words[0], f"act_{words[0]}")
        yield f"action {words[0]}", module, [list(_LO), ["tc", "actions", "add", "action", *target]]
    if argv[0] == "nft":
        yield "nft", _MODULES["nft"], [argv]


def _drop_own_table(words: list[str]) -> list[str]:
    """Return the words of a queueing discipline without the plan's own table, whose file is there only in the run."""
    if "distribution" not in words:
        return words
    at = words.index("distribution")
    return words if not is_own_table(words[at + 1]) else [*words[:at], *words[at + 2 :]]


def general_settings(commands: Iterable[Command]) -> Iterator[str]:
    """Yield the settings, as ``name=value``, that every namespace has: settings of interfaces come later."""
    for command in commands:
        if command.argv[:2] != ("sysctl", "-qw"):
            continue
        for setting in command.argv[2:]:
            if not {"conf", "neigh"} & set(setting.partition("=")[0].split(".")):
                yield setting
