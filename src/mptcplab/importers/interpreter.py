# SPDX-License-Identifier: MIT
"""A small interpreter of Python files, which are parsed and never run.

It follows what files that describe a network consist of: literal values, arithmetic, f-strings, conditions, loops over
ranges and lists, comprehensions, functions and classes of the file itself. All else is :data:`UNKNOWN`. Steps, depth
and sizes are limited.
"""

from __future__ import annotations

import ast
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

_MAX_STEPS, _MAX_DEPTH, _MAX_TEXT, _MAX_ITEMS, _MAX_NUMBER = 100_000, 12, 2000, 500, 10**15
_OPERATORS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_COMPARISONS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
_CONVERSIONS: Mapping[str, Callable[[Any], Any]] = {"int": int, "float": float, "str": str, "abs": abs, "round": round}


class Unknown:
    """A value that only a running program has."""


UNKNOWN = Unknown()


class LimitError(Exception):
    """A limit of the interpreter is reached: what comes later in the file is not followed."""


class _Return(Exception):  # noqa: N818  not an error
    """A function returns a value."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


@dataclass(frozen=True)
class NamedObject:
    """An object outside of the file that the program holds, such as a host: in texts, it is its name."""

    name: str


@dataclass
class Instance:
    """An object of a class of the file, or of a library."""

    class_name: str
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass
class CallScope:
    """Names of one call."""

    names: dict[str, Any]
    depth: int = 0


class Interpreter(ABC):
    """Follows one Python file. A subclass says what functions, methods and objects outside of the file do."""

    def __init__(self) -> None:
        self._left = _MAX_STEPS
        self._functions: dict[str, ast.FunctionDef] = {}
        self._arguments: dict[str, Any] = {}
        self._main = CallScope({"__name__": "__main__"})
        self.classes: dict[str, ast.ClassDef] = {}

    def run_module(self, module: ast.Module) -> None:
        """Follow the module. :raises LimitError: if a limit ends that before the module's end."""
        try:
            self._run(module.body, self._main)
        except _Return:
            pass
        except RecursionError as error:
            raise LimitError from error

    def build_instance(self, class_name: str) -> None:
        """Build an object of a class of the file. :raises LimitError: if a limit ends that before."""
        try:
            self._instantiate(class_name, [], {}, self._main)
        except RecursionError as error:
            raise LimitError from error

    # -- what subclasses know

    @abstractmethod
    def assume(self, line: int | None, text: str) -> None:
        """Note what is taken for granted, in a line of the file if that is known."""

    @abstractmethod
    def find_object(self, key: str) -> Any:
        """Return the object that a container outside of the file has by a name: ``net["h1"]``."""

    @abstractmethod
    def call_function(self, call: ast.Call, name: str, arguments: list[Any], options: dict[str, Any]) -> Any:
        """Return what a function does that is neither the file's nor Python's."""

    def call_method(
        self,
        call: ast.Call,  # noqa: ARG002  subclasses note where it is
        owner: Any,
        method: str,
        arguments: list[Any],
        options: dict[str, Any],
        scope: CallScope,
    ) -> Any:
        """Return what a method does: of a list, a dict, a text, an argument parser, or a class of the file."""
        first = arguments[0] if arguments else UNKNOWN
        if method == "get" and isinstance(owner, dict) and isinstance(first, str | int):
            return owner.get(first, arguments[1] if len(arguments) > 1 else None)
        if method == "append" and isinstance(owner, list) and len(owner) < _MAX_ITEMS:
            owner.append(first)
        elif method == "add_argument":
            self._argument(arguments, options)
        elif method == "format" and isinstance(owner, str):
            return self._fill(owner, arguments, options)
        elif isinstance(owner, Instance) and owner.class_name in self.classes:
            for entry in self.classes[owner.class_name].body:
                if isinstance(entry, ast.FunctionDef) and entry.name == method and method != "__init__":
                    return self._follow(entry, [owner, *arguments], options, scope)
        return UNKNOWN

    # -- statements

    def _run(self, statements: list[ast.stmt], scope: CallScope) -> None:
        for statement in statements:
            self._left -= 1
            if self._left <= 0:
                raise LimitError
            self._statement(statement, scope)

    def _statement(self, statement: ast.stmt, scope: CallScope) -> None:
        if isinstance(statement, ast.FunctionDef):
            self._functions[statement.name] = statement
        elif isinstance(statement, ast.ClassDef):
            self.classes[statement.name] = statement
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
            for item in self.items(self._value(statement.iter, scope)):
                self._assign(statement.target, item, scope)
                self._run(statement.body, scope)
        elif isinstance(statement, ast.If):
            self._choose(statement, scope)
        elif isinstance(statement, ast.With | ast.Try):
            self._run(statement.body, scope)
        elif isinstance(statement, ast.Return):
            raise _Return(None if statement.value is None else self._value(statement.value, scope))

    def _choose(self, statement: ast.If, scope: CallScope) -> None:
        self._run(statement.body if self._is_true(statement.test, scope) else statement.orelse, scope)

    def _is_true(self, condition: ast.expr, scope: CallScope) -> bool:
        """Return whether a condition holds; True, with a note, if that is only known when the program runs."""
        value = self._value(condition, scope)
        if isinstance(value, Unknown):
            self.assume(condition.lineno, "the condition is not known; it is taken as true")
            return True
        return bool(value)

    @staticmethod
    def _load_target(target: ast.expr) -> ast.expr:
        """Return the target of an assignment as an expression that reads it."""
        read: ast.expr = ast.parse(ast.unparse(target), mode="eval").body
        return ast.copy_location(read, target)

    def _assign(self, target: ast.expr, value: Any, scope: CallScope) -> None:
        if isinstance(target, ast.Name):
            scope.names[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            items = self.items(value)
            for index, part in enumerate(target.elts):
                self._assign(part, items[index] if index < len(items) else UNKNOWN, scope)
        elif isinstance(target, ast.Attribute):
            owner = self._value(target.value, scope)
            if isinstance(owner, Instance):
                owner.attributes[target.attr] = value
        elif isinstance(target, ast.Subscript):
            owner, key = self._value(target.value, scope), self._value(target.slice, scope)
            if isinstance(owner, dict) and isinstance(key, str | int) and len(owner) < _MAX_ITEMS:
                owner[key] = value

    # -- expressions

    def _value(self, expression: ast.expr, scope: CallScope) -> Any:
        self._left -= 1
        if self._left <= 0:
            raise LimitError
        if isinstance(expression, ast.Constant):
            return expression.value if isinstance(expression.value, str | int | float | bool | None) else UNKNOWN
        if isinstance(expression, ast.Name):
            return scope.names.get(expression.id, UNKNOWN)
        if isinstance(expression, ast.List | ast.Tuple):
            return [self._value(entry, scope) for entry in expression.elts[:_MAX_ITEMS]]
        if isinstance(expression, ast.Dict):
            return self._dict(expression, scope)
        if isinstance(expression, ast.BinOp):
            return self._operate(expression, scope)
        if isinstance(expression, ast.UnaryOp):
            return self._negate(expression, scope)
        if isinstance(expression, ast.JoinedStr):
            return self._join(expression, scope)
        if isinstance(expression, ast.Compare):
            return self._compare(expression, scope)
        if isinstance(expression, ast.BoolOp):
            values = [self._value(entry, scope) for entry in expression.values]
            known = [value for value in values if not isinstance(value, Unknown)]
            if isinstance(expression.op, ast.Or):
                return next((value for value in known if value), UNKNOWN if len(known) < len(values) else values[-1])
            return UNKNOWN if len(known) < len(values) else next((value for value in values if not value), values[-1])
        if isinstance(expression, ast.IfExp):
            return self._value(expression.body if self._is_true(expression.test, scope) else expression.orelse, scope)
        if isinstance(expression, ast.Subscript):
            return self._member(expression, scope)
        if isinstance(expression, ast.Attribute):
            return self._attribute(expression, scope)
        if isinstance(expression, ast.ListComp):
            return self._comprehend(expression, scope)
        if isinstance(expression, ast.Call):
            return self._call(expression, scope)
        return UNKNOWN

    def _dict(self, expression: ast.Dict, scope: CallScope) -> dict[Any, Any]:
        entries: dict[Any, Any] = {}
        for key, value in zip(expression.keys[:_MAX_ITEMS], expression.values, strict=False):
            if key is None:
                inner = self._value(value, scope)
                entries |= inner if isinstance(inner, dict) else {}
                continue
            name = self._value(key, scope)
            if isinstance(name, str | int):
                entries[name] = self._value(value, scope)
        return entries

    def _operate(self, expression: ast.BinOp, scope: CallScope) -> Any:
        left, right = self._value(expression.left, scope), self._value(expression.right, scope)
        if isinstance(left, str) and isinstance(expression.op, ast.Mod):
            return self._format(left, right)
        operate = _OPERATORS.get(type(expression.op))
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        texts = isinstance(left, str) and isinstance(right, str) and isinstance(expression.op, ast.Add)
        lists = isinstance(left, list) and isinstance(right, list) and isinstance(expression.op, ast.Add)
        if operate is None or not (numbers or texts or lists):
            return UNKNOWN
        try:
            value = operate(left, right)
        except (ArithmeticError, TypeError, ValueError):
            return UNKNOWN
        return self._limit_value(value)

    @staticmethod
    def _limit_value(value: Any) -> Any:
        """Return a value that is not too large, else an unknown one."""
        if isinstance(value, str):
            return value[:_MAX_TEXT]
        if isinstance(value, list):
            return value[:_MAX_ITEMS]
        return value if isinstance(value, int | float) and abs(value) < _MAX_NUMBER else UNKNOWN

    def _format(self, text: str, values: Any) -> Any:
        """Return ``text % values`` for plain ``%s``, ``%d`` and ``%f``."""
        left = list(values) if isinstance(values, list) else [values]
        parts = text.replace("%%", "\0").split("%")
        result = parts[0]
        for part in parts[1:]:
            if not left or part[:1] not in ("s", "d", "i", "f"):
                return UNKNOWN
            value = left.pop(0)
            if not isinstance(value, str | int | float):
                return UNKNOWN
            whole = part[0] in "di" and isinstance(value, float) and abs(value) < _MAX_NUMBER
            result += str(int(value) if whole else value) + part[1:]
        return result.replace("\0", "%")[:_MAX_TEXT]

    def _negate(self, expression: ast.UnaryOp, scope: CallScope) -> Any:
        value = self._value(expression.operand, scope)
        if isinstance(expression.op, ast.Not):
            return UNKNOWN if isinstance(value, Unknown) else not value
        return -value if isinstance(expression.op, ast.USub) and isinstance(value, int | float) else UNKNOWN

    def _join(self, expression: ast.JoinedStr, scope: CallScope) -> Any:
        text = ""
        for part in expression.values:
            value = self._value(part.value, scope) if isinstance(part, ast.FormattedValue) else self._value(part, scope)
            if isinstance(value, NamedObject):
                value = value.name
            if not isinstance(value, str | int | float):
                return UNKNOWN
            text = (text + str(value))[:_MAX_TEXT]
        return text

    def _compare(self, expression: ast.Compare, scope: CallScope) -> Any:
        operands = [self._value(operand, scope) for operand in (expression.left, *expression.comparators)]
        for sign, (left, right) in zip(expression.ops, pairwise(operands), strict=True):
            compare = _COMPARISONS.get(type(sign))
            if compare is None or isinstance(left, Unknown) or isinstance(right, Unknown):
                return UNKNOWN
            try:
                if not compare(left, right):
                    return False
            except TypeError:
                return UNKNOWN
        return True

    def _member(self, expression: ast.Subscript, scope: CallScope) -> Any:
        owner, key = self._value(expression.value, scope), self._value(expression.slice, scope)
        if isinstance(owner, dict) and isinstance(key, str | int):
            return owner.get(key, UNKNOWN)
        if isinstance(owner, list | str) and isinstance(key, int) and -len(owner) <= key < len(owner):
            return owner[key]
        return self.find_object(key) if isinstance(key, str) else UNKNOWN

    def _attribute(self, expression: ast.Attribute, scope: CallScope) -> Any:
        owner = self._value(expression.value, scope)
        if isinstance(owner, Instance) and expression.attr in owner.attributes:
            return owner.attributes[expression.attr]
        if isinstance(owner, NamedObject) and expression.attr == "name":
            return owner.name
        return self._arguments.get(expression.attr, UNKNOWN)

    def _comprehend(self, expression: ast.ListComp, scope: CallScope) -> list[Any]:
        values: list[Any] = []

        def collect(generators: Sequence[ast.comprehension]) -> None:
            if not generators:
                values.append(self._value(expression.elt, scope))
                return
            generator, *inner = generators
            for item in self.items(self._value(generator.iter, scope)):
                self._assign(generator.target, item, scope)
                if len(values) < _MAX_ITEMS and all(self._is_true(condition, scope) for condition in generator.ifs):
                    collect(inner)

        collect(expression.generators)
        return values

    @staticmethod
    def items(value: Any) -> list[Any]:
        """Return what a loop over a value gives, up to the limit; nothing of what is not known."""
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

    def _call(self, call: ast.Call, scope: CallScope) -> Any:
        arguments: list[Any] = []
        for argument in call.args:
            if isinstance(argument, ast.Starred):
                arguments += self.items(self._value(argument.value, scope))
            else:
                arguments.append(self._value(argument, scope))
        options: dict[str, Any] = {}
        for keyword in call.keywords:
            value = self._value(keyword.value, scope)
            if keyword.arg is not None:
                options[keyword.arg] = value
            elif isinstance(value, dict):
                options |= {key: entry for key, entry in value.items() if isinstance(key, str)}
        if isinstance(call.func, ast.Name):
            return self._call_name(call, call.func.id, arguments, options, scope)
        if isinstance(call.func, ast.Attribute):
            owner = self._value(call.func.value, scope)
            return self.call_method(call, owner, call.func.attr, arguments, options, scope)
        return UNKNOWN

    def _call_name(
        self, call: ast.Call, name: str, arguments: list[Any], options: dict[str, Any], scope: CallScope
    ) -> Any:
        if name in self._functions:
            return self._follow(self._functions[name], arguments, options, scope)
        if name in self.classes:
            return self._instantiate(name, arguments, options, scope)
        first = arguments[0] if arguments else UNKNOWN
        if name == "range" and arguments and all(isinstance(entry, int) for entry in arguments):
            return range(*arguments[:3]) if len(arguments) < 3 or arguments[2] else UNKNOWN
        if name in ("int", "float", "str", "len", "abs", "list", "enumerate", "round"):
            return self._convert(name, first)
        if name == "zip":
            return [list(pair) for pair in zip(*map(self.items, arguments), strict=False)]
        return self.call_function(call, name, arguments, options)

    def _convert(self, name: str, value: Any) -> Any:
        if isinstance(value, Unknown):
            return UNKNOWN
        if isinstance(value, NamedObject):
            return value.name if name == "str" else UNKNOWN
        if name in ("list", "enumerate"):
            items = self.items(value)
            return items if name == "list" else [[index, item] for index, item in enumerate(items)]
        if name == "len":
            return len(value) if isinstance(value, list | dict | str) else UNKNOWN
        if not isinstance(value, str | int | float):
            return UNKNOWN
        try:
            return self._limit_value(_CONVERSIONS[name](value))
        except (ValueError, TypeError, OverflowError):
            return UNKNOWN

    def _instantiate(self, name: str, arguments: list[Any], options: dict[str, Any], scope: CallScope) -> Instance:
        instance = Instance(name)
        methods = {entry.name: entry for entry in self.classes[name].body if isinstance(entry, ast.FunctionDef)}
        for statement in self.classes[name].body:
            if isinstance(statement, ast.Assign):
                value = self._value(statement.value, scope)
                instance.attributes |= {
                    target.id: value for target in statement.targets if isinstance(target, ast.Name)
                }
        for method in ("__init__", "build"):
            if method in methods:
                self._follow(methods[method], [instance, *arguments], options, scope)
        return instance

    def _follow(
        self, function: ast.FunctionDef, arguments: list[Any], options: dict[str, Any], scope: CallScope
    ) -> Any:
        """Follow the body of a function of the file."""
        if scope.depth >= _MAX_DEPTH:
            return UNKNOWN
        names = [argument.arg for argument in function.args.args]
        defaults = function.args.defaults
        inner = CallScope(dict(scope.names), scope.depth + 1)
        for name, default in zip(names[len(names) - len(defaults) :], defaults, strict=True):
            inner.names[name] = self._value(default, scope)
        for argument, keyword_default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
            inner.names[argument.arg] = UNKNOWN if keyword_default is None else self._value(keyword_default, scope)
        inner.names |= dict(zip(names, arguments, strict=False))
        inner.names |= {name: value for name, value in options.items() if name in inner.names or name in names}
        if function.args.kwarg is not None:
            inner.names[function.args.kwarg.arg] = {name: value for name, value in options.items() if name not in names}
        try:
            self._run(function.body, inner)
        except _Return as returned:
            return returned.value
        return None

    def _fill(self, text: str, arguments: list[Any], options: dict[str, Any]) -> Any:
        """Return ``text.format(...)`` with plain fields."""
        values = {str(index): value for index, value in enumerate(arguments)} | options
        parts, number = text.split("{"), 0
        result = parts[0]
        for part in parts[1:]:
            name, closed, rest = part.partition("}")
            if not closed:
                return UNKNOWN
            value = values.get(name or str(number), UNKNOWN)
            number += not name
            value = value.name if isinstance(value, NamedObject) else value
            if not isinstance(value, str | int | float):
                return UNKNOWN
            result += f"{value}{rest}"
        return result[:_MAX_TEXT]

    def _argument(self, arguments: list[Any], options: dict[str, Any]) -> None:
        """Take the default of an option of the program's command line."""
        names = [name for name in arguments if isinstance(name, str)]
        long = next((name for name in names if name.startswith("--")), next(iter(names), ""))
        default = options.get("default", UNKNOWN)
        destination = options.get("dest", long.lstrip("-").replace("-", "_"))
        if isinstance(destination, str) and not isinstance(default, Unknown):
            self._arguments[destination] = default
            self.assume(None, f"the option {long} has its default, {default!r}")
