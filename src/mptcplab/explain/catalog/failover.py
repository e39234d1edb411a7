# SPDX-License-Identifier: MIT
"""Reasons why a connection stops or suffers when a path fails."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from mptcplab.explain.catalog.common import client_of, counter_lines, is_established, number, of_connections, plural
from mptcplab.explain.evidence import Evidence, Host, Path, Subflow, Wait, address_of
from mptcplab.explain.reason import HINT, PROOF, STRONG, Reason, Sign

_PAGE = "events.md#three-failure-modes"
#: A path that is back for this time, in s, and still has no subflow, was not taken again.
_BACK_S = 2.0
#: A subflow without an answer for so long, in s, while others get some, is on a path that fails.
_SILENT_S = 1.0
#: More timeouts in a row than chance explains.
_BACKOFFS = 5


def _failures(evidence: Evidence) -> Iterator[tuple[Wait, list[Path], list[Path]]]:
    """Yield the waits during which paths were down, with these paths and with the paths that worked all the time."""
    for wait in evidence.waits or ():
        down = [path for path in evidence.paths if path.is_down(wait.begin_s, wait.end_s)]
        if down:
            yield wait, down, [path for path in evidence.paths if path not in down]


def _names(paths: list[Path]) -> str:
    return " and ".join(path.name for path in paths)


def _since(path: Path, wait: Wait) -> str:
    begin = max(begin for begin, end in path.down if begin < wait.end_s and end > wait.begin_s)
    return f"{path.name} down from {number(begin)} s"


def _silent_path(evidence: Evidence) -> Iterator[Sign]:
    for wait, down, others in _failures(evidence):
        silent = [path for path in down if path.silent]
        if others and silent and not all(path.is_backup for path in others):
            stale = sum(host.known_count("SubflowStale") for host in evidence.hosts)
            lines = (f"nothing arrived for {wait.text}", *(_since(path, wait) for path in silent))
            stales = (f"SubflowStale {stale}",) if stale else ()
            yield Sign(
                lines=(*lines, *stales),
                values={"path": _names(silent), "length": number(wait.length_s), "begin": number(wait.begin_s)},
                where=_names(silent),
                cost=wait.length_s,
                strength=PROOF,
            )


def _backup_late(evidence: Evidence) -> Iterator[Sign]:
    for wait, down, others in _failures(evidence):
        if others and all(path.is_backup for path in others):
            lines = (f"nothing arrived for {wait.text}", *(_since(path, wait) for path in down))
            yield Sign(
                lines=lines,
                values={"path": _names(down), "backup": _names(others), "length": number(wait.length_s)},
                where=_names(down),
                cost=wait.length_s,
                strength=PROOF,
            )


def _no_path_left(evidence: Evidence) -> Iterator[Sign]:
    for wait, down, others in _failures(evidence):
        if not others:
            lines = (f"nothing arrived for {wait.text}", *(_since(path, wait) for path in down))
            values = {"length": number(wait.length_s), "paths": _names(down)}
            yield Sign(lines=lines, values=values, cost=wait.length_s, strength=PROOF)


def _told_path(evidence: Evidence) -> Iterator[Sign]:
    for wait, down, others in _failures(evidence):
        told = [path for path in down if not path.silent]
        if others and told and len(told) == len(down) and not all(path.is_backup for path in others):
            lines = (f"nothing arrived for {wait.text}", *(_since(path, wait) for path in told))
            values = {"path": _names(told), "length": number(wait.length_s)}
            yield Sign(lines=lines, values=values, where=_names(told), cost=wait.length_s)


def _first_path_dead(evidence: Evidence) -> Iterator[Sign]:
    """A connection whose first SYN goes by a path that is down is never established: there is no second to try."""
    client, expected = client_of(evidence), evidence.expected
    again = client.counter("TcpExtTCPSynRetrans") or 0
    if any(is_established(subflow) for subflow in evidence.subflows or ()) or not again:
        return
    if expected is None or expected.start_s is None:
        return
    for path in evidence.paths:
        if path.is_down(expected.start_s, expected.start_s + _SILENT_S):
            since = number(min(begin for begin, _ in path.down))
            lines = (f"{client.name}: TcpExtTCPSynRetrans {again}", f"{path.name} down from {since} s")
            yield Sign(lines=lines, values={"path": path.name, "since": since}, strength=PROOF)
            return


def _stuck_subflow(evidence: Evidence) -> Iterator[Sign]:
    """Without knowledge of the links: one subflow gets no answer for long, while another of its connection does."""
    if evidence.paths:
        return
    for group in of_connections(evidence.senders()).values():
        silent = {subflow.name: length for subflow in group if (length := _silence_s(subflow)) >= _SILENT_S}
        working = [subflow for subflow in group if subflow.name not in silent and _answers(subflow)]
        for name, length in silent.items() if working else ():
            lines = (f"{name}: no byte acknowledged for {number(length)} s", f"{working[0].name}: goes on")
            values = {"path": name, "length": number(length)}
            yield Sign(lines=lines, values=values, where=name, cost=length, strength=STRONG)


def _silence_s(subflow: Subflow) -> float:
    """Return the longest time in which a subflow had data under way and nothing was acknowledged, timeouts growing."""
    longest, since, acked = _min_silence_s(subflow), None, None
    for sample in subflow.samples:
        is_stuck = bool(sample.unacked) and sample.bytes_acked == acked
        if is_stuck and since is not None and (sample.backoff or sample.lost):
            longest = max(longest, sample.time_s - since)
        elif not is_stuck:
            since = sample.time_s
        acked = sample.bytes_acked
    return longest


def _min_silence_s(subflow: Subflow) -> float:
    """Return for how long a subflow had no answer at least, by its timeouts at the only look.

    Each timeout is twice as long as the one before, up to a maximum, so that all before took as long as this one less
    the first.
    """
    last = subflow.samples[-1] if len(subflow.samples) == 1 else None
    if last is None or not last.unacked or (last.backoff or 0) < _BACKOFFS or last.rto_s is None:
        return 0.0
    return last.rto_s * (1 - 0.5 ** (last.backoff or 0))


def _answers(subflow: Subflow) -> bool:
    """Return whether a subflow gets answers: acknowledgements grow, or it waits for none at the only look."""
    values = subflow.values("bytes_acked")
    if len(values) > 1:
        return values[-1] > values[0]
    return bool(values and values[0]) and subflow.last("backoff") == 0


def _not_taken_again(evidence: Evidence) -> Iterator[Sign]:
    sending = evidence.senders()
    last = max((subflow.samples[-1].time_s for subflow in sending if subflow.samples), default=0.0)
    for path in evidence.paths:
        ends = [end for _, end in path.down if end + _BACK_S < last]
        if not ends or path.is_backup:
            continue
        there = [subflow for subflow in sending if subflow.path == path.name and subflow.samples]
        if there and max(subflow.samples[-1].time_s for subflow in there) < max(ends):
            lines = (
                f"{path.name} back from {number(max(ends))} s",
                f"last subflow there seen at {number(max(subflow.samples[-1].time_s for subflow in there))} s",
            )
            yield Sign(lines=lines, values={"path": path.name, "back": number(max(ends))}, where=path.name)


def _stale(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        count = host.known_count("SubflowStale")
        if count:
            values = {"host": host.name, "count": plural(count, "time")}
            yield Sign(lines=counter_lines(host, "SubflowStale", "SubflowRecover"), values=values, strength=HINT)


def _address_removed(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        # An endpoint that goes closes its subflows, and is withdrawn at the same time.
        count = max(host.known_count("RmAddrTx"), host.known_count("RmSubflow"))
        if count:
            values = {"host": host.name, "count": f"{count} addresses" if count > 1 else "an address"}
            yield Sign(lines=counter_lines(host, "RmAddrTx", "RmSubflow"), values=values, strength=HINT)


def _backup_not_carried(evidence: Evidence) -> Iterator[Sign]:
    """An endpoint is marked as backup and announced; the subflow to its address is an ordinary one."""
    for host in evidence.hosts:
        for endpoint in host.endpoints or ():
            if not {"signal", "backup"} <= endpoint.flags:
                continue
            ordinary = next(_list_ordinary(evidence, host, endpoint.address), None)
            if ordinary is not None:
                yield Sign(
                    lines=(f"{host.name}: endpoint {endpoint.text}", f"{ordinary}: not a backup"),
                    values={"address": endpoint.address},
                    where=endpoint.address,
                    strength=PROOF,
                )


def _list_ordinary(evidence: Evidence, host: Host, address: str) -> Iterator[str]:
    """Yield the subflows to or from an address of a host that are not backups, by the sockets and the peer's events.

    An event has what the peer asked for: at the host itself, this is not its own flag.
    """
    for subflow in evidence.subflows or ():
        end = subflow.local if subflow.host == host.name else subflow.remote
        if address_of(end) == address and subflow.is_backup is False:
            yield subflow.name
    for other in evidence.hosts:
        for event in other.events or () if other.name != host.name else ():
            is_opened = event.kind == "sf_established" and event.local is not None and event.remote is not None
            if is_opened and address_of(event.remote or "") == address and event.backup is False:
                yield f"{event.local} to {event.remote}"


def _find_aborts(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        count = host.known_count("MPFastcloseRx")
        if count:
            values = {"host": host.name, "count": plural(count, "connection")}
            yield Sign(lines=counter_lines(host, "MPFastcloseRx"), values=values, strength=HINT)


#: Makes a reason of this module's kind.
_reason = partial(Reason, kind="failover")

REASONS = (
    _reason(
        key="silent-path",
        title="A path fails silently",
        needs=("waits", "expectations"),
        recognise=_silent_path,
        sentence="nothing arrived for {length} s from {begin} s: {path} failed silently, and TCP notices only by "
        "timeouts",
        cure="let the host know (carrier, a ping every second), or use a scheduler that retransmits elsewhere sooner",
        confirm="the same with the interface set down: the wait is shorter",
        explanation="What was sent there has to time out. After net.mptcp.stale_loss_cnt timeouts the kernel calls the "
        "subflow stale and sends its data again elsewhere (mptcp_pm_subflow_chk_stale() in net/mptcp/pm.c).",
        page=_PAGE,
    ),
    _reason(
        key="told-path",
        title="A path fails, and its data is sent again",
        needs=("waits", "expectations"),
        recognise=_told_path,
        sentence="nothing arrived for {length} s: {path} went down, and what was under way there had to be sent again",
        cure="smaller queues on that path, so that less is lost with it",
        confirm="MPTCPRetrans grows at the failure",
        explanation="The sender learns of the failure by its timeouts if the interface of the other side went down.",
        page=_PAGE,
    ),
    _reason(
        key="backup-late",
        title="The backup takes over late",
        needs=("waits", "expectations"),
        recognise=_backup_late,
        sentence="nothing arrived for {length} s: {path} failed, and the backup {backup} is used only when the others "
        "are stale",
        cure="tell the kernel of the failure (carrier), or keep the second path in use with a weight",
        confirm="SubflowStale grows just before the backup carries data",
        explanation="A backup gets data only while no other subflow is usable, and one counts as usable until it has "
        "had several timeouts.",
        page="path-management.md#a-backup-with-the-kernels-path-manager",
    ),
    _reason(
        key="backup-not-carried",
        title="An announcement does not carry the flag of a backup",
        needs=("endpoints", "priorities"),
        recognise=_backup_not_carried,
        sentence="the endpoint {address} is marked as backup, and the subflow to it is an ordinary one: ADD_ADDR does "
        "not carry the flag",
        cure="an endpoint with *subflow backup* for the client's second address, in place of the server's "
        "announcement: `ip mptcp endpoint add ADDRESS dev DEVICE subflow backup`; or Linux 6.11 or later at the server",
        confirm="the flag `B` of `ss -ti`, and `backup=1` in `ip mptcp monitor`",
        explanation="The host that joins sets the flag in its SYN, from its own endpoint. Since Linux 6.11 a server "
        "sets it in its answer, too.",
        page="path-management.md#a-backup-with-the-kernels-path-manager",
        shown_in="session",
    ),
    _reason(
        key="no-path-left",
        title="All paths are down",
        needs=("waits", "expectations"),
        recognise=_no_path_left,
        sentence="nothing arrived for {length} s: all paths were down ({paths})",
        cure="a path that does not share their cause",
        confirm="`ping` over each path",
        explanation="The connection survives as long as the application and TCP wait (net.ipv4.tcp_retries2).",
        page=_PAGE,
    ),
    _reason(
        key="first-path-dead",
        title="A new connection needs a living first path",
        needs=("client counters", "expectations"),
        recognise=_first_path_dead,
        sentence="a new connection got no answer: its first subflow goes by {path}, which is down since {since} s",
        cure="take the default route from the dead path, or connect from the other address",
        confirm="`ip route get SERVER` names the dead interface",
        explanation="Other paths join a connection that exists. The first SYN goes by the route that the kernel "
        "chooses, and MPTCP does not try another one.",
        page="workloads.md#connections-that-fail",
    ),
    _reason(
        key="stuck-subflow",
        title="A subflow gets no answer",
        needs=("subflows",),
        recognise=_stuck_subflow,
        sentence="the subflow on {path} got no answer for {length} s while others did: its path fails silently",
        cure="find out whether that path is alive; if it is not, delete its endpoint, and add it when the path is back "
        "(or let the subflow wait longer, by net.ipv4.tcp_retries2)",
        confirm="`ping -I DEVICE SERVER`",
        explanation="Repeated timeouts without any acknowledgement mean loss of all packets, or of all answers. TCP "
        "sends there what it once sent, although another subflow has delivered it, and closes the subflow after "
        "net.ipv4.tcp_retries2 timeouts: 15, or some 15 minutes. The kernel's path manager does not open it again "
        "unless its endpoint is added anew.",
        page=_PAGE,
        shown_in="session",
        after=("large-packets-lost",),
    ),
    _reason(
        key="path-not-taken-again",
        title="A path is back, and nobody uses it",
        needs=("subflows", "expectations"),
        recognise=_not_taken_again,
        sentence="{path} is back since {back} s and has no subflow: the kernel opens one only when an endpoint is "
        "added",
        cure="add the endpoint again when the interface is back (NetworkManager and mptcpd do), or keep the address",
        confirm="`ip mptcp endpoint` lists the address, `ss -tiM` has no subflow from it",
        explanation="The kernel's path manager acts on new connections and on changes of endpoints, not on routes or "
        "carriers.",
        page="path-management.md#what-mainline-does-not-do",
    ),
    _reason(
        key="subflow-stale",
        title="The kernel gave a subflow up for a while",
        needs=("counters",),
        recognise=_stale,
        sentence="{host} took a subflow for stale {count}: several timeouts in a row",
        cure="see which path loses everything, or delays it by seconds",
        confirm="`ss -tiM` shows backoff on one subflow",
        explanation="net.mptcp.stale_loss_cnt is the number of timeouts, 4 by default. An answer makes the subflow "
        "usable again (SubflowRecover).",
        page=_PAGE,
        scenario="silent-path",
    ),
    _reason(
        key="address-withdrawn",
        title="An address was withdrawn",
        needs=("counters",),
        recognise=_address_removed,
        sentence="{host} withdrew {count}, and closed the subflows there",
        cure="nothing, if the interface is gone; else find what removes the endpoint or address",
        confirm="`ip monitor address` and `ip mptcp monitor` at that time",
        explanation="A program such as NetworkManager removes the endpoint with the address.",
        page="events.md#events",
    ),
    _reason(
        key="connection-aborted",
        title="The other side aborted the connection",
        needs=("counters",),
        recognise=_find_aborts,
        sentence="the other side aborted {count} of {host} (MP_FASTCLOSE)",
        cure="see why the application there closed while data was unread, or was killed",
        confirm="the exit status and log of the application",
        explanation="close() with unread data, SO_LINGER of zero and a killed process all abort.",
        page="workloads.md#connections-that-fail",
        shown_in="session",
    ),
)
