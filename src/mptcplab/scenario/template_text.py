# SPDX-License-Identifier: MIT
"""The text of the commented scenario that ``mptcplab init`` writes, from checked answers.

Its comments explain each key and name alternatives.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from mptcplab.kernel.algorithms import congestion_controls, schedulers
from mptcplab.scenario.template import KINDS, Answers, PathAnswer
from mptcplab.units import Duration, Rate

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
