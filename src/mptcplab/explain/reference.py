# SPDX-License-Identifier: MIT
"""Generate docs/reasons.md from the catalogue and from the meaning of each MPTCP counter of the kernel."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mptcplab.errors import InputError
from mptcplab.explain.evidence import NEEDS
from mptcplab.explain.reason import KINDS, Reason
from mptcplab.explain.registry import reasons
from mptcplab.plain_tables import markdown_table

# The meaning of each MPTCP counter of the kernel, by its name in net/mptcp/mib.c (``nstat`` puts MPTcpExt before it).
#
# The counters are Linux 7.2's, and what the lab's kernel adds. A counter of RX counts what arrived at the host, of TX
# what it sent. ``side`` is the host at which a counter can grow: the host that opened the connection, that accepted
# it, or both.


@dataclass(frozen=True)
class Counter:
    """One counter: the hosts at which it grows, and what has happened each time."""

    name: str
    side: Literal["client", "server", "both"]
    meaning: str


KERNEL = (
    Counter("MPCapableSYNRX", "server", "a SYN with MP_CAPABLE reached a listening MPTCP socket"),
    Counter("MPCapableSYNTX", "client", "a connection was opened with MP_CAPABLE in its SYN"),
    Counter("MPCapableSYNACKRX", "client", "the SYN/ACK had MP_CAPABLE: the server speaks MPTCP"),
    Counter("MPCapableACKRX", "server", "the third packet of the handshake had MP_CAPABLE: the connection is MPTCP"),
    Counter(
        "MPCapableFallbackACK",
        "server",
        "the third packet of the handshake had no MP_CAPABLE although the SYN had it: the connection is plain TCP; in "
        "older kernels also connections of clients whose SYN has none",
    ),
    Counter(
        "MPCapableFallbackSYNACK", "client", "the SYN/ACK had no MP_CAPABLE: the connection is plain TCP from then on"
    ),
    Counter(
        "MPCapableSYNTXDrop",
        "client",
        "several SYNs with MP_CAPABLE got no answer (net.mptcp.syn_retrans_before_tcp_fallback): the next had none",
    ),
    Counter(
        "MPCapableSYNTXDisabled",
        "client",
        "a connection was opened without MP_CAPABLE, because a path dropped such SYNs before (Blackhole)",
    ),
    Counter(
        "MPCapableEndpAttempt",
        "server",
        "a SYN tried to open a connection at the port of an endpoint, which accepts only joins: it was reset",
    ),
    Counter("MPFallbackTokenInit", "both", "no unused token was found after several attempts: plain TCP"),
    Counter(
        "MPTCPRetrans", "both", "a segment was sent again on another subflow by MPTCP's own timer or a stale subflow"
    ),
    Counter(
        "MPJoinNoTokenFound",
        "both",
        "a join named a token that no connection of this host has: the connection is closed, belongs to another host "
        "(load balancer), or the option was changed on the way",
    ),
    Counter("MPJoinSynRx", "both", "a SYN with MP_JOIN arrived"),
    Counter("MPJoinSynBackupRx", "both", "a SYN with MP_JOIN arrived that marks its subflow as a backup"),
    Counter("MPJoinSynAckRx", "both", "a join was answered by a SYN/ACK with MP_JOIN and the right HMAC"),
    Counter("MPJoinSynAckBackupRx", "both", "the answer to a join marks the subflow as a backup"),
    Counter("MPJoinSynAckHMacFailure", "both", "the answer to a join had a wrong HMAC: the subflow was reset"),
    Counter("MPJoinAckRx", "both", "the third packet of a join arrived and was right: the subflow is established"),
    Counter("MPJoinAckHMacFailure", "both", "the third packet of a join had a wrong HMAC: the subflow was reset"),
    Counter(
        "MPJoinRejected",
        "both",
        "a join was refused, because the limit of subflows was reached, or the connection was closing or fell back",
    ),
    Counter("MPJoinSynTx", "both", "a SYN with MP_JOIN was sent"),
    Counter(
        "MPJoinSynTxCreatSkErr",
        "both",
        "the socket of a join could not be created: in general, the application has not accepted the connection yet",
    ),
    Counter("MPJoinSynTxBindErr", "both", "the socket of a join could not use the endpoint's address"),
    Counter("MPJoinSynTxConnectErr", "both", "the SYN of a join could not be sent: no route from or to that address"),
    Counter("DSSNotMatching", "both", "a second mapping for the same data differs from the first"),
    Counter("DSSCorruptionFallback", "both", "a mapping was inconsistent with the data: plain TCP from then on"),
    Counter("DSSCorruptionReset", "both", "a mapping was inconsistent with the data: the subflow was reset"),
    Counter("InfiniteMapTx", "both", "an infinite mapping was sent: plain TCP from then on, after a failed checksum"),
    Counter("InfiniteMapRx", "both", "an infinite mapping arrived: plain TCP from then on"),
    Counter("DSSNoMatchTCP", "both", "a mapping does not cover the data of its segment, as if data were inserted"),
    Counter("DataCsumErr", "both", "the checksum of a mapping was wrong: the payload was changed on the way"),
    Counter("OFOQueueTail", "both", "data that waits for earlier data was appended to the end of that queue"),
    Counter("OFOQueue", "both", "data arrived before earlier data of another subflow, and waits for it"),
    Counter("OFOMerge", "both", "waiting data was joined with its neighbour in the queue"),
    Counter("NoDSSInWindow", "both", "data lay beyond the window that the receiver offered, and was dropped"),
    Counter("DuplicateData", "both", "data arrived that was there already: reinjected, or retransmitted"),
    Counter("AddAddr", "both", "ADD_ADDR arrived: the other side announced an address"),
    Counter("AddAddrTx", "both", "ADD_ADDR was sent, retransmissions included"),
    Counter("AddAddrTxDrop", "both", "ADD_ADDR was not sent: it does not fit beside the other TCP options"),
    Counter("EchoAdd", "both", "the echo of an announcement arrived: the other side got it"),
    Counter("EchoAddTx", "both", "the echo of an announcement was sent"),
    Counter("EchoAddTxDrop", "both", "the echo of an announcement was not sent: it does not fit"),
    Counter("PortAdd", "both", "ADD_ADDR with a port arrived"),
    Counter("AddAddrDrop", "both", "an announcement was ignored: the path manager was busy, or has no program"),
    Counter("MPJoinPortSynRx", "both", "a join arrived at the port of an endpoint"),
    Counter("MPJoinPortSynAckRx", "both", "a join to an announced port was answered"),
    Counter("MPJoinPortAckRx", "both", "a join at the port of an endpoint was completed"),
    Counter("MismatchPortSynRx", "both", "a join arrived at a port that was not announced: it was reset"),
    Counter("MismatchPortAckRx", "both", "the third packet of a join arrived at a port that was not announced"),
    Counter("RmAddr", "both", "REMOVE_ADDR arrived, and its subflows were closed"),
    Counter("RmAddrDrop", "both", "REMOVE_ADDR was ignored, because the path manager was busy"),
    Counter("RmAddrTx", "both", "REMOVE_ADDR was sent: an endpoint or its address is gone"),
    Counter("RmAddrTxDrop", "both", "REMOVE_ADDR was not sent: it does not fit beside the other TCP options"),
    Counter("RmSubflow", "both", "the path manager closed a subflow, because its endpoint is gone"),
    Counter("MPPrioTx", "both", "MP_PRIO was sent: a subflow became a backup, or ceased to be one"),
    Counter("MPPrioRx", "both", "MP_PRIO arrived"),
    Counter("MPFailTx", "both", "MP_FAIL was sent: a checksum was wrong"),
    Counter("MPFailRx", "both", "MP_FAIL arrived: the other side found a wrong checksum"),
    Counter("MPFastcloseTx", "both", "MP_FASTCLOSE was sent: the application closed with unread data, or aborted"),
    Counter("MPFastcloseRx", "both", "MP_FASTCLOSE arrived: the other side aborted the connection"),
    Counter("MPRstTx", "both", "a subflow was reset with MP_TCPRST, which has a reason"),
    Counter("MPRstRx", "both", "MP_TCPRST arrived: the other side reset a subflow and said why"),
    Counter("SubflowStale", "both", "a subflow had too many timeouts (net.mptcp.stale_loss_cnt): the others took over"),
    Counter("SubflowRecover", "both", "a stale subflow got an answer, and is used again"),
    Counter("SndWndShared", "both", "a subflow's window was enlarged to the connection's"),
    Counter("RcvWndShared", "both", "a subflow announced the larger window of the connection"),
    Counter("RcvWndConflictUpdate", "both", "another subflow announced a larger window at the same time, and was used"),
    Counter("RcvWndConflict", "both", "two subflows announced windows at the same time"),
    Counter("MPCurrEstab", "both", "the number of connections that are established with MPTCP now"),
    Counter(
        "Blackhole",
        "client",
        "a SYN without MP_CAPABLE was answered after several with it were not: MPTCP is off for a while for all "
        "connections that this host opens (net.mptcp.blackhole_timeout)",
    ),
    Counter("MPCapableDataFallback", "both", "the first data after the handshake had no MPTCP option: plain TCP"),
    Counter("MD5SigFallback", "client", "the socket uses TCP-MD5, whose option leaves no room: plain TCP"),
    Counter("DssFallback", "both", "data arrived without a valid mapping on the only subflow: plain TCP"),
    Counter("SimultConnectFallback", "client", "both sides connected to each other at the same time: plain TCP"),
    Counter(
        "FallbackFailed",
        "both",
        "falling back was necessary, and not possible any more: the subflow was reset",
    ),
    Counter("WinProbe", "both", "the connection's window was closed, and the sender probed it"),
)
#: What the lab's kernel counts beyond that, in kernel/net/mptcp/sched_opportunistic.c.
LAB = (
    Counter("OppRetrans", "both", "a segment that blocked the connection was sent again on a faster subflow"),
    Counter("OppRetransBytes", "both", "the payload of these segments, in bytes"),
    Counter("OppPenalties", "both", "the congestion window of a slower subflow was halved for that"),
)
MEANINGS = {counter.name: counter.meaning for counter in (*KERNEL, *LAB)}


# Generate docs/reasons.md from the catalogue and from the meaning of the kernel's counters.
#
# ``python -m mptcplab.explain.reference --write docs/reasons.md`` writes what is between its markers, and a test
# checks that it is up to date.

_TITLES = {
    "fallback": "Plain TCP instead of MPTCP",
    "no subflow": "Fewer subflows than expected",
    "failover": "A path fails",
    "waiting": "Nothing arrives for a while",
    "low sum": "Less than the sum of the paths",
}
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_REASONS = re.compile(r"(<!-- begin of the reasons -->\n).*?(<!-- end of the reasons -->)", re.DOTALL)
_COUNTERS = re.compile(r"(<!-- begin of the counters -->\n).*?(<!-- end of the counters -->)", re.DOTALL)


def _show_placeholders(text: str) -> str:
    """Return a sentence with its placeholders in italics."""
    return _PLACEHOLDER.sub(r"*\1*", text)


def _section(reason: Reason) -> Iterator[str]:
    needs = "; ".join(NEEDS[need][0] for need in reason.needs)
    scenario = reason.lab_scenario
    produced = (
        f"[`{scenario}.toml`](../tests/lab/reasons/{scenario}.toml)"
        if scenario is not None
        else f"not produced in the lab: {reason.why_no_scenario}"
    )
    yield f"### {reason.key}"
    yield f"**{reason.title}.** {reason.explanation}"
    yield "\n".join(
        (
            f"- says: {_show_placeholders(reason.sentence)}",
            f"- cure: {_show_placeholders(reason.cure)}",
            f"- confirmed by: {reason.confirm}",
            f"- needs: {needs}",
            f"- scenario: {produced}",
            f"- more: [{reason.page}]({reason.page})",
        )
    )


def catalogue() -> str:
    """Return all reasons as Markdown, by kind."""
    parts: list[str] = []
    for kind in KINDS:
        parts.append(f"## {_TITLES[kind]}")
        for reason in reasons().values():
            if reason.kind == kind:
                parts += _section(reason)
    return "\n\n".join(parts)


def counters() -> str:
    """Return the table of the kernel's counters as Markdown."""
    rows = ((f"`{counter.name}`", counter.side, counter.meaning) for counter in (*KERNEL, *LAB))
    return markdown_table(("counter", "at", "each time"), rows)


def replace(document: str) -> str:
    """Return ``document`` with the catalogue and the counters between their markers."""
    document = _REASONS.sub(lambda match: f"{match[1]}{catalogue()}\n{match[2]}", document)
    return _COUNTERS.sub(lambda match: f"{match[1]}{counters()}\n{match[2]}", document)


def main(arguments: list[str]) -> None:
    """Write the page after ``--write``. :raises InputError: if no file is named."""
    if arguments[:1] != ["--write"] or len(arguments) != 2:
        raise InputError("no file to write is named", hint="--write docs/reasons.md")
    file = Path(arguments[1])
    file.write_text(replace(file.read_text()))


if __name__ == "__main__":
    main(sys.argv[1:])
