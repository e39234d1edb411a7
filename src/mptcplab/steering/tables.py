# SPDX-License-Identifier: MIT
"""Read configurations: tables of TOML or JSON, whose every mistake is one sentence with a hint."""

from __future__ import annotations

import difflib
import json
import os
import tomllib

from mptcplab.errors import InputError, reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_PAGE = "see docs/steering.md for the keys"
_MAX_BYTES = 1 << 20


class ConfigurationTable:
    """One table of a configuration. Each key is read once; :meth:`finish` refuses keys that were not read."""

    def __init__(self, content: Mapping[str, Any], file: str, place: str = "") -> None:
        self._content, self._file, self._place = content, file, place
        self._read: set[str] = set()

    def error(self, key: str, message: str, hint: str) -> InputError:
        """Return the error of a key."""
        return InputError(_check_printable(f"{self._file}: {self._place}{key} {message}"), hint=_check_printable(hint))

    def has_key(self, key: str) -> bool:
        """Return whether the key is there."""
        return key in self._content

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text of one line."""
        value = self._value(key, default)
        if not isinstance(value, str) or not value.isprintable() or not value:
            raise self.error(key, "is not a line of text", "write it in quotation marks")
        return value

    def choice(self, key: str, choices: Sequence[str], default: str | None = None) -> str:
        """Return one of several words."""
        value = self._value(key, default)
        if value not in choices:
            raise self.error(key, "is none of the choices", f"use one of {', '.join(choices)}")
        return str(value)

    def number(self, key: str, lowest: float, highest: float, default: float | None = None) -> float:
        """Return a number in a range."""
        value = self._value(key, default)
        if type(value) not in (int, float) or not lowest <= value <= highest:
            raise self.error(key, f"is not a number from {lowest:g} to {highest:g}", "write one without a unit")
        return float(value)

    def boolean(self, key: str, *, default: bool) -> bool:
        """Return true or false."""
        value = self._value(key, default)
        if not isinstance(value, bool):
            raise self.error(key, "is neither true nor false", "write true or false, without quotation marks")
        return value

    def texts(self, key: str, default: Sequence[str] | None = None) -> list[str]:
        """Return a list of texts, which is not empty if the key is required."""
        value = self._value(key, default)
        if not isinstance(value, (list, tuple)) or not all(isinstance(entry, str) and entry for entry in value):
            raise self.error(key, "is not a list of texts", 'write for example ["one", "two"]')
        if not value and default is None:
            raise self.error(key, "is empty", "name at least one")
        return list(value)

    def whole_numbers(self, key: str, default: Sequence[int]) -> list[int]:
        """Return a list of whole numbers that are not negative."""
        value = self._value(key, default)
        if not isinstance(value, (list, tuple)) or not all(type(entry) is int and entry >= 0 for entry in value):
            raise self.error(key, "is not a list of whole numbers", "write for example [1000]")
        return list(value)

    def tables(self, key: str) -> dict[str, ConfigurationTable]:
        """Return the tables in a table, by name."""
        value = self._value(key, None)
        if not isinstance(value, dict) or not all(isinstance(entry, dict) for entry in value.values()):
            raise self.error(key, "is not a table of tables", f"write [{key}.NAME] and its keys below it")
        return {
            str(name): ConfigurationTable(entry, self._file, f"{self._place}{key}.{name}.")
            for name, entry in value.items()
        }

    def endpoint(self, key: str) -> tuple[str, int]:
        """Return an address and a port, written as ``192.0.2.1:9100`` or ``[2001:db8::1]:9100``."""
        import ipaddress  # late, because it loads slowly

        address, _, port = self.text(key).rpartition(":")
        try:
            ip_address = ipaddress.ip_address(address.removeprefix("[").removesuffix("]"))
            number = int(port) if port.isascii() and port.isdigit() else 0
            if not 0 < number < 1 << 16:
                raise ValueError(port)
        except ValueError as error:
            hint = 'write for example "192.0.2.1:9100" or "[2001:db8::1]:9100"'
            raise self.error(key, "is not an address and a port", hint) from error
        return str(ip_address), number

    def key(self) -> bytes:
        """Return the secret of ``key`` or in the file ``key_file``: at least 16 bytes, in hexadecimal digits."""
        name = "key_file" if self.has_key("key_file") else "key"
        text = self._secret_of_file(name) if name == "key_file" else self.text(name)
        try:
            data = bytes.fromhex(text)
        except ValueError as error:
            raise self.error(name, "has something else than hexadecimal digits", _MAKE_KEY) from error
        if len(data) < _MIN_KEY_BYTES:
            raise self.error(name, f"has fewer than {_MIN_KEY_BYTES} bytes", _MAKE_KEY)
        return data

    def _secret_of_file(self, name: str) -> str:
        given = self.text(name)
        path = os.path.join(os.path.dirname(self._file), given)
        try:
            with open(path, encoding="ascii") as file:
                mode = os.fstat(file.fileno()).st_mode
                text = file.read(_MAX_BYTES)
        except (OSError, ValueError) as error:
            why = reason(error) if isinstance(error, OSError) else "it is not ASCII"
            raise self.error(name, f"names {path}, which cannot be read: {why}", _MAKE_KEY) from error
        if mode & 0o077:
            raise self.error(name, f"names {path}, which others may use", f"chmod 600 {path}")
        return text

    def finish(self) -> None:
        """Refuse keys that have not been read."""
        for key in self._content:
            if key not in self._read:
                near = difflib.get_close_matches(str(key), self._read, 1)
                raise self.error(str(key), "is not a key here", f"did you mean {near[0]}?" if near else _PAGE)

    def _value(self, key: str, default: Any) -> Any:
        self._read.add(key)
        if key in self._content:
            return self._content[key]
        if default is None:
            raise self.error(key, "is missing", _PAGE)
        return default


def _check_printable(text: str) -> str:
    """Return a text that is one line whatever names a configuration has."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


