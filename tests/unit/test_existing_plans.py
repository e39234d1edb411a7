# SPDX-License-Identifier: MIT
"""Plans, manifests and identities of scenarios that use none of the newer keys: new keys leave them alone.

The digests were computed before routers could have a transport, and before there were gateways. A change that is meant
to alter the plans of existing scenarios makes all their runs again: it is announced, and computes them anew. Manifests
have all keys, with their defaults: those of ``NEW`` were added since, and change neither plans nor identities.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mptcplab.campaign.contract import contract
from mptcplab.campaign.identity import resolve_scenario
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.phases import phases_of
from mptcplab.scenario.load import load
from mptcplab.scenario.network import Network

ROOT = Path(__file__).resolve().parents[2]
BEFORE = {
    "examples/behaviour/olia-scenario-c.toml": "f3ced874a61fb741",
    "examples/cross-traffic.toml": "faa8d0406f408f37",
    "examples/failure.toml": "79e5aa6d8feaf19a",
    "examples/free-topology.toml": "3702496b5272ee0b",
    "examples/handover.toml": "18f98f48e08d019e",
    "examples/ipv6.toml": "77729b3de008bf51",
    "examples/middlebox.toml": "e5c73a9d5e1d6ebe",
    "examples/shared-bottleneck.toml": "f1a17d8c80eb7237",
    "examples/train.toml": "dc6574f87fc55e39",
}

NEW = {"through": None, "retries": 0, "offload": None, "columns": None, "batch": "0 ns"}


def _before(described: Any) -> Any:
    """Return a description without the new keys, if they have their defaults."""
    if isinstance(described, dict):
        kept = {key: one for key, one in described.items() if key not in NEW or one != NEW[key]}
        return {key: _before(one) for key, one in kept.items()}
    return [_before(one) for one in described] if isinstance(described, list) else described


def _texts(file: Path) -> Iterator[str]:
    """Yield plan, description in the manifest, recorded scenario, and scenario in the identity of every point."""
    for run in load(file, repeats=1).runs:
        scenario = run.point.scenario
        network = Network(scenario, phases_of(scenario, run.seed).delays_ns)
        yield compile_plan(scenario, seed=run.seed).to_json()
        yield json.dumps(_before(contract(network, scenario.server_ports)), sort_keys=True)
        yield json.dumps(_before(resolve_scenario(run)))
        yield json.dumps(resolve_scenario(run, exclude_defaults=True))


@pytest.mark.parametrize("file", BEFORE)
def test_new_keys_change_no_existing_run(file: str) -> None:
    digest = hashlib.sha256()
    for text in _texts(ROOT / file):
        digest.update(text.encode())
    assert digest.hexdigest()[:16] == BEFORE[file]
