# SPDX-License-Identifier: MIT
"""Mininet's Python files: ``addHost``, ``addSwitch``, ``addLink`` with the options of ``TCLink``, and ``cmd``.

The file is parsed, never run. A small interpreter follows what such files consist of: literal values, arithmetic,
f-strings, loops over ranges and lists, functions and classes of the file itself. All else is unknown, and a line that
needs an unknown value is not imported.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from mptcplab.errors import InputError
from mptcplab.importers.commands import read_interface, read_script
from mptcplab.importers.qdiscs import rate_of_mbit, read_time, share_of_percent, time_of_ms
from mptcplab.importers.world import Device, ImportedTransfer, Origin, Shape, World
from mptcplab.scenario.writing import CommentedValue
from mptcplab.units import Packets

_MAX_STEPS, _MAX_DEPTH, _MAX_TEXT, _MAX_ITEMS, _MAX_NUMBER = 100_000, 12, 2000, 500, 10**15
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
_OPERATORS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_COMPARISONS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
_CONVERSIONS: Mapping[str, Callable[[Any], Any]] = {"int": int, "float": float, "str": str, "abs": abs, "round": round}
#: The queue in packets where a link has no max_queue_size: netem's, or the device's.
_DEFAULT_QUEUE = 1000


class _Unknown:
    """A value that only a running program has."""


_UNKNOWN = _Unknown()


class _LimitError(Exception):
    """The interpreter's limits are reached."""


class _Return(Exception):  # noqa: N818  not an error
    """A function returns a value."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


@dataclass(frozen=True)
class _Handle:
    """A node, as the program holds it."""

    name: str


@dataclass
class _Instance:
    """An object of a class of the file, or of Mininet."""

    class_name: str
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass
class _Scope:
    """Names of one call."""

    names: dict[str, Any]
    depth: int = 0


def read_mininet(world: World, file: str, text: str) -> int:
    """Take a Mininet file; return the number of links. :raises InputError: if it is not Python."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        hint = "is it Python 2? print needs parentheses: 2to3 -w FILE"
        raise InputError(f"{file} is not valid Python 3", hint=hint) from error
    interpreter = _Interpreter(world, file)
    try:
        interpreter.run_module(module)
    except (_LimitError, RecursionError):
        world.assume(f"{file} is too long to follow to its end: what comes later is not imported")
    except _Return:
        pass
    return len(world.cables)


