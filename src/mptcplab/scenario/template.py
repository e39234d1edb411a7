# SPDX-License-Identifier: MIT
"""The commented scenario that ``mptcplab init`` writes: its answers, and its text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal, get_args

from pydantic import TypeAdapter, ValidationError

from mptcplab.errors import InputError
from mptcplab.fields import Line as TitleLine
from mptcplab.fields import Protocol
from mptcplab.kernel.data import congestion_controls, schedulers
from mptcplab.scenario.answer_examples import EVENT_EXAMPLE, PATH_EXAMPLE
from mptcplab.scenario.document import name_hint, show
from mptcplab.scenario.links import DirectionSettings
from mptcplab.scenario.presets import LINK_PRESETS
from mptcplab.units import Duration, Probability, Rate, Size, UnitError
from mptcplab.workload.registry import KINDS as REGISTERED

# The answers from which ``mptcplab init`` writes a commented scenario.
#
# The types of the scenario language validate every answer, so that the file always loads.

#: Kinds of a first workload: all but those whose protocol cannot be chosen, which are traffic beside others.
KINDS = {name: kind for name, kind in REGISTERED.items() if kind.only_protocol is None}
Direction = Literal["download", "upload"]
TRANSFER_DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
PROTOCOLS: tuple[str, ...] = get_args(Protocol)
_EVENT = re.compile(r"(?P<link>\S+)\s+(?P<type>\S+)\s+(?:at\s+)?(?P<at>.+)")
#: "12,5 Mbit/s", and "50 Mbit/s 10 ms" or "50 Mbit/s; 10 ms".
_DECIMAL_COMMA, _NO_COMMA = (
    re.compile(r"(?<![\d.,])(\d+),(\d+)(?=\s*[A-Za-z%/])"),
    re.compile(r"(?<=[A-Za-z%])\s*[; ]\s*(?=\d)"),
)
_EVENT_TYPES = ("down", "up")
MAX_PATHS = 16
#: How long after its failure a link returns in a hint.
_RETURN_AFTER = Duration(10**9)
_NUMBERS = ("No", "One", "Two", "Three", "Four")


@dataclass(frozen=True)
class PathAnswer:
    """A path: rate, one-way delay and random loss; or a link preset, which has rates and a delay.

    ``rate`` applies to both directions, or to downloads if there is another one for uploads.
    """

    rate: Rate
    delay: Duration
    loss: Probability
    uplink: Rate | None = None
    preset: str = ""


@dataclass(frozen=True)
class EventAnswer:
    """A link that fails or returns."""

    link: str
    type: str
    at: Duration


DEFAULT_PATH = PathAnswer(Rate(100_000_000), Duration(10_000_000), Probability(0))
DEFAULT_DURATION = Duration(10 * 10**9)
DEFAULT_SIZE = Size(100 * 10**6)


@dataclass(frozen=True)
class Answers:
    """The answers that determine the scenario. Exactly one of ``duration`` and ``size`` is set."""

    title: str
    paths: tuple[PathAnswer, ...]
    kind: str
    duration: Duration | None
    size: Size | None
    protocols: tuple[Protocol, ...]
    repeats: int
    direction: Direction | None = None
    events: tuple[EventAnswer, ...] = ()


def parse_path(text: str) -> PathAnswer:
    """Parse ``"100 Mbit/s, 10 ms, 0.1 %"``: rate, delay and loss, of which the last ones are optional.

    A rate may be ``"50/10 Mbit/s"``, downlink and uplink. In place of all, the name of a link preset.
    :raises InputError: with the message of the unit parser.
    """
    parts = [part.strip() for part in text.split(",")]
    if len(parts) == 1 and parts[0][:1].isalpha():
        if parts[0] not in LINK_PRESETS:
            raise InputError(f"{show(text)} is not a link preset", hint=name_hint(parts[0], LINK_PRESETS))
        return replace(DEFAULT_PATH, preset=parts[0])
    hint = f'write rate, one-way delay and loss, like "{PATH_EXAMPLE}"'
    for part in parts:
        key, _, value = part.partition(" ")
        if key in DirectionSettings.model_fields:
            raise InputError(
                f"{show(part)} is not a part of a path, which has a rate, a one-way delay and a loss",
                hint=f"write the file without it, then add to its links: {key} = {show(value.strip() or '...')}"
                if key not in ("rate", "delay", "loss")
                else f"write only the value: {hint.removeprefix('write ')}",
            )
    _refuse_commas(text)
    if len(parts) > 3:
        raise InputError(f"{show(text)} has more than three parts", hint=hint)
    if len(parts) == 3 and _is_time(parts[2]):
        raise InputError(
            f"{show(parts[2])} is a time, but the third part of a path is its loss",
            hint=f"if it is the jitter, write the file without it, then add to its links: jitter = {show(parts[2])}",
        )
    kinds: tuple[type[Rate] | type[Duration] | type[Probability], ...] = (Rate, Duration, Probability)
    values: list[Any] = [DEFAULT_PATH.rate, DEFAULT_PATH.delay, DEFAULT_PATH.loss]
    down, slash, rest = parts[0].partition("/")
    uplink = None
    if slash and down.strip().replace(".", "", 1).isdigit():
        uplink = _quantity(Rate, rest.strip(), hint)
        parts[0] = f"{down} {rest.strip().partition(' ')[2]}"
    for index, (kind, part) in enumerate(zip(kinds, parts, strict=False)):
        values[index] = _quantity(kind, part, hint)
    answer = PathAnswer(values[0], values[1], values[2], uplink)
    for rate in (answer.rate, answer.uplink or answer.rate):
        _validate(DirectionSettings, {"rate": rate, "delay": answer.delay, "loss": answer.loss})
    return answer


def _is_time(text: str) -> bool:
    try:
        Duration.parse(text)
    except UnitError:
        return False
    return True


def _refuse_commas(text: str) -> None:
    """Refuse a path that becomes right with decimal points, or with a comma between two values."""
    pointed = _DECIMAL_COMMA.sub(r"\1.\2", text)
    separated = _NO_COMMA.sub(", ", pointed)
    if separated == text:
        return
    try:
        parse_path(separated)
    except InputError:
        return
    what = "has a decimal comma" if pointed != text else "lacks a comma between two values"
    raise InputError(f"{show(text)} {what}", hint=f"write {show(separated)}")


def path_text(path: PathAnswer) -> str:
    """Return the text that :func:`parse_path` reads as ``path``."""
    if path.preset:
        return path.preset
    rate = f"{path.rate}"
    if path.uplink is not None:
        unit = str(path.uplink).split()[1]  # both rates are written in one unit
        rate = f"{Decimal(int(path.rate)) / Rate.units[unit]:f}/{path.uplink}"
    return f"{rate}, {path.delay}, {path.loss if path.loss else '0 %'}"


def _quantity(kind: Any, part: str, hint: str) -> Any:
    try:
        return kind.parse(part)
    except UnitError as error:
        raise InputError(f"{show(part)}: {error}", hint=error.hint if part else hint) from error


def parse_event(text: str, count: int) -> EventAnswer:
    """Parse ``"link1 down 4 s"``, an event of one of ``count`` links. :raises InputError: for anything else."""
    match = _EVENT.fullmatch(text.strip())
    hint = f'write link, type and time, like "{EVENT_EXAMPLE}"'
    if match is None:
        raise InputError(f"{show(text)} is not an event", hint=hint)
    links = [f"link{number}" for number in range(1, count + 1)]
    if match["link"] not in links:
        raise InputError(f"there is no link '{match['link']}'", hint=name_hint(match["link"], links))
    if match["type"] not in _EVENT_TYPES:
        raise InputError(f"{show(match['type'])} is not down or up", hint="docs/events.md has all other events")
    return EventAnswer(match["link"], match["type"], Duration(_quantity(Duration, match["at"], hint)))


def check_events(events: Sequence[EventAnswer], protocols: Sequence[Protocol], count: int) -> None:
    """Refuse events after which each path of a workload that sends until its end stays down: TCP's only one is link1.

    Such a run can only fail: the last data does not arrive. :raises InputError: for the first protocol.
    """
    last = {event.link: event for event in sorted(events, key=lambda event: event.at)}
    down = {link for link, event in last.items() if event.type == "down"}
    for protocol in protocols:
        links = {f"link{number}" for number in range(1, count + 1)} if protocol == "mptcp" else {"link1"}
        if links <= down:
            at = max(last[link].at for link in links)
            which, text = ("link1, the only path of TCP,", "it") if protocol == "tcp" else ("every path", "one")
            others = ", fail another link, or leave out tcp" if protocol == "tcp" and count > 1 else ""
            hint = f'let {text} return, like "link1 up {Duration(at + _RETURN_AFTER)}"{others}'
            raise InputError(f"{which} stays down after {at}: the run could only fail", hint=hint)


def parse_direction(text: str, kind: str) -> Direction:
    """Check that a kind has data in a direction. :raises InputError: if it has not."""
    item: Direction = "download" if text == "download" else "upload"
    model = KINDS[kind]
    usual: Direction = "download" if model.server_sends else "upload"
    if item != usual and not model.has_key("reverse"):
        other = ", ".join(name for name, cls in KINDS.items() if cls.has_key("reverse"))
        raise InputError(f"workloads of kind {kind} only {usual}", hint=f"use one of {other}")
    return item


def parse_duration(text: str, kind: str) -> Duration:
    """Parse the duration of a workload. :raises InputError: with the message of the scenario language."""
    return Duration(_workload_value(text, kind, "duration"))


def parse_size(text: str, kind: str) -> Size:
    """Parse the size of a workload. :raises InputError: with the message of the scenario language."""
    return Size(_workload_value(text, kind, "size"))


def parse_protocols(text: str) -> tuple[Protocol, ...]:
    """Parse the protocols to compare, ``tcp,mptcp``, or a single one. :raises InputError: for anything else."""
    texts = tuple(part.strip().lower() for part in text.split(","))
    if len(set(texts)) < len(texts) or not set(texts) <= set(PROTOCOLS):
        raise InputError(f"{show(text)} is not a list of protocols", hint="write tcp,mptcp, or only one of them")
    return texts  # type: ignore[return-value]  # checked above


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


def parse_goal(duration: str | None, size: str | None, kind: str) -> tuple[Duration | None, Size | None]:
    """Return the duration or size that ends the workload; by default 10 s, or 100 MB for kinds without a duration.

    :raises InputError: if both are given, or what the kind does not have.
    """
    if duration is not None and size is not None:
        raise InputError("a workload ends by a duration or a size, not both", hint="remove one of them")
    for key, given in (("duration", duration), ("size", size)):
        if given is not None and not KINDS[kind].has_key(key):
            others = ", ".join(name for name, cls in KINDS.items() if cls.has_key(key))
            raise InputError(f"workloads of kind {kind} have no {key}", hint=f"these have one: {others}")
    if size is not None:
        return None, parse_size(size, kind)
    if not KINDS[kind].has_key("duration"):
        return None, DEFAULT_SIZE
    return (DEFAULT_DURATION if duration is None else parse_duration(duration, kind)), None


def spread_paths(paths: Sequence[PathAnswer], count: int | None) -> tuple[PathAnswer, ...]:
    """Return ``count`` paths, by default two; with one or no description, all are equal.

    :raises InputError: if the count does not match the descriptions, or is out of range.
    """
    wanted = count if count is not None else len(paths) if len(paths) > 1 else 2
    if not 1 <= wanted <= MAX_PATHS:
        raise InputError(f"{wanted} paths are not supported", hint=f"use from 1 to {MAX_PATHS} paths")
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


def _workload_value(text: str, kind: str, key: str) -> int:
    table = {"kind": kind, "from": "client", "to": "server", **KINDS[kind].first, key: text}
    return int(getattr(_validate(KINDS[kind], table), key))


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


# The text of the commented scenario that ``mptcplab init`` writes, from checked answers.
#
# Its comments explain each key and name alternatives.

_COMMENT_WIDTH = 110
#: Up to this total rate, the data that arrives in 5 ms is far less than a receive buffer.
_MAX_QUANTUM_RATE = Rate(2 * 10**9)


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
            f"title = {_quote(answers.title)}",
            '# question = "Is MPTCP faster than TCP?" # printed with the results',
            repeats,
            "# seed = 1 # of the first repeat: it determines random losses, ports and initial sequence numbers",
            'neighbours = "known" # hosts have resolved their routers before; "resolve": first packets wait',
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
    queue = ['# queue = "100 ms" # of the bottleneck, as time, bytes or packets; this is the default'] if first else []
    written = [
        f"{key} = {value} # {comment}" if first else f"{key} = {value}" for key, value, comment in _link_rows(path)
    ]
    return "\n".join([f"[links.link{number}]", *written, *queue])


def _link_rows(path: PathAnswer) -> Iterator[tuple[str, str, str]]:
    """Yield keys, values and what to say of them."""
    if path.preset:
        yield "preset", f'"{path.preset}"', "measured rates and a delay, see docs/events.md; forward is the uplink"
        return
    about = "includes Ethernet headers: goodput is some per cent less"
    if path.uplink is None:
        yield "rate", f'"{path.rate}"', about
    else:
        yield "backward.rate", f'"{path.rate}"', f"the downlink, to the client; {about}"
        yield "forward.rate", f'"{path.uplink}"', "the uplink"
    yield "delay", f'"{path.delay}"', f"one-way: the round-trip time is {Duration(2 * path.delay)}"
    loss = path.loss if path.loss else "0 %"
    yield "loss", f'"{loss}"', "of every packet, at random and in both directions: half of what ping shows"


def _workload(answers: Answers) -> str:
    model = KINDS[answers.kind]
    rows = [
        f"# {model.summarize()}",
        "# It connects to the server's address on link1, whose path TCP uses; `via` selects another one.",
        f"[workloads.{_name_of(answers)}]",
        f'kind = "{answers.kind}"',
        'from = "client"',
        'to = "server"',
        *(f'{key} = "{value}"' for key, value in model.first.items()),
    ]
    if answers.duration is not None:
        other = ' # or size, like "1 GiB"' if model.has_key("size") else ""
        rows.append(f'duration = "{answers.duration}"{other}')
    else:
        other = ' # or duration, like "10 s"' if model.has_key("duration") else ""
        rows.append(f'size = "{answers.size}"{other}')
    rates = (max(path.rate, path.uplink or path.rate) for path in answers.paths)
    if model.has_key("read_quantum") and sum(rates) <= _MAX_QUANTUM_RATE:
        rows.append('read_quantum = "5 ms" # the receiver reads every 5 ms, which makes runs several times faster')
    if model.has_key("reverse"):
        rows.append(f"{'' if answers.direction == 'download' else '# '}reverse = true # the server sends")
    return "\n".join([*rows, *_events(answers)])


def _events(answers: Answers) -> Iterator[str]:
    """Yield the lines of events; which hosts are notified of a failure is a key of theirs."""
    for number, event in enumerate(answers.events):
        yield ""
        if number == 0:
            yield "# What happens during the run; docs/events.md has all types. `mode` says which hosts notice."
        yield from ("[[events]]", f'at = "{event.at}"', f'type = "{event.type}"', f'link = "{event.link}"')


def _sweep(answers: Answers) -> list[str]:
    chosen = ", ".join(f'"{protocol}"' for protocol in answers.protocols)
    transport = [
        "# The transport of both hosts. Missing keys keep the kernel's defaults.",
        *_comment(f"Congestion controls: {', '.join(sorted(congestion_controls()))}."),
        *_comment(f"Schedulers of MPTCP: {', '.join(sorted(schedulers()))}."),
        "[transport]",
        *([f"protocol = {chosen}"] if len(answers.protocols) == 1 else []),
        '# congestion_control = "cubic"',
        '# scheduler = "default"',
    ]
    each = compares_each(answers)
    alone = " # TCP uses link1 alone" if len(answers.paths) > 1 else ""
    sweep = [
        "# Each line below is an axis: all combinations are run.",
        "[sweep]",
        *([f'"transport.protocol" = [{chosen}]{alone}'] if len(answers.protocols) > 1 and not each else []),
        '# "links.link1.delay" = ["10 ms", "50 ms", "100 ms"]',
        *(_single_path_axis(answers) if each else _single_path_comment(answers)),
    ]
    return ["\n".join(transport), "\n".join(sweep)]


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, _COMMENT_WIDTH, initial_indent="# ", subsequent_indent="# ")


def compares_each(answers: Answers) -> bool:
    """Return whether TCP on each path alone is compared with MPTCP on all.

    If paths differ, TCP on link1 alone does not say what the others add. With an event, TCP could lose its only path.
    """
    return len(set(answers.paths)) > 1 and len(answers.protocols) > 1 and not answers.events


def _single_path_axis(answers: Answers) -> Iterator[str]:
    """Yield the axis that compares TCP on each path alone with MPTCP on all, and as a comment the one with TCP once."""
    yield ""
    yield "# TCP on each path alone, and MPTCP on all. For TCP on link1 only, remove it and write into [sweep]:"
    yield f'#   "transport.protocol" = [{", ".join(map(_quote, answers.protocols))}]'
    yield "[[sweep.zip]]"
    yield from _rows_of_each(answers)


def _single_path_comment(answers: Answers) -> Iterator[str]:
    """Yield that axis as comments, if there is anything to compare."""
    if len(answers.paths) < 2 or len(answers.protocols) < 2:
        return
    yield ""
    yield '# In place of "transport.protocol": TCP on each path alone, and MPTCP on all.'
    yield "# [[sweep.zip]]"
    for row in _rows_of_each(answers):
        yield f"#   {row}"


def _rows_of_each(answers: Answers) -> Iterator[str]:
    links = [f"link{number}" for number in range(1, len(answers.paths) + 1)]
    columns = {
        "name": [*links, "all"],
        '"transport.protocol"': ["tcp"] * len(links) + ["mptcp"],
        f'"workloads.{_name_of(answers)}.via"': [*links, "link1"],
    }
    for key, values in columns.items():
        yield f"{key} = [{', '.join(map(_quote, values))}]"


def _name_of(answers: Answers) -> str:
    """Return the name of the workload."""
    return "bulk" if KINDS[answers.kind].is_bulk else answers.kind


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
