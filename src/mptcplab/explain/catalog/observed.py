# SPDX-License-Identifier: MIT
"""Reasons that only real machines show: routes, interfaces, handshakes of connections whose paths nobody described."""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.explain.catalog.common import plural, where_of
from mptcplab.explain.evidence import Evidence, address_of
from mptcplab.explain.reason import HINT, PROOF, STRONG, Reason, Sign

_PAGE = "path-management.md"
#: Counters that say why a SYN had no answer, which is then the path of the option, and not the path.
_OPTION_DROPPED = ("MPCapableSYNTXDrop", "Blackhole")


def _no_route(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        for route in host.routes or ():
            if route.error is not None:
                yield Sign(
                    lines=(f"route {route.local} of {host.name} to {route.remote}: {route.error}",),
                    values={"host": host.name, "local": route.local, "remote": route.remote},
                    where=route.local,
                    strength=PROOF,
                )


def _other_interface(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        marked = {endpoint.address for endpoint in host.endpoints or () if {"subflow", "fullmesh"} & endpoint.flags}
        for route in host.routes or ():
            is_known = route.device is not None and route.of_address is not None
            if route.local in marked and is_known and route.device != route.of_address:
                yield Sign(
                    lines=(f"route {route.local} of {host.name} to {route.remote}: {route.device}",),
                    values={
                        "host": host.name,
                        "local": route.local,
                        "device": route.device,
                        "right": route.of_address,
                    },
                    where=route.local,
                )


def _interface_down(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        for endpoint in host.endpoints or ():
            if endpoint.device is not None and endpoint.device in (host.down or ()):
                yield Sign(
                    lines=(f"{host.name}: interface {endpoint.device} is down, endpoint {endpoint.text}",),
                    values={"host": host.name, "device": endpoint.device, "address": endpoint.address},
                    where=endpoint.device,
                    strength=PROOF,
                )


def _address_missing(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        for endpoint in host.endpoints or ():
            is_opener = bool({"subflow", "fullmesh"} & endpoint.flags)
            if is_opener and host.addresses is not None and endpoint.address not in host.addresses:
                yield Sign(
                    lines=(f"{host.name}: endpoint {endpoint.text}, and no interface has this address",),
                    values={"host": host.name, "address": endpoint.address},
                    where=endpoint.address,
                    strength=PROOF,
                )


def _first_unanswered(evidence: Evidence) -> Iterator[Sign]:
    """Connections stay in SYN-SENT: their first path is dead, whatever other paths there are."""
    for host in evidence.hosts:
        if any(host.known_count(name) for name in _OPTION_DROPPED):
            continue
        waiting = host.unanswered or host.unanswered_at_a_look
        if waiting:
            local = address_of(waiting[0][0])
            others = [endpoint.address for endpoint in host.endpoints or () if endpoint.address != local]
            yield Sign(
                lines=tuple(f"{host.name}: {here} to {there} in SYN-SENT" for here, there in waiting[:3]),
                values={
                    "count": plural(len(waiting), "connection"),
                    "local": local,
                    "others": f", although {host.name} has {' and '.join(others[:2])} too" if others else "",
                },
                strength=STRONG if host.unanswered and others else HINT,
            )


def _no_mptcp(evidence: Evidence) -> Iterator[Sign]:
    if evidence.expected is not None:
        return
    for host in evidence.hosts:
        opened = host.counter("TcpActiveOpens")
        is_off = (host.sysctls or {}).get("net.mptcp.enabled") == "0" or host.known_count("MPCapableSYNTXDisabled")
        if opened and not is_off and host.count("MPCapableSYNTX") == 0 == host.count("MPCapableSYNRX"):
            names = ("MPCapableSYNTX", "MPCapableSYNRX")
            yield Sign(
                lines=(f"{host.name}: TcpActiveOpens {opened}", *(f"{host.name}: {name} 0" for name in names)),
                values={"host": host.name, "count": plural(opened, "connection")},
                where=where_of(evidence, host),
                strength=HINT,
            )


REASONS: tuple[Reason, ...] = (
    Reason(
        key="route-missing",
        kind="no subflow",
        title="There is no route from an endpoint's address",
        needs=("routes",),
        recognise=_no_route,
        sentence="{host} has no route from {local} to {remote}",
        cure="add a rule and a table for this address: `ip rule add from {local} table N`, `ip route add default via "
        "GATEWAY dev DEVICE table N`; or, if no way leads there, remove the endpoint",
        confirm="`ip route get PEER from ENDPOINT`",
        explanation="An endpoint with a device binds its subflow to the device, whose routes alone count then.",
        page=_PAGE,
        shown_in="session",
    ),
    Reason(
        key="route-by-other-interface",
        kind="no subflow",
        title="Packets of an endpoint leave by another interface",
        needs=("routes", "endpoints"),
        recognise=_other_interface,
        sentence="packets of {host} from {local} leave by {device}, although {right} has the address",
        cure="add a rule for this address (`ip rule add from {local} table N`), or name the device in the endpoint "
        "(`dev {right}`)",
        confirm="a capture at that interface shows SYNs with MP_JOIN and this address",
        explanation="Without rules by source address, the routing table looks at the destination only, and a second "
        "address goes by the first interface. Routers there often drop it.",
        page=_PAGE,
        shown_in="session",
        after=("route-missing",),
    ),
    Reason(
        key="endpoint-interface-down",
        kind="failover",
        title="The interface of an endpoint is down",
        needs=("endpoints", "interfaces"),
        recognise=_interface_down,
        sentence="{host} cannot use the endpoint {address}: its interface {device} is down or without a carrier",
        cure="bring {device} up, or remove the endpoint",
        confirm="`ip link show`",
        explanation="The kernel keeps endpoints of interfaces that are down, and does not use them.",
        page=_PAGE,
        shown_in="session",
    ),
    Reason(
        key="endpoint-address-missing",
        kind="no subflow",
        title="No interface has the address of an endpoint",
        needs=("endpoints", "interfaces"),
        recognise=_address_missing,
        sentence="{host} has an endpoint {address}, but no interface with this address",
        cure="remove the endpoint, and add the address that the interface has now: `ip mptcp endpoint delete id N`",
        confirm="`ip addr` beside `ip mptcp endpoint`",
        explanation="Addresses from DHCP or a mobile network change; endpoints do not follow unless a program (mptcpd, "
        "NetworkManager) sets them.",
        page=_PAGE,
        scenario="join-not-bound",
        shown_in="session",
    ),
    Reason(
        key="no-mptcp-sockets",
        kind="fallback",
        title="No program on the host asks for MPTCP",
        needs=("counters",),
        recognise=_no_mptcp,
        sentence="{host} opened {count}, none of which asked for MPTCP, and got no request for it: its programs use "
        "TCP sockets",
        cure="let the client and the server create sockets with IPPROTO_MPTCP, or start both with `mptcpize run`",
        confirm="`ss -Ma` lists the program's socket while it runs",
        explanation="Linux speaks MPTCP only for sockets that ask for it. `mptcpize` has no effect on programs that do "
        "not use the C library for it, such as those in Go, and on services that run already.",
        page="limitations.md#the-kernel-under-test",
        scenario="client-asks-for-tcp",
        shown_in="client",
        after=("client-asks-for-tcp", "server-without-mptcp", "mptcp-switched-off"),
    ),
    Reason(
        key="first-subflow-unanswered",
        kind="failover",
        title="New connections get no answer on their first path",
        needs=("openings",),
        recognise=_first_unanswered,
        sentence="{count} from {local} got no answer to the first SYN{others}: a new connection needs its first path",
        cure="let the route to the server follow the state of the path, such as a monitor that changes the default "
        "route",
        confirm="`ping` from the same address; `ip route get` with the server's address",
        explanation="The routing table chooses the path of the first subflow. Others join only after it is "
        "established, so that a silent failure of that path stops new connections, while older ones go on.",
        page=_PAGE,
        shown_in="session",
        after=("first-path-dead", "syns-dropped"),
    ),
)
