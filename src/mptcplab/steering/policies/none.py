# SPDX-License-Identifier: MIT
"""No steering: each terminal stays where its first subflow is. The other subflows are backups all the same."""

from __future__ import annotations

from mptcplab.steering.policy import Move, Policy, State


class Still(Policy):
    """Leaves every terminal where it is."""

    name = "none"

    def decide(self, state: State) -> list[Move]:  # noqa: ARG002
        """See the base class."""
        return []
