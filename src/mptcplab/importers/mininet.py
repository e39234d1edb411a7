# SPDX-License-Identifier: MIT
"""Mininet's Python files: ``addHost``, ``addSwitch``, ``addLink`` with the options of ``TCLink``, and ``cmd``.

:mod:`mptcplab.importers.interpreter` follows the file. A line that needs a value that only a running program has is not
imported.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from mptcplab.errors import InputError
from mptcplab.importers.commands import read_interface, read_script
from mptcplab.importers.interpreter import UNKNOWN, CallScope, Instance, Interpreter, LimitError, NamedObject
from mptcplab.importers.qdiscs import rate_of_mbit, read_time, share_of_percent, time_of_ms
from mptcplab.importers.world import Device, ImportedTransfer, Origin, Shape, World
from mptcplab.scenario.writing import CommentedValue
from mptcplab.units import Packets

_HOSTS, _SWITCHES = ("addHost", "addNode", "addStation", "addDocker"), ("addSwitch", "addAccessPoint", "addBaseStation")
_COMMANDS = ("cmd", "cmdPrint", "sendCmd", "pexec", "popen", "command_to")
_IGNORED_OPTIONS = {
    "cls",
    "intf",
    "intfName1",
    "intfName2",
    "port1",
    "port2",
    "params1",
    "params2",
    "addr1",
    "addr2",
    "key",
    "fast",
    "link",
}
#: The queue in packets where a link has no max_queue_size: netem's, or the device's.
_DEFAULT_QUEUE = 1000


def read_mininet(world: World, file: str, text: str) -> int:
    """Take a Mininet file; return the number of links. :raises InputError: if it is not Python."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        hint = "is it Python 2? print needs parentheses: 2to3 -w FILE"
        raise InputError(f"{file} is not valid Python 3", hint=hint) from error
    try:
        _MininetFile(world, file).take(module)
    except LimitError:
        world.assume(f"{file} is too long to follow to its end: what comes later is not imported")
    return len(world.cables)


