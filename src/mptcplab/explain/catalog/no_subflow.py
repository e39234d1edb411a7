# SPDX-License-Identifier: MIT
"""Reasons why a connection has fewer subflows than it should have.

In the order of what has to happen: an endpoint, room within the limits, an announcement if the server has several
addresses, a SYN with MP_JOIN, its answer, and the third packet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from mptcplab.explain.catalog.common import (
    client_of,
    counter_lines,
    fell_back,
    handshakes,
    is_established,
    joins_of,
    lacks_subflows,
    leaves_to_program,
    middlebox_lines,
    name_manager,
    plural,
    server_of,
    subflows_possible,
    subflows_seen,
)
from mptcplab.explain.evidence import Evidence, Host, address_of
from mptcplab.explain.reason import HINT, PROOF, STRONG, Reason, Sign

_PAGE = "path-management.md"
_ENDPOINTS = "path-management.md#modes-of-an-interface"
_LINKS = "links.md#middleboxes"
#: A connection that ends within this number of round trips may be over before a second subflow is.
_FEW_ROUND_TRIPS = 4
#: A subflow is established and stuck if fewer full segments of payload arrived.
_STUCK_SEGMENTS = 3
#: Reasons in MP_TCPRST, RFC 8684, section 3.6.
_RESETS = {
    0: "unspecified", 1: "an error in MPTCP", 2: "lack of resources", 3: "administratively prohibited",
    4: "too much outstanding data", 5: "unacceptable performance", 6: "middlebox interference",
}  # fmt: skip


def _opens(host: Host) -> bool:
    """Return whether a host has an endpoint from which its path manager opens subflows by itself."""
    return any({"subflow", "fullmesh", "laminar"} & endpoint.flags for endpoint in host.endpoints or ())


def _announces(host: Host) -> bool:
    return any("signal" in endpoint.flags for endpoint in host.endpoints or ())


def _by_kernel(host: Host) -> bool:
    """Return whether the kernel manages the paths of a host, and not a program of its own."""
    return host.path_manager in (None, "kernel") and (host.sysctls or {}).get("net.mptcp.pm_type", "0") == "0"


def _no_endpoint(evidence: Evidence) -> Iterator[Sign]:
    client, server = client_of(evidence), server_of(evidence)
    if not lacks_subflows(evidence) or not _by_kernel(client) or (subflows_possible(evidence) or 0) < 2:
        return
    if not _opens(client) and not _announces(server) and not _announces(client) and not joins_of(client):
        shown = ", ".join(endpoint.text for endpoint in client.endpoints or ()) or "none"
        lines = (f"{client.name}: endpoints {shown}", *counter_lines(client, "MPJoinSynTx"))
        yield Sign(lines=lines, values={"client": client.name}, strength=PROOF)


def _endpoint_of_first(evidence: Evidence) -> Iterator[Sign]:
    """The only endpoint is the address that the first subflow uses, so nothing is left for a second one."""
    client = client_of(evidence)
    if not lacks_subflows(evidence) or joins_of(client) or not _by_kernel(client):
        return
    opening = [endpoint for endpoint in client.endpoints or () if {"subflow", "fullmesh"} & endpoint.flags]
    used = {address_of(end) for subflow in evidence.subflows or () for end in (subflow.local, subflow.remote)}
    if opening and all(endpoint.address in used for endpoint in opening):
        yield Sign(
            lines=(f"{client.name}: endpoints {', '.join(endpoint.text for endpoint in opening)}",),
            values={"client": client.name, "address": opening[0].address},
        )


def _fullmesh_alone(evidence: Evidence) -> Iterator[Sign]:
    client, server = client_of(evidence), server_of(evidence)
    alone = [entry for entry in client.endpoints or () if "fullmesh" in entry.flags and "subflow" not in entry.flags]
    if lacks_subflows(evidence) and alone and not _announces(server) and not joins_of(client):
        yield Sign(
            lines=(f"{client.name}: endpoints {', '.join(endpoint.text for endpoint in alone)}",),
            values={"client": client.name},
            strength=PROOF,
        )


def _limit_of_subflows(evidence: Evidence) -> Iterator[Sign]:
    seen = subflows_seen(evidence)
    for host in evidence.hosts:
        if host.limits is None or not host.opens or not (_opens(host) or _announces(server_of(evidence))):
            continue
        if lacks_subflows(evidence) and seen is not None and seen > host.limits.subflows and _by_kernel(host):
            yield Sign(
                lines=(f"{host.name}: limits subflows {host.limits.subflows}", f"{plural(seen, 'subflow')} seen"),
                values={"host": host.name, "limit": plural(host.limits.subflows, "additional subflow")},
                strength=PROOF,
            )


def _join_rejected(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        count = host.known_count("MPJoinRejected")
        if count:
            limit = host.limits.subflows if host.limits is not None else None
            seen = subflows_seen(evidence)
            # What the host itself tries to open counts, too.
            used = max(joins_of(host), 0 if seen is None else seen - 1)
            is_full = limit is None or used >= limit
            shown = f", limits subflows {limit}" if limit is not None else ""
            other = "the connection was closing, or had fallen back"
            if seen is None:
                other = "its limit of subflows was reached, or the connection was closing"
            yield Sign(
                lines=(f"{host.name}: MPJoinRejected {count}{shown}",),
                values={
                    "host": host.name,
                    "count": plural(count, "join"),
                    "why": "its limit of subflows is reached" if is_full else other,
                },
                strength=PROOF if is_full else HINT,
            )


def _link_local_announced(evidence: Evidence) -> Iterator[Sign]:
    """A link-local address is reached by one device only, which a join without an endpoint does not name."""
    for host in evidence.hosts:
        count = host.known_count("MPJoinSynTxConnectErr")
        announced = {event.remote for event in host.events or () if event.kind == "announced" and event.remote}
        local = sorted(address for address in announced if address.lower().startswith("[fe80:"))
        if count and local:
            lines = (*counter_lines(host, "MPJoinSynTxConnectErr"), f"{host.name}: announced {local[0]}")
            values = {"host": host.name, "count": plural(count, "join"), "address": local[0]}
            yield Sign(lines=lines, values=values, strength=PROOF)


def _join_without_route(evidence: Evidence) -> Iterator[Sign]:
    """With endpoints for several pairs of addresses, some pairs may have no route, and nothing is missing."""
    expected, seen = evidence.expected, subflows_seen(evidence)
    needed = expected.subflows if expected is not None else None
    is_complete = needed is not None and seen is not None and seen >= needed
    for sign in _anywhere("MPJoinSynTxConnectErr")(evidence):
        yield replace(sign, strength=HINT) if is_complete else sign


def _announcement_not_accepted(evidence: Evidence) -> Iterator[Sign]:
    client = client_of(evidence)
    limit = client.limits.add_addr_accepted if client.limits is not None else None
    count = client.known_count("AddAddr")
    if count and limit == 0 and lacks_subflows(evidence) and _by_kernel(client) and not joins_of(client):
        lines = (*counter_lines(client, "AddAddr"), f"{client.name}: limits add_addr_accepted 0")
        yield Sign(lines=lines, values={"client": client.name, "count": plural(count, "address")}, strength=PROOF)


def _not_announced(evidence: Evidence) -> Iterator[Sign]:
    """The server has several addresses and the client one: then only the server can name another."""
    client, server = client_of(evidence), server_of(evidence)
    several = len(set(server.addresses or ())) > 1 and len(set(client.addresses or ())) == 1
    if several and lacks_subflows(evidence) and not server.known_count("AddAddrTx") and not _announces(server):
        shown = ", ".join(endpoint.text for endpoint in server.endpoints or ()) or "none"
        lines = (f"{server.name}: endpoints {shown}", *counter_lines(server, "AddAddrTx"))
        yield Sign(lines=lines, values={"server": server.name, "client": client.name}, strength=PROOF)


def _announcement_lost(evidence: Evidence) -> Iterator[Sign]:
    for host, other in _pairs(evidence):
        sent, got = host.known_count("AddAddrTx"), other.count("AddAddr")
        if sent and got == 0 and lacks_subflows(evidence):
            boxes = tuple(middlebox_lines(evidence, "add_addr", verbs=("strip", "drop", "mangle")))
            lines = (*counter_lines(host, "AddAddrTx"), *counter_lines(other, "AddAddr"), *boxes)
            strength = PROOF if boxes or sent > 1 else STRONG
            yield Sign(lines=lines, values={"host": host.name, "count": sent}, strength=strength)


def _pairs(evidence: Evidence) -> Iterator[tuple[Host, Host]]:
    client, server = client_of(evidence), server_of(evidence)
    yield client, server
    yield server, client


def _anywhere(*names: str, of_shortfall: bool = False) -> Callable[[Evidence], Iterator[Sign]]:
    """Return a function that recognises counters, of either host, that have only one cause."""

    def recognise(evidence: Evidence) -> Iterator[Sign]:
        if of_shortfall and not lacks_subflows(evidence):
            return
        for host in evidence.hosts:
            count = sum(host.known_count(name) for name in names)
            if count:
                values = {"host": host.name, "count": plural(count, "join"), "number": count}
                yield Sign(lines=counter_lines(host, *names), values=values, strength=PROOF)

    return recognise


def _server_joins_refused(evidence: Evidence) -> Iterator[Sign]:
    """The server's own joins go to a port of the client at which nobody listens."""
    client, server = client_of(evidence), server_of(evidence)
    sent, answered = joins_of(server), server.known_count("MPJoinSynAckRx")
    refused = server.counter("TcpAttemptFails") or 0
    if sent > answered and refused and not server.known_count("MPJoinSynAckHMacFailure"):
        marked = "signal" if _announces(client) else "subflow"
        lines = (*counter_lines(server, "MPJoinSynTx", "MPJoinSynAckRx"), f"{server.name}: TcpAttemptFails {refused}")
        who = client if marked == "signal" else server
        values = {
            "joins": plural(sent - answered, "join"),
            "evidence": f"MPJoinSynTx {sent}, MPJoinSynAckRx {answered}",
            "cure": "use signal at the server only"
            if marked == "signal"
            else "use subflow at the client only, and signal alone at the server",
        }
        yield Sign(lines=lines, values=values, where=who.name, strength=PROOF)


