# SPDX-License-Identifier: MIT
"""The commented scenario that ``mptcplab init`` writes from a few answers.

The types of the scenario language validate every answer, so that the file always loads; its comments explain each key
and name alternatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pydantic import TypeAdapter, ValidationError

from mptcplab.errors import InputError
from mptcplab.fields import Line as TitleLine
from mptcplab.fields import Protocol
from mptcplab.scenario.document import show
from mptcplab.scenario.links import DirectionSettings
from mptcplab.units import Duration, Probability, Rate, Size, UnitError
from mptcplab.workload.flow import Flow
from mptcplab.workload.iperf3 import Iperf3
from mptcplab.workload.transfer import Transfer

Kind = Literal["flow", "iperf3", "transfer"]
KINDS: tuple[Kind, ...] = get_args(Kind)
PROTOCOLS: tuple[str, ...] = get_args(Protocol)
PATH_EXAMPLE = "100 Mbit/s, 10 ms, 0.1 %"
_MODELS = {"flow": Flow, "iperf3": Iperf3, "transfer": Transfer}
_MAX_PATHS = 16
#: Up to this total rate, the data that arrives in 5 ms is far less than a receive buffer.
_MAX_QUANTUM_RATE = Rate(2 * 10**9)
_NUMBERS = ("No", "One", "Two", "Three", "Four")


@dataclass(frozen=True)
class PathAnswer:
    """A path: rate, one-way delay and random loss."""

    rate: Rate
    delay: Duration
    loss: Probability


DEFAULT_PATH = PathAnswer(Rate(100_000_000), Duration(10_000_000), Probability(0))
DEFAULT_DURATION = Duration(10 * 10**9)
DEFAULT_SIZE = Size(100 * 10**6)


@dataclass(frozen=True)
class Answers:
    """The answers that determine the scenario. Exactly one of ``duration`` and ``size`` is set."""

    title: str
    paths: tuple[PathAnswer, ...]
    kind: Kind
    duration: Duration | None
    size: Size | None
    protocols: tuple[Protocol, ...]
    repeats: int


def parse_path(text: str) -> PathAnswer:
    """Parse ``"100 Mbit/s, 10 ms, 0.1 %"``: rate, delay and loss, of which the last ones are optional.

    :raises InputError: with the message of the unit parser.
    """
    parts = [part.strip() for part in text.split(",")]
    hint = f'write rate, one-way delay and loss, like "{PATH_EXAMPLE}"'
    if len(parts) > 3:
        raise InputError(f"{show(text)} has more than three parts", hint=hint)
    kinds: tuple[type[Rate] | type[Duration] | type[Probability], ...] = (Rate, Duration, Probability)
    values: list[Any] = [DEFAULT_PATH.rate, DEFAULT_PATH.delay, DEFAULT_PATH.loss]
    for index, (kind, part) in enumerate(zip(kinds, parts, strict=False)):
        try:
            values[index] = kind.parse(part)
        except UnitError as error:
            raise InputError(f"{show(part)}: {error}", hint=error.hint if part else hint) from error
    answer = PathAnswer(*values)
    _validate(DirectionSettings, {"rate": answer.rate, "delay": answer.delay, "loss": answer.loss})
    return answer


def parse_duration(text: str, kind: Kind) -> Duration:
    """Parse the duration of a workload. :raises InputError: with the message of the scenario language."""
    return Duration(_workload_value(text, kind, "duration"))


def parse_size(text: str, kind: Kind) -> Size:
    """Parse the size of a workload. :raises InputError: with the message of the scenario language."""
    return Size(_workload_value(text, kind, "size"))


def parse_protocols(text: str) -> tuple[Protocol, ...]:
    """Parse the protocols to compare, ``tcp,mptcp``, or a single one. :raises InputError: for anything else."""
    found = tuple(part.strip().lower() for part in text.split(","))
    if len(set(found)) < len(found) or not set(found) <= set(PROTOCOLS):
        raise InputError(f"{show(text)} is not a list of protocols", hint="write tcp,mptcp, or only one of them")
    return found  # type: ignore[return-value]  # checked above


def parse_title(text: str) -> str:
    """Parse a title. :raises InputError: if it is empty or more than one line."""
    adapter: TypeAdapter[str] = TypeAdapter(TitleLine)
    try:
        text.encode()
        return adapter.validate_python(text.strip())
    except UnicodeEncodeError as error:
        raise InputError(f"the title {text!a} is not UTF-8 text", hint="write it in UTF-8") from error
    except ValidationError as error:
        raise _input_error(error, text) from error


def parse_goal(duration: str | None, size: str | None, kind: Kind) -> tuple[Duration | None, Size | None]:
    """Return the duration or size that ends the workload; by default 10 s, or 100 MB for kinds without a duration.

    :raises InputError: if both are given, or a duration that the kind does not have.
    """
    if duration is not None and size is not None:
        raise InputError("a workload ends by a duration or a size, not both", hint="remove one of them")
    if duration is not None and kind == "transfer":
        raise InputError("a transfer has no duration", hint="give a size, or use the workload flow or iperf3")
    if size is not None:
        return None, parse_size(size, kind)
    if kind == "transfer":
        return None, DEFAULT_SIZE
    return (DEFAULT_DURATION if duration is None else parse_duration(duration, kind)), None


def spread_paths(paths: Sequence[PathAnswer], count: int | None) -> tuple[PathAnswer, ...]:
    """Return ``count`` paths, by default two; with one or no description, all are equal.

    :raises InputError: if the count does not match the descriptions, or is out of range.
    """
    wanted = count if count is not None else len(paths) if len(paths) > 1 else 2
    if not 1 <= wanted <= _MAX_PATHS:
        raise InputError(f"{wanted} paths are not supported", hint=f"use from 1 to {_MAX_PATHS} paths")
    if len(paths) > 1 and wanted != len(paths):
        raise InputError(
            f"{len(paths)} paths are described, but {wanted} are requested",
            hint="describe one path for all, or each of them",
        )
    return tuple(paths) if len(paths) > 1 else (paths[0] if paths else DEFAULT_PATH,) * wanted


def default_title(paths: Sequence[PathAnswer], protocols: Sequence[Protocol]) -> str:
    """Return a title like "Two equal paths, TCP against MPTCP"."""
    number = _NUMBERS[len(paths)] if len(paths) < len(_NUMBERS) else str(len(paths))
    alike = "equal " if len(set(paths)) == 1 else "different "
    words = f"{number} {alike if len(paths) > 1 else ''}path{'s' if len(paths) > 1 else ''}"
    return f"{words}, {' against '.join(protocol.upper() for protocol in protocols)}"


def compose(answers: Answers) -> str:
    """Return the scenario file as text."""
    links = (_link(number, path) for number, path in enumerate(answers.paths, start=1))
    return "\n\n".join((_head(answers), _network(answers), *links, _workload(answers), *_sweep(answers))) + "\n"


def _head(answers: Answers) -> str:
    count = len(answers.paths)
    drawing = ["#   client --access1-- r1 --link1-- server"]
    drawing += [f"#      \\----access{n}--- r{n} --link{n}----/" for n in range(2, count + 1)]
    repeats = f"repeats = {answers.repeats} # every point runs with this many seeds: seed, seed + 1, ..."
    return "\n".join(
        (
            "# An mptcplab experiment. To see its runs: `mptcplab show FILE`; to run it: `mptcplab run FILE`.",
            "# The reference of the scenario language, docs/scenario.md, explains every key.",
            "#",
            *drawing,
            f"title = {_quoted(answers.title)}",
            '# question = "Is MPTCP faster than TCP?" # printed with the results',
            repeats,
            "# seed = 1 # of the first repeat: it determines random losses, ports and initial sequence numbers",
        )
    )


def _network(answers: Answers) -> str:
    return "\n".join(
        (
            "# Hosts client and server, and a router on each path. The access links have no rate limit.",
            "[topology]",
            'preset = "disjoint-paths"',
            f"paths = {len(answers.paths)}",
        )
    )


def _link(number: int, path: PathAnswer) -> str:
    first = number == 1
    rows = [
        ("rate", path.rate, "includes Ethernet headers: goodput is some per cent less"),
        ("delay", path.delay, f"one-way: the round-trip time is {Duration(2 * path.delay)}"),
        ("loss", path.loss if path.loss else "0 %", "of every packet, at random and in both directions"),
    ]
    written = [f'{key} = "{value}"{f" # {comment}" if first else ""}' for key, value, comment in rows]
    queue = '# queue = "100 ms" # of the bottleneck, as time, bytes or packets; this is the default'
    return "\n".join([f"[links.link{number}]", *written, *([queue] if first else [])])


def _workload(answers: Answers) -> str:
    about = {
        "flow": "One bulk transfer by mptcplab's own program, which samples every subflow.",
        "iperf3": "One test by iperf3, unmodified; `mptcpize` makes it open MPTCP sockets.",
        "transfer": "One file through socat, timed from the start to the end of the client's program.",
    }[answers.kind]
    rows = [
        f"# {about}",
        "# It connects to the server's address on link1, whose path TCP uses; `via` selects another one.",
        "[workloads.bulk]",
        f'kind = "{answers.kind}"',
        'from = "client"',
        'to = "server"',
    ]
    if answers.duration is not None:
        rows.append(f'duration = "{answers.duration}" # or size, like "1 GiB"')
    else:
        other = ' # or duration, like "10 s"' if answers.kind != "transfer" else ""
        rows.append(f'size = "{answers.size}"{other}')
    if answers.kind == "flow" and sum(path.rate for path in answers.paths) <= _MAX_QUANTUM_RATE:
        rows.append('read_quantum = "5 ms" # the receiver reads every 5 ms, which makes runs several times faster')
    if answers.kind != "transfer":
        rows.append("# reverse = true # the server sends")
    return "\n".join(rows)


def _sweep(answers: Answers) -> list[str]:
    chosen = ", ".join(f'"{protocol}"' for protocol in answers.protocols)
    transport = [
        "# The transport of both hosts. Missing keys keep the kernel's defaults.",
        "[transport]",
        *([f"protocol = {chosen}"] if len(answers.protocols) == 1 else []),
        '# congestion_control = "cubic" # or reno, bbr, westwood, vegas, veno, illinois, dctcp',
    ]
    sweep = [
        "# Each line below is an axis: all combinations are run.",
        "[sweep]",
        *([f'"transport.protocol" = [{chosen}]'] if len(answers.protocols) > 1 else []),
        '# "links.link1.delay" = ["10 ms", "50 ms", "100 ms"]',
    ]
    return ["\n".join(transport), "\n".join(sweep)]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _workload_value(text: str, kind: Kind, key: str) -> int:
    table = {"kind": kind, "from": "client", "to": "server", key: text}
    return int(getattr(_validate(_MODELS[kind], table), key))


def _validate(model: Any, table: dict[str, Any]) -> Any:
    try:
        return model.model_validate(table)
    except ValidationError as error:
        raise _input_error(error, None) from error


def _input_error(error: ValidationError, text: str | None) -> InputError:
    """Return pydantic's first finding as an error about the answer."""
    detail = error.errors()[0]
    context = detail.get("ctx", {})
    key = context.get("key", ())
    value = detail["input"] if text is None else text
    if isinstance(value, dict):
        value = value.get(str(key[-1])) if key else None
    shown = show(str(value)) if value is not None else "the answer"
    colon = ":" if detail["type"] == "unit" else ""
    return InputError(f"{shown}{colon} {context.get('text', 'is not valid')}", hint=context.get("hint"))
