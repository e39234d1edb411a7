# SPDX-License-Identifier: MIT
"""Reasons that a machine's kernel, its log, its programs and the errors of its commands show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from mptcplab.explain.catalog.common import (
    is_established,
    joins_of,
    leaves_to_program,
    name_manager,
    number,
    of_connections,
    plural,
    where_of,
)
from mptcplab.explain.evidence import Endpoint, Evidence, Host, JoinError, OptionTrace, Subflow
from mptcplab.explain.reason import HINT, PROOF, STRONG, Reason, Sign

_PATHS, _KERNEL, _MIDDLEBOXES = "path-management.md", "limitations.md#the-kernel-under-test", "links.md#middleboxes"
#: The prefix of MPTCP's settings in the kernel outside of mainline, and in each of both kinds.
_OUTSIDE, _SETTINGS = "net.mptcp.mptcp_", "net.mptcp."
_VERSION = re.compile(r"(\d{1,3})\.(\d{1,4})")
#: The first mainline release with MPTCP, and marks of kernels below it that have it.
_FIRST = (5, 6)
_PATCHED = re.compile(r"mptcp|\.el8")
#: Kernels of distributions have a suffix; others may have patches without a mark.
_DISTRIBUTION = re.compile(r"-\w")
#: Errno: address not on this machine; device gone; too many.
_NO_ADDRESS, _NO_DEVICE, _RANGE = 99, 19, 34
#: Errno of an endpoint that is there already, by its address or its identifier.
_TAKEN = (16, 17)
#: The names that ``strace`` prints where an option or a protocol is not supported.
_UNSUPPORTED = ("ENOPROTOOPT", "EOPNOTSUPP")
_REFUSED_SOCKETS = {
    "ENOPROTOOPT": ("MPTCP is switched off", "`sysctl -w net.mptcp.enabled=1`"),
    "EPROTONOSUPPORT": ("the kernel was built without MPTCP", "a kernel with CONFIG_MPTCP"),
    "EINVAL": ("the kernel has no MPTCP", "Linux 5.6 or later"),
    "EACCES": ("a security module forbids it", "allow it there (SELinux, AppArmor)"),
}
#: A segment that Ethernet's MTU allows has less payload, in bytes; three such segments are enough to tell.
_MTU, _SEGMENTS = 1500, 3
#: A subflow carried nearly nothing if it was less than this share of what another one carried, in bytes.
_NEARLY_NOTHING, _MUCH = 0.01, 1_000_000
#: Looks between which a subflow sent data are enough to tell, and a share of its busy time in which buffers stopped it.
_ADVANCES, _OFTEN = 3, 0.1


def _speaks_mptcp(host: Host) -> bool:
    """Return whether anything shows that a host's kernel has MPTCP."""
    has_counters = any(name.startswith("MPTcpExt") for name in host.counters or ())
    has_settings = any(name.startswith(_SETTINGS) for name in host.sysctls or ())
    return has_counters or has_settings or host.endpoints is not None or host.events is not None