def _server_joins_unanswered(evidence: Evidence) -> Iterator[Sign]:
    client, server = client_of(evidence), server_of(evidence)
    sent, answered = joins_of(server), server.known_count("MPJoinSynAckRx")
    if sent > answered and not server.counter("TcpAttemptFails") and not client.known_count("MPJoinSynRx"):
        lines = (*counter_lines(server, "MPJoinSynTx", "MPJoinSynAckRx"), *counter_lines(client, "MPJoinSynRx"))
        yield Sign(lines=lines, values={"joins": plural(sent - answered, "join"), "client": client.name})


def _not_accepted_yet(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        count = host.known_count("MPJoinSynTxCreatSkErr")
        if count:
            marked = host.opens is False and _opens(host)
            yield Sign(
                lines=counter_lines(host, "MPJoinSynTxCreatSkErr"),
                values={
                    "side": "server" if host.opens is False else host.name,
                    "joins": plural(count, "join"),
                    "count": count,
                    "cure": "use signal at the server only"
                    if marked or host.opens is False
                    else "let the application accept its connections at once",
                },
                strength=PROOF,
            )


def _join_refused(evidence: Evidence) -> Iterator[Sign]:
    """The server's kernel resets joins at a port at which no socket listens any more."""
    client, server = client_of(evidence), server_of(evidence)
    sent, refused = joins_of(client), client.counter("TcpAttemptFails") or 0
    resets = server.counter("TcpOutRsts") or 0
    is_answered = client.known_count("MPJoinSynAckRx") or server.known_count("MPJoinSynRx")
    if sent and refused and resets and not is_answered and not client.known_count("MPRstTx"):
        if server.counter("TcpEstabResets") or _reset_answers(server):
            return
        lines = (
            *counter_lines(client, "MPJoinSynTx"),
            f"{client.name}: TcpAttemptFails {refused}",
            *counter_lines(server, "MPJoinSynRx"),
            f"{server.name}: TcpOutRsts {resets}",
        )
        yield Sign(lines=lines, values={"joins": plural(min(sent, refused), "join"), "server": server.name})


def _join_unanswered(evidence: Evidence) -> Iterator[Sign]:
    """With the client's counters alone: its joins got neither an answer nor a reset."""
    client, server = client_of(evidence), evidence.server
    sent = joins_of(client)
    if not sent or client.known_count("MPJoinSynAckRx") or (server is not None and server.counters is not None):
        return
    others = ("MPJoinSynTxConnectErr", "MPJoinSynTxBindErr", "MPRstTx", "MPRstRx", "MPFastcloseRx")
    if not client.counter("TcpActiveOpens"):
        return  # nstat leaves zeros out: without another counter of TCP, nobody looked at these.
    if client.counter("TcpAttemptFails") or any(client.known_count(name) for name in others):
        return
    lines = counter_lines(client, "MPJoinSynTx", "MPJoinSynAckRx")
    yield Sign(lines=lines, values={"joins": plural(sent, "join"), "client": client.name})


def _reset_after_join(evidence: Evidence) -> Iterator[Sign]:
    """A subflow was established, and one end reset it because the segments that followed had no option."""
    client, server = client_of(evidence), server_of(evidence)
    others = ("MPFastcloseTx", "MPFastcloseRx", "RmAddr", "RmAddrTx", "RmSubflow", "MPFailTx", "MPFailRx")
    if any(host.known_count(name) for host in (client, server) for name in others):
        return
    for host, other in ((client, server), (server, client)):
        resets = min(host.known_count("MPRstTx"), other.known_count("MPRstRx"))
        is_open = all(end.counter("TcpEstabResets") for end in (client, server))
        if resets and is_open and server.known_count("MPJoinAckRx") and not _carried_by_joined(evidence):
            boxes = tuple(middlebox_lines(evidence, "dss"))
            lines = (
                *counter_lines(server, "MPJoinAckRx"),
                *counter_lines(host, "MPRstTx"),
                *counter_lines(other, "MPRstRx"),
                *boxes,
            )
            values = {"host": host.name, "count": plural(resets, "joined subflow")}
            yield Sign(lines=lines, values=values, strength=PROOF if boxes else STRONG)


def _carried_by_joined(evidence: Evidence) -> bool:
    """Return whether more than one subflow of the sender had payload acknowledged, as far as samples are known."""
    acked = [subflow for subflow in evidence.senders() if (subflow.last("bytes_acked") or 0) > _STUCK_SEGMENTS * 1500]
    return len(acked) > 1


def _join_syn_lost(evidence: Evidence) -> Iterator[Sign]:
    client, server = client_of(evidence), server_of(evidence)
    sent, arrived = joins_of(client), server.count("MPJoinSynRx")
    if sent and arrived == 0 and not client.known_count("MPJoinSynAckRx") and not _lets_tcp_through(evidence):
        boxes = tuple(middlebox_lines(evidence, "mp_join", verbs=("drop",)))
        lines = (*counter_lines(client, "MPJoinSynTx", "MPJoinSynAckRx"), *counter_lines(server, "MPJoinSynRx"), *boxes)
        yield Sign(lines=lines, values={"joins": plural(sent, "join")}, strength=PROOF if boxes else STRONG)


def _lets_tcp_through(evidence: Evidence) -> bool:
    """Return whether SYNs of joins reached the server without their option, as ordinary connections.

    The client then resets them, since the answer has no MP_JOIN.
    """
    client, server = client_of(evidence), server_of(evidence)
    return bool(client.known_count("MPRstTx") or (server.counter("TcpEstabResets") or 0) or _reset_answers(server))


def _reset_answers(server: Host) -> bool:
    return bool(server.counter("TcpAttemptFails"))


def _join_syn_stripped(evidence: Evidence) -> Iterator[Sign]:
    client, server = client_of(evidence), server_of(evidence)
    sent, arrived = joins_of(client), server.count("MPJoinSynRx")
    if sent and arrived == 0 and not client.known_count("MPJoinSynAckRx") and _lets_tcp_through(evidence):
        boxes = tuple(middlebox_lines(evidence, "mp_join"))
        lines = (*counter_lines(client, "MPJoinSynTx", "MPRstTx"), *counter_lines(server, "MPJoinSynRx"), *boxes)
        yield Sign(lines=lines, values={"joins": plural(sent, "join")}, strength=PROOF if boxes else STRONG)


def _join_answer_lost(evidence: Evidence) -> Iterator[Sign]:
    client, server = client_of(evidence), server_of(evidence)
    arrived, answered = server.known_count("MPJoinSynRx"), client.known_count("MPJoinSynAckRx")
    faults = ("MPJoinNoTokenFound", "MPJoinRejected", "MismatchPortSynRx")
    if joins_of(client) and arrived and not answered and not any(server.known_count(name) for name in faults):
        if client.known_count("MPJoinSynAckHMacFailure"):
            return
        lines = (
            *counter_lines(server, "MPJoinSynRx"),
            *counter_lines(client, "MPJoinSynAckRx"),
            *middlebox_lines(evidence, "mp_join"),
        )
        yield Sign(lines=lines, values={"joins": plural(arrived, "join")}, strength=PROOF)


def _join_ack_lost(evidence: Evidence) -> Iterator[Sign]:
    client, server = client_of(evidence), server_of(evidence)
    answered, completed = client.known_count("MPJoinSynAckRx"), server.count("MPJoinAckRx")
    faults = ("MPJoinAckHMacFailure", "MPJoinRejected", "MismatchPortAckRx")
    if answered and completed == 0 and not any(server.known_count(name) for name in faults):
        lines = (*counter_lines(client, "MPJoinSynAckRx"), *counter_lines(server, "MPJoinAckRx"))
        yield Sign(lines=lines, values={"joins": plural(answered, "join")})


def _marked_backup(evidence: Evidence) -> Iterator[Sign]:
    """A backup carries nothing while others work. It is a reason only where nobody said that it is wanted.

    Where the samples do not have the flag, the endpoint's counts.
    """
    marked = {
        endpoint.address for host in evidence.hosts for endpoint in host.endpoints or () if "backup" in endpoint.flags
    }
    for subflow in evidence.senders():
        path = evidence.path(subflow.path)
        carried, others = (
            subflow.last("bytes_acked") or 0,
            [other for other in evidence.senders() if other is not subflow and not other.is_backup],
        )
        is_marked = not marked.isdisjoint(map(address_of, (subflow.local, subflow.remote)))
        is_backup = is_marked if subflow.is_backup is None else subflow.is_backup
        if is_backup and others and carried < 1000 and (path is None or not path.is_backup):
            yield Sign(
                lines=(f"{subflow.host}: {subflow.name} is a backup, {int(carried)} B acknowledged",),
                values={"path": subflow.name},
                where=subflow.name,
                strength=STRONG if subflow.is_backup is None else PROOF,
            )


def _initial_address_refused(evidence: Evidence) -> Iterator[Sign]:
    server = server_of(evidence)
    refuses = (server.sysctls or {}).get("net.mptcp.allow_join_initial_addr_port") == "0"
    if refuses and lacks_subflows(evidence) and not _announces(server):
        lines = (f"{server.name}: net.mptcp.allow_join_initial_addr_port = 0", *counter_lines(server, "AddAddrTx"))
        yield Sign(lines=lines, values={"server": server.name}, strength=PROOF)


def _program_missing(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        # In a run, the path manager in user space is one of the lab's, which has its program.
        by_program = leaves_to_program(host) and (evidence.expected is None or host.path_manager != "userspace")
        if by_program and host.opens and lacks_subflows(evidence) and not joins_of(host):
            lines = (f"{host.name}: {name_manager(host)}", *counter_lines(host, "MPJoinSynTx"))
            yield Sign(lines=lines, values={"host": host.name})


def _family(address: str) -> str:
    return "IPv6" if ":" in address else "IPv4"


def _other_family(evidence: Evidence) -> Iterator[Sign]:
    client = client_of(evidence)
    subflows = [subflow for subflow in evidence.subflows or () if subflow.host == client.name]
    if not subflows or not client.endpoints or not lacks_subflows(evidence):
        return
    used = _family(address_of(subflows[0].local))
    endpoints = {_family(endpoint.address) for endpoint in client.endpoints}
    if used not in endpoints:
        others = ", ".join(endpoint.address for endpoint in client.endpoints)
        lines = (f"{client.name}: connection from {subflows[0].local}, endpoints {others}",)
        yield Sign(lines=lines, values={"used": used, "other": endpoints.pop()}, strength=PROOF)


def _single_address(evidence: Evidence) -> Iterator[Sign]:
    addresses = [set(host.addresses) for host in evidence.hosts if host.addresses is not None]
    families = [{_family(address) for address in texts} for texts in addresses]
    expected = evidence.expected.subflows if evidence.expected is not None else None
    seen = subflows_seen(evidence)
    if len(addresses) < 2 or any(len(texts) > len(kinds) for texts, kinds in zip(addresses, families, strict=True)):
        return
    is_alone = seen == 1 and evidence.expected is None and bool(handshakes(evidence)) and not fell_back(evidence)
    if is_alone or (expected is not None and seen is not None and seen < expected):
        lines = tuple(f"{host.name}: {', '.join(host.addresses or ())}" for host in evidence.hosts)
        # Without an expectation, it is not known whether somebody misses a second subflow.
        yield Sign(lines=lines, strength=HINT if is_alone else PROOF)


def _too_short(evidence: Evidence) -> Iterator[Sign]:
    """The connection was over before the client could send a join: that takes a round trip after the handshake.

    A single look at the sockets does not show how long a connection lasts.
    """
    client = client_of(evidence)
    subflows = [subflow for subflow in evidence.senders() if is_established(subflow)]
    rtts = [rtt for subflow in subflows if (rtt := subflow.last("min_rtt_s")) is not None]
    if not subflows or not rtts or joins_of(client) or not handshakes(evidence) or not _opens(client):
        return
    if evidence.expected is None and any(len(subflow.samples) < 2 for subflow in subflows):
        return
    longest = max(subflow.lifetime_s for subflow in subflows)
    if (subflows_possible(evidence) or 0) > 1 and longest < _FEW_ROUND_TRIPS * min(rtts):
        lines = (f"longest connection {1e3 * longest:.3g} ms, round trip {1e3 * min(rtts):.3g} ms",)
        yield Sign(lines=lines, strength=HINT)


def _blackhole_of_large(evidence: Evidence) -> Iterator[Sign]:
    """Small packets pass and large ones do not: a subflow is established, and nothing that it sends is acknowledged."""
    for subflow in evidence.senders():
        acked, sent = subflow.last("bytes_acked"), subflow.last("bytes_sent")
        mss, again = subflow.last("mss"), subflow.last("bytes_retrans")
        path = evidence.path(subflow.path)
        if acked is None or sent is None or mss is None or again is None or not is_established(subflow):
            continue
        if path is not None and path.down:
            continue
        stuck = acked < mss and sent >= 2 * mss and again >= mss and subflow.lifetime_s > 1
        others = any((other.last("bytes_acked") or 0) > 100 * mss for other in evidence.senders())
        if stuck and others:
            lines = (f"{subflow.name}: {int(sent)} B sent, {int(acked)} B acknowledged, segments of {int(mss)} B",)
            yield Sign(lines=lines, values={"path": subflow.name}, where=subflow.name)


def _reset_subflow(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        for event in host.events or ():
            if event.kind == "sf_closed" and (event.reset_reason or event.error):
                why = _RESETS.get(event.reset_reason or 0, "unknown") if event.reset_reason else f"errno {event.error}"
                ends = f"{event.local} to {event.remote}"
                yield Sign(
                    lines=(f"{host.name}: sf_closed {ends}, {why}",),
                    values={"ends": ends, "why": why},
                    where=ends,
                    strength=PROOF,
                )


#: Makes a reason of this module's kind.
_reason = partial(Reason, kind="no subflow")

REASONS = (
    _reason(
        key="no-endpoint",
        title="No endpoint asks for a second subflow",
        needs=("endpoints", "client counters", "server counters"),
        recognise=_no_endpoint,
        sentence="{client} has no endpoint with the flag subflow or fullmesh, and the server announces no address",
        cure="`ip mptcp endpoint add ADDRESS dev DEVICE subflow` at the client",
        confirm="`ip mptcp endpoint` at both hosts",
        explanation="The kernel's path manager uses only addresses that are endpoints. Several interfaces alone change "
        "nothing (mptcp_pm_create_subflow_or_signal_addr() in net/mptcp/pm_kernel.c).",
        page=_ENDPOINTS,
        after=("fullmesh-alone", "not-announced", "path-manager-without-program"),
    ),
    _reason(
        key="endpoint-of-first-subflow",
        title="The only endpoint is the address that the first subflow uses",
        needs=("endpoints", "client counters", "subflows"),
        recognise=_endpoint_of_first,
        sentence="the only endpoint of {client}, {address}, is the address that the first subflow uses",
        cure="add the client's other address as an endpoint with the flag subflow",
        confirm="`ip mptcp endpoint` at the client, beside the local addresses of `ss -tiM`",
        explanation="An endpoint that the first subflow uses counts as used (mptcp_mpc_endpoint_setup()).",
        page=_ENDPOINTS,
        after=("fullmesh-alone", "initial-address-refused"),
    ),
    _reason(
        key="fullmesh-alone",
        title="An endpoint with fullmesh alone",
        needs=("endpoints", "client counters", "server counters"),
        recognise=_fullmesh_alone,
        sentence="the endpoints of {client} have fullmesh without subflow, which opens subflows only to announced "
        "addresses, and the server announces none",
        cure="use the flags subflow and fullmesh together, or signal at the server",
        confirm="`ip mptcp endpoint` at both hosts",
        explanation="fullmesh says to which addresses an endpoint goes. That it opens subflows by itself is what "
        "subflow says.",
        page=_ENDPOINTS,
    ),
    _reason(
        key="limit-of-subflows",
        title="The limit of subflows is reached",
        needs=("limits", "endpoints", "client counters", "server counters"),
        recognise=_limit_of_subflows,
        sentence="{host} may open {limit} (ip mptcp limits), which are in use",
        cure="`ip mptcp limits set subflow N` at both hosts",
        confirm="`ip mptcp limits`, and subflows beside subflows_max in `ss -Mi`",
        explanation="The limit counts subflows beside the first one. It holds at the side that opens them and at the "
        "side that accepts them, and is 2 by default.",
        page=_PAGE,
    ),
    _reason(
        key="join-rejected",
        title="The other side refuses joins",
        needs=("counters",),
        recognise=_join_rejected,
        sentence="{host} refused {count} (MPJoinRejected): {why}",
        cure="`ip mptcp limits set subflow N` there",
        confirm="`ip mptcp limits` there",
        explanation="The limit holds for subflows that a host accepts, too (mptcp_pm_allow_new_subflow() in "
        'net/mptcp/pm.c). Such a join is reset with the reason "administratively prohibited".',
        page=_PAGE,
    ),
    _reason(
        key="announcement-not-accepted",
        title="The client accepts no announced address",
        needs=("limits", "client counters"),
        recognise=_announcement_not_accepted,
        sentence="{client} got {count} and accepts none (limits add_addr_accepted 0)",
        cure="`ip mptcp limits set add_addr_accepted N` at the client",
        confirm="`ip mptcp limits` at the client",
        explanation="Zero is the kernel's default. The announcement is echoed all the same "
        "(mptcp_pm_add_addr_received() in net/mptcp/pm.c).",
        page=_PAGE,
    ),
    _reason(
        key="not-announced",
        title="The server does not announce its other address",
        needs=("endpoints", "server counters", "client counters"),
        recognise=_not_announced,
        sentence="{client} has a single address, and {server} does not announce its others",
        cure="`ip mptcp endpoint add ADDRESS dev DEVICE signal` at the server",
        confirm="AddAddrTx at the server",
        explanation="A client knows only the address that it connected to. Others reach it by ADD_ADDR, which needs an "
        "endpoint with the flag signal.",
        page=_ENDPOINTS,
    ),
    _reason(
        key="announcement-lost",
        title="The announcement does not arrive",
        needs=("client counters", "server counters"),
        recognise=_announcement_lost,
        sentence="{host} announced an address {count} times, and nothing valid arrived: the option is removed, changed "
        "or lost on the way",
        cure="let TCP option 30 pass on that path",
        confirm="captures of ADD_ADDR at both ends",
        explanation="An announcement without its echo is repeated three times (net.mptcp.add_addr_timeout). "
        "An announcement with a wrong HMAC is ignored.",
        page=_LINKS,
    ),
    _reason(
        key="announcement-without-room",
        title="The announcement does not fit",
        needs=("counters",),
        recognise=_anywhere("AddAddrTxDrop"),
        sentence="{host} could not send ADD_ADDR {number} times: it does not fit beside the other TCP options",
        cure="announce the address without a port, or switch TCP timestamps off",
        confirm="AddAddrTxDrop no longer grows",
        explanation="An IPv6 address with a port takes 30 bytes of the 40 that options have "
        "(mptcp_pm_add_addr_signal() in net/mptcp/pm.c). Linux 7.2 leaves the timestamps out for it, unless "
        "net.mptcp.add_addr_v6_port_drop_ts is 0.",
        page=_PAGE,
    ),
    _reason(
        key="announcement-ignored",
        title="The path manager ignores an announcement",
        needs=("counters",),
        recognise=_anywhere("AddAddrDrop", of_shortfall=True),
        sentence="the path manager of {host} ignored {number} announcements, because it was busy or has no program",
        cure="announce fewer addresses at once, or start mptcpd where net.mptcp.pm_type is 1",
        confirm="AddAddrDrop grows with each connection",
        explanation="The kernel works on one announcement of a connection at a time.",
        page=_PAGE,
    ),
    _reason(
        key="server-join-refused",
        title="The client refuses the server's joins",
        needs=("client counters", "server counters"),
        recognise=_server_joins_refused,
        sentence="second subflow refused by client: {joins} from the server ({evidence})",
        cure="{cure}",
        confirm="`ip mptcp endpoint` at both hosts: signal at the client makes the server connect to it",
        explanation="The server connects to the port that the client's own connection comes from, where nobody "
        "listens. The answer is a reset (RFC 8684 leaves subflows to the client for that reason).",
        page=_ENDPOINTS,
    ),
    _reason(
        key="server-join-unanswered",
        title="The server's joins get no answer",
        needs=("client counters", "server counters"),
        recognise=_server_joins_unanswered,
        sentence="{joins} of the server got no answer: {client} cannot be reached from outside (NAT, firewall)",
        cure="let the client open the subflows: subflow there, signal at the server only",
        confirm="a capture at the client has no SYN with MP_JOIN",
        explanation="A client behind NAT announces an address that nobody can reach.",
        page=_ENDPOINTS,
    ),
    _reason(
        key="join-before-accept",
        title="A join before the application accepted the connection",
        needs=("counters",),
        recognise=_not_accepted_yet,
        sentence="second subflow refused by {side}: {joins} from it had no socket (MPJoinSynTxCreatSkErr {count})",
        cure="{cure}",
        confirm="MPJoinSynTxCreatSkErr no longer grows with each connection",
        explanation="The server's path manager tries to open subflows itself, because an endpoint there has subflow, "
        "or because the client announced an address. As long as the application has not accepted the connection, a "
        "subflow lacks the socket to belong to (mptcp_subflow_create_socket() in net/mptcp/subflow.c).",
        page=_ENDPOINTS,
    ),
    _reason(
        key="join-not-bound",
        title="The endpoint's address is not on the host",
        needs=("counters",),
        recognise=_anywhere("MPJoinSynTxBindErr"),
        sentence="{count} of {host} could not use the endpoint's address (MPJoinSynTxBindErr): no interface has it, or "
        "not yet",
        cure="give the interface the address, and add the endpoint when duplicate address detection is over; or remove "
        "the endpoint",
        confirm="`ip address` beside `ip mptcp endpoint`",
        explanation="An endpoint stays when its address goes, unless a program removes it. An IPv6 address that is "
        "still tentative gives the same error.",
        page=_PAGE,
        shown_in="session",
    ),
    _reason(
        key="link-local-announced",
        title="A link-local address is announced",
        needs=("counters", "events"),
        recognise=_link_local_announced,
        sentence="{count} of {host} to the announced address {address} could not be sent (MPJoinSynTxConnectErr): a "
        "link-local address needs a device",
        cure="announce global addresses, or give {host} an endpoint with a device and fullmesh (or laminar, in new "
        "kernels)",
        confirm="`ip mptcp monitor` shows the announced address, `nstat` the failed joins",
        explanation="For an announced address, Linux chooses the source by the routing table and binds the join to no "
        "device, unless an endpoint with fullmesh has one.",
        page=_PAGE,
        shown_in="session",
    ),
    _reason(
        key="join-without-route",
        title="No route for the join",
        needs=("counters",),
        recognise=_join_without_route,
        sentence="{count} of {host} could not be sent (MPJoinSynTxConnectErr): no route from that address",
        cure="a rule and a table per address: `ip rule add from ADDRESS table N`, `ip route add default via GATEWAY "
        "dev DEVICE table N`; a program that adds the endpoint has to wait for them",
        confirm="`ip route get SERVER from ADDRESS`",
        explanation="Linux chooses the route by the destination. A second address needs rules of its own, or the SYN "
        "leaves by the first interface, or not at all.",
        page=_PAGE,
        after=("link-local-announced",),
    ),
    _reason(
        key="join-refused",
        title="Nobody listens for the join any more",
        needs=("client counters", "server counters"),
        recognise=_join_refused,
        sentence="{server} refused {joins} of the client with a reset: no socket listens at that port any more",
        cure="let the server's program go on listening after it has accepted a connection; or give an endpoint of the "
        "server a port of its own: `ip mptcp endpoint add ADDRESS dev DEVICE port PORT signal`",
        confirm="`ss -tlM` at the server while the connection runs lists no socket with this port",
        explanation="A join is accepted by the socket that listens. Programs for a single connection, such as "
        "`nc -l` and many media servers, close theirs at the first. An endpoint with a port has a socket of the "
        "kernel's that listens there.",
        page=_PAGE,
        shown_in="session",
    ),
    _reason(
        key="join-unanswered",
        title="Joins get no answer",
        needs=("client counters",),
        recognise=_join_unanswered,
        sentence="{joins} of {client} got neither an answer nor a reset: on that line, MPTCP's option is dropped, or "
        "nothing leads to the server",
        cure="if a ping from that address works, tell the operator of the line that it drops TCP option 30; until "
        "then, a tunnel over that line hides the option",
        confirm="`ping -I DEVICE SERVER`; MPJoinSynRx in `nstat -az` at the server does not grow",
        explanation="The client repeats the SYN after 1, 2, 3, ... s. Without the server's counters it is not known "
        "whether the SYN or its answer is lost.",
        page=_LINKS,
        scenario="join-syn-lost",
        shown_in="client",
    ),
    _reason(
        key="reset-after-join",
        title="A subflow is reset after its handshake",
        needs=("client counters", "server counters"),
        recognise=_reset_after_join,
        sentence="{count} of {host} passed the handshake and was then reset: the segments that followed had no option "
        "of MPTCP any more",
        cure="find the device on that path that removes the options later, such as a proxy or an accelerator; leave "
        "the path out until then",
        confirm="a capture at both ends of that path: segments with DSS leave one end, and arrive without it",
        explanation="RFC 8684, section 3.7, asks for a reset of such a subflow while others work. Kernels "
        "before 2025 may not reset it, and the connection then stalls at its end.",
        page=_LINKS,
    ),
    _reason(
        key="join-syn-lost",
        title="SYNs with MP_JOIN do not arrive",
        needs=("client counters", "server counters"),
        recognise=_join_syn_lost,
        sentence="{joins} of the client did not arrive: dropped on the way (firewall, NAT, a route that leads nowhere)",
        cure="let TCP option 30 pass there, and check the route from the second address",
        confirm="`ping -I DEVICE SERVER`, and a capture of the second path at both ends",
        explanation="The client repeats the SYN after 1, 2, 3, ... s, and nothing comes back. If even a ping from that "
        "address gets no answer, it is the route and not the option.",
        page=_LINKS,
        after=("join-refused",),
    ),
    _reason(
        key="join-option-stripped",
        title="MP_JOIN is removed from the SYN",
        needs=("client counters", "server counters"),
        recognise=_join_syn_stripped,
        sentence="{joins} of the client reached the server as plain TCP: MP_JOIN was removed on the way",
        cure="let TCP option 30 pass on the second path",
        confirm="captures of the SYN at both ends of that path",
        explanation="The answer has no MP_JOIN, and the client resets it: unlike the first subflow, a join cannot fall "
        "back.",
        page=_LINKS,
        after=("server-join-refused", "join-refused"),
    ),
    _reason(
        key="join-answer-lost",
        title="The answer to a join does not arrive",
        needs=("client counters", "server counters"),
        recognise=_join_answer_lost,
        sentence="the server got {joins}, and no answer with MP_JOIN reached the client",
        cure="let TCP option 30 pass in the server's direction, and check the route back",
        confirm="captures of the SYN/ACK at both ends of that path",
        explanation="The way back may be another one: a router that sends the answer by the first path meets a "
        "firewall that has not seen the SYN.",
        page=_LINKS,
        after=("payload-changed", "data-without-mapping"),
    ),
    _reason(
        key="join-not-completed",
        title="The third packet of a join does not arrive",
        needs=("client counters", "server counters"),
        recognise=_join_ack_lost,
        sentence="{joins} got an answer, and the third packet with the HMAC did not reach the server",
        cure="let TCP option 30 pass in all packets",
        confirm="captures of the third packet at both ends of that path",
        explanation="The server waits for it in the state SYN_RECV. The client repeats it until it is acknowledged.",
        page=_LINKS,
        shown_in="session",
        after=("payload-changed", "data-without-mapping"),
    ),
    _reason(
        key="token-unknown",
        title="The server knows no such connection",
        needs=("counters",),
        recognise=_anywhere("MPJoinNoTokenFound", of_shortfall=True),
        sentence="{count} at {host} named a connection that it does not have (MPJoinNoTokenFound)",
        cure="behind a load balancer, send all subflows to the same server (announce its own address with signal); "
        "else find what changes the option",
        confirm="the token in the SYN's MP_JOIN beside `ss -Mi` at the server",
        explanation="A load balancer that chooses the server by addresses and ports sends a second subflow elsewhere. "
        "The same counter grows if the connection was closed in the meantime, or fell back at the server only.",
        page=_LINKS,
    ),
    _reason(
        key="wrong-hmac",
        title="A join is not authentic",
        needs=("counters",),
        recognise=_anywhere("MPJoinSynAckHMacFailure", "MPJoinAckHMacFailure"),
        sentence="{count} at {host} had a wrong HMAC: the option was changed on the way, or by an attacker",
        cure="find what changes MP_JOIN on that path",
        confirm="the option in captures of both ends",
        explanation="The HMAC proves that a subflow comes from the same host as the connection (RFC 8684, section "
        "3.2).",
        page=_LINKS,
    ),
    _reason(
        key="port-not-announced",
        title="A join at a port that was not announced",
        needs=("counters",),
        recognise=_anywhere("MismatchPortSynRx", "MismatchPortAckRx"),
        sentence="{host} reset {count} to a port that it had not announced",
        cure="announce the address with that port, or let the middlebox keep ports",
        confirm="`ip mptcp endpoint` at the server",
        explanation="A NAT or load balancer in front of the server changes the port, so the join reaches another "
        "listening socket.",
        page=_PAGE,
        shown_in="session",
    ),
    _reason(
        key="initial-address-refused",
        title="The server refuses joins to its first address",
        needs=("sysctls", "endpoints", "client counters", "server counters"),
        recognise=_initial_address_refused,
        sentence="{server} refuses joins to the address connected to (net.mptcp.allow_join_initial_addr_port = 0) and "
        "announces no other",
        cure="announce an address at the server (signal), or set the sysctl to 1",
        confirm="the C flag in MP_CAPABLE of a capture",
        explanation="Servers behind a load balancer do that, since a second subflow to the same address would reach "
        "another server.",
        page=_PAGE,
    ),
    _reason(
        key="path-manager-without-program",
        title="A path manager in user space without its program",
        needs=("sysctls", "client counters"),
        recognise=_program_missing,
        sentence="{host} leaves paths to a program (net.mptcp.pm_type = 1), and none opened a subflow",
        cure="start mptcpd, or set net.mptcp.pm_type = 0",
        confirm="`systemctl status mptcp`",
        explanation="With pm_type 1 the kernel ignores endpoints, and waits for orders by netlink.",
        page=_PAGE,
    ),
    _reason(
        key="other-family",
        title="The endpoints are of the other IP version",
        needs=("endpoints", "subflows", "client counters"),
        recognise=_other_family,
        sentence="the connection is {used}, and the endpoints are {other} only",
        cure="add endpoints with addresses of the same version; IPv6 sockets with IPv6 destinations need IPv6 "
        "endpoints",
        confirm="`ss -tn` beside `ip mptcp endpoint`",
        explanation="Linux does not open a subflow over IPv4 from a connection over IPv6, except to announced "
        "addresses (mptcp_pm_addr_families_match()).",
        page=_PAGE,
        shown_in="session",
        after=("no-endpoint",),
    ),
    _reason(
        key="single-address",
        title="Each host has a single address",
        needs=("subflows",),
        recognise=_single_address,
        sentence="each host has a single address, so there is only one pair of addresses",
        cure="add an interface or address at the client, or several subflows per pair by a path manager",
        confirm="`ip address` at both hosts",
        explanation="The kernel opens no second subflow between the same two addresses and ports.",
        page="path-management.md#several-subflows-between-two-addresses",
        shown_in="session",
    ),
    _reason(
        key="too-short",
        title="The connection is over before the second subflow",
        needs=("client counters", "subflows", "endpoints"),
        recognise=_too_short,
        sentence="the connections ended within a few round trips, before a second subflow could be opened",
        cure="nothing is wrong: reuse connections if the second path matters",
        confirm="a longer transfer has more subflows",
        explanation="A join can be sent once the server has acknowledged data of the connection, and takes a round "
        "trip more.",
        page="workloads.md#short-flows",
    ),
    _reason(
        key="large-packets-lost",
        title="Large packets do not pass",
        needs=("subflows",),
        recognise=_blackhole_of_large,
        sentence="the subflow on {path} is established, and none of its full segments was acknowledged: packets of "
        "that size do not pass (MTU, with ICMP filtered)",
        cure="lower the MTU of that interface or route, or clamp the MSS; net.ipv4.tcp_mtu_probing = 1 finds it",
        confirm="`ping -M do -s 1472 -I DEVICE SERVER`",
        explanation="SYNs are small and pass. The router that cannot forward full segments must say so by ICMP, which "
        "firewalls like to drop.",
        page="links.md#mtu",
        shown_in="session",
    ),
    _reason(
        key="marked-as-backup",
        title="The subflow is a backup",
        needs=("subflows",),
        recognise=_marked_backup,
        sentence="the subflow on {path} is a backup, which carries data only while no other works",
        cure="remove the flag backup from the endpoint at either side, if it should carry data",
        confirm="`ip mptcp endpoint`, and backup in `ss -tiM`",
        explanation="Either side can mark a subflow, by its endpoint or later by MP_PRIO.",
        page="path-management.md#a-backup-with-the-kernels-path-manager",
    ),
    _reason(
        key="subflow-reset",
        title="A subflow was reset",
        needs=("events",),
        recognise=_reset_subflow,
        sentence="the subflow {ends} was closed: {why}",
        cure="see the reason of the reset in docs/reasons.md",
        confirm="the counters MPRstTx and MPRstRx, and a capture of MP_TCPRST",
        explanation="MP_TCPRST carries a reason (RFC 8684, section 3.6), which `ip mptcp monitor` shows with the "
        "errno.",
        page=_PAGE,
        shown_in="session",
    ),
)
