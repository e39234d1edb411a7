# SPDX-License-Identifier: MIT
"""From the facts about one host to the records that reasons ask for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from mptcplab.explain.evidence import WAIT_S, Connection, Host, Route, Subflow, Wait, waits_of
from mptcplab.explain.readers import mptcp
from mptcplab.explain.readers.facts import HostFacts, SocketRow
from mptcplab.explain.readers.text import complete_counters, merge_counters

#: Ticks of a CPU that make a share of its time: 1 s with the usual 100 ticks per second.
_MIN_TICKS = 100
#: Looks at the sockets that show a wait, and intervals between looks that the shortest wait has.
_MIN_LOOKS, _LOOKS = 4, 2
_OPENED, _ACCEPTED = ("MPTcpExtMPCapableSYNTX",), ("MPTcpExtMPCapableSYNRX", "MPTcpExtMPCapableACKRX")
#: Timeouts of a SYN, or looks at the sockets, and connections at the same time, that are more than a moment's loss.
_UNANSWERED, _TOGETHER = 2, 3
#: Connections that wait at the only look, and are worth a hint.
_SEVERAL = 2
_OPENING, _LOOPBACK = "SYN-SENT", "lo"
_LISTENING, _NO_PEER = "LISTEN", ("*:*", "0.0.0.0:*", "[::]:*")
_KERNEL_BUILT_IN = {"0": "kernel", "1": "userspace"}


def host_of(facts: HostFacts, opens: bool | None = None) -> Host:
    """Return the host. ``opens`` says whether it opens the connections; None infers it from what it did."""
    counters = _counters(facts)
    return Host(
        name=facts.name,
        opens=_opens(facts, counters) if opens is None else opens,
        counters=counters,
        endpoints=None if facts.endpoints is None else tuple(facts.endpoints),
        limits=facts.limits,
        sysctls=facts.sysctls or None,
        addresses=tuple(facts.addresses) or None,
        events=None if facts.events is None else tuple(facts.events),
        routes=tuple(_routes(facts)) or None,
        unanswered=_find_unanswered(facts),
        unanswered_at_a_look=_find_waiting(facts),
        # Only a listing of all interfaces shows what is missing: it has the loopback, too.
        down=frozenset(facts.down - facts.up) if _LOOPBACK in facts.up | facts.down else None,
        path_manager=_path_manager(facts),
        release=facts.kernel or facts.sysctls.get("kernel.osrelease"),
        without_settings=facts.without_settings,
        join_errors=dict(facts.join_errors) or None,
        calls=tuple(facts.calls) or None,
        unwrapped=tuple(facts.unwrapped),
        traces=tuple(facts.traces) or None,
        refusals=tuple(facts.refusals) or None,
        shared_addresses=_find_shared(facts),
        rule_sources={version: frozenset(sources) for version, sources in facts.rule_sources.items()} or None,
        checksummed_bytes=tuple(facts.checksummed_bytes) or None,
        offloads=facts.offloads,
    )


def connections_of(facts: HostFacts) -> list[Connection]:
    """Return the connections that ``ss -M`` showed, each once, with what it showed last."""
    rows: dict[object, list[SocketRow]] = {}
    for row in facts.sockets:
        if row.protocol == "mptcp" and row.state not in (_LISTENING, _OPENING) and row.remote not in _NO_PEER:
            rows.setdefault(mptcp.tokens(row)[0] or (row.local, row.remote), []).append(row)
    return [_connection(facts.name, key, of_connection) for key, of_connection in rows.items()]


def subflows_of(facts: HostFacts, *, with_plain: bool = False) -> list[Subflow]:
    """Return the subflows that ``ss -t`` showed, and plain TCP sockets that have to do with MPTCP.

    These are the sockets of connections that fell back, and those with kernel TLS, which MPTCP cannot have;
    ``with_plain``, all TCP sockets.
    """
    ends = {(row.local, row.remote) for row in facts.sockets if row.protocol == "mptcp"}
    rows: dict[tuple[str, str], list[SocketRow]] = {}
    for row in facts.sockets:
        is_special = mptcp.upper_layer(row) is not None or (row.local, row.remote) in ends
        if row.protocol == "tcp" and row.state != _LISTENING and (is_special or with_plain):
            rows.setdefault((row.local, row.remote), []).append(row)
    return [_subflow(facts.name, of_subflow) for of_subflow in rows.values()]


def waits_in(facts: HostFacts) -> list[Wait] | None:
    """Return the waits that repeated looks at the sockets show; None if nothing was looked at repeatedly.

    The progress of a sender is what was acknowledged. Between two looks nothing is known, so that only a wait over
    several of them counts.
    """
    waits: list[Wait] = []
    looks = sorted({row.time_s for row in facts.sockets if row.time_s is not None})
    if len(looks) < _MIN_LOOKS:
        return None
    longest = max(later - earlier for earlier, later in pairwise(looks))
    rows: dict[object, list[SocketRow]] = {}
    for row in facts.sockets:
        if row.protocol == "mptcp" and row.time_s is not None and row.state != _LISTENING:
            rows.setdefault(mptcp.tokens(row)[0] or (row.local, row.remote), []).append(row)
    for key, of_connection in rows.items():
        progress = list(_changes(of_connection, "bytes_acked"))
        pending = [(row.time_s, mptcp.count_pending_bytes(row)) for row in of_connection if row.time_s is not None]
        waits += waits_of(progress, pending, connection=key, min_s=max(WAIT_S, _LOOKS * longest))
    return waits


def _counters(facts: HostFacts) -> dict[str, int] | None:
    """Return what changed during the observation; all since boot if no connection opened meanwhile."""
    if not facts.counters:
        return None
    # Two files may each have a part of the counters.
    last = facts.counters[-1]
    earlier = [snapshot for snapshot in facts.counters[:-1] if snapshot.counts.keys() & last.counts.keys()]
    others: dict[str, int] = {}
    for snapshot in facts.counters[:-1]:
        if snapshot not in earlier:
            others |= snapshot.counts
    absolute = others | complete_counters(last)
    if not earlier:
        return absolute
    changed = others | merge_counters(earlier[0], last)
    return changed if any(changed.get(name) for name in (*_OPENED, *_ACCEPTED)) else absolute


def _opens(facts: HostFacts, counters: dict[str, int] | None) -> bool | None:
    """Infer whether the host is the client: from its counters, its sockets, or else its name."""
    known = counters or {}
    opened, accepted = (sum(known.get(name, 0) for name in names) for names in (_OPENED, _ACCEPTED))
    if opened != accepted:
        return opened > accepted
    listening = {_port(row.local) for row in facts.sockets if row.state == _LISTENING}
    local_ports = {_port(row.local) for row in facts.sockets if row.protocol == "mptcp" and row.state != _LISTENING}
    if local_ports & listening:
        return False
    name = facts.name.lower()
    is_client, is_server = "client" in name, "server" in name
    return is_client if is_client != is_server else None


def _routes(facts: HostFacts) -> Iterator[Route]:
    """Yield the answers about routes, with the device that has each address."""
    devices = {endpoint.address: endpoint.device for endpoint in facts.endpoints or ()}
    for route in facts.routes:
        yield replace(route, of_address=facts.addresses.get(route.local) or devices.get(route.local))


def _find_shared(facts: HostFacts) -> dict[str, tuple[str, ...]] | None:
    """Return the addresses that several interfaces have; None if nobody looked at the interfaces."""
    if not facts.devices:
        return None
    return {address: tuple(devices) for address, devices in facts.devices.items() if len(devices) > 1}


def listener_protocol(facts: HostFacts, ports: Collection[str]) -> str | None:
    """Return with which protocol a host listens on ``ports``: an MPTCP socket is listed as one of TCP, too."""
    listening = [row for row in facts.sockets if row.state == _LISTENING and _port(row.local) in ports]
    protocols = {row.protocol for row in listening}
    return "mptcp" if "mptcp" in protocols else "tcp" if protocols == {"tcp"} and "ss -M" in facts.kinds else None


def ports_connected(facts: HostFacts) -> set[str]:
    """Return the ports to which a host has MPTCP connections."""
    return {_port(row.remote) for row in facts.sockets if row.protocol == "mptcp" and row.state != _LISTENING}


def _find_unanswered(facts: HostFacts) -> tuple[tuple[str, str], ...] | None:
    """Return the ends of MPTCP connections that wait for the first SYN/ACK, unless that may be chance."""
    if "ss" not in facts.kinds:
        return None
    waiting = _count_looks(facts)
    enough = len(waiting) >= _TOGETHER or any(count >= _UNANSWERED for count in waiting.values())
    return tuple(waiting) if enough else ()


def _find_waiting(facts: HostFacts) -> tuple[tuple[str, str], ...]:
    """Return the ends of several connections that wait at the only look at the sockets: a moment, or longer."""
    waiting = _count_looks(facts)
    has_times = any(row.time_s is not None for row in facts.sockets)
    return tuple(waiting) if len(waiting) >= _SEVERAL and not has_times else ()


def _count_looks(facts: HostFacts) -> dict[tuple[str, str], int]:
    """Return the ends of MPTCP connections that wait for the first SYN/ACK, with the looks or timeouts of each."""
    waiting: dict[tuple[str, str], int] = {}
    for row in facts.sockets:
        flags = row.fields.get("flags", "").lower() if mptcp.ULP in row.words else ""
        is_first = row.protocol == "mptcp" or ("m" in flags and "j" not in flags)
        if row.state == _OPENING and is_first:
            looks = waiting.get((row.local, row.remote), 0) + (row.protocol == "mptcp")
            waiting[row.local, row.remote] = max(looks, mptcp.whole(row.fields.get("backoff")) or 0)
    return waiting


def _port(end: str) -> str:
    return end.rpartition(":")[2]


def busy_share(facts: HostFacts) -> float | None:
    """Return the share of its time that the busiest CPU was not idle, between the first and the last look."""
    if len(facts.cpu_ticks) < 2:
        return None
    first, last = facts.cpu_ticks[0], facts.cpu_ticks[-1]
    shares = []
    for name, (busy, total) in last.items():
        busy_before, total_before = first.get(name, (busy, total))
        if total - total_before >= _MIN_TICKS and busy >= busy_before:
            shares.append((busy - busy_before) / (total - total_before))
    return max(shares, default=None)


def _path_manager(facts: HostFacts) -> str | None:
    named = facts.sysctls.get("net.mptcp.path_manager")
    return named or _KERNEL_BUILT_IN.get(facts.sysctls.get("net.mptcp.pm_type", ""))


def _connection(host: str, key: object, rows: list[SocketRow]) -> Connection:
    last = rows[-1]

    def number(name: str) -> int | None:
        value = mptcp.whole(last.fields.get(name))
        # ss leaves out what is zero, if it shows the details at all.
        return 0 if value is None and is_detailed else value

    is_detailed = bool({"token", "write_seq", "rcv_nxt"} & last.fields.keys()) or "remote_key" in last.words
    fell_back = "fallback" in last.words
    return Connection(
        host=host,
        connection=key,
        fell_back=True if fell_back else False if is_detailed else None,
        subflows=number("subflows"),
        subflows_max=number("subflows_max"),
        add_addr_accepted=number("add_addr_accepted"),
        add_addr_signal=number("add_addr_signal"),
        checksum="csum_enabled" in last.words if is_detailed else None,
        received=tuple(_changes(rows, "bytes_received")),
        pending=tuple((row.time_s, mptcp.count_pending_bytes(row)) for row in rows if row.time_s is not None),
    )


def _changes(rows: Sequence[SocketRow], name: str) -> Iterator[tuple[float, int]]:
    """Yield a total of bytes by time, where it changes, and at the first and the last look."""
    before: int | None = None
    for row in rows:
        value = mptcp.whole(row.fields.get(name))
        if value is not None and row.time_s is not None and (value != before or row is rows[-1]):
            yield row.time_s, value
            before = value


def _subflow(host: str, rows: list[SocketRow]) -> Subflow:
    last = rows[-1]
    is_mptcp = any(mptcp.ULP in row.words for row in rows)
    flags = "".join(row.fields.get("flags", "") for row in rows if mptcp.ULP in row.words)
    token = next((mptcp.tokens(row)[0] for row in rows if mptcp.tokens(row)[0]), None)
    return Subflow(
        host=host,
        local=last.local,
        remote=last.remote,
        connection=token if is_mptcp else (last.local, last.remote),
        is_backup="b" in flags.lower() if is_mptcp else None,
        is_mptcp=is_mptcp,
        congestion=last.congestion,
        ulp=mptcp.upper_layer(last),
        samples=tuple(mptcp.sample(row) for row in rows),
    )
