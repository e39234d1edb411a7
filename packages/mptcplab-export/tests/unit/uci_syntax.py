# SPDX-License-Identifier: MIT
"""A parser of UCI files, written from their documentation; no OpenWrt is needed.

https://openwrt.org/docs/guide-user/base-system/uci says: ``config TYPE [NAME]`` begins a section, ``option NAME VALUE``
and ``list NAME VALUE`` are in one; a list has several values. Names consist of letters, digits and ``_``. Values may be
in single or double quotes; a word may be made of several such parts. A ``#`` begins a comment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_NAME = re.compile(r"[A-Za-z0-9_]+")
_TYPE = re.compile(r"[!-~]+")
_ESCAPED = re.compile(r"\\(.)")
#: One part of a word: without quotes, or in either kind of them.
_PART = re.compile(r"""'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)"|(?P<bare>(?:[^\s'"#\\]|\\.)+)""")


class UciError(Exception):
    """A line that UCI refuses."""


@dataclass
class Section:
    """A section of a file."""

    kind: str
    name: str
    options: dict[str, str] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)


def parse(text: str) -> list[Section]:
    """Return the sections of a file. :raises UciError: naming the line."""
    sections: list[Section] = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = _words(line, number)
        if words:
            _take(words, sections, number)
    return sections


def _take(words: list[str], sections: list[Section], number: int) -> None:
    if words[0] == "config" and len(words) in (2, 3):
        name = words[2] if len(words) == 3 else f"@{words[1]}[{len(sections)}]"
        if not _TYPE.fullmatch(words[1]) or (len(words) == 3 and not _NAME.fullmatch(name)):
            raise UciError(f"line {number}: no name of a section: {words[1:]}")
        if any(section.name == name for section in sections):
            raise UciError(f"line {number}: a second section '{name}'")
        sections.append(Section(words[1], name))
    elif words[0] in ("option", "list") and len(words) == 3:
        if not sections:
            raise UciError(f"line {number}: in no section")
        if not _NAME.fullmatch(words[1]):
            raise UciError(f"line {number}: no name of an option: {words[1]}")
        if words[0] == "list":
            sections[-1].lists.setdefault(words[1], []).append(words[2])
        elif sections[-1].options.setdefault(words[1], words[2]) != words[2]:
            raise UciError(f"line {number}: a second value of '{words[1]}'")
    else:
        raise UciError(f"line {number}: neither config, option nor list: {words}")


def _words(line: str, number: int) -> list[str]:
    words: list[str] = []
    at, is_open = 0, False
    while at < len(line) and (is_open or line[at] != "#"):
        if line[at].isspace():
            at, is_open = at + 1, False
            continue
        part = _PART.match(line, at)
        if part is None:
            raise UciError(f"line {number}: quotes are not closed")
        text = part["single"]
        if text is None:
            text = _ESCAPED.sub(r"\1", part["double"] if part["double"] is not None else part["bare"])
        words = [*words[:-1], words[-1] + text] if is_open else [*words, text]
        at, is_open = part.end(), True
    return words


#: The sections that are used here: their required options, and the optional ones. Sources: pages of openwrt.org/docs
#: below guide-user/network (network_configuration, routing/routes_configuration, routing/ip_rules) and
#: guide-user/firewall/firewall_configuration; for `include`, the README in /usr/share/nftables.d of firewall4.
KNOWN: dict[str, dict[str, tuple[set[str], set[str]]]] = {
    "network": {
        "interface": (
            {"proto", "device"},
            {"ipaddr", "netmask", "ip6addr", "gateway", "metric", "ip4table", "ip6table"},
        ),
        "device": ({"name"}, {"mtu", "type", "macaddr"}),
        "route": (
            {"interface", "target"},
            {"netmask", "gateway", "metric", "mtu", "table", "source", "type"},
        ),
        "route6": ({"interface", "target"}, {"gateway", "metric", "mtu", "table", "source", "onlink", "type"}),
        "rule": (set(), {"in", "out", "src", "dest", "priority", "lookup", "goto", "action", "mark", "invert"}),
        "rule6": (set(), {"in", "out", "src", "dest", "priority", "lookup", "goto", "action", "mark", "invert"}),
    },
    "firewall": {
        "zone": ({"name"}, {"network", "input", "output", "forward", "masq", "masq6", "mtu_fix", "family"}),
        "forwarding": ({"src", "dest"}, {"family"}),
        "include": ({"path"}, {"type", "position", "chain", "enabled"}),
    },
}


def check(package: str, sections: list[Section]) -> None:
    """Check sections and options against their documentation. :raises UciError: for what that does not have."""
    for section in sections:
        if section.kind not in KNOWN[package]:
            raise UciError(f"{package} has no sections of the type '{section.kind}'")
        required, possible = KNOWN[package][section.kind]
        named = {*section.options, *section.lists}
        if named - required - possible or required - named:
            raise UciError(
                f"{section.kind} {section.name}: unknown {named - required - possible}, lacks {required - named}"
            )
