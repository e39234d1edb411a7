# SPDX-License-Identifier: MIT
"""Lines of ``ip mptcp``: endpoints, limits and events, and the commands that configure the former."""

from __future__ import annotations

import ipaddress
import re
from typing import Any

from mptcplab.explain.evidence import Endpoint, Limits, PathEvent

_FLAGS = frozenset({"signal", "subflow", "backup", "fullmesh", "implicit", "laminar"})
#: How the words can be abbreviated: `ip mp e`, `ip mptcp end`.
_COMMAND = re.compile(r"\bip\s+(?:-\S+\s+(?:\S+\s+)??){0,4}?mp(?:tcp|tc|t)?\s+(?P<object>[elm]\w{0,10})\b(?P<rest>.*)")
_EVENT = re.compile(r"\[\s*(?P<kind>[A-Z_]{3,30})\]\s*(?P<rest>\S.*)?$")
_LIMITS = re.compile(r"\s*(?:(?:add_addr_accepted|subflows?)\s+\d{1,9}\s*){2}$")
_PAIR = re.compile(r"(add_addr_accepted|subflows?)\s+(\d{1,9})")
#: What an event may be called, in lower case.
_EVENTS = frozenset(
    {
        "created",
        "established",
        "closed",
        "announced",
        "removed",
        "sf_established",
        "sf_closed",
        "sf_prio",
        "listener_created",
        "listener_closed",
    }
)
_MAX_NUMBER = 2**32


def command_of(line: str) -> tuple[str, str] | None:
    """Return object and rest of an ``ip mptcp`` command in a line, as in a prompt or script; None if there is none."""
    match = _COMMAND.search(line)
    if match is None:
        return None
    word = match["object"]
    names = [name for name in ("endpoint", "limits", "monitor") if name.startswith(word)]
    return (names[0], match["rest"].strip()) if names else None


def read_endpoint(text: str, *, is_command: bool = False) -> Endpoint | None:
    """Return the endpoint in a line such as ``10.0.1.1 id 1 subflow dev eth0``; a command needs no id."""
    words = text.split()
    if not words or not is_address(words[0]):
        return None
    flags, values = set(), {}
    rest = iter(words[1:])
    for word in rest:
        if word in ("id", "dev", "port"):
            values[word] = next(rest, "")
        elif word in _FLAGS:
            flags.add(word)
        elif word.startswith("#"):
            break
        elif word not in ("flags", "nobackup", "nofullmesh"):
            return None
    if not is_command and "id" not in values:
        return None
    return Endpoint(
        address=words[0],
        flags=frozenset(flags),
        id=_number(values.get("id")),
        port=_number(values.get("port")),
        device=values.get("dev"),
    )


def read_limits(line: str) -> Limits | None:
    """Return the limits in a line such as ``add_addr_accepted 0 subflows 2``."""
    if not _LIMITS.match(line):
        return None
    return change_limits(line, None)


def change_limits(text: str, known: Limits | None) -> Limits | None:
    """Return the limits after ``ip mptcp limits set``; what it leaves out stays, or is the kernel's default."""
    values = {name.rstrip("s"): int(value) for name, value in _PAIR.findall(text)}
    if not values:
        return None
    before = known or Limits(subflows=2, add_addr_accepted=0)
    return Limits(
        subflows=values.get("subflow", before.subflows),
        add_addr_accepted=values.get("add_addr_accepted", before.add_addr_accepted),
    )


def read_event(line: str) -> PathEvent | None:
    """Return the event in a line of ``ip mptcp monitor``."""
    match = _EVENT.match(line.strip())
    if match is None or match["kind"].lower() not in _EVENTS:
        return None
    values = dict(word.split("=", 1) for word in (match["rest"] or "").split() if "=" in word)
    local = values.get("saddr4") or values.get("saddr6")
    remote = values.get("daddr4") or values.get("daddr6")
    return PathEvent(
        kind=match["kind"].lower(),
        token=_number(values.get("token"), 16),
        local=_end(local, values.get("sport")),
        remote=_end(remote, values.get("dport")),
        backup=values["backup"] != "0" if "backup" in values else None,
        error=_number(values.get("error")),
        reset_reason=_number(values.get("reset_reason")),
    )


def read_documents(document: Any) -> tuple[list[Endpoint], Limits | None]:
    """Return endpoints and limits of the output of ``ip -j mptcp``."""
    members = document if isinstance(document, list) else [document]
    endpoints: list[Endpoint] = []
    limits = None
    for member in members:
        if not isinstance(member, dict):
            continue
        address = member.get("address")
        if isinstance(address, str) and is_address(address) and "id" in member:
            named = member.get("flags")
            flags = {flag for flag in _FLAGS if member.get(flag) is True}
            flags |= {flag for flag in named if flag in _FLAGS} if isinstance(named, list) else set()
            device = member.get("dev")
            endpoints.append(
                Endpoint(
                    address=address,
                    flags=frozenset(flags),
                    id=_number(str(member["id"])),
                    port=_number(str(member.get("port"))),
                    device=device if isinstance(device, str) else None,
                )
            )
        subflows, accepted = (_number(str(member.get(name))) for name in ("subflows", "add_addr_accepted"))
        if subflows is not None and accepted is not None:
            limits = Limits(subflows=subflows, add_addr_accepted=accepted)
    return endpoints, limits


def is_address(text: str) -> bool:
    """Return whether ``text`` is an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _number(text: str | None, base: int = 10) -> int | None:
    """Return a number of up to 32 bits; None if it is not one."""
    try:
        value = int(text or "", base)
    except ValueError:
        return None
    return value if 0 <= value < _MAX_NUMBER else None


def _end(address: str | None, port: str | None) -> str | None:
    if address is None:
        return None
    shown = f"[{address}]" if ":" in address else address
    return shown if port is None else f"{shown}:{port}"
