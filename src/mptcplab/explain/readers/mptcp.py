# SPDX-License-Identifier: MIT
"""MPTCP as real machines print it: sockets by ``ss``, endpoints, limits and events by ``ip mptcp``."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mptcplab.explain.evidence import Endpoint, Limits, PathEvent, Refusal, Sample
from mptcplab.explain.readers.facts import SocketRow

# Sockets as ``ss`` prints them: ``ss -Mi``, ``ss -ti`` and the like, of any version of iproute2.
#
# A row begins with the state, or with the protocol and the state where several protocols are listed. Details follow in
# the next lines, which begin with white space, or in the same line (``-O``).

_STATES = (
    "ESTAB|LISTEN|SYN-SENT|SYN-RECV|FIN-WAIT-1|FIN-WAIT-2|TIME-WAIT|CLOSE-WAIT|LAST-ACK|CLOSING|CLOSED|CLOSE|UNCONN"
)
_ROW = re.compile(
    rf"\s*(?:(?P<protocol>[a-z_0-9]+)\s+)?(?P<state>{_STATES})\s+(?P<receive>\d{{1,18}})\s+(?P<send>\d{{1,18}})\s+"
    r"(?P<local>\S+:\S+)\s+(?P<remote>\S+:\S+)(?P<rest>\s.*)?$"
)
_HEADER = re.compile(r"\s*(?:Netid\s+)?State\s+Recv-Q\s+Send-Q\s")
_END = re.compile(r"(?P<address>\[[^\]]*\]|[^%]*?)(?:%(?P<device>[^:\]]+))?(?P<close>\]?):(?P<port>[^:]+)$")
_NUMBER = re.compile(r"\d{1,19}(?:\.\d{1,9})?")
#: Sequence numbers of MPTCP are in hexadecimal.
_SEQUENCE = re.compile(r"[0-9a-f]{1,16}")
#: Names that ss separates from their value by a space.
_SPACED = frozenset({"send", "pacing_rate", "delivery_rate", "max_pacing_rate"})
#: Details that only a connection of MPTCP has, and only a socket of TCP.
_OF_MPTCP = frozenset({"subflows", "subflows_max", "write_seq", "snd_una", "rcv_nxt", "add_addr_signal_max"})
_OF_TCP = frozenset({"rto", "cwnd", "mss", "rtt", "wscale"})
_ULPS = "tcp-ulp-"
ULP = f"{_ULPS}mptcp"


def is_header(line: str) -> bool:
    """Return whether a line is the head of a table of sockets."""
    return _HEADER.match(line) is not None


def read_row(line: str, time_s: float | None, protocol: str | None) -> SocketRow | None:
    """Return the socket in the first line of a row; None if the line is none. ``protocol`` is the table's."""
    match = _ROW.match(line)
    if match is None:
        return None
    named = match["protocol"]
    if named not in (None, "tcp", "mptcp"):
        return None
    local, device = _end(match["local"])
    remote, _ = _end(match["remote"])
    row = SocketRow(
        time_s=time_s,
        protocol=named or protocol,
        state=match["state"],
        send_queue=int(match["send"]),
        local=local,
        remote=remote,
        device=device,
    )
    return with_details(row, match["rest"] or "")


def with_details(row: SocketRow, line: str) -> SocketRow:
    """Return ``row`` with the details in one line of text."""
    fields, words, congestion = dict(row.fields), set(row.words), row.congestion
    spaced: str | None = None
    last_word: str | None = None
    for token in line.split():
        name, colon, value = token.partition(":")
        if spaced is not None:
            fields.setdefault(spaced, token)
            spaced = None
        elif token in _SPACED:
            spaced = token
        elif colon:
            if name in ("wscale", "rto") and last_word not in (None, "ts", "sack", "ecn", "ecnseen", "fastopen"):
                congestion = congestion or last_word
            fields[name] = value
            if name == "rtt":
                fields["rttvar"] = value.partition("/")[2]
        elif token not in ("<->", "-->", "<--", "---"):
            words.add(token)
            last_word = token
    protocol = row.protocol
    if ULP in words or (not _OF_MPTCP & fields.keys() and _OF_TCP & fields.keys()):
        protocol = "tcp"
    elif _OF_MPTCP & fields.keys() or "remote_key" in words:
        protocol = "mptcp"
    return replace(row, fields=fields, words=frozenset(words), congestion=congestion, protocol=protocol)


def _end(text: str) -> tuple[str, str | None]:
    """Return an end as ``ADDRESS:PORT``, and the device that it is bound to."""
    match = _END.match(text)
    if match is None:
        return text, None
    address, device = match["address"] + match["close"], match["device"]
    inner = address.strip("[]")
    if device is None and "%" in inner:
        inner, _, device = inner.partition("%")
    inner = inner.removeprefix("::ffff:") if "." in inner else inner
    return f"[{inner}]:{match['port']}" if ":" in inner else f"{inner}:{match['port']}", device


def number(text: str | None) -> float | None:
    """Return the number at the beginning of a value such as ``40ms`` or ``12.5%``; None if there is none."""
    match = _NUMBER.match(text or "")
    return float(match[0]) if match else None


def whole(text: str | None) -> int | None:
    """Return the whole number at the beginning of a value."""
    value = number(text)
    return None if value is None else int(value)


def tokens(row: SocketRow) -> tuple[str | None, str | None]:
    """Return the tokens of a row, the local and the remote one, as text in hexadecimal."""
    value = row.fields.get("token", "")
    if ULP not in row.words:
        return value or None, None
    remote, _, local = value.partition("/")
    return local.partition("(")[0] or None, remote.partition("(")[0] or None


