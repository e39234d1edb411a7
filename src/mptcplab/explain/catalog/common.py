# SPDX-License-Identifier: MIT
"""Questions that several reasons ask of the evidence."""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.explain.evidence import Evidence, Host, Subflow

#: States of a subflow whose handshake was not completed.
_OPENING = ("syn-sent", "syn-recv")
#: Counters of the kernel that a connection became plain TCP, at either side.
FALLBACKS = (
    "MPCapableFallbackSYNACK",
    "MPCapableFallbackACK",
    "MPCapableSYNTXDrop",
    "MPCapableSYNTXDisabled",
    "MPCapableDataFallback",
    "MPFallbackTokenInit",
    "DssFallback",
    "DSSCorruptionFallback",
    "InfiniteMapTx",
    "InfiniteMapRx",
    "MD5SigFallback",
    "SimultConnectFallback",
)


def client_of(evidence: Evidence) -> Host:
    """Return the client, for reasons that need its counters."""
    assert evidence.client is not None
    return evidence.client


def server_of(evidence: Evidence) -> Host:
    """Return the server, for reasons that need its counters."""
    assert evidence.server is not None
    return evidence.server


def counter_lines(host: Host | None, *names: str) -> tuple[str, ...]:
    """Return a line for each MPTCP counter of a host that is known: ``server: MPJoinSynTx 2``."""
    if host is None:
        return ()
    return tuple(f"{host.name}: {name} {count}" for name in names if (count := host.count(name)) is not None)


def wants_mptcp(evidence: Evidence) -> bool:
    """Return whether MPTCP is expected; True if nothing is known of that."""
    return evidence.expected is None or evidence.expected.mptcp is not False


def fell_back(evidence: Evidence) -> bool:
    """Return whether a connection is, or became, plain TCP, by the counters or what the sockets say."""
    by_counter = any(host.known_count(name) for host in evidence.hosts for name in FALLBACKS)
    return by_counter or any(connection.fell_back for connection in evidence.connections or ())


def handshakes(evidence: Evidence) -> int | None:
    """Return how many connections were accepted as MPTCP; None if no side's counters are known."""
    known = [
        count
        for host, name in ((evidence.client, "MPCapableSYNACKRX"), (evidence.server, "MPCapableACKRX"))
        if host is not None and (count := host.count(name)) is not None
    ]
    return max(known, default=None)


def is_established(subflow: Subflow) -> bool:
    """Return whether a subflow's handshake was completed."""
    return any(sample.state is None or sample.state not in _OPENING for sample in subflow.samples)


def of_connections(subflows: list[Subflow]) -> dict[object, list[Subflow]]:
    """Group subflows by their connection."""
    groups: dict[object, list[Subflow]] = {}
    for subflow in subflows:
        groups.setdefault(subflow.connection, []).append(subflow)
    return groups


def subflows_seen(evidence: Evidence) -> int | None:
    """Return the largest number of established subflows of a connection; None if nothing shows it."""
    established = [subflow for subflow in evidence.subflows or () if is_established(subflow)]
    by_host = [[entry for entry in established if entry.host == host] for host in {item.host for item in established}]
    seen = [len(group) for subflows in by_host for group in of_connections(subflows).values()]
    told = [
        connection.subflows + 1
        for connection in evidence.connections or ()
        if connection.subflows is not None and not connection.fell_back
    ]
    return max([*seen, *told], default=None)


def subflows_possible(evidence: Evidence) -> int | None:
    """Return over how many pairs of addresses a connection could go; None if the addresses are not known."""
    if evidence.paths:
        ends = {path.client for path in evidence.paths}, {path.server for path in evidence.paths}
        return max(map(len, ends))
    known = [len(host.addresses) for host in evidence.hosts if host.addresses is not None]
    return max(known, default=None)


def lacks_subflows(evidence: Evidence) -> bool:
    """Return whether a connection with MPTCP has fewer subflows than it should have.

    Without an expectation, that is a single one where several pairs of addresses are possible. A connection that is
    not bulk may end before it needs a second one.
    """
    seen, expected = subflows_seen(evidence), evidence.expected
    if not wants_mptcp(evidence) or handshakes(evidence) == 0 or fell_back(evidence):
        return False
    if seen is None:
        return True
    if expected is not None and expected.is_bulk is False:
        return False
    if expected is not None and expected.subflows is not None and seen < expected.subflows:
        return True
    return seen < 2 and (subflows_possible(evidence) or 2) > 1


def joins_of(host: Host | None) -> int:
    """Return how many joins a host sent."""
    return host.known_count("MPJoinSynTx") if host is not None else 0


def where_of(evidence: Evidence, host: Host) -> str:
    """Return the name of a host if there are several, so that equal signs of each stay apart; else an empty text."""
    return host.name if len(evidence.hosts) > 1 else ""


def leaves_to_program(host: Host) -> bool:
    """Return whether a host's settings leave its paths to a program in user space."""
    settings = host.sysctls or {}
    return settings.get("net.mptcp.pm_type") == "1" or settings.get("net.mptcp.path_manager") == "userspace"


def name_manager(host: Host) -> str:
    """Return the setting that names a host's path manager: ``net.mptcp.pm_type = 1``."""
    for key in ("net.mptcp.pm_type", "net.mptcp.path_manager"):
        if key in (host.sysctls or {}):
            return f"{key} = {(host.sysctls or {})[key]}"
    return ""


def middlebox_lines(evidence: Evidence, *options: str, verbs: tuple[str, ...] = ("strip",)) -> Iterator[str]:
    """Yield a line for each middlebox that is known to act on one of ``options``."""
    for box in evidence.middleboxes or ():
        if box.packets and box.verb in verbs and box.option in (*options, "all", ""):
            yield f"{box.name}: {box.verb} {box.option or 'MPTCP'} {box.packets} packets"


def number(value: float) -> str:
    """Return a number with three digits and never with an exponent, so that the numbers of several runs merge."""
    if abs(value) >= 1e3:
        return f"{value:.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-3 else f"{value:.6f}".rstrip("0").rstrip(".")


def megabits(rate_bps: float) -> str:
    """Return a rate as text: ``9.56 Mbit/s``."""
    return f"{number(rate_bps / 1e6)} Mbit/s"


def plural(count: int, noun: str) -> str:
    """Return a number with its noun: ``1 join``, ``2 joins``."""
    ending = "" if count == 1 else "es" if noun.endswith("s") else "s"
    return f"{count} {noun}{ending}"