def _find_old_kernels(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        version = _VERSION.match(host.release or "")
        is_old = version is not None and (int(version[1]), int(version[2])) < _FIRST
        is_old = is_old and not _PATCHED.search((host.release or "").lower())
        if (is_old or host.without_settings) and not _speaks_mptcp(host):
            lines = [f"{host.name}: kernel {host.release}"] if host.release else []
            lines += [f"{host.name}: sysctl finds no net.mptcp"] if host.without_settings else []
            which = f"the kernel that runs at {host.name}" + (f" ({host.release})" if host.release else "")
            is_sure = host.without_settings or _DISTRIBUTION.search(host.release or "")
            yield Sign(
                lines=tuple(lines),
                values={"kernel": which},
                where=where_of(evidence, host),
                strength=STRONG if is_sure else HINT,
            )


def _find_two_implementations(evidence: Evidence) -> Iterator[Sign]:
    outside = [host for host in evidence.hosts if any(key.startswith(_OUTSIDE) for key in host.sysctls or ())]
    inside = [host for host in evidence.hosts if "net.mptcp.enabled" in (host.sysctls or {})]
    for old in outside:
        version = (old.sysctls or {}).get(f"{_OUTSIDE}version")
        for new in inside if version != "1" else ():
            keys = sorted(key for key in old.sysctls or () if key.startswith(_OUTSIDE))
            key = f"{_OUTSIDE}version" if version is not None else keys[0]
            yield Sign(
                lines=(
                    f"{old.name}: {key} = {(old.sysctls or {})[key]}",
                    f"{new.name}: net.mptcp.enabled = {(new.sysctls or {})['net.mptcp.enabled']}",
                ),
                values={"old": old.name, "new": new.name},
                strength=STRONG if version is None else PROOF,
            )


def _find_refused_sockets(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        errors = [call.error for call in host.calls or () if call.is_mptcp and call.option is None and call.error]
        for error in dict.fromkeys(errors):
            why, cure = _REFUSED_SOCKETS.get(error, (f"the error is {error}", "see socket(2)"))
            yield Sign(
                lines=(f"{host.name}: socket() with IPPROTO_MPTCP: {error}",),
                values={"host": host.name, "why": why, "cure": cure},
                where=where_of(evidence, host),
                strength=STRONG,
            )


def _find_unsupported_options(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        refused = [call for call in host.calls or () if call.is_mptcp and call.option and call.error in _UNSUPPORTED]
        for call in dict.fromkeys(refused):
            yield Sign(
                lines=(f"{host.name}: setsockopt() with {call.option}: {call.error}",),
                values={"host": host.name, "option": call.option},
                where=call.option or "",
                strength=PROOF,
            )


def _find_tcp_sockets(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        sockets = [call for call in host.calls or () if call.option is None]
        if sockets and not any(call.is_mptcp for call in sockets):
            program = host.unwrapped[-1] if host.unwrapped else None
            lines = [f"{host.name}: socket() for {plural(len(sockets), 'stream')}, none with IPPROTO_MPTCP"]
            lines += [f"{host.name}: mptcpize changed no socket of {program}"] if program else []
            yield Sign(
                lines=tuple(lines),
                values={
                    "host": host.name,
                    "program": ", and mptcpize changes nothing for it" if program else "",
                    "cure": "let the program ask for MPTCP itself, since mptcpize works through the C library only: a "
                    "program in Go needs Go 1.21 or later, and GODEBUG=multipathtcp=1"
                    if program
                    else "create sockets with IPPROTO_MPTCP, or start the program with `mptcpize run`",
                },
                where=where_of(evidence, host),
                strength=STRONG if program else HINT,
            )


def _find_removed_options(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        traces = host.traces or ()
        passed = {trace.target for trace in traces if trace.hop is None}
        for trace in dict.fromkeys(traces):
            if trace.hop is None or OptionTrace(target=trace.target, device=trace.device) in traces:
                continue
            by_server = trace.hop == trace.target
            path = f"by {trace.device}" if trace.device else f"to {trace.target}"
            lines = [f"{host.name}: MP_CAPABLE {path} is missing at {trace.hop}"]
            lines += [f"{host.name}: by another path it reaches {trace.target}"] if trace.target in passed else []
            is_path = trace.target in passed or not by_server
            yield Sign(
                lines=tuple(lines),
                values={
                    "path": path,
                    "who": "a device on that path removes it" if is_path else "the path or the server removes it",
                },
                where=trace.device or trace.target,
                strength=PROOF if not by_server else STRONG if is_path else HINT,
            )


def _find_default_manager(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        key = f"{_OUTSIDE}path_manager"
        if (host.sysctls or {}).get(key) == "default" and host.opens is not False:
            yield Sign(lines=(f"{host.name}: {key} = default",), values={"host": host.name})


def _list_own_endpoints(host: Host) -> list[Endpoint]:
    return [endpoint for endpoint in host.endpoints or () if {"subflow", "fullmesh", "signal"} & endpoint.flags]


def _find_unused_endpoints(evidence: Evidence) -> Iterator[Sign]:
    """Endpoints are for the kernel's path manager. In a run, the lab's own programs may keep some."""
    for host in evidence.hosts if evidence.expected is None else ():
        endpoints = _list_own_endpoints(host)
        if leaves_to_program(host) and endpoints and not joins_of(host):
            lines = (f"{host.name}: {name_manager(host)}", *(f"{host.name}: endpoint {end.text}" for end in endpoints))
            values = {"host": host.name, "count": plural(len(endpoints), "endpoint"), "setting": name_manager(host)}
            yield Sign(lines=lines[:4], values=values, where=where_of(evidence, host))


def _find_refused_endpoints(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        errors = [refusal.error for refusal in host.refusals or () if refusal.what == "endpoint"]
        known = len(host.endpoints or ())
        for error in dict.fromkeys(errors):
            if error not in (_RANGE, *_TAKEN):
                continue
            is_full = error == _RANGE
            lines = [f"{host.name}: endpoint refused, error -{error}"]
            lines += [f"{host.name}: {plural(known, 'endpoint')}"] if is_full and known else []
            yield Sign(
                lines=tuple(lines),
                values={
                    "host": host.name,
                    "why": "it has as many as it may (8, or 255 in Linux 7.2)"
                    if is_full
                    else "it has one with this address or identifier",
                    "cure": "fewer endpoints: leave out addresses that share a path, such as temporary and link-local "
                    "ones of IPv6"
                    if is_full
                    else "`ip mptcp endpoint change`, or delete the old one first",
                },
                strength=PROOF,
            )


def _list_errors(evidence: Evidence, step: str) -> Iterator[tuple[Host, JoinError, int]]:
    for host in evidence.hosts:
        for error, count in (host.join_errors or {}).items():
            if error.step == step:
                yield host, error, count


def _find_excess_joins(evidence: Evidence) -> Iterator[Sign]:
    for host, _, count in _list_errors(evidence, "add"):
        yield Sign(
            lines=(f"{host.name}: add a subflow failed {plural(count, 'time')}",),
            values={"host": host.name, "count": plural(count, "more subflow")},
            strength=PROOF,
        )


def _find_unbound_joins(evidence: Evidence) -> Iterator[Sign]:
    for host, error, count in _list_errors(evidence, "bind"):
        why = "no interface has this address" if error.error == _NO_ADDRESS else f"errno {error.error}"
        yield Sign(
            lines=(f"{host.name}: bind to {error.address} failed {plural(count, 'time')}, error {error.error}",),
            values={"host": host.name, "address": error.address, "why": why},
            where=error.address or "",
            strength=PROOF if error.error == _NO_ADDRESS else STRONG,
        )


def _find_unrouted_joins(evidence: Evidence) -> Iterator[Sign]:
    for host, error, count in _list_errors(evidence, "connect"):
        sources = (host.rule_sources or {}).get(error.family)
        lines = [f"{host.name}: connect of {error.family} failed {plural(count, 'time')}, error {error.error}"]
        lines += [f"{host.name}: rules of {error.family} name no source address"] if sources == frozenset() else []
        yield Sign(
            lines=tuple(lines),
            values={
                "host": host.name,
                "family": error.family,
                "why": "the interface is gone" if error.error == _NO_DEVICE else "no route leads there",
                "command": "ip -6 rule" if error.family == "IPv6" else "ip rule",
            },
            where=error.family,
            strength=PROOF if sources == frozenset() else STRONG,
        )


def _find_shared_addresses(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        for address, devices in (host.shared_addresses or {}).items():
            names = f"{', '.join(devices[:-1])} and {devices[-1]}"
            yield Sign(
                lines=(f"{host.name}: {address} at {names}",),
                values={"host": host.name, "address": address, "devices": names},
                where=address,
            )


def _find_lost_offload(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        key = f"{_OUTSIDE}checksum"
        sizes = [size for size in host.checksummed_bytes or () if size]
        is_small = len(sizes) >= _SEGMENTS and max(sizes) <= _MTU
        if (host.sysctls or {}).get(key) == "1" and is_small and host.offloads:
            lines = (
                f"{host.name}: {key} = 1",
                f"{host.name}: tcp-segmentation-offload on",
                f"{host.name}: {plural(len(sizes), 'segment')} with csum, of up to {max(sizes)} bytes",
            )
            yield Sign(lines=lines, values={"host": host.name, "size": max(sizes)})


def _find_idle_subflows(evidence: Evidence) -> Iterator[Sign]:
    if evidence.expected is not None:
        return
    for group in of_connections([entry for entry in evidence.senders() if is_established(entry)]).values():
        ordinary = [entry for entry in group if entry.is_backup is False]
        busy = max(ordinary, key=_count_sent_bytes, default=None)
        lines = _list_signs_of_room(evidence, busy) if busy and _count_sent_bytes(busy) >= _MUCH else []
        if busy is None or not lines:
            continue
        for idle in ordinary:
            share = _count_sent_bytes(idle) / _count_sent_bytes(busy)
            if share <= _NEARLY_NOTHING and idle.last("backoff") == 0 == idle.last("lost"):
                carried = [f"{entry.name}: {number(_count_sent_bytes(entry) / 1e6)} MB sent" for entry in (busy, idle)]
                yield Sign(
                    lines=(*lines, *carried),
                    values={"busy": busy.name, "idle": idle.name},
                    where=idle.name,
                )


def _list_signs_of_room(evidence: Evidence, subflow: Subflow) -> list[str]:
    """Return what shows that a subflow's congestion window had room for all data; an empty list if nothing does.

    Mainline does not set ``app_limited`` when an application has nothing to send by MPTCP. BBR sets it when it probes
    the round-trip time, so it counts only if nothing waits. Otherwise, all looks at the connection have to agree.
    """
    last = subflow.samples[-1]
    if last.app_limited and not last.notsent_bytes and (last.unacked or 0) < (last.cwnd or 0):
        return [f"{subflow.name}: app_limited"]
    pending = [
        waiting
        for connection in evidence.connections or ()
        if (connection.host, connection.connection) == (subflow.host, subflow.connection)
        for _, waiting in connection.pending
    ]
    window = min(subflow.values("cwnd"), default=0) * min(subflow.values("mss"), default=0)
    advances = sum(earlier < later for earlier, later in pairwise(subflow.values("bytes_sent")))
    stopped_s = (last.rwnd_limited_s or 0.0) + (last.sndbuf_limited_s or 0.0)
    is_stopped = stopped_s > _OFTEN * (last.busy_s or 0.0)
    if advances < _ADVANCES or is_stopped or max(pending, default=window) >= window:
        return []
    looks = f"at {plural(len(pending), 'look')} at most {max(pending)} bytes of its connection were not acknowledged"
    return [f"{subflow.name}: {looks}, and its window has {number(window)} bytes"]


def _count_sent_bytes(subflow: Subflow) -> float:
    return subflow.last("bytes_sent") or 0.0


_NO_LOG = "mainline, which the lab runs, counts this and does not log it"

REASONS: tuple[Reason, ...] = (
    Reason(
        key="kernel-without-mptcp",
        kind="fallback",
        title="The kernel that runs has no MPTCP",
        needs=("release",),
        recognise=_find_old_kernels,
        sentence="{kernel} has no MPTCP",
        cure="boot a kernel that has it: Linux 5.6 or later, or let the boot loader start the patched kernel that was "
        "installed",
        confirm="`sysctl net.mptcp`",
        explanation="Mainline has MPTCP since Linux 5.6, if it was built with CONFIG_MPTCP. Older kernels need the "
        "patches of multipath-tcp.org, or a distribution that has them (RHEL 8). After an installation the old kernel "
        "runs until the next boot, and later if the boot loader prefers it. Some containers do not show the settings, "
        "although their kernel has MPTCP.",
        page=_KERNEL,
        why_no_scenario="each kernel of the lab has MPTCP",
        after=("mptcp-switched-off",),
    ),
    Reason(
        key="other-implementation",
        kind="fallback",
        title="One side runs mainline, the other side the kernel outside of it",
        needs=("sysctls",),
        recognise=_find_two_implementations,
        sentence="{old} runs the kernel outside of mainline, whose MPTCP has version 0 unless it is told otherwise, "
        "and {new} runs mainline, which speaks version 1 only: their connections are plain TCP",
        cure="use mainline at both sides, or the same old kernel at both",
        confirm="`sysctl net.mptcp` at both: mainline has net.mptcp.enabled, the other one net.mptcp.mptcp_enabled",
        explanation="The two implementations have different versions of the protocol (RFC 6824 and RFC 8684). "
        "net.mptcp.mptcp_version = 1 makes late releases of the old one speak version 1, with bugs.",
        page=_KERNEL,
        why_no_scenario="each kernel of the lab is mainline",
    ),
    Reason(
        key="socket-refused",
        kind="fallback",
        title="The kernel refuses sockets of MPTCP",
        needs=("calls",),
        recognise=_find_refused_sockets,
        sentence="a program at {host} asked for a socket of MPTCP and did not get one: {why}",
        cure="{cure}",
        confirm="`sysctl net.mptcp.enabled`",
        explanation="The errno says why: ENOPROTOOPT if net.mptcp.enabled is 0, EPROTONOSUPPORT if the kernel was "
        "built without MPTCP, EINVAL from kernels before 5.6. Most programs then take TCP.",
        page=_KERNEL,
        shown_in="session",
    ),
    Reason(
        key="socket-option-unsupported",
        kind="fallback",
        title="A socket of MPTCP does not have an option of TCP",
        needs=("calls",),
        recognise=_find_unsupported_options,
        sentence="a program at {host} sets {option}, which a socket of MPTCP does not support",
        cure="use a TCP socket for this (IPPROTO_TCP; for a program in Go, GODEBUG=multipathtcp=0), or do without the "
        "option",
        confirm="`strace -e trace=setsockopt` on the program",
        explanation="mptcp_setsockopt() in net/mptcp/sockopt.c passes on only options that make sense with several "
        "subflows. TCP-MD5 also leaves no room for MPTCP among the options of a segment, and kernel TLS needs a "
        "socket of TCP. Programs in Go since 1.24 listen with MPTCP unless told otherwise.",
        page=_KERNEL,
        shown_in="session",
    ),
    Reason(
        key="traced-tcp-sockets",
        kind="fallback",
        title="The traced program asks for TCP",
        needs=("calls",),
        recognise=_find_tcp_sockets,
        sentence="the program that was traced at {host} opens sockets of TCP{program}",
        cure="{cure}",
        confirm="`strace -f -e trace=socket` shows IPPROTO_MPTCP",
        explanation="Linux speaks MPTCP only for sockets that ask for it. `mptcpize run` replaces socket() of the C "
        "library, which programs in Go and statically linked ones do not call. With `-d` it says what it changes.",
        page=_KERNEL,
        shown_in="session",
        after=("client-asks-for-tcp", "socket-refused"),
    ),
    Reason(
        key="traced-option-removed",
        kind="fallback",
        title="Tracebox sees that MPTCP's option is removed",
        needs=("traces",),
        recognise=_find_removed_options,
        sentence="a SYN with MP_CAPABLE {path} loses the option: {who}",
        cure="tunnel MPTCP over that path (a VPN), use another path for the first subflow, or ask the operator to let "
        "TCP option 30 pass",
        confirm="the same with another port: some devices act on port 80 only",
        explanation="Routers return the first bytes of a packet that they drop for its age, and the server answers "
        "with a SYN/ACK. Tracebox compares both with what it sent: `-TCPOptionMPTCPCapable` means that the option was "
        "gone. Without it in the server's answer alone, the cause may be a server without MPTCP.",
        page=_MIDDLEBOXES,
        why_no_scenario="the lab does not run tracebox",
    ),
    Reason(
        key="default-path-manager",
        kind="no subflow",
        title="The path manager of the old kernel opens no subflow",
        needs=("sysctls",),
        recognise=_find_default_manager,
        sentence="{host} has the path manager *default* of the kernel outside of mainline, which opens no subflow",
        cure="`sysctl -w net.mptcp.mptcp_path_manager=fullmesh`; its module has to be there",
        confirm="`sysctl net.mptcp.mptcp_path_manager`",
        explanation="*default* announces no address and opens no subflow, and accepts what the other side opens. "
        "Mainline has endpoints in its place.",
        page=_PATHS,
        why_no_scenario="each kernel of the lab is mainline",
        after=("other-implementation",),
    ),
    Reason(
        key="endpoints-unused",
        kind="no subflow",
        title="Endpoints of the kernel, and a path manager in user space",
        needs=("endpoints", "sysctls"),
        recognise=_find_unused_endpoints,
        sentence="{host} has {count}, which its kernel does not use: paths are left to a program ({setting})",
        cure="`sysctl -w net.mptcp.pm_type=0`, with mptcpd's plugin *addr_adv* if mptcpd sets endpoints; or the plugin "
        "*sspi*, which opens subflows itself, with 1",
        confirm="`sysctl net.mptcp.pm_type`, and `load-plugins` in mptcpd.conf",
        explanation="Endpoints belong to the kernel's path manager. A connection keeps the path manager that it began "
        "with, so that a change counts for new ones only.",
        page=_PATHS,
        shown_in="session",
        after=("path-manager-without-program",),
    ),
    Reason(
        key="endpoint-refused",
        kind="no subflow",
        title="The kernel refuses an endpoint",
        needs=("refusals",),
        recognise=_find_refused_endpoints,
        sentence="{host} refused an endpoint: {why}",
        cure="{cure}",
        confirm="`ip mptcp endpoint`",
        explanation='The words are "too many addresses or duplicate one", and the errno behind them says why: 34 '
        "(ERANGE) for too many, 17 (EEXIST) for a duplicate (net/mptcp/pm_kernel.c). The limits of subflows have a "
        'maximum, too: 8, or 64 in Linux 7.2 ("limit greater than maximum").',
        page=_PATHS,
        shown_in="session",
    ),
    Reason(
        key="subflows-exhausted",
        kind="no subflow",
        title="The old kernel has no number for another subflow",
        needs=("kernel log",),
        recognise=_find_excess_joins,
        sentence="{host} wanted {count} than a connection can have: the kernel outside of mainline counts them with 32 "
        "bits",
        cure="fewer subflows: a lower num_subflows of the path manager, or fewer addresses",
        confirm="/sys/module/mptcp_fullmesh/parameters/num_subflows, times the pairs of addresses",
        explanation="mptcp_add_sock() there fails if no bit is free for the subflow. *fullmesh* opens num_subflows for "
        "each pair of addresses.",
        page=_PATHS,
        why_no_scenario=_NO_LOG,
    ),
    Reason(
        key="logged-join-not-bound",
        kind="no subflow",
        title="The log has joins whose address could not be used",
        needs=("kernel log",),
        recognise=_find_unbound_joins,
        sentence="{host} could not join from {address}: {why}",
        cure="switch MPTCP off for that interface, or set its address before it is used",
        confirm="`ip addr` at that time",
        explanation="bind() fails with errno 99 (EADDRNOTAVAIL) if no interface has the address, or not yet, and 98 "
        "(EADDRINUSE) if no port is free.",
        page=_PATHS,
        why_no_scenario=_NO_LOG,
    ),
    Reason(
        key="logged-join-without-route",
        kind="no subflow",
        title="The log has joins that could not be sent",
        needs=("kernel log",),
        recognise=_find_unrouted_joins,
        sentence="{host} could not send joins over {family}: {why}",
        cure="give each source address of {family} its rule and table (`{command} add from ADDRESS table N`), or "
        "switch MPTCP off for interfaces whose {family} leads nowhere",
        confirm="`ip rule`, `ip -6 rule`, and `ip route get PEER from ADDRESS`",
        explanation="connect() fails with errno 101 (ENETUNREACH), 113 (EHOSTUNREACH) or 13 (EACCES, a route that "
        "prohibits) if the routing table has no way for that source address, and 19 (ENODEV) if its interface is gone.",
        page=_PATHS,
        why_no_scenario=_NO_LOG,
    ),
    Reason(
        key="address-at-several-interfaces",
        kind="no subflow",
        title="Several interfaces have the same address",
        needs=("addresses",),
        recognise=_find_shared_addresses,
        sentence="{host} has the address {address} at {devices}: no route can distinguish these paths",
        cure="give each modem or router a network of its own, so that each interface gets another address",
        confirm="`ip addr`",
        explanation="USB modems of one make give each machine the same private address. Routing rules choose a path by "
        "the source address, and MPTCP knows a subflow by its addresses and ports.",
        page=_PATHS,
        shown_in="session",
    ),
    Reason(
        key="checksum-without-offload",
        kind="low sum",
        title="The checksum of the old kernel prevents segmentation offload",
        needs=("segments", "sysctls"),
        recognise=_find_lost_offload,
        sentence="{host} computes MPTCP's checksum for each segment and sends none above {size} bytes, although its "
        "interface splits larger ones",
        cure="`sysctl -w net.mptcp.mptcp_checksum=0` at both sides, unless a device on the path changes payload",
        confirm="the same transfer without it",
        explanation="The kernel outside of mainline cannot use segmentation offload (TSO) with the checksum, which is "
        "on by default there. On fast lines a CPU is then the limit.",
        page="links.md#offload",
        why_no_scenario="each kernel of the lab is mainline",
    ),
    Reason(
        key="all-fits-into-one-subflow",
        kind="low sum",
        title="One subflow carries all that there is to send",
        needs=("subflows",),
        recognise=_find_idle_subflows,
        sentence="{idle} carries nearly nothing, since all that the application sends fits into the congestion window "
        "of {busy}",
        cure="nothing, if the rate is enough; to spare a dearer path, mark its endpoint as backup "
        "(`ip mptcp endpoint change id N backup`)",
        confirm="write_seq minus snd_una of `ss -Mi` stays below cwnd times mss of `ss -ti`, and a bulk transfer uses "
        "both",
        explanation="The scheduler takes another subflow when the subflow that should deliver first has no room. "
        "It does not go back to a path that was away as long as all fits into the other one.",
        page="schedulers.md#one-by-one",
        shown_in="session",
        after=("application-slow",),
    ),
)