def count_pending_bytes(row: SocketRow) -> int:
    """Return the bytes of a connection that were not acknowledged, or not sent yet.

    Mainline prints zero as Send-Q of an MPTCP socket, since its data waits at the subflows (mptcp_diag_get_info()).
    """
    written, acked = (row.fields.get(name, "") for name in ("write_seq", "snd_una"))
    if _SEQUENCE.fullmatch(written) and _SEQUENCE.fullmatch(acked):
        return (int(written, 16) - int(acked, 16)) % 2**64
    return row.send_queue


def upper_layer(row: SocketRow) -> str | None:
    """Return the upper-layer protocol of a socket of TCP: ``mptcp``, ``tls``; None if it has none."""
    return next((word.removeprefix(_ULPS) for word in row.words if word.startswith(_ULPS)), None)


def sample(row: SocketRow) -> Sample:
    """Return what a row says about a subflow at its time, 0 if that is not known."""
    fields = row.fields

    def seconds(name: str) -> float | None:
        value = number(fields.get(name))
        return None if value is None else value / 1000

    retransmitted = whole(fields.get("bytes_retrans"))
    if retransmitted is None and "bytes_sent" in fields:
        # ss leaves out what is zero.
        retransmitted = 0
    is_detailed = bool(_OF_TCP & fields.keys())
    return Sample(
        time_s=row.time_s or 0.0,
        state=row.state.lower(),
        rtt_s=seconds("rtt"),
        rttvar_s=seconds("rttvar"),
        min_rtt_s=seconds("minrtt"),
        rto_s=seconds("rto"),
        backoff=_or_zero(fields, "backoff", is_detailed),
        cwnd=whole(fields.get("cwnd")),
        ssthresh=whole(fields.get("ssthresh")),
        mss=whole(fields.get("mss")),
        unacked=_or_zero(fields, "unacked", is_detailed),
        lost=_or_zero(fields, "lost", is_detailed),
        snd_wnd=whole(fields.get("snd_wnd")),
        notsent_bytes=_or_zero(fields, "notsent", is_detailed),
        bytes_sent=_or_zero(fields, "bytes_sent", is_detailed),
        bytes_acked=_or_zero(fields, "bytes_acked", is_detailed),
        bytes_received=_or_zero(fields, "bytes_received", is_detailed),
        bytes_retrans=retransmitted,
        ofo_packets=_or_zero(fields, "rcv_ooopack", is_detailed),
        pacing_bps=number(fields.get("pacing_rate")),
        delivery_bps=number(fields.get("delivery_rate")),
        busy_s=seconds("busy"),
        rwnd_limited_s=seconds("rwnd_limited"),
        sndbuf_limited_s=seconds("sndbuf_limited"),
        app_limited="app_limited" in row.words if is_detailed else None,
    )


def _or_zero(fields: Mapping[str, str], name: str, is_detailed: bool) -> int | None:
    """Return a whole number; 0 if the details of TCP are there without it, since ss leaves out what is zero."""
    value = whole(fields.get(name))
    return 0 if value is None and is_detailed else value


# Lines of ``ip mptcp``: endpoints, limits and events, and the commands that configure the former.

#: Flags of endpoints, with their bits in include/uapi/linux/mptcp.h. ``ip`` prints flags that are newer than itself as
#: ``rawflags``.
_BITS = {"signal": 0x1, "subflow": 0x2, "backup": 0x4, "fullmesh": 0x8, "implicit": 0x10, "laminar": 0x20}
_FLAGS, _RAW_FLAGS = frozenset(_BITS), "rawflags"
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
#: What ``ip mptcp`` prints if the kernel refuses what a command asks for.
_REFUSED = re.compile(r"(?:Error: )?(?:add_addr: )?too many addresses or duplicate one: -(?P<error>\d{1,4})\b")
_LIMIT_REFUSED = re.compile(r"Error: limit greater than maximum")


def command_of(line: str) -> tuple[str, str] | None:
    """Return object and rest of an ``ip mptcp`` command in a line, as in a prompt or script; None if there is none."""
    match = _COMMAND.search(line)
    if match is None:
        return None
    word = match["object"]
    names = [name for name in ("endpoint", "limits", "monitor") if name.startswith(word)]
    return (names[0], match["rest"].strip()) if names else None


def read_refusal(line: str) -> Refusal | None:
    """Return what the kernel refused, in an error of ``ip mptcp`` or of mptcpd."""
    if _LIMIT_REFUSED.match(line):
        return Refusal(what="limits")
    match = _REFUSED.match(line)
    return None if match is None else Refusal(what="endpoint", error=int(match["error"]))


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
        elif word == _RAW_FLAGS:
            flags |= _name_flags(next(rest, ""))
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
        local=_host_port(local, values.get("sport")),
        remote=_host_port(remote, values.get("dport")),
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
            flags |= _name_flags(str(member.get(_RAW_FLAGS)))
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


def _name_flags(bits: str) -> set[str]:
    """Return the names of an endpoint's flags whose bits ``ip`` printed in hexadecimal."""
    value = _number(bits, 16) or 0
    return {name for name, bit in _BITS.items() if value & bit}


def _number(text: str | None, base: int = 10) -> int | None:
    """Return a number of up to 32 bits; None if it is not one."""
    try:
        value = int(text or "", base)
    except ValueError:
        return None
    return value if 0 <= value < _MAX_NUMBER else None


def _host_port(address: str | None, port: str | None) -> str | None:
    if address is None:
        return None
    shown = f"[{address}]" if ":" in address else address
    return shown if port is None else f"{shown}:{port}"
