# SPDX-License-Identifier: MIT
"""Generate docs/reasons.md from the catalogue and from the meaning of each MPTCP counter of the kernel."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mptcplab.errors import InputError
from mptcplab.explain.evidence import NEEDS
from mptcplab.explain.reason import KINDS, Reason, View
from mptcplab.explain.registry import reasons
from mptcplab.plain_tables import markdown_table

# The meaning of each MPTCP counter of the kernel, by its name in net/mptcp/mib.c (``nstat`` puts MPTcpExt before it).
#
# The counters are Linux 7.2's, and what the lab's kernel adds. A counter of RX counts what arrived at the host, of TX
# what it sent. ``side`` is the host at which a counter can grow: the host that opened the connection, that accepted
# it, or both.


@dataclass(frozen=True)
class CounterMeaning:
    """One counter: the hosts at which it grows, and what has happened each time."""

    name: str
    meaning: str
    side: Literal["client", "server", "both"] = "both"


KERNEL = (
    CounterMeaning("MPCapableSYNRX", "a SYN with MP_CAPABLE reached a listening MPTCP socket", side="server"),
    CounterMeaning("MPCapableSYNTX", "a connection was opened with MP_CAPABLE in its SYN", side="client"),
    CounterMeaning("MPCapableSYNACKRX", "the SYN/ACK had MP_CAPABLE: the server speaks MPTCP", side="client"),
    CounterMeaning(
        "MPCapableACKRX", "the third packet of the handshake had MP_CAPABLE: the connection is MPTCP", side="server"
    ),
    CounterMeaning(
        "MPCapableFallbackACK",
        "the third packet of the handshake had no MP_CAPABLE although the SYN had it: the connection is plain TCP; in "
        "older kernels also connections of clients whose SYN has none",
        side="server",
    ),
    CounterMeaning(
        "MPCapableFallbackSYNACK",
        "the SYN/ACK had no MP_CAPABLE: the connection is plain TCP from then on",
        side="client",
    ),
    CounterMeaning(
        "MPCapableSYNTXDrop",
        "several SYNs with MP_CAPABLE got no answer (net.mptcp.syn_retrans_before_tcp_fallback): the next had none",
        side="client",
    ),
    CounterMeaning(
        "MPCapableSYNTXDisabled",
        "a connection was opened without MP_CAPABLE, because a path dropped such SYNs before (Blackhole)",
        side="client",
    ),
    CounterMeaning(
        "MPCapableEndpAttempt",
        "a SYN tried to open a connection at the port of an endpoint, which accepts only joins: it was reset",
        side="server",
    ),
    CounterMeaning("MPFallbackTokenInit", "no unused token was found after several attempts: plain TCP"),
    CounterMeaning(
        "MPTCPRetrans", "a segment was sent again on another subflow by MPTCP's own timer or a stale subflow"
    ),
    CounterMeaning(
        "MPJoinNoTokenFound",
        "a join named a token that no connection of this host has: the connection is closed, belongs to another host "
        "(load balancer), or the option was changed on the way",
    ),
    CounterMeaning("MPJoinSynRx", "a SYN with MP_JOIN arrived"),
    CounterMeaning("MPJoinSynBackupRx", "a SYN with MP_JOIN arrived that marks its subflow as a backup"),
    CounterMeaning("MPJoinSynAckRx", "a join was answered by a SYN/ACK with MP_JOIN and the right HMAC"),
    CounterMeaning("MPJoinSynAckBackupRx", "the answer to a join marks the subflow as a backup"),
    CounterMeaning("MPJoinSynAckHMacFailure", "the answer to a join had a wrong HMAC: the subflow was reset"),
    CounterMeaning("MPJoinAckRx", "the third packet of a join arrived and was right: the subflow is established"),
    CounterMeaning("MPJoinAckHMacFailure", "the third packet of a join had a wrong HMAC: the subflow was reset"),
    CounterMeaning(
        "MPJoinRejected",
        "a join was refused, because the limit of subflows was reached, or the connection was closing or fell back",
    ),
    CounterMeaning("MPJoinSynTx", "a SYN with MP_JOIN was sent"),
    CounterMeaning(
        "MPJoinSynTxCreatSkErr",
        "the socket of a join could not be created: in general, the application has not accepted the connection yet",
    ),
    CounterMeaning("MPJoinSynTxBindErr", "the socket of a join could not use the endpoint's address"),
    CounterMeaning("MPJoinSynTxConnectErr", "the SYN of a join could not be sent: no route from or to that address"),
    CounterMeaning("DSSNotMatching", "a second mapping for the same data differs from the first"),
    CounterMeaning("DSSCorruptionFallback", "a mapping was inconsistent with the data: plain TCP from then on"),
    CounterMeaning("DSSCorruptionReset", "a mapping was inconsistent with the data: the subflow was reset"),
    CounterMeaning("InfiniteMapTx", "an infinite mapping was sent: plain TCP from then on, after a failed checksum"),
    CounterMeaning("InfiniteMapRx", "an infinite mapping arrived: plain TCP from then on"),
    CounterMeaning("DSSNoMatchTCP", "a mapping does not cover the data of its segment, as if data were inserted"),
    CounterMeaning("DataCsumErr", "the checksum of a mapping was wrong: the payload was changed on the way"),
    CounterMeaning("OFOQueueTail", "data that waits for earlier data was appended to the end of that queue"),
    CounterMeaning("OFOQueue", "data arrived before earlier data of another subflow, and waits for it"),
    CounterMeaning("OFOMerge", "waiting data was joined with its neighbour in the queue"),
    CounterMeaning("NoDSSInWindow", "data lay beyond the window that the receiver offered, and was dropped"),
    CounterMeaning("DuplicateData", "data arrived that was there already: reinjected, or retransmitted"),
    CounterMeaning("AddAddr", "ADD_ADDR arrived: the other side announced an address"),
    CounterMeaning("AddAddrTx", "ADD_ADDR was sent, retransmissions included"),
    CounterMeaning("AddAddrTxDrop", "ADD_ADDR was not sent: it does not fit beside the other TCP options"),
    CounterMeaning("EchoAdd", "the echo of an announcement arrived: the other side got it"),
    CounterMeaning("EchoAddTx", "the echo of an announcement was sent"),
    CounterMeaning("EchoAddTxDrop", "the echo of an announcement was not sent: it does not fit"),
    CounterMeaning("PortAdd", "ADD_ADDR with a port arrived"),
    CounterMeaning("AddAddrDrop", "an announcement was ignored: the path manager was busy, or has no program"),
    CounterMeaning("MPJoinPortSynRx", "a join arrived at the port of an endpoint"),
    CounterMeaning("MPJoinPortSynAckRx", "a join to an announced port was answered"),
    CounterMeaning("MPJoinPortAckRx", "a join at the port of an endpoint was completed"),
    CounterMeaning("MismatchPortSynRx", "a join arrived at a port that was not announced: it was reset"),
    CounterMeaning("MismatchPortAckRx", "the third packet of a join arrived at a port that was not announced"),
    CounterMeaning("RmAddr", "REMOVE_ADDR arrived, and its subflows were closed"),
    CounterMeaning("RmAddrDrop", "REMOVE_ADDR was ignored, because the path manager was busy"),
    CounterMeaning("RmAddrTx", "REMOVE_ADDR was sent: an endpoint or its address is gone"),
    CounterMeaning("RmAddrTxDrop", "REMOVE_ADDR was not sent: it does not fit beside the other TCP options"),
    CounterMeaning("RmSubflow", "the path manager closed a subflow, because its endpoint is gone"),
    CounterMeaning("MPPrioTx", "MP_PRIO was sent: a subflow became a backup, or ceased to be one"),
    CounterMeaning("MPPrioRx", "MP_PRIO arrived"),
    CounterMeaning("MPFailTx", "MP_FAIL was sent: a checksum was wrong"),
    CounterMeaning("MPFailRx", "MP_FAIL arrived: the other side found a wrong checksum"),
    CounterMeaning("MPFastcloseTx", "MP_FASTCLOSE was sent: the application closed with unread data, or aborted"),
    CounterMeaning("MPFastcloseRx", "MP_FASTCLOSE arrived: the other side aborted the connection"),
    CounterMeaning("MPRstTx", "a subflow was reset with MP_TCPRST, which has a reason"),
    CounterMeaning("MPRstRx", "MP_TCPRST arrived: the other side reset a subflow and said why"),
    CounterMeaning("SubflowStale", "a subflow had too many timeouts (net.mptcp.stale_loss_cnt): the others took over"),
    CounterMeaning("SubflowRecover", "a stale subflow got an answer, and is used again"),
    CounterMeaning("SndWndShared", "a subflow's window was enlarged to the connection's"),
    CounterMeaning("RcvWndShared", "a subflow announced the larger window of the connection"),
    CounterMeaning("RcvWndConflictUpdate", "another subflow announced a larger window at the same time, and was used"),
    CounterMeaning("RcvWndConflict", "two subflows announced windows at the same time"),
    CounterMeaning("MPCurrEstab", "the number of connections that are established with MPTCP now"),
    CounterMeaning(
        "Blackhole",
        "a SYN without MP_CAPABLE was answered after several with it were not: MPTCP is off for a while for all "
        "connections that this host opens (net.mptcp.blackhole_timeout)",
        side="client",
    ),
    CounterMeaning("MPCapableDataFallback", "the first data after the handshake had no MPTCP option: plain TCP"),
    CounterMeaning("MD5SigFallback", "the socket uses TCP-MD5, whose option leaves no room: plain TCP", side="client"),
    CounterMeaning("DssFallback", "data arrived without a valid mapping on the only subflow: plain TCP"),
    CounterMeaning(
        "SimultConnectFallback", "both sides connected to each other at the same time: plain TCP", side="client"
    ),
    CounterMeaning("FallbackFailed", "falling back was necessary, and not possible any more: the subflow was reset"),
    CounterMeaning("WinProbe", "the connection's window was closed, and the sender probed it"),
)
#: What the lab's kernel counts beyond that, in kernel/net/mptcp/sched_opportunistic.c.
LAB = (
    CounterMeaning("OppRetrans", "a segment that blocked the connection was sent again on a faster subflow"),
    CounterMeaning("OppRetransBytes", "the payload of these segments, in bytes"),
    CounterMeaning("OppPenalties", "the congestion window of a slower subflow was halved for that"),
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
#: What is added to the name of a scenario that does not show its reason in the row of its run.
_SHOWN: Mapping[View, str] = {
    "row": "",
    "captures": ", explained from its captures alone",
    "client": ", explained from the client's files alone",
    "session": ", explained from what its hosts print",
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
        f"[`{scenario}`](../tests/lab/reasons/{scenario}){_SHOWN[reason.shown_in]}"
        if scenario is not None
        else f"none, since {reason.why_no_scenario}"
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
