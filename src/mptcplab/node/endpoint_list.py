# SPDX-License-Identifier: MIT
"""The endpoints and limits of a node's path manager while events change them, with the commands that do it.

The kernel numbers endpoints from 1 in the order in which they are added, so the numbers of the set-up's endpoints are
known. The number of an endpoint which an event adds is not: the kernel gives numbers to *implicit* endpoints as well,
for each address of a subflow that has no endpoint, and an endpoint that is added for such an address takes its number
over, which it can only without a number of its own. So an event adds endpoints without a number, and looks it up to
remove them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from mptcplab.node.context import NodeContext
from mptcplab.node.graph import Port
from mptcplab.node.mptcp import endpoints_of, limits_command
from mptcplab.node.transport import Limits, Transport
from mptcplab.node.words import ADDED, REMOVED
from mptcplab.steps import Command, shell

_ENDPOINT = ("ip", "mptcp", "endpoint")
#: The flags that the kernel changes; ``signal`` and ``subflow`` cannot be changed.
CHANGEABLE = ("backup", "fullmesh")
_NOT = "no"


@dataclass(frozen=True)
class Entry:
    """One endpoint: the interface with its address, the port that it announces, its flags, and its number if known."""

    port: Port
    announced_port: int | None
    flags: tuple[str, ...]
    number: int | None = None

    @property
    def _port_words(self) -> tuple[str, ...]:
        return ("port", str(self.announced_port)) if self.announced_port is not None else ()

    def add(self) -> Command:
        """Return the command that adds it."""
        numbered = ("id", str(self.number)) if self.number is not None else ()
        words = ("add", self.port.ip, "dev", self.port.device, *numbered, *self._port_words, *self.flags)
        return Command(self.port.node, (*_ENDPOINT, *words))

    def remove(self) -> Command:
        """Return the command that removes it, which needs its number."""
        if self.number is not None:
            return Command(self.port.node, (*_ENDPOINT, "delete", "id", str(self.number)))
        start = " ".join((self.port.ip, *self._port_words)).replace(".", r"\.")
        text = rf"ip mptcp endpoint show | sed -n 's/^{start} id \([0-9]*\) .*/\1/p'"
        call = shell(f'ip mptcp endpoint delete id "$({text})"', "ip", "sed")
        return Command(self.port.node, call.argv, call.starts)

    def change(self) -> Command:
        """Return the command that gives it the flags of this entry.

        The kernel replaces all flags that can change by the flags that the command names.
        """
        named = [flag if flag in self.flags else f"{_NOT}{flag}" for flag in CHANGEABLE]
        return Command(self.port.node, (*_ENDPOINT, "change", self.port.ip, *self._port_words, *named))


class EndpointList:
    """The endpoints of one node, in order, and its limits."""

    def __init__(self, context: NodeContext, transport: Transport) -> None:
        self._node = context.name
        self._entries: list[Entry] = []
        #: The endpoints that went with their address, and come back with it.
        self._gone: list[Entry] = []
        self.limits = transport.limits
        for number, (port, options) in enumerate(endpoints_of(context, transport), start=1):
            announced = int(options[1]) if options[:1] == ("port",) else None
            flags = options if announced is None else options[2:]
            self._entries.append(Entry(port, announced, flags, number))

    def find(self, link: str, announced_port: int | None) -> Entry | None:
        """Return the endpoint with the address at ``link`` and this port; None if there is none."""
        return next(
            (entry for entry in self._entries if (entry.port.link, entry.announced_port) == (link, announced_port)),
            None,
        )

    def list_on(self, link: str) -> list[Entry]:
        """Return all endpoints with the address at ``link``."""
        return [entry for entry in self._entries if entry.port.link == link]

    def add(self, entry: Entry) -> Command:
        """Add an endpoint."""
        self._entries.append(entry)
        return entry.add()

    def remove(self, entry: Entry) -> Command:
        """Remove an endpoint."""
        self._entries.remove(entry)
        return entry.remove()

    def change(self, entry: Entry, words: Iterable[str]) -> Command:
        """Set and clear flags of an endpoint, as :func:`changed_flags` does."""
        changed = replace(entry, flags=changed_flags(entry.flags, words))
        self._entries[self._entries.index(entry)] = changed
        return changed.change()

    def apply(self, kind: str, port: Port, announced_port: int | None, words: tuple[str, ...]) -> Command:
        """Carry out an event of an endpoint with the address of ``port``: add, remove or change it by ``words``."""
        if kind == ADDED:
            return self.add(Entry(port, announced_port, words))
        entry = self.find(port.link, announced_port)
        assert entry is not None, "checked when the scenario was loaded"
        return self.remove(entry) if kind == REMOVED else self.change(entry, words)

    def set_limits(self, limits: Limits) -> Command:
        """Set the limits."""
        self.limits = limits
        return limits_command(self._node, limits)

    def address_removed(self, port: Port) -> Iterator[Command]:
        """Remove the endpoints with the address of ``port``, which goes."""
        self._gone += self.list_on(port.link)
        for entry in self.list_on(port.link):
            yield self.remove(entry)

    def address_added(self, port: Port) -> Iterator[Command]:
        """Add the endpoints again that went with the address of ``port``."""
        for entry in [item for item in self._gone if item.port.link == port.link]:
            self._gone.remove(entry)
            yield self.add(entry)


def changed_flags(flags: tuple[str, ...], words: Iterable[str]) -> tuple[str, ...]:
    """Return ``flags`` after a change: ``backup`` sets the flag, ``nobackup`` clears it, the others stay."""
    changed = list(flags)
    for word in words:
        flag = word.removeprefix(_NOT)
        if word == flag and flag not in changed:
            changed.append(flag)
        elif word != flag and flag in changed:
            changed.remove(flag)
    return tuple(changed)
