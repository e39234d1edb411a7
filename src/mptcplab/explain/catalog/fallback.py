# SPDX-License-Identifier: MIT
"""Reasons why a connection is plain TCP.

MPTCP falls back by itself wherever a path or a host does not carry its options (RFC 8684, section 3.7). Which of the
two sides counted what tells the packet that lost its option.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from mptcplab.explain.catalog.common import (
    client_of,
    counter_lines,
    fell_back,
    middlebox_lines,
    number,
    plural,
    server_of,
    wants_mptcp,
)
from mptcplab.explain.evidence import Evidence, Host
from mptcplab.explain.reason import HINT, PROOF, STRONG, Reason, Sign

_LINKS = "links.md#middleboxes"
#: Paths with a shorter round trip say nothing about where an answer came from; else a proxy answers within this part.
_SHORT_S, _NEAR = 0.002, 0.5
#: Counters of mappings that are not about the data which they came with.
_INCONSISTENT = ("DSSNotMatching", "DSSNoMatchTCP", "DSSCorruptionFallback", "DSSCorruptionReset")
_OPTION_30 = "let TCP option 30 pass there, or use another path for the first subflow"


def _server_without_mptcp(evidence: Evidence) -> Iterator[Sign]:
    client, server = client_of(evidence), server_of(evidence)
    count = client.known_count("MPCapableFallbackSYNACK")
    speaks = server.protocol == "mptcp"
    if count and not server.known_count("MPCapableSYNRX") and (server.protocol == "tcp" or not speaks):
        lines = counter_lines(client, "MPCapableFallbackSYNACK") + counter_lines(server, "MPCapableSYNRX")
        proof = PROOF if server.protocol == "tcp" else STRONG
        yield Sign(lines=lines, values={"count": plural(count, "connection"), "server": server.name}, strength=proof)


def _syn_stripped(evidence: Evidence) -> Iterator[Sign]:
    client, server = client_of(evidence), server_of(evidence)
    count = client.known_count("MPCapableFallbackSYNACK")
    if count and not server.known_count("MPCapableSYNRX") and server.protocol == "mptcp":
        lines = counter_lines(client, "MPCapableFallbackSYNACK") + counter_lines(server, "MPCapableSYNRX")
        boxes = tuple(middlebox_lines(evidence, "mp_capable"))
        yield Sign(lines=(*lines, *boxes), values={"count": plural(count, "SYN")}, strength=PROOF if boxes else STRONG)


def _synack_stripped(evidence: Evidence) -> Iterator[Sign]:
    client, server = client_of(evidence), server_of(evidence)
    count = min(client.known_count("MPCapableFallbackSYNACK"), server.known_count("MPCapableSYNRX"))
    if count:
        lines = counter_lines(client, "MPCapableFallbackSYNACK") + counter_lines(
            server, "MPCapableSYNRX", "MPCapableACKRX"
        )
        values = {"count": plural(count, "SYN/ACK")}
        yield Sign(lines=(*lines, *middlebox_lines(evidence, "mp_capable")), values=values, strength=PROOF)


def _count_plain_clients(server: Host) -> int:
    """Return how many connections in MPCapableFallbackACK were of clients without MPTCP, which older kernels count.

    A third packet can only have lost the option if the SYN had it, and the handshake was not completed with it.
    """
    asked, completed = server.count("MPCapableSYNRX"), server.known_count("MPCapableACKRX")
    fallbacks = server.known_count("MPCapableFallbackACK")
    return 0 if asked is None else max(0, fallbacks - max(0, asked - completed))


def _plain_clients(evidence: Evidence) -> Iterator[Sign]:
    server = server_of(evidence)
    count = _count_plain_clients(server)
    if count and wants_mptcp(evidence):
        lines = counter_lines(server, "MPCapableFallbackACK", "MPCapableSYNRX", "MPCapableACKRX")
        yield Sign(lines=lines, values={"count": plural(count, "connection"), "server": server.name})


def _ack_stripped(evidence: Evidence) -> Iterator[Sign]:
    client, server = client_of(evidence), server_of(evidence)
    count = server.known_count("MPCapableFallbackACK") - _count_plain_clients(server)
    if count and client.known_count("MPCapableSYNACKRX"):
        lines = counter_lines(client, "MPCapableSYNACKRX") + counter_lines(server, "MPCapableFallbackACK")
        values = {"count": plural(count, "connection")}
        yield Sign(lines=(*lines, *middlebox_lines(evidence, "mp_capable")), values=values, strength=PROOF)


def _first_data_without_option(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        count = host.known_count("MPCapableDataFallback")
        if count:
            lines = (
                *counter_lines(host, "MPCapableDataFallback"),
                *middlebox_lines(evidence, "dss", "add_addr", "mp_capable"),
            )
            yield Sign(lines=lines, values={"host": host.name, "count": plural(count, "connection")}, strength=PROOF)


def _data_without_mapping(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        count = host.known_count("DssFallback")
        if count and not any(host.known_count(name) for name in ("DataCsumErr", *_INCONSISTENT)):
            values = {"host": host.name, "count": plural(count, "connection")}
            yield Sign(
                lines=(*counter_lines(host, "DssFallback"), *middlebox_lines(evidence, "dss")),
                values=values,
                strength=PROOF,
            )


def _payload_changed(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        count = host.known_count("DataCsumErr")
        if count:
            boxes = tuple(middlebox_lines(evidence, verbs=("damage",)))
            lines = counter_lines(host, "DataCsumErr", "MPFailTx", "InfiniteMapRx", "DssFallback")
            values = {"host": host.name, "count": plural(count, "checksum")}
            yield Sign(lines=(*lines, *boxes), values=values, strength=PROOF)


def _told_of_changed_payload(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        count = host.known_count("MPFailRx")
        if count:
            yield Sign(
                lines=counter_lines(host, "MPFailRx", "InfiniteMapTx"),
                values={"host": host.name, "count": f"{count} MP_FAIL"},
                strength=PROOF,
            )


def _data_inserted(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        count = sum(host.known_count(name) for name in _INCONSISTENT)
        if count:
            yield Sign(
                lines=counter_lines(host, *_INCONSISTENT),
                values={"host": host.name, "count": plural(count, "mapping")},
                strength=PROOF,
            )


def _syns_dropped(evidence: Evidence) -> Iterator[Sign]:
    client = client_of(evidence)
    count = client.known_count("MPCapableSYNTXDrop")
    # On a dead path, SYNs without the option get no answer either: then the kernel does not remember a black hole.
    remembers = (client.sysctls or {}).get("net.mptcp.blackhole_timeout") != "0"
    is_dead = any(path.down for path in evidence.paths) or (remembers and client.count("Blackhole") == 0)
    if count and not is_dead:
        lines = counter_lines(client, "MPCapableSYNTXDrop", "Blackhole")
        boxes = tuple(middlebox_lines(evidence, "mp_capable", verbs=("drop",)))
        values = {"count": plural(count, "connection")}
        yield Sign(lines=(*lines, *boxes), values=values, strength=PROOF, cost=float(count))


def _answer_without_option(evidence: Evidence) -> Iterator[Sign]:
    """The evidence is from the client alone, whose counters do not tell who left the option out."""
    client = client_of(evidence)
    count = client.known_count("MPCapableFallbackSYNACK")
    if count and (evidence.server is None or evidence.server.counters is None):
        lines = counter_lines(client, "MPCapableFallbackSYNACK")
        values = {"count": plural(count, "connection"), "client": client.name}
        yield Sign(lines=lines, values=values, strength=STRONG)


def _blackhole_remembered(evidence: Evidence) -> Iterator[Sign]:
    client = client_of(evidence)
    count = client.known_count("MPCapableSYNTXDisabled")
    if count:
        lines = counter_lines(client, "MPCapableSYNTXDisabled", "Blackhole")
        values = {"count": plural(count, "connection")}
        yield Sign(lines=lines, values=values, strength=PROOF, cost=float(count))


def _client_counter(name: str) -> Callable[[Evidence], Iterator[Sign]]:
    """Return a function that recognises a counter of the client that has only one cause."""

    def recognise(evidence: Evidence) -> Iterator[Sign]:
        client = client_of(evidence)
        count = client.known_count(name)
        if count:
            yield Sign(
                lines=counter_lines(client, name),
                values={"count": plural(count, "connection"), "client": client.name},
                strength=PROOF,
            )

    return recognise


def _no_token(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        count = host.known_count("MPFallbackTokenInit")
        if count:
            values = {"host": host.name, "count": plural(count, "connection")}
            yield Sign(lines=counter_lines(host, "MPFallbackTokenInit"), values=values, strength=PROOF)


def _too_late_to_fall_back(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        count = host.known_count("FallbackFailed")
        if count:
            values = {"host": host.name, "count": plural(count, "subflow")}
            yield Sign(lines=counter_lines(host, "FallbackFailed", "MPRstTx"), values=values, strength=PROOF)


def _client_asks_for_tcp(evidence: Evidence) -> Iterator[Sign]:
    client, server = client_of(evidence), server_of(evidence)
    opened = client.counter("TcpActiveOpens") or 0
    if not opened or client.known_count("MPCapableSYNTX") or client.known_count("MPCapableSYNTXDisabled"):
        return
    if client.known_count("MD5SigFallback") or client.known_count("MPFallbackTokenInit") or not wants_mptcp(evidence):
        return
    if client.protocol == "tcp" or (client.protocol is None and server.protocol != "tcp"):
        yield Sign(
            lines=(f"{client.name}: TcpActiveOpens {opened}", *counter_lines(client, "MPCapableSYNTX")),
            values={"client": client.name},
            strength=PROOF if client.protocol == "tcp" else STRONG,
        )


def _switched_off(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        if host.sysctls is not None and host.sysctls.get("net.mptcp.enabled") == "0" and host.protocol != "tcp":
            yield Sign(lines=(f"{host.name}: net.mptcp.enabled = 0",), values={"host": host.name}, strength=PROOF)


def _proxy_answers(evidence: Evidence) -> Iterator[Sign]:
    """A handshake that is much shorter than the path was answered by something on the way."""
    client = client_of(evidence)
    if not client.known_count("MPCapableFallbackSYNACK"):
        return
    for subflow in evidence.subflows or ():
        path, rtt = evidence.path(subflow.path), subflow.last("min_rtt_s")
        if subflow.host != client.name or path is None or path.round_trip_s is None or rtt is None:
            continue
        if path.round_trip_s > _SHORT_S and rtt < _NEAR * path.round_trip_s:
            trip = f"shortest round trip {number(1e3 * rtt)} ms, the path takes {number(1e3 * path.round_trip_s)} ms"
            lines = (*counter_lines(client, "MPCapableFallbackSYNACK"), f"{subflow.name}: {trip}")
            yield Sign(lines=lines, where=subflow.name)
            return


def _tls_in_kernel(evidence: Evidence) -> Iterator[Sign]:
    tls = [subflow for subflow in evidence.subflows or () if subflow.ulp == "tls"]
    if tls and wants_mptcp(evidence):
        lines = (f"{tls[0].host}: {tls[0].local} has the upper-layer protocol tls",)
        yield Sign(lines=lines, values={"count": plural(len(tls), "connection")}, strength=PROOF)


def _fast_open(evidence: Evidence) -> Iterator[Sign]:
    client = client_of(evidence)
    opened = client.counter("TcpExtTCPFastOpenActive") or 0
    if opened and fell_back(evidence) and client.known_count("MPCapableFallbackSYNACK"):
        lines = (f"{client.name}: TcpExtTCPFastOpenActive {opened}", *counter_lines(client, "MPCapableFallbackSYNACK"))
        yield Sign(lines=lines, values={"count": plural(opened, "connection")}, strength=HINT)


def _old_version(evidence: Evidence) -> Iterator[Sign]:
    old = [connection for connection in evidence.captured or () if connection.version == 0]
    if old and fell_back(evidence):
        lines = (f"capture: {plural(len(old), 'connection')} with MP_CAPABLE of version 0",)
        yield Sign(lines=lines, values={"count": plural(len(old), "connection")}, strength=STRONG)


#: Makes a reason of this module's kind.
_reason = partial(Reason, kind="fallback")

REASONS = (
    _reason(
        key="client-asks-for-tcp",
        title="The application opens plain TCP connections",
        needs=("client counters", "server counters"),
        recognise=_client_asks_for_tcp,
        sentence="{client} never asked for MPTCP: its application opens TCP sockets",
        cure="create sockets with IPPROTO_MPTCP, or start the program with `mptcpize run`",
        confirm="`nstat -az MPTcpExtMPCapableSYNTX` grows when the application connects",
        explanation="Linux speaks MPTCP only for sockets that the application creates with IPPROTO_MPTCP. Without "
        "them, no SYN has MP_CAPABLE and no counter of MPTCP grows.",
        page="limitations.md#the-kernel-under-test",
    ),
    _reason(
        key="mptcp-switched-off",
        title="MPTCP is switched off",
        needs=("sysctls",),
        recognise=_switched_off,
        sentence="MPTCP is switched off at {host} (net.mptcp.enabled = 0), so no socket can speak it",
        cure="`sysctl -w net.mptcp.enabled=1`",
        confirm="`sysctl net.mptcp.enabled`",
        explanation="`socket(..., IPPROTO_MPTCP)` then fails with ENOPROTOOPT (mptcp_init_sock() in "
        "net/mptcp/protocol.c). Most programs take that as a sign to use TCP.",
        page="scenario.md",
        shown_in="session",
    ),
    _reason(
        key="server-without-mptcp",
        title="The server listens on plain TCP",
        needs=("client counters", "server counters"),
        recognise=_server_without_mptcp,
        sentence="{count} of the client asked for MPTCP, and {server} listens on plain TCP",
        cure="let the application at the server listen with IPPROTO_MPTCP",
        confirm="`ss -tlM` at the server shows whether the listening socket is MPTCP",
        explanation="The SYN has MP_CAPABLE and the SYN/ACK does not, and the server's counters never saw the option: "
        "only listening MPTCP sockets look at it (subflow_check_req() in net/mptcp/subflow.c).",
        page="limitations.md#the-kernel-under-test",
        after=("fallback-proxy", "old-version"),
    ),
    _reason(
        key="clients-without-mptcp",
        title="Clients that speak plain TCP",
        needs=("server counters",),
        recognise=_plain_clients,
        sentence="{count} to {server} came from clients whose SYN has no MP_CAPABLE: they speak plain TCP, and nothing "
        "fell back",
        cure="nothing at the server; for MPTCP, let the clients' applications ask for it (`mptcpize run`, or "
        "IPPROTO_MPTCP)",
        confirm="captures of such connections at the server: the SYN has no TCP option 30",
        explanation="Older kernels count in MPCapableFallbackACK each connection that an MPTCP socket accepts without "
        "the option. So it exceeds the handshakes that began with MP_CAPABLE and were not completed with it.",
        page=_LINKS,
        why_no_scenario="only older kernels count such connections, and not the lab's default, Linux 7.2",
        is_noted=False,
    ),
    _reason(
        key="answer-without-option",
        title="The answer has no MP_CAPABLE, and only the client is known",
        needs=("client counters",),
        recognise=_answer_without_option,
        sentence="{count} of {client} asked for MPTCP, and the answer had no option: the server's application listens "
        "with TCP, the server does not speak version 1 of MPTCP, or the option is removed on the way",
        cure="let the server's application listen with MPTCP, on Linux 5.6 or newer, which speaks version 1 only; try "
        "another server on the same path, such as check.mptcp.dev",
        confirm="MPCapableSYNRX in `nstat -az` at the server: if it grows, the answer lost its option on the way",
        explanation="A server that does not know the option, or knows version 0 only, answers without it. The client "
        "cannot tell that from a middlebox.",
        page="limitations.md#the-kernel-under-test",
        scenario="server-without-mptcp",
        shown_in="client",
    ),
    _reason(
        key="syn-option-stripped",
        title="MP_CAPABLE is removed from the SYN",
        needs=("client counters", "server counters"),
        recognise=_syn_stripped,
        sentence="{count} with MP_CAPABLE left the client, and none with it reached the server: it was removed on the "
        "way",
        cure=_OPTION_30,
        confirm="captures of the SYN at both ends, or `tracebox`",
        explanation="A middlebox overwrote the option of the SYN, or a proxy opened a connection of its own. The "
        "server gets an ordinary SYN and answers it so.",
        page=_LINKS,
        after=("fallback-proxy", "old-version"),
    ),
    _reason(
        key="synack-option-stripped",
        title="MP_CAPABLE is removed from the SYN/ACK",
        needs=("client counters", "server counters"),
        recognise=_synack_stripped,
        sentence="the server answered with MP_CAPABLE, and {count} reached the client without it",
        cure=_OPTION_30,
        confirm="captures of the SYN/ACK at both ends",
        explanation="The server has seen MP_CAPABLE in the SYN (MPCapableSYNRX) and repeats it in its answer, but the "
        "client finds none there (MPCapableFallbackSYNACK).",
        page=_LINKS,
    ),
    _reason(
        key="ack-option-stripped",
        title="MP_CAPABLE is removed from the third packet",
        needs=("client counters", "server counters"),
        recognise=_ack_stripped,
        sentence="the handshake was MPTCP for the client, and the server got {count} whose third packet had no "
        "MP_CAPABLE",
        cure=_OPTION_30,
        confirm="captures of the third packet at both ends",
        explanation="The server falls back (MPCapableFallbackACK). The client learns that from the first packet of the "
        "server without an option.",
        page=_LINKS,
        shown_in="session",
    ),
    _reason(
        key="first-data-without-option",
        title="The first packet after the handshake has no MPTCP option",
        needs=("counters",),
        recognise=_first_data_without_option,
        sentence="{host} got no MPTCP option after the handshake of {count}: it was removed on the way",
        cure="let TCP option 30 pass in all segments, not only in SYNs",
        confirm="captures of the first packets at both ends",
        explanation="Until a packet after the handshake shows that options pass, both sides may fall back (RFC 8684, "
        "section 3.7; check_fully_established() in net/mptcp/options.c).",
        page=_LINKS,
    ),
    _reason(
        key="data-without-mapping",
        title="Data arrives without a mapping",
        needs=("counters",),
        recognise=_data_without_mapping,
        sentence="{host} got data without a mapping (DSS) in {count}: the option was removed on the way",
        cure="let TCP option 30 pass in segments with data",
        confirm="captures of data segments at both ends",
        explanation="With a single subflow, the receiver takes the rest as plain TCP (subflow_check_data_avail() in "
        "net/mptcp/subflow.c). With several, the subflow is reset.",
        page=_LINKS,
    ),
    _reason(
        key="payload-changed",
        title="The payload is changed on the way",
        needs=("counters",),
        recognise=_payload_changed,
        sentence="{count} of MPTCP failed at {host}: something on the path changes the payload",
        cure="remove the application-level gateway there (FTP, SIP), or encrypt",
        confirm="the payload in captures of both ends",
        explanation="MPTCP's own checksum (net.mptcp.checksum_enabled) covers the payload. The receiver sends MP_FAIL. "
        "With other subflows it resets this one, alone the connection becomes plain TCP (RFC 8684, section 3.7).",
        page=_LINKS,
    ),
    _reason(
        key="payload-changed-at-peer",
        title="The other side reports a wrong checksum",
        needs=("counters",),
        recognise=_told_of_changed_payload,
        sentence="{host} got {count}: the payload that it sent was changed on the way",
        cure="remove the application-level gateway on that path, or encrypt",
        confirm="DataCsumErr at the other side",
        explanation="MP_FAIL tells the sender from which data on the receiver could not check it.",
        page=_LINKS,
        scenario="payload-changed",
        shown_in="client",
        after=("payload-changed",),
    ),
    _reason(
        key="mapping-does-not-fit",
        title="Mappings do not fit the data",
        needs=("counters",),
        recognise=_data_inserted,
        sentence="{count} did not fit the data of their segments at {host}: bytes were inserted or removed on the way",
        cure="remove the gateway that rewrites the payload, or encrypt",
        confirm="the length of the same payload in captures of both ends",
        explanation="A mapping names subflow sequence numbers relative to the SYN. A gateway that changes the length "
        "of the payload moves them (get_mapping_status() in net/mptcp/subflow.c).",
        page=_LINKS,
        shown_in="session",
    ),
    _reason(
        key="syns-dropped",
        title="SYNs with MP_CAPABLE are dropped",
        needs=("client counters",),
        recognise=_syns_dropped,
        sentence="SYNs with MP_CAPABLE of {count} got no answer, and the kernel went on without the option",
        cure="let TCP option 30 pass the firewall; until then, fewer attempts "
        "(net.mptcp.syn_retrans_before_tcp_fallback) save time",
        confirm="a capture behind the firewall has none of the SYNs with the option",
        explanation="Since Linux 6.12 the kernel repeats a SYN with the option a few times, then without "
        "(mptcp_active_detect_blackhole() in net/mptcp/ctrl.c). Each attempt waits for a timeout of a second or more.",
        page=_LINKS,
    ),
    _reason(
        key="blackhole-remembered",
        title="The kernel stopped to ask for MPTCP",
        needs=("client counters",),
        recognise=_blackhole_remembered,
        sentence="{count} did not ask for MPTCP, since an earlier one found that a path drops such SYNs (Blackhole)",
        cure="fix that path, or set net.mptcp.blackhole_timeout = 0",
        confirm="MPTcpExtBlackhole is not zero",
        explanation="After SYNs with MP_CAPABLE were lost and one without was answered, no connection of the host asks "
        "for MPTCP for an hour, then two, four, ... (net.mptcp.blackhole_timeout), whatever its destination.",
        page=_LINKS,
    ),
    _reason(
        key="md5-signature",
        title="TCP-MD5 leaves no room for MPTCP",
        needs=("client counters",),
        recognise=_client_counter("MD5SigFallback"),
        sentence="{count} of {client} use TCP-MD5, whose option leaves no room for MPTCP's options",
        cure="use TCP for such sessions (BGP), or do without the signature",
        confirm="the application sets TCP_MD5SIG",
        explanation="A TCP header has 40 bytes for options, of which TCP-MD5 takes 18 (mptcp_connect() in "
        "net/mptcp/protocol.c).",
        page="limitations.md#the-kernel-under-test",
        why_no_scenario="the lab's kernel is built without TCP-MD5",
    ),
    _reason(
        key="simultaneous-connect",
        title="Both sides connected at the same time",
        needs=("client counters",),
        recognise=_client_counter("SimultConnectFallback"),
        sentence="both sides opened {count} of {client} at the same time, which MPTCP does not support",
        cure="let one side listen",
        confirm="a capture shows two SYNs that cross",
        explanation="Linux falls back when a SYN arrives in the state SYN_SENT (mptcp_syn_options()).",
        page="limitations.md#the-kernel-under-test",
        shown_in="session",
    ),
    _reason(
        key="no-free-token",
        title="No token was free",
        needs=("counters",),
        recognise=_no_token,
        sentence="{host} found no unused token for {count}",
        cure="try again: this is chance, or an enormous number of connections",
        confirm="MPTcpExtMPCurrEstab is in the millions",
        explanation="The token identifies a connection within a host and is a hash of a random key; after four "
        "attempts the kernel gives up (mptcp_token_new_connect() in net/mptcp/token.c).",
        page="limitations.md#the-kernel-under-test",
        why_no_scenario="it would need about 2^32 connections",
    ),
    _reason(
        key="fallback-not-possible",
        title="It was too late to fall back",
        needs=("counters",),
        recognise=_too_late_to_fall_back,
        sentence="{host} reset {count} that had to fall back and could not, because other subflows were in use",
        cure="find what removes or changes MPTCP's options on that path",
        confirm="which subflow was reset: `ip mptcp monitor` at the same time",
        explanation="A connection can become plain TCP only as long as it has had a single subflow and nothing is "
        "missing (__mptcp_try_fallback() in net/mptcp/protocol.c).",
        page=_LINKS,
        why_no_scenario="the option has to be lost just when another subflow joins, within one round trip",
    ),
    _reason(
        key="fallback-proxy",
        title="A proxy on the way answers",
        needs=("client counters", "subflows", "expectations"),
        recognise=_proxy_answers,
        sentence="a proxy answered instead of the server: the shortest round trip is less than half of the path's, and "
        "its SYN/ACK had no MP_CAPABLE",
        cure="take the proxy out of the path, or let it speak MPTCP",
        confirm="captures of both ends: the server's connection has other sequence numbers and another port",
        explanation="Transparent proxies of mobile networks and firewalls accept the connection themselves, and open "
        "one of their own to the server.",
        page="gateways.md",
        why_no_scenario="the lab has no transparent proxy; of a gateway, it explains the connections between its ends",
    ),
    _reason(
        key="kernel-tls",
        title="Kernel TLS needs plain TCP",
        needs=("subflows",),
        recognise=_tls_in_kernel,
        sentence="{count} use the kernel's TLS, which MPTCP sockets refuse (TCP_ULP), so the application uses TCP",
        cure="switch kTLS off in the application",
        confirm="`ss -ti` shows tcp-ulp-tls",
        explanation="setsockopt(TCP_ULP) fails with EOPNOTSUPP on an MPTCP socket (net/mptcp/sockopt.c). Servers that "
        "want kTLS listen on TCP.",
        page="limitations.md#the-kernel-under-test",
        why_no_scenario="the lab's kernel is built without TLS",
    ),
    _reason(
        key="fast-open",
        title="TCP Fast Open beside MPTCP",
        needs=("client counters",),
        recognise=_fast_open,
        sentence="{count} used TCP Fast Open, whose cookie takes the room of options, and fell back",
        cure="switch TCP Fast Open off in the application, or use Linux 6.2 or later at both ends",
        confirm="without Fast Open (net.ipv4.tcp_fastopen = 0) the connection stays MPTCP",
        explanation="A SYN with data, a cookie and MP_CAPABLE confuses some middleboxes and older servers.",
        page="limitations.md#the-kernel-under-test",
        shown_in="session",
    ),
    _reason(
        key="old-version",
        title="One side speaks version 0",
        needs=("captures", "counters"),
        recognise=_old_version,
        sentence="{count} asked for MPTCP version 0 (RFC 6824), which mainline Linux does not speak",
        cure="update the side with the out-of-tree kernel (0.9x) to mainline",
        confirm="the version in the SYN's MP_CAPABLE of a capture",
        explanation="Version 1 (RFC 8684) has another handshake. Mainline answers version 0 with plain TCP.",
        page="captures.md#what-the-words-mean",
        shown_in="session",
    ),
)
