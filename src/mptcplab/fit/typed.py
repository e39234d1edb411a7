# SPDX-License-Identifier: MIT
"""Lines that a user typed: results of speed tests and pings, as words of an option or as a TOML file.

``lte: 40 Mbit/s down, 10 Mbit/s up, ping 45 ms, loaded ping 300 ms, loss 0.1 %`` and ::

    [lines.lte]
    down = "40 Mbit/s"
    up = "10 Mbit/s"
    ping = "45 ms"
    loaded_ping = "300 ms"
    loss = "0.1 %"

say the same. A rate is one of a speed test, which counts payload.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from mptcplab.errors import InputError, reason
from mptcplab.explain.readers.collection import printable
from mptcplab.fit.lines import FRAME, Estimate, Line, format_rate, format_time
from mptcplab.units import Duration, Probability, Rate, UnitError

Direction = Literal["down", "up"]
_EXAMPLE = "lte: 40 Mbit/s down, 10 Mbit/s up, ping 45 ms, loaded ping 300 ms, loss 0.1 %"
_HINT = f'write for example --line "{_EXAMPLE}"'
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,14}")
#: Full frames carry this share of payload: 1448 of 1514 bytes.
_PAYLOAD = 1448 / FRAME
_KEYS = ("down", "up", "ping", "loaded_ping", "queue", "loss")
_MAX_FILE = 1 << 20


@dataclass(frozen=True, kw_only=True)
class TypedLine:
    """The values that a user typed for a line: payload rates in bit/s, times in s, loss as a probability; else None."""

    name: str
    down: float | None = None
    up: float | None = None
    ping: float | None = None
    loaded_ping: float | None = None
    queue: float | None = None
    loss: float | None = None


def parse_line(text: str) -> TypedLine:
    """Return the line that the words of ``--line`` describe. :raises InputError: if they are not understood."""
    name, colon, words = text.partition(":")
    name = name.strip()
    if not colon or not _NAME.fullmatch(name):
        raise InputError(f"--line: '{printable(text)}' does not begin with a name and a colon", hint=_HINT)
    values: dict[str, Any] = {}
    for part in (part.strip() for part in words.split(",")):
        key, value = _split_part(part)
        if key is None:
            raise InputError(f"--line: '{printable(part)}' is not understood", hint=_HINT)
        if key in values:
            raise InputError(f"--line: '{name}' has two values of '{key.replace('_', ' ')}'", hint="leave one out")
        values[key] = value
    return _typed_line(name, values, f"--line: {name}")


def _split_part(part: str) -> tuple[str | None, str]:
    words = part.split()
    if words and words[-1] in ("down", "up"):
        return words[-1], " ".join(words[:-1])
    for key in sorted(_KEYS, key=len, reverse=True):
        spoken = key.replace("_", " ").split()
        if words[: len(spoken)] == spoken:
            return key, " ".join(words[len(spoken) :])
    return None, part


def read_typed(file: Path) -> list[TypedLine]:
    """Return the lines of a TOML file. :raises InputError: if it has a mistake."""
    shown = printable(str(file))
    try:
        with file.open("rb") as stream:
            content = stream.read(_MAX_FILE + 1)
        if len(content) > _MAX_FILE:
            raise InputError(f"{shown} is longer than 1 MiB", hint="it needs one table for each line, see docs/fit.md")
        document = tomllib.loads(content.decode())
    except OSError as error:
        raise InputError(f"{shown}: {reason(error)}", hint="name a file that can be read") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(
            f"{shown} is not valid TOML: {printable(str(error))}", hint="see docs/fit.md for an example"
        ) from error
    lines = document.pop("lines", None)
    if document:
        name = printable(next(iter(document)))
        raise InputError(f"{shown}: '{name}' is not a known key", hint="each line is a table, [lines.NAME]")
    if not isinstance(lines, Mapping) or not lines:
        raise InputError(f"{shown} describes no line", hint="each line is a table, [lines.NAME]")
    return [_table_line(shown, name, table) for name, table in lines.items()]


def _table_line(file: str, name: str, table: object) -> TypedLine:
    where = f"{file}: lines.{printable(name)}"
    if not _NAME.fullmatch(name):
        raise InputError(f"{where}: a name has letters and digits, at most 15", hint="for example [lines.lte]")
    if not isinstance(table, Mapping):
        raise InputError(f"{file}: line '{name}' is not a table", hint=f"write [lines.{name}] and its keys below")
    for key in table:
        if key not in _KEYS:
            raise InputError(f"{where}: '{printable(key)}' is not a known key", hint=f"the keys are {', '.join(_KEYS)}")
    return _typed_line(name, dict(table), where)


def _typed_line(name: str, values: Mapping[str, Any], where: str) -> TypedLine:
    numbers: dict[str, float] = {}
    for key, value in values.items():
        try:
            numbers[key] = _number(key, value)
        except UnitError as error:
            message = f"{where}: {key.replace('_', ' ')} '{printable(str(value))}' {error}"
            raise InputError(message, hint=getattr(error, "hint", None) or _HINT) from error
    if not numbers:
        raise InputError(f"{where}: nothing is said about it", hint=_HINT)
    line = TypedLine(name=name, **numbers)
    if line.ping is not None and line.loaded_ping is not None and line.loaded_ping <= line.ping:
        raise InputError(
            f"{where}: the loaded ping is not above the ping", hint="a queue makes it longer; leave it out"
        )
    return line


def _number(key: str, value: object) -> float:
    if key in ("down", "up"):
        rate = int(Rate.parse(value))
        if rate < 1000:
            raise UnitError("is below 1 kbit/s", hint='write for example "40 Mbit/s"')
        return float(rate)
    if key == "loss":
        loss = int(Probability.parse(value)) / 1e9
        if loss >= 1:
            raise UnitError("loses everything", hint='write for example "0.1 %"')
        return loss
    time_s = int(Duration.parse(value)) / 1e9
    if not 0 < time_s <= 60:
        raise UnitError("is not between 0 and 60 s", hint='write for example "45 ms"')
    return time_s


def line_of(typed: TypedLine, direction: Direction) -> Line:
    """Return a line of typed values in one direction. What is missing is assumed, and says so."""
    forward, back = (typed.down, typed.up) if direction == "down" else (typed.up, typed.down)
    sender, receiver = ("server", "client") if direction == "down" else ("client", "server")
    if forward is None:
        raise InputError(f"line '{typed.name}' has no rate {direction}", hint=_HINT)
    if typed.ping is None:
        rtt = Estimate(value=0.02, kind="assumed", method="no ping was given")
    else:
        rtt = Estimate(value=typed.ping, kind="stated", method=f"ping {format_time(typed.ping)}")
    return Line(
        name=typed.name,
        sender=sender,
        receiver=receiver,
        rate=_stated_rate(forward),
        rtt=rtt,
        queue=_stated_queue(typed),
        loss=Estimate(value=0.0, kind="assumed", method="no loss was given")
        if typed.loss is None
        else Estimate(value=typed.loss, kind="stated", method="loss"),
        back_rate=_stated_rate(back) if back is not None else None,
        loaded_s=typed.loaded_ping,
        sender_opens=direction == "up",
    )


def _stated_rate(bps: float) -> Estimate:
    return Estimate(value=bps / _PAYLOAD, kind="stated", method=f"speed test {format_rate(bps)}, with headers")


def _stated_queue(typed: TypedLine) -> Estimate:
    if typed.queue is not None:
        return Estimate(value=typed.queue, kind="stated", method="queue")
    if typed.loaded_ping is not None and typed.ping is not None:
        method = f"loaded ping {format_time(typed.loaded_ping)} less ping"
        return Estimate(value=typed.loaded_ping - typed.ping, kind="stated", method=method)
    return Estimate(value=0.1, kind="assumed", method="the default of 100 ms, no loaded ping was given")


def complete_lines(lines: Iterable[Line], typed: Iterable[TypedLine]) -> tuple[list[Line], list[TypedLine]]:
    """Return lines of a collection with what was typed under their names, and what was typed under other names."""
    by_name = {line.name: line for line in lines}
    others = []
    for entry in typed:
        line = by_name.get(entry.name)
        if line is None:
            others.append(entry)
            continue
        forward, back = (entry.up, entry.down) if line.sender_opens else (entry.down, entry.up)
        if forward is not None:
            line = replace(line, rate=_stated_rate(forward))
        if back is not None:
            line = replace(line, back_rate=_stated_rate(back))
        if entry.ping is not None:
            line = replace(line, rtt=Estimate(value=entry.ping, kind="stated", method="ping"))
        if entry.queue is not None or (entry.loaded_ping is not None and entry.ping is not None):
            line = replace(line, queue=_stated_queue(entry))
        if entry.loss is not None:
            line = replace(line, loss=Estimate(value=entry.loss, kind="stated", method="loss"))
        by_name[entry.name] = line
    return list(by_name.values()), others