_MIN_KEY_BYTES = 16
_MAKE_KEY = "make one: (umask 077; openssl rand -hex 32 > FILE)"


def read_table(source: str) -> ConfigurationTable:
    """Read a configuration: a TOML file, or JSON itself, which begins with a brace.

    :raises InputError: if it cannot be read, or has no table.
    """
    if source.startswith("{"):
        return parse_table(source, "argument", json.loads)
    try:
        with open(source, encoding="utf-8") as file:
            text = file.read(_MAX_BYTES)
            mode = os.fstat(file.fileno()).st_mode
    except UnicodeDecodeError as error:
        raise InputError(f"configuration '{source}' is not UTF-8", hint="save it as UTF-8") from error
    except OSError as error:
        hint = "name an existing TOML file; docs/steering.md has examples"
        raise InputError(f"configuration '{source}' cannot be read: {reason(error)}", hint=hint) from error
    table = parse_table(text, source, tomllib.loads)
    if mode & 0o077 and _has_key(table):
        raise InputError(f"{source} has a key, and others may use the file", hint=f"chmod 600 {source}")
    return table


def _has_key(table: ConfigurationTable) -> bool:
    points = table._content.get("access_points")
    inner = points.values() if isinstance(points, dict) else ()
    return any(isinstance(entry, dict) and "key" in entry for entry in (table._content, *inner))


def parse_table(text: str, name: str, parse: Any) -> ConfigurationTable:
    """Parse a configuration. :raises InputError: if it cannot be parsed, or is not a table."""
    try:
        content = parse(text)
    except (ValueError, RecursionError) as error:
        said = _check_printable(" ".join(str(error).split()))
        raise InputError(
            f"configuration '{name}' cannot be parsed: {said}", hint="docs/steering.md has examples"
        ) from error
    if not isinstance(content, dict):
        raise InputError(f"configuration '{name}' is not a table", hint=_PAGE)
    return ConfigurationTable(content, name)
