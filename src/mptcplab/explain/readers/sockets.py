# SPDX-License-Identifier: MIT
"""Sockets as ``ss`` prints them: ``ss -Mi``, ``ss -ti`` and the like, of any version of iproute2.

A row begins with the state, or with the protocol and the state where several protocols are listed. Details follow in
the next lines, which begin with white space, or in the same line (``-O``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from mptcplab.explain.evidence import Sample
from mptcplab.explain.readers.facts import SocketRow

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
        receive_queue=int(match["receive"]),
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
    )


def _or_zero(fields: Mapping[str, str], name: str, is_detailed: bool) -> int | None:
    """Return a whole number; 0 if the details of TCP are there without it, since ss leaves out what is zero."""
    value = whole(fields.get(name))
    return 0 if value is None and is_detailed else value
