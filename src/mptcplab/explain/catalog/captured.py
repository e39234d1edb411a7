# SPDX-License-Identifier: MIT
"""Reasons that packets show, where a capture is all that there is. The counters of the hosts often say more."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from mptcplab.capture.summary import CapturedSubflow, ConnectionSummary
from mptcplab.explain.catalog.common import plural
from mptcplab.explain.evidence import Evidence
from mptcplab.explain.reason import HINT, PROOF, STRONG, Reason, Sign

_PAGE = "captures.md#what-the-words-mean"
#: A connection that is shorter may end before a second subflow is worth it.
_MIN_S = 0.5
_UNANSWERED = re.compile(r"SYNs? with MP_CAPABLE (?:was|were) not answered")


def _fallback(pattern: str, strength: float) -> Callable[[Evidence], Iterable[Sign]]:
    """Return a function that recognises what the analysis of captures says about a fallback."""
    expression = re.compile(pattern)

    def recognise(evidence: Evidence) -> Iterator[Sign]:
        for connection in evidence.captured or ():
            said = connection.fallback
            if said is not None and expression.search(said):
                yield Sign(
                    lines=(f"{_name_connection(connection)}: {said}",),
                    values={"connection": _name_connection(connection)},
                    where=_place_of(evidence, connection),
                    strength=strength,
                )

    return recognise


def _name_connection(connection: ConnectionSummary) -> str:
    return f"connection {connection.number} ({' > '.join(connection.subflows[0].ends)})"


def _place_of(evidence: Evidence, connection: ConnectionSummary) -> str:
    """Return the name of a connection, if the capture has several."""
    return "" if len(evidence.captured or ()) == 1 else f"connection {connection.number}"


def _silence(evidence: Evidence) -> Iterator[Sign]:
    for connection in evidence.captured or ():
        for note in connection.notes:
            if _UNANSWERED.search(note):
                lines = (f"{_name_connection(connection)}: {note}",)
                yield Sign(lines=lines, values={"note": note}, where=_place_of(evidence, connection), strength=PROOF)


def _checksum(evidence: Evidence) -> Iterator[Sign]:
    for connection in evidence.captured or ():
        for event in connection.events:
            if event.kind == "MP_FAIL":
                lines = (f"{_name_connection(connection)}: MP_FAIL at {event.time_s:.3f} s on subflow {event.subflow}",)
                yield Sign(lines=lines, where=_place_of(evidence, connection), strength=PROOF)
                break


def _joins(state: str) -> Callable[[Evidence], Iterable[Sign]]:
    def recognise(evidence: Evidence) -> Iterator[Sign]:
        for connection in evidence.captured or ():
            # A join that carried payload was answered, and the capture has one direction only.
            joins = [
                subflow
                for subflow in connection.subflows
                if subflow.began == "join"
                and subflow.state == state
                and not any(direction.payload_bytes for direction in subflow.directions)
            ]
            if joins:
                yield Sign(
                    lines=tuple(_line(connection, subflow) for subflow in joins[:4]),
                    values={"count": plural(len(joins), "join"), "side": _openers(joins)},
                    where=_place_of(evidence, connection),
                )

    return recognise


def _line(connection: ConnectionSummary, subflow: CapturedSubflow) -> str:
    ends = " > ".join(subflow.ends if subflow.initiator != 1 else subflow.ends[::-1])
    reset = next(
        (e.about.get("reason") for e in connection.events if e.subflow == subflow.number and e.kind == "MP_TCPRST"),
        None,
    )
    code = "" if reset is None else f", MP_TCPRST reason {reset}"
    return f"connection {connection.number}: join {ends} at {subflow.start_s:.3f} s: {subflow.state}{code}"


def _openers(joins: Iterable[CapturedSubflow]) -> str:
    sides = {subflow.initiator for subflow in joins}
    return "both sides" if len(sides) > 1 else "the server" if sides == {1} else "the client"


def _find_single_subflows(evidence: Evidence) -> Iterator[tuple[ConnectionSummary, list[str]]]:
    """Yield complete connections with MPTCP and one subflow, each with the addresses that the server announced."""
    for connection in evidence.captured or ():
        first = connection.subflows[0]
        if first.began != "capable" or len(connection.subflows) > 1 or connection.fallback is not None:
            continue
        if connection.end_s - connection.start_s < _MIN_S or not first.directions[0].packets:
            continue  # too short, or what the client sent is not in the capture
        announced = {
            str(event.about.get("address")): None
            for event in connection.events
            # An echo by the client shows the announcement, too, if only the client's packets were captured.
            if event.kind == "ADD_ADDR" and (event.side == 1) != bool(event.about.get("echo"))
        }
        yield connection, list(announced)


def _announced_unused(evidence: Evidence) -> Iterator[Sign]:
    for connection, announced in _find_single_subflows(evidence):
        if announced:
            lines = (f"{_name_connection(connection)}: ADD_ADDR of {', '.join(announced)}, and no MP_JOIN",)
            values = {"addresses": ", ".join(announced)}
            yield Sign(lines=lines, values=values, where=_place_of(evidence, connection))


def _nobody_tried(evidence: Evidence) -> Iterator[Sign]:
    for connection, announced in _find_single_subflows(evidence):
        if not announced:
            lines = (f"{_name_connection(connection)}: neither MP_JOIN nor ADD_ADDR",)
            yield Sign(lines=lines, where=_place_of(evidence, connection), strength=HINT)


REASONS: tuple[Reason, ...] = (
    Reason(
        key="captured-syns-unanswered",
        kind="fallback",
        title="A capture shows SYNs with MP_CAPABLE without an answer",
        needs=("captures",),
        recognise=_fallback(r"not answered; the SYN that was answered has none", STRONG),
        sentence="SYNs with MP_CAPABLE got no answer, and the first SYN without it did: something on the path drops "
        "packets with TCP option 30",
        cure="let the option pass the firewall, or use another path for the first subflow",
        confirm="a capture at the other end shows whether the SYNs with the option arrive",
        explanation="Linux repeats a SYN with the option a few times, and then sends one without.",
        page=_PAGE,
        shown_in="captures",
        after=("syns-dropped",),
    ),
    Reason(
        key="captured-refused",
        kind="fallback",
        title="A capture shows a SYN/ACK without MP_CAPABLE",
        needs=("captures",),
        recognise=_fallback(r"^the SYN has MP_CAPABLE, but the SYN/ACK does not$", STRONG),
        sentence="the SYN asked for MPTCP and the SYN/ACK does not have it: the server's application listens with TCP, "
        "MPTCP is off there, or the option is removed on the way",
        cure="let the server's application listen with MPTCP (`mptcpize run`, or IPPROTO_MPTCP)",
        confirm="`ss -Mln` at the server lists its port; a capture there shows the option in the SYN",
        explanation="A server that does not know MPTCP ignores the option.",
        page=_PAGE,
        shown_in="captures",
        after=(
            "server-without-mptcp",
            "mptcp-switched-off",
            "syn-option-stripped",
            "synack-option-stripped",
            "old-version",
        ),
    ),
    Reason(
        key="captured-option-removed",
        kind="fallback",
        title="Captures of both ends show that MP_CAPABLE was removed",
        needs=("captures",),
        recognise=_fallback(r"has it in .*, not in|was removed on the path", PROOF),
        sentence="MP_CAPABLE was removed between the places of the captures",
        cure="find the middlebox between these places, and let it pass TCP option 30",
        confirm="further captures between both places",
        explanation="One place saw the option in a handshake, another one did not.",
        page=_PAGE,
        shown_in="captures",
    ),
    Reason(
        key="captured-data-without-dss",
        kind="fallback",
        title="A capture shows data without DSS",
        needs=("captures",),
        recognise=_fallback(r"without a? ?DSS", STRONG),
        sentence="after a complete handshake, data had no DSS: the connection is plain TCP from then on",
        cure="find what removes MPTCP options from packets with data, such as a proxy or a firewall",
        confirm="a capture at the other end shows whether the sender's packets had the option",
        explanation="Some middleboxes pass options in SYNs and remove them later (RFC 8684, section 3.7).",
        page=_PAGE,
        shown_in="captures",
        after=("first-data-without-option", "data-without-mapping"),
    ),
    Reason(
        key="captured-checksum-failed",
        kind="fallback",
        title="A capture shows MP_FAIL",
        needs=("captures",),
        recognise=_checksum,
        sentence="a receiver sent MP_FAIL: the payload was changed on the way, and its checksum was wrong",
        cure="remove the application-level gateway on that path, or encrypt",
        confirm="the payload in captures of both ends",
        explanation="MP_FAIL is only sent if checksums were agreed in the handshake.",
        page=_PAGE,
        shown_in="captures",
        after=("payload-changed", "payload-changed-at-peer"),
    ),
    Reason(
        key="captured-first-path-dead",
        kind="failover",
        title="A capture shows a first subflow without any answer",
        needs=("captures",),
        recognise=_silence,
        sentence="{note}: the path of the first subflow is dead, and a new connection cannot use another one",
        cure="let the route to the server follow the state of the path (a monitor that changes the default route)",
        confirm="`ping` from the same address; `ip route get` with the server's address",
        explanation="A connection begins on one path, which the routing table chooses. Others join it only later.",
        page="questions.md",
        shown_in="captures",
    ),
    Reason(
        key="captured-join-refused",
        kind="no subflow",
        title="A capture shows that joins are refused",
        needs=("captures",),
        recognise=_joins("refused"),
        sentence="{count} of {side} got a reset instead of a SYN/ACK",
        cure="if the server opens joins, use only the flag signal there; if the client does, look at the server's "
        "limits and listening socket",
        confirm="the counters of the side that refuses: MPJoinRejected, MPJoinNoTokenFound, MPJoinPortSynRx",
        explanation="A join is refused if nothing listens on its port, if no connection has its token, or if a limit "
        "is reached.",
        page="path-management.md",
        shown_in="captures",
        after=(
            "server-join-refused",
            "join-rejected",
            "token-unknown",
            "join-before-accept",
            "initial-address-refused",
        ),
    ),
    Reason(
        key="captured-join-unanswered",
        kind="no subflow",
        title="A capture shows that joins get no answer",
        needs=("captures",),
        recognise=_joins("no answer"),
        sentence="{count} of {side} got no answer: packets of that path do not arrive, or not back",
        cure="check the route and the source address of that path, and let its firewall pass TCP option 30",
        confirm="a capture at the other end; `ip route get REMOTE from LOCAL`; `ping -I LOCAL REMOTE`",
        explanation="Without rules by source address, a host sends the packets of its second address by the first "
        "interface, where a router or filter drops them.",
        page="path-management.md",
        shown_in="captures",
        after=("join-syn-lost", "join-option-stripped", "join-answer-lost", "server-join-unanswered"),
    ),
    Reason(
        key="captured-announced-unused",
        kind="no subflow",
        title="A capture shows an announced address that nobody joined",
        needs=("captures",),
        recognise=_announced_unused,
        sentence="the server announced {addresses}, and the client did not open a subflow to it",
        cure="at the client, allow it: `ip mptcp limits set subflows 2 add_addr_accepted 2`",
        confirm="`ip mptcp limits` at the client; its default for add_addr_accepted is 0",
        explanation="Linux accepts no announced address by default.",
        page="path-management.md",
        shown_in="captures",
        after=("announcement-not-accepted", "announcement-without-room", "announcement-ignored"),
    ),
    Reason(
        key="captured-nobody-tried",
        kind="no subflow",
        title="A capture shows no attempt of a second subflow",
        needs=("captures",),
        recognise=_nobody_tried,
        sentence="nobody tried a second subflow: no address was announced and no join was sent",
        cure="configure an endpoint: `ip mptcp endpoint add ADDRESS dev DEVICE subflow` at the client, or `signal` at "
        "the server",
        confirm="`ip mptcp endpoint` and `ip mptcp limits` at both ends, during the connection",
        explanation="Without endpoints, Linux uses the first subflow only.",
        page="path-management.md",
        shown_in="captures",
        after=(
            "no-endpoint",
            "endpoint-of-first-subflow",
            "fullmesh-alone",
            "limit-of-subflows",
            "not-announced",
            "captured-first-path-dead",
        ),
    ),
)
