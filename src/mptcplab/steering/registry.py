# SPDX-License-Identifier: MIT
"""The policies by name, made of a configuration."""

from __future__ import annotations

from mptcplab.steering.fair import Fair
from mptcplab.steering.policy import Policy
from mptcplab.steering.ratio import Ratio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mptcplab.steering.policy import Move, State

_NS = 1_000_000_000


class Still(Policy):
    """Moves nobody: each terminal stays where its first subflow is."""

    def decide(self, state: State) -> list[Move]:  # noqa: ARG002
        """See the base class."""
        return []


def policy_of(config: dict[str, Any]) -> Policy:
    """Return the policy of a configuration. :raises KeyError: if it names none, or lacks a key of it."""
    floor_dbm = float(config["floor_dbm"])
    name = config["policy"]
    if name == "ratio":
        return Ratio(floor_dbm, float(config["threshold"]), int(config.get("seed", 0)))
    if name == "fair":
        return Fair(floor_dbm, float(config["margin_db"]), round(_NS * float(config["hold_s"])))
    if name == "none":
        return Still(floor_dbm)
    raise KeyError(name)