class _MininetFile(Interpreter):
    def __init__(self, world: World, file: str) -> None:
        super().__init__()
        self._world, self._file = world, file
        self._ports: dict[str, int] = {}
        self._hosts = 0
        self._skipped: set[Origin] = set()

    def take(self, module: ast.Module) -> None:
        """Follow the module; if that makes no link, build the classes of its topologies."""
        self.run_module(module)
        for name, definition in self.classes.items():
            if self._world.cables:
                break
            if any("Topo" in ast.unparse(base) for base in definition.bases):
                self.build_instance(name)

    def assume(self, line: int | None, text: str) -> None:
        """See the base class."""
        self._world.assume(f"{self._file}{'' if line is None else f':{line}'}: {text}")

    def find_object(self, key: str) -> Any:
        """See the base class: ``net["h1"]`` is the node itself."""
        return NamedObject(key) if key in self._world.nodes else UNKNOWN

    def call_function(self, call: ast.Call, name: str, arguments: list[Any], options: dict[str, Any]) -> Any:
        """See the base class."""
        if name == "Mininet":
            topology = options.get("topo", arguments[0] if arguments else UNKNOWN)
            return topology if isinstance(topology, Instance) else Instance("Mininet")
        if name in ("TCLink", "Link", "Intf", "TCIntf") and len(arguments) > 1:
            self._link(call, arguments, options)
        return UNKNOWN

    def call_method(
        self, call: ast.Call, owner: Any, method: str, arguments: list[Any], options: dict[str, Any], scope: CallScope
    ) -> Any:
        """See the base class."""
        first = arguments[0] if arguments else UNKNOWN
        if method in _HOSTS or method in _SWITCHES:
            return self._add_node(call, method, first, options)
        if method in ("get", "getNodeByName", "nameToNode") and isinstance(first, str) and first in self._world.nodes:
            nodes = [NamedObject(name) for name in arguments if isinstance(name, str) and name in self._world.nodes]
            return nodes[0] if len(nodes) == 1 else nodes
        if method == "IP" and isinstance(owner, NamedObject):
            return self._address_of(owner.name, first if arguments else options.get("intf"))
        if method == "addLink":
            self._link(call, arguments, options)
        elif method in _COMMANDS:
            self._command(call, owner, arguments)
        elif method == "iperf":
            self._iperf(call, first, options)
        elif method == "setIP" and isinstance(owner, NamedObject):
            self._address(call, owner, arguments, options)
        else:
            return super().call_method(call, owner, method, arguments, options, scope)
        return UNKNOWN

    def _origin(self, call: ast.expr) -> Origin:
        return Origin(self._file, call.lineno)

    def _skip(self, call: ast.expr, reason: str) -> None:
        origin = self._origin(call)
        if origin not in self._skipped:
            self._skipped.add(origin)
            self._world.skip(origin, ast.unparse(call), reason)

    def _add_node(self, call: ast.Call, method: str, name: Any, options: dict[str, Any]) -> Any:
        if isinstance(name, int | float):
            name = str(name)
        if not isinstance(name, str) or not name:
            self._skip(call, "the node's name is only known when the program runs")
            return UNKNOWN
        node = self._world.node(name)
        node.is_switch = method in _SWITCHES
        node.forwards = node.forwards or self._is_router(call)
        address = options.get("ip")
        if not node.is_switch:
            # Mininet numbers hosts; an address belongs to the node's first interface.
            self._hosts += 1
            interface = read_interface(address if isinstance(address, str) else f"10.0.0.{self._hosts % 256}/8")
            if interface is not None:
                self._world.device(name, f"{name}-eth0").addresses = [(interface, self._origin(call))]
        return NamedObject(name)

    @staticmethod
    def _is_router(call: ast.Call) -> bool:
        """Return whether the node has a class of its own with the word router."""
        return any(keyword.arg == "cls" and "router" in ast.unparse(keyword.value).lower() for keyword in call.keywords)

    def _end(self, value: Any) -> str | None:
        if isinstance(value, NamedObject):
            return value.name
        return value if isinstance(value, str) and value in self._world.nodes else None

    def _link(self, call: ast.Call, arguments: list[Any], options: dict[str, Any]) -> None:
        ends = [self._end(value) for value in arguments[:2]]
        if len(ends) < 2 or ends[0] is None or ends[1] is None or ends[0] == ends[1]:
            self._skip(call, "the ends of the link are only known when the program runs")
            return
        pair = []
        for number, name in enumerate(ends, start=1):
            assert name is not None
            given = options.get(f"intfName{number}")
            device = given if isinstance(given, str) and given else f"{name}-eth{self._ports.get(name, 0)}"
            self._ports[name] = self._ports.get(name, 0) + 1
            of_end = options.get(f"params{number}")
            pair.append(self._interface(call, name, device, options, of_end if isinstance(of_end, dict) else {}))
        self._world.cables.append((pair[0], pair[1], self._origin(call)))

    def _interface(
        self, call: ast.Call, name: str, device_name: str, options: dict[str, Any], of_end: dict[str, Any]
    ) -> Device:
        device = self._world.device(name, device_name)
        address = of_end.get("ip")
        if isinstance(address, str) and (interface := read_interface(address)) is not None:
            device.addresses = [(interface, self._origin(call))]
        device.shape = self._shape(call, options | of_end)
        return device

    def _shape(self, call: ast.Call, options: Mapping[str, Any]) -> Shape:
        """Return the keys of TCLink's options."""
        shape: Shape = {}
        place = str(self._origin(call))
        unknown = []
        for name, value in options.items():
            if name in _IGNORED_OPTIONS or name in ("ip", "mac", "use_htb", "use_tbf", "use_hfsc") or value is None:
                continue
            key = self._option(name, value, place, shape)
            if not key:
                unknown.append(name)
        if unknown:
            self._skip(call, f"options that are not known, or whose values are not: {', '.join(unknown)}")
        if "rate" in shape and "queue" not in shape:
            about = f"{place}: what Mininet has without max_queue_size"
            shape["queue"] = CommentedValue(str(Packets(_DEFAULT_QUEUE)), about)
        if "queue" in shape and "rate" not in shape:
            queue = shape.pop("queue")
            if "delay" in shape:
                shape["delay_limit"] = queue
        if "jitter" in shape:
            shape["overtake"] = CommentedValue(True, f"{place}: netem without a rate does not keep packets in order")
        return shape

    @staticmethod
    def _option(name: str, value: Any, place: str, shape: Shape) -> bool:
        """Take one option of TCLink; False if it is not understood."""
        comment = f"{place}: {name}"
        if name == "bw" and isinstance(value, int | float):
            rate = rate_of_mbit(value)
            if rate is None or not 1000 <= rate <= 10**11:
                return False
            shape["rate"] = CommentedValue(str(rate), comment)
            return True
        if name in ("delay", "jitter"):
            time = (
                time_of_ms(value / 1000)
                if isinstance(value, int | float)
                else read_time(value)
                if isinstance(value, str)
                else None
            )
            if time is None or time > 2 * 10**9:
                return False
            if time:
                shape[name] = CommentedValue(str(time), comment)
            return True
        if name == "loss" and isinstance(value, int | float):
            share = share_of_percent(value)
            if share:
                shape["loss"] = CommentedValue(str(share), comment)
            return share is not None
        if name == "max_queue_size" and isinstance(value, int | float) and 1 <= value < 10**6:
            shape["queue"] = CommentedValue(
                str(Packets(int(value))), f"{comment}; also counts packets that are being delayed"
            )
            return True
        if name in ("enable_ecn", "enable_red", "speedup") and not value:
            return True
        if name == "enable_red" and value:
            shape["discipline"] = CommentedValue("red", comment)
            return True
        return False

    def _address(self, call: ast.Call, owner: NamedObject, arguments: list[Any], options: dict[str, Any]) -> None:
        text = arguments[0] if arguments else options.get("ip")
        prefix = options.get("prefixLen", arguments[1] if len(arguments) > 1 else None)
        if isinstance(text, str) and "/" not in text and isinstance(prefix, int):
            text = f"{text}/{prefix}"
        interface = read_interface(text) if isinstance(text, str) else None
        name = options.get("intf", f"{owner.name}-eth0")
        if interface is None or not isinstance(name, str):
            self._skip(call, "its address or interface is only known when the program runs")
            return
        self._world.device(owner.name, name).addresses = [(interface, self._origin(call))]

    def _address_of(self, name: str, interface: Any) -> Any:
        """Return the address of a node, or of one of its interfaces."""
        for device in self._world.devices_of(name):
            if device.addresses and (not isinstance(interface, str) or device.name == interface):
                return str(device.addresses[0][0].ip)
        return UNKNOWN

    def _iperf(self, call: ast.Call, hosts: Any, options: dict[str, Any]) -> None:
        """Take ``net.iperf((h1, h2), seconds=5)``."""
        ends = [name for value in self.items(hosts) if (name := self._end(value)) is not None]
        seconds = options.get("seconds", 5)
        if len(ends) == 2 and isinstance(seconds, int) and 0 < seconds <= 3600:
            keys = {"duration": f"{seconds} s"}
            self._world.transfers.append(ImportedTransfer(ends[0], ends[1], keys, 0.0, self._origin(call)))
        else:
            self._skip(call, "its hosts are only known when the program runs")

    def _command(self, call: ast.Call, owner: Any, arguments: list[Any]) -> None:
        if not isinstance(owner, NamedObject) or not arguments:
            return
        words = [value.name if isinstance(value, NamedObject) else value for value in arguments]
        if not all(isinstance(word, str | int | float) for word in words):
            self._skip(call, "the command is only known when the program runs")
            return
        read_script(self._world, self._file, " ".join(map(str, words)), owner.name, call.lineno)