class _Interpreter:
    def __init__(self, world: World, file: str) -> None:
        self._world, self._file, self._left = world, file, _MAX_STEPS
        self._functions: dict[str, ast.FunctionDef] = {}
        self._classes: dict[str, ast.ClassDef] = {}
        self._arguments: dict[str, Any] = {}
        self._ports: dict[str, int] = {}
        self._hosts = 0
        self._skipped: set[Origin] = set()

    def run_module(self, module: ast.Module) -> None:
        """Follow the module; if that makes no link, build the classes of its topologies."""
        scope = _Scope({"__name__": "__main__"})
        self._run(module.body, scope)
        for name, definition in self._classes.items():
            if self._world.cables:
                break
            if any("Topo" in ast.unparse(base) for base in definition.bases):
                self._instantiate(name, [], {}, scope)

    # -- statements

    def _run(self, statements: list[ast.stmt], scope: _Scope) -> None:
        for statement in statements:
            self._left -= 1
            if self._left <= 0:
                raise _LimitError
            self._statement(statement, scope)

    def _statement(self, statement: ast.stmt, scope: _Scope) -> None:
        if isinstance(statement, ast.FunctionDef):
            self._functions[statement.name] = statement
        elif isinstance(statement, ast.ClassDef):
            self._classes[statement.name] = statement
        elif isinstance(statement, ast.Assign):
            value = self._value(statement.value, scope)
            for target in statement.targets:
                self._assign(target, value, scope)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            self._assign(statement.target, self._value(statement.value, scope), scope)
        elif isinstance(statement, ast.AugAssign):
            value = ast.BinOp(self._load_target(statement.target), statement.op, statement.value)
            self._assign(statement.target, self._value(ast.copy_location(value, statement), scope), scope)
        elif isinstance(statement, ast.Expr):
            self._value(statement.value, scope)
        elif isinstance(statement, ast.For):
            for item in self._items(self._value(statement.iter, scope)):
                self._assign(statement.target, item, scope)
                self._run(statement.body, scope)
        elif isinstance(statement, ast.If):
            self._choose(statement, scope)
        elif isinstance(statement, ast.With | ast.Try):
            self._run(statement.body, scope)
        elif isinstance(statement, ast.Return):
            raise _Return(None if statement.value is None else self._value(statement.value, scope))

    def _choose(self, statement: ast.If, scope: _Scope) -> None:
        self._run(statement.body if self._is_true(statement.test, scope) else statement.orelse, scope)

    def _is_true(self, condition: ast.expr, scope: _Scope) -> bool:
        """Return whether a condition holds; True, with a note, if that is only known when the program runs."""
        value = self._value(condition, scope)
        if isinstance(value, _Unknown):
            self._world.assume(f"{self._file}:{condition.lineno}: the condition is not known; it is taken as true")
            return True
        return bool(value)

    @staticmethod
    def _load_target(target: ast.expr) -> ast.expr:
        """Return the target of an assignment as an expression that reads it."""
        read: ast.expr = ast.parse(ast.unparse(target), mode="eval").body
        return ast.copy_location(read, target)

    def _assign(self, target: ast.expr, value: Any, scope: _Scope) -> None:
        if isinstance(target, ast.Name):
            scope.names[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            items = self._items(value)
            for index, part in enumerate(target.elts):
                self._assign(part, items[index] if index < len(items) else _UNKNOWN, scope)
        elif isinstance(target, ast.Attribute):
            owner = self._value(target.value, scope)
            if isinstance(owner, _Instance):
                owner.attributes[target.attr] = value
        elif isinstance(target, ast.Subscript):
            owner, key = self._value(target.value, scope), self._value(target.slice, scope)
            if isinstance(owner, dict) and isinstance(key, str | int) and len(owner) < _MAX_ITEMS:
                owner[key] = value

    # -- expressions

    def _value(self, node: ast.expr, scope: _Scope) -> Any:
        self._left -= 1
        if self._left <= 0:
            raise _LimitError
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str | int | float | bool | None) else _UNKNOWN
        if isinstance(node, ast.Name):
            return scope.names.get(node.id, _UNKNOWN)
        if isinstance(node, ast.List | ast.Tuple):
            return [self._value(entry, scope) for entry in node.elts[:_MAX_ITEMS]]
        if isinstance(node, ast.Dict):
            return self._dict(node, scope)
        if isinstance(node, ast.BinOp):
            return self._operate(node, scope)
        if isinstance(node, ast.UnaryOp):
            return self._negate(node, scope)
        if isinstance(node, ast.JoinedStr):
            return self._join(node, scope)
        if isinstance(node, ast.Compare):
            return self._compare(node, scope)
        if isinstance(node, ast.BoolOp):
            values = [self._value(entry, scope) for entry in node.values]
            known = [value for value in values if not isinstance(value, _Unknown)]
            if isinstance(node.op, ast.Or):
                return next((value for value in known if value), _UNKNOWN if len(known) < len(values) else values[-1])
            return _UNKNOWN if len(known) < len(values) else next((value for value in values if not value), values[-1])
        if isinstance(node, ast.IfExp):
            return self._value(node.body if self._is_true(node.test, scope) else node.orelse, scope)
        if isinstance(node, ast.Subscript):
            return self._member(node, scope)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, scope)
        if isinstance(node, ast.ListComp):
            return self._comprehend(node, scope)
        if isinstance(node, ast.Call):
            return self._call(node, scope)
        return _UNKNOWN

    def _dict(self, node: ast.Dict, scope: _Scope) -> dict[Any, Any]:
        entries: dict[Any, Any] = {}
        for key, value in zip(node.keys[:_MAX_ITEMS], node.values, strict=False):
            if key is None:
                inner = self._value(value, scope)
                entries |= inner if isinstance(inner, dict) else {}
                continue
            name = self._value(key, scope)
            if isinstance(name, str | int):
                entries[name] = self._value(value, scope)
        return entries

    def _operate(self, node: ast.BinOp, scope: _Scope) -> Any:
        left, right = self._value(node.left, scope), self._value(node.right, scope)
        if isinstance(left, str) and isinstance(node.op, ast.Mod):
            return self._format(left, right)
        operate = _OPERATORS.get(type(node.op))
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        texts = isinstance(left, str) and isinstance(right, str) and isinstance(node.op, ast.Add)
        lists = isinstance(left, list) and isinstance(right, list) and isinstance(node.op, ast.Add)
        if operate is None or not (numbers or texts or lists):
            return _UNKNOWN
        try:
            value = operate(left, right)
        except (ArithmeticError, TypeError, ValueError):
            return _UNKNOWN
        return self._limit_value(value)

    @staticmethod
    def _limit_value(value: Any) -> Any:
        """Return a value that is not too large, else an unknown one."""
        if isinstance(value, str):
            return value[:_MAX_TEXT]
        if isinstance(value, list):
            return value[:_MAX_ITEMS]
        return value if isinstance(value, int | float) and abs(value) < _MAX_NUMBER else _UNKNOWN

    def _format(self, text: str, values: Any) -> Any:
        """Return ``text % values`` for plain ``%s``, ``%d`` and ``%f``."""
        left = list(values) if isinstance(values, list) else [values]
        parts = text.replace("%%", "\0").split("%")
        result = parts[0]
        for part in parts[1:]:
            if not left or part[:1] not in ("s", "d", "i", "f"):
                return _UNKNOWN
            value = left.pop(0)
            if not isinstance(value, str | int | float):
                return _UNKNOWN
            whole = part[0] in "di" and isinstance(value, float) and abs(value) < _MAX_NUMBER
            result += str(int(value) if whole else value) + part[1:]
        return result.replace("\0", "%")[:_MAX_TEXT]

    def _negate(self, node: ast.UnaryOp, scope: _Scope) -> Any:
        value = self._value(node.operand, scope)
        if isinstance(node.op, ast.Not):
            return _UNKNOWN if isinstance(value, _Unknown) else not value
        return -value if isinstance(node.op, ast.USub) and isinstance(value, int | float) else _UNKNOWN

    def _join(self, node: ast.JoinedStr, scope: _Scope) -> Any:
        text = ""
        for part in node.values:
            value = self._value(part.value, scope) if isinstance(part, ast.FormattedValue) else self._value(part, scope)
            if isinstance(value, _Handle):
                value = value.name
            if not isinstance(value, str | int | float):
                return _UNKNOWN
            text = (text + str(value))[:_MAX_TEXT]
        return text

    def _compare(self, node: ast.Compare, scope: _Scope) -> Any:
        operands = [self._value(operand, scope) for operand in (node.left, *node.comparators)]
        for sign, (left, right) in zip(node.ops, pairwise(operands), strict=True):
            compare = _COMPARISONS.get(type(sign))
            if compare is None or isinstance(left, _Unknown) or isinstance(right, _Unknown):
                return _UNKNOWN
            try:
                if not compare(left, right):
                    return False
            except TypeError:
                return _UNKNOWN
        return True

    def _member(self, node: ast.Subscript, scope: _Scope) -> Any:
        owner, key = self._value(node.value, scope), self._value(node.slice, scope)
        if isinstance(owner, dict) and isinstance(key, str | int):
            return owner.get(key, _UNKNOWN)
        if isinstance(owner, list | str) and isinstance(key, int) and -len(owner) <= key < len(owner):
            return owner[key]
        # net['h1'] is the node itself.
        return _Handle(key) if isinstance(key, str) and key in self._world.nodes else _UNKNOWN

    def _attribute(self, node: ast.Attribute, scope: _Scope) -> Any:
        owner = self._value(node.value, scope)
        if isinstance(owner, _Instance) and node.attr in owner.attributes:
            return owner.attributes[node.attr]
        if isinstance(owner, _Handle) and node.attr == "name":
            return owner.name
        return self._arguments.get(node.attr, _UNKNOWN)

    def _comprehend(self, node: ast.ListComp, scope: _Scope) -> list[Any]:
        values: list[Any] = []

        def collect(generators: Sequence[ast.comprehension]) -> None:
            if not generators:
                values.append(self._value(node.elt, scope))
                return
            generator, *inner = generators
            for item in self._items(self._value(generator.iter, scope)):
                self._assign(generator.target, item, scope)
                if len(values) < _MAX_ITEMS and all(self._is_true(condition, scope) for condition in generator.ifs):
                    collect(inner)

        collect(node.generators)
        return values

    @staticmethod
    def _items(value: Any) -> list[Any]:
        if isinstance(value, range):
            return list(value[:_MAX_ITEMS])
        if isinstance(value, dict):
            return list(value)
        return (
            value[:_MAX_ITEMS]
            if isinstance(value, list)
            else list(value[:_MAX_ITEMS])
            if isinstance(value, str)
            else []
        )

    # -- calls

    def _call(self, node: ast.Call, scope: _Scope) -> Any:
        arguments: list[Any] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                arguments += self._items(self._value(argument.value, scope))
            else:
                arguments.append(self._value(argument, scope))
        options: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self._value(keyword.value, scope)
            if keyword.arg is not None:
                options[keyword.arg] = value
            elif isinstance(value, dict):
                options |= {key: entry for key, entry in value.items() if isinstance(key, str)}
        if isinstance(node.func, ast.Name):
            return self._call_name(node, node.func.id, arguments, options, scope)
        if isinstance(node.func, ast.Attribute):
            owner = self._value(node.func.value, scope)
            return self._call_method(node, owner, node.func.attr, arguments, options, scope)
        return _UNKNOWN

    def _call_name(
        self, node: ast.Call, name: str, arguments: list[Any], options: dict[str, Any], scope: _Scope
    ) -> Any:
        if name in self._functions:
            return self._follow(self._functions[name], arguments, options, scope)
        if name in self._classes:
            return self._instantiate(name, arguments, options, scope)
        first = arguments[0] if arguments else _UNKNOWN
        if name == "range" and arguments and all(isinstance(entry, int) for entry in arguments):
            return range(*arguments[:3]) if len(arguments) < 3 or arguments[2] else _UNKNOWN
        if name in ("int", "float", "str", "len", "abs", "list", "enumerate", "round"):
            return self._convert(name, first)
        if name == "zip":
            return [list(pair) for pair in zip(*map(self._items, arguments), strict=False)]
        if name == "Mininet":
            topology = options.get("topo", first)
            return topology if isinstance(topology, _Instance) else _Instance("Mininet")
        if name in ("TCLink", "Link", "Intf", "TCIntf") and len(arguments) > 1:
            self._link(node, arguments, options)
        return _UNKNOWN

    def _convert(self, name: str, value: Any) -> Any:
        if isinstance(value, _Unknown):
            return _UNKNOWN
        if isinstance(value, _Handle):
            return value.name if name == "str" else _UNKNOWN
        if name in ("list", "enumerate"):
            items = self._items(value)
            return items if name == "list" else [[index, item] for index, item in enumerate(items)]
        if name == "len":
            return len(value) if isinstance(value, list | dict | str) else _UNKNOWN
        if not isinstance(value, str | int | float):
            return _UNKNOWN
        try:
            return self._limit_value(_CONVERSIONS[name](value))
        except (ValueError, TypeError, OverflowError):
            return _UNKNOWN

    def _instantiate(self, name: str, arguments: list[Any], options: dict[str, Any], scope: _Scope) -> _Instance:
        instance = _Instance(name)
        methods = {entry.name: entry for entry in self._classes[name].body if isinstance(entry, ast.FunctionDef)}
        for statement in self._classes[name].body:
            if isinstance(statement, ast.Assign):
                value = self._value(statement.value, scope)
                instance.attributes |= {
                    target.id: value for target in statement.targets if isinstance(target, ast.Name)
                }
        for method in ("__init__", "build"):
            if method in methods:
                self._follow(methods[method], [instance, *arguments], options, scope)
        return instance

    def _follow(self, function: ast.FunctionDef, arguments: list[Any], options: dict[str, Any], scope: _Scope) -> Any:
        """Follow the body of a function of the file."""
        if scope.depth >= _MAX_DEPTH:
            return _UNKNOWN
        names = [argument.arg for argument in function.args.args]
        defaults = function.args.defaults
        inner = _Scope(dict(scope.names), scope.depth + 1)
        for name, default in zip(names[len(names) - len(defaults) :], defaults, strict=True):
            inner.names[name] = self._value(default, scope)
        for argument, keyword_default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
            inner.names[argument.arg] = _UNKNOWN if keyword_default is None else self._value(keyword_default, scope)
        inner.names |= dict(zip(names, arguments, strict=False))
        inner.names |= {name: value for name, value in options.items() if name in inner.names or name in names}
        if function.args.kwarg is not None:
            inner.names[function.args.kwarg.arg] = {name: value for name, value in options.items() if name not in names}
        try:
            self._run(function.body, inner)
        except _Return as returned:
            return returned.value
        return None

    def _call_method(
        self, node: ast.Call, owner: Any, method: str, arguments: list[Any], options: dict[str, Any], scope: _Scope
    ) -> Any:
        first = arguments[0] if arguments else _UNKNOWN
        if method in _HOSTS or method in _SWITCHES:
            return self._node(node, method, first, options)
        if method == "addLink":
            self._link(node, arguments, options)
        elif method in ("get", "getNodeByName", "nameToNode") and isinstance(first, str) and first in self._world.nodes:
            handles = [_Handle(name) for name in arguments if isinstance(name, str) and name in self._world.nodes]
            return handles[0] if len(handles) == 1 else handles
        elif method == "get" and isinstance(owner, dict) and isinstance(first, str | int):
            return owner.get(first, arguments[1] if len(arguments) > 1 else None)
        elif method in _COMMANDS:
            self._command(node, owner, arguments)
        elif method == "IP" and isinstance(owner, _Handle):
            return self._address_of(owner.name, first if arguments else options.get("intf"))
        elif method == "iperf":
            self._iperf(node, first, options)
        elif method == "setIP" and isinstance(owner, _Handle):
            self._address(node, owner, arguments, options)
        elif method == "append" and isinstance(owner, list) and len(owner) < _MAX_ITEMS:
            owner.append(first)
        elif method == "add_argument":
            self._argument(arguments, options)
        elif method == "format" and isinstance(owner, str):
            return self._fill(owner, arguments, options)
        elif isinstance(owner, _Instance) and owner.class_name in self._classes:
            for entry in self._classes[owner.class_name].body:
                if isinstance(entry, ast.FunctionDef) and entry.name == method and method != "__init__":
                    return self._follow(entry, [owner, *arguments], options, scope)
        return _UNKNOWN

    def _fill(self, text: str, arguments: list[Any], options: dict[str, Any]) -> Any:
        """Return ``text.format(...)`` with plain fields."""
        values = {str(index): value for index, value in enumerate(arguments)} | options
        parts, number = text.split("{"), 0
        result = parts[0]
        for part in parts[1:]:
            name, closed, rest = part.partition("}")
            if not closed:
                return _UNKNOWN
            value = values.get(name or str(number), _UNKNOWN)
            number += not name
            value = value.name if isinstance(value, _Handle) else value
            if not isinstance(value, str | int | float):
                return _UNKNOWN
            result += f"{value}{rest}"
        return result[:_MAX_TEXT]

    def _argument(self, arguments: list[Any], options: dict[str, Any]) -> None:
        """Take the default of an option of the program's command line."""
        names = [name for name in arguments if isinstance(name, str)]
        long = next((name for name in names if name.startswith("--")), next(iter(names), ""))
        default = options.get("default", _UNKNOWN)
        destination = options.get("dest", long.lstrip("-").replace("-", "_"))
        if isinstance(destination, str) and not isinstance(default, _Unknown):
            self._arguments[destination] = default
            self._world.assume(f"{self._file}: the option {long} has its default, {default!r}")

    # -- Mininet

    def _origin(self, node: ast.expr) -> Origin:
        return Origin(self._file, node.lineno)

    def _skip(self, node: ast.expr, reason: str) -> None:
        origin = self._origin(node)
        if origin not in self._skipped:
            self._skipped.add(origin)
            self._world.skip(origin, ast.unparse(node), reason)

    def _node(self, node: ast.Call, method: str, name: Any, options: dict[str, Any]) -> Any:
        if isinstance(name, int | float):
            name = str(name)
        if not isinstance(name, str) or not name:
            self._skip(node, "the node's name is only known when the program runs")
            return _UNKNOWN
        made = self._world.node(name)
        made.is_switch = method in _SWITCHES
        made.forwards = made.forwards or self._is_router(node)
        address = options.get("ip")
        if not made.is_switch:
            # Mininet numbers hosts; an address belongs to the node's first interface.
            self._hosts += 1
            interface = read_interface(address if isinstance(address, str) else f"10.0.0.{self._hosts % 256}/8")
            if interface is not None:
                self._world.device(name, f"{name}-eth0").addresses = [(interface, self._origin(node))]
        return _Handle(name)

    @staticmethod
    def _is_router(node: ast.Call) -> bool:
        """Return whether the node has a class of its own with the word router."""
        return any(keyword.arg == "cls" and "router" in ast.unparse(keyword.value).lower() for keyword in node.keywords)

    def _end(self, value: Any) -> str | None:
        if isinstance(value, _Handle):
            return value.name
        return value if isinstance(value, str) and value in self._world.nodes else None

    def _link(self, node: ast.Call, arguments: list[Any], options: dict[str, Any]) -> None:
        ends = [self._end(value) for value in arguments[:2]]
        if len(ends) < 2 or ends[0] is None or ends[1] is None or ends[0] == ends[1]:
            self._skip(node, "the ends of the link are only known when the program runs")
            return
        pair = []
        for number, name in enumerate(ends, start=1):
            assert name is not None
            given = options.get(f"intfName{number}")
            device = given if isinstance(given, str) and given else f"{name}-eth{self._ports.get(name, 0)}"
            self._ports[name] = self._ports.get(name, 0) + 1
            of_end = options.get(f"params{number}")
            pair.append(self._interface(node, name, device, options, of_end if isinstance(of_end, dict) else {}))
        self._world.cables.append((pair[0], pair[1], self._origin(node)))

    def _interface(
        self, node: ast.Call, name: str, device_name: str, options: dict[str, Any], of_end: dict[str, Any]
    ) -> Device:
        device = self._world.device(name, device_name)
        address = of_end.get("ip")
        if isinstance(address, str) and (interface := read_interface(address)) is not None:
            device.addresses = [(interface, self._origin(node))]
        device.shape = self._shape(node, options | of_end)
        return device

    def _shape(self, node: ast.Call, options: Mapping[str, Any]) -> Shape:
        """Return the keys of TCLink's options."""
        shape: Shape = {}
        place = str(self._origin(node))
        unknown = []
        for name, value in options.items():
            if name in _IGNORED_OPTIONS or name in ("ip", "mac", "use_htb", "use_tbf", "use_hfsc") or value is None:
                continue
            key = self._option(name, value, place, shape)
            if not key:
                unknown.append(name)
        if unknown:
            self._skip(node, f"options that are not known, or whose values are not: {', '.join(unknown)}")
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

    def _address(self, node: ast.Call, owner: _Handle, arguments: list[Any], options: dict[str, Any]) -> None:
        text = arguments[0] if arguments else options.get("ip")
        prefix = options.get("prefixLen", arguments[1] if len(arguments) > 1 else None)
        if isinstance(text, str) and "/" not in text and isinstance(prefix, int):
            text = f"{text}/{prefix}"
        interface = read_interface(text) if isinstance(text, str) else None
        name = options.get("intf", f"{owner.name}-eth0")
        if interface is None or not isinstance(name, str):
            self._skip(node, "its address or interface is only known when the program runs")
            return
        self._world.device(owner.name, name).addresses = [(interface, self._origin(node))]

    def _address_of(self, name: str, interface: Any) -> Any:
        """Return the address of a node, or of one of its interfaces."""
        for device in self._world.devices_of(name):
            if device.addresses and (not isinstance(interface, str) or device.name == interface):
                return str(device.addresses[0][0].ip)
        return _UNKNOWN

    def _iperf(self, node: ast.Call, hosts: Any, options: dict[str, Any]) -> None:
        """Take ``net.iperf((h1, h2), seconds=5)``."""
        ends = [name for value in self._items(hosts) if (name := self._end(value)) is not None]
        seconds = options.get("seconds", 5)
        if len(ends) == 2 and isinstance(seconds, int) and 0 < seconds <= 3600:
            keys = {"duration": f"{seconds} s"}
            self._world.transfers.append(ImportedTransfer(ends[0], ends[1], keys, 0.0, self._origin(node)))
        else:
            self._skip(node, "its hosts are only known when the program runs")

    def _command(self, node: ast.Call, owner: Any, arguments: list[Any]) -> None:
        if not isinstance(owner, _Handle) or not arguments:
            return
        words = [value.name if isinstance(value, _Handle) else value for value in arguments]
        if not all(isinstance(word, str | int | float) for word in words):
            self._skip(node, "the command is only known when the program runs")
            return
        read_script(self._world, self._file, " ".join(map(str, words)), owner.name, node.lineno)
