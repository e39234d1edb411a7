# SPDX-License-Identifier: MIT
"""Reasons why a connection has fewer subflows than it should have."""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.explain.evidence import Evidence
from mptcplab.explain.reason import PROOF, Reason, Sign


def _refused_by_client(evidence: Evidence) -> Iterator[Sign]:
    server = evidence.server
    assert server is not None
    failed = server.seen("MPJoinSynTxCreatSkErr")
    if failed:
        yield Sign(
            values={"joins": failed},
            lines=(f"{server.name}: MPJoinSynTxCreatSkErr {failed}",),
            strength=PROOF,
        )


REASONS: tuple[Reason, ...] = (
    Reason(
        key="server-join-not-created",
        kind="no subflow",
        title="The server could not create the socket of a join",
        needs=("server counters",),
        recognise=_refused_by_client,
        sentence="{joins} joins of the server failed before their SYN (MPJoinSynTxCreatSkErr)",
        cure="use the flag signal at the server only",
        confirm="`ip mptcp endpoint` at the server",
        explanation="",
        page="path-management.md",
    ),
)
